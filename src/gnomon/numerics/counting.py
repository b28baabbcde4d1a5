"""Count class codes in one pass: confusion tables, whole or per case, dense or sparse.

Conventions
-----------
Labels are integer codes: ``0 .. n_classes - 1`` for classes, ``0 .. n_cases - 1`` for cases. Any integer dtype,
stride and byte order is read in place (other byte orders and strided bytes are copied first). Truth comes first:
rows are truth, columns are prediction. Counts are ``int64``.

How the byte kernels work
-------------------------
Both walk over explicit vectors and keep a running maximum, so that the range check costs next to nothing.

* Up to 3 classes nothing is looked up. Eight sums over bytes determine all nine cells: with ``a = [t = 1]`` and
  ``b = [p = 1]`` these are the sums of ``a, b, t, p, a&b, a&p, t&b, t&p``. They are kept in byte lanes and widened
  before a lane can overflow.
* Up to 252 classes joint codes ``t * k + p`` are computed a vector at a time and counted in a table of 32-bit
  integers. Good predictions hit few cells, and an increment has to wait for an unfinished one of the same cell;
  so agreement is counted in :data:`_LANES` private rows in front of the table. One table is kept, not several:
  four tables were slower as soon as they left the first-level cache. Codes are clamped to the table, so that a bad
  code is found by the maximum afterwards and can do no harm before.

All other inputs use scalar kernels that check each code before it is counted.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import ArrayLike, NDArray

from gnomon.core.errors import InputError

Counts = NDArray[np.int64]
Codes = NDArray[np.integer[Any]]
_Function = TypeVar("_Function", bound=Callable[..., Any])

_BYTES = 32  # bytes per vector of the kernel for few classes
_FLUSH = 127  # vectors that a byte lane survives: each adds at most 2
_AHEAD = 64  # vectors to fetch ahead; measured, the hardware alone leaves a quarter of the time
_STEP = 16  # samples per round of the table kernel: their 16-bit codes fill one 256-bit vector
_LANES = 8  # private rows for agreement
_MOST_CLASSES = 252  # (k + _LANES) * k must fit 16 bits
_CHUNK = 1 << 31  # samples per table of 32-bit counts

_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))


def confusion(truth: ArrayLike, prediction: ArrayLike, n_classes: int) -> Counts:
    """Count how often each class was predicted as each class.

    Parameters
    ----------
    truth, prediction
        Integer codes in ``[0, n_classes)``, both of shape ``(n,)``.
    n_classes
        Number of classes ``k``.

    Returns
    -------
    Counts of shape ``(k, k)``: rows are truth, columns are prediction.

    Raises
    ------
    InputError
        Names the first code that is out of range, or what is wrong with a shape or dtype.

    Examples
    --------
    >>> confusion([0, 1, 1, 2], [0, 1, 2, 2], 3)
    array([[1, 0, 0],
           [0, 1, 1],
           [0, 0, 1]])
    """
    k = _size("n_classes", n_classes, least=1)
    columns = [_column("truth", truth, k), _column("prediction", prediction, k)]
    n = _common_length(columns)
    table = _zeros(k, k)
    narrow = k <= _MOST_CLASSES and all(_fits_byte(column.codes, k) for column in columns)
    if not narrow:
        if not _count_any(*_source(columns[0]), *_source(columns[1]), n, k, table):
            _reject(columns)
        return table
    count = _few if k <= 3 else _many
    t, p = (np.ascontiguousarray(column.codes).view(np.uint8) for column in columns)
    for start in range(0, n, _CHUNK):
        part, largest = count(t[start : start + _CHUNK], p[start : start + _CHUNK], k)
        if largest >= k:
            _reject(columns)
        table += part
    return table


def class_counts(
    truth: ArrayLike, prediction: ArrayLike, case: ArrayLike, n_classes: int, n_cases: int
) -> tuple[Counts, Counts, Counts]:
    """Count true positives and the support of truth and prediction, per case and class, in one pass.

    Parameters
    ----------
    truth, prediction
        Integer codes in ``[0, n_classes)``, both of shape ``(n,)``. A signed prediction may be -1: none was given;
        it counts in the support of the truth only.
    case
        The case of each sample, integer codes in ``[0, n_cases)``, shape ``(n,)``.
    n_classes, n_cases
        Number of classes and of cases.

    Returns
    -------
    ``(tp, truth_support, predicted_support)``, each of shape ``(n_cases, n_classes)``.

    Raises
    ------
    InputError
        Names the first code that is out of range, or what is wrong with a shape or dtype.

    Examples
    --------
    >>> tp, truth_support, predicted_support = class_counts([0, 1, 1], [0, 0, -1], [0, 0, 1], 2, 2)
    >>> tp
    array([[1, 0],
           [0, 0]])
    >>> truth_support
    array([[1, 1],
           [0, 1]])
    >>> predicted_support
    array([[2, 0],
           [0, 0]])
    """
    columns, n, k, m = _per_case(truth, prediction, case, n_classes, n_cases)
    tp, truth_support, predicted_support = _zeros(m, k), _zeros(m, k), _zeros(m, k)
    sources = [part for column in columns for part in _source(column)]
    if not _count_classes(*sources, columns[1].low, n, k, m, tp, truth_support, predicted_support):
        _reject(columns)
    return tp, truth_support, predicted_support


def pair_counts(
    truth: ArrayLike, prediction: ArrayLike, case: ArrayLike, n_classes: int, n_cases: int
) -> tuple[Counts, NDArray[np.int32], NDArray[np.int32], Counts]:
    """Count which truth met which prediction in which case, and return the counts that are not zero.

    Parameters
    ----------
    truth, prediction, case, n_classes, n_cases
        As in :func:`class_counts`; a prediction of -1 is kept as -1.

    Returns
    -------
    ``(case, truth, prediction, count)``, four columns of equal length sorted by case, truth, prediction.

    Raises
    ------
    InputError
        Names the first code that is out of range, or what is wrong with a shape, dtype or size.

    Notes
    -----
    The work space is proportional to the number of samples, whatever ``n_cases`` and ``n_classes`` are.

    Examples
    --------
    >>> for column in pair_counts([1, 0, 0, 1], [1, -1, -1, 0], [0, 0, 0, 1], 2, 2):
    ...     print(column)
    [0 0 1]
    [0 1 1]
    [-1  1  0]
    [2 1 1]
    """
    columns, n, k, m = _per_case(truth, prediction, case, n_classes, n_cases)
    cells = m * k * (k + 1)
    if k > np.iinfo(np.int32).max or cells > np.iinfo(np.int64).max:
        raise InputError(
            f"{m} cases of {k} classes have too many cells to number, expected n_classes below 2**31 and "
            "n_cases * n_classes * (n_classes + 1) below 2**63; count fewer cases at a time"
        )
    keys = np.empty(n, np.int64)
    sources = [part for column in columns for part in _source(column)]
    if not _number_cells(*sources, columns[1].low, n, k, m, keys):
        _reject(columns)
    found, count = _runs(keys, cells)
    rest, prediction_code = np.divmod(found, k + 1)
    case_code, truth_code = np.divmod(rest, k)
    return case_code, truth_code.astype(np.int32), (prediction_code - 1).astype(np.int32), count


class _Column(NamedTuple):
    """One input, the codes it may hold and what to call it."""

    name: str
    codes: Codes
    low: int
    stop: int


def _column(name: str, values: ArrayLike, stop: int, *, optional: bool = False) -> _Column:
    codes = np.asarray(values)
    if codes.ndim != 1:
        raise InputError(f"{name} has shape {codes.shape}, expected one dimension: one code per sample")
    if not np.issubdtype(codes.dtype, np.integer):
        raise InputError(f"{name} has dtype {codes.dtype}, expected integer codes; encode the labels first")
    if not codes.dtype.isnative:
        codes = codes.astype(codes.dtype.newbyteorder("="))
    low = -1 if optional and np.issubdtype(codes.dtype, np.signedinteger) else 0
    return _Column(name, codes, low, stop)


def _per_case(
    truth: ArrayLike, prediction: ArrayLike, case: ArrayLike, n_classes: int, n_cases: int
) -> tuple[list[_Column], int, int, int]:
    k = _size("n_classes", n_classes, least=1)
    m = _size("n_cases", n_cases, least=0)
    columns = [
        _column("truth", truth, k),
        _column("prediction", prediction, k, optional=True),
        _column("case", case, m),
    ]
    return columns, _common_length(columns), k, m


def _size(name: str, value: int, *, least: int) -> int:
    try:
        size = operator.index(value)
    except TypeError:
        size = least - 1
    if size < least:
        raise InputError(f"{name} is {value!r}, expected an integer of at least {least}")
    return size


def _common_length(columns: list[_Column]) -> int:
    lengths = [column.codes.size for column in columns]
    if len(set(lengths)) > 1:
        found = ", ".join(f"{column.name} has {size}" for column, size in zip(columns, lengths, strict=True))
        raise InputError(f"inputs differ in length: {found}; expected one code per sample in each")
    return lengths[0]


def _zeros(rows: int, columns: int) -> Counts:
    try:
        return np.zeros((rows, columns), np.int64)
    except (MemoryError, ValueError) as error:
        raise InputError(
            f"a table of {rows} x {columns} counts does not fit into memory; use pair_counts, which keeps only "
            "the cells that occur"
        ) from error


def _reject(columns: list[_Column]) -> NoReturn:
    """Name the first code that is out of range; on equal indices the first column."""
    worst: tuple[int, _Column] | None = None
    for column in columns:
        bad = (column.codes < column.low) | (column.codes >= column.stop)
        index = int(bad.argmax()) if bad.any() else None
        if index is not None and (worst is None or index < worst[0]):
            worst = index, column
    if worst is None:
        raise AssertionError("a kernel refused codes that are all in range")
    index, column = worst
    raise InputError(
        f"{column.name}[{index}] is {column.codes[index]}, expected a code from {column.low} to {column.stop - 1} "
        f"({column.stop} in all)"
    )


def _fits_byte(codes: Codes, k: int) -> bool:
    """Whether the codes can be read as unsigned bytes: a negative one then reads as 128 or more."""
    return codes.dtype == np.uint8 or (codes.dtype == np.int8 and k <= 128)


def _source(column: _Column) -> tuple[int, int, np.integer[Any]]:
    """Address, stride and a value of the right type: one compiled kernel for all layouts of a dtype."""
    codes = column.codes
    return codes.ctypes.data, codes.strides[0], codes.dtype.type(0)


def _few(truth: NDArray[np.uint8], prediction: NDArray[np.uint8], k: int) -> tuple[Counts, int]:
    """Confusion of at most 3 classes and the largest code."""
    sums = np.zeros(8, np.int64)
    largest = 0
    for t, p, _ in _whole_vectors(truth, prediction, _BYTES):
        largest = max(largest, _sum_products(t.ctypes.data, p.ctypes.data, t.size // _BYTES, sums))
    a, b, t_sum, p_sum, n11, a_p, t_b, t_p = (int(value) for value in sums)
    n12, n21, n22 = (a_p - n11) // 2, (t_b - n11) // 2, (t_p - n11) // 2
    n10, n01 = a - n11 - n12, b - n11 - n21
    n20, n02 = (t_sum - a) // 2 - n21 - n22, (p_sum - b) // 2 - n12 - n22
    n00 = truth.size - (n01 + n02 + n10 + n11 + n12 + n20 + n21 + n22)
    table = np.array([[n00, n01, n02], [n10, n11, n12], [n20, n21, n22]], np.int64)
    return table[:k, :k], largest


def _many(truth: NDArray[np.uint8], prediction: NDArray[np.uint8], k: int) -> tuple[Counts, int]:
    """Confusion of at most ``_MOST_CLASSES`` classes and the largest code; fewer than 2**32 samples."""
    counts = np.zeros((k + _LANES, k), np.uint32)
    largest = padding = 0
    for t, p, padding in _whole_vectors(truth, prediction, _STEP):  # noqa: B007
        largest = max(largest, _count_joint(t.ctypes.data, p.ctypes.data, t.size // _STEP, k, counts.ctypes.data))
    table = counts[_LANES:].astype(np.int64)
    table.flat[:: k + 1] += counts[:_LANES].sum(axis=0, dtype=np.int64)
    table[0, 0] -= padding
    return table, largest
