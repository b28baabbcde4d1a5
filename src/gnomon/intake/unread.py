"""What a file holds and nobody reads: columns, record fields and JSON keys, named in a finding of the result.

A name that is passed over in silence may be a misspelt one, or hold what its writer took to be scored. So a reader that
passes over a name notes it (:func:`note`), and whoever asked for the work collects the notes (:func:`collecting`) and
puts one finding with all of them into the results (:func:`with_finding`). Without a collector nothing is noted.
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

FILE = "unread.json"
"""What the notes of a piece of work are stored as, beside its result."""
ALL = ""
"""The system of notes that belong to all of them: those of a truth file."""


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
        """Take in other notes; those for all systems become those of one, where it is named."""
        for name, files in other.notes.items():
            for where, counts in files.items():
                self.add(name or system, where, counts)

    def write(self, folder: Path) -> None:
        """Store the notes in a folder, if there are any."""
        if self.notes:
            (folder / FILE).write_text(json.dumps(self.notes, sort_keys=True), encoding="utf-8")

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


def with_finding(findings: tuple[Finding, ...], notes: Unread, system: str) -> tuple[Finding, ...]:
    """Add the finding of a system: every name that was not read, in which files, in how many rows or records."""
    files = dict(notes.notes.get(ALL, {}))
    for name, own in notes.notes.items():
        if name and (system == name or system.startswith(f"{name}: ")):  # an arm of a system is called NAME: ARM
            files |= own
    if not files:
        return findings
    where = next(iter(files)) if len(files) == 1 else counted(len(files), "file")
    rows: Counter[str] = Counter()
    holders: dict[str, list[str]] = {}
    for path, counts in files.items():
        for name, count in counts.items():
            rows[name] += count
            holders.setdefault(name, []).append(path)
    told = [
        f"{name!r} in {counted(rows[name], 'row')} of {some(map(os.path.basename, paths), show=2)}"
        for name, paths in holders.items()
    ]
    evidence = f"{counted(len(told), 'name')} not read: {some(told, show=8, sentences=True)}"
    remedy = "check the spelling of what was meant to count"
    return (*findings, Finding("unread-input", "info", where, evidence, remedy))
