"""The loop of :mod:`gnomon.suites.har.distributions.text`: numbers to bytes, a row at a time.

A number is scaled to a whole one, of which the digits are written; powers of ten come from a table. The shortest digits
of a single-precision number are found by trial: six digits are enough for most, nine for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gnomon.core.compiling import jit_ieee

Function = TypeVar("Function", bound=Callable[..., Any])
WHOLE, FIXED, GENERAL, SINGLE, POWERS, WORD = range(6)
"""Kinds of cells: see :class:`gnomon.suites.har.distributions.text.Cell`."""
WIDEST = 32
"""Bytes that a number may need."""
FARTHEST = 60
"""The table holds powers of ten from minus this to this."""
LEAST, MOST = 1e-40, 1e13
"""Smaller numbers are written as zero; larger ones have no place."""
TENS = np.array([float(f"1e{power}") for power in range(-FARTHEST, FARTHEST + 1)])
WHOLES = np.array([10**power for power in range(19)], dtype=np.int64)
_MINUS, _POINT, _BLANK, _ZERO, _PLUS, _SMALL_E, _LARGE_E = 45, 46, 32, 48, 43, 101, 69
_NAN = np.frombuffer(b"NaN", dtype=np.uint8)
_SINGLE_LEAST, _SINGLE_MOST = 6, 9


@jit_ieee
def _digits(out: Any, at: int, value: int, count: int) -> int:
    """Write a whole number with leading zeros to that many digits."""
    for place in range(at + count - 1, at - 1, -1):
        out[place] = _ZERO + value % 10
        value //= 10
    return at + count


@jit_ieee
def _length(value: int) -> int:
    count = 1
    while count < 19 and value >= WHOLES[count]:
        count += 1
    return count


@jit_ieee
def _whole(out: Any, at: int, value: int) -> int:
    if value < 0:
        out[at] = _MINUS
        return _digits(out, at + 1, -value, _length(-value))
    return _digits(out, at, value, _length(value))


@jit_ieee
def _decompose(value: float, count: int) -> tuple[int, int]:
    """Return the digits of a positive number, as a whole number of that many, and the power of its first digit."""
    power = int(np.floor(np.log10(value)))
    scaled = int(np.rint(value * TENS[FARTHEST + count - 1 - power]))
    if scaled >= WHOLES[count]:
        power += 1
        scaled = int(np.rint(value * TENS[FARTHEST + count - 1 - power]))
    elif scaled < WHOLES[count - 1]:
        power -= 1
        scaled = int(np.rint(value * TENS[FARTHEST + count - 1 - power]))
    return scaled, power


@jit_ieee
def _plain(out: Any, at: int, digits: int, count: int, power: int, least: int) -> int:
    """Write digits with a point where the power of the first one puts it, and at least so many after the point."""
    while count > 1 and digits % 10 == 0 and count - 1 - power > least:
        digits //= 10
        count -= 1
    after = count - 1 - power
    if after <= 0:
        at = _digits(out, at, digits * WHOLES[-after], count - after)
        if least:
            out[at] = _POINT
            at = _digits(out, at + 1, 0, least)
        return at
    if power < 0:
        out[at] = _ZERO
        out[at + 1] = _POINT
        return _digits(out, at + 2, digits, after)
    at = _digits(out, at, digits // WHOLES[after], power + 1)
    out[at] = _POINT
    return _digits(out, at + 1, digits % WHOLES[after], after)


@jit_ieee
def _power(out: Any, at: int, digits: int, count: int, power: int, letter: int, width: int, least: int) -> int:
    """Write digits with a power of ten: one before the point; the power has a sign where it has a width."""
    while count > 1 + least and digits % 10 == 0:
        digits //= 10
        count -= 1
    out[at] = _ZERO + digits // WHOLES[count - 1]
    at += 1
    if count > 1:
        out[at] = _POINT
        at = _digits(out, at + 1, digits % WHOLES[count - 1], count - 1)
    out[at] = letter
    at += 1
    if power < 0:
        out[at] = _MINUS
        at += 1
    elif width:
        out[at] = _PLUS
        at += 1
    return _digits(out, at, abs(power), max(width, _length(abs(power))))


@jit_ieee
def _fixed(out: Any, at: int, value: float, decimals: int) -> int:
    """Write as Python does a number that was rounded: no zeros at the end, but one digit after the point."""
    digits = int(np.rint(value * TENS[FARTHEST + decimals]))
    if not digits:
        return _plain(out, at, 0, 1, 0, 1)
    count = _length(digits)
    power = count - 1 - decimals
    if power < -4:
        return _power(out, at, digits, count, power, _SMALL_E, 2, 0)
    return _plain(out, at, digits, count, power, 1)


@jit_ieee
def _general(out: Any, at: int, value: float, count: int) -> int:
    """Write as C does with ``%g``: significant digits without zeros at the end."""
    digits, power = _decompose(value, count)
    if power < -4 or power >= count:
        return _power(out, at, digits, count, power, _SMALL_E, 2, 0)
    return _plain(out, at, digits, count, power, 0)


@jit_ieee
def _single(out: Any, at: int, value: float) -> int:
    """Write as Java does a single-precision number: the fewest digits that give it back."""
    value = float(np.float32(value))
    digits, power = 0, 0
    count = _SINGLE_LEAST
    while count <= _SINGLE_MOST:
        digits, power = _decompose(value, count)
        shift = power - count + 1
        back = digits * TENS[FARTHEST + shift] if shift >= 0 else digits / TENS[FARTHEST - shift]
        if np.float32(back) == np.float32(value):
            break
        count += 1
    count = min(count, _SINGLE_MOST)
    if power < -3 or power >= 7:
        return _power(out, at, digits, count, power, _LARGE_E, 0, 1)
    return _plain(out, at, digits, count, power, 1)


@jit_ieee
def _number(out: Any, at: int, value: float, kind: int, digits: int) -> int:
    if np.isnan(value):
        out[at : at + 3] = _NAN
        return at + 3
    if value < -LEAST and (kind != FIXED or value * TENS[FARTHEST + digits] < -0.5):
        out[at] = _MINUS
        at += 1
    elif kind == POWERS:
        out[at] = _BLANK
        at += 1
    size = abs(value)
    size = size if size > LEAST else 0.0
    if kind == FIXED:
        return _fixed(out, at, size, digits)
    if size == 0.0:
        if kind == POWERS:
            return _power(out, at, 0, digits, 0, _SMALL_E, 3, digits - 1)
        return _plain(out, at, 0, 1, 0, 1 if kind == SINGLE else 0)
    if kind == GENERAL:
        return _general(out, at, size, digits)
    if kind == SINGLE:
        return _single(out, at, size)
    scaled, power = _decompose(size, digits)
    return _power(out, at, scaled, digits, power, _SMALL_E, 3, digits - 1)


@jit_ieee
def write(
    kinds: Any,
    digits: Any,
    sources: Any,
    wholes: Any,
    numbers: Any,
    words: Any,
    starts: Any,
    marks: Any,
    ends: Any,
    out: Any,
) -> int:
    """Write rows and return how many bytes they took.

    Parameters
    ----------
    kinds, digits, sources
        Per cell: its kind, how many digits, and the column of ``wholes`` or ``numbers`` it comes from.
    wholes, numbers
        ``(n, k)`` integers (also numbers of words) and floats.
    words, starts
        Bytes of all words, and where each begins.
    marks, ends
        Bytes between cells, by where each ends; the last one is the end of a row and the first its beginning.
    out
        Room for the rows.
    """
    at = 0
    rows = len(wholes) if wholes.shape[1] else len(numbers)
    for row in range(rows):
        for cell in range(len(kinds)):
            for place in range(ends[cell], ends[cell + 1]):
                out[at] = marks[place]
                at += 1
            kind, source = kinds[cell], sources[cell]
            if kind == WHOLE:
                at = _whole(out, at, wholes[row, source])
            elif kind == WORD:
                word = wholes[row, source]
                for place in range(starts[word], starts[word + 1]):
                    out[at] = words[place]
                    at += 1
            else:
                at = _number(out, at, numbers[row, source], kind, digits[cell])
        for place in range(ends[len(kinds)], ends[len(kinds) + 1]):
            out[at] = marks[place]
            at += 1
    return at
