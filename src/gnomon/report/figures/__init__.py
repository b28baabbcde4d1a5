"""Views as pictures: SVG for pages, and SVG, PNG and PDF as files.

:func:`drawable` says whether a view is a figure; timelines, scenes and motions are not, they are looked at in the
dashboard. Each kind is a function from the data of a view to a Vega-Lite figure, written as plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gnomon.core.errors import InputError
from gnomon.core.suite import load
from gnomon.core.table import View
from gnomon.report.figures import drawing
from gnomon.report.figures.style import Spec, finished
from gnomon.report.figures.words import summary
from gnomon.report.markup import Markup, shortened

KINDS = {
    "bars": "gnomon.report.figures.divided:bars",
    "curves": "gnomon.report.figures.lines:curves",
    "gap": "gnomon.report.figures.dots:gap",
    "heat": "gnomon.report.figures.grids:heat",
    "intervals": "gnomon.report.figures.dots:intervals",
    "matrix": "gnomon.report.figures.grids:matrix",
    "ranks": "gnomon.report.figures.critical:ranks",
    "strips": "gnomon.report.figures.dots:strips",
}
FILES: Mapping[str, Callable[[Spec, str], bytes]] = {
    "svg": drawing.svg_file,
    "png": lambda spec, _: drawing.png(spec),
    "pdf": lambda spec, _: drawing.pdf(spec),
}
"""What files of figures are made, by the end of their names."""


def drawable(view: View) -> bool:
    """Say whether a view is a figure."""
    return view.kind in KINDS


def figure(view: View, *, titled: bool = False) -> Spec:
    """Return a view as a Vega-Lite figure, with its title in the picture where that is asked for."""
    if not drawable(view):
        raise InputError(f"no figure of kind {view.kind!r}; there are {', '.join(KINDS)}")
    function: Callable[[Mapping[str, Any]], Spec] = load(KINDS[view.kind])
    return finished(function(view.data), view.title if titled else "")


def inline(view: View, prefix: str = "") -> Markup:
    """Return a view as SVG to be put into a page; ids in it begin with ``prefix``."""
    return drawing.svg(figure(view), described(view), prefix)


def files(view: View) -> dict[str, bytes]:
    """Return a view as files by the end of their names, its title in the picture."""
    spec = figure(view, titled=True)
    return {end: function(spec, described(view)) for end, function in FILES.items()}


def described(view: View) -> str:
    """Return the title of a view and a sentence about what it shows, for those who do not see it."""
    return f"{shortened(view.title, 200)}. {shortened(summary(view), 400)}"
