"""Stays at places, and the ways between them, from fixes of a location sensor."""

from __future__ import annotations

import copy
import math
import statistics
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gnomon.core.errors import InputError
from gnomon.suites.events.systems._results import within

VISIT, PATH = "visit", "path"
_METRES_PER_DEGREE = 111_320.0
_MOST_WEIGHT = 40
"""Fixes that the centre of a place rests on; further ones move it, so that it follows a slow drift."""


@dataclass(frozen=True)
class Rules:
    """When somebody has arrived, and when they have left.

    Attributes
    ----------
    near_m, share, dwell_s
        Somebody is at a place if this share of the last `dwell_s` seconds' fixes is within `near_m` of their median.
    far_m, away_s
        They have left it when every fix of `away_s` seconds was farther than `far_m` away. That this is more than
        `near_m`, and takes time, keeps wrong fixes from ending a stay.
    again_s
        Who is back at the same place before this has never left.
    worst_m
        Fixes that claim a worse accuracy are passed over.
    pace
        In m/s; how fast people go, where no fix says when they left.
    """

    near_m: float
    share: float
    dwell_s: float
    far_m: float
    away_s: float
    again_s: float
    worst_m: float
    pace: float

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < math.inf:
                raise InputError(f"{name}: expected 0 or more, but got {value:g}")
        if not self.pace:
            raise InputError("pace: expected more than 0 m/s")


class Fix(NamedTuple):
    """When, and how far east and north of the first fix, in m."""

    time: float
    x: float
    y: float


@dataclass
class Stay:
    """A stay under way: since when, where, and when it was last seen at its middle."""

    start: float
    x: float
    y: float
    fixes: int
    last: float
    outside: deque[Fix] = field(default_factory=deque)


class VisitDetector:
    """Returns every ``visit`` to a place, and every ``path`` from one to the next.

    The parameters are those of :class:`Rules`; without `rejoining`, who has left and is back has been there twice.
    """

    def __init__(
        self,
        *,
        near_m: float = 60.0,
        share: float = 0.75,
        dwell_s: float = 300.0,
        far_m: float = 100.0,
        away_s: float = 120.0,
        again_s: float = 420.0,
        worst_m: float = 100.0,
        pace: float = 3.0,
        rejoining: bool = True,
    ) -> None:
        again_s = again_s if rejoining else 0.0
        self.rules = Rules(near_m, share, dwell_s, far_m, away_s, again_s, worst_m, pace)
        self.reset()

    def reset(self) -> None:
        """Forget the recording."""
        self._origin: tuple[float, float] | None = None
        self._recent: deque[Fix] = deque()
        self._stay: Stay | None = None
        self._left: Stay | None = None
        """The stay before the path under way."""
        self._since: float | None = None
        """When the path under way began."""
        self._now = -math.inf
        self._done: list[dict[str, Any]] = []

    def process(self, recs: Iterable[Any]) -> None:
        """Consume records in the order of time; other types than ``location`` are passed over."""
        for record in recs:
            if record["type"] == "location":
                values = record["values"]
                if len(values) < 2:
                    where = f"location record at {record['time']} s"
                    raise InputError(
                        f"{where}: {len(values)} values, expected latitude, longitude and perhaps accuracy"
                    )
                if len(values) == 2 or values[2] <= self.rules.worst_m:
                    self._take(self._fix(record["time"], values[0], values[1]))

    def detected(self, time_range: tuple[float, float] | None = None) -> list[dict[str, Any]]:
        """Return stays and ways that overlap a range; the last one ends, as far as is known, with the last fix."""
        ahead = copy.copy(self)
        ahead._done = list(self._done)
        if self._stay is not None:
            ahead._settle(self._stay.start, self._now, VISIT)
        elif self._since is not None:
            ahead._close_left()
            ahead._settle(self._since, self._now, PATH)
        return within(ahead._done, time_range)

    def labels(self) -> list[str]:
        """Return both classes."""
        return [VISIT, PATH]

    def _fix(self, time: float, latitude: float, longitude: float) -> Fix:
        if self._origin is None:
            self._origin, self._since = (latitude, longitude), time
        north = (latitude - self._origin[0]) * _METRES_PER_DEGREE
        east = (longitude - self._origin[1]) * _METRES_PER_DEGREE * math.cos(math.radians(self._origin[0]))
        return Fix(time, east, north)

    def _take(self, fix: Fix) -> None:
        self._now = fix.time
        if self._stay is None:
            self._look_for_stay(fix)
        else:
            self._look_for_leave(self._stay, fix)

    def _look_for_stay(self, fix: Fix) -> None:
        recent, rules = self._recent, self.rules
        recent.append(fix)
        while len(recent) > 1 and recent[1].time <= fix.time - rules.dwell_s:
            recent.popleft()
        if fix.time - recent[0].time < rules.dwell_s or len(recent) < 3:
            return
        x, y = statistics.median(f.x for f in recent), statistics.median(f.y for f in recent)
        near = [f for f in recent if math.hypot(f.x - x, f.y - y) <= rules.near_m]
        if len(near) >= rules.share * len(recent) and near[-1] is fix:
            recent.clear()
            self._arrive(Stay(near[0].time, x, y, len(near), fix.time))

    def _arrive(self, stay: Stay) -> None:
        left, self._left = self._left, None
        if left is not None:
            same = math.hypot(stay.x - left.x, stay.y - left.y) <= self.rules.far_m
            if same and stay.start - left.last <= self.rules.again_s:
                left.last = stay.last
                self._stay = left
                return
            self._settle(left.start, left.last, VISIT)
        if self._since is not None:
            self._settle(self._since, stay.start, PATH)
        self._stay = stay

    def _look_for_leave(self, stay: Stay, fix: Fix) -> None:
        distance = math.hypot(fix.x - stay.x, fix.y - stay.y)
        if distance <= self.rules.far_m:
            stay.outside.clear()
            if distance <= self.rules.near_m:
                stay.last = fix.time
                stay.fixes = min(stay.fixes + 1, _MOST_WEIGHT)
                stay.x += (fix.x - stay.x) / stay.fixes
                stay.y += (fix.y - stay.y) / stay.fixes
            return
        stay.outside.append(fix)
        first = stay.outside[0]
        if fix.time - first.time >= self.rules.away_s:
            distance = math.hypot(first.x - stay.x, first.y - stay.y)
            stay.last = max(stay.last, first.time - distance / self.rules.pace)
            self._recent.extend(stay.outside)
            stay.outside.clear()
            self._stay, self._left, self._since = None, stay, stay.last

    def _close_left(self) -> None:
        if self._left is not None:
            self._settle(self._left.start, self._left.last, VISIT)

    def _settle(self, start: float, end: float, label: str) -> None:
        if end > start:
            self._done.append({"t1": start, "t2": end, "label": label})
