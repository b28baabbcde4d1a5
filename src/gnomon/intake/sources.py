"""Files of several systems on one command line: ``NAME=FILE``, or a file named after itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gnomon.core.errors import InputError, some


def named(text: str) -> tuple[str, str]:
    """Return the name and the path that ``NAME=FILE`` or ``FILE`` stands for; a file of that very name wins.

    >>> named("mine=results/a.csv"), named("results/a.csv.gz")
    (('mine', 'results/a.csv'), ('a', 'results/a.csv.gz'))
    """
    name, equals, path = text.partition("=")
    if equals and not Path(text).exists():
        if not name or not path:
            raise InputError(f"--predictions {text!r}: expected FILE or NAME=FILE")
        return name, path
    stem = Path(text).name
    return stem.partition(".")[0] or stem, text


def check_names(names: Sequence[str]) -> None:
    """Refuse systems of one name, and no systems at all."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"system names must differ, but {some(twice)} occur twice: give them as NAME=FILE")
    if not names:
        raise InputError("no predictions given: give at least one file (--predictions FILE or NAME=FILE)")
