"""One look for all figures: measures, colours, words, and pieces of Vega-Lite that several kinds share.

Figures are drawn with :data:`INK`, a colour that nothing else has; a page gets ``currentColor`` in its place, so that
they follow its light and dark, a file gets :data:`DARK`. Fills are those of Okabe and Ito (2008), which are told apart
by readers of any colour vision and hold on light and on dark; none of them says anything alone.

Texts are data of marks and never part of an expression. What is placed by hand (labels of rows) is placed in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gnomon.report.markup import shortened

Spec = dict[str, Any]
INK = "#010203"
DARK = "#1b1f24"
FONT = "sans-serif"
WIDTH = 640
"""Pixels across, about; every figure is legible at this width."""
GUTTER = 170
"""Pixels for names at the left."""
PADDING = {"left": 20, "right": 24, "top": 6, "bottom": 6}
"""Room for fonts that are wider than the one that the places of texts were measured with."""
SIZE = 13
SMALL = 12
LETTER = 0.64
"""Width of a digit for each pixel of the size of letters, in the widest of the usual fonts (DejaVu Sans)."""
LONGEST = 9
"""Letters of a number at a tick, where a power of ten is shorter."""
APART = 8
"""Pixels between the labels of two ticks, at least."""
ROW = 28
"""Pixels of a row."""
MOST_LETTERS = 26
"""Of a name that stands in the gutter."""
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A7500", "#7A4A9E")
CALM = "#7DBBA5"
"""A pale bluish green, for what is right and asks for no attention."""
BLUE, VERMILION = "#0072B2", "#D55E00"
DASHES: tuple[list[int], ...] = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 3], [1, 3], [6, 2, 1, 2, 1, 2])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")


def whole(width: int, height: int, layers: Sequence[Mapping[str, Any]], **more: Any) -> Spec:
    """Return a figure of one plot."""
    return {"width": width, "height": height, "view": {"stroke": None}, "layer": list(layers), **more}


def finished(spec: Spec, title: str) -> Spec:
    """Add what all figures share; a title where it goes into the picture."""
    axis = {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": INK,
        "domainOpacity": 0.5,
        "tickOpacity": 0.5,
        "gridOpacity": 0.12,
        "labelFont": FONT,
        "titleFont": FONT,
        "labelFontSize": SIZE,
        "titleFontSize": SIZE,
        "titleFontWeight": "normal",
    }
    config = {
        "aria": False,
        "font": FONT,
        "background": None,
        "axis": axis,
        "text": {"font": FONT, "fontSize": SIZE, "color": INK},
        "title": {"font": FONT, "fontSize": 14, "color": INK, "anchor": "start", "offset": 10},
        "legend": {"labelColor": INK, "titleColor": INK, "labelFont": FONT, "labelFontSize": SIZE, "labelLimit": 260},
    }
    heading = {"title": {"text": wrapped(title), "frame": "bounds"}} if title else {}
    schema = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json"}
    return {**schema, "config": config, "padding": PADDING, "autosize": "pad", **heading, **spec}


def wrapped(title: str, most: int = 84) -> list[str]:
    """Break a title into lines of words; what is longer than three lines is cut."""
    lines = [""]
    for word in shortened(title, 3 * most - 6).split():
        for piece in (word[at : at + most] for at in range(0, len(word), most)):
            if lines[-1] and len(lines[-1]) + 1 + len(piece) > most:
                lines.append("")
            lines[-1] += (" " if lines[-1] else "") + piece
    return lines[:3]


def named(value: object, most: int = MOST_LETTERS) -> str:
    """Return a name that fits its place."""
    return shortened(" ".join(str(value).split()), most)


def values(rows: Iterable[Mapping[str, Any]]) -> Spec:
    """Return rows as data; numbers that cannot be drawn are left out."""
    return {"values": [{k: v for k, v in row.items() if _drawable(v)} for row in rows]}


def _drawable(value: object) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def texts(rows: Sequence[Mapping[str, Any]], x: float, align: str = "right", **more: Any) -> Spec:
    """Return a layer that puts the ``label`` of rows beside the plot, at their height ``y`` in pixels."""
    mark = {"type": "text", "align": align, "baseline": "middle", "x": x, **more}
    encoding = {"y": at("y"), "text": {"field": "label", "type": "nominal"}}
    return {"data": values(rows), "mark": mark, "encoding": encoding}


def at(field: str) -> Spec:
    """Return the encoding of a place that is given in pixels."""
    return {"field": field, "type": "quantitative", "scale": None, "axis": None}


def along(field: str, domain: Sequence[float], title: str, width: int, **axis: Any) -> Spec:
    """Return the encoding of a place on a horizontal scale."""
    scale = {"domain": list(domain), "range": [0, width], "nice": False, "zero": False}
    shown = {"title": title, "grid": True, "labelFlush": False, **ticks(domain, width), **axis}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": shown}


def ticks(domain: Sequence[float], width: float, most: int = 7, whole: bool = False) -> Spec:
    """Return the ticks of a horizontal axis, on round values, so few that their labels do not touch.

    Parameters
    ----------
    domain
        First and last value, which differ.
    width
        Pixels between them.
    most
        Ticks at most.
    whole
        Whether ticks stand on whole numbers alone.

    >>> ticks([0.0, 1.0], 300)
    {'values': [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], 'format': ',.1f'}
    >>> ticks([0.0, 2e6], 300)
    {'values': [0.0, 1000000.0, 2000000.0], 'format': ',.0f'}
    >>> ticks([0.0, 1e8], 300)
    {'values': [0.0, 50000000.0, 100000000.0], 'format': '.1e'}
    """
    low, high = domain[0], domain[-1]
    power = math.floor(math.log10((high - low) / most))
    if whole:
        power = max(0, power)
    steps = (factor * 10.0**exponent for exponent in range(power, power + 4) for factor in (1, 2, 5))
    for step in steps:
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first >= most:
            continue
        # Rounding after the multiplication keeps 3 * 0.1 from becoming 0.30000000000000004.
        places = [round(count * step, 12 - math.floor(math.log10(step))) for count in range(first, last + 1)]
        form = _format(places, step)
        wide = max((len(f"{place:{form}}") for place in places), default=0) * LETTER * SIZE
        if len(places) < 2 or wide + APART <= step * width / (high - low):
            break
    return {"values": places, "format": form}


def _format(places: Sequence[float], step: float) -> str:
    """Return the format, of d3 and of Python, that tells values apart which differ by a step.

    Digits alone, or a power of ten where that is shorter than long digits.
    """

    def longest(form: str) -> int:
        return max((len(f"{place:{form}}") for place in places), default=0)

    largest = max(map(abs, places), default=0.0) or step
    fine = math.floor(math.log10(step))
    plain, power = f",.{max(0, -fine)}f", f".{max(0, math.floor(math.log10(largest)) - fine)}e"
    return plain if longest(plain) <= max(LONGEST, longest(power)) else power


def span(numbers: Iterable[float | None], *, bounds: Sequence[float] = (), share: float = 0.04) -> list[float]:
    """Return a range that holds numbers with a little room, on round ends; a unit around zero where there are none.

    >>> span([0.42, 0.91])
    [0.4, 0.95]
    >>> span([0, 100])
    [0.0, 110.0]
    >>> span([])
    [0.0, 1.0]
    """
    known = [float(n) for n in numbers if n is not None and math.isfinite(n)]
    if not known:
        return list(map(float, bounds)) or [0.0, 1.0]
    low, high = min(known), max(known)
    room = (high - low) * share or abs(high) * 0.1 or 0.5
    rough = (high - low + 2 * room) / 12
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(own * magnitude for own in (1, 2, 5, 10) if own * magnitude >= rough * (1 - 1e-9))
    first, last = math.floor((low - room) / step + 1e-9) * step, math.ceil((high + room) / step - 1e-9) * step
    if low >= 0 > first:
        first = 0.0
    digits = max(0, 2 - math.floor(math.log10(step)))
    return [round(first, digits), round(last, digits)]


def written(value: float | None, digits: int) -> str:
    """Return a number with so many digits after the point."""
    if value is None:
        return "undefined"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def contrast(colour: str) -> str:
    """Return the colour of letters that are read on a fill: white or nearly black.

    >>> contrast("#0072B2"), contrast("#E69F00")
    ('#ffffff', '#111111')
    """
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.0552 else "#111111"
