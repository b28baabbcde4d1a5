"""Nearest neighbours: all distances taken one by one in numpy are the reference, and ``scipy.spatial.cKDTree``.

Both compute ``(dx * dx + dy * dy) + dz * dz`` in float64, so that distances are compared bit by bit.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.numerics.neighbours import CELL, cloud, nearest, nearest_other, spacing


def squares(points, others):
    x, y, z = (points[:, np.newaxis, k] - others[np.newaxis, :, k] for k in range(3))
    return x * x + y * y + z * z


def table(points, others):
    return np.sqrt(squares(np.asarray(points, float), np.asarray(others, float)))


def brute(points, others):
    return table(points, others).min(axis=1)


def agree(points, others):
    distances, rows = nearest(points, others)
    np.testing.assert_array_equal(distances, brute(points, others))
    np.testing.assert_array_equal(distances, table(points, others)[np.arange(len(rows)), rows])
    np.testing.assert_array_equal(distances, cKDTree(np.asarray(others, float)).query(np.asarray(points, float))[0])


def clouds():
    rng = generator(0, "clouds")
    flat = rng.uniform(size=(700, 3)) * [4, 3, 0] + rng.normal(0, 0.003, (700, 3))
    lattice = np.stack(np.meshgrid(*[np.arange(9) * 0.1] * 3), axis=-1).reshape(-1, 3)
    return {
        "uniform": rng.uniform(size=(900, 3)),
        "surface": flat,
        "lattice, many ties": lattice,
        "lattice, half a step on": lattice + 0.05,
        "duplicates": np.repeat(rng.uniform(size=(40, 3)), 20, axis=0),
        "one place": np.full((300, 3), 1.5),
        "a line": np.linspace(0, 1, 500)[:, np.newaxis] * [1, 2, 3],
        "dense and sparse": np.concatenate([rng.normal(0, 1e-6, (400, 3)), rng.uniform(-50, 50, (400, 3))]),
        "outliers": np.concatenate([flat, [[1e9, 0, 0], [-1e12, 1e12, 5], [3e7, 3e7, 3e7]]]),
        "far from zero": flat + 1e7,
    }


CLOUDS = clouds()


@pytest.mark.parametrize("other", CLOUDS)
@pytest.mark.parametrize("name", CLOUDS)
def test_equals_all_distances(name, other):
    agree(CLOUDS[name], CLOUDS[other])


@pytest.mark.parametrize("name", CLOUDS)
def test_nearest_other_leaves_out_the_point_itself_only(name):
    points = CLOUDS[name]
    distances, rows = nearest_other(points)
    every = table(points, points)
    np.fill_diagonal(every, np.inf)
    np.testing.assert_array_equal(distances, every.min(axis=1))
    np.testing.assert_array_equal(distances, every[np.arange(len(rows)), rows])


@pytest.mark.parametrize("n", [1, 2, 3, CELL - 1, CELL, CELL + 1, 2 * CELL, 2 * CELL + 1, 129, 1000])
def test_any_number_of_points(n):
    rng = generator(n, "sizes")
    points, others = rng.normal(size=(n, 3)), rng.normal(size=(n + 3, 3))
    agree(points, others)
    agree(others, points)


@given(
    st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=80),
    st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=80),
    st.floats(1e-3, 1e3),
)
@settings(max_examples=60)
def test_equals_all_distances_where_most_are_ties(points, others, scale):
    agree(np.array(points) * scale, np.array(others) * scale)


def test_large_clouds_equal_scipy():
    rng = generator(1, "large")
    faces = rng.integers(0, 3, 40_000)
    points = rng.uniform(size=(40_000, 3)) * [5, 4, 2.5]
    points[np.arange(40_000), faces] = 0
    points += rng.normal(0, 0.004, points.shape)
    here, there = points[::2], points[1::2]
    np.testing.assert_array_equal(nearest(here, there)[0], cKDTree(there).query(here)[0])
    np.testing.assert_array_equal(nearest_other(points)[0], cKDTree(points).query(points, k=2)[0][:, 1])


def test_float32_and_strided_input_are_read_as_they_are():
    rng = generator(2, "kinds")
    points, others = rng.normal(size=(60, 3)).astype(np.float32), np.asfortranarray(rng.normal(size=(90, 6)))[:, ::2]
    agree(points, others)
    agree(others[::-1], points[::3])


def test_the_same_points_give_the_same_rows():
    points, others = CLOUDS["lattice, half a step on"], CLOUDS["lattice, many ties"]
    np.testing.assert_array_equal(nearest(points, others)[1], nearest(points.copy(), others.copy())[1])


def test_input_is_left_alone():
    points = generator(3, "input").normal(size=(200, 3))
    before = points.copy()
    nearest(points, points + 1)
    np.testing.assert_array_equal(points, before)


def test_a_limit_is_included():
    # By hand: the others are at 1, at 2 and at 2 + 1 ulp.
    others = [[0, 0, 0.0]]
    points = [[1, 0, 0], [0, 2, 0], [0, 0, np.nextafter(2.0, 3)]]
    distances, rows = nearest(points, others, limit=2.0)
    assert distances.tolist() == [1.0, 2.0, math.inf]
    assert rows.tolist() == [0, 0, -1]


@pytest.mark.parametrize("limit", [0.0, 0.01, 0.1, 0.3, 2.0])
def test_limit_changes_nothing_below_it(limit):
    points, others = CLOUDS["uniform"], CLOUDS["lattice, many ties"]
    points = np.concatenate([points, others[:5]])
    wanted = brute(points, others)
    distances, rows = nearest(points, others, limit=limit)
    np.testing.assert_array_equal(distances, np.where(wanted <= limit, wanted, np.inf))
    np.testing.assert_array_equal(rows >= 0, wanted <= limit)


@pytest.mark.parametrize("radius", [0.01, 0.05, 0.1, 0.3])
def test_enough_says_whether_anybody_is_within_a_radius(radius):
    points, others = CLOUDS["uniform"], CLOUDS["surface"]
    wanted = brute(points, others)
    distances, rows = nearest(points, others, limit=radius, enough=radius)
    np.testing.assert_array_equal(rows >= 0, wanted <= radius)
    found = rows >= 0
    np.testing.assert_array_equal(distances[found], table(points, others)[found, rows[found]])


def test_clouds_are_made_once_for_many_searches():
    here, there = cloud(CLOUDS["uniform"]), cloud(CLOUDS["surface"])
    np.testing.assert_array_equal(nearest(here, there)[0], brute(CLOUDS["uniform"], CLOUDS["surface"]))
    np.testing.assert_array_equal(nearest(there, here)[0], brute(CLOUDS["surface"], CLOUDS["uniform"]))
    np.testing.assert_array_equal(nearest_other(here)[0], nearest_other(CLOUDS["uniform"])[0])


def test_points_that_were_moved_can_be_looked_from():
    here, there = CLOUDS["surface"], CLOUDS["uniform"]
    turn, shift = Rotation.from_euler("xyz", [0.1, -0.2, 1.0]).as_matrix(), np.array([0.1, 0.2, -0.3])
    moved = cloud(here).moved(turn, shift)
    wanted = brute(here @ turn.T + shift, there)
    np.testing.assert_allclose(nearest(moved, cloud(there))[0], wanted, rtol=0, atol=1e-14)
    with pytest.raises(InputError, match="moved"):
        nearest(there, moved)


def test_nobody_to_find():
    none, some = np.empty((0, 3)), np.zeros((2, 3))
    assert [side.tolist() for side in nearest(none, some)] == [[], []]
    assert [side.tolist() for side in nearest(some, none)] == [[math.inf] * 2, [-1] * 2]
    assert [side.tolist() for side in nearest_other(some[:1])] == [[math.inf], [-1]]


def test_spacing_by_hand():
    # Distances to the nearest other one: 1, 1, 2, 4; their median is 1.5.
    assert spacing([[0, 0, 0], [1, 0, 0], [3, 0, 0], [7, 0, 0]]) == 1.5
    assert spacing(np.zeros((1, 3))) == math.inf


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0, 0, math.nan]], r"points: row 0 is \[0.0, 0.0, nan\]"),
        ([[0, 0, 0], [1e200, 0, 0]], "row 1"),
        ([[0, 0]], r"shape \(1, 2\), expected numbers of shape \(N, 3\)"),
        ([0, 1, 2], r"shape \(3,\)"),
        ([["a", "b", "c"]], "expected numbers"),
    ],
)
def test_refused(points, message):
    for arguments in ((points, [[0, 0, 0]]), ([[0, 0, 0]], points)):
        with pytest.raises(InputError, match=message):
            nearest(*arguments)


def test_limits_are_not_negative():
    with pytest.raises(InputError, match="not negative"):
        nearest([[0, 0, 0]], [[0, 0, 0]], limit=-1.0)
    with pytest.raises(InputError, match="not negative"):
        nearest([[0, 0, 0]], [[0, 0, 0]], limit=math.nan)
