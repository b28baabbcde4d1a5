"""Columns of text as Arrow arrays: their natural order and the fingerprint of their rows, without an object for each.

What these return is what :func:`~gnomon.core.tallies.natural_key` and :func:`~gnomon.core.canonical.fingerprint` say of
the same texts one by one; only sooner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.canonical import fingerprint
from gnomon.core.tallies import Array, natural_key

_WHOLE = r"^-?[0-9]{1,18}$"
"""What the natural order takes for a number."""
_BLANK, _QUOTE, _BACKSLASH = 32, 34, 92
"""Bytes that JSON does not write as they stand: the last two, and all below the first."""
_PART = 50_000
"""Rows that are joined at once."""
START, PRIME = 0xCBF29CE484222325, 0x100000001B3
"""Constants of FNV-1a for 64 bits."""
COMPILED = 100_000
"""Texts from which hashing them is worth the compiler."""


def natural_order(texts: pa.Array) -> Array:
    """Return the rows of texts without nulls in natural order; equal texts keep their order.

    >>> natural_order(pa.array(["b", "10", "9", "a"])).tolist()
    [2, 1, 3, 0]
    """
    whole = pc.match_substring_regex(texts, _WHOLE).to_numpy(zero_copy_only=False)
    if not whole.any():
        return _sorted(texts)
    numbers, others = np.flatnonzero(whole), np.flatnonzero(~whole)
    # By text first, so that what is one number in several ways (7, 07) is in the order of its text.
    numbers = numbers[_sorted(texts.take(pa.array(numbers)))]
    values = texts.take(pa.array(numbers)).cast(pa.int64()).to_numpy(zero_copy_only=False)
    numbers = numbers[np.argsort(values, kind="stable")]
    return np.concatenate([numbers, others[_sorted(texts.take(pa.array(others)))]])


def natural_ranks(texts: pa.Array) -> tuple[Array, tuple[str, ...]]:
    """Return the rank of every text among the distinct ones, -1 for null, and these in natural order.

    >>> natural_ranks(pa.array(["b", None, "10", "b"]))[1]
    ('10', 'b')
    """
    encoded = texts.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    order = sorted(range(len(words)), key=lambda index: natural_key(words[index]))
    rank = np.empty(len(words) + 1, dtype=np.int64)
    rank[order] = np.arange(len(words))
    rank[-1] = -1
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return rank[codes], tuple(words[index] for index in order)


def rows_fingerprint(columns: Sequence[pa.Array]) -> str:
    """Return the fingerprint of a list of rows, each a list with a text of every column; there are no nulls.

    >>> rows_fingerprint([pa.array(["a", "b"]), pa.array(["c", "d"])]) == fingerprint([["a", "c"], ["b", "d"]])
    True
    """
    n = len(columns[0])
    if any(_is_escaped(column) for column in columns):
        return fingerprint([list(row) for row in zip(*(column.to_pylist() for column in columns), strict=True)])
    state = hashlib.sha256(b"[")
    for first in range(0, n, _PART):
        parts = [column[first : first + _PART] for column in columns]
        rows = pc.binary_join_element_wise(*parts, '","')
        size = len(rows)
        whole = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, size], pa.int32()), rows), '"],["')
        state.update(b",[" if first else b"[")
        state.update(b'"')
        state.update(whole[0].as_buffer())
        state.update(b'"]')
    state.update(b"]")
    return state.hexdigest()


def hashes(texts: pa.Array) -> Array:
    """Return a 64-bit hash of every text without nulls: FNV-1a over its bytes, then mixed so that all bits count alike.

    Equal texts have equal hashes in every process; different ones hardly ever do (a chance of 3e-4 among 1e8 texts).
    """
    ends, held = _bytes(texts)
    if len(texts) >= COMPILED:
        from gnomon.intake._hashed import fnv

        found = np.empty(len(texts), dtype=np.uint64)
        fnv(ends, held, np.uint64(START), np.uint64(PRIME), found)
        return mixed(found)
    starts, lengths = ends[:-1], np.diff(ends)
    found = np.full(len(texts), START, dtype=np.uint64)
    rows = np.arange(len(texts))
    for place in range(int(lengths.max(initial=0))):
        rows = rows[lengths[rows] > place]
        found[rows] = (found[rows] ^ held[starts[rows] + place]) * np.uint64(PRIME)
    return mixed(found)


def mixed(found: Array) -> Array:
    """Return 64-bit numbers with their bits mixed, one to one (the finish of splitmix64)."""
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(found ^ (found >> np.uint64(31)))


def _is_escaped(texts: pa.Array) -> bool:
    """Tell whether JSON writes any byte of texts otherwise."""
    ends, held = _bytes(texts)
    own = held[ends[0] : ends[-1]]
    return bool(own.min(initial=_BLANK) < _BLANK or (own == _QUOTE).any() or (own == _BACKSLASH).any())


def _bytes(texts: pa.Array) -> tuple[Array, Array]:
    """Return where texts begin and the last one ends, ``(n + 1,)``, and the bytes of all."""
    texts = texts.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return ends if len(texts) else np.zeros(1, np.int64), np.frombuffer(data or b"", np.uint8)


def _sorted(texts: pa.Array) -> Array:
    """Return the rows of texts by their bytes, which is the order of Python for them; equal ones keep their order."""
    if len(texts) < 2 or pc.all(pc.less_equal(texts[:-1], texts[1:])).as_py():
        return np.arange(len(texts))
    return np.asarray(pc.sort_indices(texts).to_numpy(), dtype=np.int64)
