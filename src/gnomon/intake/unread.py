"""What a file holds and nobody reads: columns, record fields and JSON keys, named in a finding of the result.

A name that is passed over in silence may be a misspelt one, or hold what its writer took to be scored. So a reader that
passes over a name notes it (:func:`note`), and whoever asked for the work collects the notes (:func:`collecting`) and
puts one finding and one fact with all of them into the results (:func:`with_finding`). Without a collector nothing is
noted. A path that ends in ``/*`` stands for a folder: the names noted for it are those of files.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.errors import counted, some
from gnomon.core.evidence import Finding

FINDING = "unread-input"
"""The finding that names what was not read."""
FILE = "unread.json"
"""What the notes of a piece of work are stored as, beside its result."""
FACT = "unread"
"""The fact of a run that holds every name: a list of ``{file, side, names: {name: rows}}``."""
ALL = ""
"""The system of notes that belong to all of them: those of a truth file."""
CELL = "*"
"""The system of notes on the predictions that a cell reads: that of the cell, whose function does not know its name."""
TRUTH, PREDICTIONS = "truth", "predictions"
MOST = 8
"""How many names of a truth a finding holds; those of predictions are all in it."""


@dataclass
class Unread:
    """Notes: system -> file -> name -> rows or records that hold something under it."""

    notes: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)

    def add(self, system: str, where: str, counts: Mapping[str, int]) -> None:
        """Take in what a file holds; a file that is read again says the same again."""
        held = {name: count for name, count in counts.items() if count}
        if held:
            own = self.notes.setdefault(system, {}).setdefault(where, {})
            own.update({name: max(count, own.get(name, 0)) for name, count in held.items()})

    def merge(self, other: Unread, system: str = ALL) -> None:
        """Take in other notes; those of a cell on its own predictions become those of a system."""
        for name, files in other.notes.items():
            for where, counts in files.items():
                self.add(system if name == CELL else name, where, counts)

    def files(self, system: str) -> list[dict[str, Any]]:
        """Return what was not read for a system, predictions first; files of one suffix are under one pattern.

        A file that was read again, perhaps by another spelling of its path, counts once; one of the truth stays one.
        """
        shared = _by_file([self.notes.get(ALL, {})])
        own = _by_file(
            files
            for name, files in self.notes.items()
            if name and (system == name or system.startswith(f"{name}: "))  # an arm of a system is called NAME: ARM
        )
        own = {file: held for file, held in own.items() if file not in shared}
        return [*_group(dict(own.values()), PREDICTIONS), *_group(dict(shared.values()), TRUTH)]

    def write(self, folder: Path) -> None:
        """Store the notes in a folder, if there are any."""
        if self.notes:
            (folder / FILE).write_text(json.dumps(self.notes), encoding="utf-8")

    @staticmethod
    def read(folder: Path) -> Unread:
        """Return the notes that were stored in a folder; none where there are none, or the folder is elsewhere."""
        try:
            return Unread(json.loads((folder / FILE).read_bytes()))
        except FileNotFoundError:
            return Unread()


class Watched(dict[str, Any]):
    """A mapping that knows which of its values were taken."""

    def __init__(self, held: Mapping[str, Any]) -> None:
        super().__init__(held)
        self._taken: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self._taken.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, or the default."""
        self._taken.add(key)
        return super().get(key, default)

    def untaken(self) -> dict[str, int]:
        """Return the keys whose values nobody took, with the length of each value."""
        rest = {key: value for key, value in self.items() if key not in self._taken}
        return {key: len(value) if hasattr(value, "__len__") else 1 for key, value in rest.items()}


_NOTES: ContextVar[Unread | None] = ContextVar("unread", default=None)
_SYSTEM: ContextVar[str] = ContextVar("system", default=ALL)


@contextlib.contextmanager
def collecting() -> Iterator[Unread]:
    """Collect what is noted inside the block."""
    token = _NOTES.set(Unread())
    try:
        found = _NOTES.get()
        assert found is not None  # noqa: S101 - set just now
        yield found
    finally:
        _NOTES.reset(token)


@contextlib.contextmanager
def reading_for(system: str) -> Iterator[None]:
    """Let notes inside the block be those of one system."""
    token = _SYSTEM.set(system)
    try:
        yield
    finally:
        _SYSTEM.reset(token)


def note(path: str | os.PathLike[str], counts: Mapping[str, int]) -> None:
    """Note names that a file holds and that are not read, with the rows or records that hold each."""
    notes = _NOTES.get()
    if notes is not None:
        notes.add(_SYSTEM.get(), os.fspath(path), counts)


def note_columns(path: str | os.PathLike[str], table: pa.Table, known: Collection[str]) -> None:
    """Note the columns of a table that are not known, with the rows that fill each."""
    note(path, {name: filled(table.column(name)) for name in table.column_names if name not in known})


def filled(column: pa.ChunkedArray) -> int:
    """Return how many cells of a column hold something."""
    empty: int | None = pc.sum(pc.equal(column, "")).as_py() if pa.types.is_string(column.type) else 0
    return int(len(column) - column.null_count - (empty or 0))


def count_keys(items: Iterable[Any], known: Collection[str]) -> Counter[str]:
    """Count the keys of objects that are not known."""
    return Counter(key for item in items if isinstance(item, Mapping) for key in item if key not in known)


def with_finding(
    findings: tuple[Finding, ...], facts: Mapping[str, Any], notes: Unread, system: str
) -> tuple[tuple[Finding, ...], Mapping[str, Any]]:
    """Add what was not read for a system: one finding, which names it, and one fact, which holds every name."""
    files = notes.files(system)
    if not files:
        return findings, facts
    where = files[0]["file"] if len(files) == 1 else counted(len(files), "file")
    evidence = f"not read: {'; '.join(map(_describe, files))}"
    finding = Finding(FINDING, "info", where, evidence, "check the spelling of what was meant to count")
    return (*findings, finding), {**facts, FACT: files}


def _by_file(notes: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, tuple[str, dict[str, int]]]:
    """Return notes by the file that a path leads to: the shortest spelling of its path, and its names with counts."""
    found: dict[str, tuple[str, dict[str, int]]] = {}
    for files in notes:
        for path, counts in files.items():
            file = os.path.realpath(path)
            known, held = found.get(file, (path, {}))
            names = {**held, **{name: max(count, held.get(name, 0)) for name, count in counts.items()}}
            found[file] = min(known, path, key=len), names
    return found


def _group(files: Mapping[str, Mapping[str, int]], side: str) -> list[dict[str, Any]]:
    """Put files of one suffix together under a pattern, and add up their rows."""
    kinds: dict[str, list[str]] = {}
    for path in files:
        base = os.path.basename(path)
        suffix = os.path.splitext(base)[1]
        kinds.setdefault("*" if base == "*" else suffix if suffix[1:].isalnum() else "", []).append(path)
    found = []
    for kind, paths in kinds.items():
        rows: Counter[str] = Counter()
        for path in paths:
            rows.update(files[path])
        start = os.path.commonprefix(paths)  # noqa: RUF071 - cut at a folder next; what is no file has none
        start = start[: start.rfind("/") + 1] if kind else start
        where = paths[0] if len(paths) == 1 else start + "*" + kind.removeprefix("*")
        found.append({"file": where, "side": side, "names": dict(rows)})
    return found


def _describe(item: Mapping[str, Any]) -> str:
    """Name what one file, or files under one pattern, hold; of a truth the first names."""
    where, names = item["file"], item["names"]
    base = os.path.basename(where)
    shown = "/".join(where.split("/")[-2:]) if "*" in base else base
    told = some(names, show=MOST if item["side"] == TRUTH else len(names))
    most = counted(max(names.values()), "file" if base == "*" else "row")
    return f"{shown}: {told} ({'up to ' if len(set(names.values())) > 1 else ''}{most})"
