"""The last that was known before the target: what baselines that learn nothing repeat.

The last known frame is the last one before the target that is not after the input: the frame before the window where
the target is the window itself, the last frame of the window where the target lies ahead. Labels of it come from the
annotation, so a baseline that repeats them is told more than a system that sees the sensors alone.
"""

from __future__ import annotations

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.features.windows import LENGTH
from gnomon.suites.episode.tasks.declared import CONTACT, FORECAST
from gnomon.suites.episode.tasks.targets import CONTACT as LEAST_SCORE
from gnomon.suites.episode.tasks.targets import FEET
from gnomon.suites.episode.tasks.taskdata import TaskData
from gnomon.suites.episode.tasks.vocabulary import named


def last_frames(data: TaskData) -> Array:
    """Return the last known frame of every sample, ``(n,)``; -1 where there is none."""
    return np.asarray(np.minimum(data.target_range[:, 0], data.input_range[:, 1]) - 1)


def last_labels(data: TaskData) -> tuple[str, ...] | None:
    """Return the label of the last known frame, empty where it has none; None where a frame has no such label."""
    frames = last_frames(data).tolist()
    if data.task.name == CONTACT:
        return tuple(_contact(data, name, frame) for name, frame in zip(data.episode, frames, strict=True))
    if data.task.kind != "label":
        return None
    found = []
    for name, frame in zip(data.episode, frames, strict=True):
        labels = data.recorded[name].labels
        column = labels.subtask if data.task.name == "timeline_subtask" else labels.action
        found.append(named(column[frame]) if frame >= 0 else "")
    return tuple(found)


def _contact(data: TaskData, name: str, frame: int) -> str:
    scores, valid = data.recorded[name].contacts
    if frame < 0 or not valid[frame]:
        return ""
    own = np.delete(scores[frame], FEET) if data.variant == "strict" else scores[frame]
    return data.task.classes[int(own.max() >= LEAST_SCORE)]


def last_sets(data: TaskData) -> tuple[frozenset[str], ...] | None:
    """Return the names of the last known frame; None where the target is no set of names."""
    if data.task.kind != "multilabel":
        return None
    frames = zip(data.episode, last_frames(data).tolist(), strict=True)
    return tuple(data.recorded[name].labels.objects[k] if k >= 0 else frozenset() for name, k in frames)


def last_vectors(data: TaskData, where: Array | None = None) -> tuple[Array, Array] | None:
    """Return the hands that the window saw last, repeated over the horizon, and where there are any.

    Vectors ``(n, 1260)`` float32 and their validity, laid out as the targets: every joint from the last frame of the
    window in which it counts as a value. None where the target is no path of hands.
    """
    if data.task.name != FORECAST:
        return None
    vectors, valid = [], []
    for name, _, rows in data.pieces(where):
        first = data.recorded[name].windows[rows]
        path = data.path(name)
        steps = first[:, None] + np.arange(LENGTH)
        seen = path.valid[steps]
        back = np.argmax(seen[:, ::-1], axis=1)
        frame = first[:, None] + LENGTH - 1 - back
        xyz = np.array(path.xyz[frame, np.arange(frame.shape[1])])
        some = seen.any(axis=1)
        xyz[~some] = 0
        vectors.append(np.tile(xyz.reshape(len(rows), 3 * xyz.shape[1]), (1, data.task.horizon)))
        valid.append(np.tile(np.repeat(some, 3, axis=1), (1, data.task.horizon)))
    return np.concatenate(vectors), np.concatenate(valid)
