"""Suites and measures, found through entry points.

``gnomon.suites``    name -> a :class:`~gnomon.core.suite.Suite`
``gnomon.measures``  name -> a tuple of example measures; their types become known by name

A plug-in that cannot be loaded is named in ``broken`` and skipped; it never takes the others down.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from gnomon.core.errors import GnomonError, InputError, instead
from gnomon.core.suite import Suite

if TYPE_CHECKING:
    from gnomon.core.measure import Measure

SUITES, MEASURES = "gnomon.suites", "gnomon.measures"


@dataclass(frozen=True)
class Broken:
    """A plug-in that could not be loaded, and why."""

    group: str
    name: str
    source: str
    why: str

    def __str__(self) -> str:
        return f"plug-in {self.name!r} ({self.group}, {self.source}) is skipped: {self.why}"


@functools.cache
def suites() -> Mapping[str, Suite]:
    """Return the suites that load, by name."""
    return dict(_loaded(SUITES))


@functools.cache
def measures() -> tuple[Measure, ...]:
    """Return an example of every registered measure."""
    return tuple(measure for _, examples in _loaded(MEASURES) for measure in examples)


@functools.cache
def broken() -> tuple[Broken, ...]:
    """Return the plug-ins that do not load."""
    return tuple(item for group in (SUITES, MEASURES) for item in _attempts(group) if isinstance(item, Broken))


def suite(name: str) -> Suite:
    """Return one suite."""
    if not isinstance(name, str):
        raise InputError(
            f"suite: expected the name of a suite, but got {type(name).__name__}: name it first, as in "
            "gnomon.score('labels', truth, predictions)"
        )
    found = suites()
    if name not in found:
        notes = [str(item) for item in broken() if item.group == SUITES and item.name == name]
        raise InputError(notes[0] if notes else f"no suite {name!r}; {instead(name, sorted(found), 'installed are')}")
    return found[name]


def measure(record: Mapping[str, Any]) -> Measure:
    """Rebuild a measure from its record."""
    for kind in dict.fromkeys(type(example) for example in measures()):
        known = {field.name for field in dataclasses.fields(kind)}
        if kind.__name__ == record["type"] and known >= set(record["parameters"]):
            found = kind.from_parameters(record["parameters"])
            if found.family == record["family"]:
                return found
    raise GnomonError(
        f"measure {record['type']!r} of family {record['family']!r} is not installed; "
        f"registered families are {', '.join(sorted({m.family for m in measures()}))}"
    )


def _loaded(group: str) -> Iterator[tuple[str, Any]]:
    for item in _attempts(group):
        if not isinstance(item, Broken):
            yield item


@functools.cache
def _attempts(group: str) -> tuple[tuple[str, Any] | Broken, ...]:
    found: list[tuple[str, Any] | Broken] = []
    taken: set[str] = set()
    for point in sorted(entry_points(group=group)):
        attempt = _attempt(group, point)
        if not isinstance(attempt, Broken):
            if point.name in taken:
                attempt = Broken(group, point.name, _source(point), "another plug-in has this name")
            taken.add(point.name)
        found.append(attempt)
    return tuple(found)


def _attempt(group: str, point: EntryPoint) -> tuple[str, Any] | Broken:
    source = _source(point)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what it prints must not mix with a result
            value = point.load()
    except (Exception, SystemExit) as error:
        return Broken(group, point.name, source, f"{type(error).__name__}: {error}")
    if group == SUITES and not isinstance(value, Suite):
        return Broken(group, point.name, source, f"expected a Suite, but got {type(value).__name__}")
    if group == MEASURES and not _are_measures(value):
        return Broken(group, point.name, source, f"expected a tuple of measures, but got {type(value).__name__}")
    return point.name, value


def _source(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value


def _are_measures(value: object) -> bool:
    from gnomon.core.measure import Measure

    return isinstance(value, tuple) and all(isinstance(item, Measure) for item in value)
