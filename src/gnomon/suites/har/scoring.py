"""Verb ``score``, and what both verbs end in: answers tallied by metric, dataset and recording.

A shard of a folder (:data:`gnomon.intake.tables.SUFFIXES`) is read and aligned by task, dataset and id, like a file
that is given alone. A window is in one shard; a shard may be without windows. All shards of the truth have a column
``task``, or none has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core import options as opt
from gnomon.core.cases import Roster, join
from gnomon.core.errors import InputError, some
from gnomon.core.ledgers import Ledger
from gnomon.core.protocol import Protocol
from gnomon.core.signals import NONE, Labels
from gnomon.core.tallies import Array, Tallies, natural_key, union
from gnomon.engine.job import Job
from gnomon.engine.scoring import TRUTH, Chunk, Partials, Scorer, System, pair_shards
from gnomon.intake import shards
from gnomon.intake.sources import Source, systems
from gnomon.intake.tables import SUFFIXES
from gnomon.intake.text import check_spelling
from gnomon.intake.texts import natural_ranks
from gnomon.intake.unread import note, reading_for
from gnomon.measures.classification import tally_cases
from gnomon.numerics.counting import pair_counts
from gnomon.runs.alignment import LACKING, LEFT_OUT, merge_left_out
from gnomon.runs.content import column_digest
from gnomon.runs.parts import Part
from gnomon.runs.provenance import describe_input
from gnomon.runs.run import Evaluation
from gnomon.suites.har import export
from gnomon.suites.har.counts import TaskCounts, describe_tasks, find_faults, merge_counts
from gnomon.suites.har.metrics import METRICS, SCORINGS, family, is_grouped, listed, mean_family, none, spread
from gnomon.suites.har.options import ScoreOptions
from gnomon.suites.har.predictions import (
    KEYS,
    NOTHING,
    Answers,
    Task,
    Truth,
    read_answers,
    read_truth,
    settle_truth,
    survey_truth,
    table_of_answers,
)
from gnomon.suites.har.protocol import UNLISTED, protocol
from gnomon.suites.har.vocabulary import SEVERE, group_of

COLUMNS = ("truth", "predicted", "count")
"""Columns of a confusion ledger."""
OFFERS = ("--missing wrong or --missing skip", "")
"""What a user may choose where shards are missing on one side."""
Path3 = tuple[str, str, str]
"""Dataset, subject and recording."""


def score(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score every given system against the truth."""
    options = settle_truth(options)
    sources = systems(options.predictions, "id")
    given = _pair_shards(sources, options) if shards.is_folder(options.truth) else _pair_files(sources, options)
    to = options.export_baseline
    return SCORER.score(given, options, export=partial(export.write, to) if to else None)


def _pair_files(sources: Sequence[Source], options: ScoreOptions) -> list[System]:
    shards.refuse_folders(source.content for source in sources)
    truth = read_truth(options)
    note(truth.source.where, truth.unused)
    return [System(source.name, source.where, [Chunk("", truth, source)]) for source in sources]


def _pair_shards(sources: Sequence[Source], options: ScoreOptions) -> list[System]:
    truth, beside = shards.listed(options.truth, SUFFIXES), shards.others(options.truth, SUFFIXES)
    found = [(source.name, source.where, source.content) for source in sources]
    paired = pair_shards(options.truth, truth, found, SUFFIXES, beside=beside, missing=options.missing, offers=OFFERS)
    given = survey_truth(truth.values(), options)
    return [replace(one, chunks=[replace(chunk, given=given) for chunk in one.chunks]) for one in paired]


def tally(chunk: Chunk, options: ScoreOptions) -> Part:
    """Read one chunk, put the answers beside the truth, and tally them."""
    if isinstance(chunk.truth, Truth):
        truth, source = chunk.truth, chunk.predictions
    else:
        read = read_truth(replace(options, truth=chunk.truth), empty=True)
        truth = replace(read, elsewhere=chunk.given["labels"])
        note(truth.source.where, truth.unused)
        if truth.has_metric != chunk.given["with_metric"]:
            has = "a column 'task', which other shards of the truth do not have"
            lacks = "no column 'task', which other shards of the truth have"
            told = has if truth.has_metric else lacks
            raise InputError(f"{chunk.truth}: {told}; give it in all of them, or in none")
        empty = pa.table({name: pa.array([], pa.string()) for name in KEYS})
        source = Source(chunk.name, empty if chunk.predictions is None else chunk.predictions)
    with reading_for(chunk.reader):
        answers = read_answers(source, truth, options)
    facts = {
        "windows": len(truth),
        **find_left_out(truth, answers),
        "tasks": [TaskCounts.of(item).record() for item in answers],
        TRUTH: truth.fingerprint,
    }
    return replace(tally_answers(answers), facts=facts, ids=truth.names() if chunk.name else None)


def finish(partials: Partials, options: ScoreOptions) -> list[Evaluation]:
    """Put together what the chunks of one system left."""
    partials.check_ids(lambda path: read_truth(replace(options, truth=path), empty=True).names())
    part, every, where = partials.gather(COLUMNS), partials.every, partials.system.where
    tasks = merge_counts([TaskCounts.read(record) for facts in every.values() for record in facts["tasks"]], where)
    asked = {(task.metric, task.dataset) for task in tasks}
    if not partials.complete:  # a shard that could not be read may have these
        asked |= {(metric, name) for metric in {metric for metric, _ in asked} for name in options.main}
    tasks = [task for task in tasks if family(task.metric, [task.dataset], "native") in part.tallies]
    windows, scored = sum(facts["windows"] for facts in every.values()), sum(map(len, tasks))
    for task in tasks:
        check_spelling(task.truth, filter(None, task.answers), f"{where}: {task.metric} {task.dataset}")
    lost = sum(task.answers.get("", 0) for task in tasks)
    if scored == lost:
        raise InputError(f"{where}: no window of the truth has a prediction: nothing can be scored")
    lacking = Counter[str]()
    for facts in every.values() if partials.complete else ():
        lacking.update(facts[LACKING])
    left_out = merge_left_out({name: facts[LEFT_OUT] for name, facts in every.items()})
    coverage = {
        "complete": scored == windows,
        "windows": {"truth": windows, "scored": scored, "missing": windows - scored + lost},
        **{name: dict(own) for name, own in ((LACKING, lacking), (LEFT_OUT, left_out)) if own},
        "policy": {"missing": options.missing},
    }
    truth = Source.of("truth", options.truth)
    inputs = (truth, partials.system.chunks[0].predictions) if partials.is_whole else ()
    made = make_evaluation(part, tasks, partials.system.name, _protocol(asked, options))
    return [
        replace(
            made,
            data=partials.data(),
            table=partials.table(),
            coverage=partials.coverage(coverage, options.missing),
            findings=find_faults(tasks, where, lost),
            inputs=tuple(map(describe_input, inputs)),
            options={
                **opt.record(replace(options, truth=truth.where, predictions=(where,))),
                "aligned_by": "row order" if truth.by_row else "id",
            },
        )
    ]


SCORER = Scorer(tally, finish, ("id", "label", "scores", "task", "text_aligned", "missing"))


def find_left_out(truth: Truth, answers: Sequence[Answers]) -> dict[str, dict[str, Any]]:
    """Return, by case, how many windows of the truth were not scored, and the fingerprint of their metrics and ids."""
    found: dict[str, list[str]] = {}
    for item in answers:
        rows = truth.tasks[item.metric, item.dataset]
        if len(item) == rows.stop - rows.start:
            continue
        lost = pc.invert(pc.is_in(truth.ids[rows], value_set=item.ids))
        windows = (column[rows].filter(lost).to_pylist() for column in (truth.subjects, truth.recordings, truth.ids))
        for subject, recording, name in zip(*windows, strict=True):
            found.setdefault(case_id(item.dataset, subject, recording), []).append(f"{item.metric} {name}")
    return {
        LACKING: {case: len(names) for case, names in found.items()},
        LEFT_OUT: {case: column_digest(pa.array(names)) for case, names in found.items()},
    }


def _protocol(asked: Iterable[Task], options: ScoreOptions) -> Protocol:
    """Return the protocol of some metrics and datasets."""
    tasks = list(asked)
    datasets = sorted({dataset for _, dataset in tasks}, key=natural_key)
    unknown = sorted(set(options.main) - set(datasets))
    if unknown:
        raise InputError(f"--main: no dataset {some(unknown)} in the truth; there are {', '.join(datasets)}")
    main = [name for name in datasets if (name in options.main if options.main else name not in SEVERE)]
    return protocol(
        "",
        [metric for metric in METRICS if any(metric == own for own, _ in tasks)],
        main,
        [name for name in datasets if name not in main],
        settings={
            "text_aligned": options.text_aligned,
            **({UNLISTED: "those in truth"} if options.missing == "wrong" else {}),
        },
    )


def tally_answers(answers: Sequence[Answers], further: Iterable[Path3] = ()) -> Part:
    """Tally answers by metric, dataset and scoring, and count which labels were given for which.

    Parameters
    ----------
    answers
        One for every metric and dataset.
    further
        Recordings that are cases even if no window of theirs was scored.
    """
    roster, place = _cases(answers, further)
    tallies: dict[str, Tallies] = {}
    ledgers: dict[str, Ledger] = {}
    for item in answers:
        case = place[item.metric, item.dataset]
        for scoring in SCORINGS:
            name = family(item.metric, [item.dataset], scoring)
            truth, answer = _labels(item, scoring)
            tallies[name] = tally_cases(truth, answer, case, len(roster))
            if scoring == "native":
                ledgers[confusion(name)] = _confusion(truth, answer, case)
    return Part(roster, tallies, ledgers, table=table_of_answers(answers))


def confusion(name: str) -> str:
    """Name the ledger of a family of tallies."""
    return f"confusion_{name}"


def make_evaluation(part: Part, tasks: Sequence[TaskCounts], system: str, rules: Protocol) -> Evaluation:
    """Put the tallies of all metrics and datasets of a protocol together; one without answers is undefined.

    What a verb knows of the data, the options and what was scored is left to be filled in.
    """
    by_task = {(task.metric, task.dataset): task for task in tasks}
    tallies: dict[str, Tallies] = {}
    ledgers: dict[str, Ledger] = {}
    main, apart = rules.settings["main"], rules.settings["apart"]
    for metric in rules.tasks:
        for scoring in SCORINGS:
            own = {name: none(len(part.roster)) for name in (*main, *apart)}
            for name in own:
                if (task := by_task.get((metric, name))) is not None:
                    key, labels = family(metric, [name], scoring), task.listed(scoring)
                    if not labels and UNLISTED in rules.settings:
                        labels = task.true_classes(scoring)
                    counted = part.tallies[key]
                    classes = union([counted.axes["class"], labels])
                    own[name] = listed(counted.relabel({"class": classes}), labels)
                    if scoring == "native":
                        ledgers[confusion(key)] = _over(part.ledgers[confusion(key)], classes)
            tallies |= {family(metric, [name], scoring): one for name, one in own.items()}
            if main:
                tallies[mean_family(metric, main, scoring)] = _joined(own, main, part.roster)
    return Evaluation(
        protocol=rules,
        suite="har",
        system=system,
        roster=part.roster,
        tallies=tallies,
        ledgers=ledgers,
        data="",
        table=NOTHING,
        facts=describe_tasks(tasks, _subjects(tasks, part)),
    )


def _subjects(tasks: Sequence[TaskCounts], part: Part) -> list[int]:
    """Return of how many subjects each task has windows."""
    codes, names = part.roster.codes()
    counts = [part.tallies[family(task.metric, [task.dataset], "exact")].fields["n"] for task in tasks]
    return [int((np.bincount(codes, n, len(names)) > 0).sum()) for n in counts]


def _over(ledger: Ledger, classes: tuple[str, ...]) -> Ledger:
    """Return a ledger over more classes."""
    empty: Array = np.zeros(0, dtype=np.int64)
    wide = Ledger(empty, dict.fromkeys(ledger.columns, empty), dict.fromkeys(ledger.labels, classes))
    return Ledger.stack([(ledger, 0), (wide, 0)])


def case_id(dataset: str, subject: str, recording: str) -> str:
    """Name a recording by its path; what a recording's own name repeats of it is left out.

    >>> case_id("motionsense", "1", "motionsense/1/dws_1"), case_id("d", "1", "monday")
    ('motionsense/1/dws_1', 'd/1/monday')
    """
    return join((dataset, subject, recording.removeprefix(f"{dataset}/{subject}/")))


def _cases(answers: Sequence[Answers], further: Iterable[Path3]) -> tuple[Roster, dict[tuple[str, str], Array]]:
    """Return who the cases are, and the case of every window of every metric and dataset."""
    own = [_pairs(item) for item in answers]
    paths = {(item.dataset, *pair): None for item, (_, pairs) in zip(answers, own, strict=True) for pair in pairs}
    ordered = sorted({**paths, **dict.fromkeys(further)}, key=lambda path: tuple(map(natural_key, path)))
    code = {path: index for index, path in enumerate(ordered)}
    place = {
        (item.metric, item.dataset): np.array([code[item.dataset, *pair] for pair in pairs], dtype=np.int64)[rows]
        for item, (rows, pairs) in zip(answers, own, strict=True)
    }
    roster = Roster(
        ids=tuple(case_id(*path) for path in ordered),
        groups=tuple(join(path[:2]) for path in ordered),
        tags={"dataset": tuple(path[0] for path in ordered)},
        level="subject",
    )
    return roster, place


def _pairs(item: Answers) -> tuple[Array, list[tuple[str, str]]]:
    """Return the subject and recording of every window as a number, and which they are."""
    (subject, people), (recording, names) = natural_ranks(item.subjects), natural_ranks(item.recordings)
    there, code = np.unique(subject * len(names) + recording, return_inverse=True)
    return code, [(people[own // len(names)], names[own % len(names)]) for own in there.tolist()]


def _labels(item: Answers, scoring: str) -> tuple[Labels, Labels]:
    grouped = is_grouped(scoring, item.scoring)
    sides = [natural_ranks(side) for side in (item.truth, item.answers)]
    named = [[group_of(word) if grouped else word for word in words] for _, words in sides]
    classes = tuple(sorted({word for words in named for word in words}, key=natural_key))
    code = {label: index for index, label in enumerate(classes)}
    coded = [np.array([*(code[word] for word in words), NONE], dtype=np.int64) for words in named]
    truth, answer = (own[ranks] for own, (ranks, _) in zip(coded, sides, strict=True))
    return Labels(truth, classes), Labels(answer, classes)


def _confusion(truth: Labels, answer: Labels, case: Array) -> Ledger:
    where, t, p, count = pair_counts(truth.codes, answer.codes, case, len(truth.classes), int(case.max(initial=-1)) + 1)
    columns: dict[str, Array] = {"truth": t, "predicted": p, "count": count}
    return Ledger(where, columns, {"truth": truth.classes, "predicted": truth.classes})


def _joined(parts: Mapping[str, Tallies], main: Sequence[str], roster: Roster) -> Tallies:
    """Put the tallies of the main datasets side by side."""
    stacked = Tallies.stack([parts[name] for name in main])
    every = stacked.grouped(np.tile(np.arange(len(roster)), len(main)), len(roster))
    place = {name: index for index, name in enumerate(main)}
    # A case belongs to one dataset; those of datasets apart hold nothing here, wherever they are put.
    return spread(every, np.array([place.get(name, 0) for name in roster.tags["dataset"]], dtype=np.int64), main)
