"""Repeated motions: machines, gymnastics and jumps.

A repetition is a smooth turn of a clock; each quantity has an amplitude, and a share of the turn after which it is
largest. Tempi: pedalling 60 to 90 turns a minute (Marsh and Martin 1997), rowing 24 to 32 strokes a minute (Hofmijster
et al. 2007), weights one repetition in 2.5 to 4 s, hopping about 2 Hz (Farley et al. 1991). A pelvis on a saddle rocks
and yaws with the pedals by a few degrees (Sauer et al. 2007), less against a backrest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gnomon.suites.har.simulation.act import SHOCK, Act, turn
from gnomon.suites.har.simulation.body import G
from gnomon.suites.har.simulation.postures import rest, take
from gnomon.suites.har.simulation.terms import Clock

Parts = Mapping[str, tuple[float, float]]
"""Amplitude (degrees or metres) and when it is largest, as a share of the turn."""


@dataclass(frozen=True)
class Exercise:
    """A repeated motion.

    Attributes
    ----------
    posture
        About which it goes.
    hz, spread
        Tempo and its spread over recordings.
    parts, seconds
        Motions once a turn, and twice a turn.
    alternating
        Quantities that are half a turn later on the left.
    rough
        Shaking of the machine or the ground, in mm.
    wobble
        How uneven the tempo is.
    jolt
        Size of a shock at each half turn, in g at the pelvis.
    """

    posture: str
    hz: float
    spread: float
    parts: Parts
    seconds: Parts = field(default_factory=dict)
    alternating: tuple[str, ...] = ()
    rough: float = 0.0
    wobble: float = 0.02
    jolt: float = 0.0


_LEGS = ("thigh.pitch", "shank.pitch", "thigh.roll")
_PEDAL: Parts = {
    "thigh.pitch": (22.0, 0.5),
    "shank.pitch": (16.0, 0.28),
    "trunk.roll": (3.4, 0.0),
    "trunk.yaw": (2.4, 0.2),
    "thigh.roll": (1.5, 0.2),
    "pelvis.roll": (2.0, 0.05),
    "pelvis.yaw": (1.8, 0.3),
}
_RECLINED: Parts = {
    **_PEDAL,
    "trunk.roll": (1.8, 0.0),
    "trunk.yaw": (1.3, 0.2),
    "pelvis.roll": (1.2, 0.05),
    "pelvis.yaw": (1.2, 0.3),
}
_SADDLE: Parts = {"trunk.pitch": (0.8, 0.1), "pelvis.pitch": (0.6, 0.15), "root.z": (0.0015, 0.0)}
_SQUAT: Parts = {
    "thigh.pitch": (38.0, 0.5),
    "shank.pitch": (14.0, 0.0),
    "trunk.pitch": (16.0, 0.0),
    "pelvis.pitch": (18.0, 0.0),
    "root.z": (0.20, 0.5),
    "root.x": (0.05, 0.5),
}
EXERCISES: Mapping[str, Exercise] = {
    "cycling": Exercise("bike", 1.15, 0.12, _PEDAL, {**_SADDLE, "root.z": (0.002, 0.0)}, _LEGS, 3.0),
    "cycling_vertical": Exercise("bike", 1.15, 0.10, _PEDAL, _SADDLE, _LEGS, 0.6),
    "cycling_horizontal": Exercise(
        "recumbent",
        1.10,
        0.10,
        _RECLINED,
        {"trunk.pitch": (0.5, 0.1), "root.x": (0.003, 0.1), "root.z": (0.0018, 0.0)},
        _LEGS,
        0.6,
    ),
    "rowing": Exercise(
        "machine",
        0.47,
        0.05,
        {
            "trunk.pitch": (22.0, 0.0),
            "pelvis.pitch": (18.0, 0.0),
            "root.x": (0.12, 0.0),
            "thigh.pitch": (24.0, 0.5),
            "shank.pitch": (34.0, 0.0),
            "upper.pitch": (42.0, 0.5),
            "fore.pitch": (22.0, 0.55),
        },
        {"trunk.pitch": (5.0, 0.1), "root.x": (0.04, 0.1)},
    ),
    "exercising_cross_trainer": Exercise(
        "standing",
        0.74,
        0.09,
        {
            "thigh.pitch": (22.0, 0.5),
            "shank.pitch": (20.0, 0.2),
            "upper.pitch": (20.0, 0.0),
            "fore.pitch": (24.0, 0.03),
            "trunk.yaw": (9.0, 0.0),
            "pelvis.yaw": (6.0, 0.5),
            "trunk.roll": (2.5, 0.2),
        },
        {"root.z": (0.025, 0.0), "root.x": (0.02, 0.2), "trunk.pitch": (2.0, 0.1)},
        (*_LEGS, "upper.pitch", "fore.pitch"),
        0.3,
    ),
    "exercising_stepper": Exercise(
        "standing",
        0.62,
        0.08,
        {
            "thigh.pitch": (17.0, 0.5),
            "shank.pitch": (14.0, 0.1),
            "pelvis.roll": (5.0, 0.0),
            "trunk.roll": (3.0, 0.1),
            "root.y": (0.03, 0.1),
        },
        {"root.z": (0.055, 0.0), "trunk.pitch": (2.5, 0.2)},
        _LEGS,
        2.0,
        jolt=0.3,
    ),
    "adductor_machine": Exercise("machine", 0.40, 0.05, {"thigh.roll": (14.0, 0.0), "thigh.yaw": (14.0, 0.0)}),
    "leg_curl": Exercise("machine", 0.38, 0.05, {"shank.pitch": (40.0, 0.0), "thigh.pitch": (2.0, 0.1)}),
    "leg_press": Exercise(
        "recumbent", 0.36, 0.05, {"thigh.pitch": (24.0, 0.5), "shank.pitch": (14.0, 0.0), "root.x": (0.15, 0.5)}
    ),
    "arm_curl": Exercise(
        "standing", 0.38, 0.06, {"fore.pitch": (62.0, 0.5), "upper.pitch": (6.0, 0.5), "trunk.pitch": (1.5, 0.0)}
    ),
    "bench_press": Exercise(
        "back", 0.38, 0.06, {"upper.pitch": (34.0, 0.5), "fore.pitch": (8.0, 0.3), "trunk.pitch": (0.5, 0.0)}
    ),
    "squat": Exercise("standing", 0.38, 0.05, _SQUAT),
    "knees_bending": Exercise(
        "standing", 0.50, 0.08, {**_SQUAT, "upper.pitch": (30.0, 0.5), "fore.pitch": (30.0, 0.5)}
    ),
    "waist_bends_forward": Exercise(
        "standing",
        0.33,
        0.04,
        {
            "trunk.pitch": (42.0, 0.0),
            "pelvis.pitch": (30.0, 0.0),
            "head.pitch": (40.0, 0.0),
            "upper.pitch": (10.0, 0.5),
            "root.x": (0.06, 0.5),
        },
    ),
    "frontal_elevation_arms": Exercise(
        "standing", 0.45, 0.06, {"upper.pitch": (48.0, 0.5), "fore.pitch": (46.0, 0.5), "trunk.pitch": (1.5, 0.5)}
    ),
    "raising_hands": Exercise(
        "standing", 0.40, 0.06, {"upper.pitch": (70.0, 0.5), "fore.pitch": (72.0, 0.5), "trunk.pitch": (2.0, 0.5)}
    ),
    "push_up": Exercise(
        "prone",
        0.50,
        0.08,
        {
            "trunk.pitch": (7.0, 0.5),
            "pelvis.pitch": (5.0, 0.5),
            "root.z": (0.09, 0.0),
            "upper.pitch": (34.0, 0.0),
            "fore.pitch": (8.0, 0.2),
            "thigh.pitch": (4.0, 0.5),
        },
    ),
    "sit_up": Exercise(
        "back",
        0.36,
        0.05,
        {
            "trunk.pitch": (34.0, 0.0),
            "pelvis.pitch": (24.0, 0.0),
            "head.pitch": (38.0, 0.0),
            "upper.pitch": (24.0, 0.0),
            "thigh.pitch": (4.0, 0.0),
        },
    ),
}
"""By label."""
_MIDDLE: Mapping[str, Mapping[str, float]] = {
    "squat": {
        "thigh.pitch": -38.0,
        "shank.pitch": 14.0,
        "trunk.pitch": 16.0,
        "pelvis.pitch": 18.0,
        "fore.pitch": -110.0,
    },
    "knees_bending": {"thigh.pitch": -38.0, "shank.pitch": 14.0, "trunk.pitch": 16.0, "upper.pitch": -40.0},
    "arm_curl": {"fore.pitch": -64.0},
    "waist_bends_forward": {"trunk.pitch": 42.0, "pelvis.pitch": 30.0, "head.pitch": 40.0, "upper.pitch": -10.0},
    "frontal_elevation_arms": {"upper.pitch": -48.0, "fore.pitch": -40.0},
    "raising_hands": {"upper.pitch": -85.0, "fore.pitch": -85.0},
    "push_up": {"trunk.pitch": -12.0, "thigh.pitch": -6.0, "upper.pitch": -60.0, "fore.pitch": -60.0},
    "sit_up": {
        "trunk.pitch": 38.0,
        "pelvis.pitch": 26.0,
        "thigh.pitch": 40.0,
        "shank.pitch": 120.0,
        "upper.pitch": 30.0,
    },
    "rowing": {"thigh.pitch": 26.0, "upper.pitch": -40.0, "fore.pitch": -10.0, "trunk.pitch": 14.0},
    "exercising_cross_trainer": {
        "thigh.pitch": -14.0,
        "shank.pitch": 14.0,
        "upper.pitch": -40.0,
        "fore.pitch": -70.0,
        "trunk.pitch": 5.0,
    },
    "exercising_stepper": {
        "thigh.pitch": -24.0,
        "shank.pitch": 16.0,
        "upper.pitch": -30.0,
        "fore.pitch": -60.0,
        "trunk.pitch": 8.0,
    },
    "bench_press": {"upper.pitch": 20.0, "fore.pitch": -88.0},
    "leg_curl": {"shank.pitch": 10.0},
}
"""Where the middle of the motion is, relative to the posture."""


def exercise(act: Act, label: str) -> Clock:
    """Add an exercise to an act; return its clock."""
    kind = EXERCISES[label]
    take(act, kind.posture, 4.0)
    act.hold(_MIDDLE.get(label, {}))
    rest(act, calm=2.0)
    clock = act.clock(act.draw(kind.hz, kind.spread) * act.who.tempo, kind.wobble)
    size = (0.5 + 0.5 * act.who.vigour) * act.draw(1.0, 0.08)
    late = 0.5 if act.side > 0 else 0.0
    with act.during(act.envelope(0.07, 3.0)):
        for harmonic, parts in ((1, kind.parts), (2, kind.seconds)):
            if parts:
                shifted = {n: (size * a, at + (late if n in kind.alternating else 0.0)) for n, (a, at) in parts.items()}
                act.swing(clock, shifted, harmonic)
        if kind.jolt:
            since = (turn() % 0.5) / clock.hz
            ringing = np.exp(-since * 10) * np.sin(2 * np.pi * 5 * since)
            act.forces(clock, {"root.z": kind.jolt * G * size * SHOCK[act.segment] * (ringing - ringing.mean())})
    if kind.rough:
        act.wander({"root.x": kind.rough / 2e3, "root.y": kind.rough / 3e3, "root.z": kind.rough / 2e3}, 0.11)
        act.wander({"trunk.pitch": 0.3 * kind.rough, "trunk.roll": 0.2 * kind.rough}, 0.15)
    return clock


def hop(act: Act, hz: float, spread: float, contact: float, *, forward: float = 0.0, arms: float = 15.0) -> Clock:
    """Add jumps on the spot: flight, and a push of half a sine while the feet are down (Blickhan 1989).

    Parameters
    ----------
    act
        To add to.
    hz, spread
        Jumps a second, and the spread of that over recordings.
    contact
        Share of a jump with the feet on the floor.
    forward
        Metres between the places of landing, forth and back.
    arms
        Degrees that the arms swing while the feet are down; in flight they stay, and fall with the body.
    """
    clock = act.clock(act.draw(hz, spread) * (0.5 + 0.5 * act.who.tempo), 0.03)
    share = float(np.clip(act.draw(contact, 0.03) - 0.08 * (act.who.vigour - 1), 0.3, 0.85))
    x = turn() / share - 0.5
    push = np.where(np.abs(x) < 0.5, np.pi / (2 * share) * np.cos(np.pi * x), 0.0)
    down = np.cos(2 * np.pi * (turn() - share / 2))
    swing = np.where(turn() < share, np.sin(np.pi * turn() / share) ** 2, 0.0)
    act.forces(clock, {"root.z": G * (push - 1)})
    act.hold({"thigh.pitch": -14.0, "shank.pitch": 14.0, "trunk.pitch": 5.0, "fore.pitch": -50.0})
    with act.during(act.envelope(0.12, 0.8)):
        act.series(
            clock,
            {
                "thigh.pitch": -11.0 * down,
                "shank.pitch": 12.0 * down,
                "trunk.pitch": 4.0 * down,
                "pelvis.pitch": 4.0 * down,
                "upper.pitch": arms * swing,
                "fore.pitch": arms * swing,
            },
        )
        if forward:
            slow = Clock(clock.hz / 2, clock.start / 2, act.clock(1.0, 0.0).wander)
            act.swing(slow, {"root.x": (forward / 2, 0.0)})
        landing = np.exp(-turn() / clock.hz * 14) * np.sin(2 * np.pi * 10 * turn() / clock.hz)
        act.forces(clock, {"root.z": 2.0 * G * act.who.vigour * SHOCK[act.segment] * (landing - landing.mean())})
    act.wander({"root.x": 0.02, "root.y": 0.015, "trunk.pitch": 2.0, "trunk.roll": 1.5, "thigh.pitch": 2.0}, 0.8)
    return clock
