"""Verb ``run``: recognisers over recordings, through the engine; one cell per recogniser and case.

With training, a cell needs the trained recogniser, an artefact that all test cases of a fold share. A recogniser
without ``train`` is run as it is. Of a part of the groups (``--part``), nothing of the others is read but their truth
files, which name the groups, and the train part where something is trained.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gnomon.core import options as opt
from gnomon.core.canonical import fingerprint
from gnomon.core.evidence import Finding
from gnomon.core.systems import Spec
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.engine.planner import Planner
from gnomon.engine.scoring import Chunk
from gnomon.runs.auditing import TRIVIAL
from gnomon.runs.run import INPUTS, Evaluation
from gnomon.suites.events import cells, files, parts, perfboard, samples, scoring, training
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
    chosen: parts.Chosen
    systems: Mapping[str, Spec]
    """By text, which is what tables call them."""
    learners: frozenset[str]
    """Texts of recognisers that can be trained."""
    training: Training
    digests: Digests


def run(options: RunOptions) -> Job:
    """Check what was given, then plan a cell for every recogniser and case."""
    chosen = parts.choose(options)
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
