"""A detector of one's own for ``change``: it says that the lowest corner of the comparison was added."""

import numpy as np

from gnomon.suites.change.systems.detection import Detection


class Lowest:
    """Says that a cube of ``size`` metres in the lowest corner of the comparison was added."""

    def __init__(self, *, size: float = 0.5) -> None:
        self.size = size

    def detect(self, reference, comparison):
        """Look at two scans, ``(N, 3)`` points in metres each."""
        low = comparison.min(axis=0)
        come = (comparison <= low + self.size).all(axis=1).astype(np.uint8)
        return Detection([[*low, *(low + self.size)]], ("Add",), [0.5], np.zeros(len(reference)), come)
