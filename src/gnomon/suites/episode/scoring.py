"""From answers to evaluations: tallies over the cases of a ground, facts, and the files of a run."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.audit import Audit
from gnomon.core.canonical import fingerprint
from gnomon.core.evidence import Finding
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure
from gnomon.core.tallies import Array, Tallies
from gnomon.runs.alignment import POOL
from gnomon.runs.run import Evaluation
from gnomon.runs.variants import DIFFERS, REPORTED, REPORTED_BY
from gnomon.suites.episode import audited, exhibits, gate
from gnomon.suites.episode import protocol as rules
from gnomon.suites.episode.answers import Answers, Tallied, pool_named, table, tallied
from gnomon.suites.episode.ground import Ground
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
        said[task] = Said(given.facts, without_overlap(clear(given, data, case, done[task])))
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
            ground.variant, list(ground.tasks), ground.roster.level, split=ground.split, settings=ground.settings
        ),
        suite="episode",
        system=system,
        roster=ground.roster,
        tallies=tallies,
        data=fingerprint({"episode": dict(sorted(ground.content.items()))}),
        table=pa.concat_tables([one.rows for one in done.values()]) if done else table(),
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
            **keeper.files(ground.look, ground.tested, done),
        },
    )


def _filled(ground: Ground, done: Mapping[str, Tallied]) -> tuple[dict[str, Tallies], dict[str, Ledger]]:
    """Return tallies and ledgers of all tasks; those that the system did not answer hold nothing."""
    tallies = {name: one for found in done.values() for name, one in found.tallies.items()}
    ledgers = {name: one for found in done.values() for name, one in found.ledgers.items()}
    n = len(ground.roster)
    for task in ground.tasks:
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
    not_valid = ground.not_valid
    valid = given - len(not_valid)
    answered = int(bool(answers))
    tasks = {}
    for name, outline in ground.tasks.items():
        own = dict(outline.facts)
        own["ceiling_by_metric"] = dict(ground.ceilings.get(name, {}))
        own["lacks"] = outline.lacks
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
        "not_valid": not_valid,
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
    pools = [pool_named(name, one.ranked) for name, one in ground.tasks.items() if one.task.kind == "retrieval"]
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


def without_overlap(rest: Clear) -> dict[str, Any] | None:
    """Score a task without what :func:`clear` leaves out; None where that is nothing."""
    if not rest.left_out:
        return None
    scored = rest.measure.score(rest.tallies.total())
    value = float(scored.values) if bool(scored.defined) else None
    return {"left_out": rest.left_out, "n": rest.n, "value": value}


def _declared(ground: Ground) -> list[tuple[str, Any]]:
    return [(name, TASKS[name]) for name in ground.tasks]


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


def _by_class(done: Mapping[str, Tallied]) -> dict[str, bytes]:
    """Return ``per_class.csv`` and ``confusion.csv`` of the tasks with classes."""
    classes, pairs = [], []
    for task, one in done.items():
        for name, tallies in one.tallies.items():
            if not name.startswith("episode_"):
                continue
            total = tallies.total()
            missing = of_task(TASKS[task])[0].missing(total)  # type: ignore[attr-defined]
            more = np.broadcast_to(missing.of_each, total["tp"].shape)
            columns = [*(total[key] for key in ("tp", "truth", "predicted")), more]
            for label, tp, truth, predicted, lost in zip(
                total.axes["class"], *(column.tolist() for column in columns), strict=True
            ):
                ratio = [_ratio(tp, predicted + lost), _ratio(tp, truth), _ratio(2 * tp, truth + predicted + lost)]
                classes.append([task, label, truth, predicted, tp, *ratio])
        if TASKS[task].kind in ("label", "binary", "pair"):
            pairs += [[task, *own] for own in _pairs(one.rows)]
    found = {}
    if classes:
        head = ["task", "class", "truth", "predicted", "tp", "precision", "recall", "f1"]
        found["per_class.csv"] = _csv(head, classes)
    if pairs:
        found["confusion.csv"] = _csv(["task", "truth", "predicted", "count"], pairs)
    return found


def _pairs(rows: pa.Table) -> list[tuple[str, str, int]]:
    """Return what was true and what was answered, and how often, sorted."""
    sides = pa.table({name: rows[name].cast(pa.string()) for name in ("truth", "prediction")})
    counts = sides.group_by(sides.column_names).aggregate([([], "count_all")])
    return sorted(zip(*(counts[name].to_pylist() for name in (*sides.column_names, "count_all")), strict=True))


def _ratio(top: int, bottom: int) -> str:
    return f"{top / bottom:.6f}" if bottom else ""


def _csv(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().encode()
