"""Splits of windows: as published, and by subject.

``published``
    One ``numpy.random.RandomState(3431)`` shuffles the windows; the first ``int(.8 n)`` are for training, the next
    ``int(.1 n)`` for validation, the rest for testing. The *same* generator then draws the labelled windows, so an
    extra draw anywhere would change them. Windows of one person are on all sides.
``strict``
    People are shuffled, not windows: nobody is on two sides.

Labelled windows (``balanced_subsample``): the budget is ``max(1, int(n_train * rate))``. The published text says that
it is drawn "proportionally", but what was executed is equal per class: ``max(1, budget // classes)`` of each class, in
sorted order of the classes, the head of a shuffle of each, everything shuffled at the end. ``equal`` is what was
executed; ``proportional`` is what was written: ``max(1, int(windows of the class * rate))`` of each class. A class with
fewer windows gives all it has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array

SEED = 3431
"""The seed of the published splits and classifiers."""
Mode = Literal["equal", "proportional"]
Shuffler = np.random.RandomState | np.random.Generator


@dataclass(frozen=True, eq=False)
class Split:
    """Indices of windows by part; ``labelled`` are those of ``train`` whose label may be used."""

    train: Array
    val: Array
    test: Array
    labelled: Array

    def __post_init__(self) -> None:
        for name in ("train", "val", "test", "labelled"):
            value = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def digest(self) -> str:
        """Return a hash of the index sets, the same on every platform."""
        found = hashlib.sha256()
        for part in (self.train, self.val, self.test, self.labelled):
            found.update(len(part).to_bytes(8, "little"))
            found.update(part.astype("<i8").tobytes())
        return found.hexdigest()


def published(
    n: int, labels: Sequence[str] | Array, rate: float | None = None, mode: Mode = "equal", seed: int = SEED
) -> Split:
    """Return the published split of n windows.

    Parameters
    ----------
    n
        Number of windows.
    labels
        Label of each.
    rate
        Share of the training windows whose labels are used; None for all of them.
    mode
        ``equal`` per class, or ``proportional``; see the module.
    seed
        Seed of the one generator.
    """
    classes = np.asarray(labels)
    if classes.shape != (n,):
        raise InputError(f"split: expected {n} labels, one for each window, but got {classes.shape}")
    # A published protocol demands this generator; it is a private one, the global state is not touched.
    random = np.random.RandomState(seed)
    order = np.arange(n, dtype=np.int64)
    random.shuffle(order)
    train, val = int(0.8 * n), int(0.1 * n)
    parts = order[:train], order[train : train + val], order[train + val :]
    return _split(parts, classes, rate, mode, random)


def strict(
    subjects: Sequence[str],
    labels: Sequence[str] | Array,
    rate: float | None = None,
    seed: int = SEED,
    mode: Mode = "equal",
) -> Split:
    """Return a split in which no subject is on two sides: 80, 10 and 10 % of the subjects, at least one each."""
    classes = np.asarray(labels)
    if classes.shape != (len(subjects),):
        raise InputError(f"split: expected {len(subjects)} labels, one for each window, but got {classes.shape}")
    people = sorted(set(subjects))
    if len(people) < 3:
        raise InputError(
            f"split by subject: {len(people)} subjects, expected at least 3 (one each to train, validate and test); "
            "use data of more people"
        )
    random = generator(seed, "har", "strict split")
    random.shuffle(people)
    val = max(1, len(people) // 10)
    train = min(len(people) * 8 // 10, len(people) - val - 1)
    side = {name: 0 if k < train else 1 if k < train + val else 2 for k, name in enumerate(people)}
    sides = np.array([side[name] for name in subjects], dtype=np.int64)
    parts = tuple(np.flatnonzero(sides == k) for k in range(3))
    return _split((parts[0], parts[1], parts[2]), classes, rate, mode, random)


def balanced_subsample(rows: Array, labels: Array, rate: float, random: Shuffler, mode: Mode = "equal") -> Array:
    """Return some of the rows by label, as the module says; the generator goes on from where it is."""
    if not 0 < rate <= 1:
        raise InputError(f"share of labelled windows: expected more than 0 and at most 1, but got {rate}")
    if mode not in ("equal", "proportional"):
        raise InputError(f"mode of the labelled windows: expected equal or proportional, but got {mode!r}")
    found = labels[rows]
    classes = np.unique(found)
    if not len(classes):
        raise InputError("labelled windows: the training part is empty; use more windows")
    each = max(1, max(1, int(len(rows) * rate)) // len(classes))
    chosen = []
    for label in classes:
        mine = rows[found == label]
        random.shuffle(mine)
        chosen.append(mine[: each if mode == "equal" else max(1, int(len(mine) * rate))])
    together = np.concatenate(chosen)
    random.shuffle(together)
    return together


def _split(parts: tuple[Array, Array, Array], labels: Array, rate: float | None, mode: Mode, random: Shuffler) -> Split:
    train, val, test = parts
    labelled = train if rate is None else balanced_subsample(train, labels, rate, random, mode)
    return Split(train, val, test, labelled)
