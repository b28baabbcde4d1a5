"""Which names are public, and what the code says of them.

Public is what :data:`gnomon.__all__` names, every module in the rooms that plug-ins and scripts are written with
(:data:`ROOMS`), and what the pages and examples use beyond them (:data:`FURTHER`). In a module, the public names are
those of ``__all__``, or else the functions and classes that it defines, and its constants that have a text under them.
Whatever begins with an underscore is private.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

ROOMS = ("gnomon.core", "gnomon.measures", "gnomon.inference", "gnomon.audit")
FURTHER: dict[str, tuple[str, ...]] = {
    "gnomon.testing": (),
    "gnomon.report.figures.single": ("Figure",),
    "gnomon.runs.run": (),
    "gnomon.runs.content": (),
    "gnomon.runs.tables": (),
    "gnomon.runs.auditing": (),
    "gnomon.runs.pictures": (),
    "gnomon.engine.job": (),
    "gnomon.engine.plan": (),
    "gnomon.engine.options": (),
    "gnomon.intake.memory": (),
    "gnomon.compat.perfboard": ("AbstractRecognizer",),
    "gnomon.suites.change.systems.detection": (),
    "gnomon.suites.episode.episode": ("Episode",),
    "gnomon.suites.episode.layout": ("find",),
    "gnomon.suites.har.datasets": ("found",),
    "gnomon.suites.har.windows": (),
    "gnomon.suites.skeleton.files": ("write",),
}
"""Modules of other rooms, with the names in them that are public where it is not all of them."""
STANDING = {"MEASURES": "Examples of the measures that this module registers."}
"""What a constant is that is the same in every module: the text of :mod:`gnomon.measures` says it once."""


@dataclass(frozen=True)
class Member:
    """A public part of a class: a field, a property or a method."""

    name: str
    signature: str
    doc: str
    kind: str


@dataclass(frozen=True)
class Name:
    """A public name of a module."""

    module: str
    name: str
    value: Any
    note: str
    """The text under an assignment, where it is a constant."""

    @property
    def dotted(self) -> str:
        """Its whole name."""
        return f"{self.module}.{self.name}"

    @property
    def kind(self) -> str:
        """Whether it is a class, a function or a constant."""
        if inspect.isclass(self.value):
            return "class"
        return "function" if callable(self.value) and not self.note else "constant"

    @property
    def doc(self) -> str:
        """What the code says of it."""
        if self.kind == "constant":
            return self.note
        if isinstance(self.value, ModuleType):
            return _own(type(self.value).__call__)
        return "" if _automatic(self.value) else _own(self.value)

    @property
    def signature(self) -> str:
        """How it is called, or what a constant is."""
        if self.kind == "constant":
            return self.name
        own = signature(self.value)
        return f"{self.name}{own.removesuffix(' -> None') if self.kind == 'class' else own}"

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The public parts of a class, its own and those of private bases, fields first."""
        return tuple(_members(self.value)) if self.kind == "class" else ()


def _own(value: Any) -> str:
    """Return the docstring of something itself: one that is inherited speaks of something else."""
    return inspect.cleandoc(value.__doc__ or "")


def _automatic(value: Any) -> bool:
    """Say whether a docstring was made by dataclass and says nothing."""
    return inspect.isclass(value) and is_dataclass(value) and (value.__doc__ or "").startswith(f"{value.__name__}(")


class _Bare(str):
    """Text that is shown without quotes where a signature shows it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def signature(value: Any) -> str:
    """Return how something is called, without what differs between processes."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    taken = [
        item.replace(annotation=_bare(item.annotation), default=_plain(item.default))
        for item in found.parameters.values()
    ]
    return str(found.replace(parameters=taken, return_annotation=_bare(found.return_annotation)))


def _bare(annotation: Any) -> Any:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def _plain(default: Any) -> Any:
    """Return a default that is shown in few words: functions and classes by their name."""
    if default is inspect.Parameter.empty or not re.search(r" at 0x|<.*>", repr(default)):
        return default
    return _Bare(getattr(default, "__name__", "..."))


@cache
def modules() -> tuple[str, ...]:
    """Return the names of the public modules, packages first."""
    found = ["gnomon"]
    for room in ROOMS:
        package = importlib.import_module(room)
        inside = (item.name for item in pkgutil.iter_modules(package.__path__, f"{room}."))
        found += [room, *sorted(name for name in inside if not name.rpartition(".")[2].startswith("_"))]
    return (*found, *FURTHER)


@cache
def public(module: str) -> tuple[Name, ...]:
    """Return the public names of a module in the order of its source, or of ``__all__``."""
    loaded = importlib.import_module(module)
    notes = dict(_assigned(_tree(module)))
    names = getattr(loaded, "__all__", None)
    if FURTHER.get(module):
        names = FURTHER[module]
    elif names is None:
        names = [name for name in notes if not name.startswith("_") and _counts(loaded, name, notes[name])]
    notes = {**_brought(module), **{name: note or STANDING.get(name, "") for name, note in notes.items()}}
    return tuple(Name(module, name, getattr(loaded, name), notes.get(name, "")) for name in names)


def every() -> Iterator[Name]:
    """Return every public name."""
    for module in modules():
        yield from public(module)


def _brought(module: str) -> dict[str, str]:
    """Return the texts of constants that a module has from others."""
    found: dict[str, str] = {}
    for item in _tree(module):
        if isinstance(item, ast.ImportFrom) and item.module and item.module.startswith("gnomon"):
            there = dict(_assigned(_tree(item.module)))
            found |= {own.asname or own.name: there.get(own.name, "") for own in item.names}
    return found


def _counts(module: ModuleType, name: str, note: str) -> bool:
    value = getattr(module, name, None)
    own = getattr(value, "__module__", None) == module.__name__
    return (
        bool(note)
        or name in STANDING
        or (own and (inspect.isclass(value) or inspect.isfunction(value)))
        or _compiled(module, name)
    )


def _compiled(module: ModuleType, name: str) -> bool:
    """Say whether it is a function under a decorator that is no function any more."""
    value = getattr(module, name, None)
    return callable(value) and getattr(getattr(value, "__wrapped__", None), "__module__", None) == module.__name__


@cache
def _tree(module: str) -> list[ast.stmt]:
    """Return the statements of a module."""
    source = importlib.import_module(module).__file__
    return ast.parse(Path(source or "").read_text(encoding="utf-8")).body


def _body(kind: type) -> list[ast.stmt]:
    """Return the statements of a class."""
    body = _tree(kind.__module__)
    for name in kind.__qualname__.split("."):
        body = next((item.body for item in body if isinstance(item, ast.ClassDef) and item.name == name), [])
    return body


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Return every name that statements define or assign, in order, with the text under an assignment."""
    for place, item in enumerate(body):
        if isinstance(item, ast.FunctionDef | ast.ClassDef):
            yield item.name, ""
            continue
        targets = (
            item.targets if isinstance(item, ast.Assign) else [item.target] if isinstance(item, ast.AnnAssign) else []
        )
        after = body[place + 1] if place + 1 < len(body) else None
        text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        for target in targets:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(name, ast.Name):
                    yield name.id, inspect.cleandoc(text) if isinstance(text, str) else ""


def _members(kind: type) -> Iterator[Member]:
    bases = [base for base in kind.__mro__ if base is kind or base.__name__.startswith("_")]
    notes: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("gnomon"):
            notes |= {name: note for name, note in _assigned(_body(base)) if note}
    if is_dataclass(kind):
        for field in fields(kind):
            if not field.name.startswith("_") and field.repr:
                said = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
                yield Member(field.name, f"{field.name}: {said}", notes.get(field.name, ""), "field")
    seen: set[str] = set()
    for base in bases:
        for name, value in vars(base).items():
            if not name.startswith("_") and name not in seen and (made := _member(name, value)):
                seen.add(name)
                yield made


def _member(name: str, value: Any) -> Member | None:
    if isinstance(value, property) or type(value).__name__ == "cached_property":
        return Member(name, name, _own(value), "property")
    function = getattr(value, "__func__", value)
    if not inspect.isfunction(function):
        return None
    return Member(name, f"{name}{signature(function)}", _own(function), "method")
