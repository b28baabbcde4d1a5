"""Marks and counts in one call, against each done alone (which have plain references of their own)."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.numerics import onepass
from gnomon.numerics.bytewise import LANES, MOST_CLASSES
from gnomon.numerics.marks import BLOCK, beginning, mark
from gnomon.numerics.onepass import marked_and_counted


def expected(truth, prediction, k):
    table = np.zeros((k, k), np.int64)
    np.add.at(table, (truth, prediction), 1)
    return table


@given(st.integers(0, 4000), st.integers(1, MOST_CLASSES), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_it_is_what_each_is_alone(n, k, agreement, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n).astype(np.uint8)
    said = np.where(rng.random(n) < agreement, truth, rng.integers(0, k, n)).astype(np.uint8)
    first, second, table, largest = marked_and_counted(truth, said, k)
    assert (first, second) == (mark(truth), mark(said))
    assert np.array_equal(table, expected(truth, said, k))
    assert largest == max(truth.max(initial=0), said.max(initial=0))


@pytest.mark.parametrize("n", [15, 16, 17, 1023, 1024, 1025, 1040, 2048, 5000])
@pytest.mark.parametrize("place", [0, -1])
def test_codes_beyond_the_table_are_told_and_do_no_harm(n, place):
    truth, said = np.zeros((2, n), np.uint8)
    said[place] = 200
    first, second, _, largest = marked_and_counted(truth, said, 4)
    assert (first, second, largest) == (mark(truth), mark(said), 200)


def test_machine_code_is_kept_by_all_sources_that_are_in_it(tmp_path, monkeypatch):
    """Numba looks at the file of a function alone; what the pass calls lies in others."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    hits = []
    for revision in (1, 2, 1):
        compiled, (keys, lanes) = onepass._compiled(revision), beginning(2)
        rest, table, found = np.zeros((2, BLOCK), np.uint8), np.zeros((4 + LANES, 4), np.uint32), np.zeros(2, np.uint64)
        compiled(rest.ctypes.data, rest.ctypes.data, BLOCK, rest, keys, lanes, table, found)
        hits.append(sum(compiled.stats.cache_hits.values()))
    assert hits == [0, 0, 1]
    (enclosed,) = onepass._pass.py_func.__closure__
    assert enclosed.cell_contents == onepass._revision()
