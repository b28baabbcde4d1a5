"""Figures of wholes and their parts: ``bars``.

Every bar is a whole of the same length. Parts stand in the order that they are given in; what is right has one calm
colour, errors have one by their letter, and the letter itself: in the part, or under it where that is too narrow. A
part that is not zero is never narrower than :data:`LEAST` pixels; the others then share the rest in proportion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.report.figures.style import (
    APART,
    CALM,
    INK,
    LETTER,
    PALETTE,
    SIZE,
    SMALL,
    WIDTH,
    Spec,
    at,
    contrast,
    named,
    values,
    whole,
)

LENGTH = WIDTH - 20
LEAST = 3.0
ROW = 50
TOP, BOTTOM = 16, 36
"""Of a bar within its row."""
BOLD = 0.7
"""Width of a bold letter for each pixel of its size."""
SHIFT = 24
"""Pixels by which a letter under a part may give way to its neighbour."""
BY_LETTER = {"D": 1, "F": 4, "M": 5, "U": 6, "I": 3, "O": 0}
"""Place in the palette of errors whose names begin with a letter that is known."""


def bars(data: Mapping[str, Any]) -> Spec:
    """Draw divided bars, each under its name and what is said of it."""
    colours = _colours(data["bars"], data["right"])
    boxes: list[dict[str, Any]] = []
    inside: list[dict[str, Any]] = []
    under: list[dict[str, Any]] = []
    frames, names, words = [], [], []
    for number, bar in enumerate(data["bars"]):
        top = number * ROW
        start, taken = 0.0, -1e9
        said = named(bar["text"], 62)
        room = (LENGTH - APART - len(said) * LETTER * SMALL) / (BOLD * SIZE)
        names.append({"x": 0, "y": top + 7, "label": named(bar["label"], max(8, min(42, int(room))))})
        words.append({"x": LENGTH, "y": top + 7, "label": said})
        frames.append({"x": 0, "x2": LENGTH, "y": top + TOP, "y2": top + BOTTOM})
        for name, width in widths(bar["parts"], LENGTH).items():
            end, middle = start + width, start + width / 2
            boxes.append({"x": start, "x2": end, "y": top + TOP, "y2": top + BOTTOM, "fill": colours[name]})
            letters = named(name, 8)
            room = len(letters) * LETTER * SMALL
            if width >= room + 4:
                ink = contrast(colours[name])
                inside.append({"x": middle, "y": top + (TOP + BOTTOM) / 2, "label": letters, "ink": ink})
            elif (spot := max(middle, taken + room / 2)) - middle < SHIFT:
                under.append({"x": spot, "y": top + BOTTOM + 7, "label": letters})
                taken = spot + room / 2 + 5
            start = end
    place = {"x": at("x"), "x2": {"field": "x2"}, "y": at("y"), "y2": {"field": "y2"}}
    fill = {"fill": {"field": "fill", "type": "nominal", "scale": None}}
    layers: list[Spec] = [
        {
            "data": values(frames),
            "mark": {"type": "rect", "filled": False, "stroke": INK, "strokeOpacity": 0.4},
            "encoding": place,
        },
        {
            "data": values(boxes),
            "mark": {"type": "rect", "stroke": "#ffffff", "strokeWidth": 0.5},
            "encoding": {**place, **fill},
        },
        _text(names, "left", fontWeight="bold"),
        _text(words, "right", opacity=0.8, fontSize=SMALL),
        _text(under, "center", fontSize=SMALL - 1),
        {
            **_text(inside, "center", fontSize=SMALL),
            "encoding": {**_spot(), "color": {"field": "ink", "type": "nominal", "scale": None}},
        },
    ]
    return whole(LENGTH, max(1, len(data["bars"])) * ROW, layers)


def widths(parts: Mapping[str, float], length: float, least: float = LEAST) -> dict[str, float]:
    """Share a length among the parts that are not zero, in proportion, but at least so much for each.

    >>> widths({"D": 1, "C": 3, "I": 0}, 100)
    {'D': 25.0, 'C': 75.0}
    >>> widths({"D": 1, "C": 999}, 100)
    {'D': 3.0, 'C': 97.0}
    """
    kept = {name: float(value) for name, value in parts.items() if value > 0}
    if not kept:
        return {}
    small: set[str] = set()
    while True:
        rest = length - least * len(small)
        total = sum(value for name, value in kept.items() if name not in small)
        found = {name: least if name in small else value / total * rest for name, value in kept.items()}
        narrow = {name for name, width in found.items() if width < least and name not in small}
        if not narrow or len(small) + len(narrow) == len(kept):
            return found
        small |= narrow


def _colours(bars: Sequence[Mapping[str, Any]], right: Sequence[str]) -> dict[str, str]:
    """Return the colour of every part: errors of one letter share theirs."""
    found: dict[str, str] = {}
    others: dict[str, int] = {}
    for name in dict.fromkeys(name for bar in bars for name in bar["parts"]):
        letter = name.rstrip("'")
        if name in right:
            found[name] = CALM
        elif letter[:1] in BY_LETTER and letter[1:] in ("", "s", "e"):
            found[name] = PALETTE[BY_LETTER[letter[0]]]
        else:
            order = (7, *(place for place in range(len(PALETTE)) if place not in (2, 7)))
            found[name] = PALETTE[order[others.setdefault(letter, len(others)) % len(order)]]
    return found


def _spot() -> Spec:
    return {"x": at("x"), "y": at("y"), "text": {"field": "label", "type": "nominal"}}


def _text(rows: Sequence[Mapping[str, Any]], align: str, **more: Any) -> Spec:
    mark = {"type": "text", "align": align, "baseline": "middle", **more}
    return {"data": values(rows), "mark": mark, "encoding": _spot()}
