"""Windows of several datasets as the encoder at 20 Hz takes them, read when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import CHANNELS, Windows
from gnomon.suites.har.systems.neural import training
from gnomon.suites.har.systems.neural.blocks import STEPS

STANDARD_G = 9.8
"""Metres per second squared by which acceleration is divided."""


class Pool:
    """The windows of several datasets, one after the other."""

    def __init__(self, *pieces: Windows) -> None:
        self.pieces = pieces
        self.ends = np.cumsum([0, *map(len, pieces)])
        for piece in pieces:
            if len(piece) and piece.signals.shape[1:] != (STEPS, len(CHANNELS)):
                raise InputError(
                    f"{piece.dataset}: windows of {piece.signals.shape[1:]}, expected {(STEPS, len(CHANNELS))}: 6 s at "
                    "20 Hz"
                )

    def __len__(self) -> int:
        return int(self.ends[-1])

    def take(self, rows: Array) -> tuple[Array, Array]:
        """Return signals ``(n, 120, 6)`` with acceleration in g, and what counts of them, of the same shape.

        Padding and absent channels do not count, and are zeros.
        """
        signals = np.empty((len(rows), STEPS, len(CHANNELS)), dtype=np.float32)
        counts = np.empty(signals.shape, dtype=np.bool_)
        which = np.searchsorted(self.ends, rows, side="right") - 1
        for place in np.unique(which).tolist():
            mine, piece = which == place, self.pieces[place]
            own = rows[mine] - self.ends[place]
            signals[mine] = piece.signals[own]
            counts[mine] = piece.valid[own][:, :, None] & piece.mask[own][:, None, :]
        signals[..., :3] /= STANDARD_G
        return np.where(counts, signals, np.float32(0)), counts


def tensors(*arrays: Array) -> tuple[Any, ...]:
    """Return arrays as tensors on the device in use."""
    torch, where = training.torch(), training.device()
    return tuple(torch.from_numpy(np.ascontiguousarray(array)).to(where) for array in arrays)


def chosen(rows: Sequence[int] | Array, *values: Any) -> tuple[Any, ...]:
    """Return some rows of tensors."""
    index = training.torch().as_tensor(np.asarray(rows), device=values[0].device)
    return tuple(value[index] for value in values)
