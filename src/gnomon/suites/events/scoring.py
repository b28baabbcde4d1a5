"""Verb ``score``: results that were made elsewhere, against truth files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core import options as opt
from gnomon.core.cases import Roster, join
from gnomon.core.errors import InputError, counted, some
from gnomon.core.evidence import Finding
from gnomon.core.measure import Measure, by_family
from gnomon.core.signals import Intervals
from gnomon.core.tallies import Tallies, natural_key
from gnomon.intake.sources import check_names, named
from gnomon.runs.content import column_digest
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.events import exhibits, files, perfboard, summaries
from gnomon.suites.events.options import ScoreOptions
from gnomon.suites.events.protocol import POOLED, protocol
from gnomon.suites.events.times import Stretch, place

Results = Mapping[str, Sequence[Stretch[float]]]
RECORDING = "recording"
MOST_EDITED = 100_000
"""Above this many events in one recording there is no edit score, which compares each with every return."""
SUBJECTS = ("subject", "subject.id", "subject.name")


@dataclass(frozen=True)
class System:
    """A system's results by case, in the seconds of each case."""

    name: str
    where: str
    results: Results


def score(options: ScoreOptions) -> list[Evaluation]:
    """Score every given system in every asked variant."""
    if options.export_perfboard:
        perfboard.check(
            options.export_perfboard, [*options.truth, *(path for _, path in map(named, options.predictions))]
        )
    cases = files.read_truth(*options.truth)
    sources = [named(text) for text in options.predictions]
    check_names([name for name, _ in sources])
    systems = [System(name, path, _results(path, cases, options)) for name, path in sources]
    keeper = exhibits.Keeper(0 if options.out == "none" else options.exhibits)
    evaluations = [evaluation for system in systems for evaluation in evaluate(cases, system, options, keeper)]
    if options.export_perfboard:
        perfboard.write(options.export_perfboard, cases, systems, options.variant)
    return evaluations


def evaluate(
    cases: Sequence[files.TruthCase], system: System, options: ScoreOptions, keeper: exhibits.Keeper
) -> list[Evaluation]:
    """Tally one system in every asked variant, and keep its worst recordings."""
    cases, system = _foreground(cases, system, options.background)
    scored = [case for case in cases if case.id in system.results]
    roster = _roster(scored, level(cases, options.group), options)
    variants = ("published", "strict") if options.variant == "both" else (options.variant,)
    found = [_evaluation(cases, scored, roster, system, variant, options) for variant in variants]
    return [replace(one, files=keeper.files(scored, system.results, one.tallies)) for one in found]


def _foreground(
    cases: Sequence[files.TruthCase], system: System, background: Sequence[str]
) -> tuple[Sequence[files.TruthCase], System]:
    """Leave out stretches that say that nothing happens."""
    if not background:
        return cases, system

    def kept(stretches: Sequence[Stretch[float]]) -> tuple[Stretch[float], ...]:
        return tuple(stretch for stretch in stretches if stretch.label not in background)

    results = {name: kept(stretches) for name, stretches in system.results.items()}
    return [replace(case, stretches=kept(case.stretches)) for case in cases], replace(system, results=results)


def _evaluation(
    cases: Sequence[files.TruthCase],
    scored: Sequence[files.TruthCase],
    roster: Roster,
    system: System,
    variant: str,
    options: ScoreOptions,
) -> Evaluation:
    pooled = variant == "published"
    true = sorted({stretch.label for case in cases for stretch in case.stretches}, key=natural_key)
    classes = [POOLED] if pooled else true
    longest = max(len(case.stretches) for case in cases)
    edit = longest <= MOST_EDITED
    settled = protocol(
        classes, variant, options.classes, options.slice, roster.level, edit=edit, background=options.background
    )
    return Evaluation(
        protocol=settled,
        suite="events",
        system=system.name,
        roster=roster,
        tallies=_tallies(settled.measures, scored, system, pooled),
        data=_data_digest(cases, roster.level),
        table=_table(scored, system.results),
        coverage=_coverage(cases, scored, options),
        findings=_findings(scored, system, true),
        inputs=tuple({"path": str(p), "sha256": hash_file(p)} for p in dict.fromkeys(case.path for case in cases)),
        options={**opt.record(replace(options, predictions=(system.where,))), "group": roster.level},
        ledgers={} if pooled else summaries.ledgers(scored, system.results),
        facts={} if pooled else summaries.facts(scored, system.results, len(true)),
    )


def _tallies(
    measures: Sequence[Measure], scored: Sequence[files.TruthCase], system: System, pooled: bool
) -> dict[str, Tallies]:
    """Tally every case once for each family of measures."""
    families = by_family(measures)
    rows: dict[str, list[Tallies]] = {name: [] for name in families}
    for case in scored:
        truth, found = (signal(side, case, pooled) for side in (case.stretches, system.results[case.id]))
        for name, measure in families.items():
            rows[name].append(measure.tally(truth, found))
    if not scored:  # every cell failed: nothing to sum, everything undefined
        empty = Intervals(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64), (), (0.0, 1.0))
        rows = {name: [measure.tally(empty, empty).take(slice(0, 0))] for name, measure in families.items()}
    return {name: Tallies.stack(parts) for name, parts in rows.items()}


def signal(stretches: Sequence[Stretch[float]], case: files.TruthCase, pooled: bool) -> Intervals:
    """Return stretches as a signal; pooled, every label is the one class of the published variant."""
    names = [POOLED if pooled else stretch.label for stretch in stretches]
    classes = tuple(sorted(set(names), key=natural_key))
    place_of = {label: index for index, label in enumerate(classes)}
    codes = np.array([place_of[name] for name in names], dtype=np.int64)
    starts, ends = (np.array([s[side] for s in stretches], dtype=np.float64) for side in (0, 1))
    return Intervals(starts, ends, codes, classes, case.window)


def _results(path: str, cases: Sequence[files.TruthCase], options: ScoreOptions) -> dict[str, list[Stretch[float]]]:
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
    if missing and options.missing == "error":
        raise InputError(
            f"{path}: no result for cases {some(missing)}; add them (an empty list where nothing was found), "
            "or choose --missing empty or --missing skip"
        )
    if options.missing == "empty":
        given |= {name: [] for name in missing}
    return {name: list(place(items, known[name].zone, f"{path}: {name}")) for name, items in given.items()}


def _roster(cases: Sequence[files.TruthCase], chosen: str, options: ScoreOptions) -> Roster:
    check_slices(cases, options.slice)
    groups = tuple(case.id if chosen == RECORDING else case.tags[chosen] for case in cases)
    tags = {name: tuple(case.tags[name] for case in cases) for name in options.slice}
    return Roster(tuple(join((case.id,)) for case in cases), groups, tags, chosen)


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


def _data_digest(cases: Sequence[files.TruthCase], level: str) -> str:
    ids = [case.id for case in cases for _ in case.stretches]
    rows = [stretch for case in cases for stretch in case.stretches]
    windows = [edge for case in cases for edge in case.window]
    groups = [case.tags.get(level, case.id) for case in cases]
    texts = (pa.array([case.id for case in cases]), pa.array(groups), pa.array(ids, pa.string()))
    times = (pa.array([r.start for r in rows], pa.float64()), pa.array([r.end for r in rows], pa.float64()))
    return column_digest(*texts, pa.array(windows), *times, pa.array([r.label for r in rows], pa.string()))


def _table(cases: Sequence[files.TruthCase], results: Results) -> pa.Table:
    rows = [(case.id, *stretch) for case in cases for stretch in results[case.id]]
    kinds = {
        "case": pa.string(),
        "start": pa.float64(),
        "end": pa.float64(),
        "label": pa.string(),
        "score": pa.float64(),
    }
    return pa.table({name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(kinds.items())})


def _coverage(
    cases: Sequence[files.TruthCase], scored: Sequence[files.TruthCase], options: ScoreOptions
) -> dict[str, Any]:
    known = {case.id for case in scored}
    missing = [case.id for case in cases if case.id not in known]
    return {
        "complete": not missing,
        "cases": {"truth": len(cases), "scored": len(scored), "missing": missing},
        "policy": {"missing": options.missing},
    }


def _findings(scored: Sequence[files.TruthCase], system: System, true: Sequence[str]) -> tuple[Finding, ...]:
    found = []
    returned = {s.label for items in system.results.values() for s in items}
    unknown = sorted(returned - set(true), key=natural_key)
    if unknown:
        evidence = f"{counted(len(unknown), 'returned label')} never true: {some(unknown)}"
        found.append(Finding("labels-never-true", "warning", system.where, evidence, "check their spelling"))
    outside = sum(
        s.start < case.window[0] or s.end > case.window[1] for case in scored for s in system.results[case.id]
    )
    if outside:
        evidence = f"{counted(outside, 'return')} beyond the window, cut there"
        found.append(Finding("outside-window", "info", system.where, evidence, "check windows and time zones"))
    return tuple(found)
