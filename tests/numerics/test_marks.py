"""Marks of bytes: the same bytes have the same one, and any change is noticed. Expected: by the plain loop below."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnomon.numerics import marks

WORD = (1 << 64) - 1
PRIME = 0x9E3779B185EBCA87


def plain(data):
    """The definition in integers of any size."""
    keys = [int(key) for key in marks._KEYS]
    lanes = keys[:8]
    filled = bytes(data) + bytes(1024 - len(data) % 1024)
    words = [int.from_bytes(filled[at : at + 8], "little") for at in range(0, len(filled), 8)]
    for start in range(0, len(words), 128):
        for step in range(0, 128, 8):
            row = words[start + step : start + step + 8]
            for lane in range(8):
                x = row[lane] ^ keys[step + lane]
                lanes[lane] = (lanes[lane] + (x & 0xFFFFFFFF) * (x >> 32) + row[lane ^ 1]) & WORD
        lanes = [((lane ^ (lane >> 47)) * PRIME) & WORD for lane in lanes]
    found = len(data) * PRIME & WORD
    for lane in lanes:
        found = (found ^ lane) * PRIME & WORD
        found ^= found >> 32
    return found.to_bytes(8, "little")


@given(st.binary(max_size=5000))
def test_a_mark_is_what_its_definition_says(data):
    assert marks.mark(np.frombuffer(data, np.uint8)) == plain(data)


@given(st.binary(min_size=1, max_size=3000), st.data())
def test_any_flipped_bit_is_noticed(data, draw):
    at, bit = draw.draw(st.integers(0, len(data) - 1)), draw.draw(st.integers(0, 7))
    other = bytearray(data)
    other[at] ^= 1 << bit
    assert marks.mark(np.frombuffer(bytes(other), np.uint8)) != marks.mark(np.frombuffer(data, np.uint8))


def test_bytes_may_lie_apart():
    data = np.random.default_rng(1).integers(0, 256, 8192, dtype=np.uint8)
    for part in (data[::2], data[::-1], data[3:]):
        assert marks.mark(part) == marks.mark(part.copy())


def test_places_and_lengths_count():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, 8192, dtype=np.uint8)
    seen = {marks.mark(data)}
    for a, b in ((0, 8), (0, 64), (0, 1024), (8, 4096), (1024, 7168)):
        other = data.copy()
        other[a : a + 8], other[b : b + 8] = data[b : b + 8], data[a : a + 8]
        seen.add(marks.mark(other))
    assert len(seen) == 6
    zeros = {marks.mark(np.zeros(size, np.uint8)) for size in (0, 1, 7, 8, 1023, 1024, 1025, 2048)}
    assert len(zeros) == 8
