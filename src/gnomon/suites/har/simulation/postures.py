"""Postures, and the small motions of a body that keeps one.

Standing sways by some millimetres below 1 Hz (Prieto et al. 1996); breathing moves the trunk 12 to 18 times a minute;
hands tremble at 8 to 12 Hz. People at rest fidget now and then, which splines with rare large coefficients give.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnomon.suites.har.simulation.act import Act, turn

_SEATED = {"thigh.pitch": -74.0, "shank.pitch": 4.0, "trunk.pitch": -6.0, "pelvis.pitch": -14.0}
_HANDS_ON_TABLE = {"upper.pitch": -28.0, "fore.pitch": -86.0}
_HANDS_ON_LAP = {"upper.pitch": -12.0, "fore.pitch": -62.0}
POSTURES: Mapping[str, Mapping[str, float]] = {
    "standing": {"upper.pitch": 4.0, "fore.pitch": -12.0, "thigh.pitch": -3.0, "shank.pitch": 2.0},
    "sitting": {**_SEATED, **_HANDS_ON_LAP},
    "table": {**_SEATED, **_HANDS_ON_TABLE, "trunk.pitch": 8.0, "pelvis.pitch": -4.0},
    "back": {
        "trunk.pitch": -88.0,
        "pelvis.pitch": -86.0,
        "head.pitch": -80.0,
        "thigh.pitch": -84.0,
        "shank.pitch": -82.0,
        "upper.pitch": -88.0,
        "fore.pitch": -92.0,
    },
    "side": {
        "trunk.roll": 84.0,
        "pelvis.roll": 82.0,
        "head.roll": 74.0,
        "thigh.roll": 80.0,
        "shank.roll": 84.0,
        "upper.roll": 80.0,
        "fore.roll": 80.0,
        "thigh.pitch": -25.0,
        "shank.pitch": 20.0,
        "fore.pitch": -40.0,
    },
    "prone": {
        "trunk.pitch": 84.0,
        "pelvis.pitch": 86.0,
        "head.pitch": 60.0,
        "thigh.pitch": 88.0,
        "shank.pitch": 90.0,
        "upper.pitch": 40.0,
        "fore.pitch": 60.0,
    },
    "kneeling": {"trunk.pitch": 22.0, "pelvis.pitch": 12.0, "thigh.pitch": -20.0, "shank.pitch": 88.0, **_HANDS_ON_LAP},
    "machine": {**_SEATED, "trunk.pitch": -16.0, **_HANDS_ON_LAP},
    "bike": {
        "trunk.pitch": 32.0,
        "pelvis.pitch": 24.0,
        "head.pitch": 8.0,
        "thigh.pitch": -48.0,
        "shank.pitch": 22.0,
        "upper.pitch": -52.0,
        "fore.pitch": -62.0,
    },
    "recumbent": {
        "trunk.pitch": -22.0,
        "pelvis.pitch": -30.0,
        "thigh.pitch": -92.0,
        "shank.pitch": -40.0,
        "upper.pitch": -30.0,
        "fore.pitch": -60.0,
    },
}
"""Degrees by segment."""
HEART: Mapping[str, float] = {
    "trunk": 1.0,
    "head": 0.7,
    "pelvis": 0.5,
    "upper": 0.4,
    "fore": 0.3,
    "thigh": 0.15,
    "shank": 0.1,
}
"""How much of the recoil of the heart each segment has, relative to the trunk (about 0.1 m/s^2; Inan et al. 2015)."""
_STILL = ("thigh.pitch", "thigh.roll", "thigh.yaw", "shank.pitch", "pelvis.pitch", "pelvis.yaw")
_FREE = ("thigh.pitch", "thigh.roll", "thigh.yaw", "shank.pitch", "upper.pitch", "upper.roll", "fore.pitch", "fore.yaw")


def take(act: Act, name: str, spread: float = 6.0) -> dict[str, float]:
    """Add a posture as this person takes it this time; return its degrees."""
    posture = dict(POSTURES[name])
    for key in ("trunk.pitch", "pelvis.pitch", "head.pitch", *_FREE):
        small = key.startswith(("trunk", "pelvis", "head")) or name == "standing"
        posture[key] = posture.get(key, 0.0) + act.draw(0.0, spread / 2 if small else spread)
    if name not in ("back", "prone"):
        posture["trunk.pitch"] += act.who.lean / 2
        posture["pelvis.pitch"] += act.who.lean / 2
    posture["upper.roll"] += 6.0 * act.side
    posture["fore.twist"] = act.draw(0.0, 20.0)
    act.hold(posture)
    return posture


def rest(act: Act, *, upright: bool = False, calm: float = 1.0) -> None:
    """Add sway, breath, tremor and fidgeting to a posture; `calm` below 1 makes them larger."""
    size = act.who.restless / calm
    breath = act.clock(act.draw(0.25, 0.03), 0.08)
    act.swing(breath, {"trunk.pitch": (0.35, 0.0), "root.z": (0.0006, 0.1), "pelvis.pitch": (0.1, 0.3)})
    beat = act.clock(act.draw(1.15, 0.12), 0.05)
    pulse = np.exp(-(((turn() - 0.3) / 0.05) ** 2)) * np.sin(2 * np.pi * 7 * turn())
    act.forces(beat, {"root.z": 0.12 * HEART[act.segment] * pulse, "root.x": 0.08 * HEART[act.segment] * pulse})
    sway = 1.0 if upright else 0.25
    act.wander({"root.x": 0.004 * sway, "root.y": 0.003 * sway, "trunk.pitch": 0.4, "trunk.roll": 0.3}, 0.8)
    act.wander(
        {"pelvis.pitch": 0.3, "pelvis.roll": 0.3, "thigh.pitch": 0.3, "thigh.roll": 0.3, "shank.pitch": 0.3}, 0.9
    )
    act.wander({"fore.pitch": 0.05, "fore.yaw": 0.05, "upper.pitch": 0.03}, 0.05)
    unrest = (0.40 if upright else 0.08) * size
    act.wander({**dict.fromkeys(_STILL, unrest), "trunk.pitch": unrest, "trunk.yaw": unrest}, 0.22, 3)
    fidget = {name: (1.6 if name.startswith(("upper", "fore")) else 0.7) * size for name in _FREE}
    act.wander(
        {**fidget, "trunk.pitch": 0.8 * size, "trunk.yaw": 1.2 * size, "head.yaw": 6.0, "fore.twist": 3.0}, 0.7, 5
    )
    act.wander({"root.x": 0.004 * size, "root.y": 0.004 * size, "root.z": 0.001 * size}, 0.7, 5)


def shuffle(act: Act, every: float, size: float) -> None:
    """Add small steps on the spot: shocks of up to some m/s^2 at the pelvis, at uneven times."""
    count = int(2 * act.span / every) + 4
    drawn = act.stream().random((count, 2))
    times = np.cumsum(every * (0.3 + 1.4 * drawn[:, 0]))
    peaks = size * act.who.vigour * drawn[:, 1]
    act.shocks(times, {"root.z": peaks, "root.x": 0.5 * peaks, "root.y": 0.3 * peaks}, 3.5, 0.08)
