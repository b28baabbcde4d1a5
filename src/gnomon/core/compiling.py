"""Functions that become machine code on first use; only modules that need it import this one, since numba is large.

numba takes settings from a file of the working folder, also the folder in which machine code is kept, which it loads
and runs. Whoever filled the working folder could so run code: gnomon does not work beside such a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from gnomon.core.errors import InputError

SETTINGS = ".numba_config.yaml"
if os.path.exists(SETTINGS):
    raise InputError(
        f"{os.path.abspath(SETTINGS)}: numba takes its settings from here, also the folder of the machine code that it "
        "runs; move the file away, or work in another folder, and set numba's variables (NUMBA_CACHE_DIR) instead"
    )
Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile on first use and keep the machine code on disk where that is possible."""
    return _compiled(function)


def jit_ieee(function: Function) -> Function:
    """Compile as :func:`jit` does, with division by zero as in numpy: infinite or not a number, and no error."""
    return _compiled(function, error_model="numpy")


def _compiled(function: Function, **options: Any) -> Function:
    try:
        return cast(Function, njit(cache=True, nogil=True, **options)(function))
    except RuntimeError:  # no writable place for a cache
        return cast(Function, njit(nogil=True, **options)(function))
