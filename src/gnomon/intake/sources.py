"""Tables that a user gives: files as ``NAME=FILE`` or named after themselves, and what is in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.core.errors import InputError, some


@dataclass(frozen=True)
class Source:
    """One table given by the user: what it is called and where it came from."""

    name: str
    content: Any
    path: str = ""
    """The file that content in memory was taken from, such as one of several columns."""
    by_row: bool = False
    """Whether rows have no ids and are known by their place."""

    @staticmethod
    def of(name: str, content: Any) -> Source:
        """Return a source as it is, or make one of what was given."""
        return content if isinstance(content, Source) else Source(name, content)

    @property
    def where(self) -> str:
        """The file, or a name for what is in memory."""
        return self.file or f"<{self.name} in memory>"

    @property
    def file(self) -> str:
        """The file, or nothing where content was never in one."""
        return os.fspath(self.content) if isinstance(self.content, (str, os.PathLike)) else self.path


def systems(predictions: Sequence[Any], column: str) -> list[Source]:
    """Return the named prediction tables of an option: ``NAME=FILE``, a file, a table, or a mapping by name.

    A mapping that has ``column``, which every table has, is a table.
    """
    found: list[Source] = []
    for item in predictions:
        if isinstance(item, Source):
            found.append(item)
        elif isinstance(item, Mapping) and column not in item:
            found += [Source(str(name), content) for name, content in item.items()]
        elif isinstance(item, (str, os.PathLike)):
            found.append(Source(*named(os.fspath(item))))
        else:
            found.append(Source("predictions", item))
    check_names([source.name for source in found])
    return found


def named(text: str) -> tuple[str, str]:
    """Return the name and the path that ``NAME=FILE`` or ``FILE`` stands for; a file of that very name wins.

    >>> named("mine=results/a.csv"), named("results/a.csv.gz")
    (('mine', 'results/a.csv'), ('a', 'results/a.csv.gz'))
    """
    name, equals, path = text.partition("=")
    if equals and not os.path.exists(text):  # of a text that no path can be this is false, and no error
        if not name or not path:
            raise InputError(f"--predictions {text!r}: expected FILE or NAME=FILE")
        return name, path
    stem = Path(text).name
    return stem.partition(".")[0] or stem, text


def check_names(names: Sequence[str]) -> None:
    """Refuse systems of one name, and no systems at all."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"system names must differ, but {some(twice)} occur twice: give them as NAME=FILE, or in Python by name"
        )
    if not names:
        raise InputError("no predictions given: give at least one file (--predictions FILE or NAME=FILE)")
