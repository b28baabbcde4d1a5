"""Audacity label tracks, and other text with cells between tabs that are never quoted, such as the TSV of DCASE.

Conventions
-----------
- An Audacity track has no header: start, end and label in seconds. A line that begins with a backslash holds the range
  of frequencies of the label before it, and is left out. A track without labels is an empty file.
- DCASE files have the same cells behind the name of the recording, with or without a header.
- UTF-8, with or without a byte order mark. Blank lines are left out; line numbers count them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import pyarrow as pa

from gnomon.core.errors import InputError
from gnomon.intake.documents import read_bytes
from gnomon.intake.faults import guarded, shown
from gnomon.intake.limits import Limits

TRACK = ("start", "end", "label")
"""Cells of a line without header."""
DCASE = ("filename", "onset", "offset", "event_label")
"""Cells of a line with four cells and without header."""


def read_tabbed(
    path: str | os.PathLike[str], is_header: Callable[[Sequence[str]], bool], limits: Limits
) -> tuple[pa.Table, list[int]]:
    """Return the cells of a file as text, by column, and the line of every row.

    ``is_header`` says whether the cells of the first line are names of columns.
    """
    lines = _split_lines(path, limits)
    head = [cell.strip() for cell in lines[0][1]] if lines else []
    if is_header(head):
        del lines[0]
        _check_header(path, head)
    else:
        head = list(TRACK if len(head) < len(DCASE) else DCASE)
        lines = [line for line in lines if line[1][0] != "\\"]
    wrong = next((number for number, cells in lines if len(cells) != len(head)), None)
    if wrong is not None:
        raise InputError(f"{shown(path)}: row {wrong}: expected {len(head)} cells ({', '.join(head)}) between tabs")
    columns = {name: pa.array([cells[k] for _, cells in lines], pa.string()) for k, name in enumerate(head)}
    return pa.table(columns), [number for number, _ in lines]


def _check_header(path: str | os.PathLike[str], head: Sequence[str]) -> None:
    twice = next((name for name in head if head.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{shown(path)}: row 1: the column {shown(twice, 80)!r} is there twice; keep one")


def _split_lines(path: str | os.PathLike[str], limits: Limits) -> list[tuple[int, list[str]]]:
    """Return the cells of lines that are not blank, with their numbers."""
    with guarded(path, "cannot be read as text", "save it as UTF-8"):
        empty = os.path.isfile(path) and not os.path.getsize(path)
        text = "" if empty else read_bytes(path, limits).decode("utf-8-sig")
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [(number, line.split("\t")) for number, line in enumerate(lines, start=1) if line.strip()]
