"""A figure by itself, as ``result.plot()`` returns it: it shows in a notebook, and it is saved as a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.core.errors import InputError, instead
from gnomon.report import figures
from gnomon.report.figures import drawing

if TYPE_CHECKING:
    from gnomon.core.table import View
    from gnomon.report.figures.style import Spec


@dataclass(frozen=True)
class Figure:
    """One view of a result, to be drawn; ``spec`` is the Vega-Lite specification, as plain data."""

    view: View

    @property
    def name(self) -> str:
        """What ``result.plot`` calls it."""
        return self.view.name

    @property
    def spec(self) -> Spec:
        """The figure as Vega-Lite, with its title; other tools can draw and change it."""
        return figures.figure(self.view, titled=True)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure as SVG, PNG or PDF, by the suffix of the path; needs ``gnomon[report]``."""
        target = Path(path)
        kind = target.suffix.lower().removeprefix(".")
        if kind not in figures.FILES:
            raise InputError(f"{target}: no kind of figure {target.suffix!r}; {instead(kind, figures.FILES)}")
        content = figures.FILES[kind](self.spec, figures.described(self.view))
        try:
            target.write_bytes(content)
        except OSError as error:
            raise InputError(f"{target}: cannot be written: {error.strerror or error}") from error
        return target

    def __repr__(self) -> str:
        return f"<figure {self.name!r}: {figures.described(self.view)}>"

    def _repr_html_(self) -> str:
        """Return the drawing, in the colour of the text around it; how to get what draws, where that is missing."""
        if not drawing.available():
            return f"<p>{drawing.NEEDED}</p>"
        return f'<div class="gnomon-figure">{drawing.svg(self.spec, figures.described(self.view), self.name)}</div>'
