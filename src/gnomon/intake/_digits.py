"""The loop of :mod:`gnomon.intake.numbers`: bytes to numbers, a row at a time.

Numbers in text differ in length, and a processor that guesses lengths is wrong half of the time; so digits are read
eight at a time, and how many of them count is computed. That reads up to :data:`AHEAD` bytes after a cell, which is
why the text has to end in that many newlines; a newline also ends every loop here, so that none looks at a length.
Memory is handed over as addresses: for arrays that go through functions references would be counted, once per cell.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from gnomon.core.compiling import jit_ieee
from gnomon.intake.npy import Array

SKIP, FLOAT, INTEGER, TEXT = range(4)
DONE, SLOW, SHORT, LONG, JUNK = range(5)
AHEAD = 8
"""Newlines that have to follow the text."""
LEAST, MOST = -342, 308
"""Powers of ten that a double of 19 digits can need."""

_TAB, _NEWLINE, _RETURN = 9, 10, 13
_BLANK, _QUOTE, _PLUS, _MINUS, _POINT = 32, 34, 43, 45, 46
_NONE, _ONE, _TEN, _HUNDRED, _TENTHOUSAND = (np.uint64(n) for n in (0, 1, 10, 100, 10_000))
_THREE, _SEVEN, _EIGHT, _SIXTEEN, _HALF, _FULL = (np.uint64(n) for n in (3, 7, 8, 16, 32, 64))
_ZEROS, _SIX, _TOPS = (np.uint64(int(byte * 8, 16)) for byte in ("30", "76", "80"))
_PAIRS, _FOURS, _LOW = (np.uint64(n) for n in (0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF, 0xFFFFFFFF))
_ALL, _LARGEST, _SIGN = (np.uint64(n) for n in ((1 << 64) - 1, (1 << 63) - 1, 1 << 63))
_UNSURE = np.uint64((1 << 9) - 1)  # low bits of the first product that a carry could run through
_HIDDEN, _EXACT, _FRACTION = (np.uint64(n) for n in (1 << 52, 1 << 53, (1 << 52) - 1))


def _emit(function: Any) -> Any:
    """Make a function of what writes its own machine code."""
    return intrinsic(function)


def _place(builder: Any, address: Any, bits: int) -> Any:
    return builder.inttoptr(address, ir.IntType(bits).as_pointer())


@_emit
def _byte(_: Any, address: Any) -> Any:
    """Read the byte at an address."""
    del address

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.zext(builder.load(_place(builder, arguments[0], 8)), ir.IntType(64))

    return types.int64(types.int64), generate


@_emit
def _word(_: Any, address: Any) -> Any:
    """Read eight bytes at an address, the first as the lowest."""
    del address

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.load(_place(builder, arguments[0], 64), align=1)

    return types.uint64(types.int64), generate


@_emit
def _keep(_: Any, address: Any, value: Any) -> Any:
    """Write eight bytes to an address."""
    del address, value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        builder.store(arguments[1], _place(builder, arguments[0], 64))
        return context.get_dummy_value()

    return types.none(types.int64, types.uint64), generate


@_emit
def _as_float(_: Any, value: Any) -> Any:
    del value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


@_emit
def _as_bits(_: Any, value: Any) -> Any:
    del value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.uint64(types.float64), generate


@_emit
def _trailing_zeros(_: Any, value: Any) -> Any:
    del value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@_emit
def _leading_zeros(_: Any, value: Any) -> Any:
    del value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@functools.cache
def tables() -> Array:
    """Return what rounding looks up, as 64-bit words.

    First two words, high and low, for each power of five from :data:`LEAST` to :data:`MOST`: its first 128 bits,
    positive powers cut off, reciprocals rounded up. Then ``10**k`` as doubles for k to 22, and as integers for k to 8.
    """
    words = []
    for exponent in range(LEAST, MOST + 1):
        five = 5 ** abs(exponent)
        if exponent >= 0:
            shift = 128 - five.bit_length()
            value = five << shift if shift >= 0 else five >> -shift
        else:
            value = (1 << (five.bit_length() + 127)) // five + 1
        words += [value >> 64, value & (1 << 64) - 1]
    doubles = np.array([float(10**k) for k in range(23)]).view(np.uint64)
    return np.concatenate([np.array(words, dtype=np.uint64), doubles, np.array([10**k for k in range(9)], np.uint64)])


_DOUBLES = 8 * 2 * (MOST - LEAST + 1)
_WHOLES = _DOUBLES + 8 * 23


@jit_ieee
def _product(a: Any, b: Any) -> Any:
    """Return the high and the low half of a 128-bit product."""
    a0, a1, b0, b1 = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    low, middle, other, high = a0 * b0, a1 * b0, a0 * b1, a1 * b1
    carry = (low >> _HALF) + (middle & _LOW) + (other & _LOW)
    return high + (middle >> _HALF) + (other >> _HALF) + (carry >> _HALF), (carry << _HALF) | (low & _LOW)


@jit_ieee
def _rounded(digits: Any, exponent: int, table: int) -> Any:
    """Return the bits of the double nearest to ``digits * 10**exponent``, and whether they are sure."""
    zeros = _leading_zeros(digits)
    digits <<= zeros
    place = table + 16 * (exponent - LEAST)
    upper, lower = _product(digits, _word(place))
    if upper & _UNSURE == _UNSURE:
        more, _ = _product(digits, _word(place + 8))
        lower += more
        if more > lower:
            upper += _ONE
        if lower == _ALL:
            return _NONE, False
    top = upper >> np.uint64(63)
    shift = top + np.uint64(9)
    mantissa = upper >> shift
    power = ((217706 * exponent) >> 16) + 63 + 1023 + np.int64(top) - np.int64(zeros)
    if power <= 0 or power >= 2046:
        return _NONE, False
    if lower <= _ONE and -4 <= exponent <= 23 and mantissa & np.uint64(3) == _ONE and mantissa << shift == upper:
        mantissa &= ~_ONE  # exactly between two doubles: to the even one
    mantissa += mantissa & _ONE
    mantissa >>= _ONE
    if mantissa >= _EXACT:
        mantissa = _HIDDEN
        power += 1
    return (mantissa & _FRACTION) | (np.uint64(power) << np.uint64(52)), True


@jit_ieee
def _blanks(at: int, separator: int) -> int:
    """Return the place after blanks."""
    while _byte(at) == _BLANK or (_byte(at) == _TAB and separator != _TAB):
        at += 1
    return at


@jit_ieee
def _is_over(at: int) -> Any:
    """Say whether a line ends here."""
    return _byte(at) == _NEWLINE or _byte(at) == _RETURN


@jit_ieee
def _run(at: int, digits: Any, table: int) -> Any:
    """Read digits behind those that are there, eight at a time: no branch depends on how many there are."""
    while True:
        word = _word(at) ^ _ZEROS
        count = _trailing_zeros(((word + _SIX) | word) & _TOPS) & ~_SEVEN
        if count == _NONE:
            return at, digits
        size: Any = np.int64(count >> _THREE)
        word <<= _FULL - count
        word = (word * _TEN + (word >> _EIGHT)) & _PAIRS
        word = (word * _HUNDRED + (word >> _SIXTEEN)) & _FOURS
        word = (word * _TENTHOUSAND + (word >> _HALF)) & _LOW
        digits = digits * _word(table + _WHOLES + 8 * size) + word
        at += size
        if size < 8:
            return at, digits


@jit_ieee
def _significant(at: int, stop: int) -> int:
    """Count digits without the zeros in front; a point may be among them."""
    count = 0
    for k in range(at, stop):
        if _byte(k) != _POINT and (count or _byte(k) != 48):
            count += 1
    return count


@jit_ieee
def _power(at: int) -> Any:
    """Read what follows an ``e``: the place after it, the exponent, and whether there was one."""
    down = _byte(at) == _MINUS
    if down or _byte(at) == _PLUS:
        at += 1
    first, power = at, 0
    while 48 <= _byte(at) <= 57:
        power = min(power * 10 + _byte(at) - 48, 1 << 20)
        at += 1
    return at, -power if down else power, at > first


@jit_ieee
def _float(at: int, table: int) -> Any:
    """Read a number: how it went, the place after it, its bits; ``SLOW`` where rounding it is left to Python."""
    negative = _byte(at) == _MINUS
    at += 1 if negative or _byte(at) == _PLUS else 0
    first, exponent = at, 0
    at, digits = _run(at, _NONE, table)
    seen = at - first
    if _byte(at) == _POINT:
        point = at + 1
        at, digits = _run(point, digits, table)
        exponent = point - at
        seen += at - point
    last = at
    if seen == 0:
        return JUNK, at, _NONE
    if _byte(at) | 32 == 101:
        at, power, there = _power(at + 1)
        exponent += power
        if not there:
            return JUNK, at, _NONE
    if seen > 19 and _significant(first, last) > 19:
        return SLOW, at, _NONE
    sign = _SIGN if negative else _NONE
    if digits <= _EXACT and -22 <= exponent <= 22:
        scale = _as_float(_word(table + _DOUBLES + 8 * abs(exponent)))
        value = np.float64(digits)
        return DONE, at, _as_bits(value / scale if exponent < 0 else value * scale) | sign
    if digits == _NONE:
        return DONE, at, sign
    if exponent < LEAST or exponent > MOST:
        return SLOW, at, _NONE
    bits, sure = _rounded(digits, exponent, table)
    return DONE if sure else SLOW, at, bits | sign


@jit_ieee
def _integer(at: int, table: int) -> Any:
    negative = _byte(at) == _MINUS
    at += 1 if negative or _byte(at) == _PLUS else 0
    first = at
    at, digits = _run(at, _NONE, table)
    if at == first or digits > _LARGEST or (at - first > 19 and _significant(first, at) > 19):
        return JUNK, at, _NONE
    return DONE, at, ~digits + _ONE if negative else digits


@jit_ieee
def _text(at: int, separator: int, end: int) -> Any:
    packed, first = _NONE, at
    while _byte(at) > _BLANK and _byte(at) != separator and _byte(at) != end and _byte(at) != _QUOTE:
        if at - first < 8:
            packed |= np.uint64(_byte(at)) << np.uint64(8 * (at - first))
        at += 1
    return DONE if 0 < at - first <= 8 else JUNK, at, packed


@jit_ieee
def _missing(at: int, separator: int, end: int) -> int:
    """Return how many bytes a missing number has here, -1 where there is something else."""
    if _byte(at) | 32 == 110 and _byte(at + 1) | 32 == 97 and _byte(at + 2) | 32 == 110:
        return 3
    if _is_over(at) or _byte(at) == separator or _byte(at) == end or _byte(at) == _QUOTE:
        return 0
    return -1


@jit_ieee
def _passed(at: int, separator: int, end: int) -> int:
    """Return where a cell that is not looked at ends."""
    while _byte(at) != separator and _byte(at) != end and _byte(at) != _NEWLINE:
        if separator == _BLANK and _byte(at) == _TAB:
            break
        at += 1
    return at - 1 if _byte(at) == _NEWLINE and _byte(at - 1) == _RETURN else at


@jit_ieee
def _cell(at: int, kind: int, separator: int, end: int, missing: bool, table: int) -> Any:
    """Read a cell between its quotes: how it went, the place after it, the bits of its value."""
    if kind == FLOAT:
        found, after, bits = _float(at, table)
        if found == JUNK and missing:
            size = _missing(at, separator, end)
            if size >= 0:
                return DONE, at + size, _as_bits(np.nan)
        return found, after, bits
    if kind == INTEGER:
        return _integer(at, table)
    if kind == TEXT:
        return _text(at, separator, end)
    return DONE, _passed(at, separator, end), _NONE


@jit_ieee
def _closed(at: int, after: int, separator: int, end: int) -> Any:
    """Look at what follows the last cell of a row, which ends at `after`: how it went, and the place of the newline."""
    apart = separator == _BLANK and at > after
    if end >= 0:
        if _is_over(at):
            return SHORT, at
        if _byte(at) != end:
            return LONG if _byte(at) == separator or apart else JUNK, at
        at = _blanks(at + 1, _BLANK)
    at += 1 if _byte(at) == _RETURN else 0
    if _byte(at) != _NEWLINE:
        return LONG if _byte(at) == separator or end >= 0 or apart else JUNK, at
    return DONE, at


@jit_ieee
def scan(
    text: Any, kinds: Any, separator: int, end: int, missing: bool, out: Any, slow: Any, state: Any, words: Any
) -> Any:
    """Read rows until the text ends, a cell is wrong, or many numbers are left to Python.

    Parameters
    ----------
    text
        Bytes of whole lines, and :data:`AHEAD` newlines.
    kinds
        Kind of each cell.
    separator, end
        Byte between cells; byte at the end of a row, or -1.
    missing
        Whether a float may be missing.
    out
        ``(rows, columns)`` of 64-bit words that receive the values.
    slow
        ``(n, 4)``: column, row, first and last byte of numbers that are left to Python.
    state
        Byte, row and line to go on from, and how many of ``slow`` are filled.
    words
        :func:`tables`.

    Returns
    -------
    tuple
        What stopped it, at which cell, at which byte.
    """
    base, to, table = text.ctypes.data, out.ctypes.data, words.ctypes.data
    cells, row, left, stop = kinds.size, state[1], state[3], text.ctypes.data + text.size - AHEAD
    at, columns = base + state[0], out.shape[1]
    while at < stop:
        at = _blanks(at, separator)
        at += 1 if _byte(at) == _RETURN else 0
        if _byte(at) != _NEWLINE:
            state[0], state[1], state[3] = at - base, row, left
            if left + cells > slow.shape[0]:
                return SLOW, 0, at - base
            column, first, after = 0, at, at
            for cell in range(cells):
                kind = kinds[cell]
                at = _blanks(at, separator)
                if _is_over(at) and (cell < cells - 1 or not missing or separator == _BLANK):
                    return SHORT, cell, first - base
                first = at
                quoted = kind != SKIP and _byte(at) == _QUOTE
                at += 1 if quoted else 0
                found, after, bits = _cell(at, kind, separator, end, missing, table)
                if found == JUNK or (quoted and _byte(after) != _QUOTE):
                    return JUNK, cell, first - base
                if kind != SKIP:
                    _keep(to + 8 * (row * columns + column), bits)
                    if found == SLOW:
                        slow[left, 0], slow[left, 1], slow[left, 2], slow[left, 3] = (
                            column,
                            row,
                            at - base,
                            after - base,
                        )
                        left += 1
                    column += 1
                after += 1 if quoted else 0
                at = _blanks(after, separator)
                if cell < cells - 1:
                    if separator != _BLANK and _byte(at) == separator:
                        at += 1
                    elif _is_over(at) or _byte(at) == end:
                        return SHORT, cell + 1, first - base
                    elif separator != _BLANK or at == after:
                        return JUNK, cell, first - base
            found, at = _closed(at, after, separator, end)
            if found != DONE:
                return found, cells if found == SHORT else cells - 1, first - base
            row += 1
        at += 1
        state[2] += 1
    state[0], state[1], state[3] = at - base, row, left
    return DONE, 0, at - base
