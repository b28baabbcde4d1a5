"""Samples cut from sequences: cuts of several tasks, clamped targets, invalid entries, overlapping units, tied ranks.

Ranges are half-open, of the axis of their recording, and empty ones read nothing, as in :mod:`gnomon.audit.ranges`.

Cuts
    A position is on the side of a task that reads it; where both do, on the side of the sample whose input began last,
    at or before it: overlap inside of one task is a matter of ``read-ranges``, and a target that is farther ahead moves
    no cut. Cuts differ where a position is on the training side of one task and on the test side of another.
Units
    Two units overlap when a range of one meets a range of the other. As many units are independent as can be chosen
    without overlap, each taken from its first to its last position; taking the one that ends first is best.
Identical queries
    They get one ranking, in which each of their ``m`` positives has another rank. Whatever the system, the mean of 1 /
    rank over them is at most ``H_m / m``, where ``H_m = 1 + 1/2 + ... + 1/m``; positives that ``c_1 >= c_2 >= ...`` of
    them share are at best ranked in this order, which gives ``(c_1 + c_2 / 2 + ...) / (c_1 + c_2 + ...)``.

The cost is that of sorting, for cuts times the number of tasks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from gnomon.audit.split import SPLIT, Split, codes
from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array

FORMS = ("average", "optimistic", "pessimistic", "order")
"""How equal scores are ranked: by the mean over all orders, the positive first, the positive last, or as stored."""


@dataclass(frozen=True)
class Entries:
    """How many entries there are, how many are not valid, and how many of those enter as values all the same."""

    total: int
    invalid: int
    used: int

    def __post_init__(self) -> None:
        if not 0 <= self.used <= self.invalid <= self.total:
            got = f"{self.used}, {self.invalid} and {self.total}"
            raise InputError(f"entries: expected 0 <= used <= invalid <= total, but got {got}")

    @classmethod
    def counted(cls, valid: Array, used: Array) -> Entries:
        """Count from two masks of one shape: what is valid, and what was scored or fitted.

        >>> Entries.counted(np.array([True, False, False]), np.array([True, True, False]))
        Entries(total=3, invalid=2, used=1)
        """
        good, taken = np.asarray(valid, dtype=np.bool_), np.asarray(used, dtype=np.bool_)
        if good.shape != taken.shape:
            raise InputError(f"entries: expected masks of one shape, but got {good.shape} and {taken.shape}")
        return cls(good.size, int((~good).sum()), int((~good & taken).sum()))


@dataclass(frozen=True)
class Ties:
    """A score of a ranking: the form in which it is reported, and its values when ties are ranked best and worst."""

    form: str
    optimistic: float
    pessimistic: float
    average: float | None = None

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise InputError(f"ties: expected one of the forms {', '.join(FORMS)}, but got {self.form!r}")
        values = [self.optimistic, self.pessimistic, *([] if self.average is None else [self.average])]
        if not all(math.isfinite(value) for value in values):
            raise InputError(
                f"ties: expected finite scores, but got {', '.join(map(str, values))}; leave undefined out"
            )


def cut_points(tasks: Mapping[str, Samples], split: Split = SPLIT, *, axis: str = "cases") -> tuple[Finding, ...]:
    """Find tasks over the same recordings that are cut at different points, so that one trains on what another tests.

    Needs the samples of at least two tasks by name, with ranges on the axis of the recording that ``axis`` names.
    Silent where one cut serves all, however much each task purges before it. Cannot see what a task reads of its own
    test (:func:`~gnomon.audit.ranges.read_ranges` does), nor tasks that were not handed over.
    """
    if len(tasks) < 2:
        raise InputError(f"cut points: expected the samples of at least two tasks, but got {some(tasks) or 'none'}")
    cells = _Cells(list(tasks.values()), axis)
    seen, held = np.zeros((2, len(cells.length)), dtype=np.bool_)
    for number, samples in enumerate(tasks.values()):
        mine, theirs = cells.sides(number, *split.sides(samples))
        seen, held = seen | mine, held | theirs
    if not (seen & held).any():
        return ()
    places = np.unique(cells.place[seen & held])
    first = cells.names[places[0]]
    seen_name, held_name = split.names(next(iter(tasks.values())))
    both, read = (cells.length[mask].sum() for mask in (seen & held, seen | held))
    text = (
        f"{both:.12g} of {read:.12g} positions are {seen_name} in one task and {held_name} in another "
        f"(in {len(places)} of {len(cells.names)} {axis}); {axis} {first!r}: "
        + "; ".join(f"{cut} ({', '.join(names)})" for cut, names in _cuts(tasks, split, axis, first).items())
    )
    remedy = "cut all tasks at the same point, then purge each by what it reads"
    return (Finding("cuts-differ", "warning", axis, text, remedy),)


class _Cells:
    """The stretches between neighbouring ends of ranges, of all tasks and recordings."""

    def __init__(self, tasks: Sequence[Samples], axis: str) -> None:
        column = list(chain.from_iterable(samples.column(axis) for samples in tasks))
        self.names = list(dict.fromkeys(column))
        values = np.concatenate([np.hstack([samples.input_range, samples.target_range]) for samples in tasks])
        distinct, rank = np.unique(values.ravel(), return_inverse=True)
        keys = codes(column)[:, None] * len(distinct) + rank.reshape(-1, 4)
        grid, index = np.unique(keys.ravel(), return_inverse=True)
        self.spans = np.split(index.reshape(-1, 4), np.cumsum([len(samples) for samples in tasks])[:-1])
        self.place, position = grid // len(distinct), distinct[grid % len(distinct)]
        # what lies between two recordings has a length too, but nothing reads it
        self.length = np.diff(position, append=0.0)

    def sides(self, task: int, seen: Array, held: Array) -> tuple[Array, Array]:
        """Return masks of the stretches on the training side and on the test side of a task."""
        spans = self.spans[task]
        read_seen, read_held = self._read(spans[seen]), self._read(spans[held])
        last_held = self._last_held(spans[:, 0], seen, held)
        return read_seen & ~(read_held & last_held), read_held & ~(read_seen & ~last_held)

    def _read(self, spans: Array) -> Array:
        size = len(self.length) + 1
        steps = np.bincount(spans[:, 0::2].ravel(), minlength=size) - np.bincount(
            spans[:, 1::2].ravel(), minlength=size
        )
        return np.asarray(np.cumsum(steps)[:-1] > 0)

    def _last_held(self, begins: Array, seen: Array, held: Array) -> Array:
        """Say of each stretch whether the sample that began last is of the test; before all of them, the first is."""
        rows = np.concatenate([seen, held])
        is_held = np.arange(len(rows)) >= len(seen)
        order = np.lexsort((is_held, begins[rows]))
        begun, cell = begins[rows][order], np.arange(len(self.length))
        last = np.searchsorted(begun, cell, side="right") - 1
        early = (last < 0) | (self.place[begun[np.maximum(last, 0)]] != self.place)
        following = begun[np.minimum(last + 1, len(begun) - 1)]
        last = np.searchsorted(begun, np.where(early, following, cell), side="right") - 1
        return np.asarray(is_held[order][last])


def _cuts(tasks: Mapping[str, Samples], split: Split, axis: str, place: str) -> dict[str, list[str]]:
    """Return the names of the tasks by where their training ends and their test begins in a recording."""
    cuts: dict[str, list[str]] = {}
    for name, samples in tasks.items():
        here = np.array([value == place for value in samples.column(axis)], dtype=np.bool_)
        ranges = np.stack([samples.input_range, samples.target_range], axis=1)
        seen, held = (ranges[rows[here[rows]]].reshape(-1, 2) for rows in split.sides(samples))
        ends, starts = seen[seen[:, 1] > seen[:, 0], 1], held[held[:, 1] > held[:, 0], 0]
        seen_name, held_name = split.names(samples)
        said = f"{seen_name} to {ends.max():.12g}" if len(ends) else f"no {seen_name}"
        said += f" and {held_name} from {starts.min():.12g}" if len(starts) else f" and no {held_name}"
        cuts.setdefault(said, []).append(name)
    return cuts


def clamped_targets(
    samples: Samples, horizon: float | Sequence[float] | Array, split: Split = SPLIT, *, where: str = "targets"
) -> tuple[Finding, ...]:
    """Find samples whose target is nearer to their input than declared, as where it was clamped to the recording.

    Needs the declared horizon, one for all or one per sample: the end of the target minus the end of the input, in the
    unit of the ranges (20 for the frame that is 20 after the last one of the input). Samples on neither side of the
    split do not count. Cannot see a target that was repeated or padded beyond the end under a range of full length.
    """
    declared = np.asarray(horizon, dtype=np.float64)
    if declared.shape not in ((), (len(samples),)) or not np.isfinite(declared).all():
        got = f"shape {declared.shape}" if declared.ndim else f"{horizon!r}"
        raise InputError(f"horizon: expected a finite number, or one for each of {len(samples)} samples, but got {got}")
    column = samples.column(split.column)
    parts = Counter(part for part in column if part in {*split.seen, *split.held})
    if not parts:
        raise InputError(f"no sample has {split.column} {' or '.join((*split.seen, *split.held))}")
    declared = np.broadcast_to(declared, (len(samples),))
    reached, due = samples.target_range[:, 1], samples.input_range[:, 1] + declared
    short = np.flatnonzero(reached + 4 * np.spacing(np.abs(reached)) < due).tolist()
    short = [row for row in short if column[row] in parts]
    if not short:
        return ()
    counts = Counter(column[row] for row in short)
    said = ", ".join(f"{counts[part]} of {total} {part}" for part, total in parts.items() if counts[part])
    row = short[0]
    actual = samples.target_range[row, 1] - samples.input_range[row, 1]
    text = (
        f"{len(short)} of {parts.total()} samples have a target nearer than their horizon ({said}); first: "
        f"{samples.ids[row]!r} {actual:.12g} after its input instead of {declared[row]:.12g}"
    )
    remedy = "drop samples whose target lies beyond the end of the recording"
    return (Finding("target-clamped", "warning", where, text, remedy),)


def invalid_values(entries: Mapping[str, Entries]) -> tuple[Finding, ...]:
    """Find inputs and targets whose entries are marked as invalid and were scored or fitted as values all the same.

    Needs, by name, how many entries there are, how many the validity mask rules out, and how many of those were used.
    Cannot see an entry that is wrong and marked as valid.
    """
    if not entries:
        raise InputError("invalid values: none given; count the entries of every input and target that has a mask")
    findings = []
    for name, count in entries.items():
        if count.used:
            text = (
                f"{name}: {count.used} of {count.invalid} invalid entries were scored or fitted as values "
                f"({count.total} entries in all)"
            )
            remedy = "leave invalid entries out of fit and score, and report how many are left"
            findings.append(Finding("invalid-as-values", "error", name, text, remedy))
    return tuple(findings)


def overlapping_units(
    samples: Samples, unit: str = "ids", *, part: str = "test", axis: str = "cases", most: float = 0.5
) -> tuple[Finding, ...]:
    """Find units that are counted or resampled as independent, although most samples overlap one of another unit.

    Needs ranges, and the column that names the unit (a tag; ``ids`` makes every sample its own). A finding is made when
    over the share ``most`` of the samples of a part reads what a sample of another unit of that part reads. Cannot see
    units that depend on each other without reading the same (one person in two recordings).
    """
    rows = np.flatnonzero(samples.part(part))
    if not 0 <= most < 1:
        raise InputError(f"most: expected a share of at least 0 and below 1, but got {most!r}")
    names = samples.column(unit)
    if any(not names[row] for row in rows.tolist()):
        raise InputError(f"some {part} samples have no {unit}: name the unit of every sample")
    ranges = np.concatenate([samples.input_range[rows], samples.target_range[rows]])
    filled = ranges[:, 1] > ranges[:, 0]
    if not filled.any():
        raise InputError(f"no {part} sample names a range that it reads")
    ranges, owner = ranges[filled], np.tile(np.arange(len(rows)), 2)[filled]
    place, units = (codes(column[row] for row in rows.tolist())[owner] for column in (samples.column(axis), names))
    _, own = np.unique(place * (units.max() + 1) + units, return_inverse=True)
    met = np.unique(owner[_meeting(place, ranges) > _meeting(own, ranges)])
    n, n_units = len(np.unique(owner)), len(np.unique(units))
    if len(met) <= most * n:
        return ()
    apart = _independent(place, units, own, ranges)
    text = (
        f"{len(met)} of {n} {part} samples overlap a sample of another unit, about {apart} of {n_units} units are "
        f"independent (unit: {unit})"
    )
    remedy = "count and resample what shares nothing: segments, recordings, people; never windows that overlap"
    return (Finding("overlapping-units", "warning", unit, text, remedy),)


def _meeting(group: Array, ranges: Array) -> Array:
    """Return how many of the ranges of its group each range meets, itself included; none is empty.

    Those that end before it begins also begin before it ends, so that the difference of two counts will do.
    """
    distinct, rank = np.unique(ranges.ravel(), return_inverse=True)
    start, end = (group[:, None] * len(distinct) + rank.reshape(-1, 2)).T
    begun, over = np.searchsorted(np.sort(start), end), np.searchsorted(np.sort(end), start, side="right")
    return np.asarray(begun - over)


def _independent(place: Array, units: Array, own: Array, ranges: Array) -> int:
    """Return how many different units are chosen when as many as can be without overlap are, in each recording."""
    start, end = np.full(own.max() + 1, np.inf), np.full(own.max() + 1, -np.inf)
    where, unit = np.zeros((2, len(start)), dtype=np.int64)
    np.minimum.at(start, own, ranges[:, 0])
    np.maximum.at(end, own, ranges[:, 1])
    where[own], unit[own] = place, units
    order = np.lexsort((end, where))
    chosen: set[int] = set()
    here, reached = -1, -math.inf
    for row in order.tolist():
        if where[row] != here or start[row] >= reached:
            chosen.add(int(unit[row]))
            here, reached = where[row], end[row]
    return len(chosen)


def tied_ranks(
    scores: Mapping[str, Ties],
    queries: Sequence[Hashable] | None = None,
    positives: Sequence[Hashable] | None = None,
    *,
    tolerance: float = 1e-3,
    where: str = "queries",
) -> tuple[Finding, ...]:
    """Find ranking scores that hang on the order of ties, and identical queries that ask for different answers.

    Needs, by name of the score, its form and its values for the best and the worst order of ties; and where known a
    digest per query, with the name of its positive (by default each query has its own). Cannot see queries that differ
    in a digit and mean the same.
    """
    if not scores and queries is None:
        raise InputError("tied ranks: expected scores of a ranking or digests of its queries, but got neither")
    findings = []
    for name, ties in scores.items():
        if ties.form != "average" and abs(ties.optimistic - ties.pessimistic) > tolerance:
            average = "" if ties.average is None else f", {ties.average:.4g} on average"
            text = (
                f"{name} is reported in the form {ties.form!r}, but ties leave it between {ties.pessimistic:.4g} and "
                f"{ties.optimistic:.4g}{average}"
            )
            remedy = "report the average over ties, with both bounds"
            findings.append(Finding("ties-decide", "warning", name, text, remedy))
    return (*findings, *(() if queries is None else _identical(queries, positives, where)))


def _identical(queries: Sequence[Hashable], positives: Sequence[Hashable] | None, where: str) -> tuple[Finding, ...]:
    groups = _groups(queries, positives)
    torn = sum(counts.total() for counts in groups.values() if len(counts) > 1)
    if not torn:
        return ()
    top = sum(max(counts.values()) for counts in groups.values()) / len(queries)
    text = (
        f"{len(queries)} queries have {len(groups)} distinct contents, and {torn} equal a query with another positive: "
        f"mean reciprocal rank cannot exceed {reciprocal_ceiling(queries, positives):.4f}, nor top-1 accuracy {top:.4f}"
    )
    remedy = "report the ceiling with the score, or let every answer of identical queries count as right"
    return (Finding("duplicate-queries", "info", where, text, remedy),)


def reciprocal_ceiling(queries: Sequence[Hashable], positives: Sequence[Hashable] | None = None) -> float:
    """Return the highest mean reciprocal rank that queries leave attainable, of which identical ones get one ranking.

    >>> reciprocal_ceiling(["a", "a", "b"])  # (1 + 1/2 + 1) / 3
    0.8333333333333334
    """
    groups = _groups(queries, positives).values()
    terms = [n / rank for counts in groups for rank, n in enumerate(sorted(counts.values(), reverse=True), start=1)]
    return math.fsum(terms) / len(queries)


def _groups(queries: Sequence[Hashable], positives: Sequence[Hashable] | None) -> dict[Any, Counter[Hashable]]:
    """Count, by content of the query, how often each positive is asked for."""
    answers = range(len(queries)) if positives is None else positives
    if not queries or len(answers) != len(queries):
        raise InputError(f"expected queries, each with one positive, but got {len(queries)} and {len(answers)}")
    groups: dict[Any, Counter[Hashable]] = {}
    for query, answer in zip(queries, answers, strict=True):
        groups.setdefault(query, Counter())[answer] += 1
    return groups
