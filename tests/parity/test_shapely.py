"""IoU of upright boxes against ``shapely``: the area that two polygons share, times the common height.

It is no dependency of the tests; they run where it is installed.
"""

import numpy as np
import pytest

from gnomon.numerics.boxes import iou_matrix
from gnomon.numerics.solids import solids

shapely = pytest.importorskip("shapely", reason="shapely is not installed")


def footprint(box):
    x, y, _, length, width, _, yaw = box
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * [length / 2, width / 2]
    cos, sin = np.cos(yaw), np.sin(yaw)
    return shapely.Polygon(corners @ [[cos, sin], [-sin, cos]] + [x, y])


def reference(a, b):
    height = max(min(a[2] + a[5] / 2, b[2] + b[5] / 2) - max(a[2] - a[5] / 2, b[2] - b[5] / 2), 0)
    common = footprint(a).intersection(footprint(b)).area * height
    return common / (np.prod(a[3:6]) + np.prod(b[3:6]) - common)


@pytest.mark.parametrize("seed", range(10))
def test_upright_boxes(seed):
    rng = np.random.default_rng(seed)
    sides = [np.c_[rng.normal(0, 0.7, (25, 3)), rng.uniform(0.2, 3, (25, 3)), rng.uniform(-4, 4, 25)] for _ in range(2)]
    expected = [[reference(a, b) for b in sides[1]] for a in sides[0]]
    assert iou_matrix(*map(solids, sides)) == pytest.approx(np.array(expected), abs=1e-12)
