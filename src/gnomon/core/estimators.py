"""Estimators of scikit-learn's kind as systems: an instance in Python becomes a text from which it is made again.

An estimator is anything with ``get_params`` and ``set_params``. Its parameters are numbers, texts, lists of such and
other estimators (the steps of a pipeline), so that a plain record holds it: the class, and the parameters that differ
from their defaults. One without nested parameters has the text of the command line,
``sklearn.linear_model:LogisticRegression@C=0.1``.
"""

from __future__ import annotations

import base64
import inspect
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError

CLASS, PARAMETERS, ITEMS = "class", "parameters", "items"
NAME = f"{__name__}:Estimator"


def is_estimator(value: Any) -> bool:
    """Say whether a value, or a class, is an estimator of scikit-learn's kind."""
    return callable(getattr(value, "get_params", None)) and callable(getattr(value, "set_params", None))


def describe_estimator(value: Any) -> dict[str, Any]:
    """Return an estimator as plain data: its class, and its parameters other than the defaults."""
    kind = type(value)
    if "<locals>" in kind.__qualname__:
        raise InputError(
            f"{kind.__name__}: a class that is defined inside a function cannot be found again; move it out"
        )
    defaults = {name: one.default for name, one in inspect.signature(kind).parameters.items()}
    given = {
        name: _describe(item, f"{kind.__name__}: parameter {name!r}")
        for name, item in value.get_params(deep=False).items()
        if not _is_default(item, defaults.get(name, inspect.Parameter.empty))
    }
    return {CLASS: name_class(kind), PARAMETERS: given}


def name_class(kind: type) -> str:
    """Return a class by name, as ``module:Class``: of a private module, the package that offers the same class."""
    module = kind.__module__
    while any(part.startswith("_") and not part.startswith("__") for part in module.split(".")):
        parent = module.rpartition(".")[0]
        if getattr(sys.modules.get(parent), kind.__qualname__, None) is not kind:
            return f"{kind.__module__}:{kind.__qualname__}"
        module = parent
    return f"{module}:{kind.__qualname__}"


def name_estimator(record: Mapping[str, Any]) -> str:
    """Return a short name: that of the class, or those of the steps of a pipeline.

    >>> scale = {"class": "m:Scale", "parameters": {}}
    >>> name_estimator({"class": "m:Pipeline", "parameters": {"steps": [["first", scale], ["second", scale]]}})
    'Scale + Scale'
    """
    steps = record[PARAMETERS].get("steps")
    if isinstance(steps, list):
        return " + ".join(name_estimator(step[1]) for step in steps if isinstance(step[1], Mapping))
    return str(record[CLASS]).rpartition(":")[2]


def write_recipe(record: Mapping[str, Any]) -> str:
    """Return the record of an estimator as text that may stand in the text of a system."""
    return base64.urlsafe_b64encode(json.dumps(record, sort_keys=True).encode()).decode().rstrip("=")


class Estimator:
    """The estimator that a recipe describes; making one gives an object of its own class."""

    def __new__(cls, recipe: str) -> Any:
        """Make the estimator."""
        return _make(_read_recipe(recipe))

    def fit(self, features: Any, labels: Any) -> None:
        """Every estimator has this; the class that the recipe names does the work."""

    def predict(self, features: Any) -> Any:
        """Every estimator has this; the class that the recipe names does the work."""

    @staticmethod
    def identify_parameters(recipe: str) -> str:
        """Return the identity of the code of all classes that the recipe names."""
        from gnomon.core.loading import source_identity

        found: dict[str, str] = {}

        def visit(value: Any) -> None:
            if isinstance(value, Mapping) and CLASS in value:
                found[value[CLASS]] = source_identity(value[CLASS], _find(value[CLASS]))
                visit(list(value[PARAMETERS].values()))
            inner = value[ITEMS].values() if isinstance(value, Mapping) and ITEMS in value else value
            for item in inner if not isinstance(inner, (str, Mapping)) and isinstance(inner, Iterable) else ():
                visit(item)

        visit(_read_recipe(recipe))
        return fingerprint(found)


def _read_recipe(recipe: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(recipe + "=" * (-len(recipe) % 4)))


def _make(value: Any) -> Any:
    if isinstance(value, list):
        return [_make(item) for item in value]
    if isinstance(value, Mapping) and ITEMS in value:
        return {key: _make(item) for key, item in value[ITEMS].items()}
    if isinstance(value, Mapping):
        return _find(value[CLASS])(**{name: _make(item) for name, item in value[PARAMETERS].items()})
    return value


def _find(name: str) -> Any:
    from gnomon.core.loading import find_class

    return find_class(name, ("get_params", "set_params"), "estimator", {})


def _describe(value: Any, where: str) -> Any:
    if is_estimator(value) and not isinstance(value, type):
        return describe_estimator(value)
    if isinstance(value, (list, tuple)):
        return [_describe(item, where) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {ITEMS: {key: _describe(item, where) for key, item in value.items()}}
    item = value.item() if callable(getattr(value, "item", None)) and not getattr(value, "shape", ()) else value
    if item is None or isinstance(item, (bool, int, float, str)):
        return item
    raise InputError(
        f"{where} holds a {type(value).__name__}, which cannot be written down; write a function that returns the "
        "estimator, and give it as file.py:function"
    )


def _is_default(value: Any, default: Any) -> bool:
    """Say whether a parameter has its default; values that cannot be compared have not."""
    return value is default or (
        type(value) is type(default) and isinstance(value, (int, float, str)) and value == default
    )
