"""Columns of text: the order and the fingerprint are those of the plain functions, text by text."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.canonical import fingerprint
from gnomon.core.tallies import natural_key
from gnomon.intake import texts

NUMBERS = st.from_regex(r"-?[0-9]{0,20}", fullmatch=True)
WORDS = st.one_of(NUMBERS, st.text(max_size=6), st.sampled_from(["7", "07", "-7", "a", "a\n", "7\n", "١", ""]))


@given(st.lists(WORDS))
def test_the_order_is_that_of_the_natural_key(words):
    found = texts.natural_order(pa.array(words, pa.string())).tolist()
    assert found == sorted(range(len(words)), key=lambda row: natural_key(words[row]))


@given(st.lists(st.one_of(st.none(), WORDS)))
def test_ranks_name_every_text(words):
    ranks, distinct = texts.natural_ranks(pa.array(words, pa.string()))
    assert list(distinct) == sorted({word for word in words if word is not None}, key=natural_key)
    assert [None if rank < 0 else distinct[rank] for rank in ranks.tolist()] == words


def fnv(text):
    """FNV-1a of 64 bits, byte by byte, and the finish of splitmix64; both in whole numbers of Python."""
    found, every = 0xCBF29CE484222325, 2**64 - 1
    for byte in text.encode():
        found = (found ^ byte) * 0x100000001B3 & every
    found = (found ^ found >> 30) * 0xBF58476D1CE4E5B9 & every
    found = (found ^ found >> 27) * 0x94D049BB133111EB & every
    return found ^ found >> 31


@pytest.mark.parametrize("compiled", [0, 100_000])
@given(words=st.lists(WORDS), cut=st.integers(0, 3))
def test_hashes_are_those_of_one_text_after_another(compiled, words, cut):
    array = pa.array(words, pa.string())[cut:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "COMPILED", compiled)
        found = texts.hashes(array)
    assert found.dtype == np.uint64
    assert found.tolist() == [fnv(word) for word in words[cut:]]


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[WORDS] * width))), st.integers(1, 4))
def test_the_fingerprint_is_that_of_plain_rows(rows, part):
    width = len(rows[0]) if rows else 2
    columns = [pa.array([row[place] for row in rows], pa.string()) for place in range(width)]
    before = texts._PART
    texts._PART = part
    try:
        assert texts.rows_fingerprint(columns) == fingerprint([list(row) for row in rows])
    finally:
        texts._PART = before
