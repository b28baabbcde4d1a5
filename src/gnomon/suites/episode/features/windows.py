"""Windows of an episode: 20 frames every 5, and the label that most of their frames have.

Conventions
-----------
- Window i reads the frames 5i to 5i + 19; its centre is frame 5i + 9. A window lies inside the episode, so what is left
  at its end is not used.
- A label of a window is the most common label of its frames that have one (the first met where two are equally common),
  if at least 60 % of these frames have it, else empty. ``N/A`` is no label.
- The share is that of the most common label among the frames that have one, also where it is too small; it is None
  (in the file an empty cell) where no frame has one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.intake.tables import read_table
from gnomon.intake.writing import write_table
from gnomon.suites.episode.features.blocks import CENTRE, LENGTH, STRIDE

LEAST = 0.6
NO_LABEL = ("", "N/A")
"""What counts as no label."""
COLUMNS = (
    "window_index",
    "start_frame",
    "end_frame",
    "center_frame",
    "action_label",
    "action_fraction",
    "subtask_label",
    "subtask_fraction",
)
"""Columns of ``windows.csv``; ``end_frame`` is the last frame of the window."""
Columns = dict[str, list[Any]]

__all__ = [
    "CENTRE",
    "COLUMNS",
    "LEAST",
    "LENGTH",
    "NO_LABEL",
    "STRIDE",
    "Columns",
    "majority",
    "read_windows",
    "starts",
    "window_table",
    "write_windows",
]


class Labelled(Protocol):
    """What is read of the labels of frames."""

    @property
    def action(self) -> tuple[str, ...]:
        """Action of every frame, empty where there is none."""

    @property
    def subtask(self) -> tuple[str, ...]:
        """Sub-task of every frame, empty where there is none."""


def starts(n_frames: int) -> Array:
    """Return the first frame of every window, ``(n,)`` int64.

    >>> starts(31).tolist(), len(starts(5821)), len(starts(19))
    ([0, 5, 10], 1161, 0)
    """
    return np.arange(0, max(0, n_frames - LENGTH + 1), STRIDE, dtype=np.int64)


def majority(labels: Iterable[str], least: float = LEAST) -> tuple[str, float | None]:
    """Return the label of a window and its share of the frames that have a label.

    >>> majority(["cut", "", "N/A", "cut", "pour"])
    ('cut', 0.6666666666666666)
    >>> majority(["pour", "cut"]), majority(["", "N/A"])
    (('', 0.5), ('', None))
    """
    counts = Counter(label for label in labels if label not in NO_LABEL)
    if not counts:
        return "", None
    label, count = counts.most_common(1)[0]
    share = count / counts.total()
    return (label if share >= least else ""), share


def window_table(frame_labels: Labelled, n_frames: int) -> Columns:
    """Return the columns of ``windows.csv``.

    Parameters
    ----------
    frame_labels
        Action and sub-task of every frame.
    n_frames
        Frames of the episode.
    """
    for name in ("action", "subtask"):
        if len(getattr(frame_labels, name)) != n_frames:
            found = len(getattr(frame_labels, name))
            raise InputError(f"windows: expected a label of {name} for {n_frames} frames, but got {found}")
    first = starts(n_frames).tolist()
    columns: Columns = {
        "window_index": list(range(len(first))),
        "start_frame": first,
        "end_frame": [start + LENGTH - 1 for start in first],
        "center_frame": [start + CENTRE for start in first],
    }
    for name, labels in (("action", frame_labels.action), ("subtask", frame_labels.subtask)):
        found_labels = [majority(labels[start : start + LENGTH]) for start in first]
        columns[f"{name}_label"] = [label for label, _ in found_labels]
        columns[f"{name}_fraction"] = [share for _, share in found_labels]
    return columns


def write_windows(columns: Mapping[str, list[Any]], path: str | PathLike[str]) -> None:
    """Write the table of windows."""
    kinds = {"label": pa.string(), "fraction": pa.float64()}
    arrays = [pa.array(columns[name], type=kinds.get(name.rpartition("_")[2], pa.int64())) for name in COLUMNS]
    write_table(pa.table(arrays, names=list(COLUMNS)), path)


def read_windows(path: str | PathLike[str]) -> Columns:
    """Return a table of windows; labels that are missing are empty text, shares that are missing None."""
    table = read_table(path, text=[name for name in COLUMNS if name.endswith("_label")])
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise InputError(f"{shown(path)}: no column {missing[0]!r}; compute the features again")
    columns: Columns = {name: table.column(name).to_pylist() for name in COLUMNS}
    for name in COLUMNS:
        if name.endswith("_label"):
            columns[name] = ["" if label is None else label for label in columns[name]]
        elif name.endswith("_fraction"):
            columns[name] = [None if share is None else float(share) for share in columns[name]]
    return columns
