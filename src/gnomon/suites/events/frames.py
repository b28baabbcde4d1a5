"""Frames: an array file with a class code per frame, read in parts and turned into stretches on the way.

A stretch is a run of frames of one code; a run goes on over the border of parts. Memory is that of the stretches and of
one part. ``classes.json`` beside the truth says what codes mean::

    {"classes": ["nothing", "walk", "fall"], "rate_hz": 50, "nothing": 0}

``classes`` names the codes from 0 on (by default a code is its own name), ``rate_hz`` is the number of frames per
second, and ``nothing`` the code, or codes, of frames in which nothing happens (by default 0). Frame ``i`` lasts from
``i / rate_hz`` to ``(i + 1) / rate_hz``; the window is the whole of the frames.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.canonical import digest
from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.documents import read_json
from gnomon.intake.shards import Plain
from gnomon.numerics.marks import mark
from gnomon.suites.events.spans import Placed

SUFFIX = ".npy"
NAMES = "classes.json"
PART = 1 << 21
"""Frames that are read at a time."""
MOST = 1 << 20
"""Codes are below this."""


@dataclass(frozen=True)
class Meaning:
    """What codes mean: names by code where there are some, frames per second, and codes of nothing."""

    rate_hz: float
    nothing: tuple[int, ...] = (0,)
    classes: tuple[str, ...] | None = None

    def record(self) -> dict[str, Any]:
        """Return it as plain data."""
        names = None if self.classes is None else list(self.classes)
        return {"rate_hz": self.rate_hz, "nothing": list(self.nothing), "classes": names}

    @staticmethod
    def of(record: Mapping[str, Any]) -> Meaning:
        """Return what :meth:`record` recorded."""
        names = record["classes"]
        return Meaning(record["rate_hz"], tuple(record["nothing"]), None if names is None else tuple(names))


@dataclass(frozen=True)
class Runs:
    """Runs of frames of one code: the first frame and the code of each, how many frames there are, and their digest."""

    firsts: Array
    codes: Array
    frames: int
    digest: str


def is_framed(path: Path) -> bool:
    """Say whether a file holds frames, by its suffix."""
    return path.suffix.lower() == SUFFIX


def read_meaning(folder: str | os.PathLike[str]) -> Meaning:
    """Read what the codes of a folder of frames mean."""
    path = Path(folder, NAMES)
    if not path.is_file():
        raise InputError(f'{path}: frames need it: write {{"classes": [...], "rate_hz": 50, "nothing": 0}}')
    held: Any = read_json(path)
    if not isinstance(held, dict):
        raise InputError(f"{path}: got {type(held).__name__}, expected an object with rate_hz, classes and nothing")
    unknown = sorted(held.keys() - {"classes", "rate_hz", "nothing"})
    if unknown:
        raise InputError(f"{path}: unknown field {unknown[0]!r}; expected rate_hz, classes and nothing")
    rate, names, nothing = held.get("rate_hz"), held.get("classes"), held.get("nothing", 0)
    if not isinstance(rate, (int, float)) or isinstance(rate, bool) or not 0 < rate < 1e9:
        raise InputError(f"{path}: rate_hz: got {rate!r:.60}, expected frames per second above 0")
    codes = nothing if isinstance(nothing, list) else [nothing]
    if not all(isinstance(code, int) and not isinstance(code, bool) for code in codes):
        raise InputError(f"{path}: nothing: got {nothing!r:.60}, expected the code, or a list of codes, of no event")
    if names is not None:
        texts = isinstance(names, list) and all(isinstance(name, str) and name.strip() for name in names)
        if not texts or len(set(names)) != len(names):
            raise InputError(f"{path}: classes: expected a list of distinct names, the first that of code 0")
    return Meaning(float(rate), tuple(codes), None if names is None else tuple(names))


def read_runs(path: Path, part: int = PART) -> Runs:
    """Read an array file of codes ``(n,)`` as runs; ``part`` frames at a time, which changes only the digest."""
    plain = Plain.open(path)
    _check(plain)
    firsts: list[Array] = []
    codes: list[Array] = []
    marks = [f"{plain.dtype.str}{plain.shape}".encode()]
    before: Array = np.zeros(0, plain.dtype)
    with plain.reading(part, past=False) as read:
        for first in range(0, len(plain), part):
            values = read(first, min(first + part, len(plain)))
            marks.append(mark(values.view(np.uint8)))
            changes = np.flatnonzero(values[1:] != values[:-1]) + 1
            if not len(before) or before[0] != values[0]:
                changes = np.concatenate([[0], changes])
            firsts.append(changes + first)
            codes.append(values[changes])
            before = values[-1:].copy()
    return Runs(np.concatenate(firsts), np.concatenate(codes), len(plain), digest(marks))


def place_runs(runs: Runs, meaning: Meaning, path: Path) -> Placed:
    """Return the runs in which something happens, in seconds, with their names; ``path`` is for messages."""
    kept = np.flatnonzero(~np.isin(runs.codes, np.array(meaning.nothing, dtype=np.int64)))
    codes = runs.codes[kept].astype(np.int64)
    top = MOST if meaning.classes is None else len(meaning.classes)
    wrong = np.flatnonzero((codes < 0) | (codes >= top))
    if len(wrong):
        at = int(kept[wrong[0]])
        expected = f"0 to {top - 1}" if meaning.classes is None else f"one of the {top} that {NAMES} names"
        raise InputError(
            f"{path}: code {runs.codes[at]} at frame {runs.firsts[at]}, expected {expected}, or one of nothing "
            f"({', '.join(map(str, meaning.nothing))}); correct it"
        )
    names = meaning.classes or [str(code) for code in range(int(codes.max(initial=-1)) + 1)]
    edges = np.append(runs.firsts, runs.frames) / meaning.rate_hz
    return Placed(edges[kept], edges[kept + 1], codes, names, np.full(len(kept), np.nan))


def _check(plain: Plain) -> None:
    if plain.dtype.kind not in "iu" or len(plain.shape) != 1:
        raise InputError(
            f"{plain.path}: {plain.dtype} of shape {plain.shape}, expected an integer code per frame, (n,)"
        )
    if not plain.dtype.isnative:
        raise InputError(f"{plain.path}: foreign byte order; save it in that of this machine")
    if not len(plain):
        raise InputError(f"{plain.path}: no frames; leave the recording out")
