"""Short events: falls, changes of posture, getting into a car, picking up, and the elevator.

Model
-----
- A change of posture is a move of least jerk of all segments and of the root in 1.4 to 2.6 s; a trunk leans forward on
  the way between a seat and standing (Schenkman et al. 1990).
- A fall is a loss of support (the root accelerates downwards, up to free fall), a turn of the whole body, an impact
  whose push takes the speed away within 120 to 220 ms, a damped oscillation, and lying still (Bourke et al. 2007).
- Events happen once, a little before the middle, in a recording of up to :data:`ONCE_S` seconds, and are repeated with
  pauses in a longer one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnomon.suites.har.simulation.act import SHOCK, Act
from gnomon.suites.har.simulation.body import G
from gnomon.suites.har.simulation.gait import turns
from gnomon.suites.har.simulation.postures import POSTURES, rest, shuffle, take

ONCE_S = 14.0
EVERY_S = 8.0
_SEAT = 0.42
"""How far the hips go down onto a seat, in metres."""
TRANSITIONS: Mapping[str, tuple[str, str, float]] = {
    "stand_to_sit": ("standing", "sitting", 1.8),
    "sitting_down": ("standing", "sitting", 1.8),
    "sit_to_stand": ("sitting", "standing", 1.7),
    "standing_up_from_sitting": ("sitting", "standing", 1.7),
    "sit_to_lie": ("sitting", "back", 2.4),
    "lie_to_sit": ("back", "sitting", 2.3),
    "stand_to_lie": ("standing", "back", 3.0),
    "lying_down_from_standing": ("standing", "back", 2.8),
    "lie_to_stand": ("back", "standing", 3.0),
    "standing_up_from_laying": ("back", "standing", 2.8),
    "car_step_in": ("standing", "sitting", 2.6),
    "car_step_out": ("sitting", "standing", 2.6),
    "picking_up": ("standing", "picking", 1.3),
}
"""From, to, and seconds."""
_PICKING = {
    "trunk.pitch": 72.0,
    "pelvis.pitch": 50.0,
    "head.pitch": 55.0,
    "thigh.pitch": -34.0,
    "shank.pitch": 18.0,
    "upper.pitch": -4.0,
    "fore.pitch": -12.0,
}
_HEIGHTS = {"standing": 0.0, "sitting": -_SEAT, "back": -_SEAT - 0.15, "picking": -0.22}


@dataclass(frozen=True)
class Fall:
    """A fall.

    Attributes
    ----------
    end
        Posture on the floor.
    free
        Largest downward acceleration in g.
    seconds
        How long the fall takes.
    impact
        Seconds of the push that stops it; shorter is harder.
    forward, side
        Direction of the throw.
    """

    end: str
    free: float
    seconds: float
    impact: float
    forward: float
    side: float = 0.0


FALLS: Mapping[str, Fall] = {
    "falling_forward": Fall("prone", 0.95, 0.62, 0.14, 1.0),
    "falling_backward": Fall("back", 0.95, 0.60, 0.13, -1.0),
    "falling_left": Fall("side", 0.95, 0.60, 0.14, 0.0, 1.0),
    "falling_right": Fall("side", 0.95, 0.60, 0.14, 0.0, -1.0),
    "falling_hitting_obstacle": Fall("prone", 0.90, 0.58, 0.13, 1.4),
    "falling_with_protection": Fall("prone", 0.75, 0.75, 0.22, 0.9),
    "falling_backward_sitting": Fall("sitting", 0.85, 0.48, 0.14, -0.6),
    "syncope": Fall("side", 0.80, 0.80, 0.20, 0.2, 0.4),
    "fall_forward": Fall("prone", 0.95, 0.62, 0.15, 1.0),
    "fall_backward_knees": Fall("prone", 0.85, 0.70, 0.17, 0.6),
    "fall_backward_sitting": Fall("sitting", 0.85, 0.48, 0.14, -0.6),
    "fall_sideways": Fall("side", 0.95, 0.62, 0.14, 0.0, 1.0),
}
"""By label."""


def occasions(act: Act, every: float = EVERY_S) -> list[float]:
    """Return when events begin."""
    count = 1 if act.seconds <= ONCE_S else max(1, round(act.seconds / every))
    gap = act.seconds / count
    return [gap * (k + 0.40) + act.draw(0.0, 0.03 * min(gap, 4.0)) for k in range(count)]


def transition(act: Act, label: str) -> None:
    """Add changes of posture, back again where there are several."""
    begin, end, usual = TRANSITIONS[label]
    first, second = (dict(_PICKING if name == "picking" else POSTURES[name]) for name in (begin, end))
    names = sorted({*first, *second})
    times, shares, bumps = [0.0], [0.0], [0.0]
    starts = occasions(act)
    for k, start in enumerate(starts):
        length = min(act.draw(usual, 0.15 * usual) / (0.5 + 0.5 * act.who.vigour), 0.8 * act.seconds)
        middle = max(start - length / 2, times[-1] + 0.05)
        back = (starts[k + 1] if k + 1 < len(starts) else act.seconds + 30.0) - usual
        times += [middle, middle + length / 2, middle + length]
        shares += [shares[-1], 0.5, 1.0]
        bumps += [0.0, 1.0, 0.0]
        if label == "picking_up":
            times += [middle + length + 0.2, middle + 2 * length + 0.2]
            shares += [1.0, 0.0]
            bumps += [0.0, 0.0]
        elif back > times[-1] + 2 * usual and k + 1 < len(starts):
            times += [back - usual, back]
            shares += [1.0, 0.0]
            bumps += [0.0, 0.0]
    _blend(act, names, first, second, times, shares, begin, end)
    size = 34.0 * (0.7 + 0.3 * act.who.vigour) if {begin, end} == {"standing", "sitting"} else 0.0
    act.path(times, {"trunk.pitch": [size * bump for bump in bumps], "pelvis.pitch": [size * bump for bump in bumps]})
    if label.startswith("car_"):
        act.path(
            times,
            {
                f"{name}.yaw": [70.0 * act.who.hand * share for share in shares]
                for name in ("pelvis", "trunk", "thigh", "shank", "upper", "fore")
            },
        )
    rest(act, upright=begin == "standing", calm=0.7)


def _blend(
    act: Act,
    names: list[str],
    first: Mapping[str, float],
    second: Mapping[str, float],
    times: list[float],
    shares: list[float],
    begin: str,
    end: str,
) -> None:
    lean = {"trunk.pitch": act.who.lean / 2, "pelvis.pitch": act.who.lean / 2}
    vary = {name: act.draw(0.0, 4.0) for name in names}
    columns = {}
    for name in names:
        low = first.get(name, 0.0) + lean.get(name, 0.0) + vary[name]
        high = second.get(name, 0.0) + vary[name]
        columns[name] = [low + share * (high - low) for share in shares]
    down = act.who.height / 1.70
    columns["root.z"] = [down * (_HEIGHTS[begin] + share * (_HEIGHTS[end] - _HEIGHTS[begin])) for share in shares]
    columns["root.x"] = [0.15 * act.who.height * share for share in shares]
    act.path(times, columns)


def fall(act: Act, label: str) -> None:
    """Add falls; after each the person gets up where another follows."""
    kind = FALLS[label]
    first, second = dict(POSTURES["standing"]), dict(POSTURES[kind.end])
    if kind.side and kind.end == "side":
        second = {name: -kind.side * angle if name.endswith(".roll") else angle for name, angle in second.items()}
    names = sorted({*first, *second})
    lying = {name: second.get(name, 0.0) + act.draw(0.0, 7.0) for name in names}
    starts = occasions(act, 12.0)
    times, shares, drops = [0.0], [0.0], []
    for k, start in enumerate(starts):
        drops.append(_drop(act, kind, start))
        times += [start - 0.15, drops[-1].hit + 0.05]
        shares += [0.0, 1.0]
        if k + 1 < len(starts):
            times += [starts[k + 1] - 4.0, starts[k + 1] - 1.6]
            shares += [1.0, 0.0]
    columns = {name: [_between(first.get(name, 0.0), lying[name], share) for share in shares] for name in names}
    act.path(times, columns)
    for name, way in (("root.z", 1.0), ("root.x", kind.forward), ("root.y", kind.side)):
        if way:
            pushes = [drop.down if name == "root.z" else drop.across(way) for drop in drops]
            act.push(name, [at for push in pushes for at, _ in push], [size for push in pushes for _, size in push])
    peaks = np.array([4.0 * drop.speed for drop in drops]) / SHOCK[act.segment]
    hits = [drop.hit for drop in drops]
    act.shocks(hits, {"root.z": peaks, "root.x": 0.5 * peaks, "root.y": 0.3 * peaks}, 9.0, 0.07)
    rest(act, upright=True, calm=0.8)


def _between(low: float, high: float, share: float) -> float:
    return low + share * (high - low)


@dataclass(frozen=True)
class _Drop:
    """One fall: it starts, loses support, hits, and is stopped; with the speed of the impact in m/s."""

    start: float
    begin: float
    lose: float
    hit: float
    end: float
    free: float
    speed: float

    @property
    def down(self) -> list[tuple[float, float]]:
        """Seconds and vertical accelerations: no push and no fall are left over at the end."""
        stop = 2 * self.speed / (self.end - self.hit)
        middle = (self.hit + self.end) / 2
        return [(self.begin, 0.0), (self.lose, self.free), (self.hit, self.free), (middle, stop), (self.end, 0.0)]

    def across(self, way: float) -> list[tuple[float, float]]:
        """Seconds and horizontal accelerations of a throw to one way, with a third of the speed."""
        speed = 0.35 * self.speed * way
        throw, stop = 2 * speed / (self.hit - self.start), -2 * speed / (self.end - self.hit)
        early, late = (self.start + self.hit) / 2, (self.hit + self.end) / 2
        return [(self.start, 0.0), (early, throw), (self.hit, 0.0), (late, stop), (self.end, 0.0)]


def _drop(act: Act, kind: Fall, start: float) -> _Drop:
    """Draw one fall."""
    length = kind.seconds * act.draw(1.0, 0.10)
    free = -G * min(kind.free * act.draw(1.0, 0.05), 1.0)
    push = kind.impact * act.draw(1.0, 0.12)
    begin, lose, hit = start + 0.2 * length, start + 0.45 * length, start + length
    speed = -free * ((lose - begin) / 2 + (hit - lose) + push / 4)
    return _Drop(start, begin, lose, hit, hit + push, free, speed)


def kick(act: Act, seconds: float = 4.0) -> None:
    """Add kicks of a ball with the leg of the working side."""
    take(act, "standing")
    rest(act, upright=True, calm=0.3)
    shuffle(act, 0.7, 4.0)
    share = 1.0 if act.working else 0.35
    starts = np.cumsum(
        [
            seconds * (1 + 0.25 * float(np.clip(x, -2, 2)))
            for x in act.stream().standard_normal(int(act.span / seconds) * 2 + 4)
        ]
    )
    times, hips, knees = [0.0], [0.0], [0.0]
    for start in starts.tolist():
        times += [start, start + 0.25, start + 0.42, start + 0.75]
        hips += [0.0, 24.0, -46.0, 0.0]
        knees += [0.0, 70.0, -40.0, 0.0]
    size = share * (0.4 + 0.3 * act.who.vigour)
    act.path(
        times,
        {
            "thigh.pitch": [size * a for a in hips],
            "shank.pitch": [size * a for a in knees],
            "trunk.pitch": [-0.2 * size * a for a in hips],
        },
    )
    act.path(
        times,
        {
            "pelvis.yaw": [0.3 * a for a in hips],
            "root.x": [0.003 * a for a in hips],
            "root.z": [-0.0008 * abs(a) for a in hips],
        },
    )
    act.shocks(starts + 0.42, {"root.x": [2.0] * len(starts), "root.z": [3.0] * len(starts)}, 5.0, 0.06)
    act.wander(
        {"thigh.pitch": 5.0, "thigh.yaw": 5.0, "shank.pitch": 6.0, "pelvis.yaw": 4.0, "root.x": 0.03, "root.z": 0.006},
        0.28,
    )


def elevator(act: Act) -> None:
    """Stand in an elevator, which starts and stops with about half a metre per second squared; people look around."""
    take(act, "standing")
    rest(act, upright=True)
    act.wander({"trunk.yaw": 1.3, "trunk.pitch": 0.6, "trunk.roll": 0.6, "pelvis.yaw": 0.8, "head.yaw": 8.0}, 0.6, 3)
    rng, at, up = act.stream(), 1.0, 1.0
    pushes: list[tuple[float, float]] = []
    while at < act.span or not pushes:
        ride, size = 4.0 + 4.0 * float(rng.random()), 0.4 + 0.3 * float(rng.random())
        for start, way in ((at, up * size), (at + ride, -up * size)):
            pushes += [(start, 0.0), (start + 0.6, way), (start + 1.2, way), (start + 1.8, 0.0)]
        at += ride + 8.0 + 8.0 * float(rng.random())
        up = 1.0 if rng.random() < 0.5 else -1.0
    act.push("root.z", [time for time, _ in pushes], [size for _, size in pushes])


def pacing(act: Act) -> None:
    """Move about in an elevator: turn, step on the spot, shift weight and look around."""
    elevator(act)
    turns(act, 3.5, 100.0)
    shuffle(act, 0.8, 3.0)
    size = 0.6 + 0.4 * act.who.vigour
    act.wander(
        {
            "trunk.yaw": 7.0 * size,
            "pelvis.yaw": 6.0 * size,
            "thigh.yaw": 6.0 * size,
            "trunk.roll": 3.0 * size,
            "pelvis.roll": 2.5 * size,
            "trunk.pitch": 3.0 * size,
            "thigh.pitch": 5.0 * size,
            "shank.pitch": 6.0 * size,
        },
        0.45,
    )
    act.wander({"root.x": 0.03 * size, "root.y": 0.03 * size, "root.z": 0.004 * size}, 0.4)
