"""Features on disk: a folder with the vectors of all windows of one episode, read without being loaded.

``features.npy`` ``(windows, 8378)`` float32, ``coverage.npy`` ``(windows, 17)`` float32, ``feature_manifest.json``,
``windows.csv`` and ``facts.json`` (which streams were there, why blocks are masked, what it took).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake import npy
from gnomon.intake.documents import read_json
from gnomon.intake.faults import guarded, shown
from gnomon.suites.episode.features.blocks import BLOCKS, DIM, NAMES, column_numbers, manifest
from gnomon.suites.episode.features.windows import Columns, read_windows

VALUES, COVERAGE = "features.npy", "coverage.npy"
MANIFEST, WINDOWS, FACTS = "feature_manifest.json", "windows.csv", "facts.json"
_AGAIN = "compute the features again"


@dataclass(frozen=True, eq=False)
class Features:
    """The feature vectors of an episode.

    Attributes
    ----------
    values
        ``(windows, 8378)`` float32, on disk until it is looked at.
    coverage
        ``(windows, 17)`` float32: the share of a block's numbers in a window that could be read.
    manifest
        What ``feature_manifest.json`` says.
    windows
        Columns of ``windows.csv``.
    facts
        What ``facts.json`` says.
    """

    values: Array
    coverage: Array
    manifest: dict[str, Any]
    windows: Columns
    facts: dict[str, Any]

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Features:
        """Return the features that are stored in a folder.

        Raises
        ------
        InputError
            A file is missing or damaged, or the files do not belong together.
        """
        base = Path(folder)
        about, facts = read_json(base / MANIFEST), read_json(base / FACTS)
        if about != manifest():
            raise InputError(f"{shown(base / MANIFEST)}: not the blocks that are made here; {_AGAIN}")
        if not isinstance(facts, dict):
            raise InputError(f"{shown(base / FACTS)}: expected an object; {_AGAIN}")
        windows = read_windows(base / WINDOWS)
        n = len(windows["window_index"])
        values, coverage = _mapped(base / VALUES, (n, DIM)), _mapped(base / COVERAGE, (n, len(BLOCKS)))
        return cls(values, coverage, manifest(), windows, facts)

    def columns(self, blocks: Sequence[str]) -> Array:
        """Return the columns of blocks, in the order of their names, ``(d,)`` int64."""
        return np.array(column_numbers(blocks), dtype=np.int64)

    def covered(self, block: str) -> Array:
        """Return the coverage of a block, ``(windows,)``."""
        if block not in NAMES:
            raise InputError(f"features: no block {block!r}; there are {', '.join(NAMES)}")
        found: Array = self.coverage[:, NAMES.index(block)]
        return found


def blank(path: Path, rows: int) -> Array:
    """Return an array of zeros on disk, ``(rows, 8378)`` float32, to be filled in."""
    return npy.blank(path, (rows, DIM), "<f4")


def _mapped(path: Path, shape: tuple[int, int]) -> Array:
    with guarded(path, "not a readable array", _AGAIN):
        found: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    if found.shape != shape or found.dtype != np.float32:
        raise InputError(f"{shown(path)}: {found.dtype} of {found.shape}, expected float32 of {shape}; {_AGAIN}")
    return found
