"""Rendering: one model of tables and views, many formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gnomon.core.errors import InputError
from gnomon.core.suite import load

if TYPE_CHECKING:
    from gnomon.core.table import Table, View

FORMATS = {
    "terminal": "gnomon.report.terminal:render",
    "json": "gnomon.report.plain:render_json",
    "csv": "gnomon.report.plain:render_csv",
    "markdown": "gnomon.report.markdown:render",
    "latex": "gnomon.report.latex:render",
    "html": "gnomon.report.html:render",
}


def render(items: Sequence[Table | View], format: str) -> str:
    """Render tables and views as text in one of the formats."""
    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    function: Callable[[Sequence[Table | View]], str] = load(FORMATS[format])
    return function(items)
