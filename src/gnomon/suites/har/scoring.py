"""Verb ``score``, and what both verbs end in: answers tallied by metric, dataset and recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core import options as opt
from gnomon.core.canonical import fingerprint
from gnomon.core.cases import Roster, join
from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.core.ledgers import Ledger
from gnomon.core.protocol import Protocol
from gnomon.core.signals import NONE, Labels
from gnomon.core.tallies import Array, Tallies, natural_key
from gnomon.intake.sources import Source, systems
from gnomon.measures.classification import tally_cases
from gnomon.numerics.counting import pair_counts
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.har import export
from gnomon.suites.har.metrics import METRICS, RATES, SCORINGS, family, listed, mean_family, none, spread
from gnomon.suites.har.options import ScoreOptions
from gnomon.suites.har.predictions import Answers, Truth, read_answers, read_truth
from gnomon.suites.har.protocol import protocol
from gnomon.suites.har.vocabulary import LABELS, SEVERE, TEST_LABELS, asked_of, coverage, digest, group_of

NOTHING = Answers("", "", (), (), (), (), (), "exact").table()
"""The table of a run without an answer."""


Path3 = tuple[str, str, str]
"""Dataset, subject and recording."""


@dataclass(frozen=True)
class Scored:
    """What is known of a system besides its answers."""

    system: str
    protocol: Protocol
    data: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    coverage: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Mapping[str, Any], ...] = ()
    findings: tuple[Finding, ...] = ()
    cases: tuple[Path3, ...] = ()
    """Recordings that are cases even if no window of theirs was scored: those of the test datasets."""


def score(options: ScoreOptions) -> list[Evaluation]:
    """Score every given system against the truth."""
    truth = read_truth(options)
    sources = systems(options.predictions, "id")
    tasks = truth.tasks()
    metrics = [metric for metric in METRICS if any(metric == own for own, _ in tasks)]
    datasets = sorted({dataset for _, dataset in tasks}, key=natural_key)
    main, apart = _main(options, datasets)
    shape = protocol("", metrics, main, apart, settings={"text_aligned": options.text_aligned})
    data = fingerprint([[*key, *rest] for key, *rest in _rows(truth)])
    found = []
    for source in sources:
        answers = read_answers(source, truth, options)
        if not any(map(len, answers)):
            raise InputError(f"{source.where}: no window of the truth has a prediction: nothing can be scored")
        lost = sum(answer == "" for item in answers for answer in item.answers)
        scored = sum(map(len, answers))
        about = Scored(
            source.name,
            shape,
            data,
            options=opt.record(replace(options, truth=truth.source.where, predictions=(source.where,))),
            coverage={
                "complete": scored == len(truth.keys),
                "windows": {"truth": len(truth.keys), "scored": scored, "missing": len(truth.keys) - scored + lost},
                "policy": {"missing": options.missing},
            },
            inputs=(_described(truth.source), _described(source)),
            findings=_findings(answers, source.where, lost),
        )
        found.append(evaluation(answers, about))
    if options.export_baseline:
        export.write(options.export_baseline, found)
    return found


def evaluation(answers: Sequence[Answers], about: Scored) -> Evaluation:
    """Tally answers; a metric on a dataset without answers is there too, undefined."""
    roster, place = _cases(answers, about.cases)
    by_task = {(item.metric, item.dataset): item for item in answers}
    tallies: dict[str, Tallies] = {}
    ledgers: dict[str, Ledger] = {}
    main, apart = about.protocol.settings["main"], about.protocol.settings["apart"]
    for metric in about.protocol.tasks:
        for scoring in SCORINGS:
            parts = {name: none(len(roster)) for name in (*main, *apart)}
            for name in parts:
                if (item := by_task.get((metric, name))) is not None:
                    truth, answer = _labels(item, scoring)
                    counted = tally_cases(truth, answer, place[metric, name], len(roster))
                    parts[name] = listed(counted, _list(item, scoring))
                    if scoring == "native":
                        ledger = _confusion(truth, answer, place[metric, name])
                        ledgers[f"confusion_{family(metric, [name], scoring)}"] = ledger
            tallies |= {family(metric, [name], scoring): part for name, part in parts.items()}
            if main:
                tallies[mean_family(metric, main, scoring)] = _joined(parts, main, roster)
    table = pa.concat_tables([NOTHING, *(item.table() for item in answers)])
    return Evaluation(
        protocol=about.protocol,
        suite="har",
        system=about.system,
        roster=roster,
        tallies=tallies,
        ledgers=ledgers,
        data=about.data,
        table=table,
        coverage=about.coverage,
        findings=about.findings,
        inputs=about.inputs,
        options=about.options,
        facts={**about.facts, **_facts(answers)},
    )


def case_id(dataset: str, subject: str, recording: str) -> str:
    """Name a recording by its path; what a recording's own name repeats of it is left out.

    >>> case_id("motionsense", "1", "motionsense/1/dws_1"), case_id("d", "1", "monday")
    ('motionsense/1/dws_1', 'd/1/monday')
    """
    return join((dataset, subject, recording.removeprefix(f"{dataset}/{subject}/")))


def _cases(answers: Sequence[Answers], further: Iterable[Path3]) -> tuple[Roster, dict[tuple[str, str], Array]]:
    """Return who the cases are, and the case of every window of every metric and dataset."""
    paths = {
        (item.dataset, subject, recording): None
        for item in answers
        for subject, recording in zip(item.subjects, item.recordings, strict=True)
    } | dict.fromkeys(further)
    ordered = sorted(paths, key=lambda path: tuple(map(natural_key, path)))
    code = {path: index for index, path in enumerate(ordered)}
    place = {
        (item.metric, item.dataset): np.fromiter(
            (code[item.dataset, s, r] for s, r in zip(item.subjects, item.recordings, strict=True)), np.int64, len(item)
        )
        for item in answers
    }
    roster = Roster(
        ids=tuple(case_id(*path) for path in ordered),
        groups=tuple(join(path[:2]) for path in ordered),
        tags={"dataset": tuple(path[0] for path in ordered)},
        level="subject",
    )
    return roster, place


def _labels(item: Answers, scoring: str) -> tuple[Labels, Labels]:
    grouped = (item.scoring if scoring == "native" else scoring) == "group"
    truth, answer = ([group_of(x) if grouped and x else x for x in side] for side in (item.truth, item.answers))
    classes = tuple(sorted({*truth, *answer, *_list(item, scoring)} - {""}, key=natural_key))
    code = {label: index for index, label in enumerate(classes)} | {"": NONE}
    sides = [np.fromiter((code[label] for label in side), np.int64, len(side)) for side in (truth, answer)]
    return Labels(sides[0], classes), Labels(sides[1], classes)


def _list(item: Answers, scoring: str) -> tuple[str, ...]:
    """Return the fixed list of labels; none where the native scoring is by group, or groups are counted."""
    return item.classes if item.scoring == "exact" and scoring != "group" else ()


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


def _facts(answers: Sequence[Answers]) -> dict[str, Any]:
    """Return what the answers themselves tell: windows, subjects, coverage of labels, ceilings."""
    tasks = {
        f"{item.metric} {item.dataset}": {
            "n": len(item),
            "n_train": item.n_train,
            "subjects": len(set(item.subjects)),
            "scoring": item.scoring,
            **item.facts,
        }
        for item in answers
    }
    supervised = [
        entry["subjects"] for item, entry in zip(answers, tasks.values(), strict=True) if item.metric in RATES
    ]
    zero = [entry["subjects"] for item, entry in zip(answers, tasks.values(), strict=True) if item.metric not in RATES]
    return {
        "vocabulary": digest(),
        "tasks": tasks,
        "coverage": {item.dataset: _covered(item) for item in answers},
        "least_groups": min(supervised, default=0),
        "least_zero_shot_groups": min(zero, default=0),
    }


def _covered(item: Answers) -> dict[str, Any]:
    counts = {label: item.truth.count(label) for label in dict.fromkeys(item.truth)}
    found = asdict(coverage(item.dataset, counts, asked_of(item.dataset, counts)))
    return {**found, "unmappable": list(found["unmappable"])}


def _main(options: ScoreOptions, datasets: Sequence[str]) -> tuple[list[str], list[str]]:
    unknown = sorted(set(options.main) - set(datasets))
    if unknown:
        raise InputError(f"--main: no dataset {some(unknown)} in the truth; there are {', '.join(datasets)}")
    main = [name for name in datasets if (name in options.main if options.main else name not in SEVERE)]
    return main, [name for name in datasets if name not in main]


def _rows(truth: Truth) -> list[tuple[Any, ...]]:
    return list(zip(truth.keys, truth.labels, truth.subjects, truth.recordings, strict=True))


def _findings(answers: Sequence[Answers], where: str, lost: int) -> tuple[Finding, ...]:
    found = []
    if lost:
        text = f"{lost} windows have no prediction and are counted as wrong"
        found.append(Finding("missing-predictions", "warning", where, text, "predict every window"))
    odd = sorted(
        {label for item in answers for label in item.truth if label not in TEST_LABELS.get(item.dataset, (label,))}
    )
    if odd:
        text = f"{len(odd)} true labels are not labels of their dataset: {some(odd)}"
        found.append(
            Finding("labels-of-another-set", "warning", where, text, "check names against gnomon data describe")
        )
    return (*found, *(finding for item in answers for finding in _odd_answers(item, where)))


def _odd_answers(item: Answers, where: str) -> list[Finding]:
    """Find answers that cannot be right, whatever the window is."""
    known = {*LABELS, *(label for own in TEST_LABELS.values() for label in own), *item.truth, ""}
    groups = {group_of(label) for label in item.truth} | {group_of(label) for label in item.classes}
    counts = Counter(item.answers)
    told = []
    unknown = [label for label in counts if label not in known]
    if unknown:
        told.append((unknown, "labels that nobody knows"))
    if item.metric == "zs-closed" and item.scoring == "group":
        outside = [label for label in counts if label and label in known and group_of(label) not in groups]
        told.append((outside, "labels outside the closed set"))
    elif item.scoring == "exact":
        outside = [label for label in counts if label and label in known and label not in item.classes]
        told.append((outside, "labels that the dataset does not have"))
    found = []
    for labels, what in told:
        if labels:
            n = sum(counts[label] for label in labels)
            text = f"{item.metric} {item.dataset}: {n} of {len(item)} answers are {what}: {some(sorted(labels))}"
            found.append(Finding("impossible-answers", "warning", where, text, "check the spelling of the labels"))
    return found


def _described(source: Source) -> dict[str, Any]:
    if not isinstance(source.content, str):
        return {"name": source.name, "path": None, "bytes": None, "sha256": None}
    path = Path(source.content)
    return {"name": source.name, "path": source.content, "bytes": path.stat().st_size, "sha256": hash_file(path)}


def data_fingerprint(content: Mapping[str, str]) -> str:
    """Return the fingerprint of test datasets from the content of their files."""
    return fingerprint({"har": dict(sorted(content.items()))})
