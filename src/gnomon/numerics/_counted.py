"""The kernels of :mod:`gnomon.numerics.counting`: each checks a code before it is counted.

A source is the address of an array and a value of its type. Every kernel returns whether all codes were in range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from gnomon.core.compiling import jit
from gnomon.numerics.vectors import emit

_Source = tuple[int, np.integer[Any]]


@emit
def _load(_: Any, source: Any, index: Any) -> Any:
    """Read one code of a source as int64; one of 2**63 or more turns negative."""

    def code(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        address = builder.extract_value(arguments[0], 0)
        pointer = builder.inttoptr(address, context.get_value_type(source[1]).as_pointer())
        value = builder.load(builder.gep(pointer, [arguments[1]]))
        value.align = 1
        return context.cast(builder, value, source[1], types.int64)

    return types.int64(source, index), code


@jit
def count_any(truth: _Source, prediction: _Source, n: int, k: int, table: Any) -> bool:
    cells, stop = table.reshape(-1), np.uint64(k)
    for i in range(n):
        t = np.uint64(_load(truth, i))  # a negative code becomes a huge one
        p = np.uint64(_load(prediction, i))
        if t >= stop or p >= stop:
            return False
        cells[t * stop + p] += 1
    return True


@jit
def count_classes(truth: _Source, prediction: _Source, case: _Source, shape: Any, low: int, tables: Any) -> bool:
    cases, classes, none = np.uint64(shape[1]), np.uint64(shape[2]), np.uint64(-low)
    tp, truth_support, predicted_support = tables[0].reshape(-1), tables[1].reshape(-1), tables[2].reshape(-1)
    for i in range(shape[0]):
        t = np.uint64(_load(truth, i))
        p = np.uint64(_load(prediction, i) - low)
        c = np.uint64(_load(case, i))
        if t >= classes or p >= classes + none or c >= cases:
            return False
        start = c * classes
        truth_support[start + t] += 1
        tp[start + t] += p == t + none
        if p >= none:
            predicted_support[start + p - none] += 1
    return True


@jit
def number_cells(truth: _Source, prediction: _Source, case: _Source, shape: Any, low: int, keys: Any) -> bool:
    cases, classes, none = np.uint64(shape[1]), np.uint64(shape[2]), np.uint64(-low)
    for i in range(shape[0]):
        t = np.uint64(_load(truth, i))
        p = np.uint64(_load(prediction, i) - low)
        c = np.uint64(_load(case, i))
        if t >= classes or p >= classes + none or c >= cases:
            return False
        keys[i] = np.int64((c * classes + t) * (classes + np.uint64(1)) + p + (np.uint64(1) - none))
    return True
