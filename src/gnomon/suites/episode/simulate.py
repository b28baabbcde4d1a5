"""Verb ``simulate``: whole episodes of a person who works in a kitchen, in the layout of real ones.

``DIR/session_000/ep0`` and so on receive ``annotation.hdf5`` with every dataset of the published layout and six videos
with sound. Motion, poses, inertial samples, hands, contacts, depth, pictures, sound and captions follow from one script
and one body (:mod:`gnomon.suites.episode.simulation`), so that they agree with one another as far as real ones do.
``DIR/simulated.json`` and an attribute of every annotation file say that the data are not real ones.

An episode is named under ``unfinished`` until all of its files are written: one whose simulation was interrupted is not
taken for a whole one, and is written anew when the same is asked for again. Every episode is a session of its own, with
its own person, kitchen and headset; it depends on the seed, its number and its length, not on what else is written.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError, some
from gnomon.engine.progress import QUIET, duration
from gnomon.suites.episode.simulate_options import SimulateOptions
from gnomon.suites.episode.simulation.extras import NEEDED, needed
from gnomon.suites.episode.simulation.marks import FINISHED, MARK, UNFINISHED

BY = "gnomon simulate episode"
PART = ".part"


def simulate(options: SimulateOptions) -> list[Path]:
    """Write episodes; return their folders."""
    if options.videos % 2:
        raise InputError(f"option 'videos': expected an even number of pixels, but got {options.videos}")
    for module in NEEDED:
        needed(module)
    folder = Path(options.directory)
    names = [f"session_{number:03d}/ep0" for number in range(options.episodes)]
    record = {"by": BY, **{name: getattr(options, name) for name in ("frames", "videos", "gaps", "seed")}}
    before = _checked(folder, record)
    folder.mkdir(parents=True, exist_ok=True)
    whole = {*before.get(FINISHED, ())} - {*names}
    state = _State(folder / MARK, record, whole, {*before.get(UNFINISHED, ()), *names})
    state.write()
    for _ in _told(_frames(folder, names, options, state), options.episodes * (options.frames + 1)):
        pass
    return [folder / name for name in names]


@dataclass(frozen=True)
class _State:
    """What the mark says: how was simulated, which episodes are whole, and which are not."""

    path: Path
    record: dict[str, Any]
    whole: set[str]
    unfinished: set[str]

    def finish(self, name: str) -> None:
        """Say that an episode is whole."""
        self.unfinished.discard(name)
        self.whole.add(name)
        self.write()

    def write(self) -> None:
        """Replace the mark, in one step."""
        found = {**self.record, FINISHED: sorted(self.whole)}
        if self.unfinished:
            found[UNFINISHED] = sorted(self.unfinished)
        part = self.path.with_suffix(PART)
        part.write_bytes(encode_pretty(found))
        part.replace(self.path)


def _frames(folder: Path, names: list[str], options: SimulateOptions, state: _State) -> Iterator[str]:
    """Write the episodes, and yield the name of the episode after each frame."""
    from gnomon.suites.episode.simulation.recording import Request, record

    for number, name in enumerate(names):
        request = Request(options.seed, number, options.frames, options.videos, options.gaps == "realistic")
        for _ in record(folder / name, request):
            yield name
        state.finish(name)


def _told(parts: Iterator[str], total: int) -> Iterator[str]:
    """Pass on what is done and say now and then how far it is."""
    begun = said = time.monotonic()
    for done, name in enumerate(parts):
        now = time.monotonic()
        if not done:
            begun = now  # the first frame prepares and compiles what the others use
        elif now - said >= QUIET and done + 1 < total:
            said = now
            left = duration((now - begun) / done * (total - done - 1))
            sys.stderr.write(f"{done + 1} of {total} frames ({name}), {left} left\n")
        yield name


def _checked(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Refuse a folder with anything that would not be replaced; return what was written there before."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is no folder; name one to write into")
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    before = _before(folder / MARK) if there else {}
    sessions = {name.partition("/")[0] for state in (FINISHED, UNFINISHED) for name in before.get(state, ())}
    ours = {MARK, Path(MARK).with_suffix(PART).name, *sessions}
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
    """Return what a mark of this verb says; nothing where there is none."""
    try:
        found = json.loads(mark.read_bytes()) if mark.is_file() else {}
    except ValueError as error:
        raise InputError(f"{mark}: not what this verb writes; choose an empty folder") from error
    fine = isinstance(found, dict) and all(
        isinstance(found.get(state, []), list) and all(isinstance(name, str) for name in found.get(state, []))
        for state in (FINISHED, UNFINISHED)
    )
    return found if fine else {}
