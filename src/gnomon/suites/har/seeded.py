"""What tables of ``har`` runs share: runs of one system with several seeds are one row, its mean over seeds."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.core.measure import Measure
from gnomon.core.table import Cell
from gnomon.inference.crossed import Crossed, crossed
from gnomon.inference.intervals import Groups, filled
from gnomon.inference.scoring import Score
from gnomon.runs import tables as common
from gnomon.runs.run import Run

Found = tuple[Cell, int, int, tuple[str, ...]]
"""A cell, how many windows and subjects it rests on, and notes."""


def families_of(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return runs by system, best first; seeds of a system together."""
    found: dict[str, list[Run]] = {}
    seeds = len({run.manifest["facts"].get("seed") for run in runs}) > 1
    for run in common.ranked(runs):
        found.setdefault(str(run.manifest["system"]) if seeds else run.system, []).append(run)
    return found


def found(own: Sequence[Run], measure: Measure) -> Found:
    """Return a score of one run, or the mean over seeds."""
    if len(own) == 1:
        score = own[0].find(measure.name)
        notes = () if score is None else score.notes
        return common.cell(score, measure), _n(score), score.groups if score and score.n else 0, notes
    if not measure.computable:
        return Cell(None, why="a mean over seeds needs the class of this metric: give --metrics again"), 0, 0, ()
    made: Crossed = crossed(measure, _kept(own, measure))
    value, low, high = (common.shown(number, measure) for number in (made.value, made.low, made.high))
    return Cell(value, low, high, made.why, made.interval_why), made.n, made.groups, made.notes


def _kept(own: Sequence[Run], measure: Measure) -> list[Groups]:
    """Return the groups of every seed, without those in which nothing was tallied."""
    groups = [run.groups(measure) for run in own]
    rows = filled(groups[0].tallies)
    return [Groups(one.tallies.take(rows), one.plan, one.level) if rows.any() else one for one in groups]


def _n(score: Score | None) -> int:
    return 0 if score is None else score.n


def marked(run: Run, dataset: str) -> str:
    """Return the name of a dataset, which says where it is reported apart."""
    return f"{dataset} (apart)" if dataset in run.manifest["protocol"]["settings"]["apart"] else dataset


def simulated(run: Run) -> list[str]:
    """Say which datasets were generated."""
    names = run.manifest["facts"].get("simulated", [])
    return [f"simulated data, no recordings of people: {', '.join(names)}"] if names else []


def told(runs: Sequence[Run], remarks: Sequence[str]) -> list[str]:
    """Say how intervals were made, and what is wrong with them."""
    plan, level = runs[0].plan, runs[0].roster.level
    if plan.method == "none":
        return ["intervals were not asked for", *_seeds(runs)]
    seeds = {run.manifest["facts"].get("seed") for run in runs}
    over = f"{level}s and {len(seeds)} seeds" if len(seeds) > 1 else f"{level}s"
    said = f"[low, high]: {100 * plan.level:g}% {plan.method} interval over {over}"
    return [said, *_seeds(runs), *common.worst(remarks)]


def _seeds(runs: Sequence[Run]) -> list[str]:
    known = sorted({run.manifest["facts"]["seed"] for run in runs if run.manifest["facts"].get("seed") is not None})
    return [f"seed{'s' if len(known) > 1 else ''}: {', '.join(map(str, known))}"] if known else []
