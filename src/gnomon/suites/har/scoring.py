"""Verb ``score``, and what both verbs end in: answers tallied by metric, dataset and recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from gnomon.core.tallies import Array, Tallies, natural_key, union
from gnomon.engine.job import Job
from gnomon.intake.shards import is_folder, refuse_folders
from gnomon.intake.sources import Source, systems
from gnomon.intake.texts import natural_ranks
from gnomon.intake.unread import note, reading_for
from gnomon.measures.classification import tally_cases
from gnomon.numerics.counting import pair_counts
from gnomon.runs.alignment import LACKING
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.har import export
from gnomon.suites.har.counted import Counted, facts, findings
from gnomon.suites.har.metrics import METRICS, SCORINGS, family, listed, mean_family, none, spread
from gnomon.suites.har.options import ScoreOptions
from gnomon.suites.har.predictions import Answers, Truth, read_answers, read_truth
from gnomon.suites.har.protocol import protocol
from gnomon.suites.har.vocabulary import SEVERE, group_of

_NONE = pa.array([], pa.string())
NOTHING = Answers("", "", _NONE, _NONE, _NONE, _NONE, _NONE, "exact").table()
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


def score(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score every given system against the truth; folders of shards are scored shard by shard."""
    if is_folder(options.truth):
        from gnomon.suites.har import shards

        return shards.score(options)
    sources = systems(options.predictions, "id")
    refuse_folders(source.content for source in sources)
    truth = read_truth(options)
    note(truth.source.where, truth.unused)
    data = truth.fingerprint()
    found = []
    for source in sources:
        with reading_for(source.name):
            answers = read_answers(source, truth, options)
        part = tallied(answers)
        inputs = _described(truth.source), _described(source)
        seen = Seen(len(truth), truth.tasks, data, inputs, lacking(truth, answers))
        made = judged(part, [Counted.of(item) for item in answers], seen, truth.source, source, options)
        found.append(replace(made, table=table(answers)))
    if options.export_baseline:
        export.write(options.export_baseline, found)
    return found


@dataclass(frozen=True)
class Seen:
    """What was to be scored: windows of the truth, their metrics and datasets, their fingerprint, and files."""

    windows: int
    tasks: Collection[tuple[str, str]]
    data: str
    inputs: tuple[Mapping[str, Any], ...] = ()
    lacking: Mapping[str, int] = field(default_factory=dict)
    """How many windows of which cases were not scored."""


def lacking(truth: Truth, answers: Sequence[Answers]) -> dict[str, int]:
    """Count the windows of the truth that were left out, by case."""
    found: Counter[str] = Counter()
    if sum(map(len, answers)) == len(truth):
        return {}
    for item in answers:
        rows = truth.tasks[item.metric, item.dataset]
        asked = zip(truth.subjects[rows].to_pylist(), truth.recordings[rows].to_pylist(), strict=True)
        scored = zip(item.subjects.to_pylist(), item.recordings.to_pylist(), strict=True)
        lost = Counter(asked) - Counter(scored)
        found.update({case_id(item.dataset, *path): n for path, n in lost.items()})
    return dict(found)


def judged(
    part: Part, tasks: Sequence[Counted], seen: Seen, truth: Source, source: Source, options: ScoreOptions
) -> Evaluation:
    """Make the evaluation of what was tallied of one system's predictions."""
    scored = sum(map(len, tasks))
    if not scored:
        raise InputError(f"{source.where}: no window of the truth has a prediction: nothing can be scored")
    metrics = [metric for metric in METRICS if any(metric == own for own, _ in seen.tasks)]
    main, apart = _main(options, sorted({dataset for _, dataset in seen.tasks}, key=natural_key))
    lost = sum(task.answers.get("", 0) for task in tasks)
    about = Scored(
        source.name,
        protocol("", metrics, main, apart, settings={"text_aligned": options.text_aligned}),
        seen.data,
        options=opt.record(replace(options, truth=truth.where, predictions=(source.where,))),
        coverage={
            "complete": scored == seen.windows,
            "windows": {"truth": seen.windows, "scored": scored, "missing": seen.windows - scored + lost},
            **({LACKING: dict(seen.lacking)} if seen.lacking else {}),
            "policy": {"missing": options.missing},
        },
        inputs=seen.inputs,
        findings=findings(tasks, source.where, lost),
    )
    return assembled(part, tasks, about)


def evaluation(answers: Sequence[Answers], about: Scored) -> Evaluation:
    """Tally answers; a metric on a dataset without answers is there too, undefined."""
    made = assembled(tallied(answers, about.cases), [Counted.of(item) for item in answers], about)
    return replace(made, table=table(answers))


def table(answers: Sequence[Answers]) -> pa.Table:
    """Return a row per window: what a run keeps."""
    return pa.concat_tables([NOTHING, *(item.table() for item in answers)])


def tallied(answers: Sequence[Answers], further: Iterable[Path3] = ()) -> Part:
    """Tally answers by metric, dataset and scoring, and count which labels were given for which."""
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
    return Part(roster, tallies, ledgers)


def confusion(name: str) -> str:
    """Name the ledger of a family of tallies."""
    return f"confusion_{name}"


def assembled(part: Part, tasks: Sequence[Counted], about: Scored) -> Evaluation:
    """Put the tallies of all metrics and datasets together; what a run keeps of predictions is left to be filled in."""
    by_task = {(task.metric, task.dataset): task for task in tasks}
    tallies: dict[str, Tallies] = {}
    ledgers: dict[str, Ledger] = {}
    main, apart = about.protocol.settings["main"], about.protocol.settings["apart"]
    for metric in about.protocol.tasks:
        for scoring in SCORINGS:
            own = {name: none(len(part.roster)) for name in (*main, *apart)}
            for name in own:
                if (task := by_task.get((metric, name))) is not None:
                    key, labels = family(metric, [name], scoring), task.listed(scoring)
                    counted = part.tallies[key]
                    classes = union([counted.axes["class"], labels])
                    own[name] = listed(counted.relabel({"class": classes}), labels)
                    if scoring == "native":
                        ledgers[confusion(key)] = _over(part.ledgers[confusion(key)], classes)
            tallies |= {family(metric, [name], scoring): one for name, one in own.items()}
            if main:
                tallies[mean_family(metric, main, scoring)] = _joined(own, main, part.roster)
    return Evaluation(
        protocol=about.protocol,
        suite="har",
        system=about.system,
        roster=part.roster,
        tallies=tallies,
        ledgers=ledgers,
        data=about.data,
        table=NOTHING,
        coverage=about.coverage,
        findings=about.findings,
        inputs=about.inputs,
        options=about.options,
        facts={**about.facts, **facts(tasks, _subjects(tasks, part))},
    )


def _subjects(tasks: Sequence[Counted], part: Part) -> list[int]:
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
    grouped = (item.scoring if scoring == "native" else scoring) == "group"
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


def _main(options: ScoreOptions, datasets: Sequence[str]) -> tuple[list[str], list[str]]:
    unknown = sorted(set(options.main) - set(datasets))
    if unknown:
        raise InputError(f"--main: no dataset {some(unknown)} in the truth; there are {', '.join(datasets)}")
    main = [name for name in datasets if (name in options.main if options.main else name not in SEVERE)]
    return main, [name for name in datasets if name not in main]


def _described(source: Source) -> dict[str, Any]:
    if not isinstance(source.content, str):
        return {"name": source.name, "path": None, "bytes": None, "sha256": None}
    path = Path(source.content)
    return {"name": source.name, "path": source.content, "bytes": path.stat().st_size, "sha256": hash_file(path)}


def data_fingerprint(content: Mapping[str, str]) -> str:
    """Return the fingerprint of test datasets from the content of their files."""
    return fingerprint({"har": dict(sorted(content.items()))})
