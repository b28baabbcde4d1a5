"""What a worker of a Dask cluster does with a node: a process of its own does it, and what has to travel travels.

Where the store is seen from the worker (a file system that machines share), the result is written there and only a
short reply travels. Where it is not, the worker has a store of its own beside its scratch space: it makes what a cell
needs for itself, and the result of the cell travels back, within a bound, with those files of artefacts that are read
when results are put together. Data that was given by its address and that a worker does not see is fetched by the
worker itself (:mod:`gnomon.intake.remote`).

A node that nobody waits for any more is stopped: its command was interrupted, or its scheduler is another one now.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gnomon.core.errors import GnomonError, InputError
from gnomon.engine import signing
from gnomon.engine.plan import Limits
from gnomon.engine.store import FULL, Store
from gnomon.engine.work import Order, Reply
from gnomon.engine.workers import Place, Worker
from gnomon.intake.remote import brought, recorded

POLL = 0.2
"""Seconds between looks at limits, and at whether a node is still wanted."""
IDLE = 30.0
"""Seconds after which a process that is given nothing leaves: it may hold much memory, also of a GPU."""
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
    send: tuple[str, ...]
    """Names of the files of the result that have to travel where the store is not shared."""
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
    shared: bool = False
    """Whether the result is in the store of the command."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The result, where no store is shared."""

    @property
    def done(self) -> bool:
        """Whether the result is there."""
        return self.reply is not None and self.reply.state in ("done", "found")


class Hands:
    """Worker processes of this process that are free, by place; each is lent to one thread at a time."""

    def __init__(self) -> None:
        self.free: dict[Place, list[Worker]] = {}
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def lent(self, place: Place) -> Iterator[Worker]:
        """Lend a worker process; it comes back if it is alive and idle."""
        with self.lock:
            self._bury()
            waiting = self.free.get(place)
            worker = waiting.pop() if waiting else None
        worker = worker or Worker(place, IDLE)
        try:
            yield worker
        finally:
            if worker.order is None and not worker.gone:
                with self.lock:
                    self.free.setdefault(place, []).append(worker)
            else:
                worker.dismiss()

    def dismiss(self) -> None:
        """Let all that are free go."""
        with self.lock:
            for worker in [worker for waiting in self.free.values() for worker in waiting]:
                worker.dismiss()
            self.free.clear()

    def _bury(self) -> None:
        """Take in those that have left, of all places: commands come with stores of their own, and go."""
        for place, waiting in list(self.free.items()):
            for worker in [worker for worker in waiting if worker.gone]:
                worker.bury()
                waiting.remove(worker)
            if not waiting:
                del self.free[place]


HANDS = Hands()


def carried(task: Task) -> Carried:
    """Do a node; this is what a worker of the cluster calls."""
    try:
        return _carried(task, _wanted())
    except InputError as error:
        why = f"{error} (worker on {socket.gethostname()})"
        return Carried(Reply(task.order.key, "error", error=why, bad_input=True))
    except OSError as error:  # of this machine, such as no space or no process left: another one may do it
        why = f"{type(error).__name__}: {error} (worker on {socket.gethostname()})"
        if error.errno in FULL:
            return Carried(Reply(task.order.key, "full", error=why))
        return Carried(None, why, begun=False)


def _carried(task: Task, wanted: Callable[[], bool]) -> Carried:
    place = task.place.found()
    shared = os.path.exists(task.mark)
    if not shared:
        place = replace(place, store=_own_store())
    _sweep(place.store)
    kept = Store(place.store)
    for order, limits in task.needs:
        if shared and kept.serves(order.key, order.fresh) and signing.may_load(kept.path(order.key), order.secrets):
            continue  # else a worker made it that does not see this store, or another user has replaced it
        found = _done(order, limits, place, task.addresses, wanted)
        if not found.done:
            return replace(found, reply=found.reply and replace(found.reply, key=task.order.key))
    found = _done(task.order, task.limits, place, task.addresses, wanted)
    if shared or not found.done:
        return replace(found, shared=shared)
    return _packed(found, kept, task)


def _packed(found: Carried, kept: Store, task: Task) -> Carried:
    """Add the files that travel; under the lock of the result, which another command may make afresh meanwhile."""
    folder, key = kept.path(task.order.key), task.order.key
    with kept.lock(key):
        held = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        files = {name: path for name, path in held.items() if any(fnmatch.fnmatchcase(name, one) for one in task.send)}
        size = sum(path.stat().st_size for path in files.values())
        if size <= task.most:
            return replace(found, files={name: path.read_bytes() for name, path in files.items()})
    why = f"its result has {size / 1e6:.0f} MB, at most {task.most / 1e6:.0f} are sent: give --store a shared folder"
    return Carried(Reply(key, "error", error=why, bad_input=True))


def _own_store() -> str:
    """Return the store of this machine, which its workers share and which outlives them.

    Trained systems are stored as pickles, and reading one runs its code. By default the scratch space lies in the
    folder of temporary files, under a name that another account can take first.
    """
    from distributed import get_worker

    space = os.path.dirname(os.path.abspath(get_worker().local_directory))
    folder = os.path.join(space, STORE)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    check_own(space)
    check_own(folder)
    return folder


def check_own(folder: str) -> None:
    """Refuse a folder that another account, other than the administrator, owns, or that every account can change."""
    state = os.stat(folder)
    owners = {os.lstat(folder).st_uid, state.st_uid}
    if owners <= {0, os.geteuid()} and not (state.st_mode & stat.S_IWOTH and not state.st_mode & stat.S_ISVTX):
        return
    raise InputError(
        f"{folder}: another account can put results there, whose code would be run; start workers with "
        "--local-directory and a folder that only their account can write to"
    )


@functools.cache
def _sweep(folder: str) -> None:
    """Remove what killed workers of this machine left half made, once in the life of this process."""
    Store(folder).sweep()


def _wanted() -> Callable[[], bool]:
    """Return a function that says whether somebody still waits for what this thread does."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        held = worker.state.tasks.get(key)
        return held is not None and held.state != "cancelled"

    return wanted


def _done(
    order: Order, limits: Limits, place: Place, addresses: Mapping[str, str], wanted: Callable[[], bool]
) -> Carried:
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
                    return Carried(_said(reply))
            except (EOFError, OSError):
                break
            worker.watch()
            if not wanted():
                worker.kill("nobody waits for it any more")
            alive = not worker.dead
        return Carried(None, worker.bury(), bool(worker.killed), worker.begun)


def _said(reply: Reply) -> Reply:
    """Return a reply that speaks of addresses in place of copies, and names this machine where its disk is full."""
    where = f" (worker on {socket.gethostname()})" if reply.state == "full" else ""
    return replace(reply, error=recorded(reply.error) + where, trace=recorded(reply.trace))
