"""Heads: what is fitted on the features of windows, and answers for other windows.

The interface, by structure. A head sees arrays only: it knows no task, no episode and no variant.

``fit(x, y, classes, mask=None) -> itself``
    `x` holds a row of features per sample ``(n, d)``, finite; `y` what is to be answered, by the kind of a task:

    =============================== ============================================ =====================
    kind                            `y`                                          `classes`
    =============================== ============================================ =====================
    ``label``, ``binary``, ``pair`` codes ``(n,)``, whole numbers into `classes` names of the classes
    ``multilabel``                  sets ``(n, k)`` of 0 and 1                   names of the k labels
    ``vector``, ``retrieval``       vectors ``(n, k)``                           none
    =============================== ============================================ =====================

    `mask`, with vectors alone, is true where a number of `y` is valid, ``(n, k)``. Others are not looked at; a row that
    has none is left out.
``predict(x)``
    Answers in the form of `y`: codes, sets, or vectors. A column that was never valid in training is NaN.
``scores(x)``
    Probabilities ``(n, k)`` of classes or labels; of vectors the same as ``predict``.
``facts``
    Plain data: how many rows and numbers were learned from, the loss after every epoch.
``identity()``
    Family, form and parameters, as plain data.

Families: ``minimal`` (:mod:`~gnomon.suites.episode.heads.minimal`, needs nothing but numpy and scipy) and ``neural``
(:mod:`~gnomon.suites.episode.heads.neural`, needs torch). Baselines that do not look at features are in
:mod:`~gnomon.suites.episode.heads.trivial`, and what can be reached at best in
:mod:`~gnomon.suites.episode.heads.ceilings`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, Self

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array

FAMILIES = ("minimal", "neural")
FORMS: Mapping[str, Literal["codes", "sets", "vectors"]] = {
    "label": "codes",
    "binary": "codes",
    "pair": "codes",
    "multilabel": "sets",
    "vector": "vectors",
    "retrieval": "vectors",
}
"""In which form a task of each kind is answered."""

Tell = Callable[[str], None]
"""What is told how far fitting is, in words."""


class Head(Protocol):
    """What is fitted and answers."""

    facts: Mapping[str, Any]

    def fit(self, x: Array, y: Array, classes: Sequence[str] = (), *, mask: Array | None = None) -> Self:
        """Learn from rows."""

    def predict(self, x: Array) -> Array:
        """Return an answer for every row."""

    def scores(self, x: Array) -> Array:
        """Return a score for every row and class, label or column."""

    def identity(self) -> dict[str, Any]:
        """Return what the head is, as plain data."""


def form(kind: str) -> Literal["codes", "sets", "vectors"]:
    """Return in which form a task of a kind is answered.

    >>> form("binary"), form("multilabel"), form("retrieval")
    ('codes', 'sets', 'vectors')
    """
    if kind not in FORMS:
        raise InputError(f"kind of task: expected one of {some(FORMS, show=len(FORMS))}, but got {kind!r}")
    return FORMS[kind]


def make(family: str, kind: str, seed: int, *, tell: Tell | None = None) -> Head:
    """Return a head that is not fitted yet; minimal heads draw no random numbers, so the seed is nothing to them.

    Parameters
    ----------
    family, kind
        ``minimal`` or ``neural``; the kind of the task.
    seed
        Of initial weights, order of rows and dropout.
    tell
        Called with a line now and then while it is fitted.
    """
    wanted = form(kind)
    if family == "minimal":
        from gnomon.suites.episode.heads import minimal

        if wanted == "codes":
            return minimal.Softmax(tell=tell)
        return minimal.Logistic(tell=tell) if wanted == "sets" else minimal.Ridge(tell=tell)
    if family == "neural":
        from gnomon.suites.episode.heads.neural import Network

        return Network(form=wanted, seed=seed, balance=kind != "pair", tell=tell)
    raise InputError(f"family of heads: expected one of {some(FAMILIES)}, but got {family!r}")
