"""Nearest neighbours against scipy's distances of all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from gnomon.audit import near
from gnomon.audit.near import Vectors, all_pairs, by_cells, nearest


def expected(left, right, radius):
    apart = cdist(left.rows, right.rows)
    if left.group is not None and right.group is not None:
        apart[left.group[:, None] == right.group] = np.inf
    best = apart.min(axis=1, initial=np.inf)
    return np.where(best <= radius, best, np.inf)


def drawn(seed, n, m, d, groups):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((4, d))
    sides = []
    for size in (n, m):
        rows = centres[rng.integers(0, 4, size)] + rng.choice([0.01, 0.5]) * rng.standard_normal((size, d))
        sides.append(Vectors(rows, rng.integers(0, 3, size) if groups else None))
    sides[0].rows[: min(n, m) // 2] = sides[1].rows[: min(n, m) // 2]
    return sides


@pytest.mark.parametrize("search", [all_pairs, by_cells])
@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.integers(1, 60),
    st.integers(1, 12),
    st.sampled_from([0.0, 0.05, 0.5, 3.0]),
    st.booleans(),
)
def test_no_neighbour_is_missed_and_none_invented(search, seed, n, m, d, radius, groups):
    left, right = drawn(seed, n, m, d, groups)
    place, distance = search(left, right, radius)
    wanted = expected(left, right, radius)
    close = np.isclose(wanted, radius, rtol=1e-7, atol=1e-7)
    assert np.array_equal(np.isfinite(distance) | close, np.isfinite(wanted) | close)
    both = np.isfinite(distance) & np.isfinite(wanted)
    assert distance[both] == pytest.approx(wanted[both], abs=1e-7)
    full = np.linalg.norm(left.rows[both] - right.rows[place[both]], axis=1)
    assert distance[both] == pytest.approx(full, abs=1e-12)
    assert ((place >= 0) == np.isfinite(distance)).all()


def test_many_vectors_go_by_cells_with_the_same_result(monkeypatch):
    left, right = drawn(5, 300, 500, 8, groups=True)
    plain = nearest(left, right, 0.3)
    monkeypatch.setattr(near, "ALL_PAIRS", 1000)
    monkeypatch.setattr(near, "BLOCK", 400)
    calls = []
    monkeypatch.setattr(near, "by_cells", lambda *given: calls.append(given) or by_cells(*given))
    cells = nearest(left, right, 0.3)
    assert len(calls) == 1
    assert cells[1] == pytest.approx(plain[1])
    assert np.isfinite(plain[1]).sum() > 50


def test_cells_visit_fewer_pairs_than_there_are(monkeypatch):
    rng = np.random.default_rng(1)
    left, right = Vectors(rng.standard_normal((200, 4))), Vectors(rng.standard_normal((3000, 4)))
    pairs = []
    monkeypatch.setattr(
        near, "all_pairs", lambda a, b, r: pairs.append(len(a.rows) * len(b.rows)) or all_pairs(a, b, r)
    )
    by_cells(left, right, 0.1)
    assert sum(pairs) < 0.2 * 200 * 3000


@pytest.mark.parametrize("search", [all_pairs])
def test_nothing_has_no_neighbour(search):
    place, distance = search(Vectors(np.zeros((2, 3))), Vectors(np.zeros((0, 3))), 1.0)
    assert place.tolist() == [-1, -1]
    assert np.isinf(distance).all()
