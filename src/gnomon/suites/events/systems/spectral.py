"""Walking by its rhythm: power at step frequencies that repeats itself from step to step."""

from __future__ import annotations

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.events.systems._spectra import LEAST_HOPS, spectra
from gnomon.suites.events.systems._walker import Walker


class SpectralWalker(Walker):
    """Walking is where a window of 3.6 s has its power at step frequencies, repeats itself, and is not still.

    How hard somebody walks hardly matters, so that one setting fits most people; rides on soft springs and things that
    are shaken at the pace of steps are taken for walks.

    Parameters
    ----------
    share, rhythm, least
        Least share of the power at step frequencies, least autocorrelation, least standard deviation in m/s^2.
    others
        Those of :class:`Walker`.
    """

    least_hops = LEAST_HOPS

    def __init__(
        self,
        share: float = 0.4,
        rhythm: float = 0.6,
        least: float = 0.5,
        *,
        window_s: float = 3.6,
        bridged_s: float = 2.0,
        shortest_s: float = 4.0,
        bridging: bool = True,
        dropping: bool = True,
    ) -> None:
        self.share, self.rhythm, self.least = share, rhythm, least
        super().__init__(
            window_s=window_s, bridged_s=bridged_s, shortest_s=shortest_s, bridging=bridging, dropping=dropping
        )

    def evidence(self, frames: Array) -> Array:
        """Return how well frames repeat themselves, and 0 for those that cannot be walking."""
        found = spectra(frames)
        rhythm = np.clip(np.maximum(found.rhythm, found.swing), 0, 1)
        walking = (found.step_share > self.share) & (rhythm > self.rhythm) & (found.power > self.least**2)
        return np.where(walking, (1 + rhythm) / 2, 0.0)
