"""Folders of shards: files of recordings, or frames of one recording each, tallied one at a time.

A shard of files holds what is read of a truth file and of a file of results that are given alone: one recording or
several, the truth as JSON. The id of a recording that its file does not name is the name of its shard. A shard of
frames (``.npy``) holds an integer per frame on both sides (:mod:`gnomon.suites.events.frames`); it is one recording,
called by the name of the shard. The tag ``folder`` is the folder a shard is in: that of frames is their group, where
every shard is in one, and ``--group folder`` makes it that of others.

Of a shard without predictions that is left out (``--missing skip``) the truth is read all the same, as where all
recordings are in one file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.canonical import fingerprint
from gnomon.core.cases import Roster
from gnomon.core.errors import GnomonError, InputError, some
from gnomon.engine import folding, sharding
from gnomon.engine.folding import PREDICTIONS, TRUTH, Given, Stored
from gnomon.engine.job import Job, Outcome
from gnomon.intake import shards
from gnomon.intake.sources import check_names, named
from gnomon.intake.unread import CELL, reading_for
from gnomon.runs import parts
from gnomon.runs.content import table_digest
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.suites.events import exhibits, files, frames, scoring, summaries, tallying
from gnomon.suites.events.columns import Columns, Recording
from gnomon.suites.events.options import ScoreOptions
from gnomon.suites.events.plausible import Evidence
from gnomon.suites.events.times import Zone

TRUTHS = (".json", frames.SUFFIX)
RESULTS = (".json", ".csv", ".csv.gz", ".tsv", ".txt")
SETTINGS = ("group", "slice", "variant", "missing", "background", "unit")
"""Options that a part depends on."""
OFFERS = ("--missing empty or --missing skip", "")
FOLDER = "folder"
CASES, TAGS, TIMES = "cases", "tags", "times"
"""Facts of a part: ids of all cases of the truth, scored or not, their values of tags that may be groups, and what
labels and detections say about the unit of times."""
NAMES = (frames.NAMES,)
"""Files beside shards that are known."""


@dataclass(frozen=True)
class _Shard:
    """A shard that was read: all cases of its truth, those that are scored, and what both sides held."""

    cases: Sequence[files.TruthCase]
    recordings: Sequence[Recording]
    told: Mapping[str, Any]
    truth: str
    predictions: str
    times: tuple[Evidence, Evidence] = (Evidence(), Evidence())
    """What labels and detections say about their unit."""


def score(options: ScoreOptions) -> Job:
    """Plan a cell per shard and system."""
    if len(options.truth) > 1:
        raise InputError(
            f"{some(options.truth)}: expected one folder of shards, or files: put all shards in one folder"
        )
    if options.export_perfboard:
        raise InputError("--export-perfboard holds all recordings in one file: give files, not a folder of shards")
    (folder,) = options.truth
    truth, meaning = _truth(folder)
    beside = [*shards.others(folder, TRUTHS)]
    sources = [named(text) for text in options.predictions]
    check_names([name for name, _ in sources])
    given = []
    for system, path in sources:
        if not shards.is_folder(path):
            raise InputError(f"{path}: expected a folder of shards, as the truth {folder} is one")
        suffixes = (frames.SUFFIX,) if meaning else RESULTS
        pairs = shards.paired(truth, shards.listed(path, suffixes), path, missing=options.missing, offers=OFFERS)
        given.append(Given(system, path, pairs, [*beside, *shards.others(path, suffixes, NAMES)]))
    settings = {name: getattr(options, name) for name in SETTINGS} | {"frames": meaning and meaning.record()}
    keeper = exhibits.Keeper(0 if options.out == "none" else options.exhibits)
    return sharding.job(
        "gnomon.suites.events.shards:tally",
        given,
        settings,
        options,
        lambda one, read, outcome: _evaluations(one, read, outcome, _Work(options, settings, keeper)),
    )


def tally(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Tally one shard; a cell of the engine."""
    del needs
    paths = arguments["paths"]
    shard = _read(arguments, arguments["shard"], Path(paths["truth"]), paths["predictions"])
    level = scoring.level(shard.cases, arguments["group"])
    scored = [one.case for one in shard.recordings]
    roster = scoring.roster_of(scored, scoring.RECORDING, arguments["slice"])
    part = tallying.tallied(roster, shard.recordings, tallying.asked(arguments["variant"]), **shard.told)
    candidates = (level,) if arguments["group"] else (*scoring.SUBJECTS, *((FOLDER,) if arguments["frames"] else ()))
    facts = {
        CASES: [case.id for case in shard.cases],
        TAGS: {
            name: [case.tags[name] for case in shard.cases]
            for name in candidates
            if all(name in case.tags for case in shard.cases)
        },
        TRUTH: shard.truth,
        PREDICTIONS: shard.predictions,
        TIMES: [evidence.record() for evidence in shard.times],
    }
    parts.write(replace(part, facts={**part.facts, **facts}), out)


def _truth(folder: str) -> tuple[dict[str, Path], frames.Meaning | None]:
    """Return the shards of the truth, and what codes mean where they are frames."""
    found = shards.listed(folder, TRUTHS)
    if not any(_framed(path) for path in found.values()):
        return found, None
    kept = {name: path for name, path in found.items() if path != Path(folder, frames.NAMES)}
    others = [path.name for path in kept.values() if not _framed(path)]
    if others:
        raise InputError(f"{folder}: frames beside other files ({some(others)}): keep one kind")
    return kept, frames.read_meaning(folder)


def _framed(path: Path) -> bool:
    return path.suffix.lower() == frames.SUFFIX


def _read(arguments: Mapping[str, Any], name: str, truth: Path, predictions: str | None) -> _Shard:
    read = _frames if arguments["frames"] else _files
    return read(arguments, name, truth, predictions)


def _files(arguments: Mapping[str, Any], name: str, truth: Path, predictions: str | None) -> _Shard:
    folder = name.rpartition("/")[0]
    cases: Sequence[files.TruthCase] = [
        replace(case, tags={**({FOLDER: folder} if folder else {}), **case.tags})
        for case in files.read_truth(truth, name=name)
    ]
    evidence = Evidence()
    results: scoring.Results = {} if arguments["missing"] == "skip" else {case.id: () for case in cases}
    if predictions is not None:
        with reading_for(CELL):
            results, evidence = scoring.read_results(predictions, cases, arguments["missing"], arguments["unit"])
    times = files.weigh_labels(cases), evidence
    system = scoring.System("", predictions or "", results)
    cases, system = scoring.foreground(cases, system, arguments["background"])
    scored = [case for case in cases if case.id in system.results]
    digests = scoring.data_digest(cases, scoring.RECORDING), table_digest(scoring.table_of(scored, system.results))
    return _Shard(cases, scoring.recordings(scored, system), scoring.told(cases), *digests, times)


def _frames(arguments: Mapping[str, Any], name: str, truth: Path, predictions: str | None) -> _Shard:
    meaning, background = frames.Meaning.of(arguments["frames"]), arguments["background"]
    runs = frames.read_runs(truth)
    true = frames.stretches(runs, meaning, truth, background)
    returned, digest = Columns(np.empty(0), np.empty(0), np.empty(0, np.int64), ()), ""
    if predictions is not None:
        given = frames.read_runs(Path(predictions))
        if given.frames != runs.frames:
            raise InputError(f"{predictions}: {given.frames} frames, expected the {runs.frames} of {truth}; mend it")
        returned, digest = frames.stretches(given, meaning, Path(predictions), background), given.digest
    folder = name.rpartition("/")[0]
    window = 0.0, runs.frames / meaning.rate_hz
    case = files.TruthCase(name, truth, window, (), {FOLDER: folder} if folder else {}, Zone(), None, {})
    told = {"true": true.classes, "longest": len(true)}
    content = fingerprint([runs.digest, meaning.record()])
    skipped = predictions is None and arguments["missing"] == "skip"
    scored = [] if skipped else [Recording(case, true, returned)]
    return _Shard([case], scored, told, content, fingerprint([digest, meaning.record()]))


@dataclass(frozen=True)
class _Work:
    """What was asked for, and who keeps recordings to look at."""

    options: ScoreOptions
    settings: Mapping[str, Any]
    keeper: exhibits.Keeper


def _evaluations(given: Given, stored: Stored, outcome: Outcome, work: _Work) -> list[Evaluation]:
    """Fold the parts of a system."""
    options, read = work.options, list(stored)
    every = {name: part.facts for name, part in read} | stored.alone
    _check_ids(every)
    labels, detections = (sum((Evidence.of(own[TIMES][side]) for own in every.values()), Evidence()) for side in (0, 1))
    files.check_labels(labels, *options.truth)
    scoring.check_results(detections, given.where, options.unit)
    facts = tallying.joined(list(every.values()))
    level = _level(list(every.values()), options.group)
    groups = {case: group for own in every.values() for case, group in _groups(own, level)}
    own = [_grouped(part, groups, level) for _, part in read]
    if facts["longest"] > tallying.MOST_EDITED:
        own = [tallying.without_edits(part) for part in own]
    whole = parts.folded(own)
    if not len(whole.roster):
        raise InputError(f"{given.where}: no recording of the truth has results: nothing can be scored")
    whole = replace(whole, ledgers=summaries.settled(whole.ledgers, ranked=facts["ranked"]))
    covered = scoring.coverage([case for own in every.values() for case in own[CASES]], whole.roster, options)
    data = folding.content(given, every, stored)
    content = {
        "data": fingerprint([data, level, sorted(groups.items())]),
        "table": folding.table({name: part.facts for name, part in read}),
        "coverage": folding.covered(covered, given, stored, outcome, options.missing),
    }
    made = scoring.evaluations(whole, facts, given.system, given.where, options)
    look = _looker(given, read, whole.roster, work.settings)
    return [replace(one, **content, files=work.keeper.files(whole.roster.ids, look, one.tallies)) for one in made]


def _check_ids(facts: Mapping[str, Mapping[str, Any]]) -> None:
    owner: dict[str, str] = {}
    for name, own in facts.items():
        for case in own[CASES]:
            if owner.setdefault(case, name) != name:
                raise InputError(f"case {case!r} is in the shards {owner[case]} and {name}; give each case its own id")


def _level(facts: Sequence[Mapping[str, Any]], asked: str) -> str:
    known = (name for name in (*scoring.SUBJECTS, FOLDER) if all(name in own[TAGS] for own in facts))
    return asked or next(known, scoring.RECORDING)


def _groups(facts: Mapping[str, Any], level: str) -> Iterable[tuple[str, str]]:
    """Return the cases of the truth of a shard, each with its group."""
    groups = facts[CASES] if level == scoring.RECORDING else facts[TAGS][level]
    return zip(map(files.called, facts[CASES]), groups, strict=True)


def _grouped(part: Part, groups: Mapping[str, str], level: str) -> Part:
    """Return a part whose cases have the groups of a level."""
    roster = part.roster
    return replace(part, roster=Roster(roster.ids, tuple(groups[case] for case in roster.ids), roster.tags, level))


def _looker(
    given: Given, read: Sequence[tuple[str, Part]], roster: Roster, settings: Mapping[str, Any]
) -> Callable[[int], Recording | None]:
    """Return how a recording is read again, to be looked at; None where its shard cannot be read any more."""
    shard_of = {files.called(case): name for name, part in read for case in part.facts[CASES]}
    paths = {name: (truth, predictions) for name, truth, predictions in given.shards}

    @functools.lru_cache(maxsize=1)
    def recordings(name: str) -> dict[str, Recording]:
        truth, predictions = paths[name]
        try:
            shard = _read(settings, name, truth, None if predictions is None else str(predictions))
        except GnomonError:
            return {}
        return {files.called(one.case.id): one for one in shard.recordings}

    def recording(place: int) -> Recording | None:
        case = roster.ids[place]
        return recordings(shard_of[case]).get(case)

    return recording
