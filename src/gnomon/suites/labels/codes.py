"""Shards of class codes (``.npy``): an integer per sample on both sides, in the same order.

The group of a shard is the folder it is in, or itself where it is in none. ``classes.json`` beside the truth names the
codes: a list of names, or ``{"classes": [...], "ignore": CODE}``. Both sides are read in parts of a fixed size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.canonical import digest
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array, Tallies, natural_key
from gnomon.engine.begun import stopping
from gnomon.engine.scoring import PREDICTIONS, TRUTH, Chunk
from gnomon.intake import shards
from gnomon.intake.documents import read_json
from gnomon.measures import classification
from gnomon.runs.alignment import LACKING, LEFT_OUT
from gnomon.runs.parts import Part
from gnomon.suites.labels.options import ScoreOptions

CODES = ".npy"
NAMES = "classes.json"
PART = 1 << 21
"""Samples that are read at a time to find which have no prediction."""


def is_coded(path: Path) -> bool:
    """Say whether a shard is an array of codes, in whatever case its suffix is."""
    return path.suffix.lower() == CODES


def tally_codes(chunk: Chunk, options: ScoreOptions) -> Part:
    """Count the pairs of codes of one shard."""
    from gnomon.numerics import streaming

    truth, predictions = Path(chunk.truth), chunk.predictions
    names = chunk.given["names"] or {}
    sides = shards.Plain.open(truth), shards.Plain.open(Path(predictions)) if predictions is not None else None
    found = streaming.count(*sides, ignore=names.get("ignore"), stop=stopping())
    classes = _classes(found.table, names.get("classes"), truth, predictions)
    table = _sized(found.table, len(classes))
    true = table.sum(axis=1) > 0
    missing = int(table[:, 0].sum())
    if options.missing == "skip":
        table[:, 0] = 0
    elif missing and options.missing == "error":
        raise InputError(
            f"{predictions}: {missing} samples without a prediction (-1); --missing wrong or --missing skip"
        )
    tallies, ledger = _counts(table, classes)
    group = chunk.name.rpartition("/")[0] or chunk.name
    predicted = table[:, 1:].sum(axis=0) > 0
    rows = {
        "truth": int(found.table.sum()),
        "scored": int(table.sum()),
        "missing": missing,
        "extra": 0,
    }
    facts = {
        "sets": False,
        "true_classes": [name for name, is_used in zip(classes, true, strict=True) if is_used],
        "predicted_classes": [name for name, is_used in zip(classes, predicted, strict=True) if is_used],
        "grouped": True,
        "offered": "",
        "coded": True,
        "rows": rows,
        LACKING: {group: missing} if missing and options.missing == "skip" else {},
        LEFT_OUT: (
            {group: _fingerprint_missing(*sides, names.get("ignore"))} if missing and options.missing == "skip" else {}
        ),
        TRUTH: found.truth,
        PREDICTIONS: found.predictions,
    }
    part = Part(Roster((group,), (group,), level="group"), {"classification": tallies}, {"confusion": ledger}, facts)
    return part if rows["scored"] else _nothing(part)


def _fingerprint_missing(truth: shards.Plain, predictions: shards.Plain | None, ignore: int | None) -> str:
    """Return the fingerprint of the places of samples that have no prediction, of those that are not ignored."""
    n = int(np.prod(truth.shape, dtype=np.int64))
    sides = [replace(side, shape=(n,)) if side is not None else None for side in (truth, predictions)]

    def masks() -> Iterator[bytes]:
        with ExitStack() as stack:
            read = [stack.enter_context(side.reading(PART)) if side is not None else None for side in sides]
            for first in range(0, n, PART):
                true, said = (one(first, min(first + PART, n)) if one is not None else None for one in read)
                missing = np.ones(min(PART, n - first), np.bool_) if said is None else said == -1
                if true is not None and ignore is not None:
                    missing &= true != ignore
                yield np.packbits(missing).tobytes()

    return digest(masks())


def _nothing(part: Part) -> Part:
    """Return a part without its cases, of which no row was scored."""
    none = np.zeros(0, np.int64)
    tallies = {name: own.take(none) for name, own in part.tallies.items()}
    return replace(part, roster=part.roster.take(none), tallies=tallies, ledgers={})


def _classes(table: Array, names: Sequence[str] | None, truth: Path, predictions: str | None) -> tuple[str, ...]:
    used = np.flatnonzero((table.sum(axis=1) > 0) | (table[:, 1:].sum(axis=0) > 0))
    top = int(used[-1]) + 1 if len(used) else 0
    if names is None:
        return tuple(str(code) for code in range(top))
    if top > len(names):
        where = truth if table[top - 1].any() else predictions
        raise InputError(
            f"{where}: code {top - 1}, but {NAMES} names {len(names)} classes; add its name, or correct it"
        )
    return tuple(names)


def _sized(table: Array, classes: int) -> Array:
    """Return the counts of some classes, zeros where nothing was counted; the first column has no prediction."""
    found = np.zeros((classes, classes + 1), dtype=table.dtype)
    part = table[:classes, : classes + 1]
    found[: part.shape[0], : part.shape[1]] = part
    return found


def _counts(table: Array, classes: tuple[str, ...]) -> tuple[Tallies, Ledger]:
    """Return the tally of one case and its confusion ledger."""
    order = sorted(range(len(classes)), key=lambda index: natural_key(classes[index]))
    named = tuple(classes[index] for index in order)
    table = table[order][:, [0, *(index + 1 for index in order)]]
    fields = {
        "tp": np.diagonal(table[:, 1:])[np.newaxis],
        "truth": table.sum(axis=1)[np.newaxis],
        "predicted": table[:, 1:].sum(axis=0)[np.newaxis],
        "n": table.sum()[np.newaxis],
    }
    true, predicted = np.nonzero(table)
    columns: dict[str, Array] = {
        "truth": true.astype(np.int32),
        "predicted": (predicted - 1).astype(np.int32),
        "count": table[true, predicted],
    }
    ledger = Ledger(np.zeros(len(true), np.int64), columns, {"truth": named, "predicted": named})
    return Tallies(classification.LAYOUT, {"class": named}, fields), ledger


def read_names(folder: Path) -> dict[str, Any] | None:
    """Read the names of codes, where a file beside the shards gives them."""
    path = folder / NAMES
    if not path.is_file():
        return None
    held: Any = read_json(path)
    unknown = sorted(held.keys() - {"classes", "ignore"}) if isinstance(held, dict) else []
    if unknown:
        raise InputError(f"{path}: unknown field {unknown[0]!r}; expected classes and ignore")
    names = held.get("classes") if isinstance(held, dict) else held
    ignore = held.get("ignore") if isinstance(held, dict) else None
    fine = isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    if not fine or not (ignore is None or (isinstance(ignore, int) and not isinstance(ignore, bool))):
        raise InputError(f'{path}: expected a list of distinct names, or {{"classes": [...], "ignore": CODE}}')
    return {"classes": names, "ignore": ignore}
