"""A worker: a process that waits for orders on a pipe, carries one out at a time and replies.

It is started as a program of its own and not as a fork, so that it can be started from anywhere: from a thread, from a
daemon, from a worker of a cluster. Limits of an order are kept by watching: a worker that exceeds one is killed. When
its owner is gone, a worker leaves.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from gnomon.core.loading import path_of_python, python_command, trust_imports
from gnomon.core.suite import load
from gnomon.engine.plan import Limits
from gnomon.engine.store import Store
from gnomon.engine.work import Order, Reply, carry_out

START = 120.0
"""Seconds within which a worker has to begin on its order: Python starts and imports the module of the work, which
takes 10 to 20 with torch from a cold disk. A longer time limit of the order counts for the start, too."""
BOOT = """
import json, sys
given = json.loads(sys.argv[1])
sys.path[:] = given.pop("path")
sys.argv[1:] = []
from gnomon.engine.workers import serve
serve(**given)
"""


@dataclass(frozen=True)
class Place:
    """Where a worker works: its store, its working folder, and where it finds modules."""

    store: str
    folder: str
    path: tuple[str, ...]

    @staticmethod
    def here(store: Store) -> Place:
        """Return the place of this process."""
        return Place(os.path.abspath(store.folder), os.getcwd(), tuple(path_of_python()))

    def found(self) -> Place:
        """Return this place as far as it is here: on another machine, folders may be missing."""
        folder = self.folder if os.path.isdir(self.folder) else os.getcwd()
        own = path_of_python()
        more = tuple(part for part in self.path if part not in own and os.path.exists(part))
        return Place(self.store, folder, (*own, *more))


class Worker:
    """A worker as its owner sees it."""

    def __init__(self, place: Place, idle: float | None = None) -> None:
        """Start it; it leaves when it is given nothing for so many seconds."""
        self.order: Order | None = None
        self.limits = Limits()
        self.sent = self.since = float("inf")
        """When it was given its order, and when it began on it, as it said itself: the time limit counts from then."""
        self.killed = ""
        """Why its owner killed it."""
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", math.ceil(START), 0))
        self.pipe = Connection(ours.detach())
        handle = theirs.fileno()
        given = {"handle": handle, "store": place.store, "owner": os.getpid(), "path": place.path, "idle": idle}
        self.process = subprocess.Popen(  # noqa: S603 - this Python
            python_command(BOOT, given),
            stdin=subprocess.DEVNULL,
            cwd=place.folder,
            pass_fds=(handle,),
        )
        theirs.close()

    def send(self, order: Order, limits: Limits) -> bool:
        """Hand it an order; False when it is dead, or does not take a large one in time."""
        self.order, self.limits, self.sent, self.since = order, limits, time.monotonic(), float("inf")
        try:
            self.pipe.send(order)
        except BlockingIOError:
            self.kill(f"its worker did not read its order within {START:g} s: Python did not start")
            return False
        except OSError:
            return False
        return True

    def receive(self) -> Reply | None:
        """Return a reply that waits in the pipe, or None where it says that it begins; raises EOFError when dead."""
        try:
            reply: Reply | None = self.pipe.recv()
        except OSError as error:
            raise EOFError from error
        if reply is None:
            self.since = time.monotonic()
        else:
            self.order = None
        return reply

    @property
    def begun(self) -> bool:
        """Whether it said that it begins on its order."""
        return self.since < float("inf")

    @property
    def gone(self) -> bool:
        """Whether it has ended; what it said, or the end of the pipe, may be left to be read."""
        return self.process.poll() is not None

    @property
    def dead(self) -> bool:
        """Whether it has ended and nothing that it said is left to be read."""
        if not self.gone:
            return False
        try:
            return not self.pipe.poll()
        except OSError:
            return True

    def watch(self) -> None:
        """Kill it where it exceeds a limit of its order."""
        if self.order is None or self.killed:
            return
        limits, now = self.limits, time.monotonic()
        start = max(START, limits.seconds or 0.0)
        if not self.begun and now - self.sent > start:
            self.kill(
                f"its worker did not begin within {start:g} s: Python did not start, or {self.order.function} was not "
                "imported; give a longer --timeout where that takes longer"
            )
        elif limits.seconds is not None and now - self.since > limits.seconds:
            self.kill(f"exceeded its time limit of {limits.seconds:g} s")
        elif limits.memory_bytes is not None:
            used = resident_bytes(self.process.pid)
            if used is not None and used > limits.memory_bytes:
                self.kill(f"exceeded its memory limit ({used / 1e6:.0f} of {limits.memory_bytes / 1e6:.0f} MB)")

    def kill(self, why: str = "") -> None:
        """End it at once."""
        self.killed = why
        self.process.kill()

    def bury(self) -> str:
        """Take in its death; return the cause."""
        self.pipe.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return self.killed or f"its worker died ({_cause(self.process.returncode)})"

    def dismiss(self) -> None:
        """Let it go: at once where it is at work, else when it notices that nobody asks any more."""
        if self.order is not None:
            self.process.kill()
        self.bury()


def serve(handle: int, store: str, owner: int, idle: float | None = None) -> None:
    """Carry out orders until the pipe closes, or none has come for a while; the body of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)  # what the work prints must not mix with machine output,
    sys.stdout = sys.stderr  # and is seen at once, also where the worker is killed
    trust_imports()
    threading.Thread(target=_follow, args=(owner,), daemon=True).start()
    pipe, kept = Connection(handle), Store(store)
    while True:
        try:
            if not pipe.poll(idle):
                return
            order: Order = pipe.recv()
        except (EOFError, OSError):
            return
        with contextlib.suppress(Exception, SystemExit):
            load(order.function)  # what fails here fails again, and is reported, when it is carried out
        try:
            pipe.send(None)
            pipe.send(carry_out(kept, order))
        except OSError:
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
