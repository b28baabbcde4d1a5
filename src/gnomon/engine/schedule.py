"""Which node may be worked on next, and what becomes of those that fail."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gnomon.core.errors import counted, some
from gnomon.engine import signing
from gnomon.engine.plan import Node, Plan
from gnomon.engine.store import Store
from gnomon.engine.work import Order, Reply

Report = Callable[[str, Node, str], None]
"""Called with an event (started, done, found, lost, retried, died, failed, blocked), its node, and a text."""


FALSE_STARTS = 10
"""As many deaths before the beginning count as one."""
LOSSES = 3
"""How often a node is tried again because what it needs was damaged after it had been done."""


@dataclass
class Attempt:
    """How often a node was tried, and what went wrong last."""

    errors: int = 0
    deaths: int = 0
    false_starts: int = 0
    """Deaths of workers that had not begun on it yet."""
    losses: int = 0
    """Attempts before which what it needs was damaged or removed."""
    last: str = ""
    trace: str = ""


@dataclass
class Schedule:
    """The state of a plan while it is worked on."""

    plan: Plan
    store: Store
    report: Report
    fresh: bool = False
    order: Callable[[list[Node]], Iterable[Node]] | None = None
    waiting: dict[str, Node] = field(default_factory=dict)
    running: dict[str, Node] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    """Keys of what failed for what the user gave."""
    attempts: dict[str, Attempt] = field(default_factory=dict)
    command: str = field(default_factory=lambda: uuid.uuid4().hex)
    """What this work is known by where everything is made afresh."""
    _blocked: set[str] = field(default_factory=set)
    _unsigned: set[str] = field(default_factory=set)
    """Keys of artefacts that are stored, but that only their data may be read of, since this user did not sign them."""

    def __post_init__(self) -> None:
        nodes = list(self.plan)
        self.secrets = signing.secrets_of(node.key for node in nodes if node.signed)
        lacking = {node.key for node in nodes if self.fresh or not self.store.check(node.key)}
        stored = self.secrets.keys() - lacking
        self._unsigned = {key for key in stored if not signing.may_load(self.store.path(key), self.secrets)}
        lacking |= self._unsigned
        asked = self._asked(lacking)
        refused = [node.name for node in nodes if node.key in self._unsigned & asked]
        if refused:
            signing.say(
                f"{counted(len(refused), 'trained system')} in the store not signed with this user's key: not loaded, "
                f"set aside and fitted again ({some(refused, show=3)})"
            )
        for node in nodes if self.order is None else self.order(nodes):
            if node.key in asked:
                self.waiting[node.key] = node
            else:
                self.done.add(node.key)
                self.report("found", node, "" if node.key not in lacking else "not needed any more")

    def _asked(self, lacking: set[str]) -> set[str]:
        """Return what has to be done of what is not stored.

        An artefact of which all that needs it is stored may lie on another machine, or have been removed; it is made
        again only where it is read when results are put together, and no part of it is here.
        """
        asked: set[str] = set()
        needed = {one.key for node in self.plan for one in node.needs.values()}
        for node in reversed(list(self.plan)):  # each comes before what it needs
            spared = node.key in needed and node.key not in asked and self._spared(node)
            if node.key in lacking and (self.fresh or not spared):
                asked |= {node.key, *(one.key for one in node.needs.values() if one.key in lacking)}
        return asked

    def _spared(self, node: Node) -> bool:
        """Say whether an artefact that is not stored need not be, as far as results are put together from it."""
        read = not node.returned or node.key in self._unsigned or self.store.extracts.check(node.key)
        return node.kind == "artefact" and read

    @property
    def open(self) -> bool:
        """Whether anything is left to do."""
        return bool(self.waiting or self.running)

    def order_of(self, node: Node) -> Order:
        """Return the order of a node."""
        return Order.of(node, self.command if self.fresh else "", self.secrets)

    def ready(self, node: Node) -> bool:
        """Say whether all that a node needs is there."""
        return all(needed.key in self.done for needed in node.needs.values())

    def take(self, may: Callable[[Node], bool] | None = None) -> Node | None:
        """Return a node whose needs are met, and that may be done now, and count it as running."""
        for key, node in self.waiting.items():
            if self.ready(node) and (may is None or may(node)):
                del self.waiting[key]
                self.running[key] = node
                self.report("started", node, "")
                return node
        return None

    def settle(self, reply: Reply) -> None:
        """Take in what became of a running node."""
        node = self.running.pop(reply.key)
        if reply.state in ("done", "found"):
            self.done.add(node.key)
            self.store.forgive(node.key)
            self.report(reply.state, node, f"{reply.seconds:.6f}")
            return
        attempt = self.attempts.setdefault(node.key, Attempt())
        if reply.state == "lacking":
            self._make_again(node, attempt, reply)
            return
        attempt.errors, attempt.last, attempt.trace = attempt.errors + 1, reply.error, reply.trace
        again = attempt.errors <= node.limits.retries and not reply.bad_input
        if reply.bad_input:
            self.refused.add(node.key)
        self._again_or_fail(node, attempt, again, "retried")

    def _make_again(self, node: Node, attempt: Attempt, reply: Reply) -> None:
        """Have what a node needs made again, and the node after it."""
        lacking = [self.plan.nodes[key] for key in reply.lacking]
        for needed in lacking:
            if needed.key in self.done:
                self.done.discard(needed.key)
                self.waiting[needed.key] = needed
                self.report("lost", needed, "its result was damaged or removed")
        names = ", ".join(repr(needed.name) for needed in lacking)
        attempt.losses, attempt.trace = attempt.losses + 1, reply.trace
        attempt.last = f"what it needs was damaged or removed: {names}"
        self._again_or_fail(node, attempt, attempt.losses <= LOSSES, "retried")
        for needed in lacking:
            if needed.key in self.failed:  # it was made again for another node meanwhile, in vain
                self._block(needed)

    def lose(self, key: str, why: str, *, fault: bool = False, begun: bool = True) -> None:
        """Take in the death of the worker of a node.

        Parameters
        ----------
        key, why
            The node, and what happened.
        fault
            The node caused it, by exceeding a limit.
        begun
            The worker had begun on it. One that had not is hardly the node's doing: it is charged a tenth of a death.
        """
        node = self.running.pop(key)
        attempt = self.attempts.setdefault(key, Attempt())
        attempt.last, attempt.trace = why, ""
        if fault:
            attempt.errors += 1
            self._again_or_fail(node, attempt, attempt.errors <= node.limits.retries, "retried")
        else:
            attempt.deaths += begun
            attempt.false_starts += not begun
            charged = attempt.deaths + attempt.false_starts // FALSE_STARTS
            self._again_or_fail(node, attempt, charged <= node.limits.deaths, "died")

    def hand_back(self, key: str) -> None:
        """Take back a running node that nobody works on any more, through no fault of its own or of its worker."""
        node = self.running.pop(key)
        self.waiting = {key: node, **self.waiting}

    def _again_or_fail(self, node: Node, attempt: Attempt, again: bool, event: str) -> None:
        if again:
            self.waiting[node.key] = node
            self.report(event, node, attempt.last)
            return
        tries = attempt.errors + attempt.deaths + attempt.false_starts + attempt.losses
        self.failed[node.key] = f"{attempt.last} ({tries} attempt{'' if tries == 1 else 's'})"
        record = {
            "name": node.name,
            "labels": dict(node.labels),
            "error": attempt.last,
            "traceback": attempt.trace,
            "attempts": tries,
            "time": time.time(),
        }
        self.store.fail(node.key, record)
        self.report("failed", node, self.failed[node.key])
        self._block(node)

    def _block(self, lost: Node) -> None:
        for key, node in list(self.waiting.items()):
            if key in self.waiting and any(needed.key == lost.key for needed in node.needs.values()):
                del self.waiting[key]
                why = self.failed[lost.key]
                self.failed[key] = why if lost.key in self._blocked else f"needs {lost.name!r}, which failed: {why}"
                self._blocked.add(key)
                self.report("blocked", node, self.failed[key])
                self._block(node)

    def missing(self) -> dict[str, str]:
        """Return the keys that are not done, and why."""
        unfinished = dict.fromkeys((*self.waiting, *self.running), "not reached")
        return {**unfinished, **self.failed}
