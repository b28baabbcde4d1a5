"""Figures of series over something: ``curves``. Series differ in colour and in the pattern of their dashes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.report.figures.style import (
    DASHES,
    LETTER,
    PALETTE,
    SMALL,
    WIDTH,
    Spec,
    along,
    at,
    named,
    span,
    ticks,
    values,
    whole,
)

PLOT = WIDTH - 70
HEIGHT = 240
FACTOR = 50
"""From this factor between largest and smallest value on the scale is logarithmic."""
COLUMNS = 2
LINE, GAP = 34, 8
"""Pixels of the short line before the name of a series, and between it and what stands beside it."""
NAME = int((PLOT / COLUMNS - LINE - 2 * GAP) / (LETTER * SMALL))
"""Letters of the name of a series."""


def curves(data: Mapping[str, Any]) -> Spec:
    """Draw lines, with their names below; on a logarithmic scale where they fall over several magnitudes."""
    series = [own for own in data["series"] if len(own["x"])]
    x_all = [x for own in series for x in own["x"]]
    y_all = [float(y) for own in series for y in own["y"] if math.isfinite(y)]
    logarithmic = bool(y_all) and min(y_all) > 0 and max(y_all) / min(y_all) >= FACTOR
    across = [min(x_all), max(x_all)] if x_all and min(x_all) < max(x_all) else span(x_all)
    whole_numbers = all(float(place).is_integer() for place in x_all)
    x = along("x", across, named(data["x"], 40), PLOT, grid=False, **ticks(across, PLOT, 9, whole_numbers))
    scale: Spec = {"nice": False, "zero": False}
    scale |= {"type": "log", "domain": [min(y_all), max(y_all)]} if logarithmic else {"domain": span(y_all)}
    y = {
        "field": "y",
        "type": "quantitative",
        "scale": scale,
        "axis": {"title": named(data["y"], 40), "grid": True, "tickCount": 5, "format": ".3~g", "titlePadding": 14},
    }
    layers: list[Spec] = []
    for place, own in enumerate(series):
        points = [
            {"x": a, "y": float(b)} for a, b in zip(own["x"], own["y"], strict=True) if _plain(float(b), logarithmic)
        ]
        mark = {"type": "line", "strokeWidth": 2, "interpolate": "linear", **_look(place)}
        layers.append({"data": values(points), "mark": mark, "encoding": {"x": x, "y": y}})
    layers += _key(series)
    return whole(PLOT, HEIGHT, layers)


def _plain(value: float, logarithmic: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not logarithmic)


def _look(place: int) -> Spec:
    return {"color": PALETTE[place % len(PALETTE)], "strokeDash": DASHES[(place + place // len(PALETTE)) % len(DASHES)]}


def _key(series: Sequence[Mapping[str, Any]]) -> list[Spec]:
    """Return a short line and the name of every series, in columns under the plot."""
    layers: list[Spec] = []
    for place, own in enumerate(series):
        left, top = (place % COLUMNS) * (PLOT / COLUMNS), HEIGHT + 56 + 20 * (place // COLUMNS)
        line = {"type": "rule", "strokeWidth": 2.5, **_look(place)}
        spot = {"x": at("x"), "y": at("y")}
        layers.append(
            {
                "data": values([{"x": left, "x2": left + LINE, "y": top}]),
                "mark": line,
                "encoding": {**spot, "x2": {"field": "x2"}},
            }
        )
        layers.append(
            {
                "data": values([{"x": left + LINE + GAP, "y": top, "label": named(own["name"], NAME)}]),
                "mark": {"type": "text", "align": "left", "baseline": "middle", "fontSize": SMALL},
                "encoding": {**spot, "text": {"field": "label", "type": "nominal"}},
            }
        )
    return layers
