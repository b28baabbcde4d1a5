"""Verb ``simulate``: furnished rooms, each scanned as a reference and five times more after something changed.

``DIR`` receives exactly the files of :mod:`gnomon.suites.change.files`: ``Data/001/001-1`` to ``001-6``, with boxes and
classes of points for every comparison: Remove, Add, Move, Composite, and an unchanged rescan (``-6``), without which a
false alarm rate is not defined. Rooms of odd number have label files with vertices, those of even number with corners.

Boxes are the axis-aligned boxes of whole surfaces, hidden parts included, in the coordinates of the reference. The
class of a point is known from the ray that made it: Remove in the reference if its thing is not there any more, Add in
the comparison if its thing was not there before. Floor and walls that come into sight where a thing went are NoChange.
Comparisons are scanned anew, from other places, and misaligned by less than 5 cm. A room depends on the seed and its
number alone, whatever else is written. ``DIR/simulated.json`` says that the scans are not real ones. See
:mod:`gnomon.suites.change.simulation`.

What happens between two scans: things vanish, appear and move.

A change is only made where it can be seen: what vanishes had enough points in the reference, and what appears has
enough in the comparison. Else chance is asked again, after ten times for fewer changes and for half the points: scans
of a few thousand points see little of small things.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError, WorkError, some
from gnomon.core.scans import BOX_CLASSES, CHANGES, Boxes
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.engine.progress import told
from gnomon.engine.simulated import MARK
from gnomon.intake.clouds import write_cloud
from gnomon.simulation.rays import move_solids
from gnomon.suites.change.files import CATEGORIES, POINTS, REFERENCE
from gnomon.suites.change.labels import write_boxes, write_points
from gnomon.suites.change.options import SimulateOptions
from gnomon.suites.change.shapes import FRAME
from gnomon.suites.change.simulation import furniture, rooms, scanning
from gnomon.suites.change.simulation.parts import Thing, rotated
from gnomon.suites.change.simulation.rooms import Room, put
from gnomon.suites.change.simulation.scanning import Scan

SHARE_SEEN, LEAST_SEEN = 0.0006, 8
"""Points that a changed thing has, as a share of the scan, and at least."""
PATIENCE = 10
"""Attempts after which less is asked of chance."""
_FARTHER = 0.35
_PLANS = {"Remove": ((1, 3), (0, 0), (0, 0)), "Add": ((0, 0), (1, 3), (0, 0)), "Move": ((0, 0), (0, 0), (1, 2))}
_COMPOSITE = ((1, 2), (1, 2), (0, 2))


@dataclass(frozen=True, eq=False)
class Change:
    """A room after a change: things by number, and which numbers went and came."""

    things: Mapping[int, Thing]
    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()


def enough(points: int, attempt: int) -> int:
    """Return how many points a changed thing needs in a scan of so many, after so many attempts."""
    return max(1, max(LEAST_SEEN, round(SHARE_SEEN * points)) >> attempt // PATIENCE)


def draw(room: Room, category: str, seen: Scan, attempt: int, rng: np.random.Generator) -> Change | None:
    """Return a change of some category, or None where chance found no place for it."""
    things = dict(room.things)
    if category == "Unchanged":
        return Change(things)
    plan = _PLANS.get(category, _COMPOSITE)
    gone, come, moved = (int(rng.integers(low, (high if attempt < PATIENCE else low) + 1)) for low, high in plan)
    least = enough(len(seen.points), attempt)
    visible = [number for number in sorted(room.movable) if seen.count(number) >= least]
    if len(visible) < gone + moved:
        return None
    chosen = [int(number) for number in rng.permutation(visible)[: gone + moved]]
    for number in chosen:
        del things[number]
    fresh = max(room.things) + 1
    added: list[int] = []
    for number in chosen[gone:]:
        placed = _elsewhere(room, things, room.things[number], rng)
        if placed is None:
            return None
        things[fresh] = placed
        added.append(fresh)
        fresh += 1
    for _ in range(come):
        makers = furniture.FLOOR if rng.random() < 0.6 else furniture.TOP
        placed = put(room, things, makers[int(rng.integers(len(makers)))](rng), rng)
        if placed is None:
            return None
        things[fresh] = placed
        added.append(fresh)
        fresh += 1
    return Change(things, tuple(chosen), tuple(added))


def _elsewhere(room: Room, things: Mapping[int, Thing], thing: Thing, rng: np.random.Generator) -> Thing | None:
    """Return the same thing at another place."""
    before = thing.box
    middle = (before[:3] + before[3:]) / 2
    at_origin = Thing(thing.name, thing.parts - np.array([0, middle[0], middle[1], before[2], 0, 0, 0, 0]))
    for _ in range(10):
        placed = put(room, things, at_origin, rng)
        if placed is not None and np.linalg.norm(_middle(placed) - middle) >= _FARTHER:
            return placed
    return None


def _middle(thing: Thing) -> Array:
    box = thing.box
    return np.asarray((box[:3] + box[3:]) / 2)


ATTEMPTS = 6 * PATIENCE
DIGITS = 6
"""Decimals of metres in boxes."""


def simulate(options: SimulateOptions) -> list[Path]:
    """Write rooms; return the folders of their scans."""
    folder = Path(options.directory)
    names = [f"{number:03d}" for number in range(1, options.rooms + 1)]
    _check_folder(folder, names, options.format)
    (folder / "Label").mkdir(parents=True, exist_ok=True)
    record = {"by": "gnomon simulate change", **{n: getattr(options, n) for n in ("rooms", "seed", "points")}}
    (folder / MARK).write_bytes(encode_pretty(record))
    written = (_write_room(folder, name, options).name for name in names)
    return [folder / "Data" / name for name in told(written, options.rooms, "rooms")]


def _check_folder(folder: Path, names: list[str], suffix: str) -> None:
    """Refuse a folder with scans or labels that would not be replaced: they would be read as part of the dataset."""
    ours = {f"{name}-{number}" for name in names for number in (REFERENCE, *CATEGORIES)}
    scans = {f"{stem}.{suffix}" for stem in ours}
    labels = {f"{stem}{end}" for stem in ours for end in (".json", POINTS)}
    there = [path for path in sorted(folder.glob("Data/*/*")) if path.name not in scans]
    there += [path for path in sorted(folder.glob("Label/*")) if path.name not in labels]
    if there:
        listed = some([os.fspath(path.relative_to(folder)) for path in there], show=3)
        raise InputError(f"{folder}: holds {listed}, which would not be replaced; choose an empty folder")


def _write_room(folder: Path, name: str, options: SimulateOptions) -> Path:
    """Write one room: six scans, five label files and five files of point classes."""
    room = rooms.build(generator(options.seed, "change", "room", name))
    rng = generator(options.seed, "change", "scan", name, str(REFERENCE))
    places = scanning.stations(room, room.things, rng)
    reference, spacing = scanning.scan(room, room.things, places, options.points, 0.0, rng)
    scans = folder / "Data" / name
    scans.mkdir(parents=True, exist_ok=True)
    _write_scan(scans / f"{name}-{REFERENCE}.{options.format}", room, reference.points, options)
    for number, category in CATEGORIES.items():
        change, seen, rng = _comparison(room, name, number, category, reference, places, spacing, options)
        turn, move = scanning.misalignment(room, rng)
        stem = f"{name}-{number}"
        _write_scan(scans / f"{stem}.{options.format}", room, rotated(seen.points, turn) + move, options)
        form = "vertices" if int(name) % 2 else "corners"
        label = folder / "Label" / f"{stem}.json"
        write_boxes(label, _boxes(room, change), form=form, filename=f"{stem}.{options.format}")
        went = np.where(np.isin(reference.owners, change.removed), CHANGES.index("Remove"), 0)
        came = np.where(np.isin(seen.owners, change.added), CHANGES.index("Add"), 0)
        write_points(folder / "Label" / f"{stem}{POINTS}", went, came)
    return scans


def _comparison(
    room: Room,
    name: str,
    number: int,
    category: str,
    reference: Scan,
    places: Array,
    spacing: float,
    options: SimulateOptions,
) -> tuple[Change, Scan, np.random.Generator]:
    """Change the room and scan it again, until everything that came can be seen."""
    for attempt in range(ATTEMPTS):
        rng = generator(options.seed, "change", "scan", name, str(number), str(attempt))
        change = draw(room, category, reference, attempt, rng)
        if change is None:
            continue
        near = scanning.stations(room, change.things, rng, places)
        seen, _ = scanning.scan(room, change.things, near, options.points, spacing, rng)
        if all(seen.count(thing) >= enough(len(seen.points), attempt) for thing in change.added):
            return change, seen, rng
    raise WorkError(
        f"room {name}: no change of category {category} can be seen in {ATTEMPTS} attempts; take more points"
    )


def _boxes(room: Room, change: Change) -> Boxes:
    """Return what came and what went, as boxes in the coordinates of the reference."""
    pairs = [("Add", change.things[n]) for n in change.added] + [("Remove", room.things[n]) for n in change.removed]
    boxes = [Thing(t.name, move_solids(t.parts, room.yaw, room.shift)).box.round(DIGITS) for _, t in pairs]
    codes = np.array([BOX_CLASSES.index(name) for name, _ in pairs], dtype=np.int64)
    return Boxes(np.array(boxes).reshape(-1, 6), codes, BOX_CLASSES, frame=FRAME)


def _write_scan(path: Path, room: Room, points: Array, options: SimulateOptions) -> None:
    cos, sin = np.cos(room.yaw), np.sin(room.yaw)
    turn = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    write_cloud(path, (rotated(points, turn) + room.shift).astype(np.float32), encoding=options.encoding)
