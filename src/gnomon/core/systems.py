"""The systems of a suite: found by name, made with parameters, and known by their code.

A system with parameters is one text: ``NAME@key=value@key2=value2``. The text needs no quoting in a shell, and commas
separate systems. So a value holds neither a comma nor an ``@``.
Values are numbers, ``true``, ``false`` or text; a number that is written as JSON or Python writes it (``5``, ``0.04``,
``.04``, ``1e-3``) is a number, everything else is text. Parameters are known by name, so their order means nothing:
they are kept in the order of their names.
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.core.estimators import NAME as ESTIMATOR
from gnomon.core.estimators import Estimator, describe_estimator, is_estimator, name_class, name_estimator, write_recipe
from gnomon.core.loading import find_maker, is_foreign, made_by, source_identity
from gnomon.core.options import split_words

Value = bool | int | float | str
HOOK = "identify_parameters"

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
    alias: str = field(default="", repr=False)
    """What it is called where a user named it, or where its own text is not for reading."""

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
        """What the system is called: its alias, or its source."""
        return self.alias or self.source

    @property
    def source(self) -> str:
        """The system as one text, which :func:`parse` reads back."""
        return self.name + "".join(f"@{key}={written(value)}" for key, value in self.parameters.items())

    def take(self, **changes: Value) -> Spec:
        """Return the system with some parameters set."""
        return replace(self, parameters={**self.parameters, **changes})

    def without(self, names: Iterable[str]) -> Spec:
        """Return the system without some parameters."""
        left_out = set(names)
        return replace(self, parameters={key: own for key, own in self.parameters.items() if key not in left_out})

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


def split(items: Iterable[Any]) -> list[Spec]:
    """Read the systems of an option that may be repeated and may hold several, separated by commas; each once.

    In Python an item may also be an estimator of scikit-learn's kind, or a mapping of systems by name.

    >>> [spec.text for spec in split(["a,b@k=1", "a"])]
    ['a', 'b@k=1']
    """
    found: list[Spec] = []
    for item in items:
        if isinstance(item, Spec):
            found.append(item)
        elif isinstance(item, str):
            found += map(parse, split_words([item]))
        elif isinstance(item, Mapping):
            found += [replace(spec, alias=str(name)) for name, own in item.items() for spec in split([own])]
        elif isinstance(item, type) and is_estimator(item):
            found.append(Spec(name_class(item)))
        elif is_estimator(item):
            found.append(_estimator(item))
        else:
            raise InputError(
                f"systems: expected a name, an estimator with fit and predict, or a mapping of them by name, but got "
                f"{'the class' if isinstance(item, type) else 'a'} {getattr(item, '__name__', type(item).__name__)}; "
                "give an instance, or its name as package.module:Class"
            )
    return list(dict.fromkeys(found))


def _estimator(value: Any) -> Spec:
    """Return an estimator as the command line would name it; one with nested parameters has a recipe and an alias."""
    record = describe_estimator(value)
    try:
        return Spec(record["class"], record["parameters"])
    except InputError:
        return Spec(ESTIMATOR, {"recipe": write_recipe(record)}, name_estimator(record))


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
    return replace(spec, parameters=values)


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


def _is_estimator_class(kind: Any) -> bool:
    return is_estimator(kind) or kind is Estimator


@dataclass(frozen=True)
class Systems:
    """The systems that a suite can evaluate: those built in, and classes of users.

    In place of a class there may be a function that returns a system. What the class, or the function, takes by keyword
    are the parameters of the system. A class says more about itself by attributes: ``trivial = True`` declares a
    baseline that does not look at its input, ``require()`` refuses where its libraries are missing,
    a static method ``identify_parameters(**parameters)`` returns the hash of files that parameters name, as text.
    """

    builtin: Mapping[str, str]
    """Short name -> ``module:Class``."""
    methods: tuple[str, ...]
    """What every system offers."""
    what: str = "system"
    """What messages call one."""
    option: str = "--systems"
    check: Callable[[str, Any], None] | None = None
    """Refuses a class that the suite cannot use, by its name and the class."""
    adapt: Callable[[Any], Any] | None = None
    """Makes a system of the suite of an estimator of scikit-learn's kind, where it is none by itself."""

    def find(self, name: str) -> Callable[..., Any]:
        """Return the class of a system, or the function that makes one.

        A name is a short one that is built in, ``package.module:Class`` or ``path/to/file.py:Class``.
        """
        if name in self.builtin:
            module, _, attribute = self.builtin[name].partition(":")
            built_in: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
            return built_in
        accept = _is_estimator_class if self.adapt is not None else None
        maker = find_maker(name, self.methods, self.what, dict.fromkeys(self.builtin, object), accept)
        if self.check is not None and not (accept and accept(maker)):
            self.check(name, maker)
        return maker

    def parse(self, items: Iterable[Any]) -> dict[str, Spec]:
        """Return the systems that an option names, by their text, with parameters that they have."""
        resolved = list(map(self.resolve, split(items)))
        specs = {spec.text: spec for spec in resolved}
        if len(specs) < len(resolved):
            names = [spec.text for spec in resolved]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise InputError(
                f"{self.what}s of one name: {some(twice)}; give them by name: {{'first': ..., 'second': ...}}"
            )
        if not specs:
            raise InputError(f"no {self.what} given: {self.option} NAME, package.module:Class or file.py:Class")
        for spec in specs.values():
            if self.offers(spec, "require"):
                self.find(spec.name).require()  # type: ignore[attr-defined]
            if not self.is_foreign(spec):  # a user's constructor may load a model: that is the work of a cell
                self.make(spec)
        return specs

    def resolve(self, system: str | Spec) -> Spec:
        """Return a system whose parameters are those that it has; refuse others, and one that lacks some."""
        spec = parse(system) if isinstance(system, str) else system
        known = self.parameters(spec.name)
        needed = [name for name, default in known.items() if default is inspect.Parameter.empty]
        lacking = [name for name in needed if name not in spec.parameters]
        if lacking:
            given = "".join(f"@{name}=..." for name in lacking)
            raise InputError(f"{self.what} {spec.name!r} cannot be made without {some(lacking)}: give {spec}{given}")
        return checked(spec, known, self.what)

    def make(self, system: str | Spec) -> Any:
        """Return a system of its own by name and parameters."""
        spec = self.resolve(system)
        maker, where = self.find(spec.name), f"{self.what} {spec.name!r}"
        made = made_by(maker, spec.parameters, (), where)
        adapted = self.adapt(made) if self.adapt is not None and is_estimator(made) else made
        return made_by(lambda: adapted, {}, self.methods, where)

    def parameters(self, name: str) -> dict[str, Any]:
        """Return the parameters of a system with their defaults."""
        return known_parameters(self.find(name))

    def identity(self, spec: Spec) -> dict[str, str]:
        """Return what results of a system depend on: its text, its code, and the files that its parameters name."""
        known = {
            "system": spec.source,
            "identity": source_identity(self.builtin.get(spec.name, spec.name), self.find(spec.name)),
        }
        content = self._identify_parameters(spec)
        return {**known, "content": content} if content else known

    def _identify_parameters(self, spec: Spec) -> str:
        """Return the hash of the files that parameters name, where a static or class method of the class gives it."""
        kind: Any = self.find(spec.name)
        if not isinstance(inspect.getattr_static(kind, HOOK, None), (staticmethod, classmethod)):
            return ""
        rule = f"{HOOK}(**parameters) returns the hash of files that parameters name, as text"
        try:
            content = getattr(kind, HOOK)(**spec.parameters)
        except TypeError as error:
            raise InputError(f"{spec.text}: {HOOK}() cannot be called with its parameters ({error}): {rule}") from error
        if not isinstance(content, str):
            raise InputError(f"{spec.text}: {HOOK}() returned {type(content).__name__}: {rule}")
        return content

    def record(self, spec: Spec) -> dict[str, Any]:
        """Return what a run records of its system."""
        known = self.identity(spec)
        return {"system": spec.text, "parameters": dict(spec.parameters), "system_source": known["identity"]}

    def offers(self, spec: Spec, method: str) -> bool:
        """Say whether a system has a method."""
        return callable(getattr(self.find(spec.name), method, None))

    def declares(self, spec: Spec, attribute: str) -> bool:
        """Say whether the class of a system has an attribute that is True."""
        return getattr(self.find(spec.name), attribute, False) is True

    def is_foreign(self, spec: Spec) -> bool:
        """Say whether a system is not gnomon's own code."""
        return is_foreign(spec.name, self.builtin)

    def loads_code(self, spec: Spec) -> bool:
        """Say whether loading a trained system may run code: it is pickled, or its ``load`` is not gnomon's own."""
        return spec.name not in self.builtin or not self.offers(spec, "save")
