"""From the caller's labels to dense integer codes, and back.

Conventions: labels are integers or text, not both; classes come out sorted (integers by value, text by
code point), as scikit-learn does. Small non-negative integers are used as codes directly, so that a
uint8 array is never copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.numerics.foreign import to_native

DIRECT = 1024
"""Non-negative integer labels below this are their own codes."""


def encode_pair(truth: Sequence[Any] | Array, prediction: Sequence[Any] | Array) -> tuple[list[Any], Array, Array]:
    """Return the classes of both sides and the codes of each.

    >>> encode_pair(["b", "a"], ["a", "a"])
    (['a', 'b'], array([1, 0]), array([0, 0]))
    """
    true, predicted = as_labels(truth, "truth"), as_labels(prediction, "prediction")
    if len(true) != len(predicted):
        raise InputError(f"expected as many predictions as truths, but got {len(predicted)} and {len(true)}")
    if not len(true):
        return [], np.zeros(0, np.int64), np.zeros(0, np.int64)
    if _is_text(true) != _is_text(predicted):
        raise InputError(
            f"truth and prediction are labelled in different kinds ({true.dtype} and {predicted.dtype}): "
            "give both as integers or both as text"
        )
    if _is_text(true):
        return _encode_text(true, predicted)
    if true.dtype.kind == "b" and predicted.dtype.kind == "b":
        return [False, True], true.view(np.uint8), predicted.view(np.uint8)
    return _encode_integers(_unbool(true), _unbool(predicted))


def as_labels(values: Sequence[Any] | Array, side: str) -> Array:
    """Return labels as a one-dimensional array of integers, booleans or text (fixed-width, or str objects)."""
    if isinstance(values, (str, bytes)):
        raise InputError(f"{side}: expected a sequence of labels, but got one text {values!r}")
    array = _asarray(values, side)
    if array.ndim != 1:
        raise InputError(f"{side}: expected one label per sample, but got an array of shape {array.shape}")
    if array.size and array.dtype.kind not in "iubUO":
        where = f" (first: {array[0]!r})"
        raise InputError(f"{side}: expected integers or text as labels, but got {array.dtype}{where}")
    return array


def _asarray(values: Sequence[Any] | Array, side: str) -> Array:
    array = values if isinstance(values, np.ndarray) else _from_sequence(values, side)
    if isinstance(array, np.ma.MaskedArray):
        array = _from_masked(array, side)
    if array.dtype.kind == "O" or array.dtype.kind == "T":
        array = _from_objects(array, side)
    return array


def _from_masked(array: np.ma.MaskedArray[Any, Any], side: str) -> Array:
    """Return the labels of a masked array, none of which may be masked: what lies below a mask is no label."""
    masked = np.flatnonzero(np.ma.getmaskarray(array))
    if len(masked):
        raise InputError(
            f"{side}: expected a label for every sample, but {len(masked):,} of {array.size:,} are masked (first: "
            f"sample {masked[0]}); fill them in, or leave these samples out on both sides"
        )
    return np.asarray(array.data)


def _from_sequence(values: Sequence[Any], side: str) -> Array:
    values = to_native(values, side)
    if isinstance(values, np.ndarray):
        return values
    if not isinstance(values, Iterable):
        raise InputError(f"{side}: expected a sequence of labels, but got {type(values).__name__}")
    items = list(values)
    if any(isinstance(item, str) for item in items):
        return _from_objects(np.array(items, dtype=object), side)
    try:
        return np.asarray(items)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{side}: expected one label per sample: {error}") from error


def _from_objects(array: Array, side: str) -> Array:
    if array.ndim != 1:
        raise InputError(f"{side}: expected one label per sample, but got an array of shape {array.shape}")
    kinds = {type(item) for item in array.tolist()}
    if kinds and all(issubclass(kind, str) for kind in kinds):
        return array.astype(object)  # fixed-width text would drop trailing NULs
    if kinds and all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        try:
            return array.astype(np.int64)
        except OverflowError as error:
            raise InputError(f"{side}: a label does not fit 64 bits: {error}") from error
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise InputError(f"{side}: expected labels that are all integers or all text, but got {names or 'none'}")


def _encode_text(true: Array, predicted: Array) -> tuple[list[Any], Array, Array]:
    import pyarrow as pa

    try:
        sides = [pa.array(side, type=pa.string()) for side in (true, predicted)]
    except (UnicodeEncodeError, pa.ArrowInvalid) as error:
        raise InputError(f"a label is not valid text: {error}") from error
    both = pa.concat_arrays(sides).dictionary_encode()
    words = np.array(both.dictionary.to_pylist(), dtype=object)
    order = np.array(sorted(range(len(words)), key=words.__getitem__), dtype=np.int64)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    codes = rank[both.indices.to_numpy(zero_copy_only=False)]
    return [str(word) for word in words[order]], codes[: len(true)], codes[len(true) :]


def _encode_integers(true: Array, predicted: Array) -> tuple[list[Any], Array, Array]:
    low = min(int(true.min()), int(predicted.min()))
    high = max(int(true.max()), int(predicted.max()))
    if low >= 0 and high < DIRECT:
        return list(range(high + 1)), true, predicted
    if high - low < DIRECT:
        return list(range(low, high + 1)), _shift(true, low), _shift(predicted, low)
    wide = np.uint64 if low >= 0 and high > np.iinfo(np.int64).max else np.int64
    both = np.concatenate([true.astype(wide), predicted.astype(wide)])
    classes, codes = np.unique(both, return_inverse=True)
    return classes.tolist(), codes[: len(true)], codes[len(true) :]


def _is_text(values: Array) -> bool:
    return values.dtype.kind in "UO"


def _unbool(values: Array) -> Array:
    return values.view(np.uint8) if values.dtype.kind == "b" else values


def _shift(values: Array, low: int) -> Array:
    if low > np.iinfo(np.int64).max:
        return (values - np.uint64(low)).astype(np.int64)
    return values.astype(np.int64) - low
