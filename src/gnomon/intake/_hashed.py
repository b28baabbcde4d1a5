"""The loop of :func:`gnomon.intake.texts.hashes`, compiled."""

from __future__ import annotations

from typing import Any

from gnomon.core.compiling import jit


@jit
def fnv(ends: Any, held: Any, start: Any, prime: Any, found: Any) -> None:
    """Hash the bytes between neighbouring ends by FNV-1a."""
    for row in range(len(found)):
        value = start
        for place in range(ends[row], ends[row + 1]):
            value = (value ^ held[place]) * prime
        found[row] = value
