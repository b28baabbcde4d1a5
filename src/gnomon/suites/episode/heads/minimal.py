"""Minimal heads: linear maps whose every step can be followed.

Features, and the targets of the ridge, are standardised by the rows that are fitted on. No random numbers are drawn.

Softmax
    Full-batch gradient descent from zero on the mean over rows of ``-w log p`` with the softmax p of the true class and
    balanced weights w, plus ``l2 / 2`` times the squared weights; 400 epochs, step .12, l2 .002, free bias.
Logistic
    The same for every label by itself on the mean of ``-(v y log p + (1 - y) log(1 - p))`` with the logistic p and the
    odds v of rows without the label, clipped to 1..20; 400 epochs, step .05, no l2. A label is given where p reaches
    .5, or where it is the likeliest of a row in which none does.
Ridge
    The least squared error plus ``l2 = 10`` times the squared weights, on both sides standardised; solved exactly, in
    as many unknowns as there are rows or columns, whichever is less. With a mask, every column is the ridge with a free
    bias on the rows in which it is valid.

Ridge regression, solved exactly, with a mask over what is regressed to.

Columns that are valid in the same rows are solved together. About the mean m of their n rows, the weights are
``W = C' (C C' + l2 I)^-1 Y`` with the centred rows C (Saunders, Gammerman, Vovk, 1998), or the same written as
``(C' C + l2 I)^-1 C' Y`` where there are fewer columns than rows; the bias is ``mean(Y) - m W``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.episode.heads import given
from gnomon.suites.episode.heads.descent import Linear, descend, gram, spanned
from gnomon.suites.episode.heads.scaling import Scaler
from gnomon.suites.episode.heads.weighting import balanced, chosen, positive


@dataclass
class _Fitted:
    """What the minimal heads share: a linear map, and what is known about it."""

    tell: Callable[[str], None] | None = field(default=None, repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict, init=False, repr=False)
    map: Linear | None = field(default=None, init=False, repr=False)

    def identity(self) -> dict[str, Any]:
        """Return family, form and parameters."""
        own = {item.name: getattr(self, item.name) for item in fields(self) if item.init and item.name != "tell"}
        return {"family": "minimal", "head": type(self).__name__.lower(), **own}

    def outputs(self, x: Array) -> Array:
        """Return what the map gives for rows, before it is made an answer."""
        if self.map is None:
            raise InputError("the head is not fitted; call fit() before")
        return self.map(given.rows(x, len(self.map.weights)))

    def _learned(self, found: Linear, rows: int, **more: Any) -> None:
        self.map = found
        self.facts = {"rows": rows, "columns": len(found.weights), "parameters": len(found), **more}


@dataclass
class Softmax(_Fitted):
    """One of several classes."""

    epochs: int = 400
    rate: float = 0.12
    l2: float = 2e-3

    def fit(self, x: Array, y: Array, classes: Sequence[str] = (), *, mask: Array | None = None) -> Self:
        """Learn from codes; a class without a row stays among the outputs, and its probability falls."""
        given.unmasked(mask)
        size = given.names(classes)
        rows, codes = given.rows(x), given.codes(y, size)
        given.as_many(rows, codes)
        weights = (balanced(codes, size)[codes] / len(codes))[:, np.newaxis]
        at = (np.arange(len(codes)), codes)

        def slope(outputs: Array) -> float:
            softmax(outputs)
            tiny = np.finfo(outputs.dtype).tiny
            loss = -float(np.log(np.maximum(outputs[at], tiny)) @ weights[:, 0])
            outputs[at] -= 1
            np.multiply(outputs, weights, out=outputs, casting="same_kind")
            return loss

        found, losses = descend(rows, size, slope, epochs=self.epochs, rate=self.rate, l2=self.l2, tell=self.tell)
        self._learned(found, len(rows), loss=losses, seen_classes=len(np.unique(codes)))
        return self

    def scores(self, x: Array) -> Array:
        """Return the probability of every class."""
        return softmax(self.outputs(x))

    def predict(self, x: Array) -> Array:
        """Return the code of the likeliest class; of equal ones the first."""
        return np.asarray(self.outputs(x).argmax(axis=1))


@dataclass
class Logistic(_Fitted):
    """Any number of labels."""

    epochs: int = 400
    rate: float = 0.05
    l2: float = 0.0
    threshold: float = 0.5

    def fit(self, x: Array, y: Array, classes: Sequence[str] = (), *, mask: Array | None = None) -> Self:
        """Learn from sets."""
        given.unmasked(mask)
        size = given.names(classes)
        rows, sets = given.rows(x), given.sets(y, size)
        given.as_many(rows, sets)
        weights = np.where(sets, positive(sets), 1.0) / len(sets)
        signs = np.where(sets, -1.0, 1.0)

        def slope(outputs: Array) -> float:
            np.multiply(outputs, signs, out=outputs, casting="same_kind")
            loss = float((np.logaddexp(0.0, outputs) * weights).sum()) / size
            logistic(outputs)
            np.multiply(outputs, signs, out=outputs, casting="same_kind")
            np.multiply(outputs, weights, out=outputs, casting="same_kind")
            return loss

        found, losses = descend(rows, size, slope, epochs=self.epochs, rate=self.rate, l2=self.l2, tell=self.tell)
        self._learned(found, len(rows), loss=losses, seen_classes=int(sets.any(axis=0).sum()))
        return self

    def scores(self, x: Array) -> Array:
        """Return the probability of every label."""
        return logistic(self.outputs(x))

    def predict(self, x: Array) -> Array:
        """Return the set of labels."""
        return chosen(self.scores(x), self.threshold)


@dataclass
class Ridge(_Fitted):
    """Vectors."""

    l2: float = 10.0
    target: Scaler = field(init=False, repr=False)

    def fit(self, x: Array, y: Array, classes: Sequence[str] = (), *, mask: Array | None = None) -> Self:
        """Learn from vectors."""
        del classes
        wanted, valid = given.vectors(y, mask)
        rows = given.rows(x)
        given.as_many(rows, wanted)
        rows, wanted, valid = given.usable(rows, wanted, valid)
        self.target = Scaler(wanted, valid)
        found = solve(rows, self.target(wanted.astype(np.float64)), valid, self.l2, self.tell)
        missing = int(np.isnan(self.target.mean).sum())
        self._learned(found, len(rows), left_out=len(y) - len(rows), never_valid=missing)
        return self

    def scores(self, x: Array) -> Array:
        """Return the same as :meth:`predict`."""
        return self.predict(x)

    def predict(self, x: Array) -> Array:
        """Return vectors."""
        outputs = self.outputs(x)
        return self.target.back(outputs)


def softmax(outputs: Array) -> Array:
    """Put probabilities of classes in the place of outputs, and return them."""
    outputs -= outputs.max(axis=1, keepdims=True)
    np.exp(outputs, out=outputs)
    outputs /= outputs.sum(axis=1, keepdims=True)
    return outputs


def logistic(outputs: Array) -> Array:
    """Put ``1 / (1 + exp(-output))`` in the place of outputs, and return it; it overflows nowhere."""
    outputs *= 0.5
    np.tanh(outputs, out=outputs)
    outputs += 1
    outputs *= 0.5
    return outputs


BLOCK = 1024
"""Rows that are in double precision at a time."""


def solve(
    rows: Array, wanted: Array, valid: Array | None, l2: float, tell: Callable[[str], None] | None = None
) -> Linear:
    """Return the ridge from features ``(n, d)``, not standardised, to standardised vectors ``(n, k)``.

    A column that is valid nowhere has zero weights.
    """
    scaler = Scaler(rows)
    dual = len(rows) <= rows.shape[1]
    table = gram(scaler, rows) if dual else None
    weights = np.zeros((len(rows) if dual else rows.shape[1], wanted.shape[1]))
    means = np.zeros(wanted.shape[1])
    for columns, used in _together(wanted, valid):
        values = wanted[np.ix_(used, columns)]
        means[columns] = values.mean(axis=0)
        values -= means[columns]
        if table is not None:
            weights[np.ix_(used, columns)] = _by_rows(table[np.ix_(used, used)], values, l2)
        else:
            weights[:, columns] = _by_columns(scaler, rows, used, values, l2)
        if tell is not None:
            tell(f"ridge, {len(columns)} of {wanted.shape[1]} columns on {len(used)} rows")
    found = spanned(scaler, rows, weights) if dual else weights
    return Linear(scaler, found, means - _offsets(scaler, rows, found, wanted, valid))


def _together(wanted: Array, valid: Array | None) -> Iterator[tuple[Array, Array]]:
    """Yield columns that are valid in the same rows, and these rows; those that are valid nowhere are passed over."""
    if valid is None:
        yield np.arange(wanted.shape[1]), np.arange(len(wanted))
        return
    groups: dict[bytes, list[int]] = {}
    for column, packed in enumerate(np.packbits(valid, axis=0).T):
        groups.setdefault(packed.tobytes(), []).append(column)
    for columns in groups.values():
        used = np.flatnonzero(valid[:, columns[0]])
        if len(used):
            yield np.array(columns), used


def _by_rows(products: Array, values: Array, l2: float) -> Array:
    """Return coefficients of rows; as `values` do, they sum to zero, so the mean of the rows drops out of weights."""
    products -= products.mean(axis=0)
    products -= products.mean(axis=1, keepdims=True)
    products.flat[:: len(products) + 1] += l2
    return np.asarray(cho_solve(cho_factor(products, lower=True, overwrite_a=True, check_finite=False), values))


def _by_columns(scaler: Scaler, rows: Array, used: Array, values: Array, l2: float) -> Array:
    """Return weights, from the rows that are used, a few of them at a time."""
    width = rows.shape[1]
    mean = rows.mean(axis=0, dtype=np.float64, where=np.isin(np.arange(len(rows)), used)[:, np.newaxis])
    products, right = np.zeros((width, width)), np.zeros((width, values.shape[1]))
    for start in range(0, len(used), BLOCK):
        part = slice(start, start + BLOCK)
        centred = (rows[used[part]] - mean) / scaler.scale
        products += centred.T @ centred
        right += centred.T @ values[part]
    products.flat[:: len(products) + 1] += l2
    return np.asarray(cho_solve(cho_factor(products, lower=True, overwrite_a=True, check_finite=False), right))


def _offsets(scaler: Scaler, rows: Array, weights: Array, wanted: Array, valid: Array | None) -> Array:
    """Return the mean output of every column over the rows in which it is valid, without a bias."""
    if valid is None:
        return np.zeros(wanted.shape[1])
    out = Linear(scaler, weights, np.zeros(wanted.shape[1]))(rows)
    return np.asarray(np.where(valid, out, 0.0).sum(axis=0) / np.maximum(valid.sum(axis=0), 1))
