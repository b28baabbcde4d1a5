"""The simplest recogniser of walking: the device shakes hard enough, for long enough."""

from __future__ import annotations

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.events.systems._walker import Walker


class ThresholdWalker(Walker):
    """Walking is where the standard deviation of the magnitude over a moving window of 1.6 s exceeds a threshold.

    One threshold for everybody: it misses those who walk softly, and takes rough roads and busy hands for walks.
    The other parameters are those of :class:`Walker`.
    """

    def __init__(
        self,
        threshold: float = 0.9,
        *,
        window_s: float = 1.6,
        bridged_s: float = 1.2,
        shortest_s: float = 4.0,
        bridging: bool = True,
        dropping: bool = True,
    ) -> None:
        if not threshold > 0:
            raise InputError(f"threshold: expected more than 0 m/s^2, but got {threshold:g}")
        self.threshold = threshold
        super().__init__(
            window_s=window_s, bridged_s=bridged_s, shortest_s=shortest_s, bridging=bridging, dropping=dropping
        )

    def evidence(self, frames: Array) -> Array:
        """Return beliefs that are above one half where the standard deviation is above the threshold (in m/s^2)."""
        strength = frames.std(axis=1)
        return np.asarray(strength / (strength + self.threshold))
