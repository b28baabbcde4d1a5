"""gnomon: one workbench for evaluating systems that perceive people and places through sensors.

The verbs are ``score``, ``run``, ``compare``, ``search``, ``ablate``, ``audit`` and ``load``; each returns an object
that prints as a table. ``verify`` returns the checks that it made of runs. Everything is loaded when first used:
importing gnomon loads no numerical library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.api import audit, compare, load, run, score, verify
    from gnomon.core.errors import (
        GnomonError,
        InputError,
        IntegrityError,
        MissingExtraError,
        NothingScoredError,
        WorkError,
    )
    from gnomon.result import Result
    from gnomon.tuning import ablate, search

_HOMES = {
    "score": "gnomon.api",
    "run": "gnomon.api",
    "compare": "gnomon.api",
    "load": "gnomon.api",
    "Result": "gnomon.result",
    "search": "gnomon.tuning",
    "ablate": "gnomon.tuning",
    "verify": "gnomon.api",
    "GnomonError": "gnomon.core.errors",
    "InputError": "gnomon.core.errors",
    "IntegrityError": "gnomon.core.errors",
    "MissingExtraError": "gnomon.core.errors",
    "NothingScoredError": "gnomon.core.errors",
    "WorkError": "gnomon.core.errors",
}

__all__ = [
    "GnomonError",
    "InputError",
    "IntegrityError",
    "MissingExtraError",
    "NothingScoredError",
    "Result",
    "WorkError",
    "ablate",
    "audit",
    "compare",
    "load",
    "run",
    "score",
    "search",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("gnomon")
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    try:
        return importlib.import_module(f"gnomon.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"gnomon.{name}":
            raise
        raise AttributeError(f"module 'gnomon' has no attribute {name!r}") from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
