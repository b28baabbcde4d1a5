"""Tables for machines: JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from gnomon.core.table import Table, View


def render_json(items: Sequence[Table | View]) -> str:
    """Return tables and views with everything they hold."""
    record = {
        "tables": [item.record() for item in items if isinstance(item, Table)],
        "views": [item.record() for item in items if isinstance(item, View)],
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def render_csv(items: Sequence[Table | View]) -> str:
    """Return tables in full precision, one under another, each under a ``# title`` line where there are several."""
    tables = [item for item in items if isinstance(item, Table)]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for index, table in enumerate(tables):
        if len(tables) > 1:
            stream.write(("\n" if index else "") + f"# {table.name}: {table.title}\n")
        rows = table.flat()
        keys = list(rows[0]) if rows else [column.key for column in table.columns]
        writer.writerow(keys)
        writer.writerows([["" if row[key] is None else row[key] for key in keys] for row in rows])
    return stream.getvalue()
