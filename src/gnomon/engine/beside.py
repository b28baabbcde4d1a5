"""Nodes side by side, in threads of this process: while one is stored, the next is read.

A node that uses all processors by itself leaves them, and the disk it reads from, idle while its result is written and
its last parts are counted. So two of them are under way. An interruption asks them to stop and waits for them for some
seconds only, since one may be waiting for a lock that another command holds; these threads end with the process.
"""

from __future__ import annotations

import time
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Event, Thread

from gnomon.engine.begun import stoppable
from gnomon.engine.store import Store
from gnomon.engine.work import Order, Reply, carry_out

MOST = 2
"""Nodes that are under way at a time."""
PATIENCE = 5.0
"""Seconds that all threads have to end when they are asked to."""


@dataclass
class Beside:
    """Orders that are carried out in threads."""

    store: Store
    threads: dict[str, Thread] = field(default_factory=dict)
    """Those at work, by the key of what they do."""
    _replies: SimpleQueue[Reply | BaseException] = field(default_factory=SimpleQueue)
    _stop: Event = field(default_factory=Event)

    @property
    def free(self) -> bool:
        """Whether one more may be started."""
        return len(self.threads) < MOST

    def start(self, order: Order) -> None:
        """Begin with an order."""
        context = copy_context()
        context.run(stoppable, self._stop)
        thread = Thread(target=context.run, args=(self._carry_out, order), name=f"gnomon {order.name}", daemon=True)
        self.threads[order.key] = thread
        thread.start()

    def _carry_out(self, order: Order) -> None:
        try:
            self._replies.put(carry_out(self.store, order))
        except BaseException as error:  # raised again by whoever waits
            self._replies.put(error)

    def settled(self) -> Reply:
        """Wait until one is done."""
        reply = self._replies.get()
        if isinstance(reply, BaseException):
            raise reply
        del self.threads[reply.key]
        return reply

    def stop(self) -> None:
        """Ask those at work to end, and wait for them for a while; one that only now begins will see it."""
        self._stop.set()
        until = time.monotonic() + PATIENCE
        for thread in self.threads.values():
            if thread.is_alive():
                thread.join(max(until - time.monotonic(), 0.0))
