"""Verb ``score``: align, tally per case, hand over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.audit import Audit
from gnomon.core import options as opt
from gnomon.core.cases import Roster, join
from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure
from gnomon.core.signals import Labels, LabelSets
from gnomon.core.tallies import Array, Tallies, natural_key, union
from gnomon.engine.job import Job
from gnomon.engine.scoring import TRUTH, Chunk, Partials, Scorer, System, pair_shards
from gnomon.intake import shards, tables
from gnomon.intake.groups import offer_group
from gnomon.intake.labelled import settle
from gnomon.intake.shards import is_folder, refuse_folders
from gnomon.intake.sources import Source, systems
from gnomon.intake.text import check_spelling
from gnomon.intake.unread import note, reading_for
from gnomon.measures import classification, multilabel
from gnomon.measures.averaging import ClassSet, ZeroDivision
from gnomon.numerics.counting import pair_counts
from gnomon.runs.alignment import LACKING, LEFT_OUT, fingerprint_left_out, merge_left_out
from gnomon.runs.content import column_digest
from gnomon.runs.parts import Part
from gnomon.runs.provenance import describe_input
from gnomon.runs.run import Evaluation
from gnomon.suites.labels import codes, files
from gnomon.suites.labels.options import ScoreOptions
from gnomon.suites.labels.protocol import protocol

ONE_GROUP = "(all rows)"
SUFFIXES = (codes.CODES, *tables.SUFFIXES)
OFFERED = "offered"
"""The fact that names a column of the truth that looks like a group and was not asked for."""
COUNTED = ("truth", "predicted", "count")
ROWS = ("truth", "scored", "missing", "extra")
"""What is counted of rows."""


def score(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score every given system against the truth."""
    options = settle(options, kept=options.slice)
    sources = systems(options.predictions, files.ID)
    if is_folder(options.truth):
        return _score_shards(sources, options)
    refuse_folders(source.content for source in sources)
    truth = files.read_truth(options)
    note(truth.source.where, truth.unused)
    return SCORER.score((System(source.name, source.where, [Chunk("", truth, source)]) for source in sources), options)


def _score_shards(sources: Sequence[Source], options: ScoreOptions) -> list[Evaluation] | Job:
    """Score folders: shards are tables, or arrays of codes (:mod:`gnomon.suites.labels.codes`).

    Of a shard without predictions that is left out (``--missing skip``) the truth is read all the same: its classes are
    among those of the truth, as where all rows are in one file. A shard in which there are no rows holds nothing.
    """
    truth = shards.listed(options.truth, SUFFIXES)
    plain = [path.name for path in truth.values() if not codes.is_coded(path)]
    coded = not plain
    if plain and len(plain) < len(truth):
        raise InputError(f"{options.truth}: arrays of codes beside tables ({some(plain)}): keep one kind")
    if coded and (options.slice or options.group or options.separator):
        raise InputError("arrays of codes have no columns: give tables for --slice, --group and --separator")
    given = {"names": codes.read_names(shards.folder_of(options.truth))} if coded else {}
    found = pair_shards(
        options.truth,
        truth,
        [(source.name, source.where, source.content) for source in sources],
        SUFFIXES,
        given=given,
        beside=shards.others(options.truth, SUFFIXES, (codes.NAMES,)),
        known=(codes.NAMES,),
        missing=options.missing,
        extra=options.extra,
    )
    return SCORER.score(found, options, threaded=coded)


def tally(chunk: Chunk, options: ScoreOptions) -> Part:
    """Read and align one chunk, and tally it."""
    if "names" in chunk.given:
        return codes.tally_codes(chunk, options)
    if isinstance(chunk.truth, files.Truth):
        truth, source = chunk.truth, chunk.predictions
    else:
        truth = files.read_truth(replace(options, truth=chunk.truth), empty=True)
        note(truth.source.where, truth.unused)
        empty = pa.table({files.ID: pa.array([], pa.string()), files.LABEL: pa.array([], truth.labels.type)})
        source = Source(chunk.name, empty if chunk.predictions is None else chunk.predictions)
    with reading_for(chunk.reader):
        predictions = files.read_predictions(source, truth, options)
    part = tallied(truth, predictions, options)
    if chunk.name and not len(truth):  # whether it would hold labels or sets of them cannot be told
        part = replace(part, tallies={}, ledgers={})
    return replace(part, ids=truth.ids, table=scored(truth, predictions))


def finish(partials: Partials, options: ScoreOptions) -> list[Evaluation]:
    """Put together what the chunks of one system left."""
    whole, every = partials.gather(COUNTED), partials.every
    filled = {name: facts for name, facts in every.items() if facts["rows"]["truth"]} or every
    _check_groups({name: facts for name, facts in filled.items() if name in partials.facts}, str(options.truth))
    if not any(facts["coded"] for facts in every.values()):
        partials.check_ids(lambda path: files.read_truth(replace(options, truth=path), empty=True).ids)
    rows = {name: sum(facts["rows"][name] for facts in every.values()) for name in ROWS}
    where, first = partials.system.where, next(iter(filled.values()))
    if rows["missing"] == rows["truth"] and options.predictions:  # of a system that was fitted here, cells say why
        raise InputError(f"{where}: no id of the truth has a prediction: nothing can be scored")
    lacking = Counter[str]()
    for facts in every.values() if partials.complete else ():
        lacking.update(facts[LACKING])
    known = {
        **{key: first[key] for key in ("sets", "grouped", OFFERED)},
        **{key: _union([facts[key] for facts in every.values()]) for key in ("true_classes", "predicted_classes")},
        "rows": rows,
        LACKING: dict(lacking),
        LEFT_OUT: merge_left_out({name: facts[LEFT_OUT] for name, facts in every.items()}),
    }
    truth, source = Source.of("truth", options.truth), Source(partials.system.name, where)
    given: tuple[Mapping[str, Any], ...] = ()
    if partials.is_whole:
        source = partials.system.chunks[0].predictions
        given = describe_input(truth), describe_input(source)
    made = evaluation(whole, known, truth, source, options)
    coverage = partials.coverage(made.coverage, options.missing)
    return [replace(made, data=partials.data(), inputs=given, table=partials.table(), coverage=coverage)]


SETTINGS = ("id", "label", "scores", "group", "slice", "missing", "extra", "separator")
SCORER = Scorer(tally, finish, SETTINGS)


def _check_groups(facts: Mapping[str, Mapping[str, Any]], where: str) -> None:
    grouped = {own["grouped"]: name for name, own in facts.items()}
    if len(grouped) > 1:
        raise InputError(
            f"{where}: shard {grouped[True]!r} has a column {files.GROUP!r} and {grouped[False]!r} has none; "
            "give it in all of them, or in none"
        )


def _union(lists: Sequence[Sequence[str]]) -> list[str]:
    return sorted({name for names in lists for name in names}, key=natural_key)


def scored(truth: files.Truth, predictions: files.Aligned) -> pa.Table:
    """Return the rows that have a prediction, with its scores by class where they were given."""
    columns = {"id": truth.ids, "label": predictions.labels, **predictions.scores}
    return pa.table(columns).filter(pa.array(predictions.given))


def tallied(truth: files.Truth, predictions: files.Aligned, options: ScoreOptions) -> Part:
    """Tally aligned predictions: cases, tallies, ledgers, and the facts that :func:`evaluation` needs."""
    kept = predictions.given if options.missing == "skip" else np.ones(len(truth), dtype=np.bool_)
    every, of = _cases(truth, options)
    used, case = np.unique(of[kept], return_inverse=True)
    roster, lost = every.take(used), np.bincount(of[~kept], minlength=len(every))
    sets = pa.types.is_list(truth.labels.type)
    tally = _tally_sets if sets else _tally_labels
    tallies, ledgers, true_classes, predicted_classes = tally(truth, predictions, case, len(roster), kept)
    facts = {
        "sets": sets,
        "true_classes": true_classes,
        "predicted_classes": predicted_classes,
        "grouped": truth.groups is not None,
        OFFERED: offer_group(truth.unused),
        "coded": False,
        TRUTH: column_digest(truth.ids, truth.labels, *(() if truth.groups is None else (truth.groups,))),
        "rows": {
            "truth": len(truth),
            "scored": int(kept.sum()),
            "missing": predictions.missing,
            "extra": predictions.extra,
        },
        LACKING: {every.ids[place]: int(lost[place]) for place in np.flatnonzero(lost).tolist()},
        LEFT_OUT: fingerprint_left_out(truth.ids.filter(pa.array(~kept)), of[~kept], every.ids),
    }
    return Part(roster, tallies, ledgers, facts)


def measures(truth: files.Truth, options: ScoreOptions) -> tuple[Measure, ...]:
    """Return the measures that an evaluation against this truth has; refuse options that it cannot be made with."""
    sets = bool(pa.types.is_list(truth.labels.type))
    classes = (files.sets_of(truth.labels) if sets else files.codes_of(truth.labels)).classes
    class_set, zero_division = _class_set(options), _zero_division(options.zero_division)
    return protocol(classes, class_set, zero_division, slices=options.slice, sets=sets).measures


def evaluation(
    part: Part, facts: Mapping[str, Any], truth: Source, source: Source, options: ScoreOptions
) -> Evaluation:
    """Make the evaluation of what was tallied; the content of both sides is left to be filled in."""
    true_classes, predicted_classes = tuple(facts["true_classes"]), tuple(facts["predicted_classes"])
    class_set, zero_division = _class_set(options), _zero_division(options.zero_division)
    tallies = dict(part.tallies)
    findings = _class_findings(true_classes, predicted_classes, source, options)
    rows = facts["rows"]
    return Evaluation(
        protocol=protocol(true_classes, class_set, zero_division, slices=options.slice, sets=facts["sets"]),
        suite="labels",
        system=source.name,
        roster=part.roster,
        tallies=tallies,
        ledgers=part.ledgers,
        data="",
        coverage={
            "complete": rows["scored"] == rows["truth"],
            "rows": dict(rows),
            **{name: dict(facts[name]) for name in (LACKING, LEFT_OUT) if facts[name]},
            "policy": {"missing": options.missing, "extra": options.extra},
        },
        audit=Audit(made=("degenerate-targets",)),
        findings=(*findings, *_set_findings(class_set, tallies), *_general_findings(facts, truth, source, options)),
        options={
            **opt.record(replace(options, predictions=(source.where,), truth=truth.where)),
            "group": options.group or (files.GROUP if facts["grouped"] else None),
            "aligned_by": "row order" if truth.by_row else "id",
        },
        facts={"least_class_groups": _least_class_groups(next(iter(tallies.values())), part.roster, true_classes)},
        table=pa.table({}),
    )


def _cases(truth: files.Truth, options: ScoreOptions) -> tuple[Roster, Array]:
    """Return who the cases are (one per group and combination of sliced tags) and the case of every row."""
    level = options.group or files.GROUP
    groups = truth.groups if truth.groups is not None else pa.array([ONE_GROUP] * len(truth))
    columns = [files.codes_of(column) for column in (groups, *truth.tags.values())]
    combined = np.zeros(len(truth), dtype=np.int64)
    for column in columns:
        combined = combined * len(column.classes) + column.codes
        _, combined = np.unique(combined, return_inverse=True)
    _, first, case = np.unique(combined, return_index=True, return_inverse=True)
    names = [[column.classes[code] for code in column.codes[first].tolist()] for column in columns]
    tags = dict(zip(truth.tags, (tuple(column) for column in names[1:]), strict=True))
    ids = tuple(
        join([g, *(f"{t}={v}" for t, v in zip(tags, rest, strict=True))]) for g, *rest in zip(*names, strict=True)
    )
    return Roster(ids, tuple(names[0]), tags, "row" if level == files.ID else level), case


Tallied = tuple[dict[str, Tallies], dict[str, Ledger], tuple[str, ...], tuple[str, ...]]
"""Tallies, ledgers, and the classes of the truth and of the predictions."""


def _tally_labels(truth: files.Truth, predictions: files.Aligned, case: Array, n_cases: int, kept: Array) -> Tallied:
    true, predicted = files.codes_of(truth.labels), files.codes_of(predictions.labels)
    classes = union([true.classes, predicted.classes])
    a, b = Labels(true.over(classes)[kept], classes), Labels(predicted.over(classes)[kept], classes)
    tallies = classification.tally_cases(a, b, case, n_cases)
    where, t, p, count = pair_counts(a.codes, b.codes, case, len(classes), n_cases)
    columns: dict[str, Array] = {"truth": t, "predicted": p, "count": count}
    ledger = Ledger(where, columns, {"truth": classes, "predicted": classes})
    return {"classification": tallies}, {"confusion": ledger}, true.classes, predicted.classes


def _tally_sets(truth: files.Truth, predictions: files.Aligned, case: Array, n_cases: int, kept: Array) -> Tallied:
    true, predicted = files.sets_of(truth.labels), files.sets_of(predictions.labels)
    a = LabelSets(true.members[kept], true.classes)
    b = LabelSets(predicted.members[kept], predicted.classes, predictions.given[kept])
    return {"multilabel": multilabel.tally_cases(a, b, case, n_cases)}, {}, true.classes, predicted.classes


def _least_class_groups(tallies: Tallies, roster: Roster, true_classes: tuple[str, ...]) -> int:
    """Return in how many groups the rarest class of the truth was scored."""
    codes, names = roster.codes()
    counts = (tallies.grouped(codes, len(names)).fields["truth"] > 0).sum(axis=0)
    by_class = dict(zip(tallies.axes["class"], counts.tolist(), strict=True))
    return min((by_class.get(label, 0) for label in true_classes), default=0)


def _class_findings(
    true: tuple[str, ...], predicted: tuple[str, ...], source: Source, options: ScoreOptions
) -> list[Finding]:
    """Find predicted labels that are never true, and a truth of one class.

    A system that was fitted here may answer a class of the truth that no row of the part under test has.
    """
    findings = []
    fitted = not options.predictions
    where = source.name if fitted else source.where
    unknown = sorted(set(predicted) - set(true), key=natural_key)
    if unknown and fitted:
        labels = files.read_truth(options).labels
        known = files.sets_of(labels).classes if pa.types.is_list(labels.type) else files.codes_of(labels).classes
        unknown = [label for label in unknown if label not in known]
    if not fitted:
        check_spelling(true, predicted, where)
    if unknown:
        remedy = (
            "answer with labels of the training rows" if fitted else "check spelling and number formats of both files"
        )
        text = f"{len(unknown)} predicted labels never occur in the truth: {some(unknown)}"
        findings.append(Finding("labels-never-true", "warning", where, text, remedy))
    if len(true) == 1:
        findings.append(
            Finding(
                "one-class-truth",
                "warning",
                where,
                f"every true label is {true[0]!r}",
                "a constant answer scores perfectly here; add data of other classes",
            )
        )
    return findings


def _set_findings(class_set: ClassSet, tallies: dict[str, Tallies]) -> list[Finding]:
    known = {label for part in tallies.values() for label in part.axes["class"]}
    absent = [] if isinstance(class_set, str) else [label for label in class_set if label not in known]
    if not absent:
        return []
    evidence = f"listed classes that occur in neither truth nor prediction: {some(absent)}"
    return [Finding("listed-class-absent", "warning", "--classes", evidence, "check the spelling; they count as 0/0")]


def _general_findings(facts: Mapping[str, Any], truth: Source, source: Source, options: ScoreOptions) -> list[Finding]:
    findings = []
    if not facts["grouped"]:
        findings.append(
            Finding(
                "no-groups",
                "warning",
                truth.where,
                "no group column, so nothing can be resampled and no interval is given",
                f"give --group {facts[OFFERED]}, which looks like one, or --group id if every row is independent"
                if facts[OFFERED]
                else "add a column 'group' (subject, recording), or --group id if every row is independent",
            )
        )
    missing, total = facts["rows"]["missing"], facts["rows"]["truth"]
    if missing and options.missing == "wrong":
        findings.append(
            Finding(
                "missing-predictions",
                "warning",
                source.where,
                f"{missing} of {total} ids have no prediction and are counted as wrong",
                "predict every id",
            )
        )
    return findings


def _class_set(options: ScoreOptions) -> ClassSet:
    """Return the class set; with ``--missing wrong`` the default is that of the truth.

    A missing answer could be of a class that nobody else names, so that an average over the union has no lowest value.
    """
    given: Any = options.classes or ("present" if options.missing == "wrong" else "union")
    if isinstance(given, (list, tuple)):
        return tuple(str(label) for label in given)
    if not isinstance(given, str):
        raise InputError(f"classes: expected union, present or labels, but got {given!r}")
    return given if given in ("union", "present") else tuple(p.strip() for p in given.split(",") if p.strip())


def _zero_division(given: Any) -> ZeroDivision:
    if given in ("0", "1", 0, 1) and not isinstance(given, bool):
        return 1 if int(given) else 0
    if given in ("none", None):
        return None
    raise InputError(f"zero_division: expected 0, 1 or none, but got {given!r}")
