"""The mark that simulated data carry: ``simulated.json`` in the folder that ``gnomon simulate har`` wrote.

It lists the ``datasets`` that are finished and those that are ``unfinished``; both are simulated.
"""

from __future__ import annotations

from pathlib import Path

from gnomon.core.errors import InputError
from gnomon.intake.documents import read_json

MARK = "simulated.json"
FINISHED, UNFINISHED = "datasets", "unfinished"
LEVELS = 4
"""Folders above a dataset in which a mark is looked for."""


def simulated(path: Path, inside: str, dataset: str) -> bool:
    """Say whether a dataset that lies in a folder (or archive), below ``inside``, is marked as simulated."""
    return any(marked(path, inside, dataset, state) is not None for state in (FINISHED, UNFINISHED))


def marked(path: Path, inside: str, dataset: str, state: str) -> Path | None:
    """Return the mark that lists a dataset under a state; None where none does."""
    here = path / inside if path.is_dir() else path.parent
    marks = [folder / MARK for folder in [here, *here.parents][: LEVELS + 1]]
    return next((mark for mark in marks if dataset in _listed(mark, state)), None)


def _listed(mark: Path, state: str) -> list[object]:
    """Return what a mark lists; nothing where there is none, or where the file is somebody else's."""
    try:
        found = read_json(mark) if mark.is_file() else {}
    except InputError:
        return []
    names = found.get(state) if isinstance(found, dict) else None
    return names if isinstance(names, list) else []
