"""From a Vega-Lite figure to SVG, PNG and PDF, by ``vl-convert`` (extra ``report``), without a browser or a network."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from gnomon.core.errors import MissingExtraError
from gnomon.report.figures.style import DARK, INK, Spec
from gnomon.report.markup import Markup, clean, shortened

NEEDED = "figures need vl-convert-python, which is not installed: pip install 'gnomon[report]'"
SVG = "http://www.w3.org/2000/svg"
SCALE = 2.0
"""Pixels of a PNG for each of the figure."""
LONGEST = 500
"""Characters of a text in a figure."""
NARROW = 540
"""Figures of at most so many pixels may shrink to a small screen; wider ones scroll there."""
_PLACES = frozenset({"d", "transform", "x", "y", "x2", "y2"})
_LONG = re.compile(r"-?\d+\.\d{4,}(?!\d|e)")
"""A number with more digits than can be seen."""
_REFERENCE = re.compile(r"url\(#([^)]*)\)")


def converter() -> Any:
    """Return the module that draws."""
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtraError(NEEDED) from error
    return vl_convert


def available() -> bool:
    """Say whether figures can be drawn here."""
    try:
        converter()
    except MissingExtraError:
        return False
    return True


def svg(spec: Spec, label: str, prefix: str = "") -> Markup:
    """Return a figure for a page: ink of the text around it, ids with a prefix, a label for those who do not see it."""
    drawn = _drawn(spec)
    _labelled(drawn, label)
    if float(drawn.get("width", "0")) <= NARROW:
        drawn.set("class", "narrow")
    names = {own: f"{prefix}-{own}" for element in drawn.iter() if prefix and (own := element.get("id"))}
    for element in drawn.iter():
        for key, value in list(element.attrib.items()):
            if value == INK:
                element.set(key, "currentColor")
            elif key == "id" and value in names:
                element.set(key, names[value])
            elif "url(#" in value:
                element.set(key, _REFERENCE.sub(lambda found: f"url(#{names.get(found[1], found[1])})", value))
    return Markup(_text(drawn))


def svg_file(spec: Spec, label: str) -> bytes:
    """Return a figure as a file of its own: dark on white."""
    drawn = _drawn({**_dark(spec), "background": "#ffffff"})
    _labelled(drawn, label)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + _text(drawn).encode("utf-8") + b"\n"


def png(spec: Spec) -> bytes:
    """Return a figure as pixels, two for each of its own, dark on white."""
    found: bytes = converter().vegalite_to_png({**_dark(_safe(spec)), "background": "#ffffff"}, scale=SCALE)
    return found


def pdf(spec: Spec) -> bytes:
    """Return a figure for print, dark on white."""
    found: bytes = converter().vegalite_to_pdf({**_dark(_safe(spec)), "background": "#ffffff"})
    return found


def _drawn(spec: Spec) -> ElementTree.Element:
    drawn = ElementTree.fromstring(converter().vegalite_to_svg(_safe(spec)))  # noqa: S314 - our own drawing, not a file
    for name in ("class", "version"):
        drawn.attrib.pop(name, None)
    for element in drawn.iter():
        for name in ("class", "role", "aria-roledescription", "aria-hidden", "aria-label", "pointer-events"):
            element.attrib.pop(name, None)
        for name in _PLACES & element.attrib.keys():
            element.set(
                name, _LONG.sub(lambda found: f"{float(found[0]):.3f}".rstrip("0").rstrip("."), element.attrib[name])
            )
        for child in [child for child in element if child.get("d") == ""]:
            element.remove(child)
    return drawn


def _labelled(drawn: ElementTree.Element, label: str) -> None:
    drawn.set("role", "img")
    drawn.set("aria-label", clean(label))


def _text(drawn: ElementTree.Element) -> str:
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(drawn, encoding="unicode")


def _dark(spec: Spec) -> Spec:
    """Put dark ink in the place of ours, wherever it stands as a whole value."""
    found: Spec = _texts(spec, lambda text: DARK if text == INK else text)
    return found


def _safe(spec: Spec) -> Spec:
    """Keep from the converter what would end the whole process: characters that XML does not have, endless texts."""
    found: Spec = _texts(spec, lambda text: shortened(text, LONGEST))
    return found


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    """Change every text in plain data."""
    if isinstance(value, dict):
        return {key: _texts(own, change) for key, own in value.items()}
    if isinstance(value, list):
        return [_texts(own, change) for own in value]
    return change(value) if isinstance(value, str) else value
