"""An index of runs: thousands are listed, searched and filtered without opening them.

The index is a SQLite file beside the runs, made from their manifests alone. It holds nothing that the directories do
not hold: it is brought up to date whenever it is used (a run whose seal has changed is read again, one that is gone is
dropped), and where it is missing, damaged or cannot be written it is made anew, in memory if need be.

The folder may have come from somebody else. An index that is a link, or holds anything but the one table of this
module, is not used; of a manifest a bounded part is read, and only what is listed is taken from it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from gnomon.core.errors import GnomonError, InputError, IntegrityError
from gnomon.core.table import Cell, Column

Direction = Literal["up", "down", ""]
"""As :data:`gnomon.core.measure.Direction`, which is slow to import."""
SCHEMA = "gnomon.run/1"
"""The schema of the run directories that this version writes and reads; ``schema`` in their manifest."""
NAME = ".index.sqlite"
VERSION = 5
LARGEST = 16 << 20
"""Bytes of a manifest that is listed."""
LONGEST_TEXT = 4096
"""Characters of a name in a manifest that is listed."""
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
    "direction": "TEXT",
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


_TABLE = f"CREATE TABLE runs ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})"


class OtherVersionError(IntegrityError):
    """A run whose directory has another schema than this version reads."""


def check_schema(found: object, where: str) -> None:
    """Refuse the schema of a run that another version of gnomon wrote."""
    if found != SCHEMA:
        raise OtherVersionError(
            f"{where}: another version of gnomon wrote this run: schema {str(found)[:80]!r}, expected {SCHEMA!r}; read "
            "it with that version, or score its data again with this one"
        )


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
    direction: Direction | None
    """Which values of the headline are better; None where the manifest does not say."""
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
        self.other_versions: dict[str, str] = {}
        """Why runs of another schema are not read, by name."""
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
                if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
                    return _connect(":memory:")
                return _connect(path)
            except sqlite3.DatabaseError:  # damaged, or of another version: it can be made anew
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
        return _connect(":memory:")

    def _row(self, name: str, stamp: str) -> tuple[Any, ...] | None:
        try:
            entry = read_entry(self.folder / name)
        except OtherVersionError as error:
            self.other_versions[name] = str(error)
            return None
        except GnomonError as error:
            self.unreadable[name] = f"{type(error).__name__}: {error}"
            return None
        return (name, stamp, *(getattr(entry, column) for column in COLUMNS if column not in ("name", "stamp")))


Name = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]


class _Cells(msgspec.Struct):
    done: int
    total: int


class _Shown(msgspec.Struct):
    factor: float = 1.0
    unit: Name = ""
    digits: Annotated[int, msgspec.Meta(ge=0, le=12)] = 3


class _Summary(msgspec.Struct):
    headline: Name
    value: float | None
    low: float | None
    high: float | None
    n: int
    groups: int
    complete: bool
    cells: _Cells | None = None
    direction: Direction | None = None
    shown: _Shown = msgspec.field(default_factory=_Shown)


class _Protocol(msgspec.Struct):
    name: Name
    version: Name | int
    variant: Name


class _Plan(msgspec.Struct):
    method: Name
    level: float
    resamples: int
    seed: int


class _Time(msgspec.Struct):
    started: Name


class _Versioned(msgspec.Struct):
    schema: Name


class _Manifest(msgspec.Struct):
    suite: Name
    system: Name
    protocol: _Protocol
    protocol_fingerprint: Name
    data_fingerprint: Name
    plan: _Plan
    time: _Time
    summary: _Summary


def read_entry(folder: Path) -> Entry:
    """Return what the index knows of a run, from its manifest alone."""
    return entry_of(folder.name, read_manifest(folder), f"{folder / 'manifest.json'}")


def read_manifest(folder: str | os.PathLike[str]) -> bytes:
    """Return the bytes of the manifest of a run directory: of a regular file of bounded size, and of no link."""
    path = os.path.join(folder, "manifest.json")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}): expected a plain file") from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path}: is no plain file; it is not read")
        if found.st_size > LARGEST:
            raise InputError(f"{path}: too large: {found.st_size} bytes, expected at most {LARGEST}")
        return os.read(handle, found.st_size)
    finally:
        os.close(handle)


def entry_of(name: str, data: bytes, where: str) -> Entry:
    """Return what the index knows of a run from the bytes of its manifest; only what is listed is taken from them."""
    try:
        check_schema(msgspec.json.decode(data, type=_Versioned).schema, where)
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
        direction=summary.direction,
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


def _connect(path: str | Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=10)
    try:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"version {version}")
        with database:
            held = database.execute("SELECT type, sql FROM sqlite_master WHERE sql IS NOT NULL LIMIT 2").fetchall()
            if not held:
                database.execute(_TABLE)
            elif held != [("table", _TABLE)]:  # a view, for example, that never ends
                raise sqlite3.DatabaseError("other tables")
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
