"""Which episodes are marked as simulated: ``simulated.json`` (:mod:`gnomon.engine.simulated`) lies above them."""

from __future__ import annotations

from pathlib import Path

from gnomon.engine.simulated import MARK, UNFINISHED, listed

FINISHED = "episodes"


def simulated(folder: Path) -> bool:
    """Say whether a mark above an episode's folder ``<session>/ep<k>`` lists it."""
    return any(_marked(folder, state) for state in (FINISHED, UNFINISHED))


def unfinished(folder: Path) -> bool:
    """Say whether the simulation of an episode was interrupted."""
    return _marked(folder, UNFINISHED)


def _marked(folder: Path, state: str) -> bool:
    whole = folder.resolve()
    return f"{whole.parent.name}/{whole.name}" in listed(whole.parent.parent / MARK, state)
