"""The critical-difference diagram (Demsar, 2006): ``ranks``.

Mean ranks on one axis, the best at the left. Each system hangs from its place, the better half to the left, the others
to the right. A thick bar joins systems that are not told apart; the length of the critical difference is drawn above.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.report.figures.style import INK, SMALL, VERMILION, WIDTH, Spec, at, named, values, whole

SIDE = 165
"""Pixels for names on either side."""
LINE = WIDTH - 2 * SIDE
AXIS = 54
"""Height of the axis below the top."""
STEP, BAR = 22, 9
"""Pixels between systems, and between bars."""


def ranks(data: Mapping[str, Any]) -> Spec:
    """Draw the diagram."""
    ordered = sorted(data["ranks"], key=lambda row: row["rank"])
    last = max(2, len(ordered), math.ceil(max((row["rank"] for row in ordered), default=2)))
    levels = _levels(ordered, data["cliques"])
    below = AXIS + 10 + BAR * (max((level for _, _, level in levels), default=-1) + 1)
    rules, names = _axis(last)
    half = math.ceil(len(ordered) / 2)
    for place, row in enumerate(ordered):
        left = place < half
        depth = below + STEP * ((place if left else len(ordered) - 1 - place) + 0.5)
        x, side = position(row["rank"], last), SIDE - 8.0 if left else WIDTH - SIDE + 8.0
        rules += [_rule(x, AXIS, x, depth), _rule(side, depth, x, depth)]
        label = f"{named(row['system'], 18)} {row['rank']:.2f}"
        names.append(
            {"x": side - 5 if left else side + 5, "y": depth, "label": label, "side": "right" if left else "left"}
        )
    bars = [
        _rule(position(a, last) - 4, y := AXIS + 8 + BAR * level, position(b, last) + 4, y) for a, b, level in levels
    ]
    layers = [
        _rules(rules, color=INK, strokeWidth=1, opacity=0.8),
        _rules(bars, color=VERMILION, strokeWidth=5, strokeCap="round"),
        *(_texts([name for name in names if name["side"] == side], side) for side in ("left", "right", "center")),
    ]
    if data["distance"] is not None:
        layers += _distance(float(data["distance"]), last)
    return whole(WIDTH, round(below + STEP * max(1, half)), layers)


def position(rank: float, last: int) -> float:
    """Return where a rank is on the axis from 1 to ``last``, in pixels from the left."""
    return SIDE + (rank - 1) / (last - 1) * LINE


def _axis(last: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rules = [_rule(SIDE, AXIS, SIDE + LINE, AXIS)]
    names = []
    step = max(1, math.ceil((last - 1) / 12))
    for rank in range(1, last + 1, step):
        x = position(rank, last)
        rules.append(_rule(x, AXIS - 6, x, AXIS))
        names.append({"x": x, "y": AXIS - 14, "label": str(rank), "side": "center"})
    return rules, names


def _distance(distance: float, last: int) -> list[Spec]:
    """Draw the critical difference from rank 1 on; what is longer than the axis is as long as it."""
    end = min(position(1 + distance, last), SIDE + LINE)
    rules = [_rule(SIDE, 18, end, 18), _rule(SIDE, 14, SIDE, 22), _rule(end, 14, end, 22)]
    label = f"critical difference {distance:.2f}" + (" (more than the axis)" if 1 + distance > last else "")
    return [_rules(rules, color=INK, strokeWidth=1.5), _texts([{"x": SIDE, "y": 4, "label": label}], "left")]


def _levels(ordered: Sequence[Mapping[str, Any]], cliques: Sequence[Sequence[str]]) -> list[tuple[float, float, int]]:
    """Return the bars: first and last rank, and how far down, so that none lies on another."""
    rank = {row["system"]: float(row["rank"]) for row in ordered}
    ends: list[float] = []
    found = []
    for clique in cliques:
        own = sorted(rank[name] for name in clique if name in rank)
        if len(own) < 2:
            continue
        level = next((place for place, end in enumerate(ends) if end < own[0]), len(ends))
        ends[level : level + 1] = [own[-1]]
        found.append((own[0], own[-1], level))
    return found


def _rule(x: float, y: float, x2: float, y2: float) -> dict[str, Any]:
    return {"x": x, "y": y, "x2": x2, "y2": y2}


def _rules(rows: Sequence[Mapping[str, Any]], **mark: Any) -> Spec:
    encoding = {"x": at("x"), "y": at("y"), "x2": {"field": "x2"}, "y2": {"field": "y2"}}
    return {"data": values(rows), "mark": {"type": "rule", **mark}, "encoding": encoding}


def _texts(rows: Sequence[Mapping[str, Any]], align: str) -> Spec:
    mark = {"type": "text", "align": align, "baseline": "middle", "fontSize": SMALL + (align != "center")}
    return {
        "data": values(rows),
        "mark": mark,
        "encoding": {"x": at("x"), "y": at("y"), "text": {"field": "label", "type": "nominal"}},
    }
