"""Packages that only simulated and real episodes need."""

from __future__ import annotations

import importlib
from typing import Any

from gnomon.core.errors import MissingExtraError

NEEDED = {"h5py": "h5py", "av": "PyAV"}
"""Modules that writing an episode needs, and what they are called."""


def needed(module: str) -> Any:
    """Return a module of an optional package, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != module:
            raise
        raise MissingExtraError(
            f"writing episodes needs {NEEDED[module]}, which is not installed: pip install 'gnomon[episode]'"
        ) from error
