"""The signal of whole scenes; boxes and point labels are tested with the other signals."""

import numpy as np
import pytest

from gnomon.core import signals
from gnomon.core.errors import InputError
from gnomon.core.scans import BOX_CLASSES, CHANGES, Boxes, Changed, PointLabels


def test_there_is_one_type_of_boxes_and_of_point_labels():
    assert Boxes is signals.Boxes
    assert PointLabels is signals.PointLabels
    assert set(BOX_CLASSES) < set(CHANGES)


def test_a_scene_is_changed_or_not():
    assert Changed(np.bool_(True)) == Changed(True) != Changed(False)
    assert type(Changed(np.bool_(True)).value) is bool
    assert Changed.by(Boxes(np.zeros((0, 6)), [], BOX_CLASSES)) == Changed(False)
    assert Changed.by(Boxes([[0, 0, 0, 1, 1, 1]], [0], BOX_CLASSES)) == Changed(True)


@pytest.mark.parametrize("value", [1, 0, "yes", None, [True]])
def test_anything_else_is_refused(value):
    with pytest.raises(InputError, match="Changed: expected True or False, but got"):
        Changed(value)
