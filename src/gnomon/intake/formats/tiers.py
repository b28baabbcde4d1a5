"""Files with several tiers, of which one is read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gnomon.core.errors import InputError, some
from gnomon.intake.faults import shown


def choose_tier(path: str | os.PathLike[str], names: Sequence[str], wanted: str, noun: str) -> int:
    """Return the place of the tier that is asked for, or of the only one.

    ``noun`` is what a tier is called in messages.
    """
    places = [place for place, name in enumerate(names) if name == wanted] if wanted else list(range(len(names)))
    if len(places) == 1:
        return places[0]
    there = f"there are {some(names, show=12)}"
    if not names:
        raise InputError(f"{shown(path)}: no {noun} in it, so that there are no events to read")
    if not wanted:
        raise InputError(f"{shown(path)}: {len(names)} {noun}s; {there}: name one with --tier")
    if not places:
        raise InputError(f"{shown(path)}: no {noun} {shown(wanted, 80)!r}; {there}")
    raise InputError(f"{shown(path)}: {len(places)} {noun}s are called {shown(wanted, 80)!r}; give each its own name")
