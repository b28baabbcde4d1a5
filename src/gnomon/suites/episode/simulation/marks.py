"""The mark of simulated episodes: ``simulated.json`` in the folder that ``gnomon simulate episode`` wrote.

It lists the ``episodes`` that are finished and those that are ``unfinished``; both are simulated.
"""

from __future__ import annotations

from pathlib import Path

from gnomon.core.errors import InputError
from gnomon.intake.documents import read_json

MARK = "simulated.json"
FINISHED, UNFINISHED = "episodes", "unfinished"


def simulated(folder: Path) -> bool:
    """Say whether a mark above an episode's folder ``<session>/ep<k>`` lists it."""
    whole = folder.resolve()
    return any(
        listed(whole.parent.parent / MARK, f"{whole.parent.name}/{whole.name}", state)
        for state in (FINISHED, UNFINISHED)
    )


def unfinished(folder: Path) -> bool:
    """Say whether the simulation of an episode was interrupted."""
    whole = folder.resolve()
    return listed(whole.parent.parent / MARK, f"{whole.parent.name}/{whole.name}", UNFINISHED)


def listed(mark: Path, episode: str, state: str) -> bool:
    """Say whether a mark lists an episode under a state; one that is somebody else's lists nothing."""
    try:
        found = read_json(mark) if mark.is_file() else {}
    except InputError:
        return False
    names = found.get(state) if isinstance(found, dict) else None
    return isinstance(names, list) and episode in names
