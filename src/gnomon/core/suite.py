"""What a suite offers: a light value that can be imported without numpy, naming its heavy parts.

Adding a suite means adding a folder (or a package with the entry point ``gnomon.suites``) that
exports one :class:`Suite`; nothing in the core changes. Handlers are named as ``module:function``
and imported when their verb is called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gnomon.core.errors import InputError, instead

if TYPE_CHECKING:
    from gnomon.core.table import Table


@dataclass(frozen=True)
class Verb:
    """One verb of a suite: its options, and the function that does it."""

    options: type
    handler: str
    help: str

    def load(self) -> Callable[..., Any]:
        """Import the handler."""
        handler: Callable[..., Any] = load(self.handler)
        return handler


@dataclass(frozen=True)
class Step:
    """One command of a demonstration: a verb of the suite with its options."""

    verb: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Tuning:
    """How the systems of a suite can be searched and ablated: the options of its verb ``run`` that this needs."""

    option: str
    """The option that names systems, each as ``NAME@key=value``."""
    systems: str
    """``module:NAME`` of its :class:`gnomon.core.systems.Systems`."""
    part: str = "part"
    """The option that chooses a part of the groups: ``train``, ``val`` or ``test``."""


@dataclass(frozen=True)
class Listing:
    """What a suite says about its datasets: tables, and how many of the datasets cannot be used as they are."""

    tables: tuple[Table, ...]
    faults: int = 0


@dataclass(frozen=True)
class Suite:
    """A suite: name, one line about it, verbs, and the function that makes tables of its runs."""

    name: str
    summary: str
    verbs: Mapping[str, Verb]
    tables: str
    """``module:function`` from a list of runs to tables and views."""
    exhibit: str = ""
    """``module:function`` from runs and the id of a case to a view of it, where runs keep exhibits."""
    opens: Mapping[str, str] = field(default_factory=dict)
    """Result files of other tools that can be looked at, by their name: a module with ``results(path)``, which names
    what is in a file, and ``shown(path, name)``, which gives a view of it."""
    board: str = ""
    """``module:function`` from runs and what is chosen, by name, to a :class:`gnomon.core.table.Board`."""
    demo: str = ""
    """``module:function`` from a folder and ``quick`` to the steps of a demonstration."""
    tuning: Tuning | None = None
    """Given where systems have parameters that can be searched."""
    data: str = ""
    """``module:function`` from ``list``, ``check`` or ``describe``, and a folder or a name, to a :class:`Listing`."""

    def verb(self, name: str) -> Verb:
        """Return a verb, or say what the suite offers instead."""
        if name not in self.verbs:
            raise InputError(f"suite {self.name!r} does not offer {name!r}; {instead(name, self.verbs, 'it offers')}")
        return self.verbs[name]


def load(reference: str) -> Any:
    """Import ``module:name``, mostly a function."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)
