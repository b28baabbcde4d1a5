"""From answers to evaluations: cases, tallies, files of a run; and the verb ``score`` for answers made elsewhere."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.audit import Audit
from gnomon.core.canonical import fingerprint
from gnomon.core.cases import Roster
from gnomon.core.evidence import Finding
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array, Tallies, natural_key
from gnomon.runs.alignment import POOL
from gnomon.runs.run import Evaluation
from gnomon.runs.variants import DIFFERS, REPORTED, REPORTED_BY
from gnomon.suites.episode import audited, exhibits, gate, systems
from gnomon.suites.episode import protocol as rules
from gnomon.suites.episode.answers import ROW, Answers, Tallied, pool_of, tallied
from gnomon.suites.episode.heads import form
from gnomon.suites.episode.measured import of_task
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import DISJOINT, TEST, TRAIN

CITED = (
    "as published for one episode of 5,821 frames, without intervals and with the leaks that the audit of the "
    "published variant names"
)


KEPT = ("coverage", "masked", "invalid_frames", "frames", "audio")
"""What a run records of the features of every episode."""


@dataclass(frozen=True, eq=False)
class Ground:
    """What all systems of one variant stand on: the samples of every task, the cases, and their audit."""

    variant: str
    split: Mapping[str, Any]
    settings: Mapping[str, Any]
    data: Mapping[str, TaskData]
    roster: Roster
    content: Mapping[str, str]
    """Hash of every episode."""
    simulated: tuple[str, ...]
    samples: Samples | None
    audit: Any
    ceilings: Mapping[str, Mapping[str, Any]]
    files: Mapping[str, bytes] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    streams: Mapping[str, Any] = field(default_factory=dict)
    """By episode: coverage of the blocks, and why some are masked."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Episodes that were given and cannot be used, and why."""

    @staticmethod
    def of(
        variant: str,
        data: Mapping[str, TaskData],
        content: Mapping[str, str],
        simulated: Sequence[str],
        split: Mapping[str, Any],
        settings: Mapping[str, Any],
        trained: bool = True,
        files: Mapping[str, bytes] | None = None,
        streams: Mapping[str, Any] | None = None,
        left_out: Mapping[str, str] | None = None,
    ) -> Ground:
        """Put together what systems share; without training there is no split to audit."""
        by_task = audited.collected(data) if trained else {}
        roster = _roster(data)
        ceilings = {name: systems.ceiling(one) for name, one in data.items() if trained and not one.lacks}
        unit = {"window": "ids", "group": roster.level}[rules.COUNTED[variant]]
        held = audited.audit(data, by_task, unit) if by_task and trained else None
        tested = sorted(_tested(data))
        return Ground(
            variant,
            {**split, "test_episodes": tested} if split.get("name") == DISJOINT else split,
            settings,
            data,
            roster,
            dict(content),
            tuple(simulated),
            audited.joined(by_task) if trained else None,
            held,
            ceilings,
            dict(files or {}),
            (*_left_out(left_out or {}), *_about(data, simulated), *_masked(streams or {})),
            dict(streams or {}),
            dict(left_out or {}),
        )

    @property
    def tested(self) -> set[str]:
        """Episodes with a test sample."""
        return _tested(self.data)


def _tested(data: Mapping[str, TaskData]) -> set[str]:
    return {one.episode[place] for one in data.values() for place in one.of(TEST).tolist()}


def _roster(data: Mapping[str, TaskData]) -> Roster:
    """Return all annotated segments as cases; with one test episode they are what is resampled, else episodes are."""
    place = {segment: name for one in data.values() for segment, name in zip(one.segment, one.episode, strict=True)}
    segments = sorted(place, key=natural_key)
    several = len(_tested(data)) > 1
    return Roster(
        ids=tuple(segments),
        groups=tuple(place[name] if several else name for name in segments),
        tags={"episode": tuple(place[name] for name in segments)},
        level="episode" if several else "segment",
    )


def _about(data: Mapping[str, TaskData], simulated: Sequence[str]) -> tuple[Finding, ...]:
    found = []
    for name, one in data.items():
        if one.lacks:
            found.append(Finding("task-not-possible", "warning", name, f"{name}: {one.lacks}", "give more episodes"))
        if purged := one.facts["samples"].get("purged", 0):
            text = f"{name}: {purged} samples read across the cut or come nearer than the embargo, and are in no part"
            found.append(Finding("purged-samples", "info", name, text, "nothing: strict does so"))
    if simulated:
        text = f"{len(simulated)} episodes are simulated: {', '.join(simulated[:5])}"
        found.append(Finding("simulated-data", "info", "data", text, "nothing: do not report them as real"))
    return tuple(found)


def _left_out(episodes: Mapping[str, str]) -> list[Finding]:
    """Say which episodes are not in the numbers."""
    remedy = "complete the episode, or say that the numbers are without it"
    return [
        Finding("episode-left-out", "warning", name, f"{name} is left out: {why}", remedy)
        for name, why in episodes.items()
    ]


def _masked(streams: Mapping[str, Any]) -> list[Finding]:
    """Say which blocks are masked, wholly or in part."""
    found = []
    for name, one in streams.items():
        lost = {block: why for block, why in one["masked"].items() if one["coverage"][block] < 1}
        if lost:
            said = "; ".join(f"{block} {one['coverage'][block]:.0%} ({why})" for block, why in lost.items())
            text = f"{name}: {len(lost)} blocks are masked where they are missing: {said}"
            found.append(Finding("masked-blocks", "warning", name, text, "complete the episode, or read the coverage"))
        gaps = {block: n for block, n in one.get("invalid_frames", {}).items() if n and block not in lost}
        if gaps:
            said = ", ".join(f"{block} {n}" for block, n in gaps.items())
            text = f"{name}: frames in which a block saw nothing valid, of {one['frames']}: {said}"
            found.append(Finding("invalid-frames", "info", name, text, "nothing: coverage is recorded"))
        repaired = {what: count for what, count in one["repairs"].items() if count}
        if repaired:
            said = "; ".join(f"{what}: {count}" for what, count in repaired.items())
            found.append(Finding("repaired-or-left-out", "info", name, f"{name}: {said}", "look at the caption"))
    return found


def evaluation(
    ground: Ground,
    system: str,
    answers: Mapping[str, Answers],
    *,
    coverage: Mapping[str, Any],
    options: Mapping[str, Any],
    inputs: Sequence[Mapping[str, Any]],
    facts: Mapping[str, Any],
    keeper: exhibits.Keeper,
) -> Evaluation:
    """Tally the answers of a system to every task that it answered, and keep what can be looked at."""
    done, said = {}, {}
    for task, given in answers.items():
        data = ground.data[task]
        test = data.of(TEST)
        place = {name: index for index, name in enumerate(ground.roster.ids)}
        case = np.array([place[data.segment[row]] for row in test.tolist()], dtype=np.int64)
        done[task] = tallied(given, data, test, case, len(ground.roster))
        said[task] = Said(given.facts, without_overlap([clear(given, data, case, done[task])]))
    about = About(coverage, options, tuple(inputs), facts)
    made = assembled(ground, system, done, said, about, keeper)
    vectors = {f"{task}.npz": one.packed() for task, one in answers.items() if form(one.task.kind) == "vectors"}
    return replace(made, files={**made.files, **vectors})


@dataclass(frozen=True)
class Said:
    """What is recorded of the answers to a task besides what was tallied."""

    facts: Mapping[str, Any]
    without_overlap: Mapping[str, Any] | None
    """See :func:`without_overlap`."""


@dataclass(frozen=True)
class About:
    """What a run records of how it was made."""

    coverage: Mapping[str, Any]
    options: Mapping[str, Any]
    inputs: tuple[Mapping[str, Any], ...]
    facts: Mapping[str, Any]


def assembled(
    ground: Ground,
    system: str,
    done: Mapping[str, Tallied],
    said: Mapping[str, Said],
    about: About,
    keeper: exhibits.Keeper,
) -> Evaluation:
    """Make the evaluation of what was tallied of every task, over the cases of the ground."""
    tallies, ledgers = _filled(ground, done)
    known = _facts(ground, system, said, done, about.facts)
    told = tuple(finding for task, one in done.items() for finding in _ties(task, one))
    ranked = any("queries" in one.facts for one in done.values())
    audit = (ground.audit or Audit()).add("tied-ranks", told) if ranked else ground.audit
    return Evaluation(
        protocol=rules.protocol(
            ground.variant, list(ground.data), ground.roster.level, split=ground.split, settings=ground.settings
        ),
        suite="episode",
        system=system,
        roster=ground.roster,
        tallies=tallies,
        data=fingerprint({"episode": dict(sorted(ground.content.items()))}),
        table=table([row for one in done.values() for row in one.rows]),
        ledgers=ledgers,
        coverage=about.coverage,
        findings=ground.findings,
        inputs=about.inputs,
        options=about.options,
        facts=known,
        samples=ground.samples,
        audit=audit,
        files={
            **ground.files,
            **gate.files(ground.variant, ground.split, known),
            **_by_class(done),
            **keeper.files(ground.data, ground.tested, done),
        },
    )


def _filled(ground: Ground, done: Mapping[str, Tallied]) -> tuple[dict[str, Tallies], dict[str, Ledger]]:
    """Return tallies and ledgers of all tasks; those that the system did not answer hold nothing."""
    tallies = {name: one for found in done.values() for name, one in found.tallies.items()}
    ledgers = {name: one for found in done.values() for name, one in found.ledgers.items()}
    n = len(ground.roster)
    for task in ground.data:
        for measure in of_task(TASKS[task]):
            if measure.layout and measure.family not in tallies:
                tallies[measure.family] = _nothing(measure.layout, n)
            name = getattr(measure, "ledger", "")
            if not measure.layout and name not in ledgers:
                columns = {column: np.zeros(0, dtype=np.int64) for column in measure.columns}  # type: ignore[attr-defined]
                ledgers[name] = Ledger(np.zeros(0, dtype=np.int64), columns)
    return tallies, ledgers


def _nothing(layout: Any, n: int) -> Tallies:
    from gnomon.measures.retrieval import AXES

    axes = {axis: AXES.get(axis, ()) for item in layout for axis in item.axes}
    fields: dict[str, Array] = {
        item.name: np.zeros(
            (n, *(len(axes[axis]) for axis in item.axes)), dtype=np.int64 if item.kind == "count" else np.float64
        )
        for item in layout
    }
    return Tallies(layout, axes, fields)


def _facts(
    ground: Ground, system: str, answers: Mapping[str, Said], done: Mapping[str, Tallied], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a run records, and what its claims are judged by."""
    apart = int(ground.split.get("name") == DISJOINT)
    given = len(ground.content)
    whole = [name for name, one in ground.streams.items() if one["coverage"] and min(one["coverage"].values()) > 0]
    valid = len(set(whole) - set(ground.simulated))
    answered = int(bool(answers))
    tasks = {}
    for name, data in ground.data.items():
        own = dict(data.facts)
        own["ceiling_by_metric"] = dict(ground.ceilings.get(name, {}))
        own["lacks"] = data.lacks
        if name in answers:
            own["answered"] = dict(answers[name].facts)
            own["without_overlap"] = answers[name].without_overlap
            own |= {key: value for key, value in done[name].facts.items() if key not in ("queries", "positives")}
        tasks[name] = own
    trained = any("training" in one.facts for one in answers.values())
    found = {
        "tasks": tasks,
        "episodes": given,
        "valid_episodes": valid,
        "test_episodes": sorted(ground.tested),
        "episodes_apart": apart,
        "held_out_evaluation": apart * answered,
        "manifest": 1,
        "metrics": answered,
        "predictions": answered,
        "run_report": 0,
        "fine_tuned": 0,
        "training_metadata": int(trained),
        "progress_logs": int(bool(facts.get("progress_logs"))),
        "pixel_targets": 0,
        "audio_features": 0,
        "real_episodes": int(not ground.simulated),
        "simulated": list(ground.simulated),
        "left_out": dict(ground.left_out),
        "streams": {name: {key: one[key] for key in KEPT if key in one} for name, one in ground.streams.items()},
        "artefacts": "full" if valid >= rules.VALID_EPISODES else "smoke",
        **{key: value for key, value in facts.items() if key != "progress_logs"},
    }
    reported = {
        f"{one.metric}[{name}]": one.published[system] for name, one in _declared(ground) if system in one.published
    }
    pools = [pool_of(data) for data in ground.data.values() if data.task.kind == "retrieval"]
    if pools:
        found[POOL] = fingerprint(pools)
    if reported:
        found |= {REPORTED: reported, REPORTED_BY: CITED}
    if ground.variant == "strict":
        found[DIFFERS] = list(rules.DIFFERENT)
    return found


@dataclass(frozen=True)
class Clear:
    """A task without the test samples that read what training samples read: how many they are, and the others."""

    measure: Measure
    left_out: int
    n: int
    tallies: Tallies


def clear(given: Answers, data: TaskData, case: Array, done: Tallied) -> Clear:
    """Tally a task by its headline, without the test samples that read what training samples read."""
    measure = of_task(given.task)[0]
    train, test = data.of(TRAIN), data.of(TEST)
    reads, ends = data.reads, np.full(len(data.recorded), -1, dtype=np.int64)
    np.maximum.at(ends, data.numbers[train], reads[train, 1])
    kept = np.flatnonzero(reads[test, 0] >= ends[data.numbers[test]])
    if len(kept) < len(test):
        done = tallied(given.take(kept), data, test[kept], case[kept], done.tallies[measure.family].n_cases)
    return Clear(measure, len(test) - len(kept), len(kept), done.tallies[measure.family])


def without_overlap(parts: Sequence[Clear]) -> dict[str, Any] | None:
    """Score a task without what :func:`clear` leaves out; None where that is nothing."""
    left_out, n = sum(part.left_out for part in parts), sum(part.n for part in parts)
    if not left_out:
        return None
    scored = parts[0].measure.score(Tallies.stack([part.tallies for part in parts]).total())
    value = float(scored.values) if bool(scored.defined) else None
    return {"left_out": left_out, "n": n, "value": value}


def _declared(ground: Ground) -> list[tuple[str, Any]]:
    return [(name, TASKS[name]) for name in ground.data]


def _ties(task: str, done: Tallied) -> tuple[Finding, ...]:
    """Check the ties of a ranking, which is scored by the mean over their order."""
    if "queries" not in done.facts:
        return ()
    family = next(name for name in done.tallies if name.startswith("retrieval"))
    totals = done.tallies[family].total()
    n = float(totals["n"])
    if not n:
        return ()
    forms = dict(zip(totals.axes["form"], (totals["reciprocal"] / n).tolist(), strict=True))
    return audited.ties(task, forms, "average", done.facts["queries"], done.facts["positives"])


def table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Return the table of a run."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(ROW)
    kinds = [pa.string()] * 6 + [pa.float64()]
    return pa.table({name: pa.array(column, kind) for name, column, kind in zip(ROW, columns, kinds, strict=True)})


def _by_class(done: Mapping[str, Tallied]) -> dict[str, bytes]:
    """Return ``per_class.csv`` and ``confusion.csv`` of the tasks with classes."""
    classes, pairs = [], []
    for task, one in done.items():
        for name, tallies in one.tallies.items():
            if not name.startswith("episode_"):
                continue
            total = tallies.total()
            for label, tp, truth, predicted in zip(
                total.axes["class"], *(total[key].tolist() for key in ("tp", "truth", "predicted")), strict=True
            ):
                ratio = [_ratio(tp, predicted), _ratio(tp, truth), _ratio(2 * tp, truth + predicted)]
                classes.append([task, label, truth, predicted, tp, *ratio])
        if TASKS[task].kind in ("label", "binary", "pair"):
            counts: dict[tuple[str, str], int] = {}
            for row in one.rows:
                counts[row[4], row[5]] = counts.get((row[4], row[5]), 0) + 1
            pairs += [[task, truth, answer, n] for (truth, answer), n in sorted(counts.items())]
    found = {}
    if classes:
        head = ["task", "class", "truth", "predicted", "tp", "precision", "recall", "f1"]
        found["per_class.csv"] = _csv(head, classes)
    if pairs:
        found["confusion.csv"] = _csv(["task", "truth", "predicted", "count"], pairs)
    return found


def _ratio(top: int, bottom: int) -> str:
    return f"{top / bottom:.6f}" if bottom else ""


def _csv(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().encode()
