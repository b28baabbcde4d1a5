"""An index of runs: thousands are listed, searched and filtered without opening them.

The index is a SQLite file beside the runs, made from their manifests alone. It holds nothing that the directories do
not hold: it is brought up to date whenever it is used (a run whose seal has changed is read again, one that is gone is
dropped), and where it is missing, damaged or cannot be written it is made anew, in memory if need be.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from gnomon.core.errors import GnomonError, InputError, IntegrityError
from gnomon.core.table import Cell, Column
from gnomon.intake.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from gnomon.core.measure import Direction

NAME = ".index.sqlite"
VERSION = 3
COLUMNS = {
    "name": "TEXT PRIMARY KEY",
    "stamp": "TEXT",
    "suite": "TEXT",
    "system": "TEXT",
    "protocol": "TEXT",
    "variant": "TEXT",
    "data": "TEXT",
    "ground": "TEXT",
    "started": "TEXT",
    "headline": "TEXT",
    "measure": "TEXT",
    "value": "REAL",
    "low": "REAL",
    "high": "REAL",
    "factor": "REAL",
    "unit": "TEXT",
    "digits": "INTEGER",
    "n": "INTEGER",
    "groups": "INTEGER",
    "complete": "INTEGER",
    "cells_done": "INTEGER",
    "cells_total": "INTEGER",
}


@dataclass(frozen=True)
class Entry:
    """What the index knows of a run."""

    name: str
    suite: str
    system: str
    protocol: str
    variant: str
    data: str
    ground: str
    """What runs must share to be compared, beside their data: the protocol with all that it settles, and the plan."""
    started: str
    headline: str
    measure: str
    """The record of the headline's measure as JSON, empty where the manifest has none; see :meth:`direction`."""
    value: float | None
    low: float | None
    high: float | None
    factor: float
    """By which a list multiplies the value and its interval, for the unit that it shows."""
    unit: str
    digits: int
    n: int
    groups: int
    complete: bool
    cells_done: int | None
    cells_total: int | None

    def direction(self) -> Direction | None:
        """Return which values of the headline are better; None where its measure is not installed.

        Loads the registered measures on first use, so that a list that does not ask for it stays fast.
        """
        return _direction(self.measure) if self.measure else None

    def cell(self) -> tuple[Cell, Column]:
        """Return the headline as tables show it."""
        value, low, high = (None if x is None else x * self.factor for x in (self.value, self.low, self.high))
        why = "" if value is not None else "undefined"
        return Cell(value, low, high, why), Column("value", "value", "score", self.unit, "", self.digits)


@dataclass(frozen=True)
class Query:
    """What to look for: exact suite and system, words anywhere, completeness; newest first."""

    suite: str = ""
    system: str = ""
    search: str = ""
    partial: bool = False
    limit: int = 0


class Index:
    """The runs of one folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise InputError(f"{self.folder}: no such folder of runs; give one with --runs DIR")
        self.database = self._open()
        self.unreadable: dict[str, str] = {}
        self.update()

    def update(self) -> None:
        """Take in what has changed in the folder since the index was last used."""
        present = dict(stamps(self.folder))
        known = dict(self.database.execute("SELECT name, stamp FROM runs"))
        changed = [name for name, stamp in present.items() if known.get(name) != stamp]
        gone = [(name,) for name in known.keys() - present.keys()]
        rows = [row for name in changed if (row := self._row(name, present[name])) is not None]
        if rows or gone:
            marks = ", ".join("?" * len(COLUMNS))
            with self.database:
                self.database.executemany("DELETE FROM runs WHERE name = ?", gone)
                self.database.executemany(f"INSERT OR REPLACE INTO runs VALUES ({marks})", rows)  # noqa: S608

    def find(self, query: Query = Query()) -> list[Entry]:  # noqa: B008 - a frozen value
        """Return the entries that answer a query, newest first."""
        conditions, values = _conditions(query)
        names = ", ".join(name for name in COLUMNS if name != "stamp")
        sql = f"SELECT {names} FROM runs{conditions} ORDER BY started DESC, name"  # noqa: S608 - names are ours
        if query.limit:
            sql += f" LIMIT {int(query.limit)}"
        return [_entry(row) for row in self.database.execute(sql, values)]

    def count(self, query: Query = Query()) -> int:  # noqa: B008 - a frozen value
        """Return how many entries answer a query, whatever its limit."""
        conditions, values = _conditions(query)
        return int(self.database.execute(f"SELECT count(*) FROM runs{conditions}", values).fetchone()[0])  # noqa: S608

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()

    def _open(self) -> sqlite3.Connection:
        path = self.folder / NAME
        for _ in range(2):
            try:
                return _connect(path)
            except sqlite3.DatabaseError:  # damaged, or of another version: it can be made anew
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
        return _connect(":memory:")

    def _row(self, name: str, stamp: str) -> tuple[Any, ...] | None:
        try:
            entry = read_entry(self.folder / name)
        except GnomonError as error:
            self.unreadable[name] = f"{type(error).__name__}: {error}"
            return None
        return (name, stamp, *(getattr(entry, column) for column in COLUMNS if column not in ("name", "stamp")))


class _Cells(msgspec.Struct):
    done: int
    total: int


class _Shown(msgspec.Struct):
    factor: float = 1.0
    unit: str = ""
    digits: Annotated[int, msgspec.Meta(ge=0, le=12)] = 3


class _Summary(msgspec.Struct):
    headline: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    groups: int
    complete: bool
    cells: _Cells | None = None
    shown: _Shown = msgspec.field(default_factory=_Shown)


class _Protocol(msgspec.Struct):
    name: str
    version: str | int
    variant: str
    measures: list[msgspec.Raw] = msgspec.field(default_factory=list)
    """Records; the first is that of the headline."""


class _Plan(msgspec.Struct):
    method: str
    level: float
    resamples: int
    seed: int


class _Time(msgspec.Struct):
    started: str


class _Manifest(msgspec.Struct):
    suite: str
    system: str
    protocol: _Protocol
    protocol_fingerprint: str
    data_fingerprint: str
    plan: _Plan
    time: _Time
    summary: _Summary


class _Record(msgspec.Struct):
    type: str
    family: str
    parameters: dict[str, Any]


def read_entry(folder: Path, limits: Limits = DEFAULT) -> Entry:
    """Return what the index knows of a run, from its manifest alone."""
    from gnomon.intake.documents import read_bytes

    return entry_of(folder.name, read_bytes(folder / "manifest.json", limits), f"{folder / 'manifest.json'}")


def entry_of(name: str, data: bytes, where: str) -> Entry:
    """Return what the index knows of a run from the bytes of its manifest; only what is listed is taken from them."""
    try:
        manifest = msgspec.json.decode(data, type=_Manifest)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise IntegrityError(f"{where}: not the manifest of a run ({error})") from error
    summary, protocol, cells = manifest.summary, manifest.protocol, manifest.summary.cells
    return Entry(
        name=name,
        suite=manifest.suite,
        system=manifest.system,
        protocol=f"{protocol.name} {protocol.version}",
        variant=protocol.variant,
        data=manifest.data_fingerprint,
        ground=f"{manifest.protocol_fingerprint} {' '.join(map(str, msgspec.structs.astuple(manifest.plan)))}",
        started=manifest.time.started,
        headline=summary.headline,
        measure=bytes(protocol.measures[0]).decode() if protocol.measures else "",
        value=summary.value,
        low=summary.low,
        high=summary.high,
        factor=summary.shown.factor,
        unit=summary.shown.unit,
        digits=summary.shown.digits,
        n=summary.n,
        groups=summary.groups,
        complete=summary.complete,
        cells_done=cells.done if cells else None,
        cells_total=cells.total if cells else None,
    )


@functools.lru_cache(maxsize=1024)
def _direction(record: str) -> Direction | None:
    """Return the direction of a measure from its record; None where nothing installed has this record."""
    from gnomon.core import registry

    try:
        return registry.measure(msgspec.structs.asdict(msgspec.json.decode(record, type=_Record))).direction
    except (GnomonError, msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return None


def _connect(path: str | Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=10)
    try:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"version {version}")
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        with database:
            database.execute(f"CREATE TABLE IF NOT EXISTS runs ({columns})")
            database.execute(f"PRAGMA user_version = {VERSION}")
            database.execute("SELECT name, stamp, cells_total FROM runs LIMIT 1")
    except sqlite3.Error:
        database.close()
        raise
    return database


def stamps(folder: Path, *, links: bool = True) -> Iterator[tuple[str, str]]:
    """Name every run directory with a mark that changes when it is published again; links to some are optional."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=links) and not entry.name.startswith("."):
                with contextlib.suppress(OSError):
                    seal = os.stat(os.path.join(entry.path, "seal.sha256"))
                    manifest = os.stat(os.path.join(entry.path, "manifest.json"))
                    yield entry.name, f"{seal.st_mtime_ns}-{seal.st_ino}-{manifest.st_mtime_ns}-{manifest.st_size}"


def _conditions(query: Query) -> tuple[str, list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    for column in ("suite", "system"):
        if getattr(query, column):
            parts.append(f"{column} = ?")
            values.append(getattr(query, column))
    for word in query.search.split():
        parts.append("instr(lower(name || ' ' || system || ' ' || protocol || ' ' || variant), lower(?)) > 0")
        values.append(word)
    if query.partial:
        parts.append("complete = 0")
    return (" WHERE " + " AND ".join(parts) if parts else ""), values


def _entry(row: tuple[Any, ...]) -> Entry:
    fields: Mapping[str, Any] = dict(zip((name for name in COLUMNS if name != "stamp"), row, strict=True))
    return Entry(**{**fields, "complete": bool(fields["complete"])})
