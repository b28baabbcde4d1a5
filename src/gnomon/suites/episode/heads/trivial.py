"""Baselines that do not look at features: a head that is not better than they are has learned nothing.

They are told what they need, and nothing else: the answers of the rows that are trained on and, for the two that copy,
what was observed last before a row is answered for.

``majority``
    The most frequent code (of equal ones the first); the labels that at least half of the rows have, or the most
    frequent one where there is none such; the mean of the valid numbers of a column.
``copy_last``
    The code or set that was observed last. It need not have been trained on, so a code may lie beyond the classes.
``persistence``
    The vector that was observed last, for all steps: a target of ``steps * m`` columns repeats the m observed ones.
``random``
    Codes by their share among the rows; every label by its own share; columns from normal distributions with their mean
    and spread. In retrieval such vectors give every order of the candidates the same chance.
``always_positive``
    Code 1, whatever is asked.

Where nothing was observed, or a column of it was not valid, those that copy take the answer of ``majority``, and count
it: ``not_observed``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.episode.heads import form, given
from gnomon.suites.episode.heads.scaling import Scaler

NAMES = ("majority", "copy_last", "persistence", "random", "always_positive")


@dataclass(frozen=True)
class Known:
    """What baselines are told.

    Attributes
    ----------
    train
        Codes, sets or vectors of the rows that are trained on, as heads are given them.
    size
        Classes, labels or columns.
    mask
        Where vectors of `train` are valid; None is everywhere.
    last
        What was observed last for each row that is answered for: codes ``(n,)``, sets ``(n, k)`` or vectors ``(n, m)``;
        None where the task has no such thing.
    observed
        Whether there was anything: ``(n,)`` for codes and sets, ``(n, m)`` for vectors; None is everywhere.
    """

    train: Array
    size: int
    mask: Array | None = None
    last: Array | None = None
    observed: Array | None = None


def baselines(kind: str, *, last: bool) -> tuple[str, ...]:
    """Return the names of the baselines for a kind of task; `last` says whether there is something to copy.

    >>> baselines("label", last=True), baselines("pair", last=False)
    (('majority', 'copy_last', 'random'), ('majority', 'random', 'always_positive'))
    >>> baselines("retrieval", last=False)
    ('random',)
    """
    copied = "persistence" if form(kind) == "vectors" else "copy_last"
    fits = {
        "majority": kind != "retrieval",
        copied: last,
        "random": True,
        "always_positive": kind in ("binary", "pair"),
    }
    return tuple(name for name in NAMES if fits.get(name))


def answer(name: str, kind: str, known: Known, n: int, seed: int) -> tuple[Array, dict[str, Any]]:
    """Return what a baseline answers for n rows, in the form of the kind, and facts about it."""
    there = baselines(kind, last=known.last is not None)
    if name not in there:
        raise InputError(f"baseline {name!r}: for kind {kind!r} there is {some(there)}; leave it out")
    _check(form(kind), known)
    facts = {"rows": len(known.train)}
    if name == "majority":
        return np.repeat(_usual(form(kind), known)[np.newaxis], n, axis=0), facts
    if name == "random":
        return _random(form(kind), known, n, seed), facts
    if name == "always_positive":
        return np.ones(n, dtype=np.int64), facts
    out, missing = _copied(form(kind), known, n)
    return out, {**facts, "not_observed": missing}


def _check(wanted: str, known: Known) -> None:
    if wanted == "codes":
        given.codes(known.train, known.size)
    elif wanted == "sets":
        given.sets(known.train, known.size)
    elif given.vectors(known.train, known.mask)[0].shape[1] != known.size:
        raise InputError(f"vectors: expected {known.size} columns, but got {known.train.shape[1]}")
    if not len(known.train):
        raise InputError("baseline: got no rows that are trained on; the part is empty")


def _usual(wanted: str, known: Known) -> Array:
    """Return the answer of ``majority`` for one row."""
    if wanted == "codes":
        return np.asarray(np.bincount(known.train, minlength=known.size).argmax())
    if wanted == "vectors":
        return Scaler(known.train, known.mask).mean
    shares = np.asarray(known.train, dtype=np.float64).mean(axis=0)
    out = shares >= 0.5
    if not out.any():
        out[shares.argmax()] = True
    return np.asarray(out)


def _random(wanted: str, known: Known, n: int, seed: int) -> Array:
    rng = generator(seed, "episode", "heads", "trivial", "random")
    if wanted == "codes":
        return np.asarray(np.asarray(known.train)[rng.integers(len(known.train), size=n)], dtype=np.int64)
    if wanted == "sets":
        return np.asarray(rng.random((n, known.size)) < np.asarray(known.train, dtype=np.float64).mean(axis=0))
    return Scaler(known.train, known.mask).back(rng.standard_normal((n, known.size)))


def _copied(wanted: str, known: Known, n: int) -> tuple[Array, int]:
    """Return what was observed last, and how many rows have something that was not."""
    last = np.asarray(known.last)
    if len(last) != n:
        raise InputError(f"observed last: expected {n} rows, but got {len(last)}")
    usual = _usual(wanted, known)
    if wanted == "vectors":
        last = _stretched(last, known.size)
    observed = np.ones(last.shape, dtype=bool)
    if known.observed is not None:
        expected = np.asarray(known.last).shape if wanted == "vectors" else (n,)
        if known.observed.shape != expected or known.observed.dtype != bool:
            raise InputError(
                f"observed: expected booleans {expected}, but got {known.observed.dtype} {known.observed.shape}"
            )
        observed = _spread(known.observed, last.shape)
    if wanted == "sets":
        usual = np.concatenate([usual, np.zeros(max(0, last.shape[1] - len(usual)), dtype=bool)])
    missing = int((~observed).reshape(n, -1).any(axis=1).sum())
    return np.where(observed, last, usual), missing


def _stretched(last: Array, size: int) -> Array:
    """Return the vectors that were observed last, once for every step."""
    if last.ndim != 2 or not last.shape[1] or size % last.shape[1]:
        raise InputError(f"observed last: {last.shape} does not go into {size} columns; give one step of them")
    return np.tile(last.astype(np.float64), (1, size // last.shape[1]))


def _spread(observed: Array, shape: tuple[int, ...]) -> Array:
    """Return for every number whether it was observed."""
    if len(shape) == 1:
        return observed
    if observed.ndim == 1:
        return np.broadcast_to(observed[:, np.newaxis], shape)
    return np.tile(observed, (1, shape[1] // observed.shape[1]))
