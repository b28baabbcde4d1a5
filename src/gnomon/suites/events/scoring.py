"""Verb ``score``: results that were made elsewhere, against truth files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core import options as opt
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError, counted, some
from gnomon.core.evidence import Finding
from gnomon.core.measure import Measure
from gnomon.core.protocol import Protocol
from gnomon.core.tallies import natural_key
from gnomon.engine.job import Job
from gnomon.intake.shards import is_folder, refuse_folders
from gnomon.intake.sources import check_names, named
from gnomon.intake.unread import reading_for
from gnomon.runs.content import column_digest
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.events import columns, exhibits, files, perfboard, spans, summaries, tallying
from gnomon.suites.events.columns import Recording
from gnomon.suites.events.options import ScoreOptions
from gnomon.suites.events.plausible import UNITS, Evidence, check_unit, weigh
from gnomon.suites.events.protocol import POOLED, protocol
from gnomon.suites.events.times import Stretch

Results = Mapping[str, Sequence[Stretch[float]]]
RECORDING = "recording"
FEW, SHORT, LONG = 3, 0.002, 0.2
"""So many returns that all end within a small share of their recordings are odd, if true events reach a larger one."""
SUBJECTS = ("subject", "subject.id", "subject.name")


@dataclass(frozen=True)
class System:
    """A system's results by case, in the seconds of each case."""

    name: str
    where: str
    results: Results


def score(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score every given system in every asked variant; folders of shards are scored shard by shard."""
    if any(map(is_folder, options.truth)):
        from gnomon.suites.events import shards

        return shards.score(options)
    if options.export_perfboard:
        perfboard.check(
            options.export_perfboard, [*options.truth, *(path for _, path in map(named, options.predictions))]
        )
    sources = [named(text) for text in options.predictions]
    check_names([name for name, _ in sources])
    refuse_folders(path for _, path in sources)
    cases = files.read_truth(*options.truth)
    files.check_cases(cases)
    systems = []
    for name, path in sources:
        with reading_for(name):
            results, evidence = read_results(path, cases, options.missing, options.unit)
            check_results(evidence, path, options.unit)
            systems.append(System(name, path, results))
    keeper = exhibits.Keeper(0 if options.out == "none" else options.exhibits)
    found = [evaluation for system in systems for evaluation in evaluate(cases, system, options, keeper)]
    if options.export_perfboard:
        perfboard.write(options.export_perfboard, cases, systems, options.variant)
    return found


def evaluate(
    cases: Sequence[files.TruthCase], system: System, options: ScoreOptions, keeper: exhibits.Keeper
) -> list[Evaluation]:
    """Tally one system in every asked variant, and keep its worst recordings."""
    cases, system = foreground(cases, system, options.background)
    scored = [case for case in cases if case.id in system.results]
    roster = roster_of(scored, level(cases, options.group), options.slice)
    found = recordings(scored, system)
    part = tallying.tallied(roster, found, tallying.asked(options.variant), **told(cases))
    content = {
        "data": data_digest(cases, roster.level),
        "table": table_of(scored, system.results),
        "coverage": coverage([case.id for case in cases], roster, options),
        "inputs": tuple({"path": str(p), "sha256": hash_file(p)} for p in dict.fromkeys(case.path for case in cases)),
    }
    ids = [case.id for case in scored]
    return [
        replace(one, **content, files=keeper.files(ids, found.__getitem__, one.tallies))
        for one in evaluations(part, part.facts, system.name, system.where, options)
    ]


def evaluations(
    part: Part, facts: Mapping[str, Any], system: str, where: str, options: ScoreOptions
) -> list[Evaluation]:
    """Make the evaluations of what was tallied, one of each asked variant; the content of both sides is left open."""
    made = []
    ledgers = dict(part.ledgers)
    edges = ledgers.pop(summaries.EDGES, None)
    for variant in tallying.asked(options.variant):
        pooled = variant == "published"
        settled = _settled(facts, variant, part.roster.level, options)
        made.append(
            Evaluation(
                protocol=settled,
                suite="events",
                system=system,
                roster=part.roster,
                tallies=tallying.of_variant(part, variant),
                data="",
                table=pa.table({}),
                findings=_findings(facts, where),
                options={**opt.record(replace(options, predictions=(where,))), "group": part.roster.level},
                ledgers={} if pooled else ledgers,
                facts={} if edges is None or pooled else summaries.facts(facts, edges, len(part.roster)),
            )
        )
    return made


def measures(cases: Sequence[files.TruthCase], options: ScoreOptions) -> tuple[Measure, ...]:
    """Return the measures that evaluations against this truth have, those of all asked variants, each name once."""
    facts = told([replace(case, stretches=_without(case.stretches, options.background)) for case in cases])
    variants = [_settled(facts, variant, options.group or "", options) for variant in tallying.asked(options.variant)]
    return tuple({measure.name: measure for one in variants for measure in one.measures}.values())


def _settled(facts: Mapping[str, Any], variant: str, level: str, options: ScoreOptions) -> Protocol:
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


def recordings(cases: Sequence[files.TruthCase], system: System) -> list[Recording]:
    """Return what is true of cases and what was returned, as columns."""
    return [Recording(case, columns.of(case.stretches), columns.of(system.results[case.id])) for case in cases]


def told(cases: Sequence[files.TruthCase]) -> dict[str, Any]:
    """Return what the truth says of all cases, scored or not: its classes, and the most events of a recording."""
    return {
        "true": sorted({label for case in cases for label in labels_of(case.stretches)}, key=natural_key),
        "longest": max((len(case.stretches) for case in cases), default=0),
    }


def labels_of(stretches: Sequence[Stretch[float]]) -> set[str]:
    """Return the labels in use."""
    if isinstance(stretches, spans.Placed):
        return {stretches.names[code] for code in np.unique(stretches.codes).tolist()}
    return {stretch.label for stretch in stretches}


def foreground(
    cases: Sequence[files.TruthCase], system: System, background: Sequence[str]
) -> tuple[Sequence[files.TruthCase], System]:
    """Leave out stretches that say that nothing happens."""
    if not background:
        return cases, system
    results = {name: _without(stretches, background) for name, stretches in system.results.items()}
    kept = [replace(case, stretches=_without(case.stretches, background)) for case in cases]
    return kept, replace(system, results=results)


def _without(stretches: Sequence[Stretch[float]], background: Sequence[str]) -> Sequence[Stretch[float]]:
    if isinstance(stretches, spans.Placed):
        return stretches.without(background)
    return tuple(stretch for stretch in stretches if stretch.label not in background)


def read_results(path: str, cases: Sequence[files.TruthCase], policy: str, unit: str) -> tuple[Results, Evidence]:
    """Read results of cases, in their seconds, and what they say about the unit of numbers.

    ``policy`` says what becomes of cases without any, ``unit`` in which unit numbers are; without one they are seconds.
    """
    given = dict(files.read_predictions(path))
    if files.ONLY in given:
        if len(cases) != 1:
            raise InputError(f"{path}: results without case ids fit one truth case, but there are {len(cases)}")
        given = {cases[0].id: given[files.ONLY]}
    known = {case.id: case for case in cases}
    extra = [name for name in given if name not in known]
    if extra:
        raise InputError(f"{path}: results for cases that are not in the truth: {some(extra)}; it has {some(known)}")
    missing = [name for name in known if name not in given]
    if missing and policy == "error":
        raise InputError(
            f"{path}: no result for cases {some(missing)}; add them (an empty list where nothing was found), "
            "or choose --missing empty or --missing skip"
        )
    if policy == "empty":
        given |= {name: [] for name in missing}
    given = {name: spans.in_seconds(items, UNITS[unit or "s"]) for name, items in given.items()}
    placed = {name: spans.place(items, known[name].zone, f"{path}: {name}") for name, items in given.items()}
    numbers = [name for name, items in given.items() if len(items) and spans.are_numbers(items)]
    return placed, weigh(columns.timed(known[name].window, placed[name]) for name in numbers)


def check_results(evidence: Evidence, where: str, unit: str) -> None:
    """Refuse detections that cannot be in a unit, but could be in another; seconds that were asked for are obeyed."""
    if unit == "s":
        return
    asked = f" in place of --unit {unit}" if unit else ""
    check_unit(evidence, where, "detections", lambda found: f"give --unit {_after(unit or 's', found)}{asked}")


def _after(unit: str, further: str) -> str:
    """Return the unit that numbers are in which look like a further one after they were taken for a unit."""
    wanted = UNITS[unit] * UNITS[further]
    return next((name for name, per_second in UNITS.items() if per_second == wanted), "ns")


def roster_of(cases: Sequence[files.TruthCase], chosen: str, slices: Sequence[str]) -> Roster:
    """Return who cases are; a level is a tag, or the recording itself."""
    check_slices(cases, slices)
    groups = tuple(case.id if chosen == RECORDING else case.tags[chosen] for case in cases)
    tags = {name: tuple(case.tags[name] for case in cases) for name in slices}
    return Roster(tuple(files.called(case.id) for case in cases), groups, tags, chosen)


def check_slices(cases: Sequence[files.TruthCase], slices: Sequence[str]) -> None:
    """Refuse tags that a case lacks."""
    unknown = [tag for tag in slices if any(tag not in case.tags for case in cases)]
    if unknown:
        raise _no_tag(unknown[0], cases)


def level(cases: Sequence[files.TruthCase], asked: str) -> str:
    """Return the tag that is resampled: the one asked for, a subject that every case names, or the recording."""
    if asked and asked != RECORDING and any(asked not in case.tags for case in cases):
        raise _no_tag(asked, cases)
    known = (name for name in SUBJECTS if cases and all(name in case.tags for case in cases))
    return asked or next(known, RECORDING)


def _no_tag(name: str, cases: Sequence[files.TruthCase]) -> InputError:
    known = sorted(set.intersection(*(set(case.tags) for case in cases))) if cases else []
    return InputError(f"no tag {name!r} in every case; every case has {some(known) or 'none'}")


def data_digest(cases: Sequence[files.TruthCase], level: str) -> str:
    """Return the fingerprint of cases and their truth."""
    whole = spans.joined(case.stretches for case in cases)
    names = pa.array([case.id for case in cases])
    ids = names.cast(pa.string()).take(_repeated([case.stretches for case in cases]))
    windows = [edge for case in cases for edge in case.window]
    groups = [case.tags.get(level, case.id) for case in cases]
    times = pa.array(whole.starts), pa.array(whole.ends)
    return column_digest(names, pa.array(groups), ids, pa.array(windows), *times, whole.labels())


def table_of(cases: Sequence[files.TruthCase], results: Results) -> pa.Table:
    """Return what was returned."""
    whole = spans.joined(results[case.id] for case in cases)
    ids = pa.array([case.id for case in cases], pa.string())
    return pa.table(
        {
            "case": ids.take(_repeated([results[case.id] for case in cases])),
            "start": pa.array(whole.starts),
            "end": pa.array(whole.ends),
            "label": whole.labels(),
            "score": pa.array(whole.scores, from_pandas=True),
        }
    )


def _repeated(parts: Sequence[Sequence[Any]]) -> pa.Array:
    """Return the place of every part as often as it has items."""
    return pa.array(np.repeat(np.arange(len(parts)), [len(part) for part in parts]))


def coverage(truth: Sequence[str], scored: Roster, options: ScoreOptions) -> dict[str, Any]:
    """Return which cases of the truth were scored."""
    known = set(scored.ids)
    missing = [case for case in truth if files.called(case) not in known]
    return {
        "complete": not missing,
        "cases": {"truth": len(truth), "scored": len(scored), "missing": missing},
        "policy": {"missing": options.missing},
    }


def _findings(facts: Mapping[str, Any], where: str) -> tuple[Finding, ...]:
    found = []
    unknown = sorted(set(facts["returned"]) - set(facts["true"]), key=natural_key)
    if unknown:
        evidence = f"{counted(len(unknown), 'returned label')} never true: {some(unknown)}"
        found.append(Finding("labels-never-true", "warning", where, evidence, "check their spelling"))
    found += [*_lost(facts, "returns", "return", where), *_lost(facts, "events", "true event", "truth")]
    if facts["all_returns"] >= FEW and facts["reach_returns"] < SHORT and facts["reach_events"] > LONG:
        evidence = (
            f"all {counted(facts['all_returns'], 'return')} end within {facts['reach_returns']:.2%} of a recording, "
            f"true events reach {facts['reach_events']:.0%} of one"
        )
        remedy = "check that truth and predictions have one unit: is the truth in milliseconds?"
        found.append(Finding("times-elsewhere", "warning", where, evidence, remedy))
    if facts["outside"]:
        evidence = f"{counted(facts['outside'], 'return')} beyond the window, cut there"
        found.append(Finding("outside-window", "info", where, evidence, "check windows and time zones"))
    return tuple(found)


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
