"""A plan: a graph of artefacts and cells, each known by a key that hashes all that its result depends on.

A node names a function (``module:function``) and plain arguments, so that a worker in another process can do it
and so that its key can be computed before anything is done. The key hashes the function, the code that it depends on
(:mod:`gnomon.core.code_identity`), the arguments and the keys of the nodes that it needs: the same work has the same
key everywhere, and a change of code, data, parameters or seed anywhere below changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from gnomon.core.canonical import fingerprint
from gnomon.core.code_identity import identity_of
from gnomon.core.errors import GnomonError

WHOLE = ("*",)
"""All files of a result."""


@dataclass(frozen=True)
class Limits:
    """What one node may use, and how often it is tried."""

    retries: int = 1
    """Further attempts after an error."""
    deaths: int = 3
    """Further attempts after the death of a worker, which may be nobody's fault."""
    seconds: float | None = None
    memory_bytes: int | None = None
    resources: tuple[tuple[str, float], ...] = ()
    """What it takes of what workers of a cluster declare, such as ``("GPU", 1)``."""


@dataclass(frozen=True)
class Node:
    """One piece of work.

    Attributes
    ----------
    name
        What people call it: unique in its plan, not part of its key.
    function
        ``module:function``, called as ``function(arguments, needs, out)``: plain arguments, the folder of each
        needed node by role, and an empty folder that receives the result.
    arguments
        Plain data that the result depends on.
    context
        Plain data that the result does not depend on, such as where a file of known content lies; no part of the key.
    needs
        Role -> node.
    kind
        ``artefact`` (data, features, checkpoints) or ``cell`` (one scored combination).
    labels
        Variant, system, dataset, task, seed, ...: for tables and messages, not part of the key.
    calls
        Further functions, ``module:function``, that it calls by a name in its arguments; their code counts too.
    heavy
        Whether it takes much longer than starting a process; not part of its key.
    threaded
        Whether it may be done in any thread, and uses all processors by itself wherever it does not wait for a disk:
        in one process, such nodes are done side by side, so that one is read while another is stored. It ends when
        :func:`gnomon.engine.begun.stopping` says so; not part of its key.
    foreign
        Whether it runs code that is not gnomon's own, which may end its process, or be killed for the memory it takes.
        Such a node is done in a worker process unless the user asks for another executor; not part of its key.
    read
        Names of the files of an artefact that are read when results are put together, or :data:`WHOLE`. They come back
        from machines that have a store of their own, as results of cells do; not part of its key.
    signed
        Whether other nodes load its files in a way that may run code, such as a pickle. It is signed with the user's
        key and never loaded without that signature (:mod:`gnomon.engine.signing`); not part of its key.
    """

    name: str
    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    needs: Mapping[str, Node] = field(default_factory=dict)
    kind: Literal["artefact", "cell"] = "cell"
    labels: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    heavy: bool = False
    threaded: bool = False
    foreign: bool = False
    read: tuple[str, ...] = ()
    signed: bool = False

    @property
    def returned(self) -> tuple[str, ...]:
        """Names of the files that have to come back from wherever it was done; those of a cell all do."""
        return WHOLE if self.kind == "cell" else self.read

    @cached_property
    def code(self) -> dict[str, str]:
        """Identities of the code that it depends on, by function."""
        return {name: identity_of(name) for name in (self.function, *self.calls)}

    @cached_property
    def key(self) -> str:
        """Hash of everything that the result depends on."""
        return fingerprint(
            {
                "function": self.function,
                "code": self.code,
                "arguments": dict(self.arguments),
                "needs": {role: node.key for role, node in self.needs.items()},
            }
        )


class Plan:
    """Nodes in an order in which each comes after what it needs; equal work appears once."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes: dict[str, Node] = {}
        self._given: dict[tuple[str, str], Node] = {}
        for node in nodes:
            self._add(node)
            self._given.setdefault((node.name, node.key), node)
        names = [name for name, _ in {*self._given, *((node.name, key) for key, node in self.nodes.items())}]
        twice = {name for name in names if names.count(name) > 1} if len(set(names)) != len(names) else set()
        if twice:
            raise GnomonError(f"different nodes of a plan share a name: {sorted(twice)[:5]}")

    def _add(self, node: Node) -> None:
        if node.key in self.nodes:
            return
        for needed in node.needs.values():
            self._add(needed)
        self.nodes[node.key] = node

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    @property
    def cells(self) -> list[Node]:
        """The cells, in the order in which they were given; equal work under two names is two cells, done once."""
        return [node for node in self._given.values() if node.kind == "cell"]
