"""Systems for ``change``: what finds the differences between two scans of a room.

The interface, by structure: an object with ``detect(reference, comparison)``, each ``(N, 3)`` points in metres, which
returns a :class:`~gnomon.suites.change.systems.detection.Detection`: boxes with a class and a score each, in the
coordinates of the reference, and a label per point of both scans. A system sees nothing but the two scans. Its
parameters are the keywords of its constructor, so that ``multi_stage@eps=0.02@box_budget=false`` names one.

The built-in ones are frozen dataclasses; two of them are trivial and belong into every table: what is not better than
them is not good.
"""

from __future__ import annotations

import importlib
from typing import Any

from gnomon.core.loading import find_class, source_identity
from gnomon.core.systems import Spec, checked, known_parameters, parse

BUILTIN: dict[str, str] = {
    "multi_stage": "gnomon.suites.change.systems.multi_stage:MultiStage",
    "distance": "gnomon.suites.change.systems.distance:Distance",
    "icp": "gnomon.suites.change.systems.icp:Icp",
    "dgcnn": "gnomon.suites.change.systems.dgcnn:Dgcnn",
    "nothing": "gnomon.suites.change.systems.trivial:Nothing",
    "everything": "gnomon.suites.change.systems.trivial:Everything",
}
"""Where the class of each short name is."""

TRIVIAL = ("nothing", "everything")
"""Those that do not look at the scans."""


def find(name: str) -> type[Any]:
    """Return the class of a system: a built-in name, ``package.module:Class`` or ``path/to/file.py:Class``."""
    if name in BUILTIN:
        module, _, attribute = BUILTIN[name].partition(":")
        found: type[Any] = getattr(importlib.import_module(module), attribute)
        return found
    return find_class(name, ("detect",), "system", dict.fromkeys(BUILTIN, object))


def make(system: str | Spec) -> Any:
    """Return a system of its own by name and parameters.

    >>> make("multi_stage@eps=.02@box_budget=false").eps
    0.02
    """
    spec = known(parse(system) if isinstance(system, str) else system)
    return find(spec.name)(**spec.parameters)


def parameters(name: str) -> dict[str, Any]:
    """Return the parameters of a system with their defaults."""
    return known_parameters(find(name))


def known(spec: Spec) -> Spec:
    """Return a system whose parameters are those that it has; refuse others."""
    return checked(spec, parameters(spec.name))


def learns(name: str) -> bool:
    """Say whether a system is trained before it detects."""
    return callable(getattr(find(name), "fit", None))


def ready(name: str) -> None:
    """Refuse a system whose libraries are not installed, before any work is done with it."""
    check = getattr(find(name), "require", None)
    if callable(check):
        check()


def identity(name: str) -> str:
    """Return the name of the class and the identity of its code."""
    return source_identity(BUILTIN.get(name, name), find(name))
