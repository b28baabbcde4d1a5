"""Simulated data say so: ``simulated.json`` in the folder into which a verb ``simulate`` wrote.

The mark says how was simulated (``by``, and options), and lists the parts of the folder, which a suite calls by a word
of its own (``datasets``, ``episodes``): those that are whole under that word, others under ``unfinished``. Both are
simulated. A part is a folder below that of the mark, named by its relative path; it is unfinished until all of its
files are written, so that one whose simulation was interrupted is not taken for a whole one, and can be written anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError, some
from gnomon.intake.documents import read_json

MARK, UNFINISHED = "simulated.json", "unfinished"
PART = ".part"


@dataclass(frozen=True)
class Simulation:
    """What the mark of a folder says while parts are written.

    Attributes
    ----------
    path
        The mark.
    record
        How is simulated.
    word
        What parts are called.
    order
        Parts that are listed first, in this order; others follow by name.
    whole, unfinished
        The parts.
    """

    path: Path
    record: Mapping[str, Any]
    word: str
    order: Sequence[str]
    whole: set[str]
    unfinished: set[str]

    def finish(self, part: str) -> None:
        """Say that a part is whole."""
        self.unfinished.discard(part)
        self.whole.add(part)
        self.write()

    def write(self) -> None:
        """Replace the mark, in one step."""
        found = {**self.record, self.word: self._sorted(self.whole)}
        if self.unfinished:
            found[UNFINISHED] = self._sorted(self.unfinished)
        part = self.path.with_suffix(PART)
        part.write_bytes(encode_pretty(found))
        part.replace(self.path)

    def _sorted(self, parts: Collection[str]) -> list[str]:
        return [*(part for part in self.order if part in parts), *sorted({*parts} - {*self.order})]


def begin(
    folder: Path, record: Mapping[str, Any], word: str, parts: Collection[str], order: Sequence[str] = ()
) -> Simulation:
    """Mark parts of a folder as unfinished, before they are written.

    Raises
    ------
    InputError
        The folder holds what would not be replaced, or was simulated otherwise.
    """
    before = _checked(folder, record, word)
    whole, unfinished = ({*before.get(state, ())} for state in (word, UNFINISHED))
    folder.mkdir(parents=True, exist_ok=True)
    made = Simulation(folder / MARK, record, word, order, whole - {*parts}, {*unfinished, *parts})
    made.write()
    return made


def listed(mark: Path, state: str) -> list[object]:
    """Return what a mark lists under a state; nothing where there is none, or where the file is somebody else's."""
    try:
        found = read_json(mark) if mark.is_file() else {}
    except InputError:
        return []
    names = found.get(state) if isinstance(found, dict) else None
    return names if isinstance(names, list) else []


def _checked(folder: Path, record: Mapping[str, Any], word: str) -> dict[str, Any]:
    """Refuse a folder with anything that would not be replaced; return what its mark said before."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is no folder; name one to write into")
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    before = _before(folder / MARK, word) if there else {}
    parts = {part.partition("/")[0] for state in (word, UNFINISHED) for part in before.get(state, ())}
    ours = {MARK, Path(MARK).with_suffix(PART).name, *parts}
    strange = [os.fspath(path.relative_to(folder)) for path in there if path.name not in ours]
    if strange:
        raise InputError(
            f"{folder}: holds {some(strange, show=3)}, which would not be replaced; choose an empty folder"
        )
    differs = [name for name in record if before and before.get(name) != record[name]]
    if differs:
        told = ", ".join(f"{name} {before.get(name)!r} instead of {record[name]!r}" for name in differs)
        raise InputError(f"{folder}: was simulated with {told}; choose an empty folder")
    return before


def _before(mark: Path, word: str) -> dict[str, Any]:
    """Return what a mark says; nothing where there is none, or where it lists no names."""
    try:
        found = json.loads(mark.read_bytes()) if mark.is_file() else {}
    except ValueError as error:
        raise InputError(f"{mark}: not what this verb writes; choose an empty folder") from error
    fine = isinstance(found, dict) and all(_names(found.get(state, [])) for state in (word, UNFINISHED))
    return found if fine else {}


def _names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)
