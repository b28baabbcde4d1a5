"""A system with parameters as one text: ``NAME@key=value@key2=value2``.

The text needs no quoting in a shell, and commas separate systems. So a value holds neither a comma nor an ``@``.
Values are numbers, ``true``, ``false`` or text; a number that is written as JSON or Python writes it (``5``, ``0.04``,
``.04``, ``1e-3``) is a number, everything else is text. Parameters are known by name, so their order means nothing:
they are kept in the order of their names.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gnomon.core.errors import InputError, some

Value = bool | int | float | str

_PARAMETER = re.compile(r"[A-Za-z_]\w*=")
_WHOLE = re.compile(r"-?(0|[1-9]\d*)")
_NUMBER = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?")
_WORDS: dict[str, bool] = {"true": True, "false": False}


@dataclass(frozen=True)
class Spec:
    """A system by name, and the parameters that were given.

    >>> Spec("walker", {"window": 2, "bridging": False}).text
    'walker@bridging=false@window=2'
    """

    name: str
    parameters: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name or "," in self.name:
            raise InputError(f"system {self.name!r}: expected a name without a comma")
        object.__setattr__(self, "parameters", dict(sorted(self.parameters.items())))
        for key, value in self.parameters.items():
            if not isinstance(key, str) or not key.isidentifier():
                raise InputError(f"system {self.name!r}: {key!r} is no name of a parameter")
            written(value, f"system {self.name!r}: parameter {key!r}")

    @property
    def text(self) -> str:
        """The system as one text, which :func:`parse` reads back."""
        return self.name + "".join(f"@{key}={written(value)}" for key, value in self.parameters.items())

    def take(self, **changes: Value) -> Spec:
        """Return the system with some parameters set."""
        return Spec(self.name, {**self.parameters, **changes})

    def without(self, names: Iterable[str]) -> Spec:
        """Return the system without some parameters."""
        left_out = set(names)
        return Spec(self.name, {key: value for key, value in self.parameters.items() if key not in left_out})

    def __str__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash(self.text)


def parse(text: str) -> Spec:
    """Read a system from its text; what stands before the first ``@key=`` is the name.

    >>> parse("multi_stage@eps=.02@box_budget=false")
    Spec(name='multi_stage', parameters={'box_budget': False, 'eps': 0.02})
    """
    pieces = text.strip().split("@")
    own = next((at for at, piece in enumerate(pieces) if at and _PARAMETER.match(piece)), len(pieces))
    strange = [piece for piece in pieces[own:] if not _PARAMETER.match(piece)]
    # An @ may be part of a path; what looks like neither a path nor a parameter was meant to be a parameter.
    strange += [piece for piece in pieces[1:own] if not re.search(r"[/:.]", piece)]
    if strange:
        raise InputError(f"system {text!r}: expected NAME@key=value@key=value, but {strange[0]!r} is not key=value")
    parameters: dict[str, Value] = {}
    for piece in pieces[own:]:
        key, _, value = piece.partition("=")
        if key in parameters:
            raise InputError(f"system {text!r}: parameter {key!r} is given twice")
        parameters[key] = read_value(value, f"system {text!r}: parameter {key!r}")
    return Spec("@".join(pieces[:own]), parameters)


def split(items: Iterable[str]) -> list[Spec]:
    """Read the systems of an option that may be repeated and may hold several, separated by commas; each once.

    >>> [spec.text for spec in split(["a,b@k=1", "a"])]
    ['a', 'b@k=1']
    """
    texts = [text for item in items for text in map(str.strip, item.split(",")) if text]
    return list(dict.fromkeys(map(parse, texts)))


def read_value(text: str, where: str = "value") -> Value:
    """Read a value: a number, ``true``, ``false``, or text.

    >>> [read_value(text) for text in ("5", ".5", "1e-3", "true", "fast", "007")]
    [5, 0.5, 0.001, True, 'fast', '007']
    """
    text = text.strip()
    if text in _WORDS:
        return _WORDS[text]
    value: Value = int(text) if _WHOLE.fullmatch(text) else float(text) if _NUMBER.fullmatch(text) else text
    written(value, where)
    return value


def written(value: Value, where: str = "value") -> str:
    """Return the text of a value, which :func:`read_value` reads as the same value; refuse what has none."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)) and math.isfinite(value):
        return int.__repr__(value) if isinstance(value, int) else float.__repr__(value)
    if not isinstance(value, str):
        raise InputError(f"{where}: expected a finite number, true, false or text, but got {value!r}")
    if not value or value != value.strip() or "," in value or "@" in value:
        raise InputError(f"{where}: expected text without commas, @ and outer spaces, but got {value!r}")
    if value in _WORDS or _WHOLE.fullmatch(value) or _NUMBER.fullmatch(value):
        raise InputError(f"{where}: the text {value!r} would be read back as {read_value(value)!r}: give that")
    return value


def known_parameters(kind: Callable[..., Any]) -> dict[str, Any]:
    """Return the parameters that the constructor of a class (or a function) takes by keyword, with their defaults.

    One without a default has :data:`inspect.Parameter.empty`. Only such as can be written in a text are named.

    >>> class Walker:
    ...     def __init__(self, threshold: float = 0.9, bridging: bool = True) -> None: ...
    >>> known_parameters(Walker)
    {'threshold': 0.9, 'bridging': True}
    """
    found = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        by_keyword = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        plain = parameter.default in (None, parameter.empty) or isinstance(parameter.default, (bool, int, float, str))
        if by_keyword and plain:
            found[name] = parameter.default
    return found


def checked(spec: Spec, known: Mapping[str, Any], what: str = "system") -> Spec:
    """Return a system whose parameters are those that are known, each of the kind of its default.

    A whole number becomes a float where the default is one, so that ``1`` and ``1.0`` are one setting.
    """
    values: dict[str, Value] = {}
    for key, value in spec.parameters.items():
        if key not in known:
            names = f"it has {some(known, show=20)}" if known else "it has none"
            raise InputError(f"{what} {spec.name!r} has no parameter {key!r}; {names}")
        values[key] = _of_kind(value, known[key], f"{what} {spec.name!r}: parameter {key!r}")
    return Spec(spec.name, values)


def _of_kind(value: Value, default: Any, where: str) -> Value:
    if default is None or default is inspect.Parameter.empty:
        return value
    if isinstance(default, bool):
        fits, expected = isinstance(value, bool), "true or false"
    elif isinstance(default, int):
        fits, expected = isinstance(value, int) and not isinstance(value, bool), "a whole number"
    elif isinstance(default, float):
        fits, expected = isinstance(value, (int, float)) and not isinstance(value, bool), "a number"
        value = float(value) if fits else value
    else:
        fits, expected = isinstance(value, str), "text"
    if not fits:
        raise InputError(f"{where}: expected {expected} (default {written(default)}), but got {value!r}")
    return value
