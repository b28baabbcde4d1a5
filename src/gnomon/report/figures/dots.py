"""Figures of numbers on a scale: ``intervals``, ``gap`` and ``strips``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.report.figures.style import (
    GUTTER,
    INK,
    PALETTE,
    ROW,
    VERMILION,
    WIDTH,
    Spec,
    along,
    at,
    named,
    span,
    texts,
    values,
    whole,
    written,
)

PLOT = WIDTH - GUTTER - 170
"""Pixels of the scale; the rest is for names at the left and numbers at the right."""
BAND = 34
"""Pixels of a strip."""
ARROWS = {"up": "higher is better", "down": "lower is better"}


def intervals(data: Mapping[str, Any]) -> Spec:
    """Draw a dot with whiskers for each system, its value at the right; a diamond is the one that is marked as best."""
    rows = [{**row, "y": (index + 0.5) * ROW} for index, row in enumerate(data["rows"])]
    digits = int(data.get("digits", 3))
    domain = span(number for row in rows for number in (row["value"], row["low"], row["high"]))
    x = along("value", domain, _axis(data), PLOT)
    drawn = [row for row in rows if row["value"] is not None]
    spread = [row for row in drawn if row["low"] is not None and row["high"] is not None]
    ends = [{"y": row["y"], "value": row[end]} for row in spread for end in ("low", "high")]
    layers: list[Spec] = [
        {
            "data": values({"y": row["y"], "value": row["low"], "high": row["high"]} for row in spread),
            "mark": {"type": "rule", "color": PALETTE[0], "strokeWidth": 2},
            "encoding": {"x": x, "x2": {"field": "high"}, "y": at("y")},
        },
        {
            "data": values(ends),
            "mark": {
                "type": "tick",
                "color": PALETTE[0],
                "thickness": 2,
                "size": 10,
                "opacity": 1,
                "orient": "vertical",
            },
            "encoding": {"x": x, "y": at("y")},
        },
        _points([row for row in drawn if not row.get("best")], x, "circle", PALETTE[0], 70),
        _points([row for row in drawn if row.get("best")], x, "diamond", VERMILION, 130),
        texts([{"y": row["y"], "label": named(_system(row))} for row in rows], -10),
        texts([{"y": row["y"], "label": _said(row, digits)} for row in rows], PLOT + 10, "left"),
    ]
    return whole(PLOT, max(1, len(rows)) * ROW, layers)


def gap(data: Mapping[str, Any]) -> Spec:
    """Draw where a system stands under the first and the last variant, joined by a line; a panel per measure."""
    first, last = data["names"]
    panels = [_panel(panel, first, last, number == 0) for number, panel in enumerate(data["panels"])]
    return {"vconcat": panels, "spacing": 14, "resolve": {"scale": {"x": "independent"}}}


def _panel(panel: Mapping[str, Any], first: str, last: str, with_key: bool) -> Spec:
    rows = [{**row, "y": (index + 0.5) * ROW} for index, row in enumerate(panel["rows"])]
    domain = span(number for row in rows for number in (row["first"], row["last"]))
    x = along("value", domain, named(panel["measure"], 60), PLOT)
    both = [row for row in rows if row["first"] is not None and row["last"] is not None]
    starts = [{"y": row["y"], "value": row["first"]} for row in rows if row["first"] is not None]
    ends = [{"y": row["y"], "value": row["last"]} for row in rows if row["last"] is not None]
    layers = [
        {
            "data": values({"y": row["y"], "value": row["first"], "last": row["last"]} for row in both),
            "mark": {"type": "rule", "color": INK, "opacity": 0.5, "strokeWidth": 2},
            "encoding": {"x": x, "x2": {"field": "last"}, "y": at("y")},
        },
        _points(starts, x, "circle", PALETTE[0], 80, filled=False),
        _points(ends, x, "square", VERMILION, 80),
        texts([{"y": row["y"], "label": named(row["system"])} for row in rows], -10),
        texts([{"y": row["y"], "label": _moved(row)} for row in rows], PLOT + 10, "left"),
    ]
    layers += _key(first, last) if with_key else []
    return whole(PLOT, max(1, len(rows)) * ROW, layers)


def _key(first: str, last: str) -> list[Spec]:
    """Return what the two shapes mean, above the first panel."""
    x: list[Spec] = [{"value": 6}, {"value": PLOT / 2}]
    marks: list[Spec] = [
        {"shape": "circle", "color": PALETTE[0], "filled": False},
        {"shape": "square", "color": VERMILION},
    ]
    layers: list[Spec] = []
    for place, mark, name in zip(x, marks, (first, last), strict=True):
        point = {"type": "point", "size": 80, "strokeWidth": 2, "opacity": 1, "filled": True, **mark}
        layers.append({"data": values([{}]), "mark": point, "encoding": {"x": place, "y": {"value": -14}}})
        label = {"type": "text", "align": "left", "baseline": "middle", "dx": 10}
        words = {"x": place, "y": {"value": -14}, "text": {"field": "label", "type": "nominal"}}
        layers.append({"data": values([{"label": named(name, 40)}]), "mark": label, "encoding": words})
    return layers


def strips(data: Mapping[str, Any]) -> Spec:
    """Draw a dot for each case in the strip of its system, and a tick at their mean."""
    systems = list(dict.fromkeys(point["system"] for point in data["points"]))
    top = {system: index * BAND for index, system in enumerate(systems)}
    digits = int(data.get("digits", 3))
    means = {row["system"]: row["value"] for row in data.get("means") or _means(data["points"])}
    domain = span([*(point["value"] for point in data["points"]), *means.values()])
    x = along("value", domain, _axis(data), PLOT)
    dots = [{"value": point["value"], "y": top[point["system"]] + _jitter(point["case"])} for point in data["points"]]
    middles = [{"value": means[system], "y": top[system] + BAND / 2} for system in systems]
    few = len(dots) < 300 * max(1, len(systems))
    layers = [
        {
            "data": values(dots),
            "mark": {"type": "circle", "color": PALETTE[0], "opacity": 0.85 if few else 0.6, "size": 28 if few else 12},
            "encoding": {"x": x, "y": at("y")},
        },
        {
            "data": values(middles),
            "mark": {
                "type": "tick",
                "color": VERMILION,
                "thickness": 3,
                "opacity": 0.9,
                "size": BAND - 6,
                "orient": "vertical",
            },
            "encoding": {"x": x, "y": at("y")},
        },
        texts([{"y": top[s] + BAND / 2, "label": named(s)} for s in systems], -10),
        texts(
            [{"y": top[s] + BAND / 2, "label": f"mean {written(means[s], digits)}"} for s in systems], PLOT + 10, "left"
        ),
    ]
    return whole(PLOT, max(1, len(systems)) * BAND, layers)


def _means(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    held: dict[str, list[float]] = {}
    for point in points:
        held.setdefault(point["system"], []).append(point["value"])
    return [{"system": system, "value": sum(own) / len(own)} for system, own in held.items()]


def _jitter(case: str) -> float:
    """Return the height of a dot in its strip: by the hash of the case, so that it is the same in every strip."""
    digest = hashlib.blake2b(case.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return 5 + (BAND - 10) * int.from_bytes(digest) / 0xFFFFFFFF


def _points(
    rows: Sequence[Mapping[str, Any]], x: Spec, shape: str, colour: str, size: int, *, filled: bool = True
) -> Spec:
    mark = {"type": "point", "shape": shape, "color": colour, "filled": filled, "size": size, "opacity": 1}
    return {
        "data": values({"y": row["y"], "value": row["value"]} for row in rows),
        "mark": {**mark, "strokeWidth": 2},
        "encoding": {"x": x, "y": at("y")},
    }


def _axis(data: Mapping[str, Any]) -> str:
    better = ARROWS.get(str(data.get("direction", "")), "")
    return named(data.get("measure", ""), 60) + (f", {better}" if better else "")


def _system(row: Mapping[str, Any]) -> str:
    variant = row.get("variant")
    return f"{row['system']} [{variant}]" if variant else str(row["system"])


def _said(row: Mapping[str, Any], digits: int) -> str:
    return written(row["value"], digits) + (" best" if row.get("best") else "")


def _moved(row: Mapping[str, Any]) -> str:
    if row["first"] is None or row["last"] is None:
        return "undefined"
    moved = row["last"] - row["first"]
    least = 1e-9 * max(abs(row["first"]), abs(row["last"]))
    return f"{moved:+.3g}" if abs(moved) > least else "no change"
