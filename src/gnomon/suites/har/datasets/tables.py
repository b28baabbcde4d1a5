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
    patch_s = [1, 1.75, 0.25]      # smallest, largest and step of patches in training, for models that have them
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
(where there is a gyroscope) have to be there.

Tables are read some rows at a time (:mod:`gnomon.suites.har.datasets.rows`), so the rows of a recording stand together:
one that comes back after another one began is an error, and sorting by subject, recording and time is the remedy.
Inside a recording times rise in the order of rows. Single wrong ones are repaired as
:mod:`gnomon.suites.har.datasets.stamps` says; a recording that it refuses cannot be read, like one with a bad cell.
Where the label changes, another recording begins.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.faults import guarded, reason, shown
from gnomon.intake.limits import check_file
from gnomon.suites.har.datasets.base import VARIANTS, Faults, G, Report, checked
from gnomon.suites.har.datasets.places import Place
from gnomon.suites.har.datasets.rows import Rows, columns_of, rows_of
from gnomon.suites.har.datasets.stamps import rate_of, repair
from gnomon.suites.har.recordings import CHANNELS, LARGEST, WINDOW_S, Manifest, Recording

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
ACCELERATIONS = {"m/s^2": 1.0, "g": G}
ROTATIONS = {"rad/s": 1.0, "deg/s": np.pi / 180}
KEYS = ("subject", "recording", "label")
_NEEDED = ("name", "files", "text_hz", "role", "placement", "gravity", "time", "acceleration")
_MAY = ("title", "rotation", "short", "patch_s", "licence", "citation", "source", "notes")
_NAME = re.compile(r"[a-z0-9_]+")
_LARGEST = 1 << 20
_LONGEST_S = 1e15
Key = tuple[str, str]
"""Subject and recording."""


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
        seen: dict[Key, Path] = {}
        faults = Faults() if faults is None else faults
        for path in self.tables:
            with faults.reading(shown(path)):
                yield from _Table(self, path, faults).recordings(seen)

    def check(self, where: object = None, variant: str = "strict") -> Report:
        """Read everything and say what is there and what is odd."""
        del where
        faults = Faults.leaving_out()
        recordings = self.read(None, variant, faults)
        return checked(self.manifest, str(self.path), variant, len(self.tables), recordings, faults, own=True)


def manifests(root: str | os.PathLike[str]) -> dict[Path, list[Path]]:
    """Return the manifests of own datasets in a folder and one level below: TOML files with a table ``dataset``.

    With each of them its other names, where links lead to it.
    """
    base = Path(root)
    paths = sorted([*base.glob("*.toml"), *base.glob("*/*.toml")]) if base.is_dir() else []
    found: dict[Path, list[Path]] = {}
    for path in paths:
        if path.is_file() and _is_manifest(path):
            found.setdefault(path.resolve(), []).append(path)
    home = base.resolve()
    named = [sorted(own, key=lambda path: home / path.relative_to(base) != path.resolve()) for own in found.values()]
    return {path: others for path, *others in named}


def _is_manifest(path: Path) -> bool:
    with guarded(path, "cannot be read", "check that you may read it"), path.open("rb") as file:
        return b"[dataset]" in file.read(_LARGEST)


def name_of(path: Path) -> str:
    """Return the name that a manifest gives, also where there is something wrong with the rest; empty without one."""
    try:
        about = _content(path).get("dataset")
    except InputError:
        return ""
    name = about.get("name") if isinstance(about, dict) else None
    return name if isinstance(name, str) and _NAME.fullmatch(name) else ""


def _content(path: str | os.PathLike[str]) -> dict[str, Any]:
    where = shown(path)
    if check_file(path) > _LARGEST:
        raise InputError(f"{where}: larger than {_LARGEST} bytes, expected a small manifest")
    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: not TOML ({reason(error)}); correct it") from error


def load(path: str | os.PathLike[str]) -> TableDataset:
    """Return the dataset that a TOML file describes."""
    where, content = shown(path), _content(path)
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
    if not _NAME.fullmatch(str(about["name"])):
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
    first, there = _first_columns([path.parent / name for name in about["files"]])
    columns = {name: given.get(name, name) for name in wanted}
    absent = [column for name, column in columns.items() if name not in CHANNELS or name in given]
    absent = [column for column in absent if column not in there]
    if absent:
        raise InputError(f"{shown(first)}: no column {some(absent)}; it has {some(there, show=12)}")
    found = {name: column for name, column in columns.items() if column in there}
    if not set(found) & set(CHANNELS):
        raise InputError(f"{shown(first)}: none of the channels {', '.join(CHANNELS)}; it has {some(there, show=12)}")
    return found


def _first_columns(tables: Sequence[Path]) -> tuple[Path, list[str]]:
    """Return the first table that can be read, and its columns; where none can be, the error is that of the first."""
    errors = []
    for path in tables:
        try:
            return path, columns_of(path)
        except InputError as error:
            errors.append(error)
    raise errors[0]


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
        patch_s=_patches(about.get("patch_s", Manifest.patch_s), where),
        short=_one_of(about.get("short", "drop"), ("drop", "pad"), f"{where}: short"),
    )


def _patches(given: Any, where: str) -> tuple[float, float, float]:
    fine = isinstance(given, (list, tuple)) and len(given) == 3
    fine = fine and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in given)
    if not fine or not 0 < given[0] <= given[1] <= WINDOW_S or not 0 < given[2] <= WINDOW_S:
        raise InputError(
            f"{where}: patch_s {given!r}, expected [smallest, largest, step] in seconds, at most {WINDOW_S:g}"
        )
    return float(given[0]), float(given[1]), float(given[2])


@dataclass(frozen=True, eq=False)
class _Run:
    """Rows of one subject, recording and label that follow one another, as they are gathered."""

    subject: str
    recording: str
    label: str
    parts: list[tuple[Array, Array]] = field(default_factory=list)
    """Times in seconds and signals ``(n, 6)``."""
    broken: list[str] = field(default_factory=list)
    """What is wrong with rows of it."""

    def joined(self) -> tuple[Array, Array]:
        """Return all times and signals."""
        times, signals = zip(*self.parts, strict=True)
        return np.concatenate(times), np.concatenate(signals)


class _Table:
    """One file of a dataset."""

    def __init__(self, dataset: TableDataset, path: Path, faults: Faults) -> None:
        self.dataset, self.path, self.columns, self.faults = dataset, path, dataset.columns, faults
        self._zero: float | None = None
        self._number = 0

    def recordings(self, seen: dict[Key, Path]) -> Iterator[Recording]:
        """Yield recordings in the order of rows; those of earlier files are in ``seen``, to which these are added."""
        for run in self._runs(seen):
            label = self._label(run)
            if run.broken:
                continue
            if label is None:
                rows = sum(len(times) for times, _ in run.parts)
                self.faults["rows of labels that the manifest leaves out"] += rows
            else:
                yield from self._pieces(run, label, self.faults)

    def _runs(self, seen: dict[Key, Path]) -> Iterator[_Run]:
        run: _Run | None = None
        keys, time = [self.columns[name] for name in KEYS], self.columns["time"]
        columns, lenient = list(dict.fromkeys(self.columns.values())), self.faults.broken is not None
        for rows in rows_of(self.path, columns, keys, (time,), lenient=lenient):
            texts = [rows.text(column) for column in keys]
            values = self._values(rows)
            for start, stop in _stretches([text.codes for text in texts]):
                named = (texts[0][start], texts[1][start], texts[2][start])
                last = run
                if run is None or (run.subject, run.recording, run.label) != named:
                    if run is not None:
                        yield run
                    run = _Run(*named)
                try:
                    if run is not last:
                        self._begin(last, named, rows, start, seen)
                    times, signals = self._read(rows.part(start, stop)) if values is None else values
                    part = slice(None) if values is None else slice(start, stop)
                    run.parts.append((times[part], signals[part]))
                except InputError as error:
                    self._leave_out(run, error)
        if run is not None:
            yield run

    def _values(self, rows: Rows) -> tuple[Array, Array] | None:
        """Return times and signals of rows; None where some cannot be used and those of others are to be."""
        try:
            return self._read(rows)
        except InputError:
            if self.faults.broken is None:
                raise
            return None

    def _read(self, rows: Rows) -> tuple[Array, Array]:
        return self._times(rows), self._signals(rows)

    def _leave_out(self, run: _Run, error: InputError) -> None:
        """Leave out a recording; what else is wrong with it is not told."""
        if not run.broken:
            self.faults.leave_out(error)
        run.parts.clear()
        run.broken.append(str(error))

    def _begin(
        self, last: _Run | None, named: tuple[str, str, str], rows: Rows, row: int, seen: dict[Key, Path]
    ) -> None:
        """Refuse a recording that was ended before, a label that is not known, and text over several lines."""
        subject, recording, label = named
        for name, text in zip(KEYS, named, strict=True):
            if "\n" in text:
                raise rows.fault(row, self.columns[name], "holds a line break; close the quote before it")
        if last is None or (last.subject, last.recording) != (subject, recording):
            other = seen.get((subject, recording))
            if other is not None:
                said = "comes back after another one began; sort the rows by subject, recording and time"
                said = said if other == self.path else "is in another file too; give it another name there"
                raise rows.fault(row, self.columns["recording"], f"{shown(recording, 60)!r} of {subject!r} {said}")
            seen[subject, recording] = self.path
            self._number = 0
        labels = self.dataset.manifest.labels
        if labels and label not in labels and label not in self.dataset.left_out:
            said = f"{shown(label, 60)!r} is not in [labels], which has {some(labels)}; add it there"
            raise rows.fault(row, self.columns["label"], said)

    def _label(self, run: _Run) -> str | None:
        if run.label in self.dataset.left_out:
            return None
        return self.dataset.manifest.labels.get(run.label, run.label)

    def _times(self, rows: Rows) -> Array:
        """Return seconds, of whole numbers since the first row: nanoseconds since 1970 do not fit a double."""
        times = rows.numbers(self.columns["time"])
        if self._zero is None:
            self._zero = int(times[0]) if np.issubdtype(times.dtype, np.integer) else 0.0
        seconds = (times - self._zero) * self.dataset.scale["time"]
        return self._within(rows, self.columns["time"], seconds, _LONGEST_S)

    def _signals(self, rows: Rows) -> Array:
        signals = np.zeros((len(rows), len(CHANNELS)), dtype=np.float32)
        for k, channel in enumerate(CHANNELS):
            if channel in self.columns:
                values = rows.numbers(self.columns[channel]) * self.dataset.scale[channel]
                signals[:, k] = self._within(rows, self.columns[channel], values, LARGEST)
        return signals

    def _within(self, rows: Rows, column: str, values: Array, most: float) -> Array:
        """Return values as they are, unless one is too large to be what it is said to be."""
        if max(-values.min(), values.max()) > most:
            row = int(np.argmax(np.abs(values)))
            raise rows.fault(row, column, f"is {float(values[row]):g} in SI units, expected at most {most:g}")
        return values

    def _pieces(self, run: _Run, label: str, faults: Faults) -> Iterator[Recording]:
        times, signals = run.joined()
        fixed = repair(times)
        if fixed.refused:
            whose = f"recording {shown(run.recording, 60)!r} of {shown(run.subject, 60)!r}"
            said = f"{whose}, column {self.columns['time']!r}: {fixed.wrong}; sort its rows by time"
            self._leave_out(run, InputError(f"{shown(self.path)}: {said}"))
            return
        fixed.count(faults, "table", self.path.name)
        for piece in fixed.pieces:
            rate = rate_of(times[piece])
            if rate is None:
                faults["pieces of one sample, left out"] += 1
                continue
            self._number += 1
            yield Recording(
                dataset=self.dataset.name,
                subject=run.subject,
                id=f"{self.dataset.name}/{run.subject}/{run.recording}_{self._number}",
                label=label,
                times=times[piece] - times[piece[0]],
                signals=signals[piece],
                mask=self.dataset.manifest.mask,
                rate_hz=rate,
            )


def _stretches(columns: Sequence[Array]) -> Iterator[tuple[int, int]]:
    """Yield where rows begin and end that are alike in all columns."""
    changes = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    cuts = [0, *(np.flatnonzero(changes) + 1).tolist(), len(columns[0])]
    yield from ((start, stop) for start, stop in pairwise(cuts) if stop > start)
