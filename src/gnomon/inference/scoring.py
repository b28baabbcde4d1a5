"""From stored tallies to scores with their counts and intervals: the one place where scores are made.

Scoring a system, re-scoring a stored run and verifying one all come through :func:`derive`, so that a
stored score is always one that can be derived again from the tallies beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.core.measure import Measure
from gnomon.core.tallies import Tallies, natural_key
from gnomon.inference.intervals import Groups, Plan, filled, interval

WHOLE = "all"
"""Name of the slice that holds every case."""


@dataclass(frozen=True)
class Score:
    """One number of a run: a measure over a slice, its value or why there is none, and what defends it."""

    measure: str
    name: str
    slice: str
    value: float | None
    why: str
    low: float | None
    high: float | None
    interval_why: str
    notes: tuple[str, ...]
    n: int
    groups: int
    direction: str
    unit: str

    def record(self) -> dict[str, Any]:
        """Return the score as plain data."""
        return {**asdict(self), "notes": list(self.notes)}


def slices(roster: Roster, tags: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the whole and every value of every asked tag, as conditions on tags."""
    found: dict[str, dict[str, str]] = {WHOLE: {}}
    for tag in tags:
        if "=" in tag:
            raise InputError(f"a tag to slice by cannot have '=' in its name: {tag!r}; rename the column")
        if tag not in roster.tags:
            raise InputError(f"no tag {tag!r} to slice by; there are {sorted(roster.tags) or 'none'}")
        for value in sorted(set(roster.tags[tag]), key=natural_key):
            found[f"{tag}={value}"] = {tag: value}
    return found


def grouped(tallies: Tallies, roster: Roster, plan: Plan, where: Mapping[str, str] | None = None) -> Groups:
    """Return the tallies of a slice with one row per group."""
    if where:
        rows = roster.rows(where)
        tallies, roster = tallies.take(rows), roster.take(rows)
    codes, names = roster.codes()
    return Groups(tallies.grouped(codes, len(names)), plan, roster.level)


def occupied(groups: Groups) -> Groups:
    """Leave out groups in which nothing was tallied: they are no evidence, and must not count as such."""
    kept = filled(groups.tallies)
    return groups if kept.all() or not kept.any() else Groups(groups.tallies.take(kept), groups.plan, groups.level)


def derive(
    measures: Sequence[Measure], tallies: Mapping[str, Tallies], roster: Roster, tags: Sequence[str], plan: Plan
) -> list[Score]:
    """Score every measure on every slice."""
    scores = []
    for name, where in slices(roster, tags).items():
        groups = {family: occupied(grouped(part, roster, plan, where)) for family, part in tallies.items()}
        scores += [score(measure, groups[measure.family], name) for measure in measures]
    return scores


def score(measure: Measure, groups: Groups, slice_name: str = WHOLE) -> Score:
    """Score one measure with its interval."""
    scored = measure.score(groups.total)
    defined = bool(scored.defined)
    spread = interval(measure, groups)
    return Score(
        measure=repr(measure),
        name=measure.name,
        slice=slice_name,
        value=float(scored.values) if defined else None,
        why="" if defined else measure.why(groups.total),
        low=spread.low,
        high=spread.high,
        interval_why=spread.why,
        notes=spread.notes,
        n=measure.count(groups.total),
        groups=groups.n,
        direction=measure.direction,
        unit=measure.unit,
    )
