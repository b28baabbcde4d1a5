"""DBSCAN: its definition, written with a table of all distances, is the reference, and ``sklearn.cluster.DBSCAN``.

Labels are compared one by one: numbers of clusters, and which cluster takes a point in reach of several.
scikit-learn rounds distances in another way for fewer than 12 points, and accepts or refuses whole nodes of its tree by
the root of a distance; where pairs are at just eps, it is asked on coordinates whose squares are exact.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.numerics.clustering import dbscan, sort_into_cells


def plain(points, eps, min_samples):
    """The definition, word by word."""
    points = np.asarray(points, float)
    x, y, z = (points[:, np.newaxis, k] - points[np.newaxis, :, k] for k in range(3))
    near = x * x + y * y + z * z <= eps * eps
    core = near.sum(axis=1) >= min_samples
    labels = np.full(len(points), -1)
    count = 0
    for first in range(len(points)):
        if not core[first] or labels[first] >= 0:
            continue
        waiting = [first]
        labels[first] = count
        while waiting:
            i = waiting.pop()
            for j in np.flatnonzero(near[i] & (labels < 0)):
                labels[j] = count
                if core[j]:
                    waiting.append(j)
        count += 1
    return labels


def peer(points, eps, min_samples):
    return DBSCAN(eps=eps, min_samples=min_samples).fit(np.asarray(points, float)).labels_


def agree(points, eps, min_samples, *, sklearn=True):
    labels = dbscan(points, eps, min_samples)
    np.testing.assert_array_equal(labels, plain(points, eps, min_samples))
    if sklearn:
        np.testing.assert_array_equal(labels, peer(points, eps, min_samples))
    return labels


def surface(rng, n):
    points = rng.uniform(size=(n, 3))
    points[np.arange(n), rng.integers(0, 3, n)] = 0
    return points + rng.normal(0, 0.003, points.shape)


@pytest.mark.parametrize("min_samples", [1, 2, 5, 25])
@pytest.mark.parametrize("eps", [0.015, 0.03, 0.06, 0.1, 0.4, 2.0])
def test_random_points(eps, min_samples):
    rng = generator(0, "clusters", str(eps), str(min_samples))
    agree(rng.uniform(size=(900, 3)), eps, min_samples)
    agree(surface(rng, 1500), eps, min_samples)


@pytest.mark.parametrize("min_samples", [4, 5, 7, 8, 13, 19])
@pytest.mark.parametrize("eps", [0.125, 0.25, 0.375, 0.1875])
def test_pairs_at_just_eps(eps, min_samples):
    rng = generator(1, "lattice")
    lattice = np.stack(np.meshgrid(*[np.arange(10) / 8] * 3), axis=-1).reshape(-1, 3)
    some = lattice[rng.permutation(len(lattice))[:600]]
    agree(some, eps, min_samples)
    agree(some - 4.5, eps, min_samples)


@pytest.mark.parametrize("step", [0.01, 0.1, 1 / 3])
def test_pairs_at_about_eps(step):
    rng = generator(2, "decimals")
    lattice = np.stack(np.meshgrid(*[np.arange(9)] * 3), axis=-1).reshape(-1, 3) * step
    some = lattice[rng.permutation(len(lattice))[:500]] + 0.7
    for factor in (1.0, np.sqrt(2), np.sqrt(3), 2.0):
        agree(some, factor * step, 6, sklearn=False)


def test_duplicates():
    rng = generator(3, "duplicates")
    places = rng.uniform(size=(60, 3))
    points = places[rng.integers(0, 60, 900)]
    for eps, min_samples in ((0.01, 5), (0.1, 20), (0.2, 60)):
        agree(points, eps, min_samples)
    agree(np.zeros((50, 3)), 0.1, 5)
    agree(np.zeros((50, 3)), 0.1, 51)


@given(
    st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=1, max_size=90),
    st.sampled_from([1.0, 1.5, 2.0, 3.0]),
    st.integers(1, 8),
)
@settings(max_examples=100)
def test_small_lattices(points, eps, min_samples):
    agree(points, eps, min_samples, sklearn=len(points) > 11)


@given(st.integers(0, 2**32), st.sampled_from([0.05, 0.15, 0.5]), st.integers(1, 9))
@settings(max_examples=40)
def test_moving_all_points_changes_nothing_but_rounding(seed, eps, min_samples):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 64, (120, 3)) / 64
    np.testing.assert_array_equal(dbscan(points, eps, min_samples), dbscan(points - 1024, eps, min_samples))


def test_a_point_in_reach_of_two_clusters_belongs_to_the_first():
    # By hand: two rows of five points, 1 apart, and a point 1 from the ends of both that is no core point.
    left, right = [[-x, 0, 0] for x in range(1, 6)], [[x, 0, 0] for x in range(1, 6)]
    assert dbscan([*left, *right, [0, 0, 0]], 1.0, 4).tolist() == [-1] * 11
    rows = [*[[-x / 2, 0, 0] for x in range(2, 8)], *[[x / 2, 0, 0] for x in range(2, 8)]]
    assert dbscan([*rows, [0, 0, 0]], 1.0, 4).tolist() == [0] * 6 + [1] * 6 + [0]
    assert dbscan([[0, 0, 0], *rows[6:], *rows[:6]], 1.0, 4).tolist() == [0, *[0] * 6, *[1] * 6]


def test_order_of_rows_decides_numbers_only_by_first_core_points():
    # By hand: row 0 is a border point of the cluster whose core points come last.
    late = [[10, 0, 0], [10.5, 0, 0], [10.75, 0, 0], [11, 0, 0]]
    early = [[0, 0, 0], [0.1, 0, 0], [0.2, 0, 0], [0.3, 0, 0]]
    assert dbscan([late[0], *early, *late[1:]], 0.5, 4).tolist() == [1, 0, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9, 1e15, 1e300])
def test_outliers_do_not_matter(far):
    rng = generator(4, "outliers")
    points = surface(rng, 600)
    outliers = [[far, 0, 0], [0, -far, far], [far, 0, 0]]
    labels = dbscan(np.concatenate([points, outliers]) if far < 1e150 else points, 0.06, 5)
    np.testing.assert_array_equal(labels[:600], plain(points, 0.06, 5))
    assert (labels[600:] == -1).all()


def test_long_axes_are_cut_without_a_trace():
    # Clumps a thousand kilometres apart, each on the lattice of eps: more cells than could be numbered along an axis.
    rng = generator(5, "long")
    clump = rng.integers(0, 8, (60, 3)) / 64
    points = np.concatenate([clump + np.array([x, -x, 0]) * 2.0**20 for x in range(5)])
    order = rng.permutation(len(points))
    agree(points[order], 2 / 64, 4)
    chain = np.arange(400)[:, np.newaxis] * [1 / 64, 0, 0]
    agree(np.concatenate([chain, [[2.0**30, 0, 0]]]), 1 / 64, 3)


def test_cells_hold_points_that_are_all_neighbours():
    rng = generator(6, "cells")
    points = rng.uniform(size=(3000, 3)) * 3
    cells = sort_into_cells(points, 0.1)
    np.testing.assert_array_equal(points[cells.rows], cells.points)
    assert sorted(cells.rows.tolist()) == list(range(3000))
    extents = [np.ptp(cells.points[a:b], axis=0).max() for a, b in zip(cells.starts, cells.starts[1:], strict=False)]
    assert max(extents) <= 0.1
    places = list(zip(cells.columns.tolist(), cells.heights.tolist(), strict=True))
    assert places == sorted(set(places))


def test_nothing_to_cluster():
    assert dbscan(np.empty((0, 3)), 0.1, 5).tolist() == []
    assert dbscan([[1, 2, 3]], 0.1, 1).tolist() == [0]
    assert dbscan([[1, 2, 3]], 0.1, 2).tolist() == [-1]


@pytest.mark.parametrize("eps", [0.0, -1.0, np.nan, np.inf])
def test_eps_is_a_length(eps):
    with pytest.raises(InputError, match="eps"):
        dbscan([[0, 0, 0]], eps, 5)


def test_min_samples_counts():
    with pytest.raises(InputError, match="min_samples"):
        dbscan([[0, 0, 0]], 0.1, 0)


def test_points_are_finite():
    with pytest.raises(InputError, match="row 1"):
        dbscan([[0, 0, 0], [0, np.inf, 0]], 0.1, 5)
