"""From a Vega-Lite figure to SVG, PNG and PDF, by ``vl-convert`` (extra ``report``), without a browser or a network."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from gnomon.core.errors import MissingExtraError
from gnomon.report.figures.style import DARK, INK, Spec
from gnomon.report.markup import Markup, clean

NEEDED = "figures need vl-convert-python, which is not installed: pip install 'gnomon[report]'"
SVG = "http://www.w3.org/2000/svg"
SCALE = 2.0
"""Pixels of a PNG for each of the figure."""
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
    found: bytes = converter().vegalite_to_png({**_dark(spec), "background": "#ffffff"}, scale=SCALE)
    return found


def pdf(spec: Spec) -> bytes:
    """Return a figure for print, dark on white."""
    found: bytes = converter().vegalite_to_pdf({**_dark(spec), "background": "#ffffff"})
    return found


def _drawn(spec: Spec) -> ElementTree.Element:
    drawn = ElementTree.fromstring(converter().vegalite_to_svg(spec))  # noqa: S314 - our own drawing, not a file
    for name in ("class", "version"):
        drawn.attrib.pop(name, None)
    for element in drawn.iter():
        for name in ("class", "role", "aria-roledescription", "aria-hidden", "aria-label", "pointer-events"):
            element.attrib.pop(name, None)
    return drawn


def _labelled(drawn: ElementTree.Element, label: str) -> None:
    drawn.set("role", "img")
    drawn.set("aria-label", clean(label))


def _text(drawn: ElementTree.Element) -> str:
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(drawn, encoding="unicode")


def _dark(value: Any) -> Any:
    """Put dark ink in the place of ours, wherever it stands as a whole value."""
    if isinstance(value, dict):
        return {key: _dark(own) for key, own in value.items()}
    if isinstance(value, list):
        return [_dark(own) for own in value]
    return DARK if value == INK else value
