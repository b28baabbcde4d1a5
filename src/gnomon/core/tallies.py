"""Labelled, additive summaries of cases.

A tally is what a measure keeps of one case: a few named fields, each a scalar or an array over
labelled axes (for example ``tp`` over the axis ``class``). :class:`Tallies` holds one row per case;
:class:`Totals` is what is left after summing rows, with leading batch axes when many sums were
taken at once (bootstrap replicates, leave-one-out, swaps).

Conventions
-----------
- A field of kind ``count`` holds non-negative integers (int64); one of kind ``sum`` holds finite floats.
- Rows of different label sets are aligned by label; an absent label contributes zero.
- Counts add exactly. Float sums over rows use :func:`math.fsum`, whose result does not depend on
  the order of the rows, so that shards and workers cannot change a byte of a score.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gnomon.core import heap
from gnomon.core.errors import GnomonError

heap.settle()  # whatever tallies works with many arrays that live for a moment

Array = NDArray[Any]
SINGLE_ROOM = 12
"""Up to 2**12 rows in a sum, the finer half of a split float fits single precision."""
_AT_A_TIME = 1 << 16
BLOCK = 1 << 22
"""Bytes of the blocks into which rows are copied that come one after another."""


@dataclass(frozen=True)
class Field:
    """One named part of a tally: its axes, whether it counts or sums, and its unit."""

    name: str
    axes: tuple[str, ...] = ()
    kind: Literal["count", "sum"] = "count"
    unit: str = ""


@dataclass(frozen=True)
class Totals:
    """Summed tallies: each field is ``(*batch, *axes)``."""

    fields: Mapping[str, Array]
    axes: Mapping[str, tuple[str, ...]]
    batch: tuple[int, ...] = ()

    def __getitem__(self, name: str) -> Array:
        return self.fields[name]


class Tallies:
    """One row per case; frozen after construction.

    Parameters
    ----------
    layout
        The fields, in order.
    axes
        Labels of each axis that the layout names.
    fields
        One array per field, ``(cases, *axes)``.
    """

    __slots__ = ("axes", "fields", "layout", "n_cases")

    def __init__(self, layout: Sequence[Field], axes: Mapping[str, Sequence[str]], fields: Mapping[str, Array]) -> None:
        self.layout = tuple(layout)
        self.axes = {name: tuple(labels) for name, labels in axes.items()}
        for name, labels in self.axes.items():
            if len(set(labels)) != len(labels):
                raise GnomonError(f"axis {name!r} of a tally repeats a label: {labels}")
        unknown = {axis for field in self.layout for axis in field.axes} - self.axes.keys()
        if unknown:
            raise GnomonError(f"the layout of a tally names axes without labels: {sorted(unknown)}")
        checked = {field.name: self._check(field, fields) for field in self.layout}
        sizes = {len(array) for array in checked.values()}
        if len(sizes) != 1:
            raise GnomonError(f"fields of a tally have different numbers of cases: {sorted(sizes)}")
        self.fields: dict[str, Array] = checked
        self.n_cases = sizes.pop()

    def _check(self, field: Field, fields: Mapping[str, Array]) -> Array:
        if field.name not in fields:
            raise GnomonError(f"tally lacks the field {field.name!r}; it has {sorted(fields)}")
        given = np.asarray(fields[field.name])
        expected = tuple(len(self.axes[axis]) for axis in field.axes)
        if given.ndim < 1 or given.shape[1:] != expected:
            raise GnomonError(
                f"field {field.name!r} of a tally: expected shape (cases, {', '.join(map(str, expected))}), "
                f"but got {given.shape}"
            )
        array = self._typed(field, given)
        array.setflags(write=False)
        return array

    @staticmethod
    def _typed(field: Field, given: Array) -> Array:
        if field.kind == "sum":
            array = np.array(given, dtype=np.float64)
            if not np.isfinite(array).all():
                raise GnomonError(f"field {field.name!r} of a tally holds a value that is not finite")
            return array
        if given.size and not np.issubdtype(given.dtype, np.integer):
            raise GnomonError(f"field {field.name!r} of a tally counts: expected integers, but got {given.dtype}")
        array = np.array(given, dtype=np.int64)
        if array.size and array.min() < 0:
            raise GnomonError(f"field {field.name!r} of a tally counts, but holds a negative value")
        return array

    def __repr__(self) -> str:
        names = ", ".join(field.name for field in self.layout)
        sizes = ", ".join(f"{len(labels)} {name}" for name, labels in self.axes.items())
        return f"Tallies({self.n_cases} cases; {names}{'; ' + sizes if sizes else ''})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tallies):
            return NotImplemented
        return (
            self.layout == other.layout
            and self.axes == other.axes
            and all(np.array_equal(self.fields[name], other.fields[name]) for name in self.fields)
        )

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def stack(parts: Iterable[Tallies]) -> Tallies:
        """Put the rows of several tallies under one another, aligned by label.

        Tallies that are made one after another are best handed over as they come, by a generator: their rows are
        copied into blocks, so that what is kept of them does not lie between what making the next ones needs.
        """
        parts = parts if isinstance(parts, Sequence) else _gathered(parts)
        if not parts:
            raise GnomonError("nothing to stack: expected at least one tally")
        first = parts[0]
        if any(part.layout != first.layout or part.axes.keys() != first.axes.keys() for part in parts):
            raise GnomonError("tallies of different layouts cannot be stacked")
        axes = {name: union([part.axes[name] for part in parts]) for name in first.axes}
        aligned = [part.relabel(axes) for part in parts]
        fields = {f.name: np.concatenate([part.fields[f.name] for part in aligned]) for f in first.layout}
        return Tallies.of_checked(first.layout, axes, fields, sum(part.n_cases for part in parts))

    @staticmethod
    def of_checked(
        layout: tuple[Field, ...], axes: dict[str, tuple[str, ...]], fields: dict[str, Array], n_cases: int
    ) -> Tallies:
        """Return tallies of rows that were checked, in arrays that are nobody else's: neither is seen to again."""
        found = Tallies.__new__(Tallies)
        found.layout, found.axes, found.fields, found.n_cases = layout, axes, fields, n_cases
        for array in fields.values():
            array.setflags(write=False)
        return found

    def relabel(self, axes: Mapping[str, Sequence[str]]) -> Tallies:
        """Return the same tallies over other label sets, which must contain every label with a non-zero entry."""
        wanted = {name: tuple(axes.get(name, labels)) for name, labels in self.axes.items()}
        if wanted == self.axes:
            return self
        fields = dict(self.fields)
        for name, labels in wanted.items():
            for field in self.layout:
                for position, axis in enumerate(field.axes, start=1):
                    if axis == name:
                        fields[field.name] = _realign(fields[field.name], position, self.axes[name], labels)
        return Tallies(self.layout, wanted, fields)

    def take(self, rows: Array | slice) -> Tallies:
        """Return some rows: indices or a boolean mask."""
        return Tallies(self.layout, self.axes, {name: array[rows] for name, array in self.fields.items()})

    @property
    def width(self) -> int:
        """How many numbers a weighted total takes: those of its widest field, or its weights."""
        return max(self.n_cases, *(math.prod(array.shape[1:]) for array in self.fields.values()))

    def filled(self) -> Array:
        """Return which rows hold anything but zeros."""
        kept = np.zeros(self.n_cases, dtype=np.bool_)
        for array in self.fields.values():
            kept |= (array != 0).any(axis=tuple(range(1, array.ndim)))
        return kept

    def aligned(self, other: Tallies) -> tuple[Tallies, Tallies]:
        """Return both over common labels."""
        axes = {name: union([self.axes[name], other.axes[name]]) for name in self.axes}
        return self.relabel(axes), other.relabel(axes)

    def each(self) -> Totals:
        """Return every row by itself."""
        return Totals(self.fields, self.axes, (self.n_cases,))

    def total(self) -> Totals:
        """Sum all rows."""
        return Totals({f.name: _sum_rows(f, self.fields[f.name]) for f in self.layout}, self.axes)

    def grouped(self, group: Array, n_groups: int) -> Tallies:
        """Sum the rows of each group; ``group`` holds a code in ``[0, n_groups)`` per case."""
        group = np.asarray(group)
        whole = group.dtype.kind in "iu" or not group.size
        if (
            not whole
            or group.shape != (self.n_cases,)
            or (group.size and not (group.min() >= 0 and group.max() < n_groups))
        ):
            raise GnomonError(f"expected a group in [0, {n_groups}) for each of {self.n_cases} cases")
        if n_groups == self.n_cases and np.array_equal(group, np.arange(n_groups)):
            return self
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(n_groups + 1))
        fields = {}
        for field in self.layout:
            array = self.fields[field.name][order]
            if field.kind == "count":
                _check_room(field, array)
                out = np.zeros((n_groups, *array.shape[1:]), dtype=np.int64)
                filled = starts[:-1] < starts[1:]
                if filled.any():
                    out[filled] = np.add.reduceat(array, starts[:-1][filled], axis=0)
            else:
                out = _sum_groups(field, array, starts)
            fields[field.name] = out
        return Tallies(self.layout, self.axes, fields)

    def weighted(self, weights: Array, *, rough: bool = False) -> Totals:
        """Return one total per row of ``weights`` ``(batch, cases)``: the sum of the rows, each times its weight.

        Weights are whole numbers of 0 or more. Exact for counts below 2**53. Floats are split into two parts on
        fixed grids, coarse enough that every sum of a part is exact (Ozaki et al., 2012): neither the order of the
        rows nor the number of threads of the product can change a bit, and what cancels leaves exactly nothing.
        ``rough`` leaves the second part out: floats are rounded to 2**-42 of the largest of their column (for a
        thousand rows), which is enough for replicates that are compared with each other.
        """
        factors = np.ascontiguousarray(weights, dtype=np.float64)
        most = float(factors.sum(axis=1).max(initial=1.0))
        counts = _whole_product(factors, self._columns("count"), most)
        summed = {"count": counts, "sum": _split_product(factors, self._columns("sum"), most, rough)}
        fields, used = {}, {"count": 0, "sum": 0}
        for field in self.layout:
            shape = self.fields[field.name].shape[1:]
            start = used[field.kind]
            used[field.kind] = stop = start + math.prod(shape)
            fields[field.name] = summed[field.kind][:, start:stop].reshape((len(weights), *shape))
        return Totals(fields, self.axes, (len(weights),))

    def _columns(self, kind: str) -> Array:
        """Return all fields of a kind side by side, ``(cases, columns)``."""
        parts = [_flat(self.fields[f.name]) for f in self.layout if f.kind == kind]
        joined = np.concatenate(parts, axis=1) if parts else np.zeros((self.n_cases, 0))
        return np.asarray(joined, dtype=np.float64)

    def without_each(self) -> Totals:
        """Return, for every row, the total of all the other rows."""
        fields = {}
        for field in self.layout:
            array = self.fields[field.name]
            total, rest = _sum_rows(field, array), _rest(field, array)
            fields[field.name] = _minus(total, rest, array) if field.kind == "sum" else total - array
        return Totals(fields, self.axes, (self.n_cases,))


class _Block:
    """Room for the rows of tallies that have the same fields and labels."""

    def __init__(self, first: Tallies) -> None:
        self.layout, self.axes, self.n_cases = first.layout, first.axes, 0
        row = sum(math.prod(array.shape[1:]) * array.itemsize for array in first.fields.values())
        rows = max(first.n_cases, BLOCK // max(row, 1))
        self.fields = {name: np.empty((rows, *array.shape[1:]), array.dtype) for name, array in first.fields.items()}

    def add(self, part: Tallies) -> bool:
        """Copy the rows of a tally; False where they do not fit."""
        stop = self.n_cases + part.n_cases
        room = min(map(len, self.fields.values()), default=0)
        if (part.layout, part.axes) != (self.layout, self.axes) or stop > room:
            return False
        for name, array in part.fields.items():
            self.fields[name][self.n_cases : stop] = array
        self.n_cases = stop
        return True

    def closed(self) -> Tallies:
        """Return what it holds; room that is not needed is given back where it is more than half."""
        fields = {name: array[: self.n_cases] for name, array in self.fields.items()}
        if 2 * self.n_cases < min(map(len, self.fields.values()), default=0):
            fields = {name: array.copy() for name, array in fields.items()}
        return Tallies.of_checked(self.layout, self.axes, fields, self.n_cases)


def _gathered(parts: Iterable[Tallies]) -> list[Tallies]:
    """Return tallies that come one after another, many of them as one."""
    kept: list[Tallies] = []
    block: _Block | None = None
    for part in parts:
        if block is None or not block.add(part):
            kept += [block.closed()] if block is not None else []
            block = _Block(part)
            block.add(part)
    return [*kept, block.closed()] if block is not None else kept


def union(label_sets: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the labels of several sets in natural order (numbers as numbers).

    >>> union([["10", "2"], ["2", "1"]])
    ('1', '2', '10')
    """
    return tuple(sorted({label for labels in label_sets for label in labels}, key=natural_key))


def natural_key(label: str) -> tuple[int, int, str]:
    """Sort key that puts whole numbers first, in numeric order, then everything else as text.

    >>> sorted(["b", "10", "9", "a"], key=natural_key)
    ['9', '10', 'a', 'b']
    """
    body = label[1:] if label.startswith("-") else label
    if body.isascii() and body.isdigit() and len(body) <= 18:
        return (0, int(label), label)
    return (1, 0, label)


def _whole_product(factors: Array, columns: Array, most: float) -> Array:
    """Return ``factors @ columns`` of whole numbers, in single precision where every sum fits it: twice as fast."""
    kind = np.float32 if most * np.abs(columns).max(initial=0.0) < 2**24 else np.float64
    return np.asarray((factors.astype(kind) @ columns.astype(kind)).astype(np.float64))


def _split_product(factors: Array, columns: Array, most: float, rough: bool = False) -> Array:
    """Return ``factors @ columns`` by way of two products in which nothing is rounded; what is left is below rounding.

    The second part is small whole numbers of a finer unit.
    """
    room = math.ceil(math.log2(max(1.0, most)))
    unit = np.frexp(np.abs(columns).max(axis=0, initial=0.0))[1] + room - 52
    coarse = _scaled(np.rint(_scaled(columns, -unit)), unit)
    if rough:
        return np.asarray(factors @ coarse)
    finer = unit - (24 if room <= SINGLE_ROOM else 52) + room
    rest = np.rint(_scaled(columns - coarse, -finer))
    return np.asarray(factors @ coarse + _scaled(_whole_product(factors, rest, most), finer))


def _scaled(columns: Array, exponents: Array) -> Array:
    """Return columns times powers of two; by a product where the powers themselves are in the range of floats."""
    if np.abs(exponents).max(initial=0) < 1000:
        return np.asarray(columns * np.ldexp(1.0, exponents))
    return np.asarray(np.ldexp(columns, exponents))


def _realign(array: Array, position: int, old: Sequence[str], new: Sequence[str]) -> Array:
    place = {label: index for index, label in enumerate(new)}
    kept = [index for index, label in enumerate(old) if label in place]
    lost = [index for index, label in enumerate(old) if label not in place]
    if lost and np.take(array, lost, axis=position).any():
        names = [old[index] for index in lost]
        raise GnomonError(f"relabelling a tally would drop labels that carry counts: {names[:5]}")
    shape = list(array.shape)
    shape[position] = len(new)
    out = np.zeros(shape, dtype=array.dtype)
    target: list[Any] = [slice(None)] * array.ndim
    target[position] = [place[old[index]] for index in kept]
    out[tuple(target)] = np.take(array, kept, axis=position)
    return out


def _sum_rows(field: Field, array: Array) -> Array:
    if field.kind == "count":
        _check_room(field, array)
        return np.asarray(array.sum(axis=0, dtype=np.int64))
    return _exact_sums(field, map(_floats, _flat(array).T)).reshape(array.shape[1:])


def _sum_groups(field: Field, array: Array, starts: Array) -> Array:
    """Sum floats between one start and the next; two of them are added at once, which rounds as an exact sum does."""
    first, size = starts[:-1], np.diff(starts)
    out = np.zeros((len(size), *array.shape[1:]))
    with np.errstate(over="ignore"):
        for place in (0, 1):
            out[size > place] += array[first[size > place] + place]
    # Beyond the largest float it is an error, which exact sums raise.
    others = (size > 2) | ~np.isfinite(_flat(out)).all(axis=1)
    for group in np.flatnonzero(others).tolist():
        out[group] = _sum_rows(field, array[first[group] : starts[group + 1]])
    return out


def _floats(column: Array) -> Iterator[float]:
    """Give numbers as those of Python, few at a time: each takes four times as much memory."""
    return itertools.chain.from_iterable(
        column[at : at + _AT_A_TIME].tolist() for at in range(0, len(column), _AT_A_TIME)
    )


def _check_room(field: Field, array: Array) -> None:
    if array.size and float(array.max()) * len(array) >= 2.0**63:
        raise GnomonError(f"field {field.name!r} of a tally counts past what 64 bits hold")


def _rest(field: Field, array: Array) -> Array:
    """Return what rounding took from the exact sum of the rows."""
    if field.kind == "count":
        return np.zeros(())
    columns = _flat(array).T
    whole = _exact_sums(field, map(_floats, columns))
    rest = (itertools.chain(_floats(own), (-total,)) for own, total in zip(columns, whole.tolist(), strict=True))
    return _exact_sums(field, rest).reshape(array.shape[1:])


def _exact_sums(field: Field, columns: Iterable[Iterable[float]]) -> Array:
    try:
        return np.array([math.fsum(column) for column in columns], dtype=np.float64)
    except OverflowError as error:
        raise GnomonError(f"field {field.name!r} of a tally sums past the largest float") from error


def _minus(total: Array, rest: Array, rows: Array) -> Array:
    """Return ``total + rest - row`` for each row with the rounding error of the subtraction added back."""
    difference = total - rows
    back = difference - total
    lost = (total - (difference - back)) - (rows + back)
    return np.asarray(difference + (lost + rest))


def _flat(array: Array) -> Array:
    return array.reshape(len(array), math.prod(array.shape[1:]))
