"""Work on a Dask cluster: one that is started here, or one that runs already.

The schedule stays here: a node is handed to the cluster when what it needs is done, and a cluster holds no more nodes
than it has threads, so that a worker's death is charged to what it was working on and to nothing else. On a worker of
the cluster a node is done by a process of its own (:mod:`gnomon.engine.workers`), which keeps limits and may die
without taking the worker along.

Where the store is seen from the worker (a file system that machines share), the result is written there and only a
short reply travels. Where it is not, the worker has a store of its own beside its scratch space: it makes what a cell
needs for itself, and the result of the cell travels back, within a bound. Data that was given by its address and that
a worker does not see is fetched by the worker itself (:mod:`gnomon.intake.remote`).

A scheduler that goes away is waited for; what it held is handed out again. Whoever does a node takes its lock and
publishes by renaming, so that no result is stored twice, whatever happened.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gnomon.core.errors import GnomonError, InputError, MissingExtraError, WorkError, counted, some
from gnomon.engine.options import CLUSTER
from gnomon.engine.plan import Limits, Node
from gnomon.engine.schedule import Schedule
from gnomon.engine.store import Store, StoreFullError
from gnomon.engine.work import Order, Reply
from gnomon.engine.workers import Place, Worker
from gnomon.intake.remote import brought, recorded, sources

POLL = 0.2
"""Seconds between looks at what changed."""
ANSWER = 10.0
"""Seconds within which a scheduler has to answer."""
PATIENCE = 300.0
"""Seconds that a scheduler may be away."""
QUIET = 10.0
"""Seconds without a worker after which that is said."""
MOST_BYTES = 1 << 30
"""The largest result that travels where no store is shared."""
STORE = "gnomon-store"


@dataclass(frozen=True)
class Task:
    """What a worker of the cluster gets: a node, what it needs, and where the store is."""

    order: Order
    limits: Limits
    needs: tuple[tuple[Order, Limits], ...]
    """Orders of everything that it needs, each after what it needs itself."""
    place: Place
    mark: str
    """A file of the store that is seen from machines that share it."""
    send: bool
    """Whether the result has to travel where the store is not shared."""
    most: int
    """The most bytes that travel."""
    addresses: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Where copies of data come from that contexts of orders name; may hold credentials."""


@dataclass(frozen=True)
class Carried:
    """What a worker of the cluster returns."""

    reply: Reply | None
    lost: str = ""
    """Why the process that did it died."""
    fault: bool = False
    """Whether the node caused that, by exceeding a limit."""
    begun: bool = True
    """Whether that process had begun on it."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The result, where no store is shared."""


class Hands:
    """Worker processes of this process that are free, by place; each is lent to one thread at a time."""

    def __init__(self) -> None:
        self.free: dict[Place, list[Worker]] = {}
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def lent(self, place: Place) -> Iterator[Worker]:
        """Lend a worker process; it comes back if it is alive and idle."""
        with self.lock:
            waiting = self.free.setdefault(place, [])
            worker = next((waiting.pop() for _ in range(len(waiting)) if not waiting[-1].dead), None)
        worker = worker or Worker(place)
        try:
            yield worker
        finally:
            if worker.order is None and not worker.dead:
                with self.lock:
                    self.free[place].append(worker)
            else:
                worker.dismiss()


HANDS = Hands()


def carried(task: Task) -> Carried:
    """Do a node; this is what a worker of the cluster calls."""
    place = task.place.found()
    if os.path.exists(task.mark):
        return _done(task.order, task.limits, place, task.addresses)
    place = replace(place, store=_own_store())
    for order, limits in task.needs:
        found = _done(order, limits, place, task.addresses)
        if found.reply is None or found.reply.state not in ("done", "found"):
            return replace(found, reply=found.reply and replace(found.reply, key=task.order.key))
    found = _done(task.order, task.limits, place, task.addresses)
    if found.reply is None or found.reply.state not in ("done", "found") or not task.send:
        return found
    folder = Store(place.store).path(task.order.key)
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    size = sum(path.stat().st_size for path in paths)
    if size > task.most:
        why = (
            f"its result has {size / 1e6:.0f} MB, at most {task.most / 1e6:.0f} are sent: give --store a shared folder"
        )
        return Carried(Reply(task.order.key, "error", found.reply.seconds, why, bad_input=True))
    return replace(found, files={path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})


def _own_store() -> str:
    """Return the store of this machine, which its workers share."""
    from distributed import get_worker

    return os.path.join(os.path.dirname(os.path.abspath(get_worker().local_directory)), STORE)


def _done(order: Order, limits: Limits, place: Place, addresses: Mapping[str, str]) -> Carried:
    try:
        order = replace(order, context=brought(order.context, addresses))
    except GnomonError as error:
        why = f"{error} (worker on {socket.gethostname()})"
        return Carried(Reply(order.key, "error", error=why, bad_input=isinstance(error, InputError)))
    with HANDS.lent(place) as worker:
        alive = worker.send(order, limits)
        while alive:
            try:
                if worker.pipe.poll(POLL) and (reply := worker.receive()) is not None:
                    return Carried(replace(reply, error=recorded(reply.error), trace=recorded(reply.trace)))
            except (EOFError, OSError):
                break
            worker.watch()
            alive = not worker.dead
        return Carried(None, worker.bury(), bool(worker.killed), worker.begun)


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
    looked: float = float("-inf")
    workless: float = float("inf")
    """Since when there is no worker."""

    def run(self) -> None:
        """Hand nodes to the cluster until nothing is left to do."""
        heavy = any(node.heavy for node in self.schedule.plan)
        self.taking = {node.key for node in self.schedule.plan if node.heavy or not heavy}
        with contextlib.ExitStack() as stack, marked(self.schedule.store) as self.mark:
            self.stack = stack
            self.client = self._join()
            while self.schedule.open:
                self._hand_out()
                self._listen()
            self.held.clear()

    def _join(self) -> Any:
        distributed = library()
        address = self.executor.removeprefix(CLUSTER).removeprefix("://")
        if not address:
            return self._started(distributed)
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": f"tcp://{address}"}
        if address.endswith(".json") and not os.path.isfile(address):
            raise InputError(f"executor: no scheduler file {address}; dask scheduler --scheduler-file writes one")
        try:
            client = distributed.Client(**where, timeout=ANSWER, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise WorkError(f"no cluster answers at {address} ({error}); is the scheduler running?") from error
        self.stack.callback(_closed, client)
        return client

    def _started(self, distributed: Any) -> Any:
        import dask

        self.stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": 0}))
        cluster = distributed.LocalCluster(
            n_workers=self.workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            silence_logs=50,
        )
        self.stack.callback(cluster.close, timeout=5)
        client = distributed.Client(cluster, set_as_default=False)
        self.stack.callback(_closed, client)
        return client

    def _hand_out(self) -> None:
        if time.monotonic() - self.looked > 1:
            self._look()
        while len(self.held) < self.room:
            node = self.schedule.take()
            if node is None:
                return
            self._submit(node)

    def _look(self) -> None:
        """See how many threads there are, and whether anybody has what nodes take."""
        self.looked = time.monotonic()
        try:
            found = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, TimeoutError, ValueError) as error:
            self._wait_for_scheduler(error)
            return
        self.room = sum(worker["nthreads"] for worker in found.values())
        if found:
            self.workless = float("inf")
            self._check_resources(found)
            return
        self.workless = min(self.workless, self.looked)
        if self.looked - self.workless > QUIET:
            _say("the cluster has no workers yet; waiting for one")
            self.workless = self.looked

    def _check_resources(self, workers: Mapping[str, Any]) -> None:
        asked = {item for node in self.schedule.plan for item in node.limits.resources}
        for name, amount in sorted(asked):
            there = [float(worker.get("resources", {}).get(name, 0)) for worker in workers.values()]
            if max(there) < amount:
                declared = sorted({known for worker in workers.values() for known in worker.get("resources", {})})
                raise InputError(
                    f"no worker of the cluster has {name}={amount:g}: {counted(len(there), 'worker')} declare "
                    f"{some(declared) if declared else 'nothing'}; start workers with --resources {name}={amount:g}"
                )

    def _submit(self, node: Node) -> None:
        name = f"gnomon-{node.name}-{node.key[:8]}-{uuid.uuid4().hex[:8]}"
        fresh = self.schedule.fresh
        needs = tuple((Order.of(needed, False), needed.limits) for needed in _below(node))
        order, place = Order.of(node, fresh), Place.here(self.schedule.store)
        addresses = sources([order.context, *(needed.context for needed, _ in needs)])
        task = Task(order, node.limits, needs, place, self.mark, node.kind == "cell", MOST_BYTES, addresses)
        resources = dict(node.limits.resources) if node.key in self.taking else {}
        future = self.client.submit(carried, task, key=name, pure=False, retries=0, resources=resources or None)
        self.held[name] = (node, future)
        future.add_done_callback(lambda ended: self.ended.put(str(ended.key)))

    def _listen(self) -> None:
        with contextlib.suppress(queue.Empty):
            name = self.ended.get(timeout=POLL)
            while True:
                if name in self.held:
                    self._take_in(*self.held.pop(name))
                name = self.ended.get_nowait()
        if self.client.status not in ("running", "connecting"):
            self._wait_for_scheduler(ConnectionError(f"client {self.client.status}"))

    def _take_in(self, node: Node, future: Any) -> None:
        if future.status == "finished":
            try:
                self._settle(node, future.result(timeout=60))
            except (OSError, TimeoutError) as error:  # the worker that held the reply is gone
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
        if found.files and not (not self.schedule.fresh and self.schedule.store.check(node.key)):
            store = self.schedule.store
            with store.lock(node.key), store.draft(node.key) as out:
                for name, content in found.files.items():
                    path = out / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
        self.schedule.settle(found.reply)

    def _wait_for_scheduler(self, error: BaseException) -> None:
        """Take back what the cluster had, and join again when its scheduler is there again."""
        for node, _ in self.held.values():
            self.schedule.hand_back(node.key)
        self.held.clear()
        until = time.monotonic() + PATIENCE
        _say(f"the scheduler is away ({error}); waiting for it")
        while True:
            _closed(self.client)
            try:
                self.client = self._join()
            except WorkError:
                if time.monotonic() > until:
                    raise
                time.sleep(1)
            else:
                self.looked = float("-inf")
                return


@contextlib.contextmanager
def marked(store: Store) -> Iterator[str]:
    """Put a file into the store by which other machines can tell whether they see it."""
    with store.writing():
        store.folder.mkdir(parents=True, exist_ok=True)
        mark = store.folder / f"shared-{uuid.uuid4().hex[:12]}"
        mark.touch()
    try:
        yield os.path.abspath(mark)
    finally:
        mark.unlink(missing_ok=True)


def _say(text: str) -> None:
    sys.stderr.write(f"gnomon: {text}\n")
    sys.stderr.flush()


def library() -> Any:
    """Return Dask's distributed, or say how to get it."""
    try:
        import distributed
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("distributed", "dask"):
            raise
        raise MissingExtraError("executor dask needs distributed: pip install 'gnomon[cluster]'") from error
    return distributed


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


def _closed(client: Any) -> None:
    with contextlib.suppress(Exception):
        client.close(timeout=2)
