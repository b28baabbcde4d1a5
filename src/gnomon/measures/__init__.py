"""Measures by task. Each module opens with its conventions, formulas and undefined cases.

Every module has ``evaluate(truth, prediction, *, ...) -> dict`` on plain sequences or arrays, and
``MEASURES``, examples of the measures that it registers.
"""

from __future__ import annotations

import importlib
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Import a measure module when it is first used."""
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
