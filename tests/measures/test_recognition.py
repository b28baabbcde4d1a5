"""What scores of one class of events rest on; tallies are written by hand."""

import numpy as np

from gnomon.core.tallies import Tallies
from gnomon.inference.intervals import Groups, Plan, interval
from gnomon.measures._ward import RETURN_LABELS, STORED, TRUTH_LABELS
from gnomon.measures.recognition import CategoryRate

AXES = {"class": ("sit", "walk"), "category": STORED, "outcome": (*TRUTH_LABELS, *RETURN_LABELS)}


def recordings(n, sitting):
    """Recordings of 100 s: everybody walks for 40 s in one event, those in `sitting` sit for 20 s in one more."""
    fields = {}
    for field in CategoryRate.layout:
        shape = (n, *(len(AXES[axis]) if axis in AXES else 5 for axis in field.axes))
        fields[field.name] = np.zeros(shape, dtype=np.int64 if field.kind == "count" else np.float64)
    fields["window_s"] += 100.0
    fields["events"][:, 1, 0] = 1
    fields["seconds"][:, 1, 0] = 40.0 - np.arange(n) % 3
    fields["seconds"][:, 1, 1] = np.arange(n) % 3
    for place in sitting:
        fields["events"][place, 0, 0] = 1
        fields["seconds"][place, 0, :2] = 15.0 + place, 5.0 - place
    axes = dict(AXES) | {axis: tuple("01234") for f in CategoryRate.layout for axis in f.axes if axis not in AXES}
    return Tallies(CategoryRate.layout, axes, fields)


def test_a_class_has_the_support_of_its_own_events():
    each = recordings(3, [1]).each()
    found = {label: CategoryRate(label, "TP").support(each, None)[:, 0].tolist() for label in ("sit", "walk", "run")}
    assert found == {"sit": [False, True, False], "walk": [True] * 3, "run": [False] * 3}


def test_the_interval_of_a_class_on_few_groups_is_called_unreliable():
    groups = Groups(recordings(12, [0, 1, 2]), Plan(), "subject")
    note = "interval unreliable: 1 class rests on fewer than 10 subjects"
    assert note in interval(CategoryRate("sit", "TP"), groups).notes
    assert note not in interval(CategoryRate("walk", "TP"), groups).notes
