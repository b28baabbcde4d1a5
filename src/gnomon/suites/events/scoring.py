"""Verb ``score``: results that were made elsewhere, against truth files, or folders of shards of both.

Recordings of a shard are tallied without their groups, which depend on all shards: a group is a subject where every
recording names one, else the folder of frames where every shard is in one, else the recording. Units of times are
checked over all recordings together, and in each (:mod:`gnomon.suites.events.plausible`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from gnomon.core import options as opt
from gnomon.core.canonical import fingerprint
from gnomon.core.cases import Roster
from gnomon.core.errors import GnomonError, InputError, counted, some
from gnomon.core.evidence import Finding
from gnomon.core.measure import Measure
from gnomon.core.protocol import Protocol
from gnomon.core.tallies import natural_key
from gnomon.engine.job import Job
from gnomon.engine.scoring import TRUTH, Chunk, Partials, Scorer, System, pair_shards
from gnomon.intake import shards
from gnomon.intake.shards import is_folder
from gnomon.intake.sources import named
from gnomon.intake.text import check_spelling
from gnomon.intake.unread import reading_for
from gnomon.runs import parts
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.events import (
    chunks,
    exhibits,
    files,
    frames,
    grouping,
    inputs,
    perfboard,
    recordings,
    summaries,
    tallying,
)
from gnomon.suites.events.chunks import FOLDER, FRAMES, Content, Truth
from gnomon.suites.events.columns import Recording
from gnomon.suites.events.envelopes import Signals
from gnomon.suites.events.options import ScoreOptions
from gnomon.suites.events.plausible import (
    CALLED,
    Compared,
    Evidence,
    check_fit,
    check_inside,
    check_recordings,
    check_scale,
    check_truth_unit,
    check_unit,
    find_shrinking,
    multiply_units,
)
from gnomon.suites.events.protocol import POOLED, protocol

RECORDING = "recording"
FEW, SHORT, LONG = 3, 0.002, 0.2
"""So many returns that all end within a small share of their recordings are odd, if true events reach a larger one."""
SUBJECTS = ("subject", "subject.id", "subject.name")
TRUTHS = (".json", frames.SUFFIX)
"""Suffixes of shards."""
OFFERS = ("--missing empty or --missing skip", "")
CASES, TAGS, TIMES, COMPARED, TOUCH = "cases", "tags", "times", "compared", "touch"
WINDOWS, LIKELY = "windows", "likely"
"""Facts of a part: ids of all cases of the truth, scored or not, their values of tags that may be groups, what labels
and detections say about the unit of times, how both compare in single recordings, whether labels touch windows, where
windows come from that the truth does not state, and a tag that looks like a group."""


def score(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score every given system in every asked variant."""
    if any(map(_is_sharded, options.truth)):
        return make_scorer().score(_find_shards(options), options)
    if options.export_perfboard:
        perfboard.check(options.export_perfboard, _list_paths((*options.truth, *options.predictions)))
    given = inputs.read_truth(options)
    grouped = grouping.assign_groups(given, options.group, RECORDING)
    cases, kinds = grouped.cases, set(given.kinds)
    truth, systems = Truth(cases, files.weigh_labels(cases), grouped.source), []
    for source in inputs.list_systems(options.predictions, [case.id for case in cases]):
        with reading_for(source.name):
            detections = chunks.read_results(source, cases, options, kinds)
        systems.append(System(source.name, source.where, [Chunk("", truth, detections)]))
    inputs.check_tiers(options, kinds)
    options = replace(inputs.describe_options(options), group=grouped.level)
    found = make_scorer().score(systems, options)
    if options.export_perfboard:
        results = {one.name: one.chunks[0].predictions.results for one in systems}
        perfboard.write(options.export_perfboard, cases, results, options.variant)
    return found


def _is_sharded(content: Any) -> bool:
    """Say whether a truth is a folder of shards: of frames, or of JSON."""
    return is_folder(content) and any(path.name.lower().endswith(TRUTHS) for path in shards.others(content, ()))


def _list_paths(given: Iterable[Any]) -> list[str]:
    """Return the paths of what a user gave."""
    inner = [one for item in given for one in (item.values() if isinstance(item, Mapping) else [item])]
    return [named(os.fspath(item))[1] for item in inner if isinstance(item, (str, os.PathLike))]


def _find_shards(options: ScoreOptions) -> list[System]:
    """Return the shards of every system."""
    if not isinstance(options.group, str):
        raise InputError(f"group: shards are grouped by a tag, but got {type(options.group).__name__}; name a tag")
    if recordings.read_durations(options.duration) != recordings.Durations():
        raise InputError(f"--duration: the shards of {options.truth[0]} state their windows; leave the option out")
    if len(options.truth) > 1:
        raise InputError(
            f"{some(options.truth)}: expected one folder of shards, or files: put all shards in one folder"
        )
    if options.export_perfboard:
        raise InputError("--export-perfboard holds all recordings in one file: give files, not a folder of shards")
    (folder,) = options.truth
    truth, meaning = _find_truth(folder)
    return pair_shards(
        folder,
        truth,
        ((one.name, one.where, one.content) for one in inputs.list_systems(options.predictions, ())),
        (frames.SUFFIX,) if meaning else inputs.RESULTS,
        given={FRAMES: meaning.record()} if meaning else {},
        beside=shards.others(folder, TRUTHS),
        known=(frames.NAMES,),
        missing=options.missing,
        offers=OFFERS,
    )


def _find_truth(folder: str) -> tuple[dict[str, Path], frames.Meaning | None]:
    """Return the shards of the truth, and what codes mean where they are frames."""
    found = shards.listed(folder, TRUTHS)
    if not any(map(frames.is_framed, found.values())):
        return found, None
    kept = {name: path for name, path in found.items() if path != Path(folder, frames.NAMES)}
    others = [path.name for path in kept.values() if not frames.is_framed(path)]
    if others:
        raise InputError(f"{folder}: frames beside other files ({some(others)}): keep one kind")
    return kept, frames.read_meaning(folder)


def tally(chunk: Chunk, options: ScoreOptions) -> Part:
    """Read one chunk, and tally the recordings in it that have results."""
    content = chunks.read_chunk(chunk, options)
    background = content.find_labels(options.background)
    content = content.leave_out(options.background)
    cases, level = content.cases, find_level(content.cases, options.group)
    part = tallying.tally_recordings(
        make_roster(content.scored, options.slice),
        content.make_recordings(),
        opt.list_variants(options.variant),
        **chunks.describe_truth(cases),
        background=background,
    )
    levels = (level,) if options.group else (*SUBJECTS, *((FOLDER,) if FRAMES in chunk.given else ()))
    facts = {
        **part.facts,
        CASES: [case.id for case in cases],
        TAGS: {
            name: [case.tags[name] for case in cases] for name in levels if all(name in case.tags for case in cases)
        },
        TIMES: [side.times.record() for side in (content.truth, content.detections)],
        COMPARED: content.detections.compared.record(),
        TOUCH: files.touch(cases),
        WINDOWS: recordings.count_windows(cases),
        LIKELY: grouping.find_likely(cases),
    }
    if content.digests is not None:
        return replace(part, facts={**facts, **content.digests})
    digest = chunks.digest_truth(cases, RECORDING if chunk.name else level)  # finish() adds the groups of shards
    return replace(part, facts={**facts, TRUTH: digest}, table=content.make_table())


def finish(partials: Partials, options: ScoreOptions, signals: dict[str, Signals] | None = None) -> list[Evaluation]:
    """Make the evaluations of a system, one of each asked variant.

    ``signals`` holds raw signals that were read for snapshots, by case, and takes up further ones.
    """
    read, every, where = list(partials), partials.every, partials.system.where
    _check_ids(every)
    _check_units(partials, options)
    facts = tallying.merge_facts(list(every.values()))
    level = _settle_level(list(every.values()), options.group)
    groups = {case: group for own in every.values() for case, group in _list_groups(own, level)}
    grouped = [_set_groups(part, groups, level) for _, part in read]
    if facts["longest"] > tallying.MOST_EDITED:
        grouped = [tallying.drop_edits(part) for part in grouped]
    whole = parts.folded(grouped)
    roster, data = whole.roster, partials.data()
    inputs: tuple[Mapping[str, Any], ...] = ()
    if partials.is_whole:
        inputs = _describe_inputs(partials.system.chunks[0].truth.cases)
    else:
        data = fingerprint([data, level, sorted(groups.items())])
        if not len(roster):
            raise InputError(f"{where}: no recording of the truth has results: nothing can be scored")
    whole = replace(whole, ledgers=summaries.settle_ledgers(whole.ledgers, ranked=facts["ranked"]))
    covered = _count_cases([case for own in every.values() for case in own[CASES]], roster, options)
    coverage, table = partials.coverage(covered, options.missing), partials.table()
    most, look = 0 if options.out == "none" else options.exhibits, _make_reader(partials, roster, options)
    held = {} if signals is None else signals
    noted = _find_origins(partials, roster.level)
    return [
        replace(
            one,
            findings=(*one.findings, *noted.findings),
            options={**one.options, **noted.options},
            data=data,
            table=table,
            coverage=coverage,
            inputs=inputs,
            files=exhibits.keep_worst(roster.ids, one.tallies, look, most, held),
        )
        for one in _make_evaluations(whole, facts, partials.system, options)
    ]


@dataclass(frozen=True)
class _Origins:
    """Where windows and groups come from that the truth does not state: findings, and options as they were used."""

    findings: tuple[Finding, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


def _find_origins(partials: Partials, level: str) -> _Origins:
    if not partials.is_whole:
        return _Origins()
    ((_, part),) = partials
    truth = partials.system.chunks[0].truth
    windows, where = part.facts[WINDOWS], files.name_files(truth.cases)
    findings = recordings.find_windows(windows, where)
    findings += grouping.offer_group(part.facts[LIKELY], level, RECORDING, where)
    options = {"windows": ", ".join(windows)} if windows else {}
    return _Origins(tuple(findings), {**options, **({"groups_from": truth.groups_from} if truth.groups_from else {})})


SETTINGS = (*("group", "slice", "variant", "missing", "background", "unit", "truth_unit", "tier", "predictions_tier"),)
SCORER = Scorer(tally, finish, SETTINGS)


def make_scorer() -> Scorer[ScoreOptions]:
    """Return a scorer that reads the raw signal of a recording once for all systems."""
    return replace(SCORER, finish=functools.partial(finish, signals={}))


def _make_evaluations(
    part: Part, facts: Mapping[str, Any], system: System, options: ScoreOptions
) -> Iterable[Evaluation]:
    """Give the evaluation of every asked variant; the content of both sides is left open."""
    ledgers = dict(part.ledgers)
    edges = ledgers.pop(summaries.EDGES, None)
    for variant in opt.list_variants(options.variant):
        pooled = variant == "published"
        if not pooled:
            check_spelling(facts["true"], facts["returned"], system.where)
        yield Evaluation(
            protocol=_make_protocol(facts, variant, part.roster.level, options),
            suite="events",
            system=system.name,
            roster=part.roster,
            tallies=tallying.select_variant(part, variant),
            data="",
            table=pa.table({}),
            findings=(*_background_findings(facts, options.background), *_findings(facts, system.where)),
            options={**opt.record(replace(options, predictions=(system.where,))), "group": part.roster.level},
            ledgers={} if pooled else ledgers,
            facts={} if edges is None or pooled else summaries.facts(facts, edges, len(part.roster)),
        )


def measures(cases: Sequence[files.TruthCase], options: ScoreOptions) -> tuple[Measure, ...]:
    """Return the measures that evaluations against this truth have, those of all asked variants, each name once."""
    content = Content(Truth(cases), chunks.Detections({})).leave_out(options.background)
    facts = chunks.describe_truth(content.cases)
    variants = [
        _make_protocol(facts, variant, options.group or "", options) for variant in opt.list_variants(options.variant)
    ]
    return tuple({measure.name: measure for one in variants for measure in one.measures}.values())


def _make_protocol(facts: Mapping[str, Any], variant: str, level: str, options: ScoreOptions) -> Protocol:
    """Return the protocol of a variant for what the truth holds."""
    return protocol(
        [POOLED] if variant == "published" else facts["true"],
        variant,
        options.classes,
        options.slice,
        level,
        edit=facts["longest"] <= tallying.MOST_EDITED,
        background=options.background,
    )


def _check_ids(facts: Mapping[str, Mapping[str, Any]]) -> None:
    owner: dict[str, str] = {}
    for name, own in facts.items():
        for case in own[CASES]:
            if owner.setdefault(case, name) != name:
                raise InputError(f"case {case!r} is in the shards {owner[case]} and {name}; give each case its own id")


def _check_units(partials: Partials, options: ScoreOptions) -> None:
    """Refuse times that cannot be in a unit, but could be in another, and labels that are all outside their windows.

    Seconds that were asked for (``--unit s``) are obeyed.
    """
    unit, where = options.unit, partials.system.where
    if options.truth_unit not in ("", "s"):
        where += f" (the truth read with --truth-unit {options.truth_unit})"
    every = partials.every.values()
    derived = any(own[WINDOWS] for own in every)
    truth = files.name_files(partials.system.chunks[0].truth.cases) if partials.is_whole else options.truth[0]
    labels, detections = (sum((Evidence.of(own[TIMES][side]) for own in every), Evidence()) for side in (0, 1))
    if "s" not in (unit, options.truth_unit):
        files.check_labels(labels, truth)
    files.check_touch([own[TOUCH] for own in every], truth, derived=derived)
    if unit == "s":
        return
    asked = f" in place of --unit {unit}" if unit else ""

    def advice(found: str) -> str:
        wanted = multiply_units(unit or "s", found)
        return f"give --unit {wanted}{asked}" if wanted else f"write detections in {found} and give --unit {found}"

    compared = sum((Compared.of(own[COMPARED]) for own in every), Compared())
    if compared.agreeing >= len(compared.found):  # most are right, so that another --unit would not help
        check_recordings(compared, where, unit)
    check_unit(detections, where, "detections", advice, unit)
    if options.truth_unit != "s":
        check_truth_unit(labels, detections, where, unit)
    check_scale(labels, detections, where, advice, unit)
    check_recordings(compared, where, unit)
    check_fit(compared, where)
    if derived:
        check_inside(detections, where)


def make_roster(cases: Sequence[files.TruthCase], slices: Sequence[str]) -> Roster:
    """Return who cases are, each in a group of its own."""
    check_slices(cases, slices)
    tags = {name: tuple(case.tags[name] for case in cases) for name in slices}
    return Roster(tuple(files.called(case.id) for case in cases), tuple(case.id for case in cases), tags, RECORDING)


def check_slices(cases: Sequence[files.TruthCase], slices: Sequence[str]) -> None:
    """Refuse tags that a case lacks."""
    unknown = [tag for tag in slices if any(tag not in case.tags for case in cases)]
    if unknown:
        raise _no_tag(unknown[0], cases)


def find_level(cases: Sequence[files.TruthCase], asked: str) -> str:
    """Return the tag that is resampled: the one asked for, a subject that every case names, or the recording."""
    if asked and asked != RECORDING and any(asked not in case.tags for case in cases):
        raise _no_tag(asked, cases)
    known = (name for name in SUBJECTS if cases and all(name in case.tags for case in cases))
    return asked or next(known, RECORDING)


def _no_tag(name: str, cases: Sequence[files.TruthCase]) -> InputError:
    known = sorted(set.intersection(*(set(case.tags) for case in cases))) if cases else []
    return InputError(f"no tag {name!r} in every case; every case has {some(known) or 'none'}")


def _settle_level(facts: Sequence[Mapping[str, Any]], asked: str) -> str:
    """Return the tag that is resampled, of the cases of all chunks."""
    known = (name for name in (*SUBJECTS, FOLDER) if all(name in own[TAGS] for own in facts))
    return asked or next(known, RECORDING)


def _list_groups(facts: Mapping[str, Any], level: str) -> Iterable[tuple[str, str]]:
    """Return the cases of the truth of a chunk, each with its group."""
    groups = facts[CASES] if level == RECORDING else facts[TAGS][level]
    return zip(map(files.called, facts[CASES]), groups, strict=True)


def _set_groups(part: Part, groups: Mapping[str, str], level: str) -> Part:
    """Return a part whose cases have the groups of a level."""
    roster = part.roster
    return replace(part, roster=Roster(roster.ids, tuple(groups[case] for case in roster.ids), roster.tags, level))


def _count_cases(truth: Sequence[str], scored: Roster, options: ScoreOptions) -> dict[str, Any]:
    """Return which cases of the truth were scored."""
    known = set(scored.ids)
    missing = [case for case in truth if files.called(case) not in known]
    return {
        "complete": not missing,
        "cases": {"truth": len(truth), "scored": len(scored), "missing": missing},
        "policy": {"missing": options.missing},
    }


def _describe_inputs(cases: Sequence[files.TruthCase]) -> tuple[Mapping[str, Any], ...]:
    paths = dict.fromkeys(case.path for case in cases if not case.path.name.startswith("<"))  # others are in memory
    return tuple({"path": str(path), "sha256": hash_file(path)} for path in paths)


def _make_reader(partials: Partials, roster: Roster, options: ScoreOptions) -> Callable[[int], Recording | None]:
    """Return a function that reads a recording of a roster again; None where its shard cannot be read any more."""
    owner = {files.called(case): (name, case) for name, own in partials.facts.items() for case in own[CASES]}
    held = {chunk.name: chunk for chunk in partials.system.chunks}

    @functools.lru_cache(maxsize=1)
    def read_chunk(name: str) -> Content | None:
        try:
            return chunks.read_chunk(held[name], options)
        except GnomonError:
            return None

    def read(place: int) -> Recording | None:
        name, case = owner[roster.ids[place]]
        content = read_chunk(name)
        found = [] if content is None else content.take([case]).leave_out(options.background).make_recordings()
        return found[0] if found else None

    return read


def _background_findings(facts: Mapping[str, Any], background: Sequence[str]) -> list[Finding]:
    """Say which labels of the background are in use nowhere: a wrong spelling, by which nothing was left out."""
    unknown = [label for label in dict.fromkeys(background) if label not in facts["background"]]
    if not unknown:
        return []
    known = sorted({*facts["true"], *facts["returned"]}, key=natural_key)
    evidence = f"--background {some(unknown)}: no such label in truth or results; there are {some(known, show=12)}"
    return [Finding("background-not-found", "warning", "background", evidence, "check the spelling, or leave it out")]


def _findings(facts: Mapping[str, Any], where: str) -> tuple[Finding, ...]:
    found = []
    unknown = sorted(set(facts["returned"]) - set(facts["true"]), key=natural_key)
    if unknown:
        evidence = f"{counted(len(unknown), 'returned label')} never true: {some(unknown)}"
        found.append(Finding("labels-never-true", "warning", where, evidence, "check their spelling"))
    found += [*_lost(facts, "returns", "return", where), *_lost(facts, "events", "true event", "truth")]
    if facts["all_returns"] >= FEW and 0 < facts["reach_returns"] < SHORT and facts["reach_events"] > LONG:
        found.append(_early(facts, where))
    if facts["outside"]:
        evidence = f"{counted(facts['outside'], 'return')} beyond the window, cut there"
        found.append(Finding("outside-window", "info", where, evidence, "check windows and time zones"))
    return tuple(found)


def _early(facts: Mapping[str, Any], where: str) -> Finding:
    """Say that all returns lie at the start: in another unit if their length differs too, else perhaps unfinished."""
    evidence = (
        f"all {counted(facts['all_returns'], 'return')} end within {facts['reach_returns']:.2%} of a recording, "
        f"true events reach {facts['reach_events']:.0%} of one"
    )
    lengths = [facts[f"lasting_{what}"] / max(facts[f"all_{what}"], 1) for what in ("returns", "events")]
    unit = find_shrinking(lengths[0] / lengths[1]) if lengths[1] else ""
    if unit:
        remedy = f"check that truth and predictions have one unit: is the truth in {CALLED[unit]}?"
        return Finding("times-elsewhere", "error", where, evidence, remedy)
    remedy = "check that the system processed recordings to their end"
    return Finding("times-elsewhere", "warning", where, evidence, remedy)


def _lost(facts: Mapping[str, Any], what: str, called: str, where: str) -> list[Finding]:
    """Say that most of what was given does not touch its window, or all of some recordings: shifted, or of others."""
    lost, total, cases = facts[f"lost_{what}"], facts[f"all_{what}"], facts[f"elsewhere_{what}"]
    if not cases and lost <= total / 2:
        return []
    every = lost == total
    share = "all" if every else f"{lost:,} of"
    evidence = f"{share} {counted(total, called)} wholly outside the window of the recording, and not counted"
    if cases and not every:
        evidence += f"; all of {counted(len(cases), 'recording')}: {some(cases)}"
    remedy = "check that times are seconds of the same clock as the windows"
    return [Finding("times-elsewhere", "error" if every else "warning", where, evidence, remedy)]
