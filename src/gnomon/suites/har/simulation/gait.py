"""Gait: walking, running and stairs, from forces under the feet and curves of the joints.

Model
-----
- The force under a foot is ``A (cos(pi x) - q cos(3 pi x))`` over its stance, with x from -1/2 to 1/2, a duty factor
  (share of the stride that the foot is down) and a shape q (Alexander and Jayes 1980); both feet carry the weight on
  average. A duty factor below a half leaves a flight: running (Alexander 1989).
- Legs are struts: the force points from the foot to the hips, which gives acceleration forward and to the side.
- A foot that lands sends a damped oscillation up the body (Lafortune 1991), which segments pass on in part.
- Thigh and knee follow curves over the stride by key points rounded from normative figures: Winter (1991) for walking,
  Novacheck (1998) for running, Riener, Rabuffetti and Frigo (2002) for stairs.
- Strides differ by 2 to 3 per cent in duration (Hausdorff 2005) and more in size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline

from gnomon.core.tallies import Array
from gnomon.simulation.gait import STANCE, relative_cadence
from gnomon.suites.har.simulation.act import GRID, SHOCK, Act, turn
from gnomon.suites.har.simulation.body import G
from gnomon.suites.har.simulation.terms import Clock

Curve = Mapping[int, float]
"""Degrees of flexion by per cent of the stride, from the landing of the foot on."""


@dataclass(frozen=True)
class Gait:
    """A way of walking.

    Attributes
    ----------
    steps_hz, steps_spread
        Cadence at a height of 1.70 m, and its spread over recordings.
    speed
        Forward, in m/s.
    duty, shape, early
        Of the force under a foot: duty factor, q, and how much more of it falls on the first half of the stance.
    strike, strike_hz
        Size of the shock of a landing at the pelvis in g, and its frequency.
    hip, knee
        Curves in degrees.
    lean, arms, elbow
        Trunk forward, amplitude of the arms' swing, bend of the elbow, in degrees.
    width
        Between the lines of the feet, in metres.
    turns
        Seconds between turns about the vertical axis, and their size in degrees.
    uneven
        How much steps differ in size.
    twist
        Amplitude of the shoulders about the vertical axis, in degrees.
    raised
        How far the upper arms are lifted forward, in degrees.
    """

    steps_hz: float
    steps_spread: float
    speed: float
    duty: float
    shape: float
    early: float
    strike: float
    strike_hz: float
    hip: Curve = field(hash=False)
    knee: Curve = field(hash=False)
    lean: float = 3.0
    arms: float = 18.0
    elbow: float = 15.0
    width: float = 0.09
    turns: tuple[float, float] = (14.0, 60.0)
    uneven: float = 0.06
    twist: float = 3.5
    raised: float = 0.0


_WALK_HIP = {0: 25, 10: 22, 30: 5, 50: -14, 60: -9, 75: 16, 87: 28}
_WALK_KNEE = {0: 5, 14: 18, 40: 4, 50: 10, 60: 36, 72: 60, 85: 30, 97: 2}
_RUN_HIP = {0: 28, 15: 21, 35: -7, 45: -10, 65: 22, 80: 38, 90: 35}
_RUN_KNEE = {0: 14, 15: 42, 35: 18, 50: 62, 68: 98, 85: 45, 95: 14}
_UP_HIP = {0: 40, 25: 24, 50: -3, 60: -6, 75: 24, 88: 46}
_UP_KNEE = {0: 62, 15: 55, 40: 12, 55: 9, 65: 36, 80: 94, 92: 80}
_DOWN_HIP = {0: 10, 15: 8, 35: 4, 55: 11, 65: 27, 76: 32, 90: 15}
_DOWN_KNEE = {0: 8, 15: 22, 40: 32, 55: 70, 65: 92, 80: 60, 93: 12}

WALK = Gait(1.85, 0.10, 1.40, STANCE, 0.40, 0.1, 0.50, 6.0, _WALK_HIP, _WALK_KNEE)
RUN = Gait(
    2.70, 0.12, 2.7, 0.36, -0.05, 0.15, 1.8, 7.5, _RUN_HIP, _RUN_KNEE, 8.0, 28.0, 85.0, 0.04, (18.0, 60.0), twist=9.0
)
UP = Gait(1.55, 0.17, 0.5, 0.64, 0.28, -0.2, 0.32, 6.0, _UP_HIP, _UP_KNEE, 9.0, 12.0, 20.0, 0.10, (9.0, 170.0), 0.16)
DOWN = Gait(
    1.75, 0.20, 0.55, 0.60, 0.42, 0.6, 0.5, 6.0, _DOWN_HIP, _DOWN_KNEE, 1.0, 12.0, 20.0, 0.10, (9.0, 170.0), 0.16
)


RATTLE, RATTLE_HZ = 0.5, 11.0
"""Irregular part of a landing, relative to its shock, and about where its spectrum is highest."""
_ACROSS = {"shank": 0.15, "thigh": 0.5}
"""How much of the shock of one foot reaches the other leg."""


def go(act: Act, gait: Gait, *, free_arms: float = 1.0) -> Clock:
    """Add a gait to an act; return the clock of the strides, 0 at a landing of the right foot."""
    who = act.who
    vigour = who.vigour * float(np.exp(act.draw(0.0, 0.08)))
    steps = act.draw(gait.steps_hz, gait.steps_spread) * who.tempo * relative_cadence(who.height)
    pace = act.draw(1.0, 0.06)
    clock = act.clock(steps / 2)
    reach = float(np.clip(0.5 + 0.5 * vigour, 0.75, 1.3)) * act.draw(1.0, 0.06)
    with act.during(act.envelope(gait.uneven, 1.0)):
        act.forces(clock, _pull(act, gait, clock.hz, vigour, pace))
        _legs(act, gait, clock, reach)
        _trunk(act, gait, clock, vigour)
        _arms(act, gait, clock, reach * free_arms)
    with act.during(act.envelope(0.2 + gait.uneven, 0.6)):
        shock = _landings(act, gait, clock.hz, vigour) * SHOCK[act.segment]
        act.forces(clock, {"root.z": shock, "root.x": -0.4 * shock, "root.y": 0.2 * shock})
    _rattle(act, gait, clock, vigour)
    act.hold({"trunk.pitch": gait.lean + who.lean / 2, "pelvis.pitch": gait.lean / 2 + who.lean / 2})
    turns(act, *gait.turns)
    _drift(act)
    return clock


def _pull(act: Act, gait: Gait, hz: float, vigour: float, pace: float) -> dict[str, Array]:
    """Return the accelerations of the root over a stride."""
    found = {name: np.zeros(len(turn())) for name in ("root.x", "root.y", "root.z")}
    hips = act.who.leg
    for side, late in ((-1, 0.0), (1, 0.5)):
        force, place = _foot(gait, (turn() - late) % 1.0)
        force = force * (1 + side * act.who.asymmetry)
        found["root.z"] += G * force
        found["root.x"] += G * force * 0.6 * gait.speed * pace * place / hz / hips
        found["root.y"] -= G * force * side * gait.width / 2 / hips
    size = 0.4 + 0.6 * vigour
    return {name: (cycle - cycle.mean()) * size for name, cycle in found.items()}


def _foot(gait: Gait, since: Array) -> tuple[Array, Array]:
    """Return the force under a foot in body weights, and where in the stride its stance is, 0 in the middle."""
    x = since / gait.duty - 0.5
    size = np.pi / (4 * gait.duty * (1 + gait.shape / 3))
    force = size * (np.cos(np.pi * x) - gait.shape * np.cos(3 * np.pi * x)) * (1 - gait.early * x)
    return np.where(np.abs(x) < 0.5, force, 0.0), np.where(np.abs(x) < 0.5, x * gait.duty, 0.0)


def _landings(act: Act, gait: Gait, hz: float, vigour: float) -> Array:
    """Return the acceleration by the shocks of both feet over a stride, without mean."""
    found = np.zeros(len(turn()))
    for side, late in ((-1, 0.0), (1, 0.5)):
        since = ((turn() - late) % 1.0) / hz
        share = 1.0 if side == act.side else _ACROSS.get(act.segment, 0.9)
        ringing = np.exp(-since * gait.strike_hz / 0.5) * np.sin(2 * np.pi * gait.strike_hz * since)
        found += G * gait.strike * vigour * (1 + 2 * side * act.who.asymmetry) * share * ringing
    return np.asarray(found - found.mean())


def _rattle(act: Act, gait: Gait, clock: Clock, vigour: float) -> None:
    """Add what is irregular about landings: no two shake flesh, clothes and device in the same way."""
    landing = 0.1 + np.exp(3 * (np.cos(4 * np.pi * (turn() - 0.06)) - 1))
    size = RATTLE * G * gait.strike * vigour * SHOCK[act.segment] / (2 * np.pi * RATTLE_HZ) ** 2
    with act.during(act.pulses(clock, landing)):
        act.wander({"root.x": 0.7 * size, "root.y": 0.6 * size, "root.z": size}, 0.4 / RATTLE_HZ)


@cache
def curve(gait: Gait, joint: str) -> Array:
    """Return degrees of the thigh (``hip``) or between thigh and shank (``knee``) over a stride."""
    points = sorted((gait.hip if joint == "hip" else gait.knee).items())
    at, values = (np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
    smooth = CubicSpline(np.append(at, at[0] + 100), np.append(values, values[0]), bc_type="periodic")
    found = np.asarray(smooth(100 * turn() if gait.speed >= 0 else 100 * (1 - turn())))  # backwards, it runs back
    found.setflags(write=False)
    return found


def _legs(act: Act, gait: Gait, clock: Clock, reach: float) -> None:
    late = 0.0 if act.side < 0 else 0.5
    hip, knee = (np.roll(curve(gait, joint), int(late * GRID)) * reach for joint in ("hip", "knee"))
    act.series(clock, {"thigh.pitch": -hip, "shank.pitch": knee - hip})
    act.hold({"thigh.pitch": -float(hip.mean()), "shank.pitch": float((knee - hip).mean())})
    act.swing(clock, {"thigh.yaw": (4.0 * reach, late + 0.1), "thigh.roll": (3.0 * reach, late + 0.3)})
    act.swing(clock, {"thigh.yaw": (2.0 * reach, 0.2), "thigh.roll": (1.5 * reach, 0.15)}, harmonic=2)


def _trunk(act: Act, gait: Gait, clock: Clock, vigour: float) -> None:
    """Turn pelvis and trunk against one another by a few degrees (Kaufman and Sutherland 2006)."""
    act.swing(
        clock,
        {
            "pelvis.yaw": (4.5 * vigour, 0.0),
            "pelvis.roll": (4.0 * vigour, 0.15),
            "trunk.yaw": (-gait.twist * vigour, 0.02),
            "trunk.roll": (2.0 * vigour, 0.40),
            "head.yaw": (-1.5 * vigour, 0.05),
        },
    )
    act.swing(
        clock,
        {"pelvis.pitch": (1.8 * vigour, 0.1), "trunk.pitch": (2.0 * vigour, 0.12), "head.pitch": (1.2 * vigour, 0.3)},
        harmonic=2,
    )


def _arms(act: Act, gait: Gait, clock: Clock, reach: float) -> None:
    late = 0.5 if act.side < 0 else 0.0
    amount = gait.arms * reach
    act.swing(clock, {"upper.pitch": (-amount, late), "fore.pitch": (-1.4 * amount, late + 0.03)})
    act.swing(clock, {"upper.roll": (0.15 * amount, late), "fore.yaw": (0.4 * amount, late), "fore.twist": (6, late)})
    act.hold(
        {"upper.pitch": 6.0 - gait.raised, "fore.pitch": 6.0 - gait.raised - gait.elbow, "upper.roll": 8.0 * act.side}
    )


def turns(act: Act, every: float, size: float) -> None:
    """Add turns of the whole body about the vertical axis, of about `size` degrees every so many seconds."""
    drawn = np.clip(act.stream().standard_normal((int(act.span / every) + 2, 2)), -2, 2)
    times, angles = [0.0], [0.0]
    for gap, way in drawn.tolist():
        begin = times[-1] + every * (1 + 0.25 * gap)
        times += [begin, begin + 0.8 + size / 90]
        angles += [angles[-1], angles[-1] + size * float(np.sign(way)) * (0.8 + 0.2 * abs(way))]
    with act.during(None):  # a heading stays when a gate closes
        act.path(times, dict.fromkeys([f"{segment}.yaw" for segment in SHOCK], angles))


def _drift(act: Act) -> None:
    """Add slow changes of posture."""
    act.wander({"trunk.pitch": 1.2, "trunk.roll": 1.0, "pelvis.pitch": 1.0, "pelvis.roll": 0.8}, 1.5)
    act.wander({"thigh.pitch": 1.5, "thigh.roll": 1.5, "upper.pitch": 3.0, "fore.pitch": 5.0, "fore.twist": 6.0}, 2.0)
