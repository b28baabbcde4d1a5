"""Parts of a data set: whole groups to train on, to choose by (val), and to test on.

Groups are put in natural order, shuffled under a seed and cut by shares. Whoever depends on each other through a group
is in one part; the order of files and of cases cannot change a part. Counts come from the shares by largest remainder,
so that they never miss the number of groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

from gnomon.core.errors import InputError, plural
from gnomon.core.options import Option

PARTS = ("train", "val", "test")
ALL = "all"
TRAIN, VAL, TEST = PARTS


class Shares(NamedTuple):
    """How much of the groups each part gets; they need not add up to 1 or 100."""

    train: Fraction
    val: Fraction
    test: Fraction

    def __str__(self) -> str:
        return "/".join(f"{float(100 * share / sum(self)):g}" for share in self)


@dataclass(frozen=True, kw_only=True)
class PartOptions:
    """What every verb accepts that can work on a part of the groups."""

    part: Annotated[
        str, Option("which groups are tested: all, or one part of a split by groups", choices=(ALL, *PARTS))
    ] = ALL
    split: Annotated[str, Option("shares of the groups in train/val/test", metavar="A/B/C")] = "70/15/15"
    split_seed: Annotated[int, Option("seed of the split", low=0)] = 42

    def parts(self, groups: Iterable[str], level: str = "group") -> dict[str, str]:
        """Return the part of every group under these options; refuse a chosen part without a group."""
        found = parts(groups, shares(self.split), self.split_seed, level)
        if self.part != ALL and self.part not in found.values():
            raise InputError(f"--part {self.part}: --split {self.split} gives it no {level}; choose other shares")
        return found

    def split_record(self, of: Mapping[str, str], level: str) -> dict[str, Any]:
        """Return the split as a protocol records it; nothing where everything is tested."""
        if self.part == ALL:
            return {}
        counts = {"groups": {part: sum(own == part for own in of.values()) for part in PARTS}}
        return {"part": self.part, "by": level, "shares": str(shares(self.split)), "seed": self.split_seed, **counts}


def shares(text: str) -> Shares:
    """Read shares; they are written as percent.

    >>> print(shares("2/1/1"))
    50/25/25
    """
    try:
        found = [Fraction(piece) for piece in map(str.strip, text.split("/"))]
    except (ValueError, ZeroDivisionError):
        found = []
    if len(found) != len(PARTS) or any(share < 0 for share in found) or not sum(found):
        raise InputError(f"--split {text!r}: expected three shares such as 70/15/15 ({'/'.join(PARTS)})")
    return Shares(*found)


def parts(groups: Iterable[str], shares: Shares, seed: int, level: str = "group") -> dict[str, str]:
    """Return the part of every group, in natural order; a part with a share but without a group is refused.

    >>> parts(["s2", "s10", "s1", "s3"], Shares(Fraction(2), Fraction(1), Fraction(1)), 42)
    {'s1': 'val', 's10': 'train', 's2': 'test', 's3': 'train'}
    """
    from gnomon.core.seeds import generator
    from gnomon.core.tallies import natural_key

    names = sorted(set(groups), key=natural_key)
    counts = _counts(len(names), shares)
    empty = [part for part, share, count in zip(PARTS, shares, counts, strict=True) if share and not count]
    if empty:
        raise InputError(
            f"{len(names)} {plural(level, len(names))} split {shares} leave none for {' and '.join(empty)}: "
            f"give more {plural(level)}, or other shares with --split"
        )
    order = generator(seed, "partition").permutation(len(names)).tolist()
    drawn = iter(order)
    of = {names[next(drawn)]: part for part, count in zip(PARTS, counts, strict=True) for _ in range(count)}
    return {name: of[name] for name in names}


def _counts(total: int, shares: Shares) -> list[int]:
    """Share a number out by largest remainder; of equal remainders the earlier part goes first."""
    exact = [total * share / sum(shares) for share in shares]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda place: counts[place] - exact[place])
    for place in by_remainder[: total - sum(counts)]:
        counts[place] += 1
    return counts
