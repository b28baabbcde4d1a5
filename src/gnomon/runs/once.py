"""Ids that may be in one shard only: every part keeps the hashes of its own, and all are compared, range by range.

A hash is eight bytes (:func:`gnomon.intake.texts.hashes`), so that what is kept is far less than what was read; of all
of them no more than :data:`ROOM` are looked at at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array

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
    held = [np.load(folder / NAME, mmap_mode="r", allow_pickle=False) for folder in folders]
    count = max(-(-sum(map(len, held)) // ROOM), 1)
    cuts = [None, *(np.uint64(place * (2**64 // count)) for place in range(1, count)), None]
    found: list[tuple[int, list[int]]] = []
    for low, high in itertools.pairwise(cuts):
        slices = [own[_at(own, low, 0) : _at(own, high, len(own))] for own in held]
        whole = np.sort(np.concatenate([*slices, np.zeros(0, dtype=np.uint64)]))
        for one in np.unique(whole[1:][whole[1:] == whole[:-1]]).tolist():
            places = [place for place, own in enumerate(slices) if _has(own, np.uint64(one))]
            found.append((one, places))
            if len(found) == MOST:
                return found
    return found


def _at(own: Array, cut: np.uint64 | None, otherwise: int) -> int:
    return otherwise if cut is None else int(np.searchsorted(own, cut))


def _has(own: Array, one: np.uint64) -> bool:
    place = int(np.searchsorted(own, one))
    return place < len(own) and bool(own[place] == one)
