"""From stored tallies and ledgers to scores with their counts and intervals: the one place where scores are made.

Scoring a system, re-scoring a stored run and verifying one all come through :func:`derive`, so that a
stored score is always one that can be derived again from the tallies and ledgers beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure
from gnomon.core.rows import LedgerMeasure, Rows
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


def stored(measure: Measure, tallies: Mapping[str, Tallies], ledgers: Mapping[str, Ledger]) -> Tallies | Ledger:
    """Return what a measure is scored from: the tallies of its family, or its ledger."""
    return measure.find(ledgers) if isinstance(measure, LedgerMeasure) else tallies[measure.family]


def grouped(kept: Tallies | Ledger, roster: Roster, plan: Plan, where: Mapping[str, str] | None = None) -> Groups:
    """Return the tallies of a slice with one row per group, or the rows of a ledger by group."""
    if not where:
        codes, names = roster.codes()
        sides = kept.grouped(codes, len(names)) if isinstance(kept, Tallies) else Rows.of_cases(kept, codes, len(names))
        return Groups(sides, plan, roster.level)
    rows = roster.rows(where)
    codes, names = roster.take(rows).codes()
    if isinstance(kept, Tallies):
        return Groups(kept.take(rows).grouped(codes, len(names)), plan, roster.level)
    group = np.full(len(roster), -1, dtype=np.int64)
    group[rows] = codes
    return Groups(Rows.of_cases(kept, group, len(names)), plan, roster.level)


def occupied(groups: Groups) -> Groups:
    """Leave out groups in which nothing was tallied: they are no evidence, and must not count as such."""
    kept = filled(groups.tallies)
    return groups if kept.all() or not kept.any() else Groups(groups.tallies.take(kept), groups.plan, groups.level)


def derive(
    measures: Sequence[Measure],
    tallies: Mapping[str, Tallies],
    roster: Roster,
    tags: Sequence[str],
    plan: Plan,
    ledgers: Mapping[str, Ledger] | None = None,
) -> list[Score]:
    """Score every measure on every slice."""
    scores = []
    for name, where in slices(roster, tags).items():
        groups: dict[tuple[bool, str], Groups] = {}
        for measure in measures:
            key = isinstance(measure, LedgerMeasure), measure.family
            if key not in groups:
                groups[key] = occupied(grouped(stored(measure, tallies, ledgers or {}), roster, plan, where))
            scores.append(score(measure, groups[key], name))
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
