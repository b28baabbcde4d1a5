"""Episodes whose streams are read when they are asked for, so that many can be scored in the memory of one.

What was written about the frames is held, and a little of what tasks make of the streams; hands, root, poses and
contacts are read from the recording, or from its artefact, each time. Arrays that are made of them are held in a folder
where one is given, else they are made again. A recording that is no longer the one whose frames are known is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.faults import guarded, shown
from gnomon.suites.episode import cells
from gnomon.suites.episode.annotated import (
    NoFeatures,
    labels_of,
    points_of,
    poses_of,
    read_arrays,
    read_labels,
    stream,
)
from gnomon.suites.episode.captions import FrameLabels
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.features import blocks
from gnomon.suites.episode.features.stored import Features
from gnomon.suites.episode.features.windows import starts
from gnomon.suites.episode.frames import Points, Poses
from gnomon.suites.episode.layout import Place
from gnomon.suites.episode.plausible import check_plausible
from gnomon.suites.episode.tasks.data import SIDES, Recorded, Table

Load = Callable[[Sequence[str]], Mapping[str, Array]]
"""Reads the arrays of some streams."""
MOTION = ("left_hand", "right_hand", "root", "poses")


def read_truth(
    places: Sequence[Place], variant: str, wanted: Collection[str], folder: Path
) -> tuple[list[Recorded], dict[str, Any]]:
    """Read what was written about episodes, and compute the blocks that are wanted in a folder; return both."""
    recorded, streams = [], {}
    for number, place in enumerate(places):
        held = folder / str(number)
        if not wanted:
            recorded.append(opened(place, held))
            continue
        recorded.append(opened(place, held, partial(_features, place, variant, wanted, held)))
        streams[place.id] = describe_blocks(Features.read(held).facts, wanted)
    return recorded, streams


def _features(place: Place, variant: str, wanted: Collection[str], held: Path) -> Features:
    """Compute the blocks that are wanted of an episode in a folder of their own."""
    held.mkdir()
    skip = [name for name in blocks.NAMES if name not in wanted]
    arguments = {"episode": place.id, "folder": os.fspath(place.folder)}
    cells.features({**arguments, "validity": cells.VALIDITY[variant], "skip": skip}, {}, held)
    return Features.read(held)


def describe_blocks(facts: Mapping[str, Any], wanted: Collection[str]) -> dict[str, Any]:
    """Return what is known of the blocks that were computed."""
    kept = {key: facts[key] for key in ("frames", "audio", "repairs")}
    for key in ("coverage", "masked", "invalid_frames"):
        kept[key] = {name: value for name, value in facts[key].items() if name in wanted}
    return kept


def opened(place: Place, folder: Path, features: Callable[[], Table] | None = None) -> Recorded:
    """Return an episode as tasks see it, read from its recording; features are made after its caption."""
    known = _state(place.annotation)

    def load(names: Sequence[str]) -> dict[str, Array]:
        _check_same(place.annotation, known)
        with Episode.open(place) as episode:
            found = {key: values for name in names for key, values in stream(episode, name)[0].items()}
        _check_same(place.annotation, known)
        return found

    with Episode.open(place) as episode:
        check_plausible(episode)
        name, n_frames, labels = episode.id, episode.n_frames, labels_of(episode)
    return Unread(name, n_frames, labels, load, None if features is None else features(), folder)


def stored(folder: Path, features: Table | None = None) -> Recorded:
    """Return an episode as tasks see it, read from what :func:`gnomon.suites.episode.annotated.write` wrote."""
    found, labels = read_labels(folder)
    return Unread(found["episode"], int(found["frames"]), labels, partial(read_arrays, folder), features)


def _state(path: Path) -> tuple[int, int] | None:
    """Return when a file was changed last, and its size; None where it is not there."""
    try:
        found = path.stat()
    except OSError:  # opening it says why
        return None
    return found.st_mtime_ns, found.st_size


def _check_same(path: Path, known: tuple[int, int] | None) -> None:
    if _state(path) != known:
        raise InputError(f"{shown(path)}: changed while it was scored; give the same command again")


class Unread(Recorded):
    """An episode that does not hold its streams."""

    def __init__(
        self,
        name: str,
        n_frames: int,
        labels: FrameLabels,
        load: Load,
        features: Table | None,
        folder: Path | None = None,
    ) -> None:
        windows = starts(n_frames)
        table = NoFeatures(len(windows)) if features is None else features
        held = {"id": name, "n_frames": n_frames, "windows": windows, "labels": labels, "features": table}
        for key, value in {**held, "kept": {}, "_load": load, "_folder": folder}.items():
            object.__setattr__(self, key, value)
        self.check_frames({"action labels": len(labels.action)})
        self.check_features()

    _load: Load
    _folder: Path | None

    def hold(self, name: str, values: Array) -> None:
        """Write an array into the folder, if there is one."""
        if self._folder is not None:
            with guarded(self._folder, "cannot be written", "make room in the folder of temporary files"):
                self._folder.mkdir(exist_ok=True)
                np.save(self._folder / f"{name}.npy", values)

    def held(self, name: str) -> Array | None:
        """Return an array that was written, on disk."""
        path = None if self._folder is None else self._folder / f"{name}.npy"
        return np.load(path, mmap_mode="r", allow_pickle=False) if path is not None and path.is_file() else None

    def _read(self, *names: str) -> Mapping[str, Array]:
        """Read the arrays of some streams, of every frame."""
        found = self._load(names)
        self.check_frames({key: len(values) for key, values in found.items()})
        return found

    def motion(self) -> tuple[Mapping[str, Points], Points, Poses]:
        """Read hands, root and poses."""
        arrays = self._read(*MOTION)
        return {side: points_of(arrays, f"{side}_hand") for side in SIDES}, points_of(arrays, "root"), poses_of(arrays)

    @property
    def hands(self) -> Mapping[str, Points]:
        """Read both hands."""
        return self.motion()[0]

    @property
    def root(self) -> Points:
        """Read the root."""
        return points_of(self._read("root"), "root")

    @property
    def poses(self) -> Poses:
        """Read the poses."""
        return poses_of(self._read("poses"))

    @property
    def contacts(self) -> tuple[Array, Array]:
        """Read the contacts."""
        arrays = self._read("contacts")
        return arrays["contacts"], arrays["contacts_valid"]
