"""Time ranges that samples read, against the split.

Two half-open ranges of one recording *touch* when each starts before the other ends, plus the embargo: ``a.start <
b.end + embargo and b.start < a.end + embargo``. Without an embargo they then share positions; with one, the gap
between them is smaller than it. A gap that equals the embargo is clean, so a split that was purged by the same rule
is clean. Empty ranges read nothing. (Purging and embargo: Lopez de Prado, 2018, here on both sides of a test range.)

Training ranges are sorted once by start, with the running maximum of their ends: the ranges that start before a test
range ends are a head of that order, and one of them touches if the largest end of the head reaches. The cost is that of
sorting, whatever the lengths and overlaps. Positions are compared as ranks, so that nothing is rounded.
"""

from __future__ import annotations

import math

import numpy as np

from gnomon.audit.split import SPLIT, Split, codes
from gnomon.core.errors import InputError
from gnomon.core.evidence import Finding
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array

ROLES = ("input", "target")


def read_ranges(
    samples: Samples, split: Split = SPLIT, *, embargo: float = 0.0, axis: str = "cases"
) -> tuple[Finding, ...]:
    """Find test samples whose input or target range touches the input or target range of a training sample.

    Needs ranges on the axis of the recording that ``axis`` names: the column of a case, or a tag where several cases
    are cut from one recording. ``embargo`` is in the unit of the ranges. Cannot see what a feature reads beyond its
    declared range (:func:`~gnomon.audit.poison.future_poison` does), nor equal content under two recordings' names
    (:func:`~gnomon.audit.duplicates.exact_duplicates` does).
    """
    if not math.isfinite(embargo) or embargo < 0:
        raise InputError(f"embargo: expected a finite number that is not negative, but got {embargo!r}")
    look = _Look(samples, split, axis)
    shared = look.touched(0.0)
    findings = []
    if any(mask.any() for mask in shared.values()):
        text = look.text(shared, 0.0)
        remedy = "purge: drop training samples whose input or target reads a test range, or split by recording"
        findings.append(Finding("read-ranges-overlap", "error", split.column, text, remedy))
    if embargo > 0:
        overlapping = np.logical_or.reduce(list(shared.values()))
        near = {pair: mask & ~overlapping for pair, mask in look.touched(embargo).items()}
        if any(mask.any() for mask in near.values()):
            text = look.text(near, embargo)
            remedy = "widen the gap between the parts to the embargo"
            findings.append(Finding("inside-embargo", "warning", split.column, text, remedy))
    return tuple(findings)


class _Look:
    """The samples of both sides, with a code per recording."""

    def __init__(self, samples: Samples, split: Split, axis: str) -> None:
        self.samples, self.split, self.axis = samples, split, axis
        self.recording = codes(samples.column(axis))
        self.seen, self.held = split.sides(samples)
        self.ranges = {"input": samples.input_range, "target": samples.target_range}

    def touched(self, embargo: float) -> dict[tuple[str, str], Array]:
        """Return, for each pair of a test role and a training role, a mask over the test samples."""
        return {(mine, theirs): self._touched(mine, theirs, embargo) for mine in ROLES for theirs in ROLES}

    def _touched(self, mine: str, theirs: str, embargo: float) -> Array:
        held, seen = self.ranges[mine][self.held], self.ranges[theirs][self.seen]
        filled = seen[:, 1] > seen[:, 0]
        found = touching(
            self.recording[self.held], held, self.recording[self.seen][filled], seen[filled], embargo=embargo
        )
        return found & (held[:, 1] > held[:, 0])

    def text(self, masks: dict[tuple[str, str], Array], embargo: float) -> str:
        """Count the test samples by what touches what, and show one pair."""
        count = int(np.logical_or.reduce(list(masks.values())).sum())
        ways = ", ".join(f"{m} on {t} {int(mask.sum())}" for (m, t), mask in masks.items() if mask.any())
        (mine, theirs), mask = next((pair, mask) for pair, mask in masks.items() if mask.any())
        row = int(self.held[np.flatnonzero(mask)[0]])
        other = self._partner(row, mine, theirs, embargo)
        seen, held = self.split.names(self.samples)
        done = f"come nearer to {seen} samples than {embargo:g}" if embargo else f"read what {seen} samples read"
        return (
            f"{count} of {len(self.held)} {held} samples {done} ({ways}); first: {self._said(row, mine)} and "
            f"{self._said(other, theirs)} of {self.axis} {self.samples.column(self.axis)[row]!r}"
        )

    def _partner(self, row: int, mine: str, theirs: str, embargo: float) -> int:
        start, end = self.ranges[mine][row]
        ranges = self.ranges[theirs][self.seen]
        near = (ranges[:, 0] < end + embargo) & (start < ranges[:, 1] + embargo) & (ranges[:, 1] > ranges[:, 0])
        return int(self.seen[np.flatnonzero(near & (self.recording[self.seen] == self.recording[row]))[0]])

    def _said(self, row: int, role: str) -> str:
        start, end = self.ranges[role][row]
        return f"{role} [{start:.12g}, {end:.12g}) of {self.samples.ids[row]!r}"


def touching(where: Array, ranges: Array, other_where: Array, others: Array, *, embargo: float = 0.0) -> Array:
    """Return which of the ``ranges`` ``(n, 2)`` touch one of the ``others`` ``(m, 2)`` of the same recording.

    >>> a, b = np.array([[0, 2], [5, 6]]), np.array([[2, 3], [5.5, 9]])
    >>> touching(np.zeros(2, int), a, np.zeros(2, int), b).tolist()
    [False, True]
    """
    if not len(ranges) or not len(others):
        return np.zeros(len(ranges), dtype=np.bool_)
    n, m = len(ranges), len(others)
    values = np.concatenate([ranges[:, 0], ranges[:, 1] + embargo, others[:, 0], others[:, 1] + embargo])
    distinct, rank = np.unique(values, return_inverse=True)
    base, other_base = where * len(distinct), other_where * len(distinct)
    start, end = base + rank[:n], base + rank[n : 2 * n]
    other_start, other_end = other_base + rank[2 * n : 2 * n + m], other_base + rank[2 * n + m :]
    order = np.argsort(other_start, kind="stable")
    reach = np.maximum.accumulate(other_end[order])
    head = np.searchsorted(other_start[order], end, side="left")
    return np.asarray((head > 0) & (reach[np.maximum(head - 1, 0)] > start))
