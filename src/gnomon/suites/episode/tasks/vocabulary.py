"""Class lists and vocabularies: which names there are, and targets as numbers.

A list is sorted by name. ``published`` makes it from all samples, so that it knows the names of the test part;
``strict`` makes it from training samples alone. A name that is not in the list has the code :data:`UNKNOWN`, and no
column in a multi-hot target: it cannot be predicted, and counts against the score.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.features.windows import NO_LABEL

UNKNOWN = -1
"""Code of a class that is not in the list."""


def named(label: str) -> str:
    """Return a label, or the empty one where it names nothing.

    >>> named("N/A"), named("Pour water")
    ('', 'Pour water')
    """
    return "" if label in NO_LABEL else label


def classes_of(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the names that occur, sorted.

    >>> classes_of(["stir", "pour", "stir"])
    ('pour', 'stir')
    """
    return tuple(sorted(set(labels)))


def vocabulary_of(sets: Iterable[Collection[str]]) -> tuple[str, ...]:
    """Return the names that occur in any of the sets, sorted."""
    return tuple(sorted({name for one in sets for name in one}))


def codes(labels: Sequence[str], classes: Sequence[str]) -> Array:
    """Return the place of every label in a class list, ``(n,)``; :data:`UNKNOWN` where it is not there.

    >>> codes(["b", "c"], ["a", "b"]).tolist()
    [1, -1]
    """
    place = {name: index for index, name in enumerate(classes)}
    return np.array([place.get(label, UNKNOWN) for label in labels], dtype=np.int64)


def multi_hot(sets: Sequence[Collection[str]], vocabulary: Sequence[str]) -> Array:
    """Return which names of a vocabulary every set holds, ``(n, k)`` bool; other names have no column.

    >>> multi_hot([{"cup", "pot"}, set()], ["cup", "jar"]).tolist()
    [[True, False], [False, False]]
    """
    place = {name: index for index, name in enumerate(vocabulary)}
    hot = np.zeros((len(sets), len(vocabulary)), dtype=np.bool_)
    for row, one in enumerate(sets):
        hot[row, [place[name] for name in one if name in place]] = True
    return hot


def unseen(train: Mapping[str, int], test: Mapping[str, int], what: str) -> Mapping[str, Any]:
    """Return the classes of the test that training never showed, and the recall that they leave attainable.

    Parameters
    ----------
    train, test
        How often each class or name occurs.
    what
        What is counted: ``samples`` of one class each, or ``names`` in sets.

    ``ceiling`` is None where nothing is tested.
    """
    total, missing = sum(test.values()), {name: count for name, count in test.items() if name not in train}
    lost = sum(missing.values())
    ceiling = 1 - lost / total if total else None
    return {"unseen_test_classes": list(classes_of(missing)), f"unseen_test_{what}": lost, "ceiling": ceiling}
