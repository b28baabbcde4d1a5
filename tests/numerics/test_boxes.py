"""Exact IoU: against half-space intersection of scipy, Monte Carlo, hand-computed cases, and laws.

References: ``ConvexHull(HalfspaceIntersection(...))`` of scipy (Qhull) for boxes of any orientation; counting random
points; the shapes' own arithmetic where a case can be done by hand.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection
from scipy.spatial.transform import Rotation

from gnomon.core.errors import InputError
from gnomon.numerics.boxes import iou_matrix, overlaps
from gnomon.numerics.solids import TILTED, UPRIGHT, solids

CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
CLOSE = 1e-12

numbers = st.floats(-3, 3)
sizes = st.floats(0.05, 3)
angles = st.floats(-7, 7)
general = st.tuples(*[numbers] * 3, *[sizes] * 3, *[angles] * 3)
yawed = st.tuples(*[numbers] * 3, *[sizes] * 3, angles)


def vertices(box):
    turn = Rotation.from_euler("zyx", box[6:9]) if len(box) == 9 else Rotation.from_euler("z", box[6])
    return np.asarray(box[:3]) + (CUBE * np.asarray(box[3:6]) / 2) @ turn.as_matrix().T


def iou(a, b):
    return float(iou_matrix(solids([a]), solids([b]))[0, 0])


def by_halfspaces(a, b):
    """IoU of two sets of vertices by scipy; the largest inscribed ball gives the point inside that Qhull needs."""
    hulls = ConvexHull(a), ConvexHull(b)
    planes = np.vstack([hull.equations for hull in hulls])
    ball = linprog(
        [0, 0, 0, -1], A_ub=np.c_[planes[:, :3], np.ones(len(planes))], b_ub=-planes[:, 3], bounds=(None, None)
    )
    if ball.x[3] < 1e-7:
        return 0.0
    common = ConvexHull(HalfspaceIntersection(planes, ball.x[:3]).intersections).volume
    return common / (hulls[0].volume + hulls[1].volume - common)


@pytest.mark.parametrize("seed", range(12))
def test_against_half_spaces(seed):
    rng = np.random.default_rng(seed)
    for _ in range(12):
        a, b = (np.r_[rng.normal(0, 0.5, 3), rng.uniform(0.2, 2, 3), rng.uniform(-4, 4, 3)] for _ in range(2))
        a[7:], b[7:] = a[7:] * (seed % 3 != 0), b[7:] * (seed % 2)  # upright on both sides, on one, on none
        expected = by_halfspaces(vertices(a), vertices(b))
        assert iou(rng.permutation(vertices(a)), vertices(b)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("tilt", [0.0, 0.6])
def test_against_counting_random_points(tilt):
    """Of a million points in a box around both, about a thousandth is the error."""
    a, b = (0.1, 0.2, 0, 2, 1, 1.5, 0.5, tilt, 0), (0.5, 0, 0.3, 1.5, 2, 1, -0.8, 0, -tilt)
    points = np.random.default_rng(1).uniform(-2.5, 2.5, (1_000_000, 3))
    inside = []
    for box in (a, b):
        turn = Rotation.from_euler("zyx", box[6:9]).as_matrix()
        inside.append((np.abs((points - box[:3]) @ turn) <= np.array(box[3:6]) / 2).all(axis=1))
    expected = (inside[0] & inside[1]).sum() / (inside[0] | inside[1]).sum()
    assert 0.1 < expected < 0.9
    assert iou(vertices(a), vertices(b)) == pytest.approx(expected, abs=5e-3)


def turned(points):
    return points @ Rotation.from_euler("zyx", [0.4, 1.1, -0.7]).as_matrix().T


@pytest.mark.parametrize("move", [lambda points: points, turned], ids=["as it is", "turned"])
@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ((0, 0, 0), (1, 1, 0.25), 0.25),  # five faces coplanar: a quarter of the volume
        ((0, 0, 0), (0.5, 0.5, 1), 0.25),
        ((0.25, 0.25, 0), (0.75, 0.75, 1), 0.25),  # two faces coplanar, contained
        ((0.6, 0, 0), (1.6, 1, 1), 0.4 / 1.6),  # four faces coplanar, sticking out: again a quarter
        ((0, 0, 0), (1, 1, 1), 1.0),
        ((0.25, 0.25, 0.25), (0.75, 0.75, 0.75), 0.125),
        ((-1, -1, -1), (2, 2, 2), 1 / 27),
        ((1, 0, 0), (2, 1, 1), 0.0),  # a face
        ((1, 1, 0), (2, 2, 1), 0.0),  # an edge
        ((1, 1, 1), (2, 2, 2), 0.0),  # a vertex
        ((0.5, 0.5, 0.5), (1.5, 1.5, 1.5), 0.125 / 1.875),
        ((1.5, 0, 0), (2, 1, 1), 0.0),
    ],
)
def test_worked_cases_of_the_unit_cube(low, high, expected, move):
    """By hand; turned as a whole they are the same."""
    first = move(np.array(list(itertools.product((0.0, 1.0), repeat=3))))
    second = move(np.array(list(itertools.product(*zip(low, high, strict=True)))))
    assert iou(first, second) == pytest.approx(expected, abs=CLOSE)
    assert iou(second, first) == pytest.approx(expected, abs=CLOSE)


def test_a_square_turned_by_an_eighth():
    """By hand: two unit squares at 45 degrees share a regular octagon of area 2 (sqrt 2 - 1)."""
    common = 2 * (np.sqrt(2) - 1)
    expected = common / (2 - common)
    assert iou([0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1, np.pi / 4]) == pytest.approx(expected, abs=CLOSE)
    tilted = [vertices((0, 0, 0, 1, 1, 1, 0, 0, angle)) for angle in (0.0, np.pi / 4)]
    assert iou(*tilted) == pytest.approx(expected, abs=CLOSE)


def test_the_sign_of_yaw_matters():
    """A long box of yaw 30 degrees is found again in vertices that were turned counter-clockwise, not clockwise."""
    flat = [1, 2, 0, 4, 0.5, 1, np.pi / 6]
    same, mirrored = (vertices((*flat[:6], sign * np.pi / 6)) for sign in (1, -1))
    assert iou(flat, same) == pytest.approx(1, abs=CLOSE)
    assert iou(flat, mirrored) < 0.3


@settings(max_examples=150, deadline=None)
@given(general, general)
def test_symmetric_and_in_range(a, b):
    one, other = iou(vertices(a), vertices(b)), iou(vertices(b), vertices(a))
    assert 0 <= one <= 1
    assert one == pytest.approx(other, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(general, general, general, st.floats(0.1, 10), st.permutations(range(8)))
def test_motions_scales_and_orders_of_vertices_change_nothing(a, b, motion, scale, order):
    before = iou(vertices(a), vertices(b))
    turn = Rotation.from_euler("zyx", motion[6:9]).as_matrix()
    moved = [scale * (vertices(box) @ turn.T + motion[:3]) for box in (a, b)]
    assert iou(moved[0][list(order)], moved[1]) == pytest.approx(before, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(yawed, yawed)
def test_upright_boxes_agree_with_any_boxes(a, b):
    """The same pair, once clipped as rectangles and once as bodies that are tilted together."""
    turn = Rotation.from_euler("x", 1.0).as_matrix().T
    tilted = [solids([vertices(box) @ turn]) for box in (a, b)]
    assert {side.stand[0] for side in tilted} == {TILTED}
    assert iou(a, b) == pytest.approx(float(iou_matrix(*tilted)[0, 0]), abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_faces_that_are_coplanar_but_for_rounding(seed):
    """Boxes of a few sizes and places, turned about one axis or hardly at all, and then together in space.

    The reference is the same pair before it was turned together: rectangles times height.
    """
    rng = np.random.default_rng(seed)
    whole = Rotation.random(rng=rng).as_matrix().T
    for _ in range(10):
        sizes = rng.choice([0.5, 1.0, 2.0], (2, 3))
        centre = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 3) * rng.choice([0, 1])
        angle = rng.choice([0.0, np.pi / 2, np.pi / 4, 1.75, 1e-6, 1e-9, 1e-12, 1e-15])
        flat = [[0, 0, 0, *sizes[0], 0.0], [*centre, *sizes[1], angle]]
        expected = iou(*flat)
        assert iou(*(vertices(box) @ whole for box in flat)) == pytest.approx(expected, abs=CLOSE)
        away = [vertices(box) @ whole + 100.0 for box in flat]
        assert iou(*away) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(general, st.tuples(*[st.floats(0, 1)] * 6))
def test_one_if_and_only_if_equal(box, change):
    assert iou(vertices(box), vertices(box)) == pytest.approx(1, abs=CLOSE)
    other = np.array(box)
    other[:6] += np.array(change) * (1 if max(change) > 1e-3 else 0)
    if max(change) > 1e-3:
        assert iou(vertices(box), vertices(other)) < 1 - 1e-5


@settings(max_examples=100, deadline=None)
@given(general, st.tuples(*[st.floats(0.1, 1)] * 3), st.tuples(*[st.floats(-1, 1)] * 3))
def test_of_a_box_inside_another_it_is_the_ratio_of_volumes(box, share, place):
    outer = vertices(box)
    turn = Rotation.from_euler("zyx", box[6:9]).as_matrix()
    size = np.array(box[3:6])
    centre = np.array(box[:3]) + turn @ (np.array(place) * size * (1 - np.array(share)) / 2)
    inner = centre + (CUBE * size * share / 2) @ turn.T
    assert iou(outer, inner) == pytest.approx(np.prod(share), abs=1e-9)


@pytest.mark.parametrize("where", [0.0, 1e3, 1e6, -1e9])
def test_identical_far_away_is_one(where):
    for flat in ([where, where, where, 0.3, 0.7, 2, 0], [where, where, where, 0.3, 0.7, 2, 0.3]):
        assert iou(flat, flat) == pytest.approx(1, abs=CLOSE)
    corners = vertices((0, 0, 0, 1, 1, 1, 0.3, 0.2, 0.1)) + where
    assert iou(corners, corners[::-1]) == pytest.approx(1, abs=CLOSE)


def test_thin_boxes():
    """By hand: two sheets of thickness 1e-6 that cross at a right angle share a beam."""
    a, b = [0, 0, 0, 1, 1, 1e-6, 0], [0, 0, 0, 1e-6, 1, 1, 0]
    assert iou(a, b) == pytest.approx(1e-12 / (2e-6 - 1e-12), rel=1e-9)
    sheets = [vertices((*flat[:6], 0.3, 0.4, 0.5)) for flat in (a, b)]
    assert iou(*sheets) == pytest.approx(1e-12 / (2e-6 - 1e-12), rel=1e-3)


def brute_pairs(a, b, groups, least):
    matrix = iou_matrix(a, b)
    return [
        (i, j)
        for i in range(len(a))
        for j in range(len(b))
        if groups[0][i] == groups[1][j] and matrix[i, j] > 0 and matrix[i, j] >= least
    ]


@pytest.mark.parametrize("seed", range(30))
def test_the_sweep_finds_every_pair_once(seed):
    """Against a loop over all pairs; whole coordinates, so that boxes begin together and touch."""
    rng = np.random.default_rng(seed)
    sides = []
    for n in rng.integers(0, 40, 2):
        low = rng.integers(0, 6, (n, 3)) * rng.choice([1, 1, 5], 3)
        sides.append(solids(np.c_[low, low + rng.integers(1, 4, (n, 3))].reshape(n, 6)))
    names = np.array([[0, 1, 2], [5, 65_535, 65_536], [-1, 0, 1]])[rng.integers(0, 3)]
    groups = tuple(names[rng.integers(0, 3, len(side))] for side in sides)
    for least in (0.0, 0.25):
        found = overlaps(*sides, groups, least=least)
        assert list(zip(found.i.tolist(), found.j.tolist(), strict=True)) == brute_pairs(*sides, groups, least)


def test_a_bound_never_loses_a_pair():
    """Turned boxes whose bounds overlap little: what reaches the least IoU is the same with and without bounds."""
    rng = np.random.default_rng(0)
    flat = np.c_[rng.normal(0, 1, (200, 3)), rng.uniform(0.3, 2, (200, 3)), rng.uniform(-3, 3, 200)]
    a, b = solids(flat[:100]), solids(flat[100:])
    assert set(a.stand) == {UPRIGHT}
    everything, some = overlaps(a, b), overlaps(a, b, least=0.3)
    kept = everything.take(everything.iou >= 0.3)
    assert len(kept) > 5
    assert (some.i.tolist(), some.j.tolist(), some.iou.tolist()) == (
        kept.i.tolist(),
        kept.j.tolist(),
        kept.iou.tolist(),
    )


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr("gnomon.numerics.boxes.MOST_PAIRS", 3)
    cubes = solids([[0, 0, 0, 1, 1, 1]] * 2)
    with pytest.raises(InputError, match="2 and 2 boxes overlap in more than 3 pairs; match fewer boxes at a time"):
        overlaps(cubes, cubes)
