"""Functions that become machine code on first use; only modules that need it import this one, since numba is large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

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
