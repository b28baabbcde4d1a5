"""What tasks need of an episode beside its features, on disk: labels of frames, hands, root, poses and contacts.

``annotation.npz`` holds the arrays and ``labels.json`` what was written about the frames: of frames in a row that say
the same how many they are, and what. With it, and the features, the tasks of an episode can be built without its
recording.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.tallies import Array
from gnomon.intake.documents import read_json
from gnomon.intake.faults import guarded
from gnomon.suites.episode.captions import FrameLabels, Segment
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.features.blocks import BLOCKS, column_numbers
from gnomon.suites.episode.features.statistics import CHUNK
from gnomon.suites.episode.features.windows import starts
from gnomon.suites.episode.frames import CAMERA, WORLD, Points, Poses
from gnomon.suites.episode.tasks.data import SIDES, Recorded, Table

T = TypeVar("T")
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
AGAIN = "delete it, and give the same command again"
"""What to do about an artefact that is damaged."""


def write(episode: Episode, out: Path) -> None:
    """Read what tasks need of an open episode, and write it; frames that cannot be read are not valid."""
    arrays: dict[str, Array] = {}
    unreadable: dict[str, str] = {}
    for name in SHAPES:
        found, why = stream(episode, name)
        arrays |= found
        if why:
            unreadable[name] = why
    np.savez(out / ARRAYS, **arrays)  # type: ignore[arg-type]
    labels = labels_of(episode)
    record = {
        "episode": episode.id,
        "frames": episode.n_frames,
        "caption": episode.streams["caption"],
        "unreadable": unreadable,
        "action": _runs(labels.action),
        "subtask": _runs(labels.subtask),
        "objects": [[count, sorted(names)] for count, names in _runs(labels.objects)],
        "interaction": _runs(labels.interaction),
        "segments": [asdict(segment) for segment in labels.segments],
        "repairs": dict(labels.repairs),
    }
    (out / LABELS).write_bytes(encode_pretty(record))


def _runs(frames: Iterable[T]) -> list[tuple[int, T]]:
    """Return what frames in a row have in common, and how many they are.

    >>> _runs(["stir", "stir", "pour"])
    [(2, 'stir'), (1, 'pour')]
    """
    return [(sum(1 for _ in own), value) for value, own in itertools.groupby(frames)]


def stream(episode: Episode, name: str) -> tuple[dict[str, Array], str]:
    """Return the arrays of a stream, and why some of its frames could not be read, if any."""
    n, why = episode.n_frames, ""
    arrays: dict[str, Array] = {
        key: np.zeros((n, *shape), dtype=np.bool_ if key.endswith("_valid") else np.float64)
        for key, shape in SHAPES[name].items()
    }
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        try:
            found = _read(name, episode, start, stop)
        except InputError as error:
            why = str(error).replace(f"{episode.folder}/", "")
            continue
        for key, values in zip(arrays, found, strict=True):
            arrays[key][start:stop] = values
    return arrays, why


def labels_of(episode: Episode) -> FrameLabels:
    """Return what was written about the frames of an open episode; nothing where it has no caption."""
    n = episode.n_frames
    if episode.streams["caption"]:
        return FrameLabels(("",) * n, ("",) * n, (frozenset(),) * n, ("",) * n, (), {})
    return episode.frame_labels()


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
        found, labels = read_labels(folder)
        return Annotation(found["episode"], int(found["frames"]), found["caption"], labels, read_arrays(folder))

    def recorded(self, features: Table | None = None) -> Recorded:
        """Return the episode as tasks see it; without features where none are needed."""
        windows = starts(self.n_frames)
        return Recorded(
            id=self.episode,
            n_frames=self.n_frames,
            windows=windows,
            labels=self.labels,
            hands={side: points_of(self.arrays, f"{side}_hand") for side in SIDES},
            root=points_of(self.arrays, "root"),
            poses=poses_of(self.arrays),
            contacts=(self.arrays["contacts"], self.arrays["contacts_valid"]),
            features=NoFeatures(len(windows)) if features is None else features,
        )


def read_labels(folder: Path) -> tuple[dict[str, Any], FrameLabels]:
    """Return the record of an episode that :func:`write` wrote, and what was written about its frames.

    Frames that say the same share it, as they do in a caption.
    """
    with guarded(folder / LABELS, "not the labels of an episode", AGAIN):
        return _labels(read_json(folder / LABELS))


def _labels(found: Any) -> tuple[dict[str, Any], FrameLabels]:
    """Take a record apart."""
    frames = int(found["frames"])

    def spread(name: str, made: Callable[[Any], T]) -> tuple[T, ...]:
        runs = [(int(count), made(value)) for count, value in found[name]]
        if (total := sum(count for count, _ in runs)) != frames or any(count < 1 for count, _ in runs):
            raise InputError(
                f"episode {found['episode']!r}: expected {frames} frames of each stream, but got {name} labels {total}"
            )
        return tuple(itertools.chain.from_iterable(itertools.repeat(value, count) for count, value in runs))

    texts: dict[str, str] = {}
    sets: dict[frozenset[str], frozenset[str]] = {}
    action, subtask, interaction = (
        spread(name, lambda text: texts.setdefault(text, text)) for name in ("action", "subtask", "interaction")
    )
    objects = spread("objects", lambda names: sets.setdefault(frozenset(names), frozenset(names)))
    segments = tuple(Segment(**item) for item in found["segments"])
    return found, FrameLabels(action, subtask, objects, interaction, segments, found["repairs"])


def read_arrays(folder: Path, streams: Collection[str] = tuple(SHAPES)) -> dict[str, Array]:
    """Return the arrays of streams that :func:`write` wrote."""
    path = folder / ARRAYS
    with (
        guarded(path, "not the arrays of an episode", AGAIN),
        path.open("rb") as raw,  # which numpy would leave open where it is no archive
        np.load(raw, allow_pickle=False) as file,
    ):
        return {key: file[key] for name in streams for key in SHAPES[name]}


def points_of(arrays: Mapping[str, Array], name: str) -> Points:
    """Return hands or root from their arrays."""
    return Points(arrays[f"{name}_xyz"], arrays[f"{name}_valid"], FRAMES[name])


def poses_of(arrays: Mapping[str, Array]) -> Poses:
    """Return the poses of the camera from their arrays."""
    return Poses(arrays["rotation"], arrays["translation"], arrays["poses_valid"])


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
