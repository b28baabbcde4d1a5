"""Count class codes in one pass: confusion tables, whole or per case, dense or sparse.

Conventions
-----------
Labels are integer codes: ``0 .. n_classes - 1`` for classes, ``0 .. n_cases - 1`` for cases. Any integer dtype
is read as it is; strided arrays and foreign byte orders are copied first. Truth comes first: rows are truth, columns
are prediction. Counts are ``int64``.

Unsigned bytes of up to 252 classes are counted by the vector kernels of :mod:`gnomon.numerics.bytewise`; all other
inputs by scalar kernels that check each code before it is counted. Few samples are counted by plain array operations:
fetching the compiler would take longer than counting them.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.core.errors import InputError
from gnomon.core.processors import processors

Counts = NDArray[np.int64]
Codes = NDArray[np.integer[Any]]
_Source = tuple[int, np.integer[Any]]

_FEW = 1 << 16  # samples below which nothing is compiled
_CHUNK = 1 << 31  # samples per table of 32-bit counts
_SHARED = 1 << 23  # samples from which a second thread is worth its start, even where processors are busy


def confusion(truth: ArrayLike, prediction: ArrayLike, n_classes: int, *, threads: int | None = None) -> Counts:
    """Count how often each class was predicted as each class.

    Parameters
    ----------
    truth, prediction
        Integer codes in ``[0, n_classes)``, both of shape ``(n,)``.
    n_classes
        Number of classes ``k``.
    threads
        How many threads may work on 4 to 252 classes given as bytes; all other counting is done in one. By default
        two where there are many labels and two processors. The result does not depend on it.

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
    k = _size("n_classes", n_classes)
    columns = [_column("truth", truth, k), _column("prediction", prediction, k)]
    _check_lengths(columns)
    table = _zeros(k, k)
    if columns[0].codes.size < _FEW:
        rows, cells = _checked(columns)
        _add(table, rows * k + cells)
        return table
    from gnomon.numerics._counted import count_any
    from gnomon.numerics.bytewise import MOST_CLASSES, few, many

    narrow = k <= MOST_CLASSES and all(_fits_byte(column.codes, k) for column in columns)
    if not narrow:
        if not count_any(_source(columns[0]), _source(columns[1]), columns[0].codes.size, k, table):
            _reject(columns)
        return table
    t, p = (column.codes.view(np.uint8) for column in columns)
    workers = _workers(t.size) if threads is None else max(_size("threads", threads), 1)
    for start in range(0, t.size, _CHUNK):
        chunk = t[start : start + _CHUNK], p[start : start + _CHUNK]
        part, largest = few(*chunk, k) if k <= 3 else many(*chunk, k, workers)
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
    columns, shape = _per_case(truth, prediction, case, n_classes, n_cases)
    _, m, k = shape
    tables = _zeros(m, k), _zeros(m, k), _zeros(m, k)
    if columns[0].codes.size < _FEW:
        t, p, c = _checked(columns)
        for table, taken, codes in zip(tables, (t == p, slice(None), p >= 0), (t, t, p), strict=True):
            _add(table, (c * k + codes)[taken])
        return tables
    from gnomon.numerics._counted import count_classes

    first, second, third = map(_source, columns)
    if not count_classes(first, second, third, shape, columns[1].low, tables):
        _reject(columns)
    return tables


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
    columns, shape = _per_case(truth, prediction, case, n_classes, n_cases)
    _, m, k = shape
    cells = m * k * (k + 1)
    if k > np.iinfo(np.int32).max or cells > np.iinfo(np.int64).max:
        raise InputError(
            f"{m} cases of {k} classes have too many cells to number, expected n_classes below 2**31 and "
            "n_cases * n_classes * (n_classes + 1) below 2**63; count fewer cases at a time"
        )
    found, count = _runs(_numbered(columns, shape), cells)
    rest, prediction_code = np.divmod(found, k + 1)
    case_code, truth_code = np.divmod(rest, k)
    return case_code, truth_code.astype(np.int32), (prediction_code - 1).astype(np.int32), count


def _numbered(columns: list[_Column], shape: tuple[int, int, int]) -> Counts:
    """Return the cell of each sample: by case, then truth, then prediction, of which the first is none."""
    n, _, k = shape
    if n < _FEW:
        t, p, c = _checked(columns)
        return (c * k + t) * (k + 1) + p + 1
    from gnomon.numerics._counted import number_cells

    keys = np.empty(n, np.int64)
    first, second, third = map(_source, columns)
    if not number_cells(first, second, third, shape, columns[1].low, keys):
        _reject(columns)
    return keys


def _checked(columns: list[_Column]) -> list[Counts]:
    """Return codes as int64, once all are in range."""
    if any(
        column.codes.size and (column.codes.min() < column.low or column.codes.max() >= column.stop)
        for column in columns
    ):
        _reject(columns)
    return [column.codes.astype(np.int64) for column in columns]


def _add(table: Counts, cells: Counts) -> None:
    """Count cells into a table of zeros; ``cells`` is overwritten."""
    found, count = _runs(cells, table.size)
    table.reshape(-1)[found] = count


class _Column(NamedTuple):
    """One input, the codes it may hold and what to call it."""

    name: str
    codes: Codes
    low: int
    stop: int


def _column(name: str, values: ArrayLike, stop: int, *, optional: bool = False) -> _Column:
    try:
        codes = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} is no array: {error}; expected one code per sample") from error
    if codes.ndim != 1:
        raise InputError(f"{name} has shape {codes.shape}, expected one dimension: one code per sample")
    if codes.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {codes.dtype}, expected integer codes; encode the labels first")
    codes = np.ascontiguousarray(codes, codes.dtype.newbyteorder("="))
    low = -1 if optional and codes.dtype.kind == "i" else 0
    return _Column(name, codes, low, stop)


def _per_case(
    truth: ArrayLike, prediction: ArrayLike, case: ArrayLike, n_classes: int, n_cases: int
) -> tuple[list[_Column], tuple[int, int, int]]:
    k = _size("n_classes", n_classes)
    m = _size("n_cases", n_cases)
    columns = [
        _column("truth", truth, k),
        _column("prediction", prediction, k, optional=True),
        _column("case", case, m),
    ]
    _check_lengths(columns)
    return columns, (columns[0].codes.size, m, k)


def _size(name: str, value: int) -> int:
    try:
        size = operator.index(value)
    except TypeError:
        size = -1
    if not 0 <= size < 1 << 63:
        raise InputError(f"{name} is {value!r}, expected an integer from 0 to 2**63 - 1")
    return size


def _check_lengths(columns: list[_Column]) -> None:
    lengths = [column.codes.size for column in columns]
    if len(set(lengths)) > 1:
        found = ", ".join(f"{column.name} has {size}" for column, size in zip(columns, lengths, strict=True))
        raise InputError(f"inputs differ in length: {found}; expected one code per sample in each")


def _zeros(rows: int, columns: int) -> Counts:
    try:
        return np.zeros((rows, columns), np.int64)
    except (MemoryError, ValueError) as error:
        raise InputError(
            f"a table of {rows} x {columns} counts does not fit into memory, expected fewer classes or cases; "
            "use pair_counts, which keeps only the cells that occur"
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
        f"{column.name}[{index}] is {column.codes[index]}, expected a code in [{column.low}, {column.stop}); "
        "correct the code or count more classes or cases"
    )


def _workers(n: int) -> int:
    return 1 if n < _SHARED else min(processors(), 2)


def _fits_byte(codes: Codes, k: int) -> bool:
    """Whether the codes can be read as unsigned bytes: a negative one then reads as 128 or more."""
    return codes.dtype == np.uint8 or (codes.dtype == np.int8 and k <= 128)


def _source(column: _Column) -> _Source:
    """Address and a value of the right type: one compiled kernel for frozen, writeable and unaligned arrays."""
    return column.codes.ctypes.data, column.codes.dtype.type(0)


def _runs(keys: Counts, cells: int) -> tuple[Counts, Counts]:
    """Distinct keys, sorted, and how often each occurs; ``keys`` is overwritten."""
    if cells <= 2 * keys.size + 1024:
        dense = np.bincount(keys, minlength=cells)
        found = np.flatnonzero(dense)
        return found, dense[found]
    keys.sort()
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if keys.size else keys
    return keys[starts], np.diff(starts, append=keys.size)
