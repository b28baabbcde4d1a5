"""Ids that may be in one shard only: every part keeps the hashes of its own, and all are compared, range by range.

A hash is eight bytes (:func:`gnomon.intake.texts.hashes`), so that what is kept is far less than what was read; of all
of them about :data:`ROOM` are held at a time. Files are read, not mapped: what was looked at of a map stays in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.intake.shards import Plain

NAME = "ids.npy"
ROOM = 4_000_000
"""Hashes that are held at a time, about."""
MOST = 5
"""Hashes that are told."""


def write(hashes: Array, folder: Path) -> None:
    """Keep the hashes of the ids of a part in its folder."""
    np.save(folder / NAME, np.sort(hashes))


def twice(folders: Sequence[Path]) -> list[tuple[int, list[int]]]:
    """Return some hashes that several parts have, each with the places of these parts."""
    kept = [_Kept(Plain.open(folder / NAME), max(ROOM // len(folders), 1)) for folder in folders]
    count = max(-(-sum(len(own.file) for own in kept) // ROOM), 1)
    found: list[tuple[int, list[int]]] = []
    for cut in [*(np.uint64(place * (2**64 // count)) for place in range(1, count)), None]:
        slices = [own.below(cut) for own in kept]
        whole = np.sort(np.concatenate([*slices, np.zeros(0, dtype=np.uint64)]))
        for one in np.unique(whole[1:][whole[1:] == whole[:-1]]).tolist():
            places = [place for place, own in enumerate(slices) if _has(own, np.uint64(one))]
            found.append((one, places))
            if len(found) == MOST:
                return found
    return found


@dataclass
class _Kept:
    """The hashes of a part, which are read as far as they are asked for, `step` at a time."""

    file: Plain
    step: int
    at: int = 0
    rest: Array = field(default_factory=lambda: np.zeros(0, np.uint64))

    def below(self, cut: np.uint64 | None) -> Array:
        """Return those below a cut that were not asked for before; all that are left without one."""
        held = [self.rest]
        while self.at < len(self.file) and (cut is None or not len(held[-1]) or held[-1][-1] < cut):
            size = min(self.step, len(self.file) - self.at)
            place = self.file.start + self.at * self.file.row_bytes
            held.append(np.fromfile(self.file.path, self.file.dtype, size, offset=place))
            self.at += size
        whole = np.concatenate(held)
        end = len(whole) if cut is None else int(np.searchsorted(whole, cut))
        self.rest = whole[end:].copy()
        return whole[:end]


def _has(own: Array, one: np.uint64) -> bool:
    place = int(np.searchsorted(own, one))
    return place < len(own) and bool(own[place] == one)
