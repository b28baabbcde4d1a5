"""The project's own exceptions: one root, few children.

A message says what is wrong, where, what was found against what was expected, and what to do.
The command line prints it as one line and leaves with the child's ``exit_code``; Python users
catch :class:`GnomonError` to catch everything that gnomon raises on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable


class GnomonError(Exception):
    """Root of everything that gnomon raises on purpose."""

    exit_code = 1


class InputError(GnomonError, ValueError):
    """What the user gave cannot be used: a file, a column, an option, a value."""

    exit_code = 2


class MissingExtraError(GnomonError, ImportError):
    """A feature needs an optional package that is not installed."""

    exit_code = 2


class IntegrityError(GnomonError):
    """Stored work does not agree with itself: a changed byte, a broken identity, an unknown schema."""


class WorkError(GnomonError):
    """Work that was asked for failed or is only partly there."""


class NothingScoredError(InputError, WorkError):
    """No case of any system was scored: every cell failed, or every case was left out."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "return"), counted(2, "return")
    ('1 return', '2 returns')
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def some(items: Iterable[object], total: int | None = None, *, show: int = 5, sentences: bool = False) -> str:
    """Name the first few of many items with their count, for an error message; sentences are kept as they are.

    >>> some(["a", "b", "c"], show=2)
    "'a', 'b' and 1 more (3 in all)"
    >>> some(["a"])
    "'a'"
    """
    values = list(items)
    count = len(values) if total is None else total
    head = "; ".join(map(str, values[:show])) if sentences else ", ".join(_short(value) for value in values[:show])
    rest = count - min(show, len(values))
    return f"{head} and {rest} more ({count} in all)" if rest > 0 else head


def instead(name: str, known: Iterable[str], listed: str = "there are") -> str:
    """Say what there is instead of a name that nothing has: all of them, behind the nearest where one is near.

    >>> instead("lable", ["events", "labels"]), instead("x", ["events", "labels"], "suites are")
    ("did you mean 'labels'? There are events, labels", 'suites are events, labels')
    """
    import difflib

    names = list(known)
    near = difflib.get_close_matches(name, names, 1)
    said = f"{listed} {', '.join(names) or 'none'}"
    return f"did you mean {near[0]!r}? {said[0].upper()}{said[1:]}" if near else said


def plural(noun: str, count: int = 2) -> str:
    """Return a noun in the form that a count asks for.

    >>> plural("subject"), plural("activity"), plural("class"), plural("group", 1)
    ('subjects', 'activities', 'classes', 'group')
    """
    if count == 1:
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def _short(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
