"""What tasks need of an episode beside its features, on disk: labels of frames, hands, root, poses and contacts.

``annotation.npz`` holds the arrays and ``labels.json`` what was written about the frames. With it, and the features,
the tasks of an episode can be built without its recording.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.tallies import Array
from gnomon.intake.documents import read_json
from gnomon.suites.episode.captions import FrameLabels, Segment
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.features.blocks import BLOCKS, column_numbers
from gnomon.suites.episode.features.statistics import CHUNK
from gnomon.suites.episode.features.windows import starts
from gnomon.suites.episode.frames import CAMERA, WORLD, Points, Poses
from gnomon.suites.episode.tasks.data import SIDES, Recorded, Table

ARRAYS, LABELS = "annotation.npz", "labels.json"
SHAPES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "left_hand": {"left_hand_xyz": (21, 3), "left_hand_valid": ()},
    "right_hand": {"right_hand_xyz": (21, 3), "right_hand_valid": ()},
    "root": {"root_xyz": (1, 3), "root_valid": ()},
    "poses": {"rotation": (3, 3), "translation": (3,), "poses_valid": ()},
    "contacts": {"contacts": (21,), "contacts_valid": ()},
}
"""What is kept of every frame: the arrays of each stream, and the shape of one frame of them."""
FRAMES = {"left_hand": CAMERA, "right_hand": CAMERA, "root": WORLD}
"""Coordinate frames of points."""


def write(episode: Episode, out: Path) -> None:
    """Read what tasks need of an open episode, and write it; frames that cannot be read are not valid."""
    n = episode.n_frames
    arrays: dict[str, Array] = {f"{name}_frame": np.array(frame) for name, frame in FRAMES.items()}
    unreadable: dict[str, str] = {}
    for name, shapes in SHAPES.items():
        for key, shape in shapes.items():
            arrays[key] = np.zeros((n, *shape), dtype=np.bool_ if key.endswith("_valid") else np.float64)
        for start in range(0, n, CHUNK):
            stop = min(start + CHUNK, n)
            try:
                found = _read(name, episode, start, stop)
            except InputError as error:
                unreadable[name] = str(error).replace(f"{episode.folder}/", "")
                continue
            for key, values in zip(shapes, found, strict=True):
                arrays[key][start:stop] = values
    np.savez(out / ARRAYS, **arrays)  # type: ignore[arg-type]
    why = episode.streams["caption"]
    labels = FrameLabels(("",) * n, ("",) * n, (frozenset(),) * n, ("",) * n, (), {}) if why else episode.frame_labels()
    record = {
        "episode": episode.id,
        "frames": n,
        "caption": why,
        "unreadable": unreadable,
        "action": list(labels.action),
        "subtask": list(labels.subtask),
        "objects": [sorted(names) for names in labels.objects],
        "interaction": list(labels.interaction),
        "segments": [asdict(segment) for segment in labels.segments],
        "repairs": dict(labels.repairs),
    }
    (out / LABELS).write_bytes(encode_pretty(record))


def _read(name: str, episode: Episode, start: int, stop: int) -> tuple[Array, ...]:
    """Return the arrays of a stream in some frames, in the order of :data:`SHAPES`."""
    if name == "poses":
        poses = episode.poses(start, stop)
        return poses.rotation, poses.translation, poses.valid
    if name == "contacts":
        return episode.contacts(start, stop)
    points = episode.root(start, stop) if name == "root" else episode.hand(name.removesuffix("_hand"), start, stop)
    if points.frame != FRAMES[name]:
        raise GnomonError(f"{name} is in the {points.frame} frame, expected {FRAMES[name]}")
    return points.xyz, points.valid


@dataclass(frozen=True)
class Annotation:
    """What was stored of one episode."""

    episode: str
    n_frames: int
    caption: str
    """Why there is none; empty where there is one."""
    labels: FrameLabels
    arrays: Mapping[str, Array]

    @staticmethod
    def read(folder: Path) -> Annotation:
        """Read what :func:`write` wrote."""
        found: Any = read_json(folder / LABELS)
        with np.load(folder / ARRAYS, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        labels = FrameLabels(
            tuple(found["action"]),
            tuple(found["subtask"]),
            tuple(frozenset(names) for names in found["objects"]),
            tuple(found["interaction"]),
            tuple(Segment(**item) for item in found["segments"]),
            found["repairs"],
        )
        return Annotation(found["episode"], int(found["frames"]), found["caption"], labels, arrays)

    def recorded(self, features: Table | None = None) -> Recorded:
        """Return the episode as tasks see it; without features where none are needed."""
        windows = starts(self.n_frames)
        return Recorded(
            id=self.episode,
            n_frames=self.n_frames,
            windows=windows,
            labels=self.labels,
            hands={side: self._read(f"{side}_hand") for side in SIDES},
            root=self._read("root"),
            poses=Poses(self.arrays["rotation"], self.arrays["translation"], self.arrays["poses_valid"]),
            contacts=(self.arrays["contacts"], self.arrays["contacts_valid"]),
            features=NoFeatures(len(windows)) if features is None else features,
        )

    def _read(self, name: str) -> Points:
        return Points(self.arrays[f"{name}_xyz"], self.arrays[f"{name}_valid"], str(self.arrays[f"{name}_frame"]))


@dataclass(frozen=True)
class NoFeatures:
    """Stands for features where a task looks at none."""

    windows: int

    @property
    def values(self) -> Array:
        """Nothing for every window."""
        return np.zeros((self.windows, 0), dtype=np.float32)

    @property
    def coverage(self) -> Array:
        """Nothing is covered."""
        return np.zeros((self.windows, len(BLOCKS)), dtype=np.float32)

    def columns(self, blocks: Any) -> Array:
        """Return where blocks would be."""
        return np.array(column_numbers(blocks), dtype=np.int64)
