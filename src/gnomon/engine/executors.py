"""Who does the work: this process, or worker processes that may die.

A worker is a process that waits for orders on a pipe, carries one out at a time and replies. When it dies, only the
node that it was working on is affected: the node goes back into the schedule and another worker is started. Time and
memory limits are kept by watching: a worker that exceeds one is killed and the node is charged with it.
"""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from gnomon.core.errors import InputError
from gnomon.core.suite import load
from gnomon.engine.options import EXECUTORS
from gnomon.engine.plan import Node, Plan
from gnomon.engine.schedule import Schedule
from gnomon.engine.store import Store, StoreFullError
from gnomon.engine.work import Order, Reply, carry_out

POLL = 0.1
"""Seconds between looks at limits."""


def execute(schedule: Schedule, executor: str, workers: int) -> None:
    """Work on a schedule until nothing is left to do; raises when interrupted or when the disk is full."""
    if executor == "inline":
        inline(schedule)
    elif executor == "processes":
        Pool(schedule, workers).run()
    else:
        raise InputError(f"executor: expected one of {', '.join(EXECUTORS)}, but got {executor!r}")


def check(plan: Plan, executor: str) -> None:
    """Refuse what an executor cannot do, before anything is done."""
    limits = [node.limits for node in plan]
    if executor == "inline" and any(limit.seconds is not None or limit.memory_bytes is not None for limit in limits):
        raise InputError("time and memory limits need worker processes: give --executor processes")


def inline(schedule: Schedule) -> None:
    """Do one node after another in this process."""
    while (node := schedule.take()) is not None:
        reply = carry_out(schedule.store, Order.of(node, schedule.fresh))
        if reply.state == "full":
            raise StoreFullError(reply.error)
        schedule.settle(reply)


@dataclass
class Worker:
    """A worker process as its owner sees it."""

    process: Any
    pipe: Connection
    node: Node | None = None
    since: float = float("inf")
    """When it began on its node, as it said itself: starting up and importing do not count."""
    killed: str = ""
    """Why its owner killed it."""


@dataclass
class Pool:
    """Some workers over one schedule."""

    schedule: Schedule
    size: int
    workers: list[Worker] = field(default_factory=list)

    def run(self) -> None:
        """Keep the workers busy until nothing is left to do."""
        try:
            while self.schedule.open:
                self._hand_out()
                self._listen()
                self._watch()
        finally:
            self._dismiss()

    def _hand_out(self) -> None:
        for worker in [w for w in self.workers if w.node is None]:
            if not self._give(worker):
                return
        while len(self.workers) < self.size:
            node = self.schedule.take()
            if node is None:
                return
            self._send(self._hire(), node)

    def _give(self, worker: Worker) -> bool:
        node = self.schedule.take()
        if node is None:
            return False
        self._send(worker, node)
        return True

    def _send(self, worker: Worker, node: Node) -> None:
        worker.node, worker.since = node, float("inf")
        try:
            worker.pipe.send(Order.of(node, self.schedule.fresh))
        except (BrokenPipeError, ConnectionResetError):
            self._bury(worker)

    def _hire(self) -> Worker:
        context = mp.get_context("spawn")
        mine, theirs = context.Pipe()
        process = context.Process(
            target=serve, args=(theirs, os.fspath(self.schedule.store.folder), os.getpid()), daemon=True
        )
        with _without_main():
            process.start()
        theirs.close()
        worker = Worker(process, mine)
        self.workers.append(worker)
        return worker

    def _listen(self) -> None:
        handles = {w.pipe: w for w in self.workers} | {w.process.sentinel: w for w in self.workers}
        for handle in wait(list(handles), POLL):
            worker = handles[handle]
            if worker not in self.workers:
                continue
            if isinstance(handle, Connection):
                self._receive(worker)
            elif not worker.pipe.poll():
                self._bury(worker)

    def _receive(self, worker: Worker) -> None:
        try:
            reply: Reply | None = worker.pipe.recv()
        except (EOFError, ConnectionResetError, OSError):
            self._bury(worker)
            return
        if reply is None:
            worker.since = time.monotonic()
            return
        worker.node = None
        if reply.state == "full":
            raise StoreFullError(reply.error)
        self.schedule.settle(reply)

    def _bury(self, worker: Worker) -> None:
        """Take in the death of a worker."""
        self.workers.remove(worker)
        worker.pipe.close()
        worker.process.join(timeout=5)
        if worker.node is None:
            return
        why = worker.killed or f"its worker died ({_cause(worker.process.exitcode)})"
        self.schedule.lose(worker.node.key, why, fault=bool(worker.killed))

    def _watch(self) -> None:
        for worker in self.workers:
            if worker.node is None or worker.killed:
                continue
            limits = worker.node.limits
            if limits.seconds is not None and time.monotonic() - worker.since > limits.seconds:
                self._kill(worker, f"exceeded its time limit of {limits.seconds:g} s")
            elif limits.memory_bytes is not None:
                used = resident_bytes(worker.process.pid)
                if used is not None and used > limits.memory_bytes:
                    what = f"{used / 1e6:.0f} of {limits.memory_bytes / 1e6:.0f} MB"
                    self._kill(worker, f"exceeded its memory limit ({what})")

    def _kill(self, worker: Worker, why: str) -> None:
        worker.killed = why
        worker.process.kill()

    def _dismiss(self) -> None:
        for worker in self.workers:
            worker.pipe.close()
            if worker.node is not None:
                worker.process.kill()
        for worker in self.workers:
            worker.process.join(timeout=5)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self.workers.clear()


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Keep a starting worker from importing the caller's script again: it needs nothing of it."""
    main = sys.modules["__main__"]
    kept: dict[str, Any] = {name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__}
    main.__spec__ = None
    try:
        yield
    finally:
        main.__dict__.update(kept)


def serve(pipe: Connection, folder: str, owner: int) -> None:
    """Carry out orders until the pipe closes; the body of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)  # what the work prints must not mix with machine output
    threading.Thread(target=_follow, args=(owner,), daemon=True).start()
    store = Store(folder)
    while True:
        try:
            order: Order = pipe.recv()
        except (EOFError, OSError):
            return
        with contextlib.suppress(Exception, SystemExit):
            load(order.function)  # what fails here fails again, and is reported, when it is carried out
        try:
            pipe.send(None)
            pipe.send(carry_out(store, order))
        except (BrokenPipeError, OSError):
            return


def _follow(owner: int) -> None:
    """Leave when the owner is gone: a worker without an owner works for nobody."""
    while os.getppid() == owner:
        time.sleep(0.5)
    os._exit(1)


def resident_bytes(pid: int) -> int | None:
    """Return the memory that a process holds, where the system tells."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    return f"exit code {code}"
