"""Verb ``run``: systems fitted and tested by folds over groups, through the engine."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.core import options as opt
from gnomon.core.errors import InputError
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.intake.memory import table_of
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.labels import files, scoring, systems
from gnomon.suites.labels.options import RunOptions, ScoreOptions


def run(options: RunOptions) -> Job:
    """Plan the folds of every system."""
    path = _stored_truth(options)
    group = options.group or files.GROUP
    data = Node(
        "data",
        "gnomon.suites.labels.cells:prepare",
        {
            "truth": os.fspath(path),
            "sha256": hash_file(path),
            "group": group,
            "features": list(options.features),
            "folds": options.folds,
            "seed": options.seed,
        },
        kind="artefact",
    )
    cells = [_cell(name, fold, data, options) for name in options.systems for fold in range(options.folds)]
    return Job(Plan(cells), lambda outcome: _assemble(outcome, options))


def _cell(system: str, fold: int, data: Node, options: RunOptions) -> Node:
    arguments = {"system": system, "identity": systems.identity(system), "fold": fold, "seed": options.seed}
    labels = {"system": system, "task": f"fold {fold}", "seed": str(options.seed)}
    name = f"{system} fold {fold}"
    function = "gnomon.suites.labels.cells:fold"
    return Node(name, function, arguments, {"data": data}, labels=labels, limits=options.limits())


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


def _assemble(outcome: Outcome, options: RunOptions) -> list[Evaluation]:
    asked = ScoreOptions(
        truth=options.truth,
        predictions=(),
        group=options.group,
        slice=options.slice,
        classes=options.classes,
        zero_division=options.zero_division,
        missing="skip",
    )
    truth = files.read_truth(asked)
    parts = {name: outcome.of(system=name) for name in options.systems}
    return [_evaluation(truth, name, part, asked, options) for name, part in parts.items() if part.done]


def _evaluation(
    truth: files.Truth, system: str, outcome: Outcome, asked: ScoreOptions, options: RunOptions
) -> Evaluation:
    parts = [pq.read_table(path / "labels.parquet") for path in outcome.done.values()]
    aligned = files.read_predictions(files.Source(system, pa.concat_tables(parts)), truth, asked)
    evaluation = scoring.evaluate(truth, aligned, asked)
    coverage = {**evaluation.coverage, "complete": outcome.complete, "cells": outcome.coverage()}
    protocol = replace(evaluation.protocol, split={"folds": options.folds, "by": options.group or files.GROUP})
    resolved = opt.record(replace(options, truth=truth.source.where))
    return replace(evaluation, coverage=coverage, protocol=protocol, options=resolved, inputs=evaluation.inputs[:1])
