"""Who does the work: this process, worker processes that may die, or a cluster.

When a worker dies, only the node that it was working on is affected: the node goes back into the schedule and another
worker is started.
"""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, field
from multiprocessing.connection import wait

from gnomon.core.errors import InputError
from gnomon.engine.beside import Beside
from gnomon.engine.joining import is_cluster, where
from gnomon.engine.options import EXECUTORS
from gnomon.engine.plan import Node, Plan
from gnomon.engine.schedule import Schedule
from gnomon.engine.store import StoreFullError
from gnomon.engine.work import Reply, carry_out
from gnomon.engine.workers import Place, Worker

POLL = 0.1
"""Seconds between looks at limits."""


def execute(schedule: Schedule, executor: str, workers: int) -> None:
    """Work on a schedule until nothing is left to do; raises when interrupted or when the disk is full."""
    if executor == "inline":
        with contextlib.redirect_stdout(sys.stderr):  # what the work prints must not mix with machine output
            inline(schedule)
    elif executor == "processes":
        Pool(schedule, workers).run()
    elif is_cluster(executor):
        from gnomon.engine.cluster import Cluster

        Cluster(schedule, executor, workers).run()
    else:
        raise unknown(executor)


def unknown(executor: str) -> InputError:
    """Return the error of an executor that there is not."""
    return InputError(f"executor: expected one of {', '.join(EXECUTORS)}, but got {executor!r}")


def check(plan: Plan, executor: str) -> None:
    """Refuse what an executor cannot do, before anything is done."""
    joins = where(executor) if is_cluster(executor) else ""
    if not joins and executor not in EXECUTORS:
        raise unknown(executor)
    limits = [node.limits for node in plan]
    if executor == "inline" and any(limit.seconds is not None or limit.memory_bytes is not None for limit in limits):
        raise InputError("time and memory limits need worker processes: give --executor processes")
    if not joins and any(limit.resources for limit in limits):
        raise InputError(
            "resources are handed out by a cluster whose workers declare them (dask worker --resources): give "
            "--executor dask://HOST:PORT or dask://FILE.json, or no --resources"
        )


def inline(schedule: Schedule) -> None:
    """Do one node after another in this process; those that use threads themselves are done side by side."""
    while (node := schedule.take()) is not None:
        if node.threaded:
            side_by_side(schedule, node)
        else:
            settle(schedule, carry_out(schedule.store, schedule.order_of(node)))


def side_by_side(schedule: Schedule, first: Node) -> None:
    """Do a node, and those that may be done beside it, in threads of this process."""
    beside = Beside(schedule.store)
    try:
        beside.start(schedule.order_of(first))
        while beside.threads:
            node = schedule.take(lambda one: one.threaded) if beside.free else None
            if node is not None:
                beside.start(schedule.order_of(node))
            else:
                settle(schedule, beside.settled())
    except BaseException:
        beside.stop()
        raise


def settle(schedule: Schedule, reply: Reply) -> None:
    """Take in what became of a node; a full disk ends the work."""
    if reply.state == "full":
        raise StoreFullError(reply.error)
    schedule.settle(reply)


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
                for worker in self.workers:
                    worker.watch()
        finally:
            for worker in self.workers:
                worker.dismiss()
            self.workers.clear()

    def _hand_out(self) -> None:
        for worker in [w for w in self.workers if w.order is None]:
            node = self.schedule.take()
            if node is None:
                return
            self._send(worker, node)
        while len(self.workers) < self.size:
            node = self.schedule.take()
            if node is None:
                return
            self.workers.append(Worker(Place.here(self.schedule.store)))
            self._send(self.workers[-1], node)

    def _send(self, worker: Worker, node: Node) -> None:
        if not worker.send(self.schedule.order_of(node), node.limits):
            self._bury(worker)

    def _listen(self) -> None:
        owners: dict[object, Worker] = {worker.pipe: worker for worker in self.workers}
        for pipe in wait([worker.pipe for worker in self.workers], POLL):
            self._receive(owners[pipe])
        for worker in [worker for worker in self.workers if worker.dead]:
            self._bury(worker)

    def _receive(self, worker: Worker) -> None:
        try:
            reply = worker.receive()
        except EOFError:
            self._bury(worker)
            return
        if reply is not None:
            settle(self.schedule, reply)

    def _bury(self, worker: Worker) -> None:
        """Take in the death of a worker."""
        self.workers.remove(worker)
        why = worker.bury()
        if worker.order is not None:
            self.schedule.lose(worker.order.key, why, fault=bool(worker.killed), begun=worker.begun)
