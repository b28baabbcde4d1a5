"""Count class codes in one pass: confusion tables, whole or per case, dense or sparse.

Conventions
-----------
Labels are integer codes: ``0 .. n_classes - 1`` for classes, ``0 .. n_cases - 1`` for cases. Any integer dtype
is read as it is; strided arrays and foreign byte orders are copied first. Truth comes first: rows are truth, columns
are prediction. Counts are ``int64``.

How the byte kernels work
-------------------------
Both walk over explicit vectors and keep a running maximum, so that the range check costs next to nothing.

* Up to 3 classes nothing is looked up. Eight sums over bytes determine all nine cells: with ``a = [t = 1]`` and
  ``b = [p = 1]`` these are the sums of ``a, b, a&b, t, p, a&p, t&b, t&p``. They are kept in byte lanes and widened
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
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.cgutils import get_or_insert_function
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
    k = _size("n_classes", n_classes)
    columns = [_column("truth", truth, k), _column("prediction", prediction, k)]
    n = _common_length(columns)
    table = _zeros(k, k)
    narrow = k <= _MOST_CLASSES and all(_fits_byte(column.codes, k) for column in columns)
    if not narrow:
        if not _count_any(*_source(columns[0]), *_source(columns[1]), n, k, table):
            _reject(columns)
        return table
    count = _few if k <= 3 else _many
    t, p = (column.codes.view(np.uint8) for column in columns)
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
    codes = np.ascontiguousarray(codes, codes.dtype.newbyteorder("="))
    low = -1 if optional and np.issubdtype(codes.dtype, np.signedinteger) else 0
    return _Column(name, codes, low, stop)


def _per_case(
    truth: ArrayLike, prediction: ArrayLike, case: ArrayLike, n_classes: int, n_cases: int
) -> tuple[list[_Column], int, int, int]:
    k = _size("n_classes", n_classes)
    m = _size("n_cases", n_cases)
    columns = [
        _column("truth", truth, k),
        _column("prediction", prediction, k, optional=True),
        _column("case", case, m),
    ]
    return columns, _common_length(columns), k, m


def _size(name: str, value: int) -> int:
    try:
        size = operator.index(value)
    except TypeError:
        size = -1
    if size < 0:
        raise InputError(f"{name} is {value!r}, expected an integer that is not negative")
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
        f"{column.name}[{index}] is {column.codes[index]}, expected a code in [{column.low}, {column.stop}); "
        "correct the code or count more classes or cases"
    )


def _fits_byte(codes: Codes, k: int) -> bool:
    """Whether the codes can be read as unsigned bytes: a negative one then reads as 128 or more."""
    return codes.dtype == np.uint8 or (codes.dtype == np.int8 and k <= 128)


def _source(column: _Column) -> tuple[int, np.integer[Any]]:
    """Address and a value of the right type: one compiled kernel for frozen, writeable and unaligned arrays."""
    return column.codes.ctypes.data, column.codes.dtype.type(0)


def _few(truth: NDArray[np.uint8], prediction: NDArray[np.uint8], k: int) -> tuple[Counts, int]:
    """Confusion of at most 3 classes and the largest code."""
    sums = np.zeros(8, np.int64)
    largest = 0
    for t, p in _whole_vectors(truth, prediction, _BYTES):
        largest = max(largest, _sum_products(t.ctypes.data, p.ctypes.data, t.size // _BYTES, sums.ctypes.data))
    a, b, n11, t_sum, p_sum, a_p, t_b, t_p = (int(value) for value in sums)
    n12, n21, n22 = (a_p - n11) // 2, (t_b - n11) // 2, (t_p - n11) // 2
    n10, n01 = a - n11 - n12, b - n11 - n21
    n20, n02 = (t_sum - a) // 2 - n21 - n22, (p_sum - b) // 2 - n12 - n22
    n00 = truth.size - (n01 + n02 + n10 + n11 + n12 + n20 + n21 + n22)
    table = np.array([[n00, n01, n02], [n10, n11, n12], [n20, n21, n22]], np.int64)
    return table[:k, :k], largest


def _many(truth: NDArray[np.uint8], prediction: NDArray[np.uint8], k: int) -> tuple[Counts, int]:
    """Confusion of at most ``_MOST_CLASSES`` classes and the largest code; fewer than 2**32 samples."""
    counts = np.zeros((k + _LANES, k), np.uint32)
    largest = 0
    for t, p in _whole_vectors(truth, prediction, _STEP):
        largest = max(largest, _count_joint(t.ctypes.data, p.ctypes.data, t.size // _STEP, k, counts.ctypes.data))
    table = counts[_LANES:].astype(np.int64)
    table.flat[:: k + 1] += counts[:_LANES].sum(axis=0, dtype=np.int64)
    table[0, 0] -= -truth.size % _STEP
    return table, largest


def _whole_vectors(
    truth: NDArray[np.uint8], prediction: NDArray[np.uint8], width: int
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
    """Cut into a part of whole vectors and a last vector, padded with class 0 on both sides."""
    whole = truth.size // width * width
    yield truth[:whole], prediction[:whole]
    if whole < truth.size:
        padded = np.zeros((2, width), np.uint8)
        padded[0, : truth.size - whole] = truth[whole:]
        padded[1, : truth.size - whole] = prediction[whole:]
        yield padded[0], padded[1]


def _runs(keys: Counts, cells: int) -> tuple[Counts, Counts]:
    """Distinct keys, sorted, and how often each occurs; ``keys`` is overwritten."""
    if cells <= 2 * keys.size + 1024:
        dense = np.bincount(keys, minlength=cells)
        found = np.flatnonzero(dense)
        return found, dense[found]
    keys.sort()
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if keys.size else keys
    return keys[starts], np.diff(starts, append=keys.size)


def _jit(function: _Function) -> _Function:
    """Compile on first use and keep the machine code on disk where that is possible."""
    try:
        return cast(_Function, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no writable place for a cache
        return cast(_Function, njit(nogil=True)(function))


def _emit(function: _Function) -> _Function:
    """Make a function that writes machine code by hand callable from compiled code."""
    return cast(_Function, intrinsic(function))


@_emit
def _load(_: Any, address: Any, index: Any, like: Any) -> Any:
    """Read the code at an index of an array with the dtype of ``like``; one of 2**63 or more turns negative."""

    def code(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], context.get_value_type(like).as_pointer())
        return context.cast(builder, _value_at(builder, pointer, arguments[1]), like, types.int64)

    return types.int64(address, index, like), code


@_emit
def _products_of(_: Any, truth: Any, prediction: Any, steps: Any, sums: Any) -> Any:
    """Add the eight sums over ``1 .. _FLUSH`` vectors to ``sums`` and return the largest byte."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        vector = ir.VectorType(_I8, _BYTES)
        zero, one = _splat(vector, 0), _splat(vector, 1)
        truth, prediction = (builder.inttoptr(argument, vector.as_pointer()) for argument in arguments[:2])
        loop = _Loop(builder, arguments[2], [zero] * 9)
        for pointer in (truth, prediction):
            _prefetch(builder, builder.gep(pointer, [builder.add(loop.index, _I64(_AHEAD))]))
        t, p = (_value_at(builder, pointer, loop.index) for pointer in (truth, prediction))
        a, b = (builder.sext(builder.icmp_unsigned("==", codes, one), vector) for codes in (t, p))  # 0 or -1
        taken = (a, b, builder.and_(a, b))
        added = (t, p, builder.and_(a, p), builder.and_(t, b), builder.and_(t, p))
        lanes = [builder.sub(lane, term) for lane, term in zip(loop.carried[:3], taken, strict=True)]
        lanes += [builder.add(lane, term) for lane, term in zip(loop.carried[3:8], added, strict=True)]
        largest = _larger(builder, loop.carried[8], _larger(builder, t, p))
        lanes = loop.close([*lanes, largest])
        wide = ir.VectorType(_I16, _BYTES)
        for position, lane in enumerate(lanes[:8]):
            total = _reduce(builder, "add", builder.zext(lane, wide))
            pointer = builder.gep(builder.inttoptr(arguments[3], _I64.as_pointer()), [_I64(position)])
            builder.store(builder.add(builder.load(pointer), builder.zext(total, _I64)), pointer)
        return builder.zext(_reduce(builder, "umax", lanes[8]), _I64)

    return types.int64(truth, prediction, steps, sums), code


@_emit
def _joint_of(_: Any, truth: Any, prediction: Any, steps: Any, classes: Any, table: Any) -> Any:
    """Count ``steps`` vectors of joint codes in a table of 32-bit counts and return the largest byte."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        vector, wide = ir.VectorType(_I8, _STEP), ir.VectorType(_I16, _STEP)
        truth, prediction = (builder.inttoptr(argument, vector.as_pointer()) for argument in arguments[:2])
        cells = builder.inttoptr(arguments[4], _I32.as_pointer())
        k = _spread(builder, builder.trunc(arguments[3], _I16), wide)
        last = _spread(builder, builder.trunc(builder.sub(arguments[3], _I64(1)), _I8), vector)
        lanes = builder.mul(k, ir.Constant(wide, [position % _LANES for position in range(_STEP)]))
        table_start = builder.mul(k, _splat(wide, _LANES))
        loop = _Loop(builder, arguments[2], [_splat(vector, 0)])
        t, p = (_value_at(builder, pointer, loop.index) for pointer in (truth, prediction))
        largest = _larger(builder, loop.carried[0], _larger(builder, t, p))
        t, p = (_smaller(builder, codes, last) for codes in (t, p))
        row, column = builder.zext(t, wide), builder.zext(p, wide)
        joint = builder.add(builder.mul(row, k), builder.add(column, table_start))
        joint = builder.select(builder.icmp_unsigned("==", t, p), builder.add(row, lanes), joint)
        words = builder.bitcast(joint, ir.VectorType(_I64, _STEP // 4))
        for position in range(_STEP):
            word = builder.extract_element(words, _I32(position // 4))
            cell = builder.and_(builder.lshr(word, _I64(position % 4 * 16)), _I64(0xFFFF))
            pointer = builder.gep(cells, [cell])
            builder.store(builder.add(builder.load(pointer), _I32(1)), pointer)
        return builder.zext(_reduce(builder, "umax", loop.close([largest])[0]), _I64)

    return types.int64(truth, prediction, steps, classes, table), code


class _Loop:
    """A counted loop of at least one round that carries values; opened here, ended by :meth:`close`."""

    def __init__(self, builder: Any, rounds: Any, first: list[Any]) -> None:
        self._builder, self._rounds = builder, rounds
        before = builder.block
        self._body = builder.append_basic_block("body")
        builder.branch(self._body)
        builder.position_at_end(self._body)
        self.index = builder.phi(_I64)
        self.index.add_incoming(_I64(0), before)
        self.carried = [builder.phi(value.type) for value in first]
        for slot, value in zip(self.carried, first, strict=True):
            slot.add_incoming(value, before)

    def close(self, values: list[Any]) -> list[Any]:
        """Go round again with these values; after the last round they are the result."""
        builder = self._builder
        following = builder.add(self.index, _I64(1))
        for slot, value in zip([self.index, *self.carried], [following, *values], strict=True):
            slot.add_incoming(value, self._body)
        after = builder.append_basic_block("after")
        jump = builder.cbranch(builder.icmp_unsigned("<", following, self._rounds), self._body, after)
        jump.set_metadata("llvm.loop", _as_it_is(builder.module))
        builder.position_at_end(after)
        return values


def _as_it_is(module: Any) -> Any:
    """Loop metadata against unrolling, which would push the carried vectors out of the registers."""
    node = module.add_metadata([module.add_metadata(["llvm.loop.unroll.disable"])])
    if node.operands[0] is not node:  # loop metadata must name itself first
        node.operands = (node, *node.operands)
    return node


def _splat(vector: Any, value: int) -> Any:
    return ir.Constant(vector, [value] * vector.count)


def _spread(builder: Any, value: Any, vector: Any) -> Any:
    """Copy a value that is known at run time to all places of a vector."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, _I32(0))
    return builder.shuffle_vector(first, undefined, _splat(ir.VectorType(_I32, vector.count), 0))


def _value_at(builder: Any, pointer: Any, index: Any) -> Any:
    value = builder.load(builder.gep(pointer, [index]))
    value.align = 1
    return value


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_unsigned(">", a, b), a, b)


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_unsigned("<", a, b), a, b)


def _reduce(builder: Any, operation: str, vector: Any) -> Any:
    item = vector.type.element
    name = f"llvm.vector.reduce.{operation}.v{vector.type.count}i{item.width}"
    function = get_or_insert_function(builder.module, ir.FunctionType(item, [vector.type]), name)
    return builder.call(function, [vector])


def _prefetch(builder: Any, pointer: Any) -> None:
    """Ask for data that will be read soon; an address past the end is allowed."""
    kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), _I32, _I32, _I32])
    function = get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    read, keep, data = _I32(0), _I32(3), _I32(1)
    builder.call(function, [builder.bitcast(pointer, _I8.as_pointer()), read, keep, data])


@_jit
def _sum_products(truth: int, prediction: int, steps: int, sums: int) -> int:
    largest = 0
    for start in range(0, steps, _FLUSH):
        some = min(steps - start, _FLUSH)
        offset = start * _BYTES
        largest = max(largest, _products_of(truth + offset, prediction + offset, some, sums))
    return largest


@_jit
def _count_joint(truth: int, prediction: int, steps: int, k: int, table: int) -> int:
    if steps == 0:
        return 0
    return _joint_of(truth, prediction, steps, k, table)


@_jit
def _count_any(truth: int, truth_like: int, prediction: int, like: int, n: int, k: int, table: Any) -> bool:
    cells, stop = table.reshape(-1), np.uint64(k)
    for i in range(n):
        t = np.uint64(_load(truth, i, truth_like))  # a negative code becomes a huge one
        p = np.uint64(_load(prediction, i, like))
        if t >= stop or p >= stop:
            return False
        cells[t * stop + p] += 1
    return True


@_jit
def _count_classes(
    truth: int,
    truth_stride: int,
    truth_like: int,
    prediction: int,
    stride: int,
    like: int,
    case: int,
    case_stride: int,
    case_like: int,
    lowest: int,
    n: int,
    k: int,
    m: int,
    tp: Any,
    truth_support: Any,
    predicted_support: Any,
) -> bool:
    tp, truth_support, predicted_support = tp.reshape(-1), truth_support.reshape(-1), predicted_support.reshape(-1)
    classes, cases, first, last = np.uint64(k), np.uint64(m), np.uint64(-lowest), np.uint64(k - lowest)
    for i in range(n):
        t = np.uint64(_load(truth, i, truth_like))
        p = np.uint64(_load(prediction, i, like) - lowest)
        c = np.uint64(_load(case, i, case_like))
        if t >= classes or p >= last or c >= cases:
            return False
        start = c * classes
        truth_support[start + t] += 1
        tp[start + t] += p == t + first
        if p >= first:
            predicted_support[start + p - first] += 1
    return True


@_jit
def _number_cells(
    truth: int,
    truth_stride: int,
    truth_like: int,
    prediction: int,
    stride: int,
    like: int,
    case: int,
    case_stride: int,
    case_like: int,
    lowest: int,
    n: int,
    k: int,
    m: int,
    keys: Any,
) -> bool:
    classes, cases, last, shift = np.uint64(k), np.uint64(m), np.uint64(k - lowest), np.uint64(1 + lowest)
    for i in range(n):
        t = np.uint64(_load(truth, i, truth_like))
        p = np.uint64(_load(prediction, i, like) - lowest)
        c = np.uint64(_load(case, i, case_like))
        if t >= classes or p >= last or c >= cases:
            return False
        keys[i] = np.int64((c * classes + t) * (classes + np.uint64(1)) + p + shift)
    return True
