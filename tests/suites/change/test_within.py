"""Points marked by compiled code against the plain way; the plain code of the package is the reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.scans import BOX_CLASSES, Boxes
from gnomon.suites.change import labels, shapes, tallies


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["float32", "float64"]), st.booleans())
def test_points_marked_by_compiled_code(seed, dtype, turned):
    """Whole coordinates, so that many points lie on a surface."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 4, (rng.integers(0, 6), 3))
    geometry = np.c_[low, low + rng.integers(1, 4, low.shape)].astype(float)
    codes = rng.integers(0, 2, len(low))
    if turned:
        geometry = np.c_[geometry, rng.uniform(-3, 3, len(low))]
        geometry[:, 3:6] = rng.integers(1, 4, low.shape)
    boxes = Boxes(geometry, codes, BOX_CLASSES, frame=shapes.FRAME)
    scans = [rng.integers(0, 6, (n, 3)).astype(dtype) for n in (40, 25)]
    for scan in scans:
        scan.setflags(write=False)
    for found, expected in zip(tallies.by_boxes(boxes, *scans), labels.by_boxes(boxes, *scans), strict=True):
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()


def test_each_scan_has_a_class_of_its_own():
    """By hand: Add boxes mark the comparison as 1, Remove boxes the reference as 2; a surface belongs to its box."""
    boxes = Boxes([[0, 0, 0, 1, 1, 1], [1, 0, 0, 3, 1, 1]], [0, 1], BOX_CLASSES)
    scan = np.array([[0.0, 0, 0], [1, 1, 1], [2, 0.5, 0.5], [3.5, 0, 0]])
    reference, comparison = tallies.by_boxes(boxes, scan, scan[:3])
    assert reference.tolist() == [0, 2, 2, 0]
    assert comparison.tolist() == [1, 1, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_of_any_rounding_at_a_surface(dtype):
    """A 32-bit 0.1 is above 0.1, and so outside of a box that ends there."""
    boxes = Boxes([[-1, -1, -1, 0.1, 1, 1]], [0], BOX_CLASSES)
    scan = np.array([[0.1, 0, 0]], dtype)
    assert tallies.by_boxes(boxes, scan, scan)[1].tolist() == [int(dtype == "float64")]
    assert labels.by_boxes(boxes, scan, scan)[1].tolist() == [int(dtype == "float64")]


@pytest.mark.parametrize("shape", [(0, 6), (0, 7), (0, 8, 3)])
def test_no_boxes_and_no_points(shape):
    boxes = Boxes(np.zeros(shape), np.zeros(0, np.int64), BOX_CLASSES)
    found = tallies.by_boxes(boxes, np.zeros((2, 3)), np.zeros((0, 3)))
    assert [codes.tolist() for codes in found] == [[0, 0], []]
    assert {codes.dtype for codes in found} == {np.dtype(np.uint8)}
