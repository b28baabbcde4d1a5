"""Where a program spends its CPU time: a sampler that asks every few milliseconds which function of gnomon is at work.

Python's own profiler charges every call, and so makes code of many small calls look slower than it is. Here a timer of
CPU time interrupts; what has passed since the last time is charged to the innermost function of gnomon, together with
all that it called elsewhere (numpy, pyarrow, the standard library, kernels and their threads), and to every function of
gnomon that was waiting for it.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

STEP_S = 0.002
ELSEWHERE = "start and end of Python, loading modules"
"""What no function of gnomon was at work for."""


@dataclass(frozen=True)
class Places:
    """CPU seconds by function: its own with what it calls outside of gnomon, and also those of what it calls inside."""

    own: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)

    def slowest(self, count: int) -> list[tuple[str, float]]:
        """Return the functions with most time of their own, as shares of all."""
        total = sum(self.own.values()) or 1.0
        return [(name, round(spent / total, 4)) for name, spent in self.own.most_common(count)]


@contextmanager
def sampled(package: Path) -> Iterator[Places]:
    """Sample the main thread of this process; functions of ``package`` are told apart by its files."""
    found, last = Places(), time.process_time()
    root = f"{package.resolve()}/"

    def charge(_: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.process_time()
        spent, last = now - last, now
        stack = list(dict.fromkeys(_ours(frame, root)))
        found.own[stack[0] if stack else ELSEWHERE] += spent
        for name in stack:
            found.whole[name] += spent

    before = signal.signal(signal.SIGPROF, charge)
    signal.setitimer(signal.ITIMER_PROF, STEP_S, STEP_S)
    try:
        yield found
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _ours(frame: FrameType | None, root: str) -> Iterator[str]:
    """Yield the functions of a package on a stack, the innermost first."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(root):
            module = code.co_filename.removeprefix(root).removesuffix(".py").replace("/", ".")
            yield f"{module}.{_named(code.co_qualname)}"
        frame = frame.f_back


def _named(name: str) -> str:
    """Return the function that a comprehension or an inner function belongs to.

    >>> _named("Told.read.<locals>.<genexpr>"), _named("read")
    ('Told.read', 'read')
    """
    return name.partition(".<locals>")[0].removesuffix(".<module>")


def shown(found: Places, count: int, write: Callable[[str], object] = print) -> None:
    """Write both lists, the slowest first."""
    for title, spent in (("of its own", found.own), ("with what it calls", found.whole)):
        write(f"CPU seconds {title}")
        for name, seconds in spent.most_common(count):
            write(f"  {seconds:8.3f}  {name}")
