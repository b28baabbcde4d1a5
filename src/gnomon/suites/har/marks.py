"""The mark that simulated data carry: ``simulated.json`` in the folder that ``gnomon simulate har`` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gnomon.core.errors import InputError
from gnomon.intake.documents import read_json

MARK = "simulated.json"
LEVELS = 4
"""Folders above a dataset in which a mark is looked for."""


def simulated(path: Path, inside: str, dataset: str) -> bool:
    """Say whether a dataset that lies in a folder (or archive), below ``inside``, is marked as simulated."""
    here = path / inside if path.is_dir() else path.parent
    return any(dataset in _listed(folder / MARK) for folder in [here, *here.parents][: LEVELS + 1])


def _listed(path: Path) -> list[str]:
    """Return the datasets that a mark names; none where there is no mark."""
    if not path.is_file():
        return []
    try:
        found: Any = read_json(path)
    except InputError:
        return []
    names = found.get("datasets", []) if isinstance(found, dict) else []
    more = found.get("unfinished", []) if isinstance(found, dict) else []
    return [str(name) for name in (*_list(names), *_list(more))]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
