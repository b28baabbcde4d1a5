"""The two sides that checks compare: what a system saw, and what was held out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array


@dataclass(frozen=True)
class Split:
    """Which values of a column were seen and which were held out.

    The default is the usual split; two datasets are ``Split(("uci_har",), ("hapt",), column="dataset")``.
    """

    seen: tuple[str, ...] = ("train", "val")
    held: tuple[str, ...] = ("test",)
    column: str = "parts"

    def __post_init__(self) -> None:
        both = set(self.seen) & set(self.held)
        if both or not self.seen or not self.held:
            raise InputError(f"a split needs two sides without a common value, but got {self.seen} and {self.held}")

    def sides(self, samples: Samples) -> tuple[Array, Array]:
        """Return the rows that were seen and those that were held out; both must have some."""
        column = samples.column(self.column)
        rows = []
        for names in (self.seen, self.held):
            wanted = set(names)
            rows.append(np.flatnonzero(np.fromiter((value in wanted for value in column), np.bool_, len(column))))
            if not len(rows[-1]):
                raise InputError(
                    f"no sample has {self.column} {' or '.join(names)}, so there is nothing to compare; "
                    f"there are {some(sorted(set(column))) or 'no samples'}"
                )
        return rows[0], rows[1]

    def names(self, samples: Samples) -> tuple[str, str]:
        """Return both sides for a person: those of their values that occur."""
        there = set(samples.column(self.column))
        seen, held = (" or ".join(name for name in side if name in there) for side in (self.seen, self.held))
        return seen, held


SPLIT = Split()


def codes(column: Iterable[str]) -> Array:
    """Return an integer per row, equal where the texts are.

    >>> codes(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    known: dict[str, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in column], dtype=np.int64)
