"""Option structs: one frozen dataclass per verb of a suite, from which both faces are built.

A field ``truth: Annotated[str, Option("...")]`` becomes the option ``--truth`` of the command line
and the keyword ``truth`` in Python. What was asked for and what it resolved to are both recorded.
"""

from __future__ import annotations

import dataclasses
import difflib
import numbers
import operator
import os
import re
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from gnomon.core.errors import InputError

S = TypeVar("S")

LONGEST = 120
"""Characters of a value that a message shows."""
MOST_LISTED = 1000
"""Items of a list that a record of options holds."""
INTERVALS = ("jackknife-t", "percentile", "bca", "none")
"""Interval methods that every verb with scores offers."""
MOST_RESAMPLES = 1_000_000
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
"""How an address (URL) begins; a drive of Windows has one letter."""
READ = re.compile(r"([A-Z]+_)?(FILE|DIR|PATH)|TRUTH")
"""Metavars of options that name data."""
PREDICTED: Mapping[str, str] = {
    "predictions": "run predicts with the systems that are named; 'gnomon score' scores predictions made elsewhere"
}
"""What verbs that predict say of predictions, for their ``ELSEWHERE``."""
WRITTEN = ("out", "store", "directory")
"""Options that name a place that is written to; those that begin with ``export_`` do so too."""


@dataclass(frozen=True)
class Option:
    """What the command line and the documentation need to know of a field."""

    help: str
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    metavar: str = ""
    data: bool = False
    """In Python, a table or mapping in memory is accepted as well as a path."""
    low: float | None = None
    high: float | None = None
    argument: bool = False
    """On the command line it is a positional argument."""


@dataclass(frozen=True)
class Parameter:
    """A field of an option struct, resolved."""

    name: str
    type: type
    many: bool
    required: bool
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """The spelling on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def writes(self) -> bool:
        """Whether it names a place that is written to."""
        return self.name in WRITTEN or self.name.startswith("export_")

    @property
    def reads(self) -> bool:
        """Whether it names data: a file or folder, or several, perhaps as ``NAME=FILE``."""
        return bool(READ.fullmatch(self.option.metavar.removesuffix("..."))) and not self.writes


@dataclass(frozen=True, kw_only=True)
class ScoringOptions:
    """What every verb that ends in scores accepts."""

    out: Annotated[
        str, Option("folder that receives one run directory per system; 'none' keeps nothing", metavar="DIR")
    ] = "runs"
    metrics: Annotated[
        tuple[str, ...],
        Option(
            "metrics that tables show, by name; the first ranks and compares systems; your own as file.py:Class or "
            "module:Class; several with commas or repeated",
            metavar="METRIC",
            data=True,
        ),
    ] = ()
    seed: Annotated[int, Option("seed of every random number", low=0)] = 0
    interval: Annotated[str, Option("how intervals are made", choices=INTERVALS)] = "jackknife-t"
    level: Annotated[float, Option("coverage of the intervals", low=0.5, high=0.999)] = 0.95
    resamples: Annotated[int, Option("bootstrap replicates and random swaps", low=100, high=MOST_RESAMPLES)] = 10_000


@dataclass(frozen=True, kw_only=True)
class ExhibitOptions:
    """What verbs accept whose runs keep cases to look at."""

    exhibits: Annotated[
        int, Option("cases kept in the run to be looked at, the worst first; 0 keeps none", low=0, high=1000)
    ] = 24


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """What verbs accept that score labels of rows, in whatever form a user has them (:mod:`gnomon.intake.labelled`)."""

    table: Annotated[
        str,
        Option(
            "one table that holds truth and predictions side by side: --truth, --predictions, --group, --slice and "
            "--id then name its columns",
            metavar="FILE",
            data=True,
        ),
    ] = ""
    id: Annotated[
        str, Option("column of ids  [default: id; with --table, rows are known by their place]", metavar="COLUMN")
    ] = ""
    label: Annotated[str, Option("column of labels in the files  [default: label]", metavar="COLUMN")] = ""
    scores: Annotated[
        tuple[str, ...],
        Option(
            "scores by class: columns whose names begin with PREFIX, the rest being the class; NAME=PREFIX for several "
            "systems; kept in the run, and the largest is the answer where no label is given",
            metavar="PREFIX",
            data=True,
        ),
    ] = ()
    group: Annotated[
        str,
        Option(
            "column whose values may be resampled, or a table with id and group; 'id' if every row is independent",
            metavar="COLUMN",
            data=True,
        ),
    ] = ""


def parameters(struct: type) -> list[Parameter]:
    """Return the fields of an option struct with their types and options, its own before inherited ones."""
    hints = typing.get_type_hints(struct, include_extras=True)
    found = []
    for field in sorted(dataclasses.fields(struct), key=lambda field: field.name not in struct.__annotations__):
        base, option = _unwrap(hints[field.name], field.name)
        many = typing.get_origin(base) is tuple
        inner = typing.get_args(base)[0] if many else base
        if typing.get_origin(inner) in (typing.Union, types.UnionType):
            inner = next(arg for arg in typing.get_args(inner) if arg is not type(None))
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        default = None if required else _default(field)
        found.append(Parameter(field.name, inner, many, required, default, option))
    return found


def elsewhere(struct: type) -> Mapping[str, str]:
    """Return names that are no options of a struct, and how what they would name is given.

    A struct says so in a class variable ``ELSEWHERE``, for names that users know from other commands.
    """
    found: Mapping[str, str] = getattr(struct, "ELSEWHERE", {})
    return found


def build(struct: type[S], values: Mapping[str, Any]) -> S:
    """Make an option struct from keywords, refusing unknown names and values of the wrong kind."""
    known = {parameter.name: parameter for parameter in parameters(struct)}
    spelled = {alias.lstrip("-").replace("-", "_"): p.name for p in known.values() for alias in p.option.aliases}
    values = {name if name in known else spelled.get(name, name): value for name, value in values.items()}
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise InputError(f"unknown option {name!r}; {elsewhere(struct).get(name) or hint}")
    for parameter in known.values():
        if parameter.required and values.get(parameter.name) is None:
            raise InputError(f"option {parameter.name!r} ({parameter.flag}) is required: {parameter.option.help}")
    return struct(**{name: _checked(known[name], value) for name, value in values.items()})


def record(options: Any) -> dict[str, Any]:
    """Return options as plain data; what lives in memory is named as such."""
    return {field.name: plain(getattr(options, field.name)) for field in dataclasses.fields(options)}


def _unwrap(hint: Any, name: str) -> tuple[Any, Option]:
    if typing.get_origin(hint) is Annotated:
        base, *extra = typing.get_args(hint)
        for item in extra:
            if isinstance(item, Option):
                return base, item
    raise TypeError(f"field {name!r} of an option struct needs Annotated[type, Option(...)]")


def _default(field: dataclasses.Field[Any]) -> Any:
    factory: Any = field.default_factory
    return factory() if field.default is dataclasses.MISSING else field.default


def _checked(parameter: Parameter, value: Any) -> Any:
    if value is None and parameter.default is None:
        return None
    if not parameter.many:
        return _scalar(parameter, value)
    if parameter.option.data and not isinstance(value, (list, tuple)):
        return (value,)
    if isinstance(value, Mapping):  # several systems by name, as the command line's NAME=FILE
        for name, item in value.items():
            if not isinstance(item, (str, int, float, os.PathLike)):
                raise InputError(
                    f"option {parameter.name!r}: expected the path of a file or folder for {str(name)[:60]!r}, but "
                    f"got a {type(item).__name__} in memory; write it to a file and give its path"
                )
        value = [f"{name}={item}" for name, item in value.items()]
    items = [value] if isinstance(value, str) or not isinstance(value, Sequence) else value
    return tuple(_scalar(parameter, item) for item in items)


def _scalar(parameter: Parameter, value: Any) -> Any:
    option, name, expected = parameter.option, parameter.name, parameter.type
    if option.data:
        return value
    if expected in (int, float) and not isinstance(value, (bool, float)):
        value = _number(value, expected)
    if parameter.type is str and hasattr(value, "__fspath__"):
        value = value.__fspath__()
    fits = isinstance(value, expected) and not (expected is int and isinstance(value, bool))
    if not fits:
        text = repr(value)
        got = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
        raise InputError(f"option {name!r}: expected {expected.__name__}, but got {got}")
    if parameter.writes and (found := ADDRESS.match(str(value))):
        raise InputError(f"option {name!r}: expected a path of this machine, but got an address ({found[0]}...)")
    if option.choices and value not in option.choices:
        raise InputError(f"option {name!r}: expected one of {', '.join(option.choices)}, but got {value!r}")
    low, high = option.low, option.high
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        bound = f"at least {low}" if high is None else f"at most {high}" if low is None else f"{low} to {high}"
        raise InputError(f"option {name!r}: expected {bound}, but got {value!r}")
    return value


def _number(value: Any, expected: type) -> Any:
    """Take whole numbers of other libraries for what they are; leave everything else to the check."""
    try:
        return (
            float(value) if expected is float and isinstance(value, numbers.Real) else expected(operator.index(value))
        )
    except (TypeError, ValueError, OverflowError):
        return value


def plain(value: Any) -> Any:
    """Return an option's value as plain data; what lives in memory is named as such."""
    if hasattr(value, "__fspath__"):
        return os.fspath(value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple)):
        if len(value) > MOST_LISTED:  # data, not a choice: a run keeps its fingerprint
            return f"<{type(value).__name__} of {len(value)} in memory>"
        return [plain(item) for item in value]
    return f"<{type(value).__name__} in memory>"


def split_words(given: Iterable[str]) -> list[str]:
    """Return the words of an option that may be repeated and may hold several, separated by commas.

    >>> split_words(["a, b", "a"])
    ['a', 'b', 'a']
    """
    return [word for item in given for word in map(str.strip, item.split(",")) if word]


def list_variants(variant: str) -> tuple[str, ...]:
    """Return the variants that ``--variant`` asks for."""
    return ("published", "strict") if variant == "both" else (variant,)
