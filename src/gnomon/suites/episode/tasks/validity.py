"""How much of the targets of samples was really there: hands that were seen, streams that had a valid frame."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.features.blocks import NAMES
from gnomon.suites.episode.tasks import targets
from gnomon.suites.episode.tasks.declared import CONTACT, FORECAST

if TYPE_CHECKING:
    from gnomon.suites.episode.tasks.taskdata import TaskData


def entries(data: TaskData) -> tuple[Array, Array, Array]:
    """Return, for every sample, of how many entries its target is, how many are invalid, and how many of those count.

    Entries are joints in frames (forecast of hands), windows (contact) and blocks (targets that are features). The
    targets of other tasks are annotations: they have no entries.
    """
    total, invalid, used = np.zeros((3, len(data)), dtype=np.int64)
    for name, places, rows in data.pieces():
        one = data.recorded[name]
        if data.task.name == FORECAST:
            known, first = targets.flags(one, data.variant), one.windows[rows]
            seen, counted = (
                targets.joints(targets.ahead(flags, first, data.task.horizon)) for flags in (known.seen, known.valid)
            )
        elif data.task.name == CONTACT:
            seen = targets.touched(one, data.variant)[1][rows, None]
            counted = np.ones_like(seen)
        elif data.task.target_blocks:
            seen = one.features.coverage[rows][:, [NAMES.index(block) for block in data.task.target_blocks]] > 0
            counted = data.counted(name, rows)
        else:
            continue
        total[places] = math.prod(seen.shape[1:])
        every = tuple(range(1, seen.ndim))
        invalid[places], used[places] = (~seen).sum(axis=every), (~seen & counted).sum(axis=every)
    return total, invalid, used
