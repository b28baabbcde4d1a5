"""The signal of whole scenes, and parts of boxes; boxes and point labels are tested with the other signals."""

import numpy as np
import pytest

from gnomon.core import signals
from gnomon.core.errors import InputError
from gnomon.core.scans import BOX_CLASSES, CHANGES, Boxes, Changed, PointLabels, parted


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


def test_parts_of_boxes_are_what_they_would_be_alone():
    geometry = np.arange(4 * 6, dtype=np.float64).reshape(4, 6)
    whole = Boxes(geometry, [0, 1, 1, 0], BOX_CLASSES, [0.1, 0.2, 0.3, 0.4], "reference")
    for given, scores in ((whole, True), (Boxes(geometry, [0, 1, 1, 0], BOX_CLASSES), False)):
        parts = parted(given, [2, 0, 2])
        for part, rows in zip(parts, (slice(0, 2), slice(2, 2), slice(2, 4)), strict=True):
            alone = Boxes(geometry[rows], given.codes[rows], BOX_CLASSES, given.scores[rows] if scores else None)
            assert np.array_equal(part.geometry, alone.geometry)
            assert part.codes.tolist() == alone.codes.tolist()
            assert (part.scores is None) == (alone.scores is None)
            assert not scores or part.scores.tolist() == alone.scores.tolist()
            assert (part.classes, part.frame) == (given.classes, given.frame)
            assert not part.geometry.flags.writeable
            assert not part.codes.flags.writeable
