"""What is done in a kitchen: sub-tasks, each a sequence of actions in the words of an annotator.

A step is a verb (how the hands move, :mod:`~gnomon.suites.episode.simulation.acting`), what is taken, where it goes or
what it is done to, and a label. Ways to walk are added by the script. Things are taken wherever they are at the time,
and put where a step says, so that a sub-task can follow any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

IDLE = "N/A"
"""Label of an annotator who saw no action."""


@dataclass(frozen=True)
class Verb:
    """A way to move the hands: usual shortest and longest duration in seconds, and sentences about it.

    A sentence may name ``{thing}`` and ``{target}``, and the ``{hand}`` that works.
    """

    seconds: tuple[float, float]
    description: str
    interaction: tuple[str, ...]


VERBS: Mapping[str, Verb] = {
    "walk": Verb(
        (1.0, 4.0),
        "The person walks to the {target}.",
        ("The hands swing freely while walking.", "No object is touched."),
    ),
    "carry": Verb(
        (1.0, 4.0),
        "The person carries the {thing} to the {target}.",
        ("The {hand} hand carries the {thing} in front of the body.",),
    ),
    "pick": Verb(
        (1.0, 1.7),
        "The person reaches for the {thing} and picks it up.",
        ("The {hand} hand moves towards the {thing}.", "The {hand} hand grasps the {thing}."),
    ),
    "put": Verb(
        (0.9, 1.5),
        "The person puts the {thing} down at the {target}.",
        ("The {hand} hand lowers the {thing}.", "The {hand} hand lets go of the {thing}."),
    ),
    "pour": Verb(
        (2.0, 3.4),
        "The person tilts the {thing} and pours into the {target}.",
        ("The {hand} hand tilts the {thing} over the {target}.", "The other hand steadies the {target}."),
    ),
    "stir": Verb(
        (2.0, 3.8),
        "The person moves the {thing} in circles in the {target}.",
        ("The {hand} hand moves the {thing} in circles.", "The other hand holds the {target}."),
    ),
    "chop": Verb(
        (2.6, 4.4),
        "The person cuts the {target} with the {thing}.",
        ("The {hand} hand cuts with the {thing}.", "The other hand holds the {target} on the board."),
    ),
    "wipe": Verb(
        (2.4, 4.0),
        "The person wipes the {target} with the {thing}.",
        ("The {hand} hand sweeps the {thing} across the {target}.",),
    ),
    "scrub": Verb(
        (2.4, 4.0),
        "The person scrubs the {thing} over the sink.",
        ("Both hands scrub the {thing}.", "The {hand} hand turns the {thing}."),
    ),
    "rinse": Verb(
        (1.8, 3.0),
        "The person holds the {thing} under running water.",
        ("The {hand} hand holds the {thing} under the {target}.",),
    ),
    "press": Verb(
        (0.9, 1.4),
        "The person turns the {target}.",
        ("The {hand} hand touches the {target}.",),
    ),
    "open": Verb(
        (1.2, 1.9),
        "The person pulls the {target} open.",
        ("The {hand} hand grips the {target}.", "The {hand} hand pulls the {target}."),
    ),
    "close": Verb(
        (1.0, 1.6),
        "The person pushes the {target} shut.",
        ("The {hand} hand pushes the {target}.",),
    ),
    "drink": Verb(
        (1.8, 2.8),
        "The person drinks from the {thing}.",
        ("The {hand} hand lifts the {thing} to the mouth.",),
    ),
    "wait": Verb(
        (1.0, 2.4),
        "No clear activity can be seen.",
        ("The hands rest.", "No interaction."),
    ),
}


@dataclass(frozen=True)
class Step:
    """One action: its label, verb, the thing that is held, and the target: a thing, a fixed part or a spot.

    ``spot`` is where a thing is put: place, across and ahead. ``other`` gives the work to the other hand.
    """

    label: str
    verb: str
    thing: str = ""
    target: str = ""
    spot: tuple[str, float, float] | None = None
    other: bool = False


def _pick(thing: str, label: str = "") -> Step:
    return Step(label or f"Pick up {thing}", "pick", thing, thing)


def _put(thing: str, place: str, across: float, ahead: float, label: str = "") -> Step:
    return Step(label or f"Put down {thing}", "put", thing, place, (place, across, ahead))


SUBTASKS: Mapping[str, tuple[Step, ...]] = {
    "Boil water": (
        _pick("kettle"),
        Step("Fill kettle", "rinse", "kettle", "tap"),
        _put("kettle", "stove", -0.20, 0.48, "Place kettle on stove"),
        Step("Turn on stove", "press", "", "stove knob"),
    ),
    "Prepare coffee": (
        _pick("coffee jar"),
        Step("Add coffee to cup", "pour", "coffee jar", "cup"),
        _put("coffee jar", "coffee corner", 0.26, 0.52),
        _pick("spoon"),
        Step("Stir coffee", "stir", "spoon", "cup"),
        _put("spoon", "coffee corner", 0.18, 0.40),
    ),
    "Pour hot water": (
        _pick("kettle"),
        Step("Pour water into cup", "pour", "kettle", "cup"),
        _put("kettle", "coffee corner", -0.22, 0.48),
    ),
    "Chop tomato": (
        _pick("knife"),
        Step("Cut tomato", "chop", "knife", "tomato"),
        Step("Scrape tomato into bowl", "stir", "knife", "bowl"),
        _put("knife", "worktop", 0.26, 0.42),
    ),
    "Cook vegetables": (
        Step("Turn on stove", "press", "", "stove knob"),
        _pick("spatula"),
        Step("Stir pan", "stir", "spatula", "pan"),
        _put("spatula", "stove", 0.24, 0.42),
        Step("Turn off stove", "press", "", "stove knob"),
    ),
    "Wash dishes": (
        _pick("glass"),
        Step("Scrub glass", "scrub", "glass", "sink"),
        Step("Rinse glass", "rinse", "glass", "tap"),
        _put("glass", "sink", -0.24, 0.48, "Place glass on rack"),
        Step("Turn off tap", "press", "", "tap"),
    ),
    "Wipe table": (
        _pick("cloth"),
        Step("Wipe table", "wipe", "cloth", "table"),
        _put("cloth", "table", 0.22, 0.42, "Fold cloth"),
    ),
    "Set the table": (
        _pick("plate"),
        _put("plate", "table", 0.0, 0.44, "Place plate on table"),
        _pick("glass"),
        _put("glass", "table", 0.20, 0.50, "Place glass on table"),
    ),
    "Fetch milk": (
        Step("Open fridge", "open", "", "fridge door"),
        _pick("milk carton"),
        Step("Close fridge", "close", "", "fridge door", other=True),
        _put("milk carton", "coffee corner", -0.04, 0.40),
    ),
    "Put milk away": (
        _pick("milk carton"),
        Step("Open fridge", "open", "", "fridge door", other=True),
        _put("milk carton", "fridge", 0.05, 0.50, "Place milk in fridge"),
        Step("Close fridge", "close", "", "fridge door"),
    ),
    "Drink coffee": (
        _pick("cup"),
        Step("Drink coffee", "drink", "cup", "cup"),
        _put("cup", "coffee corner", 0.05, 0.45),
    ),
    "Clean worktop": (
        _pick("sponge"),
        Step("Wipe worktop", "wipe", "sponge", "worktop"),
        Step("Rinse sponge", "rinse", "sponge", "tap"),
        _put("sponge", "sink", 0.22, 0.44),
    ),
    "Clear the table": (
        _pick("plate"),
        _put("plate", "worktop", 0.10, 0.60, "Stack plate"),
        Step("Open drawer", "open", "", "drawer"),
        Step("Close drawer", "close", "", "drawer"),
    ),
}
MAIN_TASKS = ("Making breakfast", "Preparing lunch", "Tidying the kitchen", "Making coffee for guests")
