"""Verb ``run``: recognisers over recordings, through the engine; one cell per recogniser and case.

With training, a cell needs the trained recogniser, an artefact that all test cases of a fold share. A recogniser
without ``train`` is run as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gnomon.core import options as opt
from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.runs.run import Evaluation
from gnomon.suites.events import files, perfboard, recognizers, scoring, training
from gnomon.suites.events.options import RunOptions, ScoreOptions
from gnomon.suites.events.times import Stretch
from gnomon.suites.events.training import Digests, Training


@dataclass(frozen=True)
class _Work:
    """What was asked for, checked and resolved."""

    options: RunOptions
    cases: list[files.TruthCase]
    identities: Mapping[str, str]
    """By name of the recogniser."""
    learners: frozenset[str]
    """Recognisers that can be trained."""
    training: Training
    digests: Digests


def run(options: RunOptions) -> Job:
    """Check what was given, then plan a cell for every recogniser and case."""
    cases = _selected(files.read_truth(*options.truth), options.select)
    scoring.check_slices(cases, options.slice)
    names = [name for item in options.recognizers for name in map(str.strip, item.split(",")) if name]
    if not names:
        raise InputError("no recogniser given: --recognizers package.module.Class or file.py:Class")
    folds, others = training.folds(cases, options)
    if options.export_perfboard:
        sources = [name.rpartition(":")[0] for name in names]
        perfboard.check(options.export_perfboard, training.inputs([*cases, *others]) + sources)
    digests = training.hashed([*cases, *others])
    findings = training.overlap(folds, cases, scoring.level(cases, options.group), digests)
    work = _Work(
        options,
        cases,
        {name: recognizers.identity(name) for name in names},
        frozenset(name for name in names if training.learns(name)) if folds else frozenset(),
        Training(folds, findings),
        digests,
    )
    plan = Plan(_cell(work, name, case) for name in work.identities for case in cases)
    return Job(plan, lambda outcome: _assemble(outcome, work))


def _selected(cases: list[files.TruthCase], conditions: Sequence[str]) -> list[files.TruthCase]:
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


def _cell(work: _Work, name: str, case: files.TruthCase) -> Node:
    node = partial(Node, limits=work.options.limits())
    identity, chunk = work.identities[name], work.options.chunk
    needs = {}
    if name in work.learners:
        fold = work.training.folds[case.id]
        needs["trained"] = node(
            f"train {name} {fold.name}",
            "gnomon.suites.events.cells:train",
            {"recognizer": name, "identity": identity, "training": [_content(work, c) for c in fold.cases]},
            kind="artefact",
            labels={"system": name},
            context={"cases": [_place(c) for c in fold.cases], "chunk": chunk},
        )
    return node(
        f"{name} {case.id}",
        "gnomon.suites.events.cells:recognise",
        {"recognizer": name, "identity": identity, **_content(work, case)},
        needs=needs,
        labels={"system": name, "dataset": case.id},
        context={"chunk": chunk, **_place(case)},
    )


def _content(work: _Work, case: files.TruthCase) -> dict[str, Any]:
    return {"case": case.id, **work.digests[training.key(case)].record()}


def _place(case: files.TruthCase) -> dict[str, str]:
    return {"truth": os.fspath(case.path), "case": case.id}


def _assemble(outcome: Outcome, work: _Work) -> list[Evaluation]:
    options = work.options
    asked = ScoreOptions(
        truth=options.truth,
        predictions=(),
        group=options.group,
        slice=options.slice,
        variant=options.variant,
        classes=options.classes,
        background=options.background,
        missing="skip",
    )
    evaluations, systems = [], []
    for name, identity in work.identities.items():
        part = outcome.of(system=name)
        results, findings = _collected(part)
        systems.append(scoring.System(name, name, results))
        trained = name in work.learners
        for evaluation in scoring.evaluate(work.cases, systems[-1], asked):
            kept = [f for f in evaluation.findings if f.id not in ("missing-cases", "outside-window")]
            evaluations.append(
                replace(
                    evaluation,
                    coverage={**evaluation.coverage, "complete": part.complete, "cells": part.coverage()},
                    options={**opt.record(options), "recognizer": name, "source": identity, "trained": trained},
                    findings=(*kept, *findings, *(work.training.findings if trained else ())),
                )
            )
    if options.export_perfboard:
        perfboard.write(options.export_perfboard, work.cases, systems, options.variant)
    return evaluations


def _collected(outcome: Outcome) -> tuple[dict[str, list[Stretch[float]]], list[Finding]]:
    results: dict[str, list[Stretch[float]]] = {}
    findings = []
    by_name = {cell.name: cell.labels for cell in outcome.cells}
    for name, folder in outcome.done.items():
        stored: Any = json.loads((Path(folder) / "detected.json").read_bytes())
        case = by_name[name]["dataset"]
        results[case] = [Stretch(r["t1"], r["t2"], r["label"], r["score"]) for r in stored["detected"]]
        findings += [
            Finding("recognizer-output", "warning", name, f"{case}: {problem}", "mend the recogniser")
            for problem in stored["problems"]
        ]
    return results, findings
