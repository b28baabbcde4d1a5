"""Verb ``run``: recognisers over recordings, through the engine; one cell per recogniser and case."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gnomon.core import options as opt
from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.events import files, raw, recognizers, scoring
from gnomon.suites.events.options import RunOptions, ScoreOptions
from gnomon.suites.events.times import Stretch


def run(options: RunOptions) -> Job:
    """Check what was given, then plan a cell for every recogniser and case."""
    cases = _selected(files.read_truth(*options.truth), options.select)
    names = [name for item in options.recognizers for name in item.split(",") if name]
    if not names:
        raise InputError("no recogniser given: --recognizers package.module.Class or file.py:Class")
    asked = ScoreOptions(
        truth=options.truth,
        predictions=(),
        group=options.group,
        slice=options.slice,
        variant=options.variant,
        classes=options.classes,
        missing="skip",
    )
    digests = {case.id: [hash_file(path) for path in raw.data_files(case)] for case in cases}
    plan = Plan(_cell(name, case, digests[case.id], options) for name in names for case in cases)
    return Job(plan, lambda outcome: _assemble(outcome, cases, names, asked, options))


def _selected(cases: list[files.TruthCase], conditions: Sequence[str]) -> list[files.TruthCase]:
    for condition in conditions:
        tag, equals, value = condition.partition("=")
        if not equals:
            raise InputError(f"--select {condition!r}: expected TAG=VALUE")
        kept = [case for case in cases if case.tags.get(tag) == value]
        if not kept:
            known = sorted({case.tags[tag] for case in cases if tag in case.tags})
            raise InputError(f"--select {condition!r} leaves no case; {tag!r} is one of {some(known) or 'nothing'}")
        cases = kept
    return cases


def _cell(name: str, case: files.TruthCase, digests: list[str], options: RunOptions) -> Node:
    arguments = {
        "identity": recognizers.identity(name),
        "case": case.id,
        "data": digests,
        "truth_sha256": hash_file(case.path),
    }
    context = {"recognizer": name, "truth": os.fspath(case.path), "case": case.id, "chunk": options.chunk}
    labels = {"system": name, "dataset": case.id}
    function = "gnomon.suites.events.cells:recognise"
    return Node(f"{name} {case.id}", function, arguments, labels=labels, context=context, limits=options.limits())


def _assemble(
    outcome: Outcome, cases: list[files.TruthCase], names: list[str], asked: ScoreOptions, options: RunOptions
) -> list[Evaluation]:
    evaluations = []
    for name in names:
        part = outcome.of(system=name)
        results, findings = _collected(part)
        system = scoring.System(name, name, results)
        for evaluation in scoring.evaluate(cases, system, asked):
            coverage = {**evaluation.coverage, "complete": part.complete, "cells": part.coverage()}
            resolved = {**opt.record(options), "recognizer": name, "source": recognizers.identity(name)}
            kept = tuple(f for f in evaluation.findings if f.id != "missing-cases")
            evaluations.append(replace(evaluation, coverage=coverage, options=resolved, findings=(*kept, *findings)))
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
