"""What recognisers of walking share: records become cells, cells become frames, frames become stretches.

A frame is a short window of the acceleration's magnitude, which does not depend on how the device is turned. Frames
follow each other at hops; each speaks for the hop in its middle. What a frame is worth is left to the subclass.
Where records begin and end, or miss for long, half a frame of time has no hop; it is never called walking.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.events.systems._cells import RATE, Block, Cells
from gnomon.suites.events.systems._results import Stretches, within

WALKING = "walking"
HOP = 10
"""Cells from one frame to the next."""
HOP_S = HOP / RATE


class Frames:
    """Overlapping windows of one piece after the other; remembers the cells that the next window still needs."""

    def __init__(self, hops: int) -> None:
        self.size = hops * HOP
        self.tail = np.zeros(0)
        self.start = 0

    def add(self, block: Block) -> tuple[float, Array]:
        """Return when the first hop starts, in seconds, and frames ``(n, size)``, one per hop."""
        if block.fresh:
            self.start, self.tail = block.start, np.zeros(0)
        magnitude = np.concatenate([self.tail, np.sqrt(np.square(block.values).sum(axis=1))])
        count = max(0, (len(magnitude) - self.size) // HOP + 1)
        first = (self.start + (self.size - HOP) / 2) / RATE
        self.start, self.tail = self.start + count * HOP, magnitude[count * HOP :]
        if not count:
            return first, np.zeros((0, self.size))
        return first, np.lib.stride_tricks.sliding_window_view(magnitude, self.size)[::HOP]


class Steady:
    """The simplest way from evidence to belief: each hop for itself, at once."""

    def add(self, evidence: Array) -> Array:
        """Return beliefs ``(m,)`` of the next hops that are settled."""
        return evidence

    def end(self) -> Array:
        """Return beliefs of all hops that are left; nothing follows."""
        return np.zeros(0)


class Trace:
    """What a recogniser remembers of a recording."""

    def __init__(self, frames: Frames, belief: Any, stretches: Stretches) -> None:
        self.frames, self.belief, self.stretches = frames, belief, stretches
        self.first_s, self.settled = 0.0, 0
        """Start of the first hop of the piece, and how many hops have a belief."""


class Walker(ABC):
    """Base of the recognisers of walking.

    A subclass says what it makes of each frame, and may join these beliefs over time.

    Parameters
    ----------
    window_s
        Length of a frame; a whole number of hops is taken, the nearest.
    bridged_s, bridging
        Walks no farther apart than this are one, unless that is switched off.
    shortest_s, dropping
        Walks shorter than this are dropped, unless that is switched off.
    """

    least_hops = 1
    """Of a frame, for what is made of it."""

    def __init__(
        self, *, window_s: float, bridged_s: float, shortest_s: float, bridging: bool = True, dropping: bool = True
    ) -> None:
        self.hops = round(window_s / HOP_S) if np.isfinite(window_s) else 0
        if self.hops < self.least_hops:
            raise InputError(f"window_s: expected at least {self.least_hops * HOP_S:g} s, but got {window_s:g}")
        for name, value in (("bridged_s", bridged_s), ("shortest_s", shortest_s)):
            if not 0 <= value < np.inf:
                raise InputError(f"{name}: expected 0 s or more, but got {value:g}")
        self.bridged_s = bridged_s if bridging else 0.0
        self.shortest_s = shortest_s if dropping else 0.0
        self.reset()

    @abstractmethod
    def evidence(self, frames: Array) -> Array:
        """Return what each frame ``(n, cells)`` says: how sure it is of walking, or what :meth:`belief` asks for."""

    def belief(self) -> Any:
        """Return what turns evidence into beliefs; see :class:`Steady`."""
        return Steady()

    def reset(self) -> None:
        """Forget the recording, not what was learnt."""
        self._cells = Cells()
        stretches = Stretches(WALKING, bridged_s=self.bridged_s, shortest_s=self.shortest_s)
        self._trace = Trace(Frames(self.hops), self.belief(), stretches)

    def process(self, recs: Iterable[Any]) -> None:
        """Consume records in the order of time; other types than ``accel`` are passed over."""
        for block in self._cells.add(recs):
            self._advance(self._trace, block)

    def detected(self, time_range: tuple[float, float] | None = None) -> list[dict[str, Any]]:
        """Return the walks that overlap a range; what is known of the present may still change."""
        trace = copy.deepcopy(self._trace)
        for block in self._cells.rest():
            self._advance(trace, block)
        self._believe(trace, trace.belief.end())
        return within(trace.stretches.all(), time_range)

    def labels(self) -> list[str]:
        """Return the one class."""
        return [WALKING]

    def _advance(self, trace: Trace, block: Block) -> None:
        if block.fresh:
            self._believe(trace, trace.belief.end())
        first, frames = trace.frames.add(block)
        if block.fresh:
            trace.belief, trace.first_s, trace.settled = self.belief(), first, 0
        if len(frames):
            self._believe(trace, trace.belief.add(self.evidence(frames)))

    def _believe(self, trace: Trace, beliefs: Array) -> None:
        edges = trace.first_s + HOP_S * (trace.settled + np.arange(len(beliefs) + 1))
        trace.settled += len(beliefs)
        trace.stretches.add(edges, beliefs > 0.5, beliefs)


def hops_of(recs: Iterable[Any], hops: int) -> Iterator[tuple[float, Array]]:
    """Yield when the first hop of some frames starts, and the frames, for all of a recording."""
    cells, frames = Cells(), Frames(hops)
    for block in cells.add(recs):
        yield frames.add(block)
    for block in cells.rest():
        yield frames.add(block)
