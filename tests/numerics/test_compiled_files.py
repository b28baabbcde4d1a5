"""Compiled functions call compiled functions of their own file alone.

Numba keeps machine code by the content of a function's own file. A call into another file would go on with the old
machine code after that other file was changed. ``onepass`` calls into others, and keeps its code by their content.
"""

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import numba.core.dispatcher
import pytest

import gnomon

GUARDED = {"gnomon.numerics.onepass"}


def modules():
    found = pkgutil.walk_packages(gnomon.__path__, "gnomon.")
    texts = {one.name: importlib.util.find_spec(one.name).origin for one in found if ".cli." not in one.name}
    return sorted(name for name, path in texts.items() if "compiling import" in Path(path).read_text())


def called(function):
    """Compiled functions that a compiled one names, directly or as attributes of a module."""
    names, known = function.py_func.__code__.co_names, function.py_func.__globals__
    values = [known[name] for name in names if name in known]
    inner = [value for value in values if isinstance(value, ModuleType)]
    values += [getattr(value, name) for value in inner for name in names if hasattr(value, name)]
    return [value for value in values if isinstance(value, numba.core.dispatcher.Dispatcher)]


@pytest.mark.parametrize("name", modules())
def test_compiled_functions_call_those_of_their_own_file(name):
    module = importlib.import_module(name)
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, numba.core.dispatcher.Dispatcher) and value.py_func.__module__ == name
    ]
    elsewhere = {(one.__name__, other.py_func.__module__) for one in own for other in called(one)}
    assert name in GUARDED or {where for _, where in elsewhere} <= {name}
