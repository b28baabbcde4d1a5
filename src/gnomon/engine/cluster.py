"""Work on a Dask cluster: one that is started here, or one that runs already.

The schedule stays here: a node is handed to the cluster when what it needs is done, and a cluster holds no more nodes
than it has threads, so that a worker's death is charged to what it was working on and to nothing else. What a worker
of the cluster does with a node is in :mod:`gnomon.engine.carrying`: a process of its own does it, which keeps limits
and may die without taking the worker along.

A scheduler that goes away is waited for; what it held is handed out again. So are workers, and workers that have what
nodes take of them. Whoever does a node takes its lock and publishes by renaming, so that no result is stored twice,
whatever happened.

What workers of a cluster have of what nodes take, such as GPUs and memory, and how it is said that it is lacking.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

from gnomon.core.errors import InputError, WorkError, counted, some
from gnomon.engine.carrying import HANDS, Carried, Task, carried
from gnomon.engine.joining import closed, joined, quiet, risk, started, where
from gnomon.engine.plan import WHOLE, Node, Plan
from gnomon.engine.schedule import Schedule
from gnomon.engine.store import OWN, Store, StoreFullError
from gnomon.engine.work import Reply
from gnomon.engine.workers import Place
from gnomon.intake.remote import sources

POLL = 0.2
"""Seconds between looks at what changed."""
PATIENCE = 300.0
"""Seconds that a scheduler may be away, or that no worker may have what nodes take."""
QUIET = 10.0
"""Seconds without a worker, or without one that has what nodes take, after which that is said."""
LATE = 90.0
"""Seconds within which what another machine stored in a shared folder has to be seen here; NFS may take a minute."""
MOST_BYTES = 1 << 30
"""The largest result that travels where no store is shared."""


@dataclass
class Cluster:
    """A cluster over one schedule."""

    schedule: Schedule
    executor: str
    workers: int
    held: dict[str, tuple[Node, Any]] = field(default_factory=dict)
    """What the cluster has, by the name of the attempt."""
    ended: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)
    room: int = 0
    slots: dict[Resources, int] = field(default_factory=dict)
    """How many nodes that take the same of workers can be at work beside one another."""
    looked: float = float("-inf")
    lacking: Lack | None = None
    late: dict[str, tuple[Node, Reply, float]] = field(default_factory=dict)
    """What workers stored and is not seen here yet, and since when."""
    told: str = ""
    """The risk of joining the cluster, as it was told."""

    def __post_init__(self) -> None:
        self.takes = takes(self.schedule.plan)

    def run(self) -> None:
        """Hand nodes to the cluster until nothing is left to do."""
        with contextlib.ExitStack() as stack, quiet(), marked(self.schedule.store) as self.mark:
            self.stack = stack
            self.client = self._join()
            while self.schedule.open:
                self._hand_out()
                self._listen()
            self.held.clear()

    def _join(self) -> Any:
        place = where(self.executor)
        if place:
            client = joined(place)
            if risk(client) != self.told:  # once, not each time that the scheduler is back
                self.told = risk(client)
                _say(self.told)
        else:
            self.stack.callback(HANDS.dismiss)
            client = self.stack.enter_context(started(self.workers))
        self.stack.callback(closed, client)
        return client

    def _hand_out(self) -> None:
        if time.monotonic() - self.looked > 1:
            self._look()
        held = Counter(self.takes[node.key] for node, _ in self.held.values())
        free = {asked: number - held[asked] for asked, number in self.slots.items()}
        # What waits for a worker that is gone is in nobody's way.
        room = self.room - sum(min(number, self.slots.get(asked, 0)) for asked, number in held.items())
        while room > 0:
            node = self.schedule.take(lambda one: free.get(self.takes[one.key], 0) > 0)
            if node is None:
                return
            free[self.takes[node.key]] -= 1
            self._submit(node)
            room = min(room - 1, self.room)

    def _look(self) -> None:
        """See how many threads there are, and how many of them have what nodes take."""
        self.looked = time.monotonic()
        try:
            found: Mapping[str, Any] | None = self.client.scheduler_info(n_workers=-1).get("workers")
        except (OSError, TimeoutError, ValueError) as error:
            self._wait_for_scheduler(error)
            return
        if found is None:  # a client that is closed knows of nothing; that is seen to when it is listened to
            self.room = 0
            return
        workers = list(found.values())
        self.room = sum(worker["nthreads"] for worker in workers)
        self.slots = {asked: sum(slots(worker, asked) for worker in workers) for asked in set(self.takes.values())}
        self._bear(workers)

    def _bear(self, workers: list[Any]) -> None:
        """Wait for what is lacking: say so after a while, and after a longer one give up what no worker declares."""
        open_nodes = (*self.schedule.waiting, *self.schedule.running)
        lacked = {} if all(self.slots.values()) else {self.takes[key]: None for key in open_nodes}
        asked = next((one for one in lacked if not self.slots[one]), None)
        if asked is None:
            self.lacking = None
            return
        what = asked if workers else ()
        if self.lacking is None or self.lacking.what != what:
            self.lacking = Lack(what, self.looked, self.looked)
        if not self._awaited(asked):
            self.lacking.since = self.looked
        told = f"no worker of the cluster has {declared(what)}{instead(workers)}"
        if what and self.looked - self.lacking.since > PATIENCE:
            raise InputError(f"{told}; start workers with --resources {declared(what)}")
        if self.looked - self.lacking.said > QUIET:
            _say(f"{told if what else 'the cluster has no workers yet'}; waiting for one")
            self.lacking.said = self.looked

    def _awaited(self, asked: Resources) -> bool:
        """Say whether a node takes this that could be done at once, and not only after what it needs."""
        ready = (key for key, node in self.schedule.waiting.items() if self.schedule.ready(node))
        return any(self.takes[key] == asked for key in (*self.schedule.running, *ready))

    def _submit(self, node: Node) -> None:
        name = f"gnomon-{node.name}-{node.key[:8]}-{uuid.uuid4().hex[:8]}"
        needs = tuple((self.schedule.order_of(needed), needed.limits) for needed in _below(node))
        order, place = self.schedule.order_of(node), Place.here(self.schedule.store)
        addresses = sources([order.context, *(needed.context for needed, _ in needs)])
        task = Task(order, node.limits, needs, place, self.mark, node.returned, MOST_BYTES, addresses)
        resources = dict(self.takes[node.key]) or None
        try:
            future = self.client.submit(carried, task, key=name, pure=False, retries=0, resources=resources)
        except Exception:
            if self._connected:
                raise
            self.schedule.hand_back(node.key)  # the scheduler went away just now
            self.room = 0
            return
        self.held[name] = (node, future)
        future.add_done_callback(lambda ended: self.ended.put(str(ended.key)))

    def _listen(self) -> None:
        with contextlib.suppress(queue.Empty):
            name = self.ended.get(timeout=POLL)
            while True:
                if name in self.held:
                    self._take_in(*self.held.pop(name))
                name = self.ended.get_nowait()
        self._see_late()
        if not self._connected:
            self._wait_for_scheduler(ConnectionError("it does not answer"))

    @property
    def _connected(self) -> bool:
        return self.client.status in ("running", "connecting")

    def _take_in(self, node: Node, future: Any) -> None:
        if future.status == "finished":
            try:
                self._settle(node, future.result(timeout=60))
            except (OSError, TimeoutError, CancelledError) as error:  # the worker that held the reply is gone
                self.schedule.lose(node.key, f"its reply was lost ({type(error).__name__})")
            return
        if future.status == "error":
            failure = future.exception()
            if type(failure).__name__ != "KilledWorker":
                raise WorkError(
                    f"a worker of the cluster cannot work ({type(failure).__name__}: {failure}); does it have the same "
                    "gnomon, Python and dask as this machine?"
                ) from failure
            self.schedule.lose(node.key, "the worker of the cluster that had it died")
            return
        self.schedule.hand_back(node.key)

    def _settle(self, node: Node, found: Carried) -> None:
        if found.reply is None:
            self.schedule.lose(node.key, found.lost, fault=found.fault, begun=found.begun)
            return
        if found.reply.state == "full":
            raise StoreFullError(found.reply.error)
        store = self.schedule.store if node.returned == WHOLE or found.shared else self.schedule.store.extracts
        if found.files and (self.schedule.fresh or not store.check(node.key)):
            with store.lock(node.key), store.draft(node.key) as out:
                for name, content in found.files.items():
                    if name not in OWN:
                        path = out / name
                        path.parent.mkdir(parents=True, exist_ok=True)
                        path.write_bytes(content)
        if found.shared and found.done and node.returned and not store.has(node.key):
            self.late[node.key] = (node, found.reply, time.monotonic())
            return
        self.schedule.settle(found.reply)

    def _see_late(self) -> None:
        """Take in what is seen by now; what never is was stored elsewhere, and is done again."""
        for key, (_, reply, since) in list(self.late.items()):
            folder = self.schedule.store.path(key)
            for above in (folder.parent.parent, folder.parent):
                with contextlib.suppress(OSError):
                    os.listdir(above)  # file systems of networks remember what was not there until they are asked so
            if self.schedule.store.has(key):
                self.schedule.settle(reply)
            elif time.monotonic() - since > LATE:
                self.schedule.lose(key, f"a worker stored it, but it is not seen here after {LATE:g} s")
            else:
                continue
            del self.late[key]

    def _wait_for_scheduler(self, error: BaseException) -> None:
        """Take back what the cluster had, and join again when its scheduler is there again."""
        for node, _ in self.held.values():
            self.schedule.hand_back(node.key)
        self.held.clear()
        until = time.monotonic() + PATIENCE
        _say(f"the scheduler is away ({error}); waiting for it")
        while True:
            closed(self.client)
            try:
                self.client = self._join()
            except (WorkError, InputError):  # its file may be away, too
                if time.monotonic() > until:
                    raise
                time.sleep(1)
            else:
                self.looked, self.room = float("-inf"), 0  # its workers may be others now
                return


@contextlib.contextmanager
def marked(store: Store) -> Iterator[str]:
    """Put a file into the store by which other machines can tell whether they see it."""
    with store.marked() as mark:
        yield os.path.abspath(mark)


def _say(text: str) -> None:
    sys.stderr.write(f"gnomon: {text}\n")
    sys.stderr.flush()


def _below(node: Node) -> list[Node]:
    """Return everything that a node needs, each after what it needs itself."""
    found: dict[str, Node] = {}

    def walk(one: Node) -> None:
        for needed in one.needs.values():
            if needed.key not in found:
                walk(needed)
                found[needed.key] = needed

    walk(node)
    return list(found.values())


Resources = tuple[tuple[str, float], ...]


@dataclass
class Lack:
    """What no worker has; nothing where there are no workers."""

    what: Resources
    since: float
    said: float


def takes(plan: Plan) -> dict[str, Resources]:
    """Return what every node takes, by key: where some are heavy, only those do."""
    heavy = any(node.heavy for node in plan)
    return {node.key: node.limits.resources if node.heavy or not heavy else () for node in plan}


def slots(worker: Mapping[str, Any], asked: Resources) -> int:
    """Return how many nodes that take something can be at work on one worker: it has to have all of that.

    >>> slots({"nthreads": 8, "resources": {"GPU": 2}}, (("GPU", 1.0),))
    2
    """
    has = worker.get("resources") or {}
    fits = (math.floor(float(has.get(name, 0)) / amount + 1e-9) for name, amount in asked)
    return min([int(worker["nthreads"]), *fits])


def declared(resources: Iterable[tuple[str, float]]) -> str:
    """Write resources as ``dask worker --resources`` takes them.

    >>> declared([("GPU", 1.0), ("MEMORY", 64e9)])
    'GPU=1,MEMORY=6.4e+10'
    """
    return ",".join(f"{name}={float(amount):g}" for name, amount in resources)


def instead(workers: Sequence[Mapping[str, Any]]) -> str:
    """Say what workers declare, each for itself."""
    known = sorted({declared(sorted((worker.get("resources") or {}).items())) for worker in workers} - {""})
    declare = "declares" if len(workers) == 1 else "declare"
    return f": {counted(len(workers), 'worker')} {declare} {some(known) if known else 'nothing'}"
