"""Verb ``run``: systems fitted and tested by folds over groups, through the engine."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.core import options as opt
from gnomon.core.errors import InputError
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.intake.memory import table_of
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.labels import cells, files, scoring, systems
from gnomon.suites.labels.options import RunOptions, ScoreOptions


def run(options: RunOptions) -> Job:
    """Check what was given, then plan the folds of every system."""
    asked = ScoreOptions(
        truth=options.truth,
        predictions=(),
        group=options.group or files.GROUP,
        slice=options.slice,
        classes=options.classes,
        zero_division=options.zero_division,
        missing="skip",
    )
    truth = files.read_truth(asked)
    features = cells.feature_columns(options)
    cells.deal(truth.groups, options.folds, options.seed)
    path = _stored_truth(options)
    data = Node(
        "data",
        "gnomon.suites.labels.cells:prepare",
        {
            "sha256": hash_file(path),
            "group": asked.group,
            "features": features,
            "folds": options.folds,
            "seed": options.seed,
        },
        kind="artefact",
        context={"truth": os.fspath(path)},
    )
    plan = Plan(_cell(name, fold, data, options) for name in options.systems for fold in range(options.folds))
    return Job(plan, lambda outcome: _assemble(outcome, truth, asked, features, options))


def _cell(system: str, fold: int, data: Node, options: RunOptions) -> Node:
    arguments = {"identity": systems.identity(system), "fold": fold, "seed": options.seed}
    labels = {"system": system, "task": f"fold {fold}", "seed": str(options.seed)}
    name = f"{system} fold {fold}"
    function = "gnomon.suites.labels.cells:fold"
    context = {"system": system}
    return Node(name, function, arguments, {"data": data}, labels=labels, context=context, limits=options.limits())


def _stored_truth(options: RunOptions) -> Path:
    """Return the truth as a file; what is in memory is stored under the hash of its content."""
    if isinstance(options.truth, (str, os.PathLike)):
        path = Path(options.truth)
        if not path.is_file():
            raise InputError(f"{path}: no such file; check the spelling of the path")
        return path
    table = table_of(options.truth, text=(files.ID, files.LABEL, options.group or files.GROUP), name="truth")
    folder = options.store_folder() / "inputs"
    folder.mkdir(parents=True, exist_ok=True)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content = sink.getvalue().to_pybytes()
    path = folder / f"{hashlib.sha256(content).hexdigest()[:24]}.parquet"
    if not path.is_file():
        draft = path.with_suffix(f".{os.getpid()}.draft")
        draft.write_bytes(content)
        draft.replace(path)
    return path


def _assemble(
    outcome: Outcome, truth: files.Truth, asked: ScoreOptions, features: list[str], options: RunOptions
) -> list[Evaluation]:
    """Make an evaluation per system; one whose cells all failed is there too, with everything undefined."""
    resolved = {"group": asked.group, "features": features, "store": os.fspath(options.store_folder())}
    return [_evaluation(truth, name, outcome.of(system=name), asked, options, resolved) for name in options.systems]


def _evaluation(
    truth: files.Truth,
    system: str,
    outcome: Outcome,
    asked: ScoreOptions,
    options: RunOptions,
    resolved: dict[str, Any],
) -> Evaluation:
    parts = [pq.read_table(path / "labels.parquet") for path in outcome.done.values()]
    none = pa.table({"id": pa.array([], pa.string()), "label": pa.array([], pa.string())})
    aligned = files.read_predictions(files.Source(system, pa.concat_tables([none, *parts])), truth, asked)
    evaluation = scoring.evaluate(truth, aligned, asked)
    split = {"folds": options.folds, "by": asked.group, "features": resolved["features"]}
    return replace(
        evaluation,
        coverage={**evaluation.coverage, "complete": outcome.complete, "cells": outcome.coverage()},
        protocol=replace(evaluation.protocol, split=split),
        options={
            **opt.record(replace(options, truth=truth.source.where)),
            **resolved,
            "system": system,
            "system_source": systems.identity(system),
        },
        inputs=evaluation.inputs[:1],
        findings=tuple(f for f in evaluation.findings if f.id != "missing-predictions"),
    )
