"""Texts for a label: what the activity is called, and how a sensor on the body would see it.

LanHAR has about 22 snippets for each of four activities written by a language model. Here a few sentences are made for
any label whatever: its words in fixed phrases, and, where a word of it is known, the pattern of such a motion under the
headings of :mod:`~gnomon.suites.har.systems.neural.descriptions`. What is known is common knowledge of motion; nothing
was taken from recordings. All labels have the same number of texts.
"""

from __future__ import annotations

PHRASES = ("{0}", "a person is {0}", "Activity={0}")
PATTERN, UNKNOWN = "Activity={0}, Sensor pattern: {1}", "the motion of {0}"
EACH = len(PHRASES) + 1
"""Texts of a label."""

_STILL = ("almost no motion with no turning", "no clear rhythm", "smooth, featureless", "no impacts")
_HANDS = ("very weak motion with slight turning", "irregular beats", "slightly jerky", "no impacts")
_TURN = ("weak motion with some turning", "no clear rhythm", "posture changes", "soft impacts, now and then")
_LIFT = ("weak motion with some turning", "regular slow beats", "smooth, even and rounded", "no impacts")
_PLAY = ("strong motion with much turning", "no clear rhythm", "jerky, with sharp peaks", "firm impacts, now and then")

PATTERNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "fall syncope",
        ("with single sharp spikes", "posture tips over", "no clear rhythm", "hard impacts, now and then"),
    ),
    (
        "upstairs ascend up_stairs stairs_up climbing_stairs stairclimber stepper",
        (
            "moderate motion with some turning",
            "regular beats of a calm pace, slower than on level ground",
            "the body is lifted at every step",
            "soft impacts, about once a second",
        ),
    ),
    (
        "downstairs descend down_stairs stairs_down",
        (
            "strong motion with some turning",
            "loosely repeated beats of a brisk pace",
            "jerky, with sharp peaks, the body drops at every step",
            "firm impacts, about twice a second",
        ),
    ),
    ("stairs ladder", ("moderate motion with much turning", "regular beats of a calm pace", "firm impacts")),
    (
        "jump skip hop",
        (
            "very strong motion",
            "the motion is mostly vertical",
            "very regular beats of a brisk pace",
            "hard impacts, about twice a second",
        ),
    ),
    (
        "run jog",
        (
            "very strong motion with violent turning",
            "very regular fast beats",
            "very jerky, with sharp peaks",
            "hard impacts, in quick succession",
        ),
    ),
    (
        "cycling riding bike",
        ("weak motion with some turning", "regular beats of a calm pace", "smooth, even and rounded", "no impacts"),
    ),
    ("rowing", ("moderate motion", "the motion is mostly horizontal", "regular slow beats", "no impacts")),
    ("basketball sport kick dribbl catch play", _PLAY),
    (
        "elevator",
        ("very weak motion with no turning", "the motion is mostly vertical", "very slow beats", "no impacts"),
    ),
    ("to_ standing_up lying_down sitting_down picking step_in step_out bend", _TURN),
    ("typ writ eat drink brush teeth iron fold clap cloth paint kneel", _HANDS),
    ("curl press squat push_up sit_up adductor knees elevation arms raising lift", _LIFT),
    (
        "walk carry cart",
        (
            "moderate motion with some turning",
            "very regular beats of a brisk pace",
            "slightly jerky, with clear peaks",
            "soft impacts, about twice a second",
        ),
    ),
    ("cross_trainer", ("moderate motion", "very regular beats of a calm pace", "even and rounded", "no impacts")),
    ("vacuum clean", ("weak motion with some turning", "loosely repeated slow beats", "no impacts")),
    ("sit lying laying", _STILL),
    ("stand talk", ("very weak motion with slight turning", "no clear rhythm", "posture stays the same", "no impacts")),
)
"""How words of labels begin, and the pattern of such a motion; the first that fits counts."""


def words(label: str) -> str:
    """Return a label as words.

    >>> words("walking_upstairs")
    'walking upstairs'
    """
    return " ".join(label.replace("_", " ").split())


def pattern(label: str) -> tuple[str, ...]:
    """Return how a sensor would see the activity; nothing where no word of the label is known.

    >>> pattern("jogging")[1]
    'very regular fast beats'
    >>> pattern("zorbing")
    ()
    """
    name = f"_{words(label).lower().replace(' ', '_')}"
    return next((lines for keys, lines in PATTERNS if any(f"_{key}" in name for key in keys.split())), ())


def snippets(label: str) -> tuple[str, ...]:
    """Return the texts of a label, :data:`EACH` of them.

    >>> snippets("zorbing")
    ('zorbing', 'a person is zorbing', 'Activity=zorbing', 'Activity=zorbing, Sensor pattern: the motion of zorbing')
    """
    own = words(label)
    lines = pattern(label) or (UNKNOWN.format(own),)
    return (*(phrase.format(own) for phrase in PHRASES), PATTERN.format(own, ", ".join(lines)))
