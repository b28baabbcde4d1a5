"""Every label as an act: which motions it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from gnomon.core.errors import InputError, some
from gnomon.suites.har.simulation.act import Act
from gnomon.suites.har.simulation.events import FALLS, TRANSITIONS, elevator, fall, kick, pacing, transition
from gnomon.suites.har.simulation.exercises import EXERCISES, exercise, hop
from gnomon.suites.har.simulation.gait import DOWN, RUN, UP, WALK, Gait, go
from gnomon.suites.har.simulation.hands import HANDWORK, handwork
from gnomon.suites.har.simulation.postures import rest, take

Builder = Callable[[Act], object]
_STRAIGHT = (1e4, 0.0)
_JOG = replace(RUN, steps_hz=2.65, speed=2.4)
GAITS: Mapping[str, Gait] = {
    "walking": WALK,
    "walking_parking": replace(WALK, steps_hz=1.70, speed=1.2, shape=0.25, strike=0.35, turns=(8.0, 70.0)),
    "walking_straight": replace(WALK, turns=_STRAIGHT),
    "walking_winding": replace(WALK, steps_hz=1.75, speed=1.15, turns=(3.5, 80.0)),
    "walking_treadmill_flat": replace(WALK, steps_hz=1.70, speed=1.1, shape=0.27, strike=0.35, turns=_STRAIGHT),
    "walking_treadmill_incline": replace(
        WALK, steps_hz=1.68, speed=1.1, lean=9.0, shape=0.3, strike=0.24, early=-0.1, turns=_STRAIGHT
    ),
    "nordic_walking": replace(WALK, steps_hz=1.80, speed=1.6, lean=7.0, arms=32.0, elbow=30.0),
    "walking_backwards": replace(WALK, steps_hz=1.60, speed=-0.9, early=-0.1, strike=0.18, lean=-1.0),
    "carrying": replace(WALK, steps_hz=1.70, speed=1.1, lean=-3.0, arms=3.0, elbow=75.0, raised=10.0),
    "pushing_cart": replace(WALK, steps_hz=1.65, speed=1.0, lean=15.0, arms=3.0, elbow=35.0, raised=40.0),
    "climbing_ladder": replace(
        UP, steps_hz=0.95, speed=0.1, strike=0.1, lean=12.0, arms=30.0, elbow=40.0, raised=75.0, turns=_STRAIGHT
    ),
    "stairclimber": replace(UP, steps_hz=1.5, strike=0.05, arms=4.0, elbow=60.0, turns=_STRAIGHT),
    "running": RUN,
    "jogging": _JOG,
    "running_treadmill": replace(_JOG, speed=2.2, turns=_STRAIGHT),
}
"""Labels that are one gait."""
_UPSTAIRS = "ascending_stairs climbing_stairs going_up_stairs stairs_up walking_upstairs"
_DOWNSTAIRS = "descending_stairs going_down_stairs stairs_down walking_downstairs"


def _keep(act: Act, posture: str) -> None:
    take(act, posture)
    rest(act, upright=posture == "standing")


def _bouts(act: Act, kinds: Mapping[Builder, float], usual: float) -> None:
    """Do one thing after another, each as often as its weight says."""
    builders, weights = list(kinds), list(kinds.values())
    rng = act.stream()
    times, chosen = [0.0], []
    while times[-1] < max(act.span, usual):
        times.append(times[-1] + usual * (0.5 + float(rng.random())))
        chosen.append(int(rng.choice(len(builders), p=weights)))
    for builder, gate in zip(builders, act.gates(times, chosen, len(builders)), strict=True):
        with act.during(gate):
            builder(act)


def _hopping(hz: float, spread: float, contact: float, forward: float, arms: float) -> Builder:
    def build(act: Act) -> None:
        take(act, "standing", 4.0)
        hop(act, hz, spread, contact, forward=forward, arms=arms)

    return build


def _stairs(act: Act) -> None:
    _bouts(act, {partial(go, gait=UP): 0.5, partial(go, gait=DOWN): 0.5}, 12.0)


def _basketball(act: Act) -> None:
    hopping = partial(hop, hz=1.2, spread=0.2, contact=0.7, arms=40.0)
    walking = partial(go, gait=replace(WALK, steps_hz=1.7, speed=1.1, shape=0.2, turns=(3.0, 90.0)))
    running = partial(go, gait=replace(_JOG, strike=0.8, turns=(4.0, 90.0)))
    dribbling = partial(handwork, label="dribbling")
    _bouts(act, {running: 0.2, walking: 0.4, dribbling: 0.3, hopping: 0.1}, 4.0)


def _sports(act: Act) -> None:
    running = partial(go, gait=replace(_JOG, turns=(5.0, 90.0)))
    walking = partial(go, gait=replace(WALK, turns=(5.0, 90.0)))
    _bouts(act, {running: 0.35, walking: 0.35, partial(handwork, label="playing_catch"): 0.3}, 5.0)


def _table() -> dict[str, Builder]:
    found: dict[str, Builder] = {label: partial(go, gait=gait) for label, gait in GAITS.items()}
    found |= {label: partial(go, gait=UP) for label in _UPSTAIRS.split()}
    found |= {label: partial(go, gait=DOWN) for label in _DOWNSTAIRS.split()}
    found |= {label: partial(exercise, label=label) for label in EXERCISES}
    found |= {label: partial(handwork, label=label) for label in HANDWORK}
    found |= {label: partial(transition, label=label) for label in TRANSITIONS}
    found |= {label: partial(fall, label=label) for label in FALLS}
    found |= {label: partial(_keep, posture="back") for label in ("laying", "lying", "lying_back", "laying_back")}
    found |= {label: partial(_keep, posture="sitting") for label in ("sitting", "sitting_chair")}
    found |= {
        "standing": partial(_keep, posture="standing"),
        "lying_side": partial(_keep, posture="side"),
        "standing_elevator": elevator,
        "moving_elevator": pacing,
        "kicking": kick,
        "stairs": _stairs,
        "playing_basketball": _basketball,
        "playing_sports": _sports,
        "jumping": _hopping(2.0, 0.2, 0.72, 0.0, 25.0),
        "jump_front_back": _hopping(1.8, 0.15, 0.70, 0.25, 20.0),
        "jumping_down": _hopping(0.5, 0.05, 0.80, 0.3, 25.0),
        "rope_jumping": _hopping(2.1, 0.15, 0.60, 0.0, 5.0),
        "rope_skipping": _hopping(2.2, 0.15, 0.62, 0.0, 5.0),
    }
    return found


ACTIVITIES: Mapping[str, Builder] = _table()
"""How each label is done."""


def build(label: str, act: Act) -> None:
    """Add what a label stands for to an act."""
    if label not in ACTIVITIES:
        raise InputError(f"simulation: no activity {label!r}; there are {some(sorted(ACTIVITIES))}")
    ACTIVITIES[label](act)
