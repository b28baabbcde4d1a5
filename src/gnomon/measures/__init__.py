"""Measures by task. Each module opens with its conventions, formulas and undefined cases.

Every task has a module with ``evaluate(truth, prediction, *, ...) -> dict`` on plain sequences, or arrays and series of
any library, the single scores as functions, and ``accumulate(...)`` for data that comes in parts
(:mod:`gnomon.measures.accumulate`). Of these, ``boxes`` scores by the measures of ``scene_boxes``, and ``pose`` (with
``poses``) those that ``skeletons`` stores. ``MEASURES`` are examples of the measures that a module registers.
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
