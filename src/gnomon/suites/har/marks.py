"""Which datasets are marked as simulated: ``simulated.json`` (:mod:`gnomon.engine.simulated`) lies above them."""

from __future__ import annotations

from pathlib import Path

from gnomon.engine.simulated import MARK, UNFINISHED, listed

FINISHED = "datasets"
LEVELS = 4
"""Folders above a dataset in which a mark is looked for."""


def simulated(path: Path, inside: str, dataset: str) -> bool:
    """Say whether a dataset that lies in a folder (or archive), below ``inside``, is marked as simulated."""
    return any(marked(path, inside, dataset, state) is not None for state in (FINISHED, UNFINISHED))


def marked(path: Path, inside: str, dataset: str, state: str) -> Path | None:
    """Return the mark that lists a dataset under a state; None where none does."""
    here = path / inside if path.is_dir() else path.parent
    ways = [[way, *way.parents][: LEVELS + 1] for way in (here, here.resolve())]  # a link may lead to a marked folder
    marks = dict.fromkeys(folder / MARK for way in ways for folder in way)
    return next((mark for mark in marks if dataset in listed(mark, state)), None)
