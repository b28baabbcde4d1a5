"""The examination: packages, plug-ins and surroundings, what is at fault and what is doubtful.

A fault is something that the base install lacks; anything else that should be looked at is a doubt. Suites are loaded,
since they are light. Measures of gnomon itself are looked up and not loaded, unless asked for or something else is odd.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gnomon.core import registry
from gnomon.core.errors import counted, some
from gnomon.core.registry import MEASURES, SUITES, Broken
from gnomon.doctoring import packages, surroundings
from gnomon.doctoring.packages import Extra, Package
from gnomon.doctoring.surroundings import GIB, LITTLE, Machine, Tool, Variable

NAME = "gnomon"
AGAIN = "install gnomon again: pip install --force-reinstall --no-deps WHEEL"


@dataclass(frozen=True)
class Examination:
    """What was found.

    Attributes
    ----------
    version, place, editable
        Of gnomon: its version (None where it is not installed), its folder, whether that is a source tree.
    python, interpreter, system
        Version of Python, its program, operating system and processor.
    dependencies, extras
        What gnomon needs always, and what single features need.
    suites, broken
        Suites that load, and plug-ins that do not.
    faults, doubts
        What is wrong with the base install, and what should be looked at beside it; a sentence each.
    """

    version: str | None
    place: str
    editable: bool
    python: str
    interpreter: str
    system: str
    dependencies: tuple[Package, ...]
    extras: tuple[Extra, ...]
    suites: tuple[str, ...]
    broken: tuple[Broken, ...]
    tools: tuple[Tool, ...]
    variables: tuple[Variable, ...]
    machine: Machine
    faults: tuple[str, ...]
    doubts: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether the base install has all that it needs."""
        return not self.faults

    def record(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        states = {
            "dependencies": [_stated(package) for package in self.dependencies],
            "extras": [
                {
                    "name": extra.name,
                    "purpose": extra.purpose,
                    "installed": not extra.lacking,
                    "packages": [_stated(package) for package in extra.packages],
                    "command": extra.command,
                }
                for extra in self.extras
            ],
        }
        return {"whole": self.whole, **asdict(self), **states}


def examine(*, load: bool = False) -> Examination:
    """Look at everything; ``load`` loads every measure and what it needs, instead of looking whether it is there."""
    own = packages.found(NAME)
    needed = packages.dependencies(own) if own else ()
    broken, unread = _broken(load)
    around = surroundings.machine(), surroundings.variables()
    return Examination(
        version=own.version if own else None,
        place=str(Path(__file__).parents[1]),
        editable=bool(own and packages.editable(own)),
        python=platform.python_version(),
        interpreter=sys.executable,
        system=f"{platform.system()} {platform.machine()}",
        dependencies=needed,
        extras=packages.extras(own) if own else (),
        suites=tuple(sorted(registry.suites())),
        broken=broken,
        tools=surroundings.tools(),
        variables=around[1],
        machine=around[0],
        faults=(*_faults(own, needed), *(str(item) for item in broken if item.source == NAME), *unread),
        doubts=(*(str(item) for item in broken if item.source != NAME), *_stale(own), *_doubts(*around)),
    )


def _stated(package: Package) -> dict[str, Any]:
    return {**asdict(package), "state": package.state}


def _broken(load: bool) -> tuple[tuple[Broken, ...], list[str]]:
    """Return plug-ins that do not load, and names of measures of gnomon whose module is not there.

    Measures are numerical and cost a second to load; this is done where they are another's, where a suite is broken
    already, or where it is asked for.
    """
    points = {group: list(entry_points(group=group)) for group in (SUITES, MEASURES)}
    others = [point for point in points[MEASURES] if point.dist is None or point.dist.name != NAME]
    if load or others or len(points[SUITES]) != len(registry.suites()):
        return registry.broken(), []
    return (), [f"plug-in {point.name!r}: no module {point.module}; {AGAIN}" for point in _absent(points[MEASURES])]


def _absent(points: Iterable[EntryPoint]) -> list[EntryPoint]:
    def there(module: str) -> bool:
        try:
            return find_spec(module) is not None
        except ModuleNotFoundError:
            return False

    return [point for point in points if not there(point.module)]


def _faults(own: Distribution | None, needed: Iterable[Package]) -> list[str]:
    if own is None:
        return ["gnomon is not installed, only importable: no suite can be found; pip install it"]
    faults = []
    wanted = (own.metadata.get_all("Requires-Python") or [""])[0]
    if not packages.fits(platform.python_version(), wanted):
        faults.append(f"Python {platform.python_version()} is not {wanted}; use another Python")
    for package in needed:
        if not package.fits:
            is_ = f"is {package.version}, wanted {package.wanted}" if package.version else "is not installed"
            faults.append(f"{package.name} {is_}: pip install '{package.name}{package.wanted}'")
    missing = packages.lost(own)
    if missing:
        files = counted(len(missing), "file")
        faults.append(f"{files} of gnomon not there any more: {some(missing, show=2)}; {AGAIN}")
    return faults


def _doubts(machine: Machine, variables: Iterable[Variable]) -> list[str]:
    doubts = [f"{item.name}={item.value}: {item.fault}" for item in variables if item.fault]
    places = surroundings.cache_places()
    if not machine.cache:
        doubts.append("no place to keep compiled kernels: every command compiles anew; name one in NUMBA_CACHE_DIR")
    elif len(places) == 3 and machine.cache != str(places[0]):
        doubts.append(f"NUMBA_CACHE_DIR={places[0]}: cannot be written to; {machine.cache} is used")
    if not machine.temporary:
        return [*doubts, "no folder for temporary files can be written to; name one in TMPDIR"]
    disks = {"here": machine.disk_free_bytes, f"of {machine.temporary}": machine.temporary_free_bytes}
    little = {where: free for where, free in disks.items() if free < LITTLE}
    return [*doubts, *(f"only {free / GIB:.2f} GiB free on the disk {where}" for where, free in little.items())]


def _stale(own: Distribution | None) -> list[str]:
    """Doubt the metadata of an editable install that do not know an extra of the source."""
    unknown = sorted(set(packages.PURPOSES) - {extra.name for extra in packages.extras(own)}) if own else []
    return [f"extras {some(unknown)} are newer than the metadata of this install: pip install -e . again"] * bool(
        unknown
    )
