"""Memory that arrays give back stays with the process, up to a bound, so that the next ones need not be cleared anew.

The GNU C library takes a block above a threshold from the system and gives it back as soon as it is free; the system
clears every page of the next one, which was a fifth of the time of matching boxes. The threshold rises to the largest
block of this kind that was given back, but to no more than 32 MiB, and the heap then keeps up to twice as much. Giving
back one large block, of which no page was ever touched, therefore settles it at once and costs no memory. Other
libraries take no notice, nor does this one where ``MALLOC_MMAP_THRESHOLD_`` is set.
"""

from __future__ import annotations

import numpy as np

BLOCK = 31 << 20
"""Bytes: just below what the threshold can be."""


def settle() -> None:
    """Let the heap keep what arrays of up to :data:`BLOCK` bytes give back."""
    np.empty(BLOCK, np.uint8)
