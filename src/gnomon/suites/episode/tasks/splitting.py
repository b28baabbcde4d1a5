"""Which samples are trained on and which are tested.

Splits
------
``single_episode_chronological``
    Every episode is cut in time: 70 % to train, the rest to test.
``episode_disjoint``
    Whole episodes are for training or for testing: 70 % and 30 % of them, at least one each, drawn under a seed.

Cuts of the first
-----------------
``published``
    Each task drops the windows that it cannot use and cuts what is left at 70 % (half a unit rounds up), so that the
    cut moves by task; windows on both sides share frames. Both samples of a pair are on one side.
``strict``
    One cut in time, at 70 % of the frames of the episode, for all tasks. A sample is for training if all that it reads,
    input and target, ends an embargo before the cut; for testing if all of it begins at or after the cut; else it is
    purged; a pair as a whole. (Purging and embargo: Lopez de Prado, 2018.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.partition import Shares, parts
from gnomon.core.tallies import Array

CHRONOLOGICAL, DISJOINT = SPLITS = ("single_episode_chronological", "episode_disjoint")
TRAIN, TEST, PURGED = PARTS = ("train", "test", "purged")
SHARE = Fraction(7, 10)
"""Of frames, windows or episodes, to train on."""
EMBARGO = 20
"""Frames between what training and test samples read: one window."""
SEED = 7


def cut_of(count: int) -> int:
    """Return how many of a number of units are for training.

    >>> [cut_of(n) for n in (1144, 1147, 1159, 1161)]
    [801, 803, 811, 813]
    """
    return int(SHARE * count + Fraction(1, 2))


def by_order(units: Array) -> Array:
    """Return the part of every sample of an episode, cut by the number of its unit (0, 1, ... in time)."""
    count = int(units.max()) + 1 if len(units) else 0
    return np.where(units < cut_of(count), TRAIN, TEST)


def by_time(reads: Array, n_frames: int, embargo: int = EMBARGO) -> Array:
    """Return the part of every sample of an episode, cut in time, from the frames ``(n, 2)`` that it reads."""
    if embargo < 0:
        raise InputError(f"embargo: expected a number of frames that is not negative, but got {embargo}")
    cut = cut_of(n_frames)
    found = np.full(len(reads), PURGED, dtype="<U6")
    found[reads[:, 1] <= cut - embargo] = TRAIN
    found[reads[:, 0] >= cut] = TEST
    return found


def held_out(episodes: Sequence[str], seed: int = SEED, test_episodes: Sequence[str] | None = None) -> frozenset[str]:
    """Return the episodes that are tested on: those that are named, else drawn under the seed."""
    known = set(episodes)
    if len(known) < 2:
        raise InputError(
            f"split {DISJOINT}: expected at least 2 episodes, one each to train and to test, but got {len(known)}; "
            f"give more episodes, or use {CHRONOLOGICAL}"
        )
    if test_episodes is None:
        found = parts(known, Shares(SHARE, Fraction(0), 1 - SHARE), seed, "episode")
        return frozenset(name for name, part in found.items() if part == TEST)
    chosen = frozenset(test_episodes)
    if strange := sorted(chosen - known):
        raise InputError(f"test episodes: no episode {some(strange)}; there are {some(sorted(known))}")
    if not chosen or chosen == known:
        raise InputError(
            f"test episodes: expected at least 1 and at most {len(known) - 1} of {len(known)} episodes, "
            f"but got {len(chosen)}"
        )
    return chosen
