"""Verb ``score``: boxes and classes of points against the truth of scenes.

Files of predictions are tallied together, scene by scene, so that the truth of each is read once for all systems and
no more than two scans are held at a time.

A folder holds shards (``.json``, or tables), each of which is read like a file of predictions that is given alone; a
scene is in one shard. The truth is the folder of the dataset, of which a cell reads the scenes of its shard. Scenes
without a prediction are dealt into cells by room. Before any work every shard is read for the scenes that it has; one
that has none is left out. One that cannot be read fails in its own cell; which scenes it would have is not known, so
that no scene is said to lack a prediction then.

A scene whose scans, or the classes of whose points, cannot be read is left out for all systems, and named.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gnomon.core import options as opt
from gnomon.core.errors import InputError, NothingScoredError, some
from gnomon.core.evidence import Finding
from gnomon.engine.job import Job
from gnomon.engine.scoring import Chunk, Partials, Scorer, System
from gnomon.engine.simulated import MARK
from gnomon.intake import shards, tables
from gnomon.intake.faults import shown
from gnomon.intake.sources import check_names, named
from gnomon.intake.unread import collecting, reading_for
from gnomon.runs import parts
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.runs.tables import UNREADABLE
from gnomon.runs.variants import DIFFERS
from gnomon.suites.change import content, indoorcd
from gnomon.suites.change.files import Dataset, Place, Scene, find_scenes, read_dataset, read_scenes
from gnomon.suites.change.options import ChangeOptions, ScoreOptions
from gnomon.suites.change.predictions import Prediction, read_predictions
from gnomon.suites.change.protocol import DIFFERENT
from gnomon.suites.change.shapes import together
from gnomon.suites.change.sizes import check_prediction, insisted_findings, large_findings
from gnomon.suites.change.tallies import TOLD, SceneTallies, Truth, families_of, settle_protocol

SUFFIXES = (".json", *(suffix for suffix in tables.SUFFIXES if suffix != ".npz"))
WITHOUT = "without predictions, room "
FILES = ("reference", "comparison", "label", "points")
MANY = 3.0
"""A system that predicts this many times the true boxes is said to do so."""


def score(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score every given system in every asked variant; folders of shards are scored shard by shard."""
    sources = [named(text) for text in options.predictions]
    check_names([name for name, _ in sources])
    if any(shards.is_folder(path) for _, path in sources):
        places, notes = find_scenes(options.truth, missing=options.gaps)
        where = {place.id: place for place in places}
        with collecting():  # cells say what is not read
            systems = [_find_shards(name, path, where, options) for name, path in sources]
    else:
        dataset = read_dataset(options.truth, missing=options.gaps, unit=options.unit, lenient=True)
        systems, notes = [_read_file(name, path, dataset, options) for name, path in sources], dataset.notes
    made = SCORER.score(systems, options)
    if isinstance(made, Job):
        return replace(made, assemble=lambda outcome: settle(made.assemble(outcome), notes, options.export_indoorcd))
    return settle(made, notes, options.export_indoorcd)


def ask(variants: Sequence[str], options: ChangeOptions) -> dict[str, Any]:
    """Return what a chunk is asked for: variants, and how many scenes are kept to be looked at in each."""
    return {"variants": list(variants), "snapshots": 0 if options.out == "none" else options.exhibits}


def settle(evaluations: Sequence[Evaluation], notes: Sequence[str], export: str) -> list[Evaluation]:
    """Say what the dataset lacks, and write the results in the published form where a file is given for them."""
    unreadable = [why for item in evaluations for why in item.coverage.get("unreadable", {}).values()]
    if unreadable and not any(len(item.roster) for item in evaluations):
        raise InputError(f"no scene could be scored; the first: {unreadable[0]}")
    if export:
        indoorcd.write(export, evaluations)
    remedy = "complete the dataset, or rename what is meant to count"
    gaps = [Finding("dataset-gaps", "warning", "dataset", note, remedy) for note in notes]
    return [replace(item, findings=(*gaps, *item.findings)) for item in evaluations]


def _read_file(name: str, path: str, dataset: Dataset, options: ScoreOptions) -> System:
    """Read a file of predictions, which are of the scenes of the dataset."""
    with reading_for(name):
        held = read_predictions(path)
    check_prediction(dataset, held, shown(path))
    _find_lacking(path, held, [scene.id for scene in dataset], options.missing)
    return System(name, path, [Chunk("", dataset, held, ask(opt.list_variants(options.variant), options))])


def _find_lacking(path: str, given: Collection[str], scenes: Collection[str], missing: str) -> list[str]:
    """Return the scenes without a prediction; predictions of scenes that are not in the truth are refused."""
    there = set(scenes)
    extra = [name for name in given if name not in there]
    if extra:
        raise InputError(f"{shown(path)}: scenes that are not in the truth: {some(extra)}; it has {some(scenes)}")
    held = set(given)
    lacking = [name for name in scenes if name not in held]
    if lacking and missing == "error":
        raise InputError(
            f"{shown(path)}: no prediction for {some(lacking)}; add them (an empty list where nothing changed), "
            "or choose --missing empty or --missing skip"
        )
    return lacking


@dataclass(frozen=True)
class _Shard:
    """What a file of predictions holds."""

    path: Path
    scenes: tuple[str, ...] | None = None
    """None where it could not be read."""
    has_scores: bool | None = None
    """Whether its boxes have scores; None without boxes."""
    points: tuple[Path, ...] = ()


def _find_shards(name: str, path: str, where: Mapping[str, Place], options: ScoreOptions) -> System:
    """Find the shards of a system; scenes that none of them has are dealt into chunks by room."""
    files = shards.listed(path, SUFFIXES) if shards.is_folder(path) else {Path(path).name: Path(path)}
    found = {shard: held for shard, file in files.items() if (held := _survey(file)).scenes != ()}
    if not found:
        raise InputError(f"{shown(path)}: no scene in any shard; list every scene, those without boxes too")
    of: dict[str, str] = {}
    for shard, held in found.items():
        for scene in held.scenes or ():
            if of.setdefault(scene, shard) != shard:
                raise InputError(
                    f"{shown(path)}: scene {scene!r} is in the shards {of[scene]!r} and {shard!r}; "
                    "give all its boxes in one of them"
                )
    kinds = {held.has_scores: shard for shard, held in found.items() if held.has_scores is not None}
    if len(kinds) > 1:
        raise InputError(
            f"{shown(path)}: boxes of shard {kinds[True]!r} have scores and those of {kinds[False]!r} have none; "
            "give all or none"
        )
    unread = any(held.scenes is None for held in found.values())
    lacking = _find_lacking(path, of, list(where), "skip" if unread else options.missing)
    asked = ask(opt.list_variants(options.variant), options)

    def chunk(shard: str, held: _Shard | None, scenes: Sequence[str] | None) -> Chunk:
        context = {"places": [_plain(where[scene]) for scene in (lacking if scenes is None else scenes)]}
        read = [getattr(where[scene], file) for scene in scenes or () for file in FILES]
        used = tuple(dict.fromkeys([*(file for file in read if file), *(held.points if held else ())]))
        given = {**asked, "scenes": None if scenes is None else list(scenes)}
        return Chunk(shard, options.truth, held and held.path, given, used, context)

    rooms: dict[str, list[str]] = {}
    for scene in () if unread else lacking:
        rooms.setdefault(where[scene].room, []).append(scene)
    chunks = [chunk(shard, held, held.scenes) for shard, held in found.items()]
    chunks += [chunk(f"{WITHOUT}{room}", None, scenes) for room, scenes in rooms.items()]
    others: list[Path] = []
    if shards.is_folder(path) and not unread:  # else it is not known which files are those of points
        points = {file.resolve() for held in found.values() for file in held.points}
        others = [other for other in shards.others(path, SUFFIXES) if other.resolve() not in points]
    return System(name, path, chunks, others)


def _survey(path: Path) -> _Shard:
    try:
        held = read_predictions(path, empty=True)
    except InputError:  # its cell says so
        return _Shard(path)
    filled = [item for item in held.values() if len(item.boxes)]
    has_scores = filled[0].boxes.scores is not None if filled else None
    return _Shard(path, tuple(held), has_scores, tuple(item.points for item in held.values() if item.points))


def _plain(place: Place) -> dict[str, Any]:
    paths = {name: getattr(place, name) for name in FILES}
    return {"room": place.room, "number": place.number} | {
        name: path and os.path.abspath(path) for name, path in paths.items()
    }


def _places(chunk: Chunk) -> Sequence[Place]:
    """Return where the scenes of a chunk are; of a shard that cannot be read, those that it may have."""
    if isinstance(chunk.truth, Dataset):
        return chunk.truth
    records = chunk.context["places"]
    paths = [{name: Path(record[name]) if record[name] else None for name in FILES} for record in records]
    pairs = zip(records, paths, strict=True)
    return [Place(record["room"], record["number"], **own) for record, own in pairs]  # type: ignore[arg-type]


def tally(chunk: Chunk, options: ScoreOptions) -> Part:
    """Tally the scenes of one chunk in every variant."""
    return tally_together([chunk], options)[0]


def tally_together(chunks: Sequence[Chunk], options: ScoreOptions) -> list[Part]:
    """Tally chunks of the same scenes, each of another system; the truth of a scene is read once for all of them."""
    if isinstance(chunks[0].truth, Dataset):
        scenes, given = chunks[0].truth.scenes, [chunk.predictions for chunk in chunks]
        inputs = content.inputs(scenes)
    else:
        (chunk,) = chunks
        scenes, held = _read_shard(chunk)
        given, inputs = [held], []
    books = [SceneTallies(chunk.given["variants"], chunk.given["snapshots"], options) for chunk in chunks]
    truth, unreadable, described = None, dict[str, str](), []
    for scene in scenes:
        nothing = Prediction(scene.id, together([], [])) if options.missing == "empty" else None
        found = [held.get(scene.id, nothing) for held in given]
        if any(one is not None for one in found):
            truth = _read_truth(Truth(scene, options, truth), unreadable)
        for book, one in zip(books, found, strict=True):
            if one is not None and truth is not None:
                book.add(truth, one)
        described.append(content.described(scene))
    made = []
    for chunk, held, book in zip(chunks, given, books, strict=True):
        part = book.part()
        facts = {**part.facts, "scenes": described, "unreadable": unreadable, "inputs": inputs}
        table = content.table(list(held.values()) if chunk.name else book.predictions)
        made.append(replace(part, facts=facts, table=table))
    return made


def _read_shard(chunk: Chunk) -> tuple[tuple[Scene, ...], dict[str, Prediction]]:
    path, names = chunk.predictions, chunk.given["scenes"]
    with reading_for(chunk.reader):
        held = read_predictions(path) if path else {}
    if path and (names is None or set(held) != set(names)):
        raise InputError(f"{shown(path)}: changed while it was scored; give the same command again")
    scenes = tuple(read_scenes(_places(chunk), lenient=True))
    check_prediction(scenes, held, shown(path or ""))
    return scenes, held


def _read_truth(truth: Truth, unreadable: dict[str, str]) -> Truth | None:
    """Read the scans of a scene and the true classes of their points; None where they cannot be read, with the reason.

    Such a scene is left out for all systems: what is wrong is not of their making.
    """
    try:
        truth.classes()
    except InputError as error:
        unreadable[truth.scene.id] = str(error)
        return None
    return truth


def describe_truth(chunk: Chunk, options: ScoreOptions) -> dict[str, Any]:
    """Describe the scenes of a chunk that could not be scored, where they can be read."""
    del options
    scenes = []
    for place in _places(chunk):
        with contextlib.suppress(InputError):  # the cell of the chunk says so
            scenes += [content.described(scene) for scene in read_scenes([place], lenient=True)]
    return {"scenes": scenes}


def finish(partials: Partials, options: ScoreOptions) -> list[Evaluation]:
    """Put together what the chunks of one system left, in every variant."""
    system, given = partials.system, partials.system.chunks[0].given
    whole, facts = parts.folded([part for _, part in partials]), list(partials.facts.values())
    n = len(whole.roster)
    if partials.outcome is not None and partials.outcome.missing and not n:
        why = next(iter(partials.outcome.missing.values()))
        raise NothingScoredError(f"{shown(system.where)}: no scene could be scored; the first: {why}")
    places = {place.id: place for chunk in system.chunks for place in _places(chunk)}
    scenes = sorted(places, key=lambda scene: (places[scene].room, places[scene].number))
    described = {scene[0]: tuple(scene) for one in partials.every.values() for scene in one["scenes"]}
    unreadable = {scene: why for one in facts for scene, why in one["unreadable"].items()}
    told = {name: sum(one["told"][name] for one in facts) for name in TOLD}
    large, insisted = ([tuple(scene) for one in facts for scene in one[name]] for name in ("large", "insisted"))
    data = content.fingerprint([described[scene] for scene in scenes if scene in described])
    coverage = _cover(partials, scenes, set(whole.roster.ids), unreadable, options)
    findings = (
        *_left_out(unreadable, len(scenes)),
        *insisted_findings(insisted, n),
        *large_findings(large, n, system.name),
        *_findings(told, n, system.name),
    )
    known = _facts(told, [second for one in facts for second in one["seconds"]], n, options)
    made = []
    for variant in given["variants"]:
        settled = settle_protocol(variant, options)
        differs = {DIFFERS: list(DIFFERENT)} if variant == "strict" and not options.matching else {}
        made.append(
            Evaluation(
                protocol=settled,
                suite="change",
                system=system.name,
                roster=whole.roster,
                tallies={name: whole.tallies[name] for name in families_of(settled)},
                data=data,
                table=partials.table(),
                ledgers=whole.ledgers,
                coverage=coverage,
                findings=findings,
                inputs=tuple(one for own in facts for one in own["inputs"]),
                options={**opt.record(options), "variant": variant, "source": system.where},
                facts={**known, **differs},
                files=partials.snapshots(given["snapshots"], n, variant),
            )
        )
    return made


SETTINGS = ("iou_threshold", "matching", "invalid", "unit", "seed", "missing")
SCORER = Scorer(tally, finish, SETTINGS, tally_together, describe_truth, "scene")


def _cover(
    partials: Partials,
    scenes: Sequence[str],
    scored: Collection[str],
    unreadable: Mapping[str, str],
    options: ScoreOptions,
) -> dict[str, Any]:
    """Return what was scored of the scenes, and of the shards that were given."""
    missing = [scene for scene in scenes if scene not in scored]
    complete = not missing and partials.complete
    coverage: dict[str, Any] = {
        "scenes": {"truth": len(scenes), "scored": len(scored), "missing": missing},
        **({UNREADABLE: {name: [why] for name, why in unreadable.items()}} if unreadable else {}),
        "policy": {"missing": options.missing},
        "complete": complete,
    }
    if partials.is_whole:
        return coverage
    given = [chunk.name for chunk in partials.system.chunks if chunk.predictions is not None]
    counts = {"given": len(given), "scored": sum(name in partials.facts for name in given)}
    return {**coverage, "shards": counts, **partials.cells(complete=complete)}


def _facts(told: Mapping[str, int], seconds: Sequence[float], n: int, options: ScoreOptions) -> dict[str, Any]:
    """Return what a reader should know of the scenes that were scored, and of the scans."""
    return {
        "unchanged_scenes": told["unchanged"],
        "boxes_per_scene": {"true": told["true"] / n, "predicted": told["predicted"] / n} if n else {},
        "seconds_per_scene": math.fsum(seconds) / n if n and len(seconds) == n else None,
        "points_from_boxes": told["from_boxes"],
        "real_scans": int(not (Path(options.truth) / MARK).is_file()),
    }


def _left_out(unreadable: Mapping[str, str], n: int) -> list[Finding]:
    """Say which of ``n`` scenes were left out, since they cannot be read."""
    if not unreadable:
        return []
    told = [f"{scene} ({why})" for scene, why in unreadable.items()]
    text = f"{len(told)} of {n} scenes are left out, since they cannot be read: "
    remedy = "obtain the files again: scores are of the other scenes"
    return [Finding("scenes-left-out", "warning", "dataset", text + some(told, show=3, sentences=True), remedy)]


def _findings(told: Mapping[str, int], n: int, name: str) -> tuple[Finding, ...]:
    true, found, findings = told["true"], told["predicted"], []
    if true and found > MANY * true:
        text = f"{found} predicted boxes for {true} true ones ({found / true:.1f} times as many)"
        remedy = "read recall together with false boxes per scene"
        findings.append(Finding("many-boxes", "warning", name, text, remedy))
    if told["from_boxes"]:
        text = f"classes of points come from the boxes in {told['from_boxes']} of {n} scenes"
        remedy = "give classes of points, or do not report scores of points"
        findings.append(Finding("points-from-boxes", "info", name, text, remedy))
    if told["without_scores"]:
        text, remedy = "boxes have no scores, so there is no average precision", "give every box a confidence"
        findings.append(Finding("no-scores", "info", name, text, remedy))
    return tuple(findings)
