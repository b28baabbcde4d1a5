"""The work of ``gnomon run har``: windows and fitted models as artefacts, a cell per system, dataset, metric and seed.

Windows are keyed by the content of the files they come from, the rate, the variant, how they are cut and the source of
the code that reads them; a fitted model by its own source, its parameters, the conditions and the windows. Zero-shot
scores over labels are an artefact too, which both zero-shot metrics share.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.engine.planner import load_trained, store_trained
from gnomon.intake import npy
from gnomon.suites.har import sources
from gnomon.suites.har.metrics import RATES, best
from gnomon.suites.har.protocol import Drawing, capped, split
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.splits import SEED
from gnomon.suites.har.systems import SYSTEMS, Conditions
from gnomon.suites.har.vocabulary import LABELS, asked_of, mask

FACTS, ANSWERS = "facts.json", "answers.parquet"
ROWS, OPEN, OWN = "rows.npy", "scores_87.npy", "scores_own.npy"
EVERY = "scores_every.npy"
BLOCK = 4096
"""Windows that a system is asked about at a time."""
CODE = {label: index for index, label in enumerate(LABELS)}


def windows(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Artefact: the windows of a dataset at one rate, and what an audit wants to know of them."""
    del needs
    sources.prepare(
        sources.Asked(arguments["dataset"], arguments["variant"], arguments["rate_hz"], arguments["cutting"]),
        arguments["root"],
        out,
    )


def pretrain(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Artefact: an encoder trained on the windows of the training datasets, without their labels."""
    system = SYSTEMS.make(arguments["system"])
    conditions = Conditions(**arguments["conditions"])
    pieces, _ = _training(arguments, needs, conditions)
    begun, spent = time.perf_counter(), time.process_time()
    facts = system.pretrain(pieces, conditions)
    took = {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - spent}
    record = {"windows": sum(map(len, pieces)), **took, **(facts if isinstance(facts, Mapping) else {})}
    store_trained(system, arguments["system"], out)
    (out / FACTS).write_bytes(encode_pretty(record))


def _training(
    arguments: Mapping[str, Any], needs: Mapping[str, Path], conditions: Conditions
) -> tuple[list[Windows], Array]:
    """Return the windows to train on, a piece for each dataset, and the codes of their labels."""
    pieces = [sources.load(needs[name]) for name in arguments["training"]]
    rows = training_rows(pieces, arguments["most"], conditions.seed)
    pieces = [piece if len(own) == len(piece) else piece.take(own) for piece, own in zip(pieces, rows, strict=True)]
    codes = np.array([CODE[label] for piece in pieces for label in piece.labels], dtype=np.int64)
    if not len(codes):
        raise InputError(
            f"{', '.join(arguments['training'])}: no window has one of the {len(LABELS)} training labels, so nothing "
            "can be learned; map labels in the manifest, table [labels]"
        )
    return pieces, codes


def fit(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Artefact: a model fitted to the training datasets."""
    system = (
        load_trained(SYSTEMS, arguments["system"], needs["pretrained"])
        if "pretrained" in needs
        else SYSTEMS.make(arguments["system"])
    )
    conditions = Conditions(**arguments["conditions"])
    pieces, codes = _training(arguments, needs, conditions)
    begun, spent = time.perf_counter(), time.process_time()
    facts = system.fit(pieces, codes, conditions)
    record = {
        "windows": len(codes),
        "labels": len(set(codes.tolist())),
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - spent,
        **(facts if isinstance(facts, Mapping) else {}),
        **({"pretrained": _facts(needs["pretrained"])} if "pretrained" in needs else {}),
    }
    store_trained(system, arguments["system"], out)
    (out / FACTS).write_bytes(encode_pretty(record))


def training_rows(pieces: Sequence[Windows], most: int | None, seed: int) -> list[Array]:
    """Return the rows to train on: those with one of the 87 labels, at most so many in all, drawn at random."""
    known = [np.flatnonzero([label in CODE for label in piece.labels]) for piece in pieces]
    ends = np.cumsum([0, *map(len, known)]).tolist()
    chosen = capped(np.arange(ends[-1]), most, seed, "training windows")
    return [
        rows[chosen[(chosen >= low) & (chosen < high)] - low]
        for rows, low, high in zip(known, ends[:-1], ends[1:], strict=True)
    ]


def zero_shot(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Artefact: scores of a fitted model for the windows of a test dataset, over the 87 labels and over its own."""
    system = load_trained(SYSTEMS, arguments["system"], needs["fitted"])
    found = sources.load(needs["windows"])
    rows = capped(np.arange(len(found)), arguments["most"], SEED, "scored windows")
    own = classes_of(found)
    where = f"{arguments['system']} on {found.dataset}"
    np.save(out / ROWS, rows)
    if getattr(system, "text_aligned", False) is True:
        asked = tuple(dict.fromkeys((*LABELS, *own)))
        every = _score(partial(_over, system, asked), found, rows, len(asked), where, out / EVERY)
        for file, labels in ((OPEN, LABELS), (OWN, own)):
            _parted(every, [asked.index(label) for label in labels], out / file)
        del every
        (out / EVERY).unlink()
    else:
        _score(system.scores, found, rows, len(LABELS), where, out / OPEN)
    (out / FACTS).write_bytes(encode_pretty({"fitted": _facts(needs["fitted"])}))


def _parted(every: Array, columns: Sequence[int], path: Path) -> None:
    """Write some columns of scores, a block at a time."""
    part = npy.blank(path, (len(every), len(columns)), np.float64)
    for start in range(0, len(every), BLOCK):
        part[start : start + BLOCK] = every[start : start + BLOCK][:, columns]


def _over(system: Any, labels: Sequence[str], windows: Windows) -> Any:
    return system.score_labels(windows, labels)


def _score(
    asked: Callable[[Windows], Any], found: Windows, rows: Array, labels: int, where: str, path: Path | None
) -> Array:
    """Return the scores of windows, asked for and checked a block at a time; on disk where a path is given."""
    shape = (len(rows), labels)
    scores = npy.blank(path, shape, np.float64) if path else np.empty(shape)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        scores[start : start + BLOCK] = _checked(asked(found.take(block)), len(block), labels, where)
    return scores


def answer(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Cell: the answers of zero-shot scores under a metric."""
    found = sources.load(needs["windows"])
    own, folder = classes_of(found), needs["scores"]
    rows = np.load(folder / ROWS, allow_pickle=False)
    labels: Sequence[str] = LABELS
    allowed = None
    file = OPEN
    if arguments["task"] != "zs-open" and (folder / OWN).is_file():
        file, labels = OWN, own
    elif arguments["task"] != "zs-open":
        allowed = mask(found.dataset, own)
    scores = np.load(folder / file, mmap_mode="r", allow_pickle=False)
    answers = [best(np.asarray(scores[k : k + BLOCK]), labels, allowed) for k in range(0, len(rows), BLOCK)]
    fitted = _facts(folder)["fitted"]
    _write(
        out,
        rows,
        np.concatenate([np.zeros(0, object), *answers]),
        {"n_train": fitted.get("rows", fitted["windows"]), "fitted": fitted},
    )


def fine_tune(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Cell: a fitted model fine-tuned on the labelled windows of a test dataset, and its answers for the test part."""
    system = load_trained(SYSTEMS, arguments["system"], needs["fitted"])
    conditions = Conditions(**arguments["conditions"])
    found = sources.load(needs["windows"])
    classes = classes_of(found)
    code = {label: index for index, label in enumerate(classes)}
    codes = np.array([code[label] for label in found.labels], dtype=np.int64)
    how = Drawing(**arguments["drawing"])
    parts = split(arguments["variant"], found.subjects, found.labels, RATES[arguments["task"]], how)
    part = parts[arguments["fold"]]
    rows = capped(part.test, arguments["most"], SEED, "scored windows", str(arguments["fold"]))
    begun, spent = time.perf_counter(), time.process_time()
    model = system.fine_tune(
        found.take(part.labelled), codes[part.labelled], found.take(part.val), codes[part.val], classes, conditions
    )
    took = {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - spent}
    where = f"{arguments['system']} fine-tuned on {found.dataset}"
    scores = _score(model.scores, found, rows, len(classes), where, None)
    facts = dict(getattr(model, "facts", {}))
    tuned = {"windows": len(part.labelled), **took, **facts}
    record = {"n_train": len(part.labelled), "fine_tuned": tuned, "fitted": _facts(needs["fitted"])}
    _write(out, rows, best(scores, classes), record)


def classes_of(windows: Windows) -> tuple[str, ...]:
    """Return the labels of a test dataset: its fixed list, or those that occur where it has none."""
    return asked_of(windows.dataset, windows.labels)


@dataclass(frozen=True)
class Answered:
    """What a cell left: rows of the windows, the answer of each, and facts."""

    rows: Array
    answers: tuple[str, ...]
    facts: Mapping[str, Any]

    @staticmethod
    def read(folder: Path) -> Answered:
        """Read it from the folder of a cell."""
        table = pq.read_table(folder / ANSWERS)
        return Answered(table["row"].to_numpy(), tuple(table["label"].to_pylist()), _facts(folder))


def _write(out: Path, rows: Array, answers: Array, facts: Mapping[str, Any]) -> None:
    table = pa.table({"row": pa.array(rows), "label": pa.array([str(label) for label in answers], pa.string())})
    pq.write_table(table, out / ANSWERS)
    (out / FACTS).write_bytes(encode_pretty(dict(facts)))


def _facts(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / FACTS).read_bytes())
    return found


def _checked(scores: Any, n: int, labels: int, where: str) -> Array:
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (n, labels):
        raise InputError(f"{where}: scores of shape {found.shape}, expected ({n}, {labels}): one per window and label")
    if np.isnan(found).any():
        row = int(np.argmax(np.isnan(found).any(axis=1)))
        raise InputError(f"{where}: the scores of window {row} are not a number; give a number for every label")
    return found
