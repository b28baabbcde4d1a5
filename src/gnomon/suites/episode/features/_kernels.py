"""The inner loops of features, compiled: statistics of windows, of depth images and of video frames."""

from __future__ import annotations

import math

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.tallies import Array

GRID, SIDE = 8, 32
"""Cells of a grid along an axis, and of the small image that gradients are taken of."""
LEVELS, BINS = 256, 8
"""Levels of a colour, and bins of its histogram."""
PERCENTILES = (0.1, 0.5, 0.9)
_LARGEST = 3.4028234663852886e38
_HIGH_KEYS = 0x7F80
"""Positive finite floats of 32 bits have fewer than so many values of their upper 16 bits, in the order of size."""
_RED, _GREEN, _BLUE = 0.299, 0.587, 0.114


@jit
def seven(values: Array, valid: Array, starts: Array, length: int, relative: bool, out: Array) -> None:
    """Fill in the 7 statistics of each window over its valid frames.

    Parameters
    ----------
    values
        ``(n, d)`` finite float64.
    valid
        ``(n,)``: frames that count.
    starts
        First row of each window.
    length
        Rows of a window.
    relative
        Whether the first valid frame of a window is subtracted from all of it.
    out
        ``(len(starts), 7 d)``; zeros where no frame is valid, and for differences where no two neighbours are.
    """
    d = values.shape[1]
    origin, mean, spread, step = np.zeros(d), np.empty(d), np.empty(d), np.empty(d)
    low, high = np.empty(d), np.empty(d)
    for w in range(len(starts)):
        begin = starts[w]
        first, last, count, pairs = -1, -1, 0, 0
        for t in range(begin, begin + length):
            if valid[t]:
                first = t if first < 0 else first
                last = t
                count += 1
                pairs += 1 if t > begin and valid[t - 1] else 0
        row = out[w]
        row[:] = 0
        if count == 0:
            continue
        if relative:
            origin[:] = values[first]
        mean[:] = 0
        low[:] = np.inf
        high[:] = -np.inf
        for t in range(begin, begin + length):
            if valid[t]:
                for k in range(d):
                    x = values[t, k] - origin[k]
                    mean[k] += x
                    low[k] = min(low[k], x)
                    high[k] = max(high[k], x)
        for k in range(d):
            mean[k] /= count
            row[k] = mean[k]
            row[2 * d + k] = low[k]
            row[3 * d + k] = high[k]
            row[4 * d + k] = values[last, k] - values[first, k]
        spread[:] = 0
        step[:] = 0
        for t in range(begin, begin + length):
            if valid[t]:
                for k in range(d):
                    x = values[t, k] - origin[k] - mean[k]
                    spread[k] += x * x
            if t > begin and valid[t] and valid[t - 1]:
                for k in range(d):
                    step[k] += values[t, k] - values[t - 1, k]
        for k in range(d):
            row[d + k] = math.sqrt(spread[k] / count)
        if pairs == 0:
            continue
        spread[:] = 0
        for k in range(d):
            step[k] /= pairs
            row[5 * d + k] = step[k]
        for t in range(begin + 1, begin + length):
            if valid[t] and valid[t - 1]:
                for k in range(d):
                    x = values[t, k] - values[t - 1, k] - step[k]
                    spread[k] += x * x
        for k in range(d):
            row[6 * d + k] = math.sqrt(spread[k] / pairs)


@jit
def depths(images: Array, bits: Array, out: Array, seen: Array) -> None:
    """Fill in mean, std, min, max, p10, p50, p90, share of valid pixels and 8 x 8 means of each depth image.

    A pixel is valid if it is finite and over 0. Percentiles are those of numpy, by straight lines between ranks; a rank
    is found by counting the upper 16 bits of floats, which are in the order of size, then the lower bits of those that
    fall together.

    Parameters
    ----------
    images
        ``(n, h, w)`` float32, h and w multiples of 8.
    bits
        The same memory as unsigned integers of 32 bits.
    out
        ``(n, 72)``; zeros where nothing is valid.
    seen
        ``(n,)``: valid pixels of each.
    """
    n, height, width = images.shape
    tall, wide = height // GRID, width // GRID
    sums, cells = np.empty((GRID, GRID)), np.empty((GRID, GRID), dtype=np.int64)
    counts = np.zeros(_HIGH_KEYS, dtype=np.int32)
    slots = np.full(_HIGH_KEYS, -1, dtype=np.int8)
    kept = np.empty((2 * len(PERCENTILES), height * width), dtype=np.uint32)
    for i in range(n):
        row = out[i]
        row[:] = 0
        sums[:] = 0
        cells[:] = 0
        least, most = np.uint32(0x7F7FFFFF), np.uint32(0)
        for y in range(height):
            for c in range(GRID):
                subtotal, number = 0.0, 0
                for x in range(c * wide, (c + 1) * wide):
                    value = images[i, y, x]
                    if value > 0 and value <= _LARGEST:
                        code = bits[i, y, x]
                        subtotal += value
                        number += 1
                        least = min(least, code)
                        most = max(most, code)
                        counts[code >> 16] += 1
                sums[y // tall, c] += subtotal
                cells[y // tall, c] += number
        total, number = sums.sum(), cells.sum()
        seen[i] = number
        if number == 0:
            continue
        mean, first, last = total / number, int(least >> 16), int(most >> 16)
        _wanted(counts, first, slots, number)
        row[1] = _spread(images[i], bits[i], mean, slots, kept, number)
        for k in range(len(PERCENTILES)):
            row[4 + k] = _percentile(counts, first, slots, kept, number, PERCENTILES[k])
        row[0], row[2], row[3], row[7] = mean, _float(int(least)), _float(int(most)), number / (height * width)
        for a in range(GRID):
            for b in range(GRID):
                if cells[a, b]:
                    row[8 + a * GRID + b] = sums[a, b] / cells[a, b]
        counts[first : last + 1] = 0
        slots[first : last + 1] = -1


@jit
def _rank(number: int, share: float) -> tuple[int, float]:
    """Return the lower rank of a percentile, and how far it lies towards the next."""
    place = (number - 1) * share
    lower = math.floor(place)
    return lower, place - lower


@jit
def _key(counts: Array, first: int, rank: int) -> tuple[int, int]:
    """Return the upper bits, from the first used ones on, under which a rank falls, and how many values come before."""
    before = 0
    for key in range(first, len(counts)):
        if before + counts[key] > rank:
            return key, before
        before += counts[key]
    return len(counts) - 1, before


@jit
def _wanted(counts: Array, first: int, slots: Array, number: int) -> None:
    """Give a slot to the upper bits under which a wanted rank falls."""
    used = 0
    for k in range(len(PERCENTILES)):
        lower, _ = _rank(number, PERCENTILES[k])
        for rank in (lower, min(lower + 1, number - 1)):
            key, _ = _key(counts, first, rank)
            if slots[key] < 0:
                slots[key] = used
                used += 1


@jit
def _spread(image: Array, bits: Array, mean: float, slots: Array, kept: Array, number: int) -> float:
    """Return the standard deviation of valid pixels, and keep those whose upper bits have a slot."""
    filled = np.zeros(len(kept), dtype=np.int64)
    squares = 0.0
    for y in range(image.shape[0]):
        line = 0.0
        for x in range(image.shape[1]):
            value = image[y, x]
            if value > 0 and value <= _LARGEST:
                line += (value - mean) ** 2
                slot = slots[bits[y, x] >> 16]
                if slot >= 0:
                    kept[slot, filled[slot]] = bits[y, x]
                    filled[slot] += 1
        squares += line
    return math.sqrt(squares / number)


@jit
def _percentile(counts: Array, first: int, slots: Array, kept: Array, number: int, share: float) -> float:
    lower, towards = _rank(number, share)
    a = _at(counts, first, slots, kept, lower)
    if towards == 0:
        return a
    b = _at(counts, first, slots, kept, lower + 1)
    return b - (b - a) * (1 - towards) if towards >= 0.5 else a + (b - a) * towards


@jit
def _at(counts: Array, first: int, slots: Array, kept: Array, rank: int) -> float:
    """Return the value of a rank, from those that share its upper bits."""
    key, before = _key(counts, first, rank)
    values = kept[slots[key], : counts[key]]
    rank -= before
    low = 0
    for shift in (8, 0):
        tally = np.zeros(256, dtype=np.int64)
        for k in range(len(values)):
            if (values[k] & 0xFFFF) >> (shift + 8) == low >> (shift + 8):
                tally[(values[k] >> shift) & 0xFF] += 1
        byte = 0
        while rank >= tally[byte]:
            rank -= tally[byte]
            byte += 1
        low |= byte << shift
    return _float((key << 16) | low)


@jit
def _float(bits: int) -> float:
    """Return the positive, finite float of 32 bits; those below the normal ones too."""
    exponent, fraction = bits >> 23, bits & 0x7FFFFF
    if exponent == 0:
        return math.ldexp(float(fraction), -149)
    return math.ldexp(float(fraction | 0x800000), exponent - 150)


@jit
def confidences(images: Array, out: Array) -> None:
    """Fill in mean, std, min, max and 8 x 8 means of each image ``(n, h, w)`` uint8; sums are exact."""
    n, height, width = images.shape
    tall, wide = height // GRID, width // GRID
    for i in range(n):
        row = out[i]
        row[:] = 0
        total, squares, low, high = 0, 0, 255, 0
        for y in range(height):
            for c in range(GRID):
                subtotal = 0
                for x in range(c * wide, (c + 1) * wide):
                    value = int(images[i, y, x])
                    subtotal += value
                    squares += value * value
                    low = min(low, value)
                    high = max(high, value)
                row[4 + (y // tall) * GRID + c] += subtotal
                total += subtotal
        pixels = height * width
        row[0], row[2], row[3] = total / pixels, low, high
        row[1] = math.sqrt(pixels * squares - total * total) / pixels
        row[4:] /= tall * wide


@jit
def colours(image: Array, out: Array) -> None:
    """Fill in the 98 numbers of a video frame, as :mod:`gnomon.suites.episode.features.video` says.

    Parameters
    ----------
    image
        ``(h, w, 3)`` uint8, red first.
    out
        ``(98,)``.
    """
    counts = np.zeros((3, LEVELS), dtype=np.int64)
    small = _small(image, counts)
    pixels = image.shape[0] * image.shape[1]
    for c in range(3):
        total, squares = 0, 0.0
        for level in range(LEVELS):
            total += level * counts[c, level]
        for level in range(LEVELS):
            squares += counts[c, level] * (level - total / pixels) ** 2
        out[c] = total / pixels / 255
        out[3 + c] = math.sqrt(squares / pixels) / 255
        for b in range(BINS):
            width = LEVELS // BINS
            out[6 + c * BINS + b] = counts[c, b * width : (b + 1) * width].sum() / pixels
    each = SIDE // GRID
    for a in range(GRID):
        for b in range(GRID):
            out[30 + a * GRID + b] = small[a * each : (a + 1) * each, b * each : (b + 1) * each].mean()
    across, down = np.abs(small[:, 1:] - small[:, :-1]), np.abs(small[1:] - small[:-1])
    out[94], out[95] = across.mean(), across.std()
    out[96], out[97] = down.mean(), down.std()


@jit
def _small(image: Array, counts: Array) -> Array:
    """Return the grey image as 32 x 32 area means in [0, 1], and count the levels of each colour."""
    height, width, _ = image.shape
    small, line, cells = np.zeros((SIDE, SIDE)), np.empty(width), np.empty(SIDE)
    for y in range(height):
        for x in range(width):
            red, green, blue = image[y, x, 0], image[y, x, 1], image[y, x, 2]
            counts[0, red] += 1
            counts[1, green] += 1
            counts[2, blue] += 1
            line[x] = _RED * red + _GREEN * green + _BLUE * blue
        for j in range(SIDE):
            left, right = j * width / SIDE, (j + 1) * width / SIDE
            cells[j] = 0
            for x in range(int(left), min(width, math.ceil(right))):
                cells[j] += line[x] * (min(right, x + 1) - max(left, x))
        for i in range(y * SIDE // height, ((y + 1) * SIDE - 1) // height + 1):
            share = min(y + 1, (i + 1) * height / SIDE) - max(y, i * height / SIDE)
            for j in range(SIDE):
                small[i, j] += share * cells[j]
    small *= SIDE * SIDE / (height * width * 255.0)
    return small
