"""An item of a report as texts to take away."""

from __future__ import annotations

import json

from gnomon.core.table import Table
from gnomon.report import latex, plain
from gnomon.report.sections import Item

LABELS = {"json": "JSON", "csv": "CSV", "tex": "LaTeX"}


def texts(item: Item) -> dict[str, str]:
    """Return an item by the end of a file's name: a table as JSON, CSV and LaTeX, a view as JSON."""
    held = json.dumps(item.record(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    if not isinstance(item, Table):
        return {"json": held}
    return {"json": held, "csv": plain.render_csv([item]), "tex": latex.render([item])}
