"""Folders of shards: files of predictions, each of some scenes, tallied one at a time.

A shard (``.json``, or a table) is read like a file of predictions that is given alone; a scene is in one shard. The
truth is the folder of the dataset, of which a cell reads the scenes of its shard, one after another: no more than two
scans are held at a time. Scenes without a prediction are dealt into cells by room.

Before any work every shard is read for the scenes that it has; one that has none is left out. One that cannot be read
fails in its own cell; which scenes it would have is not known, so that no scene is said to lack a prediction then.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gnomon.core.errors import InputError
from gnomon.engine import folding, sharding
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.intake import shards, tables
from gnomon.intake.faults import shown
from gnomon.intake.unread import CELL, collecting, reading_for
from gnomon.runs import parts
from gnomon.runs.content import table_digest
from gnomon.runs.run import Evaluation
from gnomon.suites.change import content, indoorcd, scoring
from gnomon.suites.change.files import Place, find_scenes, read_scenes
from gnomon.suites.change.keeping import Keeper
from gnomon.suites.change.options import ScoreOptions
from gnomon.suites.change.predictions import read_predictions
from gnomon.suites.change.scoring import TOLD, Book, Seen, System, Truth
from gnomon.suites.change.sizes import check_prediction

SUFFIXES = (".json", *(suffix for suffix in tables.SUFFIXES if suffix != ".npz"))
SETTINGS = ("iou_threshold", "matching", "invalid", "seed", "missing")
"""Options that a part depends on."""
TALLY = "gnomon.suites.change.shards:tally"
WITHOUT = "without predictions, room "
FILES = ("reference", "comparison", "label", "points")


@dataclass(frozen=True)
class Shard:
    """A file of predictions, or a room of scenes without any."""

    name: str
    path: Path | None
    scenes: tuple[str, ...] | None
    """None where it could not be read."""
    scored: bool | None = None
    """Whether its boxes have scores; None without boxes."""
    points: tuple[Path, ...] = ()


def score(sources: Sequence[tuple[str, str]], options: ScoreOptions) -> Job:
    """Plan a cell per shard and system."""
    places, notes = find_scenes(options.truth, missing=options.gaps)
    where = {place.id: place for place in places}
    systems = {}
    for name, path in sources:
        with collecting():  # cells say what is not read
            systems[name] = path, _shards(path, where, options)
    nodes = [_node(name, shard, where, options) for name, (_, found) in systems.items() for shard in found]
    variants = scoring.variants(options)

    def evaluated(name: str, outcome: Outcome) -> list[Evaluation]:
        path, found = systems[name]
        system, own = System(name, path, {}, scoring.known(Path(options.truth))), outcome.of(system=name)
        if not own.done and own.missing:
            raise folding.nothing_scored(shown(path), own, "scene")
        alone = _described(where, found, system.name, own)
        left = folding.left_alone(_others(path, found))
        made = [_evaluation(system, variant, list(where), found, own, alone, options) for variant in variants]
        return [replace(item, findings=(*item.findings, *left)) for item in made]

    def assembled(outcome: Outcome) -> list[Evaluation]:
        made = folding.for_each(systems, lambda name: evaluated(name, outcome))
        if options.export_indoorcd:
            indoorcd.write(options.export_indoorcd, made)
        return [replace(item, findings=(*scoring.gaps(notes), *item.findings)) for item in made]

    return Job(Plan(nodes), assembled)


def _shards(path: str, where: Mapping[str, Place], options: ScoreOptions) -> list[Shard]:
    """Return the shards of a system, and rooms of scenes that none of them has."""
    files = shards.listed(path, SUFFIXES) if shards.is_folder(path) else {Path(path).name: Path(path)}
    found = [shard for name, file in files.items() if (shard := _surveyed(name, file)).scenes != ()]
    if not found:
        raise InputError(f"{shown(path)}: no scene in any shard; list every scene, those without boxes too")
    of: dict[str, str] = {}
    for shard in found:
        for scene in shard.scenes or ():
            if of.setdefault(scene, shard.name) != shard.name:
                raise InputError(
                    f"{shown(path)}: scene {scene!r} is in the shards {of[scene]!r} and {shard.name!r}; "
                    "give all its boxes in one of them"
                )
    kinds = {shard.scored: shard.name for shard in found if shard.scored is not None}
    if len(kinds) > 1:
        raise InputError(
            f"{shown(path)}: boxes of shard {kinds[True]!r} have scores and those of {kinds[False]!r} have none; "
            "give all or none"
        )
    unread = any(shard.scenes is None for shard in found)
    lacking = scoring.unmatched(path, of, list(where), "skip" if unread else options.missing)
    rooms: dict[str, list[str]] = {}
    for scene in [] if unread else lacking:
        rooms.setdefault(where[scene].room, []).append(scene)
    return found + [Shard(f"{WITHOUT}{room}", None, tuple(scenes)) for room, scenes in rooms.items()]


def _surveyed(name: str, path: Path) -> Shard:
    try:
        held = read_predictions(path, empty=True)
    except InputError:  # its cell says so
        return Shard(name, path, None)
    filled = [item for item in held.values() if len(item.boxes)]
    scored = filled[0].boxes.scores is not None if filled else None
    return Shard(name, path, tuple(held), scored, tuple(item.points for item in held.values() if item.points))


def _node(system: str, shard: Shard, where: Mapping[str, Place], options: ScoreOptions) -> Node:
    places = [where[scene] for scene in shard.scenes or ()]
    files = [path for place in places for path in (getattr(place, name) for name in FILES) if path is not None]
    paths = (shard.path, *files, *shard.points)
    known = [_identity(path) for path in paths]
    return Node(
        _named(system, shard),
        TALLY,
        {
            **{name: getattr(options, name) for name in SETTINGS},
            "variants": list(scoring.variants(options)),
            "exhibits": 0 if options.out == "none" else options.exhibits,
            "scenes": shard.scenes and list(shard.scenes),
            "known": known,
        },
        context={
            "paths": [path and os.path.abspath(path) for path in paths],
            "predictions": shard.path and os.path.abspath(shard.path),
            "places": [_plain(place) for place in places],
        },
        labels={"system": system, "task": shard.name},
        limits=options.limits(),
        heavy=sum(one["bytes"] for one in known if one) > sharding.LARGE,
    )


def _named(system: str, shard: Shard) -> str:
    return f"{system}: {shard.name}"


def _identity(path: Path | None) -> dict[str, int] | None:
    """Return what tells whether a file was changed; None for one that is not there, of which its cell says so."""
    return shards.identity(path) if path is not None and path.is_file() else None


def _plain(place: Place) -> dict[str, Any]:
    paths = {name: getattr(place, name) for name in FILES}
    return {"room": place.room, "number": place.number} | {
        n: path and os.path.abspath(path) for n, path in paths.items()
    }


def _place(record: Mapping[str, Any]) -> Place:
    paths = {name: Path(record[name]) if record[name] else None for name in FILES}
    return Place(record["room"], record["number"], **paths)  # type: ignore[arg-type]


def tally(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Tally the scenes of one shard in every variant, unless a file is not what it was; a cell of the engine."""
    del needs
    with shards.unchanged(list(zip(arguments["paths"], arguments["known"], strict=True))):
        _tally(arguments, out)


def _tally(arguments: Mapping[str, Any], out: Path) -> None:
    given: dict[str, Any] = {name: arguments[name] for name in SETTINGS}
    options = ScoreOptions(truth="", predictions=(), exhibits=arguments["exhibits"], **given)
    path = arguments["predictions"]
    with reading_for(CELL):
        predictions = read_predictions(path) if path else {}
    if path and (arguments["scenes"] is None or set(predictions) != set(arguments["scenes"])):
        raise InputError(f"{shown(path)}: changed while it was scored; give the same command again")
    books = {variant: Book(variant, options) for variant in arguments["variants"]}
    described = []
    truth = None
    scenes = list(read_scenes([_place(record) for record in arguments["places"]]))
    check_prediction(scenes, predictions, shown(path or ""))
    for scene in scenes:
        described.append(content.described(scene))
        found = predictions.get(scene.id)
        if found is None and options.missing == "empty":
            found = scoring.nothing(scene.id)
        if found is not None:
            truth = Truth(scene, options, truth)
            for book in books.values():
                book.add(truth, found)
    digest = table_digest(content.table(list(predictions.values())))
    for variant, book in books.items():
        part, folder = book.part(), out / variant
        folder.mkdir()
        parts.write(replace(part, facts={**part.facts, "scenes": described, "predictions": digest}), folder)
        for name, data in book.keeper.files(len(part.roster)).items():
            (folder / name).write_bytes(data)


def _others(path: str, found: Sequence[Shard]) -> list[Path]:
    """Return files beside the shards of a system which are none; where one cannot be read, it is not known which."""
    if not shards.is_folder(path) or any(shard.scenes is None for shard in found):
        return []
    named = {points.resolve() for shard in found for points in shard.points}
    return [other for other in shards.others(path, SUFFIXES) if other.resolve() not in named]


def _described(
    where: Mapping[str, Place], found: Sequence[Shard], system: str, outcome: Outcome
) -> list[content.Described]:
    """Return what scenes without a cell that is done hold, so that a run without them is known to be of the same data.

    Those of a cell that died are not read: what killed it may do so again.
    """
    cells = {_named(system, shard): shard.scenes or () for shard in found}
    known = {scene for cell, scenes in cells.items() if cell not in outcome.refused for scene in scenes}
    made = []
    for place in (place for scene, place in where.items() if scene not in known and outcome.refused):
        with contextlib.suppress(InputError):  # its cell says so
            made += [content.described(scene) for scene in read_scenes([place])]
    return made


def _evaluation(
    system: System,
    variant: str,
    scenes: Sequence[str],
    found: Sequence[Shard],
    outcome: Outcome,
    alone: Sequence[content.Described],
    options: ScoreOptions,
) -> Evaluation:
    """Fold the parts of a system in one variant."""
    read = {cell: parts.read(folder / variant) for cell, folder in outcome.done.items()}
    if not any(len(part.roster) for part in read.values()):
        why = next(iter(outcome.missing.values()), "no scene has a prediction")
        raise InputError(f"{shown(system.where)}: no scene could be scored; the first: {why}")
    book = Book(variant, options)
    whole, facts = parts.folded(list(read.values())), [part.facts for part in read.values()]
    told = {name: sum(one["told"][name] for one in facts) for name in TOLD}
    order = {scene: index for index, scene in enumerate(scenes)}
    known = {one[0]: tuple(one) for one in (*alone, *(one for fact in facts for one in fact["scenes"]))}
    described = [known[scene] for scene in sorted(known, key=order.__getitem__)]
    done = set(whole.roster.ids)
    given = [shard for shard in found if shard.path is not None]
    counts = {"given": len(given), "scored": sum(_named(system.name, shard) in read for shard in given)}
    missing = [scene for scene in scenes if scene not in done]
    cells = folding.cells(outcome, complete=not missing and outcome.complete)
    coverage = {"policy": {"missing": options.missing}, "shards": counts, **cells}
    seen = Seen(scenes, missing, content.fingerprint(described), coverage)
    made = book.evaluation(whole, {"told": told, "seconds": _times(facts)}, system, seen)
    return replace(
        made,
        table=folding.table(
            {shard.name: read[cell].facts for shard in found if (cell := _named(system.name, shard)) in read},
            "predictions",
        ),
        coverage={**made.coverage, "complete": not missing and outcome.complete},
        files=_worst(book.keeper, (folder / variant for folder in outcome.done.values()), len(done)),
    )


def _times(facts: Iterable[Mapping[str, Any]]) -> list[float]:
    return [seconds for one in facts for seconds in one["seconds"]]


def _worst(keeper: Keeper, folders: Iterable[Path], of: int) -> dict[str, bytes]:
    """Return the exhibits of the worst scenes of all shards."""
    for folder in folders:
        keeper.take(folder)
    return keeper.files(of)
