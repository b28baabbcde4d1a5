"""How much of the targets of samples was really there: hands that were seen, streams that had a valid frame."""

from __future__ import annotations

import math

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.features.blocks import NAMES
from gnomon.suites.episode.tasks import targets
from gnomon.suites.episode.tasks.taskdata import CONTACT, FORECAST, TaskData


def entries(data: TaskData) -> tuple[Array, Array]:
    """Return, for every sample, of how many entries its target is, and how many of them are invalid.

    Entries are joints in frames (forecast of hands), windows (contact) and blocks (targets that are features). The
    targets of other tasks are annotations: they have no entries.
    """
    total, invalid = np.zeros(len(data), dtype=np.int64), np.zeros(len(data), dtype=np.int64)
    for name, places, rows in data.pieces():
        one = data.recorded[name]
        if data.task.name == FORECAST:
            seen = targets.ahead(data.paths[name].seen, one.windows[rows], data.task.horizon)
        elif data.task.name == CONTACT:
            seen = targets.touched(one, data.variant)[1][rows, None]
        elif data.task.target_blocks:
            seen = one.features.coverage[rows][:, [NAMES.index(block) for block in data.task.target_blocks]] > 0
        else:
            continue
        total[places] = math.prod(seen.shape[1:])
        invalid[places] = (~seen).sum(axis=tuple(range(1, seen.ndim)))
    return total, invalid
