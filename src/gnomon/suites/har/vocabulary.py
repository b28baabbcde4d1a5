"""The 87 training labels of ``har``, the synonym groups over them, and what they cover of each test set.

Conventions
-----------
- A label belongs to the first group that lists it; a label in no group is a group by itself.
- :data:`GROUPS` lists the labels of training sets, and after them groups whose members occur in test sets only. Test
  labels that are other words for a group with training members are in :data:`SYNONYMS`.
- The closed set of a test set is every training label whose group occurs among the groups of the test labels.
- A test label is *novel* where its group has no training label: a classifier over the 87 can never be right there, so
  its accuracy has a ceiling, which depends on how many windows have such a label.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from gnomon.core.canonical import encode
from gnomon.core.errors import InputError
from gnomon.core.tallies import Array

_TRAINING = {
    "falling": "falling_backward falling_backward_sitting falling_forward falling_hitting_obstacle falling_left "
    "falling_right falling_with_protection syncope",
    "walking": "walking nordic_walking walking_backwards walking_parking walking_treadmill_flat "
    "walking_treadmill_incline",
    "gym_weights": "adductor_machine arm_curl bench_press leg_curl leg_press squat",
    "ascending_stairs": "ascending_stairs climbing_stairs going_up_stairs stairs_up walking_upstairs",
    "descending_stairs": "descending_stairs going_down_stairs stairs_down walking_downstairs",
    "stairs": "stairs",
    "running": "jogging running running_treadmill",
    "jumping": "jump_front_back jumping rope_jumping rope_skipping",
    "lying": "laying lying lying_back lying_side",
    "sitting": "sitting sitting_down",
    "standing": "standing standing_elevator",
    "transition_to_standing": "lie_to_sit lie_to_stand sit_to_stand standing_up_from_laying standing_up_from_sitting",
    "transition_to_sitting": "stand_to_sit",
    "transition_to_lying": "lying_down_from_standing sit_to_lie stand_to_lie",
    "eating": "drinking eating_chips eating_pasta eating_sandwich eating_soup",
    "sports": "dribbling kicking playing_basketball playing_catch",
    "cardio_machine": "exercising_cross_trainer exercising_stepper rowing stairclimber",
    "cycling": "cycling cycling_horizontal cycling_vertical",
    "typing": "typing writing",
    "grooming": "brushing_teeth",
    "clapping": "clapping",
    "folding_clothes": "folding_clothes",
    "arm_exercise": "frontal_elevation_arms",
    "ironing": "ironing",
    "leg_exercise": "knees_bending",
    "elevator": "moving_elevator",
    "picking_up": "picking_up",
    "playing_sports": "playing_sports",
    "push_up": "push_up",
    "sit_up": "sit_up",
    "talking_sitting": "talking_sitting",
    "talking_standing": "talking_standing",
    "vacuum_cleaning": "vacuum_cleaning",
    "torso_exercise": "waist_bends_forward",
}
_NOVEL = {
    "vehicle_entry": "car_step_in car_step_out",
    "carrying": "carrying lifting pushing_cart",
    "climbing": "climbing_ladder",
    "kneeling": "kneeling_work",
    "painting": "roll_painting spraying_paint leveling_paint",
}
TRAINING_GROUPS: Mapping[str, tuple[str, ...]] = {name: tuple(text.split()) for name, text in _TRAINING.items()}
"""The 34 groups with training labels."""
NOVEL_GROUPS: Mapping[str, tuple[str, ...]] = {name: tuple(text.split()) for name, text in _NOVEL.items()}
"""Groups whose labels occur in test sets only."""
GROUPS: Mapping[str, tuple[str, ...]] = {**TRAINING_GROUPS, **NOVEL_GROUPS}
"""Group -> labels, in the order in which a label is looked for."""
SYNONYMS: Mapping[str, str] = {
    "sitting_chair": "sitting",
    "fall_forward": "falling",
    "fall_backward_knees": "falling",
    "fall_backward_sitting": "falling",
    "fall_sideways": "falling",
    "jumping_down": "jumping",
    "laying_back": "lying",
    "raising_hands": "arm_exercise",
    "standing_work": "standing",
    "walking_straight": "walking",
    "walking_winding": "walking",
}
"""Labels of test sets that are other words for a group with training labels."""
LABELS: tuple[str, ...] = tuple(sorted(label for labels in TRAINING_GROUPS.values() for label in labels))
"""The 87 training labels, sorted: the class axis of every classifier."""

_TRAIN = {
    "uci_har": "walking walking_upstairs walking_downstairs sitting standing laying",
    "hhar": "cycling sitting standing walking walking_upstairs walking_downstairs",
    "pamap2": "lying sitting standing walking running cycling nordic_walking ascending_stairs descending_stairs "
    "vacuum_cleaning ironing rope_jumping",
    "wisdm": "walking jogging stairs sitting standing typing brushing_teeth eating_soup eating_chips eating_pasta "
    "drinking eating_sandwich kicking playing_catch dribbling writing clapping folding_clothes",
    "dsads": "sitting standing lying_back lying_side stairs_up stairs_down standing_elevator moving_elevator "
    "walking_parking walking_treadmill_flat walking_treadmill_incline running_treadmill exercising_stepper "
    "exercising_cross_trainer cycling_horizontal cycling_vertical rowing jumping playing_basketball",
    "ku_har": "standing sitting talking_sitting talking_standing standing_up_from_sitting lying "
    "standing_up_from_laying picking_up jumping push_up sit_up walking walking_backwards running walking_upstairs "
    "walking_downstairs playing_sports",
    "unimib": "standing_up_from_sitting standing_up_from_laying walking running going_up_stairs jumping "
    "going_down_stairs lying_down_from_standing sitting_down falling_forward falling_right falling_backward "
    "falling_hitting_obstacle falling_with_protection falling_backward_sitting syncope falling_left",
    "hapt": "walking walking_upstairs walking_downstairs sitting standing lying stand_to_sit sit_to_stand sit_to_lie "
    "lie_to_sit stand_to_lie lie_to_stand",
    "mhealth": "standing sitting lying walking climbing_stairs waist_bends_forward frontal_elevation_arms "
    "knees_bending cycling jogging running jump_front_back",
    "recgym": "adductor_machine arm_curl bench_press leg_curl leg_press cycling rope_skipping running squat "
    "stairclimber walking",
}
_TEST = {
    "motionsense": "walking walking_upstairs walking_downstairs sitting standing jogging",
    "realworld": "walking running sitting standing lying stairs_up stairs_down jumping",
    "mobiact": "standing walking jogging jumping stairs_up stairs_down sitting_chair car_step_in car_step_out "
    "fall_forward fall_backward_knees fall_backward_sitting fall_sideways",
    "vtt_coniot": "carrying climbing_ladder jumping_down kneeling_work laying_back leveling_paint lifting "
    "pushing_cart raising_hands roll_painting sitting spraying_paint stairs standing_work walking_straight "
    "walking_winding",
}
TRAIN_LABELS: Mapping[str, tuple[str, ...]] = {name: tuple(text.split()) for name, text in _TRAIN.items()}
"""Labels of the ten training sets; together they are the 87."""
TEST_LABELS: Mapping[str, tuple[str, ...]] = {name: tuple(text.split()) for name, text in _TEST.items()}
"""Labels of the four test sets."""
MAIN = ("motionsense", "realworld", "mobiact")
"""Test sets whose mean is reported."""
ALIKE = 0.85
"""How much alike two labels are, from 0 to 1, of which one may have been meant for the other."""
SEVERE = ("vtt_coniot",)
"""Test sets that are reported apart."""


def _first_group() -> dict[str, str]:
    found: dict[str, str] = {}
    for group, labels in GROUPS.items():
        for label in labels:
            found.setdefault(label, group)
    for label, group in SYNONYMS.items():
        found.setdefault(label, group)
    return found


_GROUP_OF = _first_group()


@dataclass(frozen=True)
class Coverage:
    """What the training labels cover of a test set.

    Attributes
    ----------
    dataset, activities, groups
        The test set, its labels and the groups they fall into.
    mappable, novel, unmappable
        How many labels have a training label in their group, how many have not, and which these are.
    share
        Mappable of all labels, in per cent.
    allowed, labels
        Training labels of the closed set, and of all.
    ceiling
        The best accuracy of a classifier over the 87 labels in per cent; None where windows were not given.
    why
        Why there is no ceiling.
    """

    dataset: str
    activities: int
    groups: int
    mappable: int
    novel: int
    unmappable: tuple[str, ...]
    share: float
    allowed: int
    labels: int
    ceiling: float | None
    why: str = ""


def group_of(label: str) -> str:
    """Return the group of a label: the first that lists it, or the label itself.

    >>> group_of("jogging"), group_of("fall_sideways"), group_of("juggling")
    ('running', 'falling', 'juggling')
    """
    return _GROUP_OF.get(label, label)


def labels_of(dataset: str) -> tuple[str, ...]:
    """Return the labels of a test set."""
    if dataset not in TEST_LABELS:
        raise InputError(
            f"{dataset!r} is not one of the test sets {', '.join(TEST_LABELS)}; give its labels where it is your own"
        )
    return TEST_LABELS[dataset]


def asked_of(dataset: str, there: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of a test dataset: its fixed list, or those that occur where it has none or another one."""
    own, found = TEST_LABELS.get(dataset), set(there)
    return own if own is not None and found <= set(own) else tuple(sorted(found))


def near(label: str, known: Iterable[str] = LABELS) -> str:
    """Return the known label that one may have meant, empty where none looks like it.

    >>> near("Walking "), near("juggling")
    ('walking', '')
    """
    plain = re.sub(r"[\s-]+", "_", label.strip().lower())
    found = difflib.get_close_matches(plain, sorted(known), n=1, cutoff=ALIKE)
    return found[0] if found else ""


def mask(dataset: str, labels: Iterable[str] | None = None) -> Array:
    """Return which of the 87 labels are in the closed set of a test set, ``(87,)`` booleans.

    ``labels`` are the test labels of a dataset that is not one of the four.
    """
    wanted = {group_of(label) for label in (labels_of(dataset) if labels is None else labels)}
    return np.array([group_of(label) in wanted for label in LABELS], dtype=np.bool_)


def coverage(dataset: str, counts: Mapping[str, int] | None = None, labels: Iterable[str] | None = None) -> Coverage:
    """Return what the training labels cover of a test set.

    Parameters
    ----------
    dataset
        Name of the test set.
    counts
        Windows per label; the ceiling is the share of those whose label is mappable.
    labels
        The test labels of a dataset that is not one of the four.
    """
    names = labels_of(dataset) if labels is None else tuple(dict.fromkeys(labels))
    if not names:
        raise InputError(f"coverage of {dataset!r}: expected at least one label, but got none")
    known = {group_of(label) for label in LABELS}
    novel = tuple(sorted(label for label in names if group_of(label) not in known))
    mappable = len(names) - len(novel)
    ceiling, why = _ceiling(dataset, names, novel, counts)
    return Coverage(
        dataset=dataset,
        activities=len(names),
        groups=len({group_of(label) for label in names}),
        mappable=mappable,
        novel=len(novel),
        unmappable=novel,
        share=100 * mappable / len(names),
        allowed=int(mask(dataset, names).sum()),
        labels=len(LABELS),
        ceiling=ceiling,
        why=why,
    )


def _ceiling(
    dataset: str, names: tuple[str, ...], novel: tuple[str, ...], counts: Mapping[str, int] | None
) -> tuple[float | None, str]:
    if counts is None:
        return None, "needs the windows of each label"
    odd = sorted(set(counts) - set(names))
    if odd:
        raise InputError(f"coverage of {dataset!r}: windows have labels that are not the test set's: {', '.join(odd)}")
    total = sum(counts.values())
    if not total:
        return None, "no windows"
    return 100 * (total - sum(counts.get(label, 0) for label in novel)) / total, ""


def digest() -> str:
    """Return the hash of the whole table: labels, groups, synonyms and test labels."""
    table = {
        "labels": list(LABELS),
        "groups": [[name, list(labels)] for name, labels in GROUPS.items()],
        "synonyms": dict(SYNONYMS),
        "test": {name: list(labels) for name, labels in TEST_LABELS.items()},
    }
    return hashlib.sha256(encode(table)).hexdigest()
