"""Cases: the smallest things that are scored, and the groups that may be resampled.

A case carries a path (for example dataset / subject / recording); a protocol names the level of
the path that is resampled, and that level is the case's *group*. Tags belong to whole cases: where
a slice would cut a case, the case is split, so that its parts keep the group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from gnomon.core.canonical import fingerprint
from gnomon.core.errors import GnomonError, InputError, some
from gnomon.core.tallies import Array, natural_key

T = TypeVar("T")


@dataclass(frozen=True)
class Case(Generic[T]):
    """One unit that is scored: id, path, tags and truth."""

    id: str
    path: tuple[str, ...]
    truth: T
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Corpus(Generic[T]):
    """An ordered set of cases of one data set, with the fingerprint of their content."""

    name: str
    cases: tuple[Case[T], ...]
    levels: tuple[str, ...]
    content: str

    def __post_init__(self) -> None:
        ids = [case.id for case in self.cases]
        if len(set(ids)) != len(ids):
            twice = [name for name, count in Counter(ids).items() if count > 1]
            raise InputError(f"corpus {self.name!r} repeats case ids: {some(twice)}")
        odd = [case.id for case in self.cases if len(case.path) != len(self.levels)]
        if odd:
            raise InputError(f"corpus {self.name!r}: paths do not have the levels {self.levels}: {some(odd)}")

    @property
    def fingerprint(self) -> str:
        """Hash of the cases' ids, paths, tags and truth."""
        rows = [[case.id, list(case.path), dict(case.tags)] for case in self.cases]
        return fingerprint([self.name, list(self.levels), rows, self.content])

    def roster(self, level: str) -> Roster:
        """Return who the cases are, grouped at one level of their paths."""
        if level not in self.levels:
            raise GnomonError(f"corpus {self.name!r} has no level {level!r}; it has {list(self.levels)}")
        depth = self.levels.index(level) + 1
        tags = sorted({name for case in self.cases for name in case.tags})
        return Roster(
            ids=tuple(case.id for case in self.cases),
            groups=tuple(join(case.path[:depth]) for case in self.cases),
            tags={name: tuple(case.tags.get(name, "") for case in self.cases) for name in tags},
            level=level,
        )


@dataclass(frozen=True)
class Roster:
    """Who the rows of tallies are: case ids, the group of each, and tags. Stored with every run."""

    ids: tuple[str, ...]
    groups: tuple[str, ...]
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    level: str = "group"
    """What a group is, for a person: subject, room, episode, ..."""

    def __post_init__(self) -> None:
        lengths = {len(self.ids), len(self.groups), *(len(values) for values in self.tags.values())}
        if len(lengths) != 1:
            raise GnomonError(f"roster columns have different lengths: {sorted(lengths)}")
        if len(set(self.ids)) != len(self.ids):
            raise GnomonError("roster repeats a case id")

    def __len__(self) -> int:
        return len(self.ids)

    def codes(self) -> tuple[Array, tuple[str, ...]]:
        """Return a group code per case and the groups, in natural order: the order of cases cannot change a score."""
        names = tuple(sorted(set(self.groups), key=natural_key))
        place = {name: index for index, name in enumerate(names)}
        return np.fromiter((place[g] for g in self.groups), np.int64, len(self.groups)), names

    def rows(self, where: Mapping[str, str]) -> Array:
        """Return a mask of the cases that carry the given tags."""
        mask = np.ones(len(self), dtype=np.bool_)
        for name, value in where.items():
            if name not in self.tags:
                raise InputError(f"no tag {name!r} in this run; it has {sorted(self.tags) or 'none'}")
            mask &= np.array([tag == value for tag in self.tags[name]], dtype=np.bool_)
        return mask

    def take(self, rows: Array | Sequence[int]) -> Roster:
        """Return some cases: indices or a boolean mask."""
        index = np.arange(len(self))[rows].tolist()
        tags = {name: tuple(values[i] for i in index) for name, values in self.tags.items()}
        ids, groups = tuple(self.ids[i] for i in index), tuple(self.groups[i] for i in index)
        return Roster(ids, groups, tags, self.level)


def join(path: Sequence[str]) -> str:
    """Join the levels of a path so that different paths stay different.

    >>> join(("a/b", "c")), join(("a", "b/c"))
    ('a%2Fb/c', 'a/b%2Fc')
    """
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in path)
