"""The two sides that checks compare: what a system saw, and what was held out; and folds, each a split of its own.

Folds
-----
Samples with a tag ``fold`` belong to several splits. A sample of the part ``fold`` is tested in the fold that its tag
names and is training data of every other one, as in cross-validation; any other sample is of its part in the fold that
its tag names, and in all folds where the tag is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
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
FOLD = "fold"
"""The tag that names the fold of a sample, and the part of samples that are tested in one fold each."""
MOST_COMPARED = 20_000_000
"""Samples times folds that are compared; with more, every check would take minutes."""


def fold_names(samples: Samples) -> tuple[str, ...]:
    """Return the folds in which samples are tested, in the order of their samples; none without the tag."""
    column = samples.tags.get(FOLD, ())
    return tuple(dict.fromkeys(name for name in column if name))


def of_fold(samples: Samples, name: str) -> Samples:
    """Return the samples of one fold, each with its part in it."""
    column = samples.column(FOLD)
    own = ("test" if fold == name else "train" for fold in column)
    parts = tuple(mine if part == FOLD else part for part, mine in zip(samples.parts, own, strict=True))
    if all(part == FOLD for part in samples.parts):
        return replace(samples, parts=parts)
    rows = [i for i, (p, f) in enumerate(zip(samples.parts, column, strict=True)) if p == FOLD or f in ("", name)]
    return taken(replace(samples, parts=parts), rows)


def taken(samples: Samples, rows: Sequence[int]) -> Samples:
    """Return some samples."""

    def of(column: Sequence[str]) -> tuple[str, ...]:
        return tuple(column[row] for row in rows)

    index = np.asarray(rows, dtype=np.int64)
    return Samples(
        of(samples.ids),
        of(samples.cases),
        of(samples.parts),
        samples.input_range[index],
        samples.target_range[index],
        of(samples.digests) if samples.digests else (),
        {name: of(column) for name, column in samples.tags.items()},
    )


def in_every_fold(check: Callable[[Samples], tuple[Finding, ...]], samples: Samples) -> tuple[Finding, ...]:
    """Make a check of a split in every fold (once, without folds) and say each finding once.

    What several folds have in common is one finding: in how many of them, and the evidence of the first.
    """
    names = fold_names(samples)
    if not names:
        return check(samples)
    if len(names) * len(samples) > MOST_COMPARED:
        raise InputError(f"{len(samples)} samples in {len(names)} folds are too many to compare")
    found: dict[tuple[str, str, str], list[tuple[str, Finding]]] = {}
    for name in names:
        for finding in check(of_fold(samples, name)):
            found.setdefault((finding.id, finding.severity, finding.where), []).append((name, finding))
    merged = []
    for hits in found.values():
        fold, first = hits[0]
        text = f"in {len(hits)} of {len(names)} folds; in fold {fold!r}, {first.evidence}"
        merged.append(replace(first, evidence=text))
    return tuple(merged)


def codes(column: Iterable[str]) -> Array:
    """Return an integer per row, equal where the texts are.

    >>> codes(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    known: dict[str, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in column], dtype=np.int64)
