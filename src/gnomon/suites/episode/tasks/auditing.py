"""Samples of a task in the form that leak checks read.

Tags
----
``episode``, ``session``, ``segment``
    Where a sample is from.
``target``
    Its true class, for tasks with classes.
``block:NAME``
    The kind of an input block that it reads.
``frame:hands``, ``frame:root``
    The coordinate frames of what is subtracted for its target, for the forecast of hands.
``validity``
    Whether its target was there: ``all``, ``part`` or ``none`` of it; for targets that are measured.

The case of a sample is its episode: ranges are frames of that.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnomon.audit.inputs import BLOCK
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array
from gnomon.runs.auditing import TARGET
from gnomon.suites.episode.tasks import inputs, targets
from gnomon.suites.episode.tasks.data import Table
from gnomon.suites.episode.tasks.declared import FORECAST, block_kinds, input_blocks
from gnomon.suites.episode.tasks.taskdata import TaskData
from gnomon.suites.episode.tasks.validity import entries

FRAME = "frame:"
"""A tag of this prefix holds the coordinate frame of what it names."""


def samples(data: TaskData, features: Mapping[str, Table] | None = None) -> Samples:
    """Return the samples of a task for the audit; without features, those of the recorded episodes are hashed."""
    tables = data.tables(features)
    digests: list[str] = []
    for name, _, rows in data.pieces():
        digests += inputs.digests(tables[name], data.task, data.variant, rows)
    return Samples(
        ids=data.ids,
        cases=data.episode,
        parts=data.part,
        input_range=data.input_range,
        target_range=data.target_range,
        digests=tuple(digests),
        tags=_tags(data),
    )


def _tags(data: TaskData) -> dict[str, tuple[str, ...]]:
    kinds = block_kinds()
    tags = {
        "episode": data.episode,
        "session": tuple(data.recorded[name].session for name in data.episode),
        "segment": data.segment,
        **{BLOCK + name: (kinds[name],) * len(data) for name in input_blocks(data.task, data.variant)},
    }
    if data.labels:
        tags[TARGET] = data.labels
    for side, by_episode in frames(data).items():
        tags[FRAME + side] = tuple(by_episode[name] for name in data.episode)
    total, invalid, _ = entries(data)
    if total.any():
        tags["validity"] = _validity(total, invalid)
    return tags


def _validity(total: Array, invalid: Array) -> tuple[str, ...]:
    words = np.where(invalid == 0, "all", np.where(invalid < total, "part", "none"))
    return tuple(words.tolist())


def frames(data: TaskData) -> dict[str, dict[str, str]]:
    """Return, for what is subtracted for a target, its coordinate frame by episode; nothing where nothing is."""
    if data.task.name != FORECAST:
        return {}
    known = {name: targets.flags(one, data.variant).frames for name, one in data.recorded.items()}
    return {side: {name: own[k] for name, own in known.items()} for k, side in enumerate(("hands", "root"))}


def quantities(data: TaskData) -> dict[str, dict[str, dict[str, str]]]:
    """Return the sides of a subtraction with their tags by episode, for the check of units and frames."""
    return {
        side: {name: {"unit": "m", "frame": frame} for name, frame in by_episode.items()}
        for side, by_episode in frames(data).items()
    }
