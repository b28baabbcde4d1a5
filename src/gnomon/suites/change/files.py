"""The files of ``change``: rooms scanned several times, and what changed between two scans.

::

    Data/001/001-1.pcd          the reference scan of room 001
    Data/001/001-2.pcd          a comparison: 2 Remove, 3 Add, 4 Move, 5 Composite, 6 Unchanged
    Label/001-2.json            its boxes (see labels), an empty list where nothing changed
    Label/001-2.points.npz      the classes of its points, where they are known

A scene is one comparison with the reference of its room; its id is ``001-2``. Rooms have any names; of a room at least
the reference and one comparison are needed. Scans may be ``.pcd``, ``.ply`` or ``.npz``, one file each, and names of
the two folders and suffixes may be written in any case of letters. What else lies there is passed over and counted.

A comparison without a label, a label without a comparison and a room without a reference are errors. With
``missing="skip"`` they are left out and counted in the notes of the dataset, as real collections have gaps.

A label that cannot be read is an error too. With ``lenient=True`` its scene is kept without boxes and with the error in
:attr:`Scene.fault`, which reading its scans raises: the scene is then left out like one with a broken scan.

What a system predicts is in :mod:`gnomon.suites.change.predictions`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

from gnomon.core.errors import InputError, counted, some
from gnomon.core.scans import Boxes
from gnomon.core.tallies import Array
from gnomon.intake.clouds import SUFFIXES, Cloud
from gnomon.intake.faults import guarded, shown
from gnomon.suites.change.labels import by_boxes, fitted, read_alike, read_boxes, read_points
from gnomon.suites.change.shapes import together
from gnomon.suites.change.sizes import check_boxes_of_scan, check_truth, read_scan

REFERENCE = 1
CATEGORIES = {2: "Remove", 3: "Add", 4: "Move", 5: "Composite", 6: "Unchanged"}
"""What a comparison shows, by its number."""
POINTS = ".points.npz"
POLICIES = ("error", "skip")
TOGETHER = 256
"""Label files that are read together."""
_SCAN = re.compile(r"(.+)-(\d{1,6})")


@dataclass(frozen=True)
class Place:
    """Where the files of a scene are."""

    room: str
    number: int
    reference: Path
    comparison: Path
    label: Path
    points: Path | None = None

    @property
    def id(self) -> str:
        """Name of the scene."""
        return f"{self.room}-{self.number}"

    def read(self, *, lenient: bool = False) -> Scene:
        """Read the boxes of the scene; a lenient reading keeps a scene without them where they cannot be read."""
        try:
            return self.scene(read_boxes(self.label))
        except InputError as error:
            if not lenient:
                raise
            files = self.reference, self.comparison, self.label, self.points
            return Scene(self.room, self.number, *files, boxes=together([], []), fault=str(error))

    def scene(self, boxes: Boxes) -> Scene:
        """Return the scene with its boxes, of which an unchanged one has none."""
        if len(boxes) and CATEGORIES[self.number] == "Unchanged":
            what = f"{counted(len(boxes), 'box')} in a scene of category Unchanged"
            raise InputError(f"{shown(self.label)}: {what}, expected none; give the scan another number")
        files = self.reference, self.comparison, self.label, self.points
        return Scene(self.room, self.number, *files, boxes=boxes)


@dataclass(frozen=True, eq=False)
class Scene(Place):
    """One comparison with the reference of its room; clouds are read when they are asked for."""

    boxes: Boxes = field(kw_only=True)
    fault: str = field(default="", kw_only=True)
    """Why the label cannot be read; empty where it can be."""

    @property
    def category(self) -> str:
        """What the scene shows."""
        return CATEGORIES[self.number]

    def clouds(self, *, invalid: str = "error", reference: Cloud | None = None, unit: str = "") -> tuple[Cloud, Cloud]:
        """Read the points of the reference and of the comparison; see :func:`gnomon.intake.clouds.read_cloud`.

        A reference that was read before, for another scene of the room, may be given. With ``unit="m"`` coordinates are
        metres whatever their size. A scene with a :attr:`fault` raises it.
        """
        if self.fault:
            raise InputError(self.fault)
        reference = reference or read_scan(self.reference, invalid=invalid, unit=unit)
        comparison = read_scan(self.comparison, invalid=invalid, unit=unit)
        check_boxes_of_scan(self.boxes, reference, what=shown(self.label), unit=unit)
        return reference, comparison

    def point_labels(self, reference: Cloud, comparison: Cloud) -> tuple[Array, Array]:
        """Return the class of every point of both clouds, from the file where there is one, else from the boxes."""
        if self.points is None:
            return by_boxes(self.boxes, reference.points, comparison.points)
        return fitted(read_points(self.points), (reference, comparison), shown(self.points))


@dataclass(frozen=True, eq=False)
class Dataset(Sequence[Scene]):
    """The scenes of a folder, by room and number."""

    path: Path
    scenes: tuple[Scene, ...]
    notes: tuple[str, ...] = field(default=())
    """What was left out or passed over, one sentence each."""

    def __len__(self) -> int:
        return len(self.scenes)

    def __iter__(self) -> Iterator[Scene]:
        return iter(self.scenes)

    @overload
    def __getitem__(self, index: int) -> Scene: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Scene, ...]: ...
    def __getitem__(self, index: int | slice) -> Scene | tuple[Scene, ...]:
        return self.scenes[index]


def read_dataset(
    path: str | os.PathLike[str], *, missing: str = "error", unit: str = "", lenient: bool = False
) -> Dataset:
    """Find the scenes of a folder and read their boxes.

    Parameters
    ----------
    path
        The folder that holds ``Data`` and ``Label``.
    missing
        What happens to comparisons without label, labels without comparison and rooms without reference: ``error``, or
        ``skip`` with a note.
    unit
        ``m`` insists that boxes are in metres, whatever their size.
    lenient
        Whether scenes are kept whose label cannot be read; each has the error as its :attr:`Scene.fault`.

    Raises
    ------
    InputError
        The layout is another one, a label cannot be read (of a lenient reading: none can be), or boxes have a size that
        nothing in a room has.
    """
    places, notes = find_scenes(path, missing=missing)
    scenes = tuple(read_scenes(places, lenient=lenient))
    if all(scene.fault for scene in scenes):
        raise InputError(f"no label can be read; the first: {scenes[0].fault}")
    check_truth(scenes, shown(path), unit)
    return Dataset(Path(path), scenes, notes)


def read_scenes(places: Sequence[Place], *, lenient: bool = False) -> Iterator[Scene]:
    """Read the boxes of scenes, many label files together where their boxes are written alike, else one by one.

    A lenient reading keeps scenes whose label cannot be read; see :func:`read_dataset`.
    """
    for start in range(0, len(places), TOGETHER):
        part = places[start : start + TOGETHER]
        found = read_alike([place.label for place in part])
        scenes = None if found is None else _scenes_of(part, found, lenient)
        yield from (place.read(lenient=lenient) for place in part) if scenes is None else scenes


def _scenes_of(places: Sequence[Place], boxes: Sequence[Boxes], lenient: bool) -> list[Scene] | None:
    """Return scenes with their boxes; None where a lenient reading has to read them one by one."""
    try:
        return [place.scene(own) for place, own in zip(places, boxes, strict=True)]
    except InputError:
        if lenient:
            return None
        raise


def find_scenes(path: str | os.PathLike[str], *, missing: str = "error") -> tuple[list[Place], tuple[str, ...]]:
    """Find the scenes of a folder, of which nothing is read yet; return them and what was left out or passed over.

    Parameters are those of :func:`read_dataset`.
    """
    if missing not in POLICIES:
        raise InputError(f"missing={missing!r}: expected one of {some(POLICIES)}")
    root = Path(path)
    finding = _Finding(root, missing)
    scans = finding.scans(_folder(root, "Data"))
    labels, points = finding.labels(_folder(root, "Label"))
    places = []
    for room, number in finding.pairs(scans, labels):
        paths = scans[room, REFERENCE], scans[room, number]
        places.append(Place(room, number, *paths, labels[room, number], points.get((room, number))))
    if not places:
        raise InputError(f"{shown(root)}: no scene: expected Data/001/001-1.pcd, 001-2.pcd, ... and Label/001-2.json")
    return places, tuple(finding.notes)


Key = tuple[str, int]


class _Finding:
    """Looks through the folders of one dataset."""

    def __init__(self, root: Path, missing: str) -> None:
        self.root, self.missing = root, missing
        self.notes: list[str] = []

    def scans(self, folder: Path) -> dict[Key, Path]:
        """Return the scans of all rooms."""
        found: dict[Key, Path] = {}
        extra, empty = [], []
        for room in _entries(folder):
            inner = room.is_dir()
            files = _entries(room) if inner else [room]
            if not files:
                empty.append(room.name)
            for file in files:
                key = _key(file) if inner and file.suffix.lower() in SUFFIXES else None
                if key is None:
                    extra.append(file.relative_to(folder).as_posix() + "/" * file.is_dir())
                    continue
                if key[0] != room.name:
                    raise InputError(
                        f"{shown(file)}: a scan of room {key[0]!r} in the folder of {room.name!r}; move it"
                    )
                if key in found:
                    raise InputError(f"{shown(file)}: the same scan is there as {found[key].name!r}; keep one of them")
                _check_number(key[1], file)
                found[key] = file
        self._note(
            extra, "entry of Data is no scan (ROOM/ROOM-N.pcd)", "entries of Data are no scans (ROOM/ROOM-N.pcd)"
        )
        self._note(empty, "room has no scan", "rooms have no scan")
        return found

    def labels(self, folder: Path) -> tuple[dict[Key, Path], dict[Key, Path]]:
        """Return the label files and the files of point classes."""
        labels: dict[Key, Path] = {}
        points: dict[Key, Path] = {}
        extra = []
        for file in _entries(folder):
            name = file.name.lower()
            suffix = POINTS if name.endswith(POINTS) else ".json" if name.endswith(".json") else ""
            match = _SCAN.fullmatch(file.name[: -len(suffix)]) if suffix else None
            if match is None:
                extra.append(file.name)
                continue
            key = match[1], int(match[2])
            _check_number(key[1], file)
            if key[1] == REFERENCE:
                raise InputError(f"{shown(file)}: a label for a reference scan; labels belong to comparisons")
            (points if suffix == POINTS else labels)[key] = file
        self._note(extra, "file in Label is no label (ROOM-N.json)", "files in Label are no labels (ROOM-N.json)")
        self._absent([f"{r}-{n}" for r, n in points if (r, n) not in labels], "classes of points without boxes")
        return labels, points

    def pairs(self, scans: dict[Key, Path], labels: dict[Key, Path]) -> list[Key]:
        """Return the comparisons that have a reference and a label, by room and number."""
        rooms = dict.fromkeys(room for room, _ in scans)
        headless = [room for room in rooms if (room, REFERENCE) not in scans]
        alone = [room for room in rooms if not any((room, number) in scans for number in CATEGORIES)]
        compared = [(room, number) for room, number in scans if number != REFERENCE]
        self._absent(headless, "room without a reference scan (RRR-1)")
        self._absent([f"{r}-{n}" for r, n in compared if (r, n) not in labels], "comparison without a label")
        self._absent([f"{r}-{n}" for r, n in labels if (r, n) not in scans], "label without a scan")
        self._note(alone, "room has no comparison", "rooms have no comparison")
        return sorted(key for key in compared if key in labels and key[0] not in headless)

    def _absent(self, names: Sequence[str], what: str) -> None:
        if not names:
            return
        text = f"{what}: {some(names)}"
        if self.missing == "error":
            raise InputError(f"{shown(self.root)}: {text}; add what is missing, or leave them out (--gaps skip)")
        self.notes.append(f"left out, {text}")

    def _note(self, names: Sequence[str], one: str, many: str) -> None:
        if names:
            self.notes.append(f"{len(names):,} {one if len(names) == 1 else many}: {some(names, show=3)}")


def _folder(root: Path, name: str) -> Path:
    if not root.is_dir():
        raise InputError(f"{shown(root)}: no such folder; give the folder that holds Data and Label")
    found = [entry for entry in _entries(root) if entry.is_dir() and entry.name.lower() == name.lower()]
    if len(found) != 1:
        what = f"{len(found)} folders" if found else "no folder"
        raise InputError(f"{shown(root)}: {what} {name!r}, expected one; give the folder that holds Data and Label")
    return found[0]


def _entries(folder: Path) -> list[Path]:
    with guarded(folder, "cannot be listed", "check that you may read it"):
        visible = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
        return sorted(visible, key=lambda entry: os.path.normcase(entry.name))


def _key(file: Path) -> Key | None:
    """Return room and number of a scan, or None for another name."""
    match = _SCAN.fullmatch(file.stem)
    return (match[1], int(match[2])) if match else None


def _check_number(number: int, file: Path) -> None:
    if number != REFERENCE and number not in CATEGORIES:
        known = ", ".join(f"{n} {name}" for n, name in CATEGORIES.items())
        raise InputError(f"{shown(file)}: number {number} has no meaning, expected 1 reference, {known}; rename it")
