"""Planning of ``run``: a suite declares artefacts and cells; what they have in common is filled in here.

Nodes of a system carry its name, parameters and code in their key, are labelled with it, and are known to be foreign
where its code is not gnomon's own. A trained system is an artefact: :func:`store_trained` writes it,
:func:`load_trained` reads it, by the system's own ``save(folder)`` and ``load(folder)`` where it has them, else as a
pickle that is loaded only with the signature of this user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gnomon.core.systems import Spec, Systems, parse
from gnomon.engine import signing
from gnomon.engine.options import EngineOptions
from gnomon.engine.plan import Node

PICKLE = "system.pickle"

Work = Callable[[Mapping[str, Any], Mapping[str, Path], Path], None]
"""The function of a node: plain arguments, the folder of each needed node by role, the folder of the result."""


@dataclass(frozen=True)
class Planner:
    """Makes the nodes of one ``run``."""

    options: EngineOptions
    systems: Systems | None = None

    def cell(self, name: str, function: Work, arguments: Mapping[str, Any], **more: Any) -> Node:
        """Return a cell: one scored combination; further arguments are those of :meth:`node`."""
        return self.node("cell", name, function, arguments, **more)

    def artefact(self, name: str, function: Work, arguments: Mapping[str, Any], **more: Any) -> Node:
        """Return an artefact: what cells share; further arguments are those of :meth:`node`."""
        return self.node("artefact", name, function, arguments, **more)

    def trained(self, name: str, function: Work, arguments: Mapping[str, Any], *, spec: Spec, **more: Any) -> Node:
        """Return the artefact of a trained system, signed where loading it may run code."""
        signed = self._known().loads_code(spec)
        return self.node("artefact", name, function, arguments, spec=spec, signed=signed, **more)

    def node(
        self,
        kind: Literal["artefact", "cell"],
        name: str,
        function: Work,
        arguments: Mapping[str, Any],
        *,
        spec: Spec | None = None,
        labels: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Node:
        """Return a node; ``spec`` is the system whose code it runs, the rest are fields of a node."""
        own, system, foreign = dict(arguments), {}, False
        if spec is not None:
            own |= self._known().identity(spec)
            system, foreign = {"system": spec.text}, self._known().is_foreign(spec)
        return Node(
            name,
            f"{function.__module__}:{function.__qualname__}",
            own,
            kind=kind,
            labels={**system, **(labels or {})},
            limits=self.options.limits(),
            foreign=foreign,
            **more,
        )

    def _known(self) -> Systems:
        if self.systems is None:
            raise TypeError("nodes of a system need the systems of the suite")
        return self.systems


def store_trained(system: Any, name: str, folder: Path) -> None:
    """Write a trained system into the folder of its artefact."""
    if callable(getattr(system, "save", None)):
        system.save(folder)
    else:
        remedy = "hold plain values in its attributes, or give it save(folder) and load(folder)"
        signing.dump(system, folder / PICKLE, f"{name}: cannot be stored after training", remedy)


def load_trained(systems: Systems, text: str, folder: Path) -> Any:
    """Return a system that :func:`store_trained` wrote, by its text."""
    if (folder / PICKLE).is_file():
        return signing.load(folder / PICKLE, systems.find(parse(text).name))
    system = systems.make(text)
    system.load(folder)
    return system
