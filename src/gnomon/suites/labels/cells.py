"""The work of ``gnomon run labels``: prepared data as an artefact, one cell per system and fold.

Groups are dealt into folds at random; a cell fits its system on all other folds and predicts its own, so that every
row is predicted once by a system that has not seen its group. Of a split into parts, systems are fitted on the train
part and predict the part that was asked for; the train part by itself is dealt into folds. No row of another part is
in the prepared data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.core.errors import InputError, some
from gnomon.core.fitting import fit_system
from gnomon.core.partition import ALL, TRAIN, PartOptions
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.intake.header import INDEX
from gnomon.intake.memory import table_of
from gnomon.suites.labels import files
from gnomon.suites.labels.options import RunOptions
from gnomon.suites.labels.systems import SYSTEMS

FOLD = "__fold__"
HELD, FITTED, OUT = 0, 1, -1
"""Folds of a part: what is predicted, what is fitted on, and what is neither."""


def feature_columns(options: RunOptions) -> list[str]:
    """Return the feature columns that a run will use, and refuse those that it cannot."""
    group = options.group or files.GROUP
    table = table_of(options.truth, text=(files.ID, files.LABEL, group, *options.slice), name="truth")
    known = {files.ID, files.LABEL, group, *options.slice, INDEX}  # the place of a row is nothing to learn from
    chosen = list(options.features) or [f.name for f in table.schema if f.name not in known and _is_number(f.type)]
    lacking = [name for name in chosen if name not in table.column_names]
    if lacking:
        raise InputError(f"truth: no column {some(lacking)}; it has {some(table.column_names, show=12)}")
    for name in chosen:
        _floats(table, name)
    return chosen


def prepare(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Artefact: ids, labels, numeric features and the fold of every row, in the order of ids."""
    del needs
    group = arguments["group"]
    table = table_of(arguments["truth"], text=(files.ID, files.LABEL, group), name="truth").sort_by(files.ID)
    columns = {files.ID: table[files.ID], files.LABEL: table[files.LABEL]}
    folds = place(table[group], arguments["folds"], arguments["seed"], PartOptions(**arguments.get("part", {})))
    columns[FOLD] = pa.array(folds)
    columns |= {f"x:{name}": _floats(table, name) for name in arguments["features"]}
    pq.write_table(pa.table(columns).filter(pa.array(folds != OUT)), out / "data.parquet")


def fold(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Cell: fit a system on the other folds, predict one."""
    table = pq.read_table(needs["data"] / "data.parquet")
    held = table[FOLD].to_numpy() == arguments["fold"]
    names = [name for name in table.column_names if name.startswith("x:")]
    features = np.stack([table[name].to_numpy() for name in names], axis=1) if names else np.zeros((len(held), 0))
    labels = np.array(table[files.LABEL].to_pylist(), dtype=object)
    system = SYSTEMS.make(arguments["system"])
    rng = generator(arguments["seed"], "labels", "run", str(arguments["fold"]))
    fit_system(system, features[~held], labels[~held].astype(np.str_), rng)
    predicted = np.asarray(system.predict(features[held]))
    if predicted.shape != (int(held.sum()),):
        raise InputError(
            f"system {arguments['system']!r} returned {predicted.shape} labels for {int(held.sum())} rows of "
            f"fold {arguments['fold']}: expected one per row"
        )
    if any(not isinstance(label, (str, np.str_)) for label in predicted.tolist()):
        kinds = sorted({type(label).__name__ for label in predicted.tolist()})
        raise InputError(f"system {arguments['system']!r} returned {', '.join(kinds)}: expected labels as text")
    ids = table[files.ID].filter(pa.array(held))
    pq.write_table(
        pa.table({"id": ids, "label": pa.array([str(label) for label in predicted])}), out / "labels.parquet"
    )


def place(groups: Any, folds: int, seed: int, part: PartOptions, level: str = files.GROUP) -> Array:
    """Return a fold per row: dealt out, or by the part that its group is in."""
    if part.part == ALL:
        return deal(groups, folds, seed)
    names = groups.to_pylist()
    of = part.parts(names, level)
    parts = np.array([of[name] for name in names], dtype=object)
    if part.part != TRAIN:
        return np.where(parts == part.part, HELD, np.where(parts == TRAIN, FITTED, OUT))
    found = np.full(len(names), OUT)
    kept = parts == TRAIN
    found[kept] = deal(groups.filter(pa.array(kept)), folds, seed)
    return found


def deal(groups: Any, folds: int, seed: int) -> Array:
    """Return a fold per row: groups are shuffled and dealt out in turn."""
    names, codes = np.unique(np.array(groups.to_pylist(), dtype=object).astype(np.str_), return_inverse=True)
    if len(names) < folds:
        raise InputError(f"{folds} folds need at least as many groups, but there are {len(names)}: give fewer --folds")
    order = generator(seed, "labels", "folds").permutation(len(names))
    fold_of = np.empty(len(names), dtype=np.int64)
    fold_of[order] = np.arange(len(names)) % folds
    return fold_of[codes]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _floats(table: pa.Table, name: str) -> pa.Array:
    try:
        column = table[name].cast(pa.float64())
    except pa.ArrowInvalid as error:
        raise InputError(f"truth: feature column {name!r} is not numeric: {error}") from error
    values = column.to_numpy()
    if column.null_count or not np.isfinite(values).all():
        raise InputError(f"truth: feature column {name!r} holds values that are missing or not finite")
    return pa.array(values)
