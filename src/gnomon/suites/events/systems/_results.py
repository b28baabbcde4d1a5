"""Results of a recogniser as they come: stretches that are joined where they nearly touch, and dropped where short."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gnomon.core.tallies import Array


class Stretches:
    """Collects stretches of one label in the order of time.

    Parameters
    ----------
    label
        Of every stretch.
    bridged_s
        Stretches no farther apart than this are one.
    shortest_s
        Shorter ones are dropped, after bridging.
    """

    def __init__(self, label: str, *, bridged_s: float, shortest_s: float) -> None:
        self.label, self.bridged_s, self.shortest_s = label, bridged_s, shortest_s
        self.done: list[dict[str, Any]] = []
        self.open: tuple[float, float, float, int] | None = None
        """Start, end, sum of the scores and how many there are."""

    def add(self, edges: Array, active: Array, scores: Array) -> None:
        """Take hops: `edges` ``(n + 1,)`` in seconds, whether each is part of a stretch, and its score."""
        changes = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(np.int8)))
        for first, last in changes.reshape(-1, 2).tolist():
            start, total, number = float(edges[first]), float(scores[first:last].sum()), last - first
            if self.open is not None and start - self.open[1] <= self.bridged_s:
                start, total, number = self.open[0], self.open[2] + total, self.open[3] + number
            else:
                self.done += self._whole()
            self.open = (start, float(edges[last]), total, number)

    def all(self) -> list[dict[str, Any]]:
        """Return the results so far, the open one as if it ended here."""
        return [*self.done, *self._whole()]

    def _whole(self) -> list[dict[str, Any]]:
        if self.open is None or self.open[1] - self.open[0] < self.shortest_s:
            return []
        start, end, total, number = self.open
        return [{"t1": start, "t2": end, "label": self.label, "score": total / number}]


def within(results: Iterable[dict[str, Any]], time_range: tuple[float, float] | None) -> list[dict[str, Any]]:
    """Return the results that overlap a range of time; all of them without one."""
    if time_range is None:
        return list(results)
    return [result for result in results if result["t2"] > time_range[0] and result["t1"] < time_range[1]]
