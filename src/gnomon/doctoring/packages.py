"""Distributions as their metadata describe them: what gnomon and its extras want, and what is there of it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version

PURPOSES = {
    "classical": "har: random forests, support vector machines and the classifier of moment",
    "cluster": "--executor dask: work on many machines; data by address (URL)",
    "dashboard": "gnomon serve: runs in a browser, with figures",
    "episode": "episode: reading and simulating episodes (HDF5 and videos)",
    "excel": "tables in workbooks of Excel",
    "frames": "to_pandas(): tables as pandas data frames",
    "models": "neural models of har and neural heads of episode",
    "report": "figures in reports, as SVG, PNG and PDF",
    "test": "tests, lint, types and builds of gnomon itself",
}
"""What every extra is for, in a line."""

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*(?:;(.*))?")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_BOUND = re.compile(r"(===|==|>=|<=|!=|~=|>|<)\s*(\S+)")


@dataclass(frozen=True)
class Package:
    """A distribution that is wanted.

    Attributes
    ----------
    name, wanted
        Its name, and the versions that will do, such as ``>=2.0``.
    version
        What is installed; None where nothing is.
    """

    name: str
    wanted: str
    version: str | None

    @property
    def fits(self) -> bool:
        """Whether it is there, in a version that will do."""
        return self.version is not None and fits(self.version, self.wanted)

    @property
    def state(self) -> str:
        """Say what is there: ``ok``, ``missing`` or ``other version``."""
        return "ok" if self.fits else "missing" if self.version is None else "other version"

    def __str__(self) -> str:
        if self.version is None:
            return f"{self.name}{self.wanted}"
        return f"{self.name} {self.version}" + ("" if self.fits else f" (wanted {self.wanted})")


@dataclass(frozen=True)
class Extra:
    """An extra: what it is for, what it asks for, and the command that gets it."""

    name: str
    purpose: str
    packages: tuple[Package, ...]
    command: str

    @property
    def lacking(self) -> tuple[Package, ...]:
        """What is missing, or there in a version that will not do."""
        return tuple(package for package in self.packages if not package.fits)


def found(name: str = "gnomon") -> Distribution | None:
    """Return an installed distribution."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def installed(name: str) -> str | None:
    """Return the version of a distribution, or None where it is not installed.

    >>> installed("no-such-distribution") is None
    True
    """
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def dependencies(own: Distribution) -> tuple[Package, ...]:
    """Return what a distribution cannot do without."""
    return tuple(package for package, extra in _requirements(own) if not extra)


def extras(own: Distribution) -> tuple[Extra, ...]:
    """Return the extras that a distribution provides, by name."""
    wanted = _requirements(own)
    return tuple(
        Extra(
            name,
            PURPOSES.get(name, ""),
            tuple(package for package, extra in wanted if extra == name),
            f"pip install '{own.name}[{name}]'",
        )
        for name in sorted(own.metadata.get_all("Provides-Extra") or ())
    )


def editable(own: Distribution) -> bool:
    """Tell whether a distribution is a link to a source tree."""
    try:
        record = json.loads(own.read_text("direct_url.json") or "{}")
    except ValueError:
        return False
    return bool(record.get("dir_info", {}).get("editable", False))


def lost(own: Distribution) -> list[str]:
    """Return the files that were installed with a distribution and are not there any more, compiled ones aside."""
    files = own.files or ()
    return [str(path) for path in files if path.suffix != ".pyc" and not os.path.exists(path.locate())]


def fits(version: str, wanted: str) -> bool:
    """Tell whether a version is one of those wanted; the numbers of a release decide, whatever its suffix says.

    >>> fits("2.13.0+cpu", "==2.13.0"), fits("2.4.6", ">=2.0"), fits("1.9", ">=1.10,<3")
    (True, True, False)
    >>> fits("3.1", "~=3.0"), fits("4.0", "~=3.0"), fits("3.1.4", "==3.1.*"), fits("1.0.1", "!=1.0.1")
    (True, False, True, False)
    """
    return all(_meets(version, sign, bound) for sign, bound in _BOUND.findall(wanted.replace(",", " ")))


def _meets(version: str, sign: str, bound: str) -> bool:
    here, there = _release(version), _release(bound)
    if sign == "~=":
        return here >= there and _release(version, len(there) - 1) == there[:-1]
    if bound.endswith(".*"):
        same = _release(version, len(there)) == there
        return same if sign == "==" else not same
    size = max(len(here), len(there))
    here, there = _release(version, size), _release(bound, size)
    return {
        "==": here == there,
        "===": here == there,
        "!=": here != there,
        ">=": here >= there,
        "<=": here <= there,
        ">": here > there,
        "<": here < there,
    }[sign]


def _release(text: str, size: int | None = None) -> tuple[int, ...]:
    """Return the numbers a version starts with, cut or filled by zeros to a size."""
    start = re.match(r"v?(?:\d+!)?(\d+(?:\.\d+)*)", text)
    numbers = tuple(int(part) for part in start[1].split(".")) if start else ()
    return numbers if size is None else (*numbers, *[0] * size)[:size]


def _requirements(own: Distribution) -> list[tuple[Package, str]]:
    """Return what a distribution asks for, with the extra that asks for it; further conditions are not looked at."""
    read = []
    for text in own.requires or ():
        parts = _REQUIREMENT.fullmatch(text)
        if parts:
            extra = _EXTRA.search(parts[3] or "")
            package = Package(parts[1], parts[2].strip(), installed(parts[1]))
            read.append((package, extra[1] if extra else ""))
    return sorted(read, key=lambda item: item[0].name)
