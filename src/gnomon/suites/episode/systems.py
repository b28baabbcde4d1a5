"""The systems of the twelve tasks: two families of heads, and baselines that look at no feature.

``minimal``, ``neural``
    Heads over features (:mod:`gnomon.suites.episode.heads`), one for every task.
``trivial``
    All baselines: ``majority``, ``copy_last``, ``persistence``, ``random``, ``always_positive``. Each answers the tasks
    that it makes sense for. Without them no figure of a head can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.core.errors import GnomonError, InputError, some
from gnomon.core.options import split_words
from gnomon.core.tallies import Array
from gnomon.engine import begun
from gnomon.measures import retrieval
from gnomon.suites.episode import heads
from gnomon.suites.episode.answers import GROUNDING, Answers, alike
from gnomon.suites.episode.heads import ceilings, trivial
from gnomon.suites.episode.options import HEADS, TRIVIAL
from gnomon.suites.episode.tasks import persistence
from gnomon.suites.episode.tasks.declared import CONTACT, FORECAST, Task
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import TEST, TRAIN
from gnomon.suites.episode.tasks.vocabulary import codes


def expanded(given: Sequence[str]) -> tuple[str, ...]:
    """Return the systems that were asked for by name, each once; ``trivial`` is all baselines."""
    names = split_words(given)
    known = (*HEADS, "trivial", *TRIVIAL)
    strange = [name for name in names if name not in known]
    if strange or not names:
        raise InputError(f"--systems: no system {some(strange)}; there are {', '.join(known)}")
    found = [one for name in names for one in (TRIVIAL if name == "trivial" else (name,))]
    return tuple(dict.fromkeys(found))


def is_trivial(name: str) -> bool:
    """Say whether a system is a baseline that looks at no feature."""
    return name in TRIVIAL


def answers(name: str, task: Task) -> bool:
    """Say whether a system answers a task."""
    return not is_trivial(name) or name in trivial.baselines(
        task.kind, last=task.kind in ("label", "multilabel") or task.name in (CONTACT, FORECAST)
    )


def answer(name: str, data: TaskData, seed: int) -> Answers:
    """Fit a system to the training samples of a task, and answer for its test samples."""
    if data.lacks:
        raise InputError(f"{data.task.name}: {data.lacks}; give longer episodes, or more of them")
    train, test = data.of(TRAIN), data.of(TEST)
    ids = tuple(data.ids[place] for place in test.tolist())
    if is_trivial(name):
        values, classes, facts = _baseline(name, data, train, test, seed)
        return Answers(data.task, ids, values, classes, facts)
    head = heads.make(name, data.task.kind, seed, tell=begun.tell)
    classes = _occurring(data)
    if heads.form(data.task.kind) == "vectors":
        head.fit(data.x(train), data.y(train), mask=data.valid(train))
    else:
        y = codes([data.labels[place] for place in train.tolist()], classes) if data.labels else data.y(train)
        head.fit(data.x(train), y, classes)
    values = head.predict(data.x(test))
    facts = {"head": head.identity(), "training": dict(head.facts), "n_train": len(train)}
    return Answers(data.task, ids, values, classes, facts)


def _occurring(data: TaskData) -> tuple[str, ...]:
    """Return the classes that a head knows: those that occur, so that a published task of one class is always right."""
    seen = set(data.labels) or set(data.classes)
    return tuple(name for name in data.classes if name in seen)


def _baseline(
    name: str, data: TaskData, train: Array, test: Array, seed: int
) -> tuple[Array, tuple[str, ...], dict[str, Any]]:
    classes = data.classes
    last, observed = None, None
    if name in ("copy_last", "persistence"):
        last, observed, classes = _last(data, test)
    known = trivial.Known(data.y(train), _size(data, train), data.valid(train), last, observed)
    values, facts = trivial.answer(name, data.task.kind, known, len(test), seed)
    return values, classes, {**facts, "n_train": len(train)}


def _size(data: TaskData, train: Array) -> int:
    return len(data.classes) or data.y(train[:1]).shape[1]


def _last(data: TaskData, test: Array) -> tuple[Array, Array, tuple[str, ...]]:
    """Return what was known last for every test sample, where it was, and the classes that it is in."""
    vectors = persistence.last_vectors(data, test)
    if vectors is not None:
        return (*vectors, ())
    sets = persistence.last_sets(data)
    rows = test.tolist()
    if sets is not None:
        own = [sets[row] for row in rows]
        classes = tuple(dict.fromkeys((*data.classes, *sorted({name for one in own for name in one}))))
        place = {name: index for index, name in enumerate(classes)}
        members = np.zeros((len(own), len(classes)), dtype=np.bool_)
        for row, names in enumerate(own):
            members[row, [place[one] for one in names]] = True
        return members, np.ones(len(own), dtype=np.bool_), classes
    labels = persistence.last_labels(data)
    if labels is None:
        raise GnomonError(f"{data.task.name}: there is nothing to copy, and yet it was asked for")
    given = [labels[row] for row in rows]
    classes = tuple(dict.fromkeys((*data.classes, *sorted(set(given) - {""}))))
    place = {label: index for index, label in enumerate(classes)}
    known = np.array([bool(label) for label in given], dtype=np.bool_)
    return np.array([place.get(label, 0) for label in given], dtype=np.int64), known, classes


def ceiling(data: TaskData) -> dict[str, Any]:
    """Return what answers can reach at best under every metric of a task, and what chance reaches in retrieval."""
    train, test = data.of(TRAIN), data.of(TEST)
    if not len(train) or not len(test):
        return {}
    if data.task.kind in ("label", "binary", "pair"):
        labels = sorted(set(data.labels))
        place = {label: index for index, label in enumerate(labels)}
        coded = np.array([place[label] for label in data.labels], dtype=np.int64)
        found = ceilings.of_codes(coded[test], np.unique(coded[train]))
        return {
            "macro_f1": found["macro_f1_present"],
            "macro_f1_union": found["macro_f1_union"],
            "accuracy": found["accuracy"],
            "f1": 1.0,
        }
    if data.task.kind == "multilabel":
        names = sorted({name for one in data.sets for name in one})
        place = {name: index for index, name in enumerate(names)}
        member = np.zeros((len(data), len(names)), dtype=np.bool_)
        for row, one in enumerate(data.sets):
            member[row, [place[name] for name in one]] = True
        listed = set(data.classes)  # what an answer can name: published also lists names of the test part
        found = ceilings.of_sets(member[test], np.array([name in listed for name in names], dtype=np.bool_))
        return {"micro_f1": found["micro_f1"], "macro_f1": found["macro_f1_present"], "exact_match": found["exact"]}
    if data.task.kind == "retrieval":
        valid, truth = data.valid(test), data.y(test)
        own = np.where(valid, truth, 0) if valid is not None else truth
        right = alike(own) if data.task.name == GROUNDING and data.variant == "strict" else None
        found = retrieval.evaluate(queries=own, candidates=own, positives=right)
        return {"mrr": found["mrr"], **{f"top{k}_accuracy": value for k, value in found["top_k"].items()}}
    return {"mpjpe": 0.0, "final_error": 0.0} if data.task.metric == "mpjpe" else {"r2": 1.0, "mae": 0.0}
