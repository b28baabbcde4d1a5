"""What a system answered for the test samples of one task: kept on disk, tallied by segment, shown as rows.

Forms
-----
codes
    One of ``classes`` per sample (label, binary and pair tasks).
sets
    ``(n, classes)`` booleans (object relevance); ``given`` says which samples have a set, which may be empty.
vectors
    ``(n, d)`` numbers (forecast, reconstruction and both retrieval tasks). A number that was never valid in training
    has no answer; it counts as 0, and is counted.

Truth is made anew from the annotation whenever answers are tallied; it is no part of what is kept.
"""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core.canonical import encode_pretty, fingerprint
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.signals import NONE, Labels, LabelSets, Vectors
from gnomon.core.tallies import Array, Tallies, natural_key
from gnomon.measures import classification, multilabel, regression, retrieval, trajectories
from gnomon.measures.regression import MaskedVectors
from gnomon.measures.standings import ledger as rank_rows
from gnomon.measures.tasks import family
from gnomon.measures.trajectories import Trajectories
from gnomon.suites.episode.heads import form
from gnomon.suites.episode.measured import LABELS, SETS
from gnomon.suites.episode.tasks.declared import Task
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import TEST
from gnomon.suites.episode.tasks.targets import flags

ANSWERS, FACTS = "answers.npz", "facts.json"
JOINTS = 42
GROUNDING = "caption_grounding"
BLOCK = 4096
"""Vectors that are compared at a time."""
TRIED, WORTH = 64, 0.8
"""Vectors are kept compressed where so many of them shrink below this share."""
ROW = ("task", "sample", "episode", "segment", "truth", "prediction", "value")
"""Columns of the table of a run; ``value`` is an error or a rank where the answer is a vector."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of one system for one task, in the order of the test samples."""

    task: Task
    ids: tuple[str, ...]
    values: Array
    classes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    given: Array | None = None
    """Which samples have a set, where some have none; a code below 0 says the same of a label."""

    def __post_init__(self) -> None:
        wanted = {"codes": 1, "sets": 2, "vectors": 2}[form(self.task.kind)]
        if self.values.ndim != wanted or len(self.values) != len(self.ids):
            raise InputError(
                f"{self.task.name}: expected {len(self.ids)} answers in {wanted} dimension(s), but got "
                f"{self.values.shape}"
            )

    def write(self, out: Path) -> None:
        """Keep the answers."""
        np.savez(
            out / ANSWERS, values=self.values, ids=np.array(self.ids), classes=np.array(self.classes, dtype=np.str_)
        )
        (out / FACTS).write_bytes(encode_pretty(dict(self.facts)))

    @staticmethod
    def read(task: Task, folder: Path) -> Answers:
        """Read what was kept."""
        facts: dict[str, Any] = json.loads((folder / FACTS).read_bytes())
        with np.load(folder / ANSWERS, allow_pickle=False) as file:
            ids, classes = (tuple(file[name].tolist()) for name in ("ids", "classes"))
            return Answers(task, ids, file["values"], classes, facts)

    @property
    def digest(self) -> str:
        """Hash of the answers."""
        content = hashlib.sha256(repr((self.values.dtype.str, self.values.shape, self.classes)).encode())
        content.update(np.ascontiguousarray(self.values).data)
        return content.hexdigest()[:16]

    def take(self, rows: Array) -> Answers:
        """Return the answers for some samples."""
        ids = tuple(self.ids[row] for row in rows.tolist())
        given = None if self.given is None else self.given[rows]
        return Answers(self.task, ids, self.values[rows], self.classes, self.facts, given)

    def packed(self) -> bytes:
        """Return the answers as the file ``TASK.npz`` that ``gnomon score episode`` reads."""
        out, values = io.BytesIO(), self.values.astype(np.float32)
        some = np.ascontiguousarray(values[:TRIED]).tobytes()
        # Baselines repeat themselves; the digits of a model do not, and would take long to save a few percent.
        save = np.savez_compressed if len(zlib.compress(some, 1)) < WORTH * len(some) else np.savez
        save(out, samples=np.array(self.ids), values=values)
        return out.getvalue()


@dataclass(frozen=True, eq=False)
class Tallied:
    """Tallies and rows of ledgers of one task over all cases, and its rows of the table of a run (:data:`ROW`)."""

    tallies: dict[str, Tallies]
    ledgers: dict[str, Ledger]
    rows: pa.Table
    facts: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Found:
    """What answers of one form left: truth, prediction and value of every row, or its value alone."""

    tallies: dict[str, Tallies]
    ledgers: dict[str, Ledger]
    rows: list[Any]
    facts: dict[str, Any]


def tallied(answers: Answers, data: TaskData, test: Array, case: Array, n_cases: int) -> Tallied:
    """Compare answers with the truth of the test samples; ``case`` holds the case of each."""
    ids = tuple(data.ids[place] for place in test.tolist())
    if answers.ids != ids:
        raise InputError(
            f"{data.task.name}: answers are for {len(answers.ids)} samples, expected the {len(ids)} test ones"
        )
    kind = form(data.task.kind)
    done = {"codes": _codes, "sets": _sets, "vectors": _vectors}[kind](answers, data, test, case, n_cases)
    places = test.tolist()
    own = [[source[k] for k in places] for source in (data.episode, data.segment)]
    shown = zip(*done.rows, strict=True) if done.rows else ((), (), ())
    rows = table([[data.task.name] * len(places), ids, *own, *shown])
    return Tallied(done.tallies, done.ledgers, rows, done.facts)


def table(columns: Sequence[Sequence[Any]] = ((),) * len(ROW)) -> pa.Table:
    """Return rows of the table of a run, from its columns."""
    kinds = [pa.string()] * (len(ROW) - 1) + [pa.float64()]
    return pa.table({name: pa.array(own, kind) for name, own, kind in zip(ROW, columns, kinds, strict=True)})


def _codes(answers: Answers, data: TaskData, test: Array, case: Array, n_cases: int) -> _Found:
    truth = [data.labels[place] for place in test.tolist()]
    given = [answers.classes[code] if code >= 0 else "" for code in answers.values.tolist()]
    classes = tuple(sorted({*truth, *given, *data.task.classes} - {""}, key=natural_key))
    code = {label: index for index, label in enumerate(classes)} | {"": NONE}
    true, said = (Labels(np.array([code[x] for x in side], dtype=np.int64), classes) for side in (truth, given))
    found = classification.tally_cases(true, said, case, n_cases)
    rows = [(t, p, None) for t, p in zip(truth, given, strict=True)]
    return _Found({family(LABELS, data.task.name): found}, {}, rows, {})


def _sets(answers: Answers, data: TaskData, test: Array, case: Array, n_cases: int) -> _Found:
    truth = [data.sets[place] for place in test.tolist()]
    given = [frozenset(np.array(answers.classes, dtype=object)[row].tolist()) for row in answers.values]
    classes = tuple(sorted({name for side in (truth, given) for one in side for name in one}, key=natural_key))
    true = LabelSets(_members(truth, classes), classes)
    said = LabelSets(_members(given, classes), classes, answers.given)
    found = multilabel.tally_cases(true, said, case, n_cases)
    rows = [("|".join(sorted(t)), "|".join(sorted(p)), None) for t, p in zip(truth, given, strict=True)]
    return _Found({family(SETS, data.task.name): found}, {}, rows, {})


def _members(sets: Sequence[frozenset[str]], classes: Sequence[str]) -> Array:
    place = {name: index for index, name in enumerate(classes)}
    out = np.zeros((len(sets), len(classes)), dtype=np.bool_)
    for row, names in enumerate(sets):
        out[row, [place[name] for name in names]] = True
    return out


def _vectors(answers: Answers, data: TaskData, test: Array, case: Array, n_cases: int) -> _Found:
    if data.task.kind == "retrieval":
        truth, given, valid, unknown = _sides(answers, data, test)
        done = _ranked(data, np.where(valid, truth, 0), np.where(valid, given, 0), case, n_cases)
    else:
        done, unknown = _in_blocks(answers, data, test, case, n_cases)
    facts = {"never_valid_in_training": int(unknown.sum())} if unknown.any() else {}
    digest = answers.digest
    rows = [("", digest, value) for value in done.rows]
    return _Found(done.tallies, done.ledgers, rows, {**done.facts, **facts})


def _sides(
    answers: Answers, data: TaskData, test: Array, rows: slice = slice(None)
) -> tuple[Array, Array, Array, Array]:
    """Return truth, answers and which values count, of some test samples, and the numbers that have no answer."""
    valid = data.valid(test[rows])
    if valid is None:
        raise GnomonError(f"{data.task.name}: a task that is answered by vectors has a mask")
    # In rows, however they are given, so that neither compiled code nor the order of sums depends on it.
    given = np.array(answers.values[rows], dtype=np.float64, order="C")
    unknown = ~np.isfinite(given)
    given[unknown] = 0.0
    return data.y(test[rows]), given, valid, np.asarray(unknown.any(axis=0))


def _in_blocks(answers: Answers, data: TaskData, test: Array, case: Array, n_cases: int) -> tuple[_Found, Array]:
    """Compare answers with the truth some whole cases at a time; return also the numbers that have no answer."""
    tallies: dict[str, tuple[Tallies, dict[str, Array]]] = {}
    values: list[Any] = []
    unknown: Array = np.zeros(answers.values.shape[1], dtype=np.bool_)
    for rows in blocks(case, n_cases):
        truth, given, valid, lacks = _sides(answers, data, test, rows)
        unknown |= lacks
        codes, own = np.unique(case[rows], return_inverse=True)
        done = _compared(data, truth, given, valid, own, len(codes))
        values += done.rows
        for name, part in done.tallies.items():
            empty = {key: np.zeros((n_cases, *array.shape[1:]), array.dtype) for key, array in part.fields.items()}
            for key, array in tallies.setdefault(name, (part, empty))[1].items():
                array[codes] = part.fields[key]
    whole = {name: Tallies(part.layout, part.axes, fields) for name, (part, fields) in tallies.items()}
    return _Found(whole, {}, values, {}), unknown


def blocks(case: Array, n_cases: int, size: int = BLOCK) -> Iterator[slice]:
    """Yield ranges of rows that together are all of them, each of at least ``size`` rows and with whole cases.

    >>> list(blocks(np.array([0, 0, 1, 0, 2, 2]), 3, 1))
    [slice(0, 4, None), slice(4, 6, None)]
    """
    last = np.zeros(n_cases, dtype=np.int64)
    last[case] = np.arange(len(case))
    stops = np.flatnonzero(np.maximum.accumulate(last[case]) == np.arange(len(case))) + 1
    start = 0
    for stop in stops.tolist():
        if stop - start >= size or stop == len(case):
            yield slice(start, stop)
            start = stop
    if not len(case):
        yield slice(0, 0)


def _ranked(data: TaskData, truth: Array, given: Array, case: Array, n_cases: int) -> _Found:
    """Rank: a caption looks for its window among projected ones, a projection for its own among true windows.

    Windows that are captioned in the same words are all right answers in ``strict``; in ``published`` only the
    window of the query itself is.
    """
    asked, there = (truth, given) if data.task.name == GROUNDING else (given, truth)
    right = alike(truth) if data.task.name == GROUNDING and data.variant == "strict" else None
    found = retrieval.rankings(queries=asked, candidates=there, positives=right, pool=pool_of(data))
    name = data.task.name
    rows = rank_rows(found, case)
    ledgers = {family(retrieval.RANKS, name): rows}
    tallies = {family("retrieval", name): retrieval.tally_cases(found, case, n_cases)}
    queries = [hashlib.sha256(np.ascontiguousarray(row).data).hexdigest() for row in asked]
    first = {tuple(one): name for one, name in zip(right or (), queries, strict=bool(right))}
    facts = {
        "candidates": len(there),
        "distinct_queries": len(set(queries)),
        "queries": queries,
        "positives": [first[tuple(one)] for one in right] if right else None,
    }
    return _Found(tallies, ledgers, rows.columns["rank"].tolist(), facts)


def pool_of(data: TaskData) -> str:
    """Return the name of the candidates of a retrieval task: how many test windows they are, and which."""
    return pool_named(data.task.name, [data.ids[place] for place in data.of(TEST).tolist()])


def pool_named(task: str, ids: Sequence[str]) -> str:
    """Return the name of the candidates of a retrieval task, which are test samples."""
    return f"{task} {len(ids)} {fingerprint(list(ids))[:16]}"


def alike(truth: Array) -> list[list[int]]:
    """Return, for every row, the rows that equal it, itself among them."""
    groups: dict[bytes, list[int]] = {}
    keys = [np.ascontiguousarray(row + 0.0).tobytes() for row in truth]  # negative zeros become zeros
    for place, key in enumerate(keys):
        groups.setdefault(key, []).append(place)
    return [groups[key] for key in keys]


def _compared(data: TaskData, truth: Array, given: Array, valid: Array, case: Array, n_cases: int) -> _Found:
    name = data.task.name
    tallies = {
        family("regression", name): regression.tally_cases(
            MaskedVectors(truth.astype(np.float64), valid=valid), Vectors(given), case, n_cases
        )
    }
    if data.task.metric != "mpjpe":
        errors = np.where(valid, np.abs(given - truth), 0.0).sum(axis=1) / np.maximum(valid.sum(axis=1), 1)
    else:
        shape = (len(truth), data.task.horizon, JOINTS, 3)
        # Published subtracts across frames, which the audit says and no score can mend.
        of_hands, of_root = flags(next(iter(data.recorded.values())), data.variant).frames
        frame = of_hands if of_hands == of_root else f"{of_hands} minus {of_root}"
        sides = [Trajectories.of(truth.reshape(shape), valid.reshape(shape)[..., 0], frame)]
        sides.append(Trajectories.of(given.reshape(shape), frame=frame))
        tallies[family("trajectories", name)] = trajectories.tally_cases(sides[0], sides[1], case, n_cases)
        apart = np.linalg.norm((given - truth).reshape(shape), axis=3)
        seen = valid.reshape(shape)[..., 0]
        errors = np.where(seen, apart, 0.0).sum(axis=(1, 2)) / np.maximum(seen.sum(axis=(1, 2)), 1)
    return _Found(tallies, {}, errors.tolist(), {})
