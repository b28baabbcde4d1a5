"""Ridge regression, solved exactly, with a mask over what is regressed to.

Columns that are valid in the same rows are solved together. About the mean m of their n rows, the weights are
``W = C' (C C' + l2 I)^-1 Y`` with the centred rows C (Saunders, Gammerman, Vovk, 1998), or the same written as
``(C' C + l2 I)^-1 C' Y`` where there are fewer columns than rows; the bias is ``mean(Y) - m W``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from gnomon.core.tallies import Array
from gnomon.suites.episode.heads.descent import Linear, gram, spanned
from gnomon.suites.episode.heads.scaling import Scaler

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
