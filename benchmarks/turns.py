"""Turns: a process that scores a folder whenever it is asked to, and two of them that share the same minutes.

Machines change their pace: the same work took a fifth longer from one minute to the next. A long turn and a short one
that follow one another are then not comparable. So :func:`in_the_same_minutes` holds the long one every few seconds
(SIGSTOP), and lets the other one take some turns meanwhile; what it was held for is not counted.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from benchmarks.harness import FOLDER, BenchmarkError
from benchmarks.streams import STREAMS

TURNS, MOST_TURNS = 3, 50
FILL_S, ENOUGH_S = 5.0, 30.0
"""Seconds that turns fill, and after which none begins."""
HELD_EVERY_S, BOUT_S = 2.0, 0.5
"""Seconds after which a long turn is held, and which the turns of the other one fill then, at least one."""
PR_SET_PDEATHSIG = 1
"""The number by which Linux is asked to end a process with the one that started it."""
CACHES = 1 << 27
"""Bytes that push everything else out of the caches of a processor."""


@dataclass(frozen=True)
class Turn:
    """One turn: seconds without those that it was held for, CPU seconds, memory, what came from disks, units."""

    seconds: float
    cpu_s: float
    peak_mb: float
    disk_mb: float
    scored: int


class Scorer:
    """A process that has scored a little, and scores a folder whenever it is asked to; use it in a ``with`` block."""

    def __init__(self, name: str, small: Path, data: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.turns", name, str(small), str(data)]
        self._what = f"{name}, {data.name}"
        self._told = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(
            command,
            cwd=FOLDER.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._told,
            text=True,
            start_new_session=True,
        )
        self._holds: list[tuple[float, float]] = []

    def __enter__(self) -> Scorer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._told.close()

    def begin(self) -> None:
        """Ask for a turn."""
        assert self._process.stdin is not None
        self._holds = []
        with contextlib.suppress(BrokenPipeError):  # why it is gone is told by the answer that does not come
            print("turn", file=self._process.stdin, flush=True)

    def done(self, within_s: float) -> bool:
        """Wait for the end of a turn, for some seconds; say whether it came."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
            return bool(selector.select(within_s))

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold it, and all processes that it started, meanwhile."""
        os.killpg(self._process.pid, signal.SIGSTOP)
        begun = time.monotonic()
        try:
            yield
        finally:
            self._holds.append((begun, time.monotonic()))
            os.killpg(self._process.pid, signal.SIGCONT)

    def end(self) -> Turn:
        """Wait for the end of a turn, and return it."""
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer:
            self._process.wait()
            self._told.seek(0)
            raise BenchmarkError(f"{self._what}: {self._told.read().decode(errors='replace').strip()[-2000:]}")
        found: dict[str, Any] = json.loads(answer)
        seconds = worked(found["begun"], found["ended"], self._holds)
        return Turn(seconds, found["cpu_s"], found["peak_mb"], found["disk_mb"], found["scored"])

    def turn(self) -> Turn:
        """Take a turn."""
        self.begin()
        return self.end()


def worked(begun: float, ended: float, holds: Sequence[tuple[float, float]]) -> float:
    """Return the seconds of a turn without those that it was held for; holds may lie outside of it in part.

    >>> worked(10.0, 20.0, [(5.0, 6.0), (9.0, 11.0), (12.0, 14.0), (19.0, 25.0), (30.0, 31.0)])
    6.0
    """
    return ended - begun - sum(max(min(stop, ended) - max(start, begun), 0.0) for start, stop in holds)


def alone(scorer: Scorer) -> list[Turn]:
    """Take turns, as many as fill some seconds; the first does not count where there are others."""
    turns: list[Turn] = []
    while another(len(turns), sum(turn.seconds for turn in turns)):
        turns.append(scorer.turn())
    return turns[1:] or turns


def in_the_same_minutes(many: Scorer, few: Scorer) -> tuple[list[Turn], list[Turn]]:
    """Take turns of both; long ones are held while the other takes its own.

    The first of the few does not count, nor that of the many where there are others.
    """
    few.turn()
    long: list[Turn] = []
    short: list[Turn] = []
    while another(len(long), sum(turn.seconds for turn in long)):
        short += bout(few)
        many.begin()
        while not many.done(HELD_EVERY_S):
            with many.held():
                short += bout(few)
        long.append(many.end())
    return long[1:] or long, short


def bout(scorer: Scorer) -> list[Turn]:
    """Take turns for a moment, at least one."""
    turns = [scorer.turn()]
    while sum(turn.seconds for turn in turns) < BOUT_S:
        turns.append(scorer.turn())
    return turns


def another(turns: int, elapsed: float) -> bool:
    """Say whether there is another turn after so many that took so long.

    >>> another(0, 0.0), another(3, 9.0), another(4, 9.0), another(9, 1.0), another(51, 1.0), another(1, 60.0)
    (True, True, False, True, False, False)
    """
    if turns <= TURNS:
        return not turns or elapsed < ENOUGH_S
    return turns <= MOST_TURNS and elapsed < FILL_S


def peak_mb() -> float:
    """Return the largest memory of this process, so far or since it was last asked to forget it.

    ``ru_maxrss`` would count that of the one that started it.
    """
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e6


def from_disks() -> int:
    """Return the bytes that this process has read from disks so far."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


def empty_caches() -> None:
    """Fill the caches of the processor with something else, and begin to measure the peak of memory anew."""
    np.ones(CACHES, np.uint8)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def serve(name: str, small: Path, data: Path) -> None:
    """Score a little, then take a turn for every line; this is what the process of a scorer does."""
    # Whoever asks may be killed while this one is held: nobody would let it go on, or end it.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    stream = STREAMS[name]
    stream.score(small)
    for _ in sys.stdin:
        empty_caches()
        read, begun, cpu = from_disks(), time.monotonic(), time.process_time()
        scored = stream.score(data)
        found = {"begun": begun, "ended": time.monotonic(), "cpu_s": time.process_time() - cpu, "scored": scored}
        print(json.dumps({**found, "peak_mb": peak_mb(), "disk_mb": (from_disks() - read) / 1e6}))
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
