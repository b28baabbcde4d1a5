"""Rows that concatenate: what a score needs that is not additive.

Average precision, medians and percentiles cannot be folded from sums, and a confusion matrix per
case is too sparse to keep dense. A ledger keeps rows instead: one case code and a few numeric
columns each. A coded column carries its labels, so that ledgers of different label sets align.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gnomon.core.errors import GnomonError
from gnomon.core.tallies import Array, union


class Ledger:
    """Equal-length columns with a case code per row; frozen after construction.

    Parameters
    ----------
    case
        Index of the row's case, ``(rows,)`` non-negative integers.
    columns
        Numeric columns, ``(rows,)`` each.
    labels
        For columns that hold codes: the labels. A code of -1 means "none".
    """

    __slots__ = ("case", "columns", "labels")

    def __init__(
        self, case: Array, columns: Mapping[str, Array], labels: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.case = _frozen(np.asarray(case))
        self.columns = {name: _frozen(np.asarray(column)) for name, column in columns.items()}
        self.labels = {name: tuple(values) for name, values in (labels or {}).items()}
        if self.case.ndim != 1 or (self.case.size and (self.case.dtype.kind not in "iu" or self.case.min() < 0)):
            raise GnomonError("the cases of a ledger must be a list of whole numbers from 0")
        if any(column.dtype == np.uint64 for column in self.columns.values()):
            raise GnomonError("ledger columns are signed integers or floats, but one is uint64")
        for name, column in self.columns.items():
            if column.shape != self.case.shape or column.ndim != 1:
                raise GnomonError(f"ledger column {name!r}: expected shape {self.case.shape}, but got {column.shape}")
        for name, values in self.labels.items():
            column = self.columns.get(name, np.zeros(0))
            if name not in self.columns or len(set(values)) != len(values):
                raise GnomonError(f"ledger labels {name!r} need a column of that name and must not repeat")
            if column.size and (column.dtype.kind not in "iu" or column.min() < -1 or column.max() >= len(values)):
                raise GnomonError(f"ledger column {name!r} holds a code outside its {len(values)} labels")

    def __len__(self) -> int:
        return len(self.case)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        return (
            self.labels == other.labels
            and self.columns.keys() == other.columns.keys()
            and np.array_equal(self.case, other.case)
            and all(_equal(self.columns[name], other.columns[name]) for name in self.columns)
        )

    __hash__ = None  # type: ignore[assignment]

    def take(self, cases: Array) -> Ledger:
        """Return the rows of some cases (a boolean mask over cases); case codes stay as they are."""
        rows = np.asarray(cases)[self.case]
        return Ledger(self.case[rows], {n: c[rows] for n, c in self.columns.items()}, self.labels)

    @staticmethod
    def stack(parts: Sequence[tuple[Ledger, int]]) -> Ledger:
        """Put ledgers under one another; each comes with the number of cases that it spans."""
        if not parts:
            raise GnomonError("nothing to stack: expected at least one ledger")
        first = parts[0][0]
        if any(p.columns.keys() != first.columns.keys() or p.labels.keys() != first.labels.keys() for p, _ in parts):
            raise GnomonError("ledgers of different columns cannot be stacked")
        labels = {name: union([part.labels[name] for part, _ in parts]) for name in first.labels}
        offsets = np.cumsum([0, *(n for _, n in parts)])[:-1]
        case = np.concatenate([part.case + offset for (part, _), offset in zip(parts, offsets, strict=True)])
        columns = {
            name: np.concatenate([_recode(part, name, labels.get(name)) for part, _ in parts]) for name in first.columns
        }
        return Ledger(case, columns, labels)


def _recode(ledger: Ledger, name: str, labels: Sequence[str] | None) -> Array:
    column = ledger.columns[name]
    if labels is None or tuple(labels) == ledger.labels[name]:
        return column
    place = {label: index for index, label in enumerate(labels)}
    lookup = np.array([*(place[label] for label in ledger.labels[name]), -1])
    return np.asarray(lookup[column])


def _equal(a: Array, b: Array) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")


def _frozen(array: Array) -> Array:
    if array.flags.writeable:
        array = array.copy()
        array.setflags(write=False)
    return array
