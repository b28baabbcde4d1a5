"""What a user gives to ``score``: truth and predictions as files, folders, patterns, frames, lists and mappings.

Conventions
-----------
- A path is a file, a folder or a pattern (``truth/*.TextGrid``). In a folder or a pattern, and where several files of a
  truth are given, every file is a recording called by its name without suffix, unless it names recordings itself. A
  single file of predictions without recordings is that of the only recording.
- In memory, a data frame, an Arrow table or a mapping of columns is a table; a list of ``(start, end, label)``, with a
  score behind it where there is one, or of mappings is one recording.
- Any other mapping of the truth is by recording. One of predictions is by recording where a name in it is that of a
  recording of the truth, and by system otherwise.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.intake import shards
from gnomon.intake.faults import shown
from gnomon.intake.formats.intervals import (
    JSON,
    SUFFIXES,
    TIERED,
    Intervals,
    is_rows,
    is_table,
    of_memory,
    read_intervals,
    recognise,
)
from gnomon.intake.shards import is_folder
from gnomon.intake.sources import Source, check_names, named
from gnomon.intake.unread import note_columns
from gnomon.suites.events import files, spans
from gnomon.suites.events.files import ONLY, TruthCase, check_order, group_intervals
from gnomon.suites.events.options import ScoreOptions
from gnomon.suites.events.plausible import UNITS
from gnomon.suites.events.recordings import Durations, Tabled, check_times, read_durations
from gnomon.suites.events.times import Moment, Stretch

IN_MEMORY = "recording"
"""What the only recording is called where nothing names it."""
RESULTS = (".json", *SUFFIXES)
"""Suffixes of files of predictions."""
Results = Mapping[str, Sequence[Stretch[Moment]]]


@dataclass(frozen=True)
class Given:
    """The truth as it was read.

    Attributes
    ----------
    cases
        All recordings.
    rows
        The recording of every row, where the truth is one table.
    kinds
        The formats of its files.
    """

    cases: list[TruthCase]
    rows: list[str] | None = None
    kinds: set[str] = field(default_factory=set)


def read_truth(options: ScoreOptions) -> Given:
    """Read the truth, whatever it is given as."""
    durations = read_durations(options.duration)
    tables, cases, kinds = [], [], set()
    for content, name in _list_contents(options.truth):
        if isinstance(content, Path):
            kinds.add(kind := recognise(content))
            if kind == JSON:
                cases += files.read_truth(content, name=name, unit=options.truth_unit)
                continue
            held = read_intervals(content, kind, options.tier)
        else:
            held = of_memory(content, "truth")
            kinds.add(held.kind)
        tables.append(Tabled(held, name, options.truth_unit))
    if cases and durations != Durations():
        raise InputError(f"--duration: {shown(cases[0].path)} states its windows by t1 and t2; leave the option out")
    cases += [case for table in tables for case in table.make_cases(durations)]
    _check_once(cases)
    check_times(cases, options.truth_unit or ("s" if options.unit == "s" else ""))
    if not cases:
        raise InputError("truth: no recording in it; give at least one")
    rows = [name for table in tables for name in table.list_rows()] if len(tables) == 1 else None
    return Given(cases, rows, kinds)


def _check_once(cases: Sequence[TruthCase]) -> None:
    known: dict[str, TruthCase] = {}
    for case in cases:
        if case.id in known:
            other = shown(known[case.id].path)
            raise InputError(
                f"{shown(case.path)}: id: {shown(case.id, 80)!r} is also in {other}; give each recording its own"
            )
        known[case.id] = case


def _list_contents(given: Sequence[Any]) -> Iterator[tuple[Any, str]]:
    """Give every file or table of a truth with the name of a recording that it does not name."""
    if is_rows(given):
        yield list(given), IN_MEMORY
        return
    for item in given:
        if isinstance(item, (str, os.PathLike)):
            yield from ((path, name) for name, path in list_files(item).items())
        elif isinstance(item, Mapping) and not is_table(item):
            for name, content in item.items():
                path = Path(content) if isinstance(content, (str, os.PathLike)) else None
                yield content if path is None else path, str(name)
        elif is_table(item):
            yield item, IN_MEMORY
        else:
            raise InputError(
                f"truth: expected a path, a table, a list of (start, end, label) or such lists by recording, but got "
                f"{type(item).__name__}"
            )


def list_files(text: str | os.PathLike[str]) -> dict[str, Path]:
    """Return the files that a path or a pattern stands for, by the name that each gives its recording."""
    path = Path(text)
    if not path.exists() and glob.has_magic(os.fspath(text)):
        found = sorted(Path(one) for one in glob.glob(os.fspath(text), recursive=True) if os.path.isfile(one))
        if not found:
            raise InputError(f"{shown(text)}: no file matches; check the pattern")
        return _name_files(found)
    return shards.listed(path, RESULTS) if is_folder(path) else _name_files([path])


def _name_files(paths: Sequence[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in paths:
        name = path.name
        stem = name[: -len(".csv.gz")] if name.lower().endswith(".csv.gz") else path.stem
        if stem in found:
            raise InputError(f"{shown(path)}: a recording {shown(stem, 80)!r} is also {shown(found[stem])}; keep one")
        found[stem] = path
    return found


def list_systems(given: Sequence[Any], recordings: Collection[str]) -> list[Source]:
    """Return the systems of an option, each with its name and with what it detected."""
    if is_rows(given):
        return [Source("predictions", list(given))]
    found: list[Source] = []
    for item in given:
        if isinstance(item, (str, os.PathLike)):
            name, path = named(os.fspath(item))
            if name == "*" or glob.has_magic(name):
                name = Path(path).parent.name or "predictions"
            found.append(Source(name, path))
        elif isinstance(item, Mapping) and not is_table(item) and not any(str(key) in recordings for key in item):
            found += [Source(str(name), content) for name, content in item.items()]
        else:
            found.append(Source("predictions", item))
    check_names([source.name for source in found])
    return found


def read_detections(source: Source, options: ScoreOptions, kinds: set[str] | None = None) -> Results:
    """Return what a system detected, by recording, numbers in seconds.

    ``kinds`` takes up the formats of its files.
    """
    content, tier = source.content, options.predictions_tier or options.tier
    reader = _Reader(options.unit, tier, set() if kinds is None else kinds)
    if isinstance(content, (str, os.PathLike)):
        return reader.read_path(content)
    if is_rows(content) or is_table(content):
        return reader.read_table(content, source.name)
    if not isinstance(content, Mapping):
        raise InputError(
            f"{source.where}: expected a path, a table, a list of (start, end, label) or such lists by recording, but "
            f"got {type(content).__name__}"
        )
    found: dict[str, Sequence[Stretch[Moment]]] = {}
    for name, own in content.items():
        read = reader.read_path(own) if isinstance(own, (str, os.PathLike)) else reader.read_table(own, source.name)
        reader.add(found, read, str(name), source.where)
    return found


@dataclass(frozen=True)
class _Reader:
    """How detections are read: the unit of their times, the tier of files that have several, and formats so far."""

    unit: str
    tier: str
    kinds: set[str]

    def read_path(self, path: str | os.PathLike[str]) -> Results:
        """Return the detections of a file, or of all files of a folder or a pattern."""
        found: dict[str, Sequence[Stretch[Moment]]] = {}
        listed = list_files(path)
        if list(listed.values()) == [Path(path)]:
            return self.read_file(Path(path))
        for name, one in listed.items():
            self.add(found, self.read_file(one), name, os.fspath(one))
        return found

    def read_file(self, path: Path) -> Results:
        """Return the detections of one file; those without recordings under ``ONLY``."""
        self.kinds.add(kind := recognise(path))
        if kind == JSON:
            return self._scale(files.read_predictions(path))
        return self._take(read_intervals(path, kind, self.tier))

    def read_table(self, content: Any, name: str) -> Results:
        """Return the detections of a table in memory."""
        return self._take(of_memory(content, name))

    def add(self, found: dict[str, Sequence[Stretch[Moment]]], read: Results, name: str, where: str) -> None:
        """Take up the detections of a file or table, which are those of the recording ``name`` if it names none."""
        own = {name: read[ONLY]} if ONLY in read else read
        twice = [one for one in own if one in found]
        if twice:
            raise InputError(f"{shown(where)}: recording {some(twice)} is there twice; keep it in one file")
        found.update(own)

    def _take(self, held: Intervals) -> Results:
        note_columns(held.where, held.table, held.columns.values())
        found = group_intervals(held)
        check_order(held, found)
        return found if held.in_seconds else self._scale(found)

    def _scale(self, found: Results) -> Results:
        return {name: spans.in_seconds(items, UNITS[self.unit or "s"]) for name, items in found.items()}


def check_tiers(options: ScoreOptions, kinds: Collection[str]) -> None:
    """Refuse a tier where no file has any."""
    asked = options.tier or options.predictions_tier
    if asked and not set(TIERED) & set(kinds):
        raise InputError(f"--tier {asked}: only files of {' and '.join(TIERED)} have tiers; leave the option out")


def describe_options(options: ScoreOptions) -> ScoreOptions:
    """Return options in which what is in memory is named, and not written out."""
    plain: Any = tuple(
        os.fspath(item) if isinstance(item, (str, os.PathLike)) else "<truth in memory>"
        for item in (options.truth if not is_rows(options.truth) else ({},))
    )
    return replace(options, truth=plain)
