"""Own recordings as a table and a small manifest beside it: a dataset like the known ones.

The table (``.parquet``, ``.csv``, ``.tsv``, ``.jsonl``; text also ``.gz``) has one row per sample and the columns
``subject``, ``recording``, ``time``, ``label`` and any of the six channels ``acc_x`` ... ``gyro_z``. The manifest is a
TOML file::

    [dataset]
    name = "office"                # letters, digits and _
    title = "Walks in our office"
    files = ["monday.csv"]         # beside this file
    text_hz = 50                   # the rate that you believe it has; the measured one is used
    role = "test"                  # train, test or severe
    placement = "trouser pocket"
    gravity = "present"            # or "removed"
    time = "s"                     # or ms, us, ns
    acceleration = "m/s^2"         # or g
    rotation = "rad/s"             # or deg/s
    short = "drop"                 # or "pad": what becomes of recordings shorter than a window
    licence = "ours"
    citation = "us"
    source = "the shelf"
    notes = []

    [columns]                      # only where your columns have other names
    acc_x = "ax"

    [channels]                     # text per channel, for models that read it
    acc_x = "Accelerometer X-axis of a phone in the trouser pocket"

    [labels]                       # what is in the column label -> label; "" leaves rows out. Without it: as written
    1 = "walking"

``name``, ``files``, ``text_hz``, ``role``, ``placement``, ``gravity``, ``time``, ``acceleration`` and ``rotation``
(where there is a gyroscope) have to be there. Inside a recording times rise in the order of rows; they are repaired or
refused as :mod:`gnomon.suites.har.datasets.stamps` says. Where the label changes, another recording begins.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.faults import reason, shown
from gnomon.intake.limits import check_file
from gnomon.intake.tables import read_table
from gnomon.suites.har.datasets.base import VARIANTS, Faults, G, Report, Seen, report
from gnomon.suites.har.datasets.places import Place
from gnomon.suites.har.datasets.stamps import rate_of, repair
from gnomon.suites.har.recordings import CHANNELS, Manifest, Recording

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
ACCELERATIONS = {"m/s^2": 1.0, "g": G}
ROTATIONS = {"rad/s": 1.0, "deg/s": np.pi / 180}
KEYS = ("subject", "recording", "label")
_NEEDED = ("name", "files", "text_hz", "role", "placement", "gravity", "time", "acceleration")
_MAY = ("title", "rotation", "short", "licence", "citation", "source", "notes")
_LARGEST = 1 << 20


@dataclass(frozen=True)
class TableDataset:
    """A dataset of own tables; see the module for its manifest."""

    path: Path
    manifest: Manifest
    tables: tuple[Path, ...]
    columns: Mapping[str, str]
    """What is read -> the column that holds it; channels that are not there are left out."""
    scale: Mapping[str, float]
    """What is read -> the factor to seconds, m/s^2 or rad/s."""
    left_out: frozenset[str] = frozenset()
    """What is in the column of labels and not used."""

    @property
    def name(self) -> str:
        """The short name."""
        return self.manifest.name

    def find(self, root: str | os.PathLike[str]) -> Place | None:
        """Return the manifest's place where it is below a root."""
        return Place(self.path) if self.path.resolve().is_relative_to(Path(root).resolve()) else None

    def files(self, where: object = None) -> list[str]:
        """Return the files that are read."""
        del where
        return [str(path) for path in self.tables]

    def read(self, where: object = None, variant: str = "strict", faults: Faults | None = None) -> Iterator[Recording]:
        """Yield the recordings; the variants are the same."""
        del where
        if variant not in VARIANTS:
            raise InputError(f"{self.name}: variant {variant!r}, expected one of {', '.join(VARIANTS)}")
        seen: set[tuple[str, str]] = set()
        for path in self.tables:
            table = _Table(self, path)
            yield from table.recordings(seen, Faults() if faults is None else faults)

    def check(self, where: object = None, variant: str = "strict") -> Report:
        """Read everything and say what is there and what is odd."""
        del where
        faults, seen, error = Faults(), Seen(), ""
        try:
            for recording in self.read(None, variant, faults):
                seen.add(recording)
        except InputError as fault:
            error = str(fault)
        return report(self.manifest, str(self.path), variant, len(self.tables), seen, faults, error)


def own(root: str | os.PathLike[str], taken: Collection[str] = ()) -> list[TableDataset]:
    """Return the own datasets in a folder and one level below: TOML files with a table ``dataset``."""
    base = Path(root)
    if not base.is_dir():
        return []
    found: dict[str, TableDataset] = {}
    for path in sorted([*base.glob("*.toml"), *base.glob("*/*.toml")]):
        if b"[dataset]" not in path.read_bytes()[:_LARGEST]:
            continue
        dataset = load(path)
        if dataset.name in taken or dataset.name in found:
            raise InputError(f"{shown(path)}: there is another dataset {dataset.name!r}; give it a name of its own")
        found[dataset.name] = dataset
    return list(found.values())


def load(path: str | os.PathLike[str]) -> TableDataset:
    """Return the dataset that a TOML file describes."""
    where = shown(path)
    if check_file(path) > _LARGEST:
        raise InputError(f"{where}: larger than {_LARGEST} bytes, expected a small manifest")
    try:
        content = tomllib.loads(Path(path).read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: not TOML ({reason(error)}); correct it") from error
    sections = ("dataset", "columns", "channels", "labels")
    odd = sorted(set(content) - set(sections))
    if odd or any(not isinstance(content.get(name, {}), dict) for name in sections):
        raise InputError(f"{where}: expected the tables {some(sections)}, but got {some(content)}")
    about = _about(content.get("dataset", {}), where)
    columns = _columns(content.get("columns", {}), Path(path), about)
    if any(name.startswith("gyro") for name in columns) and "rotation" not in about:
        raise InputError(f"{where}: no rotation, expected one of {some(ROTATIONS)}, since there is a gyroscope")
    turn = ROTATIONS[_one_of(about.get("rotation", "rad/s"), ROTATIONS, f"{where}: rotation")]
    push = ACCELERATIONS[_one_of(about["acceleration"], ACCELERATIONS, f"{where}: acceleration")]
    scale = {"time": TIMES[_one_of(about["time"], TIMES, f"{where}: time")]}
    scale |= {name: push if name.startswith("acc") else turn for name in CHANNELS}
    return TableDataset(
        Path(path),
        _manifest(about, content, columns, where),
        tuple(Path(path).parent / name for name in about["files"]),
        columns,
        scale,
        frozenset(str(code) for code, label in content.get("labels", {}).items() if not label),
    )


def _about(about: dict[str, Any], where: str) -> dict[str, Any]:
    missing, odd = [key for key in _NEEDED if key not in about], sorted(set(about) - {*_NEEDED, *_MAY})
    if missing or odd:
        said = f"no {some(missing)}" if missing else f"unknown {some(odd)}"
        raise InputError(f"{where}: [dataset]: {said}; expected {', '.join(_NEEDED)} and at most {', '.join(_MAY)}")
    if not re.fullmatch(r"[a-z0-9_]+", str(about["name"])):
        raise InputError(f"{where}: name {shown(str(about['name']), 40)!r}, expected small letters, digits and _")
    rate = about["text_hz"]
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < 1e6:
        raise InputError(f"{where}: text_hz {rate!r}, expected a rate in Hz")
    files = about["files"]
    if not isinstance(files, list) or not files or not all(isinstance(name, str) for name in files):
        raise InputError(f"{where}: files {files!r}, expected a list of file names")
    return about


def _one_of(value: object, known: Collection[str], where: str) -> Any:
    if value not in known:
        raise InputError(f"{where} is {value!r}, expected one of {some(known)}")
    return value


def _columns(given: dict[str, Any], path: Path, about: Mapping[str, Any]) -> dict[str, str]:
    wanted = (*KEYS, "time", *CHANNELS)
    odd = sorted(set(given) - set(wanted))
    if odd or not all(isinstance(value, str) for value in given.values()):
        raise InputError(f"{shown(path)}: [columns]: {some(odd)}, expected names for {', '.join(wanted)}")
    first = path.parent / about["files"][0]
    there = read_table(first, text=KEYS).column_names
    columns = {name: given.get(name, name) for name in wanted}
    absent = [column for name, column in columns.items() if name not in CHANNELS or name in given]
    absent = [column for column in absent if column not in there]
    if absent:
        raise InputError(f"{shown(first)}: no column {some(absent)}; it has {some(there, show=12)}")
    found = {name: column for name, column in columns.items() if column in there}
    if not set(found) & set(CHANNELS):
        raise InputError(f"{shown(first)}: none of the channels {', '.join(CHANNELS)}; it has {some(there, show=12)}")
    return found


def _manifest(about: Mapping[str, Any], content: Mapping[str, Any], columns: Mapping[str, str], where: str) -> Manifest:
    texts, labels = content.get("channels", {}), content.get("labels", {})
    gravity = _one_of(about["gravity"], ("present", "removed"), f"{where}: gravity")
    return Manifest(
        name=about["name"],
        title=str(about.get("title", about["name"])),
        text_hz=float(about["text_hz"]),
        role=_one_of(about["role"], ("train", "test", "severe"), f"{where}: role"),
        placement=str(about["placement"]),
        channels=tuple(str(texts.get(name, name.replace("_", " "))) if name in columns else "" for name in CHANNELS),
        gravity=dict.fromkeys(VARIANTS, gravity),
        labels={str(code): str(label) for code, label in labels.items() if label},
        subjects=(),
        people=about["name"],
        licence=str(about.get("licence", "not stated")),
        citation=str(about.get("citation", "not stated")),
        source=str(about.get("source", where)),
        notes=tuple(map(str, about.get("notes", ()))),
        short=_one_of(about.get("short", "drop"), ("drop", "pad"), f"{where}: short"),
    )


class _Table:
    """The rows of one file of a dataset."""

    def __init__(self, dataset: TableDataset, path: Path) -> None:
        self.dataset, self.path = dataset, path
        keys = [dataset.columns[name] for name in KEYS]
        table = read_table(path, text=keys, columns=list(dict.fromkeys(dataset.columns.values())))
        self.first_row = 1 if path.name.endswith(".parquet") else 2
        self.keys = {name: self._text(table, name) for name in KEYS}
        self.times = self._numbers(table, "time")
        self.values = {name: self._numbers(table, name) for name in CHANNELS if name in dataset.columns}

    def fault(self, row: int, name: str, what: str) -> InputError:
        """Return an error at a row and a column."""
        column = self.dataset.columns[name]
        return InputError(f"{shown(self.path)}: row {row + self.first_row}, column {column!r}: {what}")

    def recordings(self, seen: set[tuple[str, str]], faults: Faults) -> Iterator[Recording]:
        """Yield recordings in the order in which they begin."""
        _, subjects = np.unique(self.keys["subject"], return_inverse=True)
        names, codes = np.unique(self.keys["recording"], return_inverse=True)
        codes = subjects * len(names) + codes
        order = np.argsort(codes, kind="stable")
        cuts = np.flatnonzero(np.diff(codes[order])) + 1
        for rows in sorted(np.split(order, cuts), key=lambda part: int(part[0]) if len(part) else -1):
            if not len(rows):
                continue
            subject, recording = (str(self.keys[name][rows[0]]) for name in ("subject", "recording"))
            if (subject, recording) in seen:
                raise self.fault(int(rows[0]), "recording", f"{recording!r} of {subject!r} is in another file too")
            seen.add((subject, recording))
            yield from self._pieces(subject, recording, rows, faults)

    def _pieces(self, subject: str, recording: str, rows: Array, faults: Faults) -> Iterator[Recording]:
        labels = self.keys["label"][rows]
        number = 0
        for run in np.split(rows, np.flatnonzero(labels[1:] != labels[:-1]) + 1):
            label = self._label(run)
            if label is None:
                faults["rows of labels that the manifest leaves out"] += len(run)
                continue
            fixed = repair(self.times[run])
            fixed.count(faults, "table")
            for piece in fixed.pieces:
                rate = rate_of(self.times[run[piece]])
                if rate is None:
                    faults["pieces of one sample, left out"] += 1
                    continue
                number += 1
                yield self._recording(subject, f"{recording}_{number}", label, run[piece], rate)

    def _recording(self, subject: str, name: str, label: str, rows: Array, rate: float) -> Recording:
        dataset = self.dataset
        signals = np.zeros((len(rows), len(CHANNELS)))
        for k, channel in enumerate(CHANNELS):
            if channel in self.values:
                signals[:, k] = self.values[channel][rows]
        times = self.times[rows]
        where = f"{dataset.name}/{subject}/{name}"
        return Recording(dataset.name, subject, where, label, times - times[0], signals, dataset.manifest.mask, rate)

    def _label(self, rows: Array) -> str | None:
        code = str(self.keys["label"][rows[0]])
        manifest = self.dataset.manifest
        if code in self.dataset.left_out:
            return None
        if not manifest.labels or code in manifest.labels:
            return manifest.labels.get(code, code)
        raise self.fault(int(rows[0]), "label", f"{code!r} is not in [labels], which has {some(manifest.labels)}")

    def _text(self, table: pa.Table, name: str) -> Array:
        column = table.column(self.dataset.columns[name])
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            raise self.fault(row, name, "is empty, expected text")
        return np.asarray(column.to_pylist(), dtype=np.str_)

    def _numbers(self, table: pa.Table, name: str) -> Array:
        column = table.column(self.dataset.columns[name])
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            raise self._not_numbers(column, name)
        if pa.types.is_integer(column.type) and len(column) and name == "time":
            column = pc.subtract(column, pc.min(column))  # nanoseconds since 1970 do not fit a double
        values: Array = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) * self.dataset.scale[name]
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise self.fault(int(bad[0]), name, "is missing or not finite, expected a number")
        return values

    def _not_numbers(self, column: pa.ChunkedArray, name: str) -> InputError:
        for row, cell in enumerate(column.to_pylist()):
            try:
                float(cell)
            except (TypeError, ValueError):
                return self.fault(row, name, f"is {shown(str(cell), 40)!r}, expected a number")
        return self.fault(0, name, f"has type {column.type}, expected numbers")
