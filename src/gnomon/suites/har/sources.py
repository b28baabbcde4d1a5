"""Datasets below a folder: where they are, what they hold, and their windows as an artefact.

A dataset is known by the content of its files: the hash of an archive, or of the names and hashes of all files of a
folder. The name of a folder, or when a file was written, decides nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.canonical import encode_pretty, fingerprint
from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.runs.seal import hash_file_once
from gnomon.suites.har import windows as cutting
from gnomon.suites.har.datasets import REGISTRY, Dataset, Faults, Found, Place, TableDataset, found, said_skipped
from gnomon.suites.har.marks import simulated
from gnomon.suites.har.recordings import Manifest, Windows
from gnomon.suites.har.splits import SEED
from gnomon.suites.har.spool import Spool
from gnomon.suites.har.vocabulary import LABELS, group_of

WINDOWS, ABOUT, DIGESTS = "windows", "about.json", "digests.npy"
PRECUT, CONTINUOUS = "precut", "continuous"


@dataclass(frozen=True)
class Asked:
    """Which windows: of a dataset as a variant reads it, at a rate (None: its own), cut once or pre-cut."""

    dataset: str
    variant: str
    rate_hz: float | None
    cutting: str


@dataclass(frozen=True)
class Located:
    """A dataset that is there."""

    name: str
    manifest: Manifest
    root: str
    """The folder below which it was found."""
    where: str
    content: str
    """Hash of its files."""
    simulated: bool = False
    """Whether it is marked as simulated."""
    ignored: tuple[str, ...] = ()
    """What lies there of it and is not read, in words."""


@dataclass(frozen=True)
class About:
    """What is known of prepared windows besides themselves."""

    digests: Array
    """``(n,)`` bytes: hash of the content of every window."""
    extents: Mapping[str, tuple[float, float]]
    """First and last second of every recording, half-open."""
    magnitudes: Mapping[str, float]
    """Median length of the acceleration by subject, in m/s^2."""
    rates: Mapping[str, float]
    """Smallest, median and largest measured rate of the recordings."""
    labels: Mapping[str, str]
    """Label of every recording."""
    resting: Mapping[str, float] = field(default_factory=dict)
    """Median length of the acceleration of recordings at rest, in m/s^2."""
    turning: Mapping[str, float] = field(default_factory=dict)
    """Median angular rate of recordings of moving people, in rad/s."""
    lacking: Mapping[str, int] = field(default_factory=dict)
    """Recordings without a channel that others have, by channel."""
    faults: Mapping[str, int] = field(default_factory=dict)
    """What was repaired or left out when files were read and windows were cut."""
    broken: tuple[str, ...] = ()
    """What could not be read and is left out, one error each."""


def locate(root: str, train: Sequence[str], test: Sequence[str]) -> tuple[list[Located], list[Located]]:
    """Find the datasets to train on and to test on; those that are named must be there."""
    there = found(root)
    sides = []
    for names, roles, option in ((train, ("train",), "--train"), (test, ("test", "severe"), "--test")):
        absent = [name for name in names if name not in there]
        unknown = [name for name in absent if name not in REGISTRY]
        if unknown:
            known = sorted({*REGISTRY, *there})
            raise InputError(f"{option}: no dataset {some(unknown)}; there are {', '.join(known)}")
        chosen = list(names) or [name for name, (dataset, _) in there.items() if dataset.manifest.role in roles]
        if absent or not chosen:
            what = some(absent) if absent else f"no dataset of the role {' or '.join(roles)} was"
            raise InputError(
                f"{option}: {what} {'not ' if absent else ''}found in {root}; see gnomon data check {root}, and gnomon "
                "data describe NAME for where to obtain it"
            )
        sides.append([_located(root, name, there) for name in dict.fromkeys(chosen)])
    both = sorted({one.name for one in sides[0]} & {one.name for one in sides[1]})
    if both:
        raise InputError(f"{some(both)} is to be trained on and tested on: leave it out of --train or of --test")
    return sides[0], sides[1]


def _located(root: str, name: str, there: Found) -> Located:
    dataset, (place, *others) = there[name]
    marked = simulated(place.path, place.inside, name)
    ignored = [f"also in {other}, which is not used" for other in others]
    if name in there.skipped:
        ignored.append(said_skipped(name, there.skipped[name]))
    ignored += there.strays.get(name, [])
    return Located(name, dataset.manifest, root, str(place), content(dataset, place), marked, tuple(ignored))


def content(dataset: Dataset | TableDataset, place: Place) -> str:
    """Return the hash of an archive, or of the names and contents of the files that are read."""
    if isinstance(dataset, TableDataset):
        return fingerprint([_sha(path) for path in (dataset.path, *dataset.tables)])
    if place.is_archive:
        return fingerprint([place.inside, _sha(place.path)])
    files = {place.file_of(name) for name in dataset.files(place)}
    named = sorted((file.relative_to(place.path).as_posix().removeprefix(place.inside), file) for file in files)
    return fingerprint([[name, _sha(file)] for name, file in named])


def _sha(path: Path) -> str:
    """Return the hash of a file, or that it cannot be read: reading the dataset then leaves it out and says why."""
    try:
        return hash_file_once(path)
    except OSError:
        return "unreadable"


def prepare(asked: Asked, root: str, out: Path) -> None:
    """Read a dataset, cut its windows, and store them with what an audit wants to know; memory is that of a batch."""
    dataset, places = found(root)[asked.dataset]
    out.mkdir(parents=True, exist_ok=True)
    with Spool(out) as spool:
        faults = Faults.leaving_out()
        for recording in dataset.read(places[0], asked.variant, faults):
            spool.add(recording)
        broken = faults.broken or []
        if not len(spool):
            why = f"; the first error: {broken[0]}" if broken else ""
            raise InputError(f"{places[0]}: no recording of {asked.dataset}; see gnomon data check {root}{why}")
        hashes: list[Array] = []
        cutting.store(_hashed_batches(_batches(spool, asked, dataset.manifest, faults), hashes), out / WINDOWS)
        np.save(out / DIGESTS, np.concatenate(hashes))
        # A dataset is known by its content, so what is stored does not say where it lies.
        top = f"{shown(places[0].path.parent if isinstance(dataset, TableDataset) else places[0].path)}/"
        told = {"faults": dict(sorted(faults.items())), "broken": [error.replace(top, "") for error in broken]}
        (out / ABOUT).write_bytes(encode_pretty({**spool.about(), **told}))


def _batches(spool: Spool, asked: Asked, manifest: Manifest, faults: Faults) -> Iterator[Windows]:
    """Yield windows of some recordings at a time."""
    rate = float(np.median(spool.rates)) if asked.rate_hz is None else asked.rate_hz
    precut = cutting.Precutting(SEED, short=manifest.short) if asked.cutting == PRECUT else None
    for batch in spool.batches():
        spans = precut.spans(batch) if precut else cutting.cut(batch, short=manifest.short)
        if spans.dropped:
            faults["recordings shorter than a window, left out"] += spans.dropped
        if len(spans):
            yield replace(
                cutting.at_rate(batch, spans, rate),
                channels=manifest.texts(asked.variant),
                gravity=manifest.gravity[asked.variant],
                patch_s=manifest.patch_s,
            )


def _hashed_batches(batches: Iterable[Windows], hashes: list[Array]) -> Iterator[Windows]:
    for batch in batches:
        hashes.append(np.array(digests(batch), dtype="S32"))
        yield batch


def load(folder: Path) -> Windows:
    """Read stored windows."""
    return cutting.load(folder / WINDOWS)


def about(folder: Path) -> About:
    """Read what is known of stored windows."""
    stored: dict[str, Any] = json.loads((folder / ABOUT).read_bytes())
    plain = ("magnitudes", "rates", "labels", "resting", "turning", "lacking", "faults")
    return About(
        digests=np.load(folder / DIGESTS, mmap_mode="r", allow_pickle=False),
        extents={name: (float(low), float(high)) for name, (low, high) in stored["extents"].items()},
        broken=tuple(stored["broken"]),
        **{name: stored[name] for name in plain},
    )


def digests(windows: Windows) -> tuple[str, ...]:
    """Return a hash of the content of every window."""
    return tuple(
        hashlib.blake2b(
            np.ascontiguousarray(signal).tobytes() + np.ascontiguousarray(valid).tobytes(), digest_size=16
        ).hexdigest()
        for signal, valid in zip(windows.signals, windows.valid, strict=True)
    )


def untaught(labels: Iterable[str], taught: Iterable[str]) -> list[str]:
    """Return the labels of a test dataset whose group has a training label, but no window to train on."""
    there = {group_of(label) for label in taught}
    known = {group_of(label) for label in LABELS}
    return sorted({label for label in labels if group_of(label) in known and group_of(label) not in there})
