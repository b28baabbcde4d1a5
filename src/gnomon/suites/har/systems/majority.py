"""The system that does not look: what is not better than it has learned nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems import Conditions
from gnomon.suites.har.vocabulary import LABELS


class Majority:
    """Always the most frequent label of what it was fitted on (of equal ones the first); in a closed set, of those."""

    trivial = True

    def __init__(self) -> None:
        self.shares: Array = np.zeros(len(LABELS))
        self.facts: dict[str, Any] = {}

    def fit(self, windows: Sequence[Windows], codes: Array, conditions: Conditions) -> Mapping[str, Any]:
        """Count labels."""
        del windows, conditions
        self.shares = np.bincount(codes, minlength=len(LABELS)) / max(1, len(codes))
        return {"parameters": int((self.shares > 0).sum())}

    def scores(self, windows: Windows) -> Array:
        """Repeat the share of every label."""
        return np.tile(self.shares, (len(windows), 1))

    def fine_tune(
        self,
        train: Windows,
        train_codes: Array,
        val: Windows,
        val_codes: Array,
        classes: Sequence[str],
        conditions: Conditions,
    ) -> Majority:
        """Count the labels of the labelled windows."""
        del train, val, val_codes, conditions
        other = Majority()
        other.shares = np.bincount(train_codes, minlength=len(classes)) / max(1, len(train_codes))
        return other
