"""What hands do: at a table, in the house, at work.

A hand activity has a posture for the body and motions of the working arm: some regular, some with the irregular strokes
that random splines give. The rest of the body follows a little, so that a phone in a pocket feels nearly nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gnomon.suites.har.simulation.act import Act
from gnomon.suites.har.simulation.exercises import Parts
from gnomon.suites.har.simulation.postures import rest, shuffle, take


@dataclass(frozen=True)
class Handwork:
    """What a hand does.

    Attributes
    ----------
    posture, arm
        Of the body, and what the arm adds to it, in degrees.
    hz, spread
        Tempo of the regular motion.
    regular
        Its amplitudes and phases.
    every, irregular
        Distance of the knots of the irregular motion in seconds, and its spreads.
    body
        How much the trunk and the legs follow, relative to someone at rest.
    both
        Whether both arms work alike; otherwise the other one does a fifth of it.
    steps
        Size of small steps on the spot, in m/s^2.
    """

    posture: str
    arm: Mapping[str, float]
    hz: float = 0.0
    spread: float = 0.0
    regular: Parts = field(default_factory=dict)
    every: float = 0.4
    irregular: Mapping[str, float] = field(default_factory=dict)
    body: float = 1.0
    both: bool = False
    steps: float = 0.0


_UP = {"upper.pitch": -40.0, "fore.pitch": -110.0}
_BITE: Parts = {
    "fore.pitch": (26.0, 0.0),
    "upper.pitch": (12.0, 0.05),
    "fore.twist": (32.0, 0.1),
    "fore.yaw": (12.0, 0.2),
}
_LOOSE = {"fore.pitch": 7.0, "fore.yaw": 7.0, "fore.twist": 12.0, "upper.pitch": 4.0}
HANDWORK: Mapping[str, Handwork] = {
    "typing": Handwork(
        "table",
        {"fore.pitch": -4.0},
        4.5,
        0.6,
        {"fore.pitch": (0.25, 0.0)},
        0.12,
        {"fore.pitch": 0.7, "fore.yaw": 0.9, "fore.twist": 0.8},
        0.8,
        True,
    ),
    "writing": Handwork(
        "table",
        {"fore.pitch": -2.0},
        2.6,
        0.4,
        {"fore.yaw": (0.8, 0.0)},
        0.18,
        {"fore.pitch": 0.8, "fore.yaw": 1.6, "fore.twist": 1.2},
        0.8,
    ),
    "brushing_teeth": Handwork(
        "standing",
        {"upper.pitch": -30.0, "fore.pitch": -118.0, "upper.roll": -20.0},
        4.0,
        0.5,
        {
            "fore.yaw": (7.0, 0.0),
            "fore.pitch": (4.0, 0.2),
            "upper.pitch": (1.5, 0.0),
            "trunk.yaw": (0.35, 0.1),
            "thigh.yaw": (0.08, 0.1),
        },
        0.5,
        _LOOSE,
        2.0,
        steps=0.1,
    ),
    "eating_soup": Handwork("table", _UP, 0.20, 0.04, _BITE, 0.35, _LOOSE),
    "eating_chips": Handwork("table", _UP, 0.16, 0.04, _BITE, 0.30, _LOOSE),
    "eating_pasta": Handwork("table", _UP, 0.22, 0.05, {**_BITE, "fore.twist": (44.0, 0.1)}, 0.25, _LOOSE),
    "eating_sandwich": Handwork("table", _UP, 0.12, 0.03, _BITE, 0.40, _LOOSE, both=True),
    "drinking": Handwork("table", _UP, 0.10, 0.03, {**_BITE, "fore.twist": (24.0, 0.2)}, 0.5, _LOOSE),
    "clapping": Handwork(
        "standing",
        {"upper.pitch": -30.0, "fore.pitch": -84.0},
        3.6,
        0.5,
        {"fore.yaw": (16.0, 0.0), "upper.yaw": (6.0, 0.0), "trunk.yaw": (0.2, 0.2), "thigh.yaw": (0.15, 0.2)},
        0.6,
        _LOOSE,
        1.5,
        True,
        steps=0.125,
    ),
    "folding_clothes": Handwork(
        "standing",
        {"upper.pitch": -30.0, "fore.pitch": -70.0},
        0.5,
        0.1,
        {"fore.yaw": (14.0, 0.0), "trunk.yaw": (3.0, 0.1)},
        0.35,
        {
            "fore.pitch": 16.0,
            "fore.yaw": 18.0,
            "fore.twist": 25.0,
            "upper.pitch": 12.0,
            "trunk.pitch": 4.0,
            "trunk.yaw": 4.0,
            "thigh.pitch": 1.2,
        },
        3.0,
        True,
        steps=0.5,
    ),
    "ironing": Handwork(
        "standing",
        {"upper.pitch": -30.0, "fore.pitch": -64.0, "trunk.pitch": 8.0},
        0.6,
        0.12,
        {
            "upper.pitch": (14.0, 0.0),
            "fore.pitch": (10.0, 0.5),
            "fore.yaw": (14.0, 0.2),
            "trunk.pitch": (2.0, 0.0),
            "trunk.yaw": (3.0, 0.2),
        },
        0.5,
        {"fore.pitch": 8.0, "fore.yaw": 10.0, "trunk.yaw": 3.0},
        2.0,
        steps=0.3,
    ),
    "vacuum_cleaning": Handwork(
        "standing",
        {"upper.pitch": -10.0, "fore.pitch": -40.0, "trunk.pitch": 18.0, "pelvis.pitch": 8.0},
        0.55,
        0.1,
        {
            "upper.pitch": (24.0, 0.0),
            "fore.pitch": (14.0, 0.1),
            "trunk.pitch": (4.0, 0.0),
            "root.x": (0.06, 0.1),
            "thigh.pitch": (5.0, 0.1),
        },
        0.5,
        {"fore.yaw": 9.0, "trunk.yaw": 8.0, "thigh.pitch": 7.0, "shank.pitch": 8.0, "pelvis.yaw": 8.0, "root.y": 0.03},
        3.0,
        steps=1.5,
    ),
    "roll_painting": Handwork(
        "standing",
        {"upper.pitch": -80.0, "fore.pitch": -120.0},
        0.55,
        0.1,
        {
            "upper.pitch": (26.0, 0.0),
            "fore.pitch": (20.0, 0.05),
            "trunk.pitch": (4.0, 0.5),
            "root.z": (0.02, 0.0),
            "pelvis.pitch": (3.0, 0.5),
        },
        0.6,
        {"fore.yaw": 9.0, "trunk.yaw": 6.0, "pelvis.yaw": 5.0, "thigh.pitch": 3.0},
        2.5,
        True,
        steps=0.6,
    ),
    "spraying_paint": Handwork(
        "standing",
        {"upper.pitch": -55.0, "fore.pitch": -85.0},
        0.35,
        0.06,
        {"upper.yaw": (22.0, 0.0), "fore.yaw": (28.0, 0.0), "trunk.yaw": (9.0, 0.0), "pelvis.yaw": (4.0, 0.0)},
        0.7,
        {"fore.pitch": 8.0, "upper.pitch": 8.0, "thigh.pitch": 2.0},
        2.0,
        steps=0.5,
    ),
    "leveling_paint": Handwork(
        "standing",
        {"upper.pitch": -60.0, "fore.pitch": -95.0},
        0.8,
        0.15,
        {"upper.pitch": (12.0, 0.0), "fore.pitch": (16.0, 0.1), "fore.yaw": (8.0, 0.3), "trunk.pitch": (1.5, 0.5)},
        0.5,
        {"fore.twist": 12.0, "trunk.yaw": 6.0, "trunk.pitch": 5.0, "pelvis.pitch": 3.0, "thigh.pitch": 2.5},
        2.0,
        steps=0.5,
    ),
    "standing_work": Handwork(
        "standing",
        {"upper.pitch": -35.0, "fore.pitch": -80.0, "trunk.pitch": 6.0},
        0.0,
        0.0,
        {},
        0.3,
        {
            "fore.pitch": 12.0,
            "fore.yaw": 12.0,
            "fore.twist": 14.0,
            "upper.pitch": 8.0,
            "trunk.yaw": 4.0,
            "trunk.pitch": 3.0,
            "pelvis.yaw": 2.0,
        },
        2.5,
        True,
        steps=0.4,
    ),
    "kneeling_work": Handwork(
        "kneeling",
        {},
        0.0,
        0.0,
        {},
        0.3,
        {
            "fore.pitch": 12.0,
            "fore.yaw": 12.0,
            "upper.pitch": 9.0,
            "trunk.pitch": 6.0,
            "pelvis.pitch": 4.0,
            "trunk.yaw": 5.0,
            "thigh.pitch": 4.0,
        },
        2.5,
        True,
    ),
    "talking_sitting": Handwork(
        "sitting",
        {},
        0.0,
        0.0,
        {},
        0.45,
        {
            "fore.pitch": 7.0,
            "fore.yaw": 7.0,
            "fore.twist": 10.0,
            "trunk.pitch": 0.9,
            "trunk.yaw": 1.2,
            "pelvis.pitch": 0.4,
            "head.yaw": 4.0,
            "head.pitch": 3.0,
        },
        1.6,
        True,
    ),
    "talking_standing": Handwork(
        "standing",
        {},
        0.0,
        0.0,
        {},
        0.45,
        {
            "fore.pitch": 8.0,
            "fore.yaw": 8.0,
            "upper.pitch": 4.0,
            "trunk.pitch": 1.0,
            "trunk.yaw": 2.0,
            "pelvis.pitch": 0.8,
            "pelvis.yaw": 1.2,
            "head.yaw": 5.0,
            "head.pitch": 3.0,
        },
        2.2,
        True,
        steps=0.2,
    ),
    "playing_catch": Handwork(
        "standing",
        {"upper.pitch": -20.0, "fore.pitch": -60.0},
        0.33,
        0.05,
        {
            "upper.pitch": (42.0, 0.0),
            "fore.pitch": (36.0, 0.1),
            "trunk.yaw": (14.0, 0.1),
            "trunk.pitch": (6.0, 0.2),
            "pelvis.yaw": (9.0, 0.1),
            "thigh.pitch": (8.0, 0.15),
            "root.x": (0.10, 0.1),
        },
        0.22,
        {
            "upper.pitch": 14.0,
            "fore.pitch": 18.0,
            "fore.twist": 18.0,
            "thigh.pitch": 5.0,
            "thigh.yaw": 7.0,
            "root.x": 0.03,
            "root.z": 0.008,
            "trunk.pitch": 3.0,
        },
        4.0,
        steps=2.5,
    ),
    "dribbling": Handwork(
        "standing",
        {"upper.pitch": -14.0, "fore.pitch": -66.0, "trunk.pitch": 14.0, "thigh.pitch": -10.0, "shank.pitch": 10.0},
        1.9,
        0.2,
        {
            "fore.pitch": (20.0, 0.0),
            "upper.pitch": (9.0, 0.05),
            "trunk.pitch": (2.0, 0.1),
            "root.z": (0.006, 0.1),
            "thigh.pitch": (1.6, 0.1),
        },
        0.3,
        {"fore.yaw": 8.0, "trunk.yaw": 5.0, "thigh.pitch": 3.5, "thigh.yaw": 4.0, "root.x": 0.02},
        3.0,
        steps=2,
    ),
    "lifting": Handwork(
        "standing",
        {
            "upper.pitch": -20.0,
            "fore.pitch": -40.0,
            "trunk.pitch": 30.0,
            "pelvis.pitch": 24.0,
            "thigh.pitch": -25.0,
            "shank.pitch": 12.0,
        },
        0.2,
        0.03,
        {
            "trunk.pitch": (30.0, 0.0),
            "pelvis.pitch": (24.0, 0.0),
            "thigh.pitch": (24.0, 0.5),
            "root.z": (0.14, 0.5),
            "shank.pitch": (10.0, 0.0),
            "fore.pitch": (20.0, 0.3),
        },
        0.4,
        {"trunk.yaw": 8.0, "pelvis.yaw": 8.0, "fore.yaw": 10.0, "thigh.pitch": 5.0, "root.y": 0.03},
        3.0,
        True,
        steps=1.25,
    ),
}
"""By label."""


def handwork(act: Act, label: str) -> None:
    """Add a hand activity to an act."""
    kind = HANDWORK[label]
    take(act, kind.posture)
    rest(act, upright=kind.posture == "standing", calm=1 / kind.body)
    share = 1.0 if kind.both or act.working else 0.2
    size = (0.5 + 0.5 * act.who.vigour) * act.draw(1.0, 0.12)
    inward = {"upper.roll", "fore.yaw", "fore.twist", "upper.yaw"}

    def mine(name: str, amount: float) -> float:
        arm = name.startswith(("upper", "fore"))
        return amount * (share if arm else 1.0) * (-act.side if name in inward else 1.0)

    if kind.steps:
        shuffle(act, 0.8, kind.steps)
    act.hold({name: mine(name, amount) for name, amount in kind.arm.items()})
    if kind.regular:
        clock = act.clock(act.draw(kind.hz, kind.spread), 0.08, 1.5 / max(kind.hz, 0.5))
        with act.during(act.envelope(0.3, 1.2)):
            act.swing(clock, {name: (size * mine(name, amount), at) for name, (amount, at) in kind.regular.items()})
    if kind.irregular:
        act.wander({name: abs(size * mine(name, amount)) for name, amount in kind.irregular.items()}, kind.every)
