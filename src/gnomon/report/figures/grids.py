"""Figures of rows and columns: ``matrix`` (what was predicted for each true class) and ``heat``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.report.figures.style import (
    BLUE,
    INK,
    LETTER,
    SMALL,
    VERMILION,
    WIDTH,
    Spec,
    at,
    contrast,
    named,
    values,
    whole,
)

SIDE = 150
"""Pixels for names of rows."""
WIDE = LETTER * SMALL
"""Pixels of a letter."""
SLANTED = 17
"""Pixels between names at 45 degrees, at least: their lines are then as far apart as level ones."""
FAINTEST = 0.08
DARK_FROM = 0.6
"""From this shade on letters on a fill are in the colour that is read on it."""


def matrix(data: Mapping[str, Any]) -> Spec:
    """Draw counts by true and predicted class: shaded within their row, right ones blue, numbers where they fit."""
    labels, predicted = list(data["labels"]), list(data["predicted"])
    wide, high = _sizes(len(predicted), len(labels))
    cells = []
    for row, counts in enumerate(data["counts"]):
        total = sum(counts)
        for place, count in enumerate(counts):
            if count:
                share = count / total
                right = labels[row] == predicted[place]
                text = _fitting(_count(count), wide, high)
                cells.append(_cell(row, place, wide, high, share, BLUE if right else VERMILION, text))
    names = _names(labels, predicted, wide, high)
    titles = [
        _text([{"x": 0, "y": -_depth(predicted, wide) - 14, "label": "predicted"}], "left", opacity=0.75),
        _text([{"x": -10, "y": -10, "label": "truth"}], "right", opacity=0.75),
    ]
    return whole(
        round(wide * len(predicted)),
        round(high * len(labels)),
        [*_drawn(cells, wide, high, labels, predicted), *names, *titles],
    )


def heat(data: Mapping[str, Any]) -> Spec:
    """Draw values by row and column: the worse the darker where low is good, else the better; with a key below."""
    rows, columns = list(data["rows"]), list(data["columns"])
    wide, high = _sizes(len(columns), len(rows))
    known = [value for row in data["values"] for value in row if value is not None and math.isfinite(value)]
    low, most = min(known, default=0.0), max(known, default=0.0)
    colour = VERMILION if data.get("low_is_good", True) else BLUE
    cells, gaps = [], []
    for row, own in enumerate(data["values"]):
        for place, value in enumerate(own):
            if value is None or not math.isfinite(value):
                gaps.append({"x": (place + 0.5) * wide, "y": (row + 0.5) * high, "label": "–"})
                continue
            share = (value - low) / (most - low) if most > low else 0.5
            cells.append(_cell(row, place, wide, high, share, colour, _fitting(_number(value, most), wide, high)))
    if any(not cell["label"] for cell in cells):
        cells = [{**cell, "label": ""} for cell in cells]
    layers = [*_drawn(cells, wide, high, rows, columns), *_names(rows, columns, wide, high), _text(gaps, "center")]
    height = round(high * len(rows))
    layers += _key(low, most, colour, named(data.get("unit", ""), 12), height) if known else []
    return whole(round(wide * len(columns)), height, layers)


def _sizes(columns: int, rows: int) -> tuple[float, float]:
    """Return how wide and how high a cell is: large enough for a number where there are few."""
    wide = min(60.0, max(4.0, (WIDTH - SIDE) / max(1, columns)))
    high = min(28.0, max(4.0, 640 / max(1, rows)))
    return wide, (high if wide > 20 else min(high, max(wide, 12.0 if rows <= 40 else 4.0)))


def _cell(row: int, place: int, wide: float, high: float, share: float, colour: str, text: str) -> dict[str, Any]:
    return {
        "x": place * wide,
        "x2": (place + 1) * wide,
        "y": row * high,
        "y2": (row + 1) * high,
        "middle": (place + 0.5) * wide,
        "centre": (row + 0.5) * high,
        "shade": round(FAINTEST + (1 - FAINTEST) * share, 4),
        "fill": colour,
        "label": text,
        "ink": contrast(colour) if share > DARK_FROM else INK,
    }


def _drawn(
    cells: Sequence[Mapping[str, Any]], wide: float, high: float, rows: Sequence[Any], columns: Sequence[Any]
) -> list[Spec]:
    frame = [{"x": 0, "x2": wide * len(columns), "y": 0, "y2": high * len(rows)}]
    place = {"x": at("x"), "x2": {"field": "x2"}, "y": at("y"), "y2": {"field": "y2"}}
    shade = {
        "fill": {"field": "fill", "type": "nominal", "scale": None},
        "fillOpacity": {"field": "shade", "type": "quantitative", "scale": None},
    }
    words = {
        "x": at("middle"),
        "y": at("centre"),
        "text": {"field": "label", "type": "nominal"},
        "color": {"field": "ink", "type": "nominal", "scale": None},
    }
    said = [{key: cell[key] for key in ("middle", "centre", "label", "ink")} for cell in cells if cell["label"]]
    boxes = [{key: cell[key] for key in ("x", "x2", "y", "y2", "fill", "shade")} for cell in cells]
    text = {"type": "text", "align": "center", "baseline": "middle", "fontSize": SMALL}
    layers = [
        {
            "data": values(frame),
            "mark": {"type": "rect", "filled": False, "stroke": INK, "strokeOpacity": 0.3},
            "encoding": place,
        },
        {"data": values(boxes), "mark": {"type": "rect", "strokeWidth": 0}, "encoding": {**place, **shade}},
    ]
    return layers + ([{"data": values(said), "mark": text, "encoding": words}] if said else [])


def _names(rows: Sequence[Any], columns: Sequence[Any], wide: float, high: float) -> list[Spec]:
    """Return the names of rows at the left and of columns at the top; every so-manieth where they are dense."""
    every_row, every_column = max(1, math.ceil(13 / high)), max(1, math.ceil(12 / wide))
    left = [
        {"x": -8, "y": (place + 0.5) * high, "label": named(name, 20)}
        for place, name in enumerate(rows)
        if place % every_row == 0
    ]
    flat = _is_flat([named(name, 20) for name in columns[::every_column]], wide)
    every_column = every_column if flat else max(1, math.ceil(SLANTED / wide))
    kept = [(place, named(name, 20)) for place, name in enumerate(columns) if place % every_column == 0]
    top = [{"x": (place + 0.5) * wide, "y": -8, "label": name} for place, name in kept]
    turned: dict[str, Any] = {} if flat else {"angle": 315}
    return [_text(left, "right"), _text(top, "center" if flat else "left", **turned)]


def _is_flat(names: Sequence[str], wide: float) -> bool:
    return all(len(name) * WIDE < wide - 4 for name in names)


def _depth(columns: Sequence[Any], wide: float) -> float:
    """Return how high the names of columns stand."""
    names = [named(name, 20) for name in columns]
    return 14.0 if _is_flat(names, wide) else 10 + 0.62 * WIDE * max(map(len, names), default=0)


def _text(rows: Sequence[Mapping[str, Any]], align: str, **more: Any) -> Spec:
    mark = {"type": "text", "align": align, "baseline": "middle", "fontSize": SMALL, **more}
    return {
        "data": values(rows),
        "mark": mark,
        "encoding": {"x": at("x"), "y": at("y"), "text": {"field": "label", "type": "nominal"}},
    }


def _key(low: float, most: float, colour: str, unit: str, height: int) -> list[Spec]:
    """Return five shades with the values at their ends."""
    top, wide = height + 12, 26
    boxes = [
        {
            "x": place * wide,
            "x2": (place + 1) * wide,
            "y": top,
            "y2": top + 12,
            "shade": FAINTEST + (1 - FAINTEST) * place / 4,
        }
        for place in range(5)
    ]
    shade = {"field": "shade", "type": "quantitative", "scale": None}
    encoding = {"x": at("x"), "x2": {"field": "x2"}, "y": at("y"), "y2": {"field": "y2"}, "fillOpacity": shade}
    said = f"{_number(low, most)} to {_number(most, most)}" + (f" {unit}" if unit else "")
    return [
        {"data": values(boxes), "mark": {"type": "rect", "fill": colour}, "encoding": encoding},
        _text([{"x": 5 * wide + 8, "y": top + 6, "label": said}], "left"),
    ]


def _fitting(text: str, wide: float, high: float) -> str:
    return text if len(text) * WIDE <= wide - 6 and high >= 13 else ""


def _count(count: float) -> str:
    """Return a count in few letters.

    >>> _count(7), _count(12345), _count(3.25)
    ('7', '12k', '3.2')
    """
    if count >= 10_000:
        return f"{count / 1000:.0f}k" if count < 1e6 else f"{count / 1e6:.1f}M"
    return str(count) if isinstance(count, int) else f"{count:.0f}" if count >= 10 else f"{count:.1f}"


def _number(value: float, most: float) -> str:
    """Return a value in few letters, with the digits that the largest one deserves.

    >>> _number(0.5, 1.0), _number(30493826.0, 5e7), _number(1e-7, 9e-7), _number(-1500.0, 2e12)
    ('0.50', '30.5M', '1.0e-07', '-1.5e+03')
    """
    size = max(abs(value), abs(most))
    if size >= 1e10 or 0 < size < 0.01:
        return f"{value:.1e}" if value else "0"
    if size >= 1e4:
        return f"{value / 1e3:.1f}k" if size < 1e6 else f"{value / 1e6:.1f}M"
    digits = 0 if abs(most) >= 100 else 1 if abs(most) >= 10 else 2
    return f"{value:.{digits}f}"
