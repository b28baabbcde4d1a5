"""Verb ``run``: recognisers over recordings, through the engine; one cell per recogniser and case.

With training, a cell needs the trained recogniser, an artefact that all test cases of a fold share. A recogniser
without ``train`` is run as it is. Of a part of the groups (``--part``), nothing of the others is read but their truth
files, which name the groups, and the train part where something is trained.

Which cases are tested: all that were given, those with some tags, or those of one part of the groups.

Groups are dealt into parts before cases are selected by their tags, so that a selection never moves a group from one
part to another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gnomon.core import options as opt
from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.core.partition import ALL, TEST, VAL
from gnomon.core.systems import Spec
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.engine.planner import Planner
from gnomon.engine.scoring import Chunk
from gnomon.runs.auditing import TRIVIAL
from gnomon.runs.run import INPUTS, Evaluation
from gnomon.suites.events import cells, files, perfboard, samples, scoring, training
from gnomon.suites.events.chunks import Content, Detections, Truth
from gnomon.suites.events.options import RunOptions, ScoreOptions
from gnomon.suites.events.recognizers import SYSTEMS
from gnomon.suites.events.times import Stretch
from gnomon.suites.events.training import Digests, Training
from gnomon.suites.events.watching import record_findings


@dataclass(frozen=True)
class _Work:
    """What was asked for, checked and resolved."""

    options: RunOptions
    cases: list[files.TruthCase]
    chosen: Chosen
    systems: Mapping[str, Spec]
    """By text, which is what tables call them."""
    learners: frozenset[str]
    """Texts of recognisers that can be trained."""
    training: Training
    digests: Digests


def run(options: RunOptions) -> Job:
    """Check what was given, then plan a cell for every recogniser and case."""
    chosen = choose(options)
    cases = chosen.cases
    scoring.check_slices(cases, options.slice)
    counted = Content(Truth(cases), Detections({})).leave_out(options.background)
    files.check_touch([files.touch(counted.cases)], files.name_files(cases))
    systems = SYSTEMS.parse(options.recognizers)
    learners = frozenset(text for text, spec in systems.items() if SYSTEMS.offers(spec, "train"))
    folds, others = training.folds(cases, options, chosen.train if learners else ())
    chosen.check(others, options)
    if options.export_perfboard:
        sources = [spec.name.rpartition(":")[0] for spec in systems.values()]
        perfboard.check(options.export_perfboard, training.inputs([*cases, *others]) + sources)
    digests = training.hashed([*cases, *others])
    work = _Work(
        options,
        cases,
        chosen,
        systems,
        learners if folds else frozenset(),
        Training(folds, samples.of(cases, folds, digests, chosen.level)),
        digests,
    )
    plan = Plan(_cell(work, spec, case) for spec in systems.values() for case in cases)
    return Job(plan, lambda outcome: _assemble(outcome, work), scoring.measures(cases, _asked(work)))


def _cell(work: _Work, spec: Spec, case: files.TruthCase) -> Node:
    planner = Planner(work.options, SYSTEMS)
    asked = {"chunk": work.options.chunk, "unit": work.options.unit}
    needs = {}
    if spec.text in work.learners:
        fold = work.training.folds[case.id]
        needs["trained"] = planner.trained(
            f"train {spec} {fold.name}",
            cells.train,
            {"training": [_content(work, c) for c in fold.cases]},
            spec=spec,
            context={"cases": [_place(c) for c in fold.cases], **asked},
        )
    return planner.cell(
        f"{spec} {case.id}",
        cells.recognise,
        _content(work, case),
        spec=spec,
        needs=needs,
        labels={"dataset": case.id},
        context={**asked, **_place(case)},
    )


def _content(work: _Work, case: files.TruthCase) -> dict[str, Any]:
    return {"case": case.id, **work.digests[training.key(case)].record()}


def _place(case: files.TruthCase) -> dict[str, str]:
    return {"truth": os.fspath(case.path), "case": case.id}


def _asked(work: _Work) -> ScoreOptions:
    """Return the options of scoring that the options of the run stand for; times are seconds, as cells have checked."""
    options = work.options
    return ScoreOptions(
        truth=options.truth,
        predictions=(),
        group=work.chosen.level,
        slice=options.slice,
        variant=options.variant,
        classes=options.classes,
        background=options.background,
        missing="skip",
        unit="s",
        exhibits=options.exhibits,
        out=options.out,
    )


def _assemble(outcome: Outcome, work: _Work) -> list[Evaluation]:
    options, asked = work.options, _asked(work)
    scorer, truth = scoring.make_scorer(), Truth(work.cases)
    evaluations, systems = [], {}
    given = fingerprint([[case.id, *work.digests[training.key(case)].data] for case in work.cases])
    for name, spec in work.systems.items():
        part = outcome.of(system=name)
        results, findings = _collected(part, name)
        systems[name] = results
        trained = name in work.learners
        for evaluation in scorer.score_whole(name, name, Chunk("", truth, Detections(results)), asked):
            kept = [f for f in evaluation.findings if f.id != "outside-window"]
            evaluations.append(
                replace(
                    evaluation,
                    coverage={**evaluation.coverage, "complete": part.complete, "cells": part.coverage()},
                    protocol=replace(evaluation.protocol, split=work.chosen.split),
                    options={**opt.record(options), **SYSTEMS.record(spec), "trained": trained},
                    findings=(*kept, *findings),
                    facts={
                        **evaluation.facts,
                        **({TRIVIAL: True} if SYSTEMS.declares(spec, "trivial") else {}),
                        INPUTS: given,
                    },
                    samples=work.training.samples if trained else None,
                )
            )
    if options.export_perfboard:
        perfboard.write(options.export_perfboard, work.cases, systems, options.variant)
    return evaluations


def _collected(outcome: Outcome, system: str) -> tuple[dict[str, list[Stretch[float]]], list[Finding]]:
    results: dict[str, list[Stretch[float]]] = {}
    findings = []
    odd = {}
    by_name = {cell.name: cell.labels for cell in outcome.cells}
    for name, folder in outcome.done.items():
        stored: Any = json.loads((Path(folder) / "detected.json").read_bytes())
        case = by_name[name]["dataset"]
        results[case] = [Stretch(r["t1"], r["t2"], r["label"], r["score"]) for r in stored["detected"]]
        findings += [
            Finding("recognizer-output", "warning", name, f"{case}: {problem}", "mend the recogniser")
            for problem in stored["problems"]
        ]
        odd[case] = stored["records"]
    return results, [*findings, *record_findings(odd, system)]


@dataclass(frozen=True)
class Chosen:
    """The cases that are tested, those that recognisers are trained on for want of others, and how both came about."""

    cases: list[files.TruthCase]
    level: str
    """The tag whose values are resampled, and dealt into parts."""
    train: tuple[files.TruthCase, ...] = ()
    of: Mapping[str, str] = field(default_factory=dict)
    """The part of every group; empty where everything is tested."""
    split: Mapping[str, Any] = field(default_factory=dict)
    """The split as a protocol records it."""

    def check(self, given: Sequence[files.TruthCase], options: RunOptions) -> None:
        """Refuse training files with groups that are kept for the test while something is chosen on the val part."""
        held = [case.id for case in given if self.of.get(group_of(case, self.level)) == TEST]
        if options.part == VAL and held:
            raise InputError(
                f"--train: case {some(held)} is of a {self.level} of the test part, which nothing may see before the "
                "test: leave it out, or leave out --train to train on the train part"
            )


def choose(options: RunOptions) -> Chosen:
    """Read the truth and choose the cases that were asked for."""
    everything = files.read_truth(*options.truth)
    files.check_cases(everything, options.unit)
    level = scoring.find_level(everything, options.group)
    if options.part == ALL:
        return Chosen(selected(everything, options.select), level)
    of = options.parts((group_of(case, level) for case in everything), level)
    kept = selected(everything, options.select)
    cases, train = ([c for c in kept if of[group_of(c, level)] == part] for part in (options.part, "train"))
    if not cases:
        raise InputError(f"--part {options.part}: no case of it is left by --select {', '.join(options.select)}")
    return Chosen(cases, level, tuple(train), of, options.split_record(of, level))


def group_of(case: files.TruthCase, level: str) -> str:
    """Return the group of a case: the value of a tag, or the case itself where a recording is a group."""
    return case.tags.get(level, case.id)


def selected(cases: list[files.TruthCase], conditions: Sequence[str]) -> list[files.TruthCase]:
    """Return the cases with some tags; refuse conditions that leave none."""
    for condition in conditions:
        tag, equals, value = condition.partition("=")
        if not equals:
            raise InputError(f"--select {condition!r}: expected TAG=VALUE")
        kept = [case for case in cases if case.tags.get(tag) == value]
        if not kept:
            known = sorted({case.tags[tag] for case in cases if tag in case.tags})
            tags = sorted({name for case in cases for name in case.tags})
            why = f"{tag!r} is {some(known)}" if known else f"no case has the tag {tag!r}; there are {some(tags)}"
            raise InputError(f"--select {condition!r} leaves no case; {why}")
        cases = kept
    return cases
