"""The samples of a task over episodes: where they are, what they read, what they give, and their side of the split.

Inputs and targets are made when they are asked for; until then a sample is a few numbers. Samples that are purged stay
in the list, in neither part, so that what was left out can be counted and looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.features.blocks import NAMES
from gnomon.suites.episode.tasks import inputs, targets
from gnomon.suites.episode.tasks.data import Recorded, Table
from gnomon.suites.episode.tasks.declared import FORECAST, Task
from gnomon.suites.episode.tasks.outlines import Outline
from gnomon.suites.episode.tasks.vocabulary import codes, multi_hot


@dataclass(frozen=True, eq=False)
class TaskData:
    """The samples of one task in one variant.

    Attributes
    ----------
    task, variant
        What is asked.
    ids
        ``episode/first frame of the window``; of a pair also its class.
    episode, segment
        Of each sample: the episode, and the annotated segment of the centre of its (first) window, which is resampled.
    input_range, target_range
        ``(n, 2)`` half-open frames of the episode that are read.
    part
        ``train``, ``test``, or ``purged``: in neither.
    rows
        ``(n,)`` windows of the episode whose features are read, or ``(n, 2)`` of pairs.
    labels
        Class of each sample (kinds label, binary, pair).
    sets
        Names of each sample (kind multilabel).
    classes
        The class list or vocabulary.
    fitted_on
        Samples that it was made from; none where classes are known beforehand.
    clamped
        ``(n,)``: whether the target was moved to the last frame of the episode.
    dropped
        Windows that are no sample, by reason.
    recorded
        The episodes by id.
    """

    task: Task
    variant: str
    ids: tuple[str, ...]
    episode: tuple[str, ...]
    segment: tuple[str, ...]
    input_range: Array
    target_range: Array
    part: tuple[str, ...]
    rows: Array
    labels: tuple[str, ...]
    sets: tuple[frozenset[str], ...]
    classes: tuple[str, ...]
    fitted_on: tuple[str, ...]
    clamped: Array
    dropped: Mapping[str, int]
    recorded: Mapping[str, Recorded]

    def __post_init__(self) -> None:
        for name in ("input_range", "target_range", "rows", "clamped"):
            getattr(self, name).setflags(write=False)

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, part: str) -> Array:
        """Return the places of the samples of a part, rising."""
        return np.flatnonzero(self.parts == part)

    @cached_property
    def parts(self) -> Array:
        """``(n,)``: the part of every sample."""
        return np.array(self.part, dtype=np.str_)

    @cached_property
    def numbers(self) -> Array:
        """``(n,)``: the place of the episode of every sample among those that are recorded."""
        place = {name: number for number, name in enumerate(self.recorded)}
        return np.array([place[name] for name in self.episode], dtype=np.int64)

    def within(self, episode: str) -> Array:
        """Return the places of the samples of an episode, rising."""
        return np.flatnonzero(self.numbers == list(self.recorded).index(episode))

    @property
    def reads(self) -> Array:
        """``(n, 2)``: from the first to the last frame that input or target reads."""
        low = np.minimum(self.input_range[:, 0], self.target_range[:, 0])
        return np.stack([low, np.maximum(self.input_range[:, 1], self.target_range[:, 1])], axis=1)

    @cached_property
    def outline(self) -> Outline:
        """The samples, counted."""
        return Outline.of(self)

    @property
    def facts(self) -> Mapping[str, Any]:
        """The counts that a run records."""
        return self.outline.facts

    @property
    def lacks(self) -> str:
        """Why the task cannot be trained and tested on these samples; empty where it can."""
        return self.outline.lacks

    def x(self, where: Array | None = None, features: Mapping[str, Table] | None = None) -> Array:
        """Return inputs, ``(n, d)`` float32, of all samples or of the places that are given.

        Parameters
        ----------
        where
            Places of samples.
        features
            Features by episode; without them, those of the recorded episodes. A view of them where it can be one.
        """
        pieces = self.pieces(where)
        tables = self.tables(features)
        if len(pieces) == 1:
            name, _, rows = pieces[0]
            return inputs.of_windows(tables[name], self.task, self.variant, rows)
        count = sum(len(rows) for _, _, rows in pieces)
        out = np.empty((count, inputs.width(next(iter(tables.values())), self.task, self.variant)), dtype=np.float32)
        for name, places, rows in pieces:
            inputs.of_windows(tables[name], self.task, self.variant, rows, out[places])
        return out

    def y(self, where: Array | None = None, features: Mapping[str, Table] | None = None) -> Array:
        """Return targets of all samples or of the places that are given.

        Codes of classes ``(n,)`` (-1: not in the list), multi-hot ``(n, k)`` bool, or vectors ``(n, d)`` float32 with
        zeros where they are not :meth:`valid`. The parameters are those of :meth:`x`.
        """
        if self.task.kind in ("label", "binary", "pair"):
            found = codes(self.labels, self.classes)
            return found if where is None else found[where]
        if self.task.kind == "multilabel":
            sets = self.sets if where is None else [self.sets[place] for place in where.tolist()]
            return multi_hot(sets, self.classes)
        if self.task.name == FORECAST:
            return self._ahead(where)
        tables = self.tables(features)
        pieces = [inputs.taken(tables[name], rows, self.task.target_blocks) for name, _, rows in self.pieces(where)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def valid(self, where: Array | None = None) -> Array | None:
        """Return which numbers of vectors count, ``(n, d)`` bool; None where the target is no vector.

        ``published`` counts all. ``strict`` counts joints that were seen, and blocks whose stream has a valid frame in
        the window.
        """
        if self.task.kind not in ("vector", "retrieval"):
            return None
        if self.task.name == FORECAST:
            return self._ahead(where, flags=True)
        return np.concatenate([self._covered(name, rows) for name, _, rows in self.pieces(where)])

    def counted(self, name: str, rows: Array) -> Array:
        """Return which target blocks of windows count as values, ``(n, blocks)``."""
        table = self.recorded[name].features
        places = [NAMES.index(block) for block in self.task.target_blocks]
        covered = np.asarray(table.coverage[rows][:, places] > 0)
        return np.asarray(covered | (self.variant == "published"))

    def _covered(self, name: str, rows: Array) -> Array:
        table = self.recorded[name].features
        sizes = [len(table.columns([block])) for block in self.task.target_blocks]
        return np.repeat(self.counted(name, rows), sizes, axis=1)

    def path(self, episode: str) -> targets.Paths:
        """Hands of an episode relative to the root."""
        return targets.paths(self.recorded[episode], self.variant)

    def _ahead(self, where: Array | None, *, flags: bool = False) -> Array:
        """Return the paths of hands in the frames of the targets, joint by joint, ``(n, 1260)``, or which are valid."""
        pieces = self.pieces(where)
        count, width = sum(len(rows) for _, _, rows in pieces), self.task.horizon * targets.HAND_JOINTS * 6
        out: Array = np.empty((count, width), dtype=np.bool_ if flags else np.float32)
        for name, places, rows in pieces:
            one = self.recorded[name]
            if flags:
                frames = np.repeat(targets.flags(one, self.variant).valid, targets.HAND_JOINTS * 3, axis=1)
            else:
                frames = targets.positions(one, self.variant)
            out[places] = targets.ahead(frames, one.windows[rows], self.task.horizon).reshape(len(rows), width)
        return out

    def tables(self, features: Mapping[str, Table] | None = None) -> Mapping[str, Table]:
        """Return features by episode: those that are given, else those of the recorded episodes."""
        return {name: one.features for name, one in self.recorded.items()} if features is None else features

    def pieces(self, where: Array | None = None) -> list[tuple[str, slice, Array]]:
        """Return the samples as runs of one episode: its name, their places in the result, and their windows."""
        rows = self.rows if where is None else self.rows[where]
        names, coded = list(self.recorded), self.numbers if where is None else self.numbers[where]
        if not len(coded):
            return [(names[0], slice(0, 0), rows)]
        edges = [0, *(np.flatnonzero(np.diff(coded)) + 1).tolist(), len(coded)]
        return [(names[coded[a]], slice(a, b), rows[a:b]) for a, b in pairwise(edges)]
