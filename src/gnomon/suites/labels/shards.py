"""Folders of shards: tables, tallied one at a time, or plain arrays of class codes, two at a time.

A shard of tables (:data:`gnomon.intake.tables.SUFFIXES`) is read and aligned by id, like a file that is given alone; an
id is in one shard. A shard of codes (``.npy``) holds an integer per sample on both
sides, in the same order; its group is the folder it is in, or itself where it is in none. ``classes.json`` beside the
truth names the codes: a list of names, or ``{"classes": [...], "ignore": CODE}``.

Of a shard without predictions that is left out (``--missing skip``) the truth is read all the same: its classes are
among those of the truth, as where all rows are in one file. A shard in which there are no rows holds nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core.cases import Roster
from gnomon.core.errors import InputError, some
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array, Tallies, natural_key
from gnomon.engine import folding, sharding
from gnomon.engine.begun import stopping
from gnomon.engine.folding import PREDICTIONS, TRUTH, Given, Stored
from gnomon.engine.job import Job, Outcome
from gnomon.intake import shards, tables
from gnomon.intake.documents import read_json
from gnomon.intake.sources import Source, systems
from gnomon.intake.texts import hashes
from gnomon.intake.unread import CELL, note, reading_for
from gnomon.measures import classification
from gnomon.runs import once, parts
from gnomon.runs.alignment import LACKING
from gnomon.runs.content import table_digest
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.suites.labels import files, scoring
from gnomon.suites.labels.options import ScoreOptions

CODES = ".npy"
SUFFIXES = (CODES, *tables.SUFFIXES)
NAMES = "classes.json"
COUNTED = ("truth", "predicted", "count")
SETTINGS = ("group", "slice", "missing", "extra", "separator")
"""Options that a part depends on."""


def score(options: ScoreOptions) -> Job:
    """Plan a cell per shard and system."""
    truth = shards.listed(options.truth, SUFFIXES)
    plain = [path.name for path in truth.values() if not _coded(path)]
    codes = not plain
    if plain and len(plain) < len(truth):
        raise InputError(f"{options.truth}: arrays of codes beside tables ({some(plain)}): keep one kind")
    if codes and (options.slice or options.group or options.separator):
        raise InputError("arrays of codes have no columns: give tables for --slice, --group and --separator")
    others, given = shards.others(options.truth, SUFFIXES, (NAMES,)), []
    for source in systems(options.predictions, files.ID):
        if not shards.is_folder(source.content):
            raise InputError(f"{source.where}: expected a folder of shards, as the truth {options.truth} is one")
        found = shards.listed(source.content, SUFFIXES)
        pairs = shards.paired(truth, found, source.where, missing=options.missing, extra=options.extra)
        beside = shards.others(source.content, SUFFIXES, (NAMES,))
        given.append(Given(source.name, source.where, pairs, [*others, *beside]))
    settings = {name: getattr(options, name) for name in SETTINGS} | {
        "names": _names(Path(options.truth)) if codes else None
    }
    return sharding.job(
        "gnomon.suites.labels.shards:tally",
        given,
        settings,
        options,
        lambda one, read, outcome: [_evaluation(one, read, outcome, options)],
        threaded=codes,
    )


def _coded(path: Path) -> bool:
    """Say whether a shard is an array of codes, in whatever case its suffix is."""
    return path.suffix.lower() == CODES


def tally(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Tally one shard; a cell of the engine."""
    del needs
    truth, predictions = Path(arguments["paths"]["truth"]), arguments["paths"]["predictions"]
    if _coded(truth):
        parts.write(_codes(arguments, truth, predictions), out)
    else:
        parts.write(_tables(arguments, truth, predictions, out), out)


def _tables(arguments: Mapping[str, Any], truth: Path, predictions: str | None, out: Path) -> Part:
    given: dict[str, Any] = {name: tuple(v) if isinstance(v := arguments[name], list) else v for name in SETTINGS}
    options = ScoreOptions(truth=str(truth), predictions=(), **given)
    read = files.read_truth(options, empty=True)
    note(read.source.where, read.unused)
    empty = pa.table({files.ID: pa.array([], pa.string()), files.LABEL: pa.array([], read.labels.type)})
    source = Source(arguments["shard"], predictions if predictions is not None else empty)
    with reading_for(CELL):
        aligned = files.read_predictions(source, read, options)
    once.write(hashes(read.ids), out)
    part = scoring.tallied(read, aligned, options)
    if not len(read):  # whether it would hold labels or sets of them cannot be told
        part = replace(part, tallies={}, ledgers={})
    digests = {TRUTH: part.facts["truth"], PREDICTIONS: table_digest(scoring.scored(read, aligned))}
    return replace(part, facts={**part.facts, "coded": False, **digests})


def _codes(arguments: Mapping[str, Any], truth: Path, predictions: str | None) -> Part:
    from gnomon.numerics import streaming

    names = arguments["names"] or {}
    sides = shards.Plain.open(truth), shards.Plain.open(Path(predictions)) if predictions is not None else None
    found = streaming.count(*sides, ignore=names.get("ignore"), stop=stopping())
    classes = _classes(found.table, names.get("classes"), truth, predictions)
    table = _sized(found.table, len(classes))
    true = table.sum(axis=1) > 0
    missing = int(table[:, 0].sum())
    if arguments["missing"] == "skip":
        table[:, 0] = 0
    elif missing and arguments["missing"] == "error":
        raise InputError(
            f"{predictions}: {missing} samples without a prediction (-1); --missing wrong or --missing skip"
        )
    tallies, ledger = _counts(table, classes)
    group = arguments["shard"].rpartition("/")[0] or arguments["shard"]
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
        "coded": True,
        "rows": rows,
        LACKING: {group: missing} if missing and arguments["missing"] == "skip" else {},
        TRUTH: found.truth,
        PREDICTIONS: found.predictions,
    }
    part = Part(Roster((group,), (group,), level="group"), {"classification": tallies}, {"confusion": ledger}, facts)
    return part if rows["scored"] else _nothing(part)


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


def _names(folder: Path) -> dict[str, Any] | None:
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


def _evaluation(given: Given, read: Stored, outcome: Outcome, options: ScoreOptions) -> Evaluation:
    """Fold the parts of a system."""
    whole, facts = folding.gathered(read, COUNTED)
    every = [*facts.values(), *read.alone.values()]
    filled = [own for own in every if own["rows"]["truth"]]
    _check_groups({name: own for name, own in facts.items() if own in filled}, str(options.truth))
    if not any(own["coded"] for own in every):
        sharding.check_once(given, outcome, lambda path: _ids(path, options))
    if not len(whole.roster):
        raise InputError(f"{given.where}: no id of the truth has a prediction: nothing can be scored")
    lacking = Counter[str]()
    for own in every if outcome.complete else ():
        lacking.update(own[LACKING])
    known = {
        **{key: filled[0][key] for key in ("sets", "grouped")},
        **{key: _union([own[key] for own in every]) for key in ("true_classes", "predicted_classes")},
        "rows": {name: sum(own["rows"][name] for own in every) for name in every[0]["rows"]},
        LACKING: dict(lacking),
    }
    source, truth = Source(given.system, given.where), Source("truth", str(options.truth))
    made = scoring.evaluation(whole, known, truth, source, options)
    return replace(
        made,
        data=folding.content(given, facts, read),
        table=folding.table(facts),
        coverage=folding.covered(made.coverage, given, read, outcome, options.missing),
    )


def _ids(path: Path, options: ScoreOptions) -> pa.Array:
    return files.read_truth(replace(options, truth=str(path)), empty=True).ids


def _check_groups(facts: Mapping[str, Mapping[str, Any]], where: str) -> None:
    grouped = {own["grouped"]: name for name, own in facts.items()}
    if len(grouped) > 1:
        raise InputError(
            f"{where}: shard {grouped[True]!r} has a column {files.GROUP!r} and {grouped[False]!r} has none; "
            "give it in all of them, or in none"
        )


def _union(lists: Sequence[Sequence[str]]) -> list[str]:
    return sorted({name for names in lists for name in names}, key=natural_key)
