"""Verb ``run``: systems fitted and tested by folds over groups, through the engine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.core import options as opt
from gnomon.core.errors import InputError, some
from gnomon.core.partition import ALL, TRAIN
from gnomon.core.samples import Samples
from gnomon.core.systems import Spec
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.engine.planner import Planner
from gnomon.engine.scoring import Chunk
from gnomon.intake.groups import find_groups, is_group_table
from gnomon.intake.memory import table_of
from gnomon.intake.sources import Source
from gnomon.intake.unread import note
from gnomon.intake.wide import need_columns, number_rows, use_names
from gnomon.intake.writing import replacing
from gnomon.runs.auditing import TRIVIAL
from gnomon.runs.content import column_digest
from gnomon.runs.run import INPUTS, Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.labels import cells, files, samples, scoring
from gnomon.suites.labels.options import RunOptions, ScoreOptions
from gnomon.suites.labels.systems import SYSTEMS


def run(options: RunOptions) -> Job:
    """Check what was given, then plan the folds of every system."""
    options, source = _settle(options)
    asked = ScoreOptions(
        truth=source,
        predictions=(),
        group=options.group or files.GROUP,
        slice=options.slice,
        classes=options.classes,
        zero_division=options.zero_division,
        missing="skip",
    )
    truth = files.read_truth(asked)
    features = cells.feature_columns(options)
    note(truth.source.where, {name: rows for name, rows in truth.unused.items() if name not in features})
    chosen = SYSTEMS.parse(options.systems)
    _fed(chosen, features, truth, asked)
    folds = cells.place(truth.groups, options.folds, options.seed, options, asked.group)
    dealt = options.part in (ALL, TRAIN)
    scheme = _scheme(truth, asked, features, options)
    split_up = samples.of(truth, folds, features, options, None if dealt else cells.HELD)
    truth = truth.take(folds != cells.OUT if dealt else folds == cells.HELD)
    path = _stored_truth(options)
    planner = Planner(options, SYSTEMS)
    data = planner.artefact(
        "data",
        cells.prepare,
        {
            "sha256": hash_file(path),
            "group": asked.group,
            "features": features,
            "folds": options.folds,
            "seed": options.seed,
            **_part(options),
        },
        context={"truth": os.fspath(path)},
    )
    tasks = {n: f"fold {n}" for n in range(options.folds)} if dealt else {cells.HELD: f"part {options.part}"}
    plan = Plan(
        _cell(planner, spec, fold, task, data, options) for spec in chosen.values() for fold, task in tasks.items()
    )
    given = _inputs(options, features)
    return Job(
        plan,
        lambda o: _audited(_assemble(o, truth, chosen, asked, scheme, options), chosen, split_up, given),
        scoring.measures(truth, asked),
    )


def _settle(options: RunOptions) -> tuple[RunOptions, Any]:
    """Return options whose truth has ids, labels and groups by their usual names, and where it comes from.

    A file that has them stays a file; else the truth is a table in memory, and rows without ids are known by their
    place.
    """
    source = Source.of("truth", options.truth)
    text = (files.ID, files.LABEL, options.id, options.label)
    table = table_of(source.content, text=[name for name in text if name], name="truth")
    lacking = [name for name in (options.id, options.label) if name and name not in table.column_names]
    need_columns(table, source.where, lacking)
    named = use_names(table, {options.id: files.ID, options.label: files.LABEL})
    by_row = files.ID not in named.column_names
    if by_row:
        named = named.append_column(files.ID, number_rows(named.num_rows))
    group = options.group
    if is_group_table(group):
        ids = named.column(files.ID).to_pylist()
        found = find_groups(group, ids, keys=(files.ID,), thing="row" if by_row else "id")
        kept = [name for name in named.column_names if name != files.GROUP]
        groups = pa.array([found.of[name] for name in ids], pa.string())
        named, group = named.select(kept).append_column(files.GROUP, groups), files.GROUP
    if named is table or named.equals(table):
        return options, options.truth
    settled: Any = replace(options, truth=named, group=group, id="", label="")
    return settled, Source("truth", named, source.file, by_row)


def _fed(chosen: Mapping[str, Spec], features: list[str], truth: files.Truth, asked: ScoreOptions) -> None:
    """Refuse systems that learn from features where there are none; trivial baselines need none."""
    hungry = [] if features else [spec.text for spec in chosen.values() if not SYSTEMS.declares(spec, "trivial")]
    if hungry:
        rest = f" (not numeric: {some(truth.unused)})" if truth.unused else ""
        raise InputError(
            f"{truth.source.where}: no numeric column for {some(hungry)} to learn from, besides {files.ID}, "
            f"{files.LABEL}, {asked.group} and slices{rest}; add feature columns, or choose systems that need none "
            "(--systems majority,stratified)"
        )


def _scheme(truth: files.Truth, asked: ScoreOptions, features: list[str], options: RunOptions) -> dict[str, Any]:
    """Return how rows are split, as the protocol records it."""
    dealt = {"folds": options.folds, "by": asked.group}
    if options.part == ALL:
        return {**dealt, "features": features}
    of = options.parts(truth.groups.to_pylist(), asked.group)  # type: ignore[union-attr]
    return {**(dealt if options.part == TRAIN else {}), **options.split_record(of, asked.group), "features": features}


def _part(options: RunOptions) -> dict[str, Any]:
    """Return what the prepared data depends on where a part was asked for."""
    chosen = {"part": options.part, "split": options.split, "split_seed": options.split_seed}
    return {} if options.part == ALL else {"part": chosen}


def _cell(planner: Planner, spec: Spec, fold: int, task: str, data: Node, options: RunOptions) -> Node:
    return planner.cell(
        f"{spec} {task}",
        cells.fold,
        {"fold": fold, "seed": options.seed},
        spec=spec,
        needs={"data": data},
        labels={"task": task, "seed": str(options.seed)},
    )


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
        with replacing(path) as file:
            file.write(content)
    return path


def _assemble(
    outcome: Outcome,
    truth: files.Truth,
    chosen: Mapping[str, Spec],
    asked: ScoreOptions,
    scheme: dict[str, Any],
    options: RunOptions,
) -> list[Evaluation]:
    """Make an evaluation per system; one whose cells all failed is there too, with everything undefined."""
    return [_evaluation(truth, spec, outcome.of(system=name), asked, options, scheme) for name, spec in chosen.items()]


def _inputs(options: RunOptions, features: list[str]) -> str:
    """Return the fingerprint of what systems are given, whatever the order of rows and the format of the file."""
    table = table_of(options.truth, text=(files.ID,), name="truth").sort_by(files.ID)
    return column_digest(table[files.ID], *(table[name].cast(pa.float64()) for name in features))


def _audited(
    evaluations: list[Evaluation], chosen: Mapping[str, Spec], split_up: Samples, given: str
) -> list[Evaluation]:
    """Add what an audit needs: the rows that were fitted on and tested on, and which systems are trivial."""
    trivial = [SYSTEMS.declares(spec, "trivial") for spec in chosen.values()]
    return [
        replace(
            evaluation,
            samples=split_up,
            audit=samples.audit(split_up, evaluation.audit),
            facts={**evaluation.facts, **({TRIVIAL: True} if plain else {}), INPUTS: given},
        )
        for evaluation, plain in zip(evaluations, trivial, strict=True)
    ]


def _evaluation(
    truth: files.Truth,
    spec: Spec,
    outcome: Outcome,
    asked: ScoreOptions,
    options: RunOptions,
    scheme: dict[str, Any],
) -> Evaluation:
    parts = [pq.read_table(path / "labels.parquet") for path in outcome.done.values()]
    none = pa.table({"id": pa.array([], pa.string()), "label": pa.array([], pa.string())})
    source = Source(spec.text, pa.concat_tables([none, *parts]))
    (evaluation,) = scoring.SCORER.score_whole(source.name, source.where, Chunk("", truth, source), asked)
    return replace(
        evaluation,
        coverage={**evaluation.coverage, "complete": outcome.complete, "cells": outcome.coverage()},
        protocol=replace(evaluation.protocol, split=scheme),
        options={
            **opt.record(replace(options, truth=truth.source.where)),
            "group": asked.group,
            "features": scheme["features"],
            "store": os.fspath(options.store_folder()),
            **SYSTEMS.record(spec),
        },
        inputs=evaluation.inputs[:1],
        findings=tuple(f for f in evaluation.findings if f.id != "missing-predictions"),
    )
