"""Divided bars in text: what a whole consists of, however small a part is.

A view of kind ``bars`` holds ``bars`` (each with ``label``, ``parts`` by name in the order of drawing, and the ``text``
that stands behind it) and ``right``, the names of the parts that are no errors.
"""

from __future__ import annotations

from collections.abc import Mapping

FILL, EDGE = "┄", "│"


def lengths(parts: Mapping[str, float], width: int) -> dict[str, int]:
    """Share a width among parts in proportion; every part that is not zero keeps at least one place.

    >>> lengths({"D": 1, "C": 97, "I'": 2, "F": 0}, 20)
    {'D': 1, 'C': 18, "I'": 1}
    """
    kept = {name: value for name, value in parts.items() if value > 0}
    whole = sum(kept.values())
    if not kept:
        return {}
    places = dict.fromkeys(kept, 1)
    for _ in range(width - len(kept)):
        lagging = max(kept, key=lambda name: kept[name] / whole * width - places[name])
        places[lagging] += 1
    return places


def pieces(parts: Mapping[str, float], width: int) -> list[tuple[str, str]]:
    """Return each part's name and what is drawn for it: its name, if there is room, and a line.

    >>> [text for _, text in pieces({"D": 2, "C": 6}, 8)]
    ['D┄', 'C┄┄┄┄┄']
    """
    found = []
    for name, places in lengths(parts, width).items():
        text = name if len(name) <= places else ""
        found.append((name, text + FILL * (places - len(text))))
    return found
