"""Verb ``simulate``: the fourteen datasets in their native files, from simulated people with sensors on their bodies.

``DIR/<dataset>`` receives what the authors of a dataset distribute: the same folders, names, headers, separators,
digits, units, rates and quirks (:mod:`gnomon.suites.har.distributions`), so that the loaders, and other programs, read
it as they read the original. The motion is that of :mod:`gnomon.suites.har.simulation`: the same activity obeys the
same physics in every dataset, in recordings of its own. ``DIR/simulated.json`` says that the data are not real ones.

A dataset is named there under ``unfinished`` until all of its files are written: one whose simulation was interrupted
is not taken for a whole one (``gnomon data check`` says so), and is written anew when the same is asked for again.

A dataset depends on the seed, the number of subjects and the minutes, not on what else is written, so datasets can be
added to a folder later. A subject's recordings do not depend on the number of subjects.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError, some
from gnomon.engine.progress import QUIET, duration
from gnomon.suites.har.distributions import DISTRIBUTIONS, Request
from gnomon.suites.har.marks import FINISHED, MARK, UNFINISHED
from gnomon.suites.har.options import SimulateOptions

BY = "gnomon simulate har"
PART = ".part"


def simulate(options: SimulateOptions) -> list[Path]:
    """Write datasets; return their folders."""
    folder, names = Path(options.directory), _chosen(options.datasets)
    record = {"by": BY, **{name: getattr(options, name) for name in ("subjects", "minutes", "seed")}}
    before = _checked(folder, record)
    folder.mkdir(parents=True, exist_ok=True)
    state = _State(folder / MARK, record, {*before.get(FINISHED, ())} - {*names}, {*_unfinished(before), *names})
    state.write()
    request = Request(options.seed, options.subjects, options.minutes)
    for _ in _told(_parts(folder, names, request, state), _total(names, options.subjects)):
        pass
    return [folder / name for name in names]


@dataclass(frozen=True)
class _State:
    """What the mark says: how was simulated, which datasets are whole, and which are not."""

    path: Path
    record: dict[str, Any]
    whole: set[str]
    unfinished: set[str]

    def finish(self, name: str) -> None:
        """Say that a dataset is whole."""
        self.unfinished.discard(name)
        self.whole.add(name)
        self.write()

    def write(self) -> None:
        """Replace the mark, in one step."""
        found = {**self.record, "datasets": [name for name in DISTRIBUTIONS if name in self.whole]}
        if self.unfinished:
            found[UNFINISHED] = [name for name in DISTRIBUTIONS if name in self.unfinished]
        part = self.path.with_suffix(PART)
        part.write_bytes(encode_pretty(found))
        part.replace(self.path)


def _chosen(given: Collection[str]) -> list[str]:
    wanted = [word for item in given for word in map(str.strip, item.split(",")) if word]
    odd = [name for name in wanted if name not in DISTRIBUTIONS]
    if odd:
        raise InputError(f"datasets: no {some(odd)}, expected some of {', '.join(DISTRIBUTIONS)}")
    if given and not wanted:
        raise InputError(f"datasets: none is named, expected some of {', '.join(DISTRIBUTIONS)}; leave it out for all")
    return [name for name in DISTRIBUTIONS if name in wanted or not wanted]


def _total(names: Collection[str], subjects: int) -> int:
    return sum(min(subjects, len(DISTRIBUTIONS[name].subjects)) for name in names)


def _parts(folder: Path, names: Collection[str], request: Request, state: _State) -> Iterator[str]:
    """Write the datasets, and yield each subject when it is done."""
    for name in names:
        for subject in DISTRIBUTIONS[name].write(folder / name, request):
            yield f"{name} {subject}"
        state.finish(name)


def _told(parts: Iterator[str], total: int) -> Iterator[str]:
    """Pass on what is done and say now and then how far it is."""
    begun = said = time.monotonic()
    for done, part in enumerate(parts, start=1):
        now = time.monotonic()
        if now - said >= QUIET and done < total:
            said = now
            left = duration((now - begun) / done * (total - done))
            sys.stderr.write(f"{done} of {total} subjects ({part}), {left} left\n")
        yield part


def _checked(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Refuse a folder with anything that would not be replaced; return what was written there before."""
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is no folder; name one to write into")
    before = _before(folder / MARK) if there else {}
    ours = {MARK, Path(MARK).with_suffix(PART).name, *before.get(FINISHED, ()), *_unfinished(before)}
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


def _before(mark: Path) -> dict[str, Any]:
    try:
        found = json.loads(mark.read_bytes()) if mark.is_file() else {}
    except ValueError as error:
        raise InputError(f"{mark}: not what this verb writes; choose an empty folder") from error
    lists = isinstance(found, dict) and all(isinstance(found.get(key, []), list) for key in (FINISHED, UNFINISHED))
    return found if lists else {}


def _unfinished(before: dict[str, Any]) -> list[str]:
    found: list[str] = before.get(UNFINISHED, [])
    return found
