"""Stored results as pictures: ``growth.svg`` (seconds and memory over units) and ``ratios.svg`` (times the peers).

Drawn by :mod:`gnomon.report.figures`, dark on white. All scales are logarithmic: what grows with its data is a line as
steep as the dashed one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.sharding import plural

from gnomon.report.figures.drawing import svg_file
from gnomon.report.figures.style import (
    DASHES,
    INK,
    PALETTE,
    SHAPES,
    SMALL,
    WIDTH,
    Spec,
    at,
    finished,
    texts,
    values,
    whole,
)

Stored = Mapping[str, Mapping[str, Any]]
HEIGHT, PLOT = 230, WIDTH - 90
PROPORTIONAL = "ten times the units, ten times as long"
THIN = {"color": INK, "opacity": 0.45, "strokeWidth": 1.5, "strokeDash": [2, 4]}
NAMES, BAR = 250, 24
"""Pixels for names of bars, and of a row of bars."""


def pictures(found: Stored) -> dict[str, bytes]:
    """Return the files by name; one is left out where nothing was stored for it."""
    made = {}
    if curves := growth_of(found):
        made["growth.svg"] = svg_file(growth(curves), said_of_growth(curves))
    if bars := ratios_of(found):
        made["ratios.svg"] = svg_file(ratios(bars), said_of_ratios(bars))
    return made


def growth_of(found: Stored) -> dict[str, list[Mapping[str, Any]]]:
    """Return the points of every measure that grows, in the order of units."""
    curves: dict[str, list[Mapping[str, Any]]] = {}
    for row in found.get("growth", {"rows": ()})["rows"]:
        curves.setdefault(f"{row['measure']} ({plural(row['unit'])})", []).append(row)
    return {name: sorted(own, key=lambda row: row["n"]) for name, own in curves.items()}


def ratios_of(found: Stored) -> list[Mapping[str, Any]]:
    """Return the rows that have a peer, largest of each benchmark's names only."""
    largest: dict[str, Mapping[str, Any]] = {}
    for held in found.values():
        for row in held["rows"]:
            if row["ratio"] is not None and row["n"] >= largest.get(row["name"], {"n": 0})["n"]:
                largest[row["name"]] = row
    return sorted(largest.values(), key=lambda row: -row["ratio"])


def growth(curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> Spec:
    """Draw seconds above memory; a line for each measure, told apart by colour, dash and shape."""
    panels = [panel(curves, "ours_s", "seconds"), panel(curves, "peak_mb", "peak memory, MB")]
    layers = panels[1]["layer"]
    for place, name in enumerate([*curves, PROPORTIONAL]):
        left, top = (place % 2) * (PLOT / 2), HEIGHT + 58 + 20 * (place // 2)
        layers += key(name, left, top, None if name == PROPORTIONAL else place)
    return finished(
        {"vconcat": panels, "spacing": 24}, "Growth: seconds and memory over units, both scales logarithmic"
    )


def panel(curves: Mapping[str, Sequence[Mapping[str, Any]]], field: str, title: str) -> Spec:
    """Draw one quantity over units."""
    numbers = [float(row[field]) for own in curves.values() for row in own]
    units = [int(row["n"]) for own in curves.values() for row in own]
    across, along = decades(units), decades(numbers)
    x = axis("x", across, "units", PLOT, written="~s")
    y = axis("y", along, title, HEIGHT, upright=True)
    layers: list[Spec] = []
    if field == "ours_s":
        layers.append(slope(across, along, x, y))
    for place, own in enumerate(curves.values()):
        points = values({"x": row["n"], "y": row[field]} for row in own)
        line, shape = look(place)
        for mark in ({"type": "line", **line}, shape):
            layers.append({"data": points, "mark": mark, "encoding": {"x": x, "y": y}})
    return whole(PLOT, HEIGHT, layers)


def slope(across: Sequence[float], along: Sequence[float], x: Spec, y: Spec) -> Spec:
    """Return the dashed line of what takes as many times as long as it has units, through the lower right."""
    right, low = math.log10(across[1]), math.log10(along[0])
    reach = min(right - math.log10(across[0]), math.log10(along[1]) - low)
    ends = [{"x": 10 ** (right - reach), "y": along[0]}, {"x": across[1], "y": 10 ** (low + reach)}]
    mark = {"type": "line", **THIN}
    return {"data": values(ends), "mark": mark, "encoding": {"x": x, "y": y}}


def key(name: str, left: float, top: float, place: int | None) -> list[Spec]:
    """Return the mark and the name of a measure, or of the dashed line."""
    spot = {"x": at("x"), "y": at("y")}
    line, shape = (THIN, None) if place is None else look(place)
    ends = values([{"x": left, "x2": left + 34, "y": top}])
    layers: list[Spec] = [
        {"data": ends, "mark": {"type": "rule", **line}, "encoding": {**spot, "x2": {"field": "x2"}}},
        {
            "data": values([{"x": left + 42, "y": top, "label": name}]),
            "mark": {"type": "text", "align": "left", "baseline": "middle", "fontSize": SMALL},
            "encoding": {**spot, "text": {"field": "label", "type": "nominal"}},
        },
    ]
    if shape:
        layers.append({"data": values([{"x": left + 17, "y": top}]), "mark": shape, "encoding": spot})
    return layers


def look(place: int) -> tuple[Spec, Spec]:
    """Return how the line and the points of a measure look; where colours come again, points are hollow."""
    colour, turn = PALETTE[place % len(PALETTE)], place // len(PALETTE)
    other = place + 3 * turn
    line = {"strokeWidth": 2, "color": colour, "strokeDash": DASHES[other % len(DASHES)]}
    shape = SHAPES[other % len(SHAPES)]
    return line, {"type": "point", "filled": not turn, "size": 50, "opacity": 1, "color": colour, "shape": shape}


def ratios(bars: Sequence[Mapping[str, Any]]) -> Spec:
    """Draw how many times faster gnomon is; bars begin at 1, to the left of which the peer is faster."""
    wide = WIDTH - NAMES - 40
    rows = [{"ratio": row["ratio"], "one": 1.0, "y": (place + 0.5) * BAR, "row": row} for place, row in enumerate(bars)]
    domain = decades([1.0, *(row["ratio"] for row in bars)])
    x = axis("ratio", domain, "times the peer, logarithmic", wide)
    height = BAR * len(rows)
    mark = {"type": "bar", "height": BAR * 0.6, "color": PALETTE[0]}
    layers: list[Spec] = [
        {
            "data": values({"ratio": row["ratio"], "one": 1.0, "y": row["y"]} for row in rows),
            "mark": mark,
            "encoding": {"x": x, "x2": {"field": "one"}, "y": at("y")},
        },
        texts([{"y": row["y"], "label": f"{row['row']['name']}, {shortly(row['row']['n'])}"} for row in rows], -10),
        texts([{"y": row["y"], "label": times(row["ratio"])} for row in rows], wide + 10, "left", fontSize=SMALL),
    ]
    return finished(whole(wide, height, layers), "How many times faster than the peer, measured in one run")


def axis(
    field: str, domain: Sequence[float], title: str, length: float, *, upright: bool = False, written: str = "~g"
) -> Spec:
    """Return the encoding of a place on a logarithmic scale with a tick for each power of ten."""
    first, last = (round(math.log10(end)) for end in domain)
    ticks = [10.0**power for power in range(first, last + 1)]
    scale = {"type": "log", "domain": list(domain), "range": [length, 0] if upright else [0, length], "nice": False}
    shown = {"title": title, "values": ticks, "format": written, "grid": True, "labelFlush": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": shown}


def decades(numbers: Sequence[float]) -> list[float]:
    """Return the powers of ten around positive numbers.

    >>> decades([0.02, 30])
    [0.01, 100.0]
    """
    low, high = (math.log10(end) for end in (min(numbers), max(numbers)))
    first = math.floor(low + 1e-9)
    return [10.0**first, 10.0 ** max(first + 1, math.ceil(high - 1e-9))]


def shortly(n: int) -> str:
    """Write a number of units.

    >>> shortly(10_000_000), shortly(40), shortly(110_000)
    ('1e7', '40', '1.1e5')
    """
    if n < 10_000:
        return f"{n:,}"
    power = math.floor(math.log10(n))
    return f"{n / 10**power:.3g}e{power}"


def times(ratio: float) -> str:
    """Write a ratio."""
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def said_of_growth(curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the picture in words."""
    lines = [
        f"{name} from {own[0]['ours_s']:.2g} s at {shortly(own[0]['n'])} to {own[-1]['ours_s']:.2g} s at "
        f"{shortly(own[-1]['n'])}, {own[-1]['peak_mb']:.0f} MB"
        for name, own in curves.items()
    ]
    return f"Seconds and peak memory over units. {'; '.join(lines)}."


def said_of_ratios(bars: Sequence[Mapping[str, Any]]) -> str:
    """Return the picture in words."""
    lines = [f"{row['name']} {times(row['ratio'])}" for row in bars]
    return f"Times the peer: {'; '.join(lines)}."
