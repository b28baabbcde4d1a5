"""Where the files of episodes are: ``<session>/ep<k>/`` with six videos and one annotation file.

An episode is named after its two folders, ``session/ep0``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError, some
from gnomon.intake.faults import guarded, shown
from gnomon.intake.unread import note
from gnomon.runs.seal import hash_file_once

ANNOTATION = "annotation.hdf5"
VIDEOS = ("fisheye_cam0", "fisheye_cam1", "fisheye_cam2", "fisheye_cam3", "stereo_left", "stereo_right")
"""Streams of video; each is a file of its name, with ``.mp4``."""
DATASETS = {
    "hand_left": ("hand_mocap/left_joints_3d",),
    "hand_right": ("hand_mocap/right_joints_3d",),
    "body": ("full_body_mocap/keypoints",),
    "contacts": ("full_body_mocap/contacts",),
    "camera": ("slam/quat_wxyz", "slam/trans_xyz"),
    "imu": ("imu/keyframe_indices", "imu/accel_xyz", "imu/gyro_xyz"),
    "depth": ("depth/depth",),
    "confidence": ("depth/confidence",),
    "point_cloud": ("slam/point_cloud",),
    "calibration": ("calibration",),
    "caption": ("caption",),
}
"""Streams of the annotation file, and the datasets that each is read from."""
STREAMS = (*DATASETS, *VIDEOS)
DEEPEST = 8
"""Folders below a given one in which episodes that are not reached are looked for."""
_EPISODE = re.compile(r"ep\d+")


@dataclass(frozen=True)
class Place:
    """An episode on disk: its name, and its folder."""

    id: str
    folder: Path

    @property
    def annotation(self) -> Path:
        """The annotation file."""
        return self.folder / ANNOTATION

    def video(self, name: str) -> Path:
        """Return the file of one of :data:`VIDEOS`, which need not be there."""
        return self.folder / f"{name}.mp4"

    def files(self) -> list[Path]:
        """Return the files of the episode that are there."""
        wanted = (self.annotation, *(self.video(name) for name in VIDEOS))
        return [path for path in wanted if path.is_file()]


def find(paths: Sequence[str | os.PathLike[str]]) -> list[Place]:
    """Return the episodes in folders, in natural order of their names.

    Parameters
    ----------
    paths
        Folders of episodes, of sessions, or of sessions' folders.

    Raises
    ------
    InputError
        A path is no folder or has no episode, two episodes have one name, or an episode has no annotation file.
    """
    places: dict[Path, Place] = {}
    for path in paths:
        found = list(_below(Path(path)))
        if not found:
            raise InputError(
                f"{shown(path)}: no episode; expected {ANNOTATION} in it, or in folders ep<k> or <session>/ep<k> below "
                "it; give the folder that holds them"
            )
        places |= {place.folder.resolve(): place for place in found}
    for path in paths:
        _note_unreached(Path(path), places.keys())
    return sorted(_distinct(places.values()), key=lambda place: _natural(place.id))


def content(place: Place) -> str:
    """Return the hash of the names, sizes and contents of the files of an episode."""
    return fingerprint([[path.name, path.stat().st_size, _hash(path)] for path in place.files()])


def _hash(path: Path) -> str:
    with guarded(path, "cannot be read", "check that you may read it"):
        return hash_file_once(path)


def _below(path: Path) -> Iterable[Place]:
    """Yield the episodes of a folder: itself, or those at most two levels below it."""
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "no such folder"
        raise InputError(f"{shown(path)}: {what}; give the folder of an episode, or one that holds sessions")
    if (path / ANNOTATION).is_file():
        yield _place(path)
        return
    for child in _folders(path):
        for folder in (child, *(() if _is_episode(child) else _folders(child))):
            if _is_episode(folder):
                yield _place(folder)


def _note_unreached(path: Path, reached: Collection[Path]) -> None:
    """Note annotation files below a folder that belong to no episode, since they lie too deep or are called otherwise.

    Episodes themselves and hidden folders are not looked into.
    """
    lost = {}
    for top, folders, files in os.walk(path):
        here = Path(top)
        if here.resolve() in reached:
            folders.clear()
        elif ANNOTATION in files:
            lost[(here / ANNOTATION).relative_to(path).as_posix()] = 1
        deep = len(here.relative_to(path).parts) >= DEEPEST
        folders[:] = [] if deep else sorted(name for name in folders if not name.startswith("."))
    note(path / "*", lost)


def _folders(path: Path) -> list[Path]:
    with guarded(path, "cannot be listed", "check that you may read it"):
        return sorted(child for child in path.iterdir() if child.is_dir())


def _is_episode(folder: Path) -> bool:
    """Tell whether a folder is an episode; one that has videos but no annotation is refused, not passed over."""
    if not _EPISODE.fullmatch(folder.name):
        return False
    if (folder / ANNOTATION).is_file():
        return True
    if any((folder / f"{name}.mp4").is_file() for name in VIDEOS):
        raise InputError(f"{shown(folder)}: has videos but no {ANNOTATION}; complete the episode or remove the folder")
    return False


def _place(folder: Path) -> Place:
    whole = folder.resolve()
    return Place(f"{whole.parent.name}/{whole.name}" if whole.parent.name else whole.name, folder)


def _distinct(places: Iterable[Place]) -> list[Place]:
    seen: dict[str, Place] = {}
    for place in places:
        other = seen.setdefault(place.id, place)
        if other is not place:
            where = some([str(other.folder), str(place.folder)])
            raise InputError(f"episode {place.id!r} is there twice, in {where}; give one of them")
    return list(seen.values())


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key in which ``ep10`` comes after ``ep9``."""
    parts = re.split(r"(\d+)", name)
    return [(1, int(part), part) if part.isascii() and part.isdigit() else (0, 0, part) for part in parts if part]
