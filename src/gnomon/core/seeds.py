"""Random numbers: one independent stream per purpose, no global generator."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from gnomon.core.canonical import encode

if TYPE_CHECKING:
    import numpy as np


def generator(seed: int, *purpose: str) -> np.random.Generator:
    """Return the generator of one purpose under one seed.

    The same seed and purpose always give the same stream; different purposes give independent ones.

    >>> a, b = generator(7, "bootstrap"), generator(7, "bootstrap")
    >>> int(a.integers(1000)) == int(b.integers(1000))
    True
    """
    import numpy as np

    name = hashlib.sha256(encode(list(purpose))).digest()
    words = [int.from_bytes(name[i : i + 4], "little") for i in range(0, 16, 4)]
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))
