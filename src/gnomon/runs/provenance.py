"""Where a result came from: code, machine, time and memory."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

DEPENDENCIES = ("numpy", "scipy", "numba", "pyarrow", "msgspec", "click", "rich", "torch", "scikit-learn")

PATIENCE = 10.0
"""Seconds that git has for its answers."""


def collect() -> dict[str, Any]:
    """Return what is known of the code and the machine."""
    return {
        "gnomon": version("gnomon"),
        "source": _source(),
        "workspace": git_state(Path.cwd()),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "dependencies": {name: found for name in DEPENDENCIES if (found := _version(name))},
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }


def git_state(folder: Path) -> dict[str, Any] | None:
    """Return commit and dirty flag of the checkout that holds a folder, or ``None`` where there is none.

    A package installed into an environment inside somebody's checkout is not part of that checkout: only
    folders that the repository tracks count.
    """
    questions = ["rev-parse", "HEAD"], ["ls-files", "--", "."], ["status", "--porcelain", "--untracked-files=no"]
    until = time.monotonic() + PATIENCE
    with contextlib.ExitStack() as asked:  # all at once; what is not waited for is ended
        answers = [_git(folder, question, asked) for question in questions]
        commit, tracked = (answer(until) for answer in answers[:2])
        if not commit or not tracked:
            return None
        changes = answers[2](until)
    return {"commit": commit.strip(), "dirty": None if changes is None else bool(changes.strip())}


def cpu_name() -> str:
    """Return the processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def peak_memory_bytes() -> int | None:
    """Return the largest memory that this process or one of its workers held so far, where the system tells."""
    try:
        import resource
    except ImportError:
        return None
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return int(peak if sys.platform == "darwin" else peak * 1024)


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@dataclass
class Clock:
    """Wall and CPU time since it was made, workers that have ended included."""

    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    wall: float = field(default_factory=time.perf_counter)
    cpu: float = field(default_factory=lambda: cpu_seconds())

    def read(self) -> dict[str, Any]:
        """Return what has been used so far."""
        return {
            "started": self.started,
            "wall_s": round(time.perf_counter() - self.wall, 6),
            "cpu_s": round(cpu_seconds() - self.cpu, 6),
            "peak_memory_bytes": peak_memory_bytes(),
        }


@cache
def _version(name: str) -> str | None:
    """Return the version of a package, as it was when it was first asked for; what is loaded stays what it was."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def _source() -> dict[str, Any] | None:
    """Return the state of our own code, as it was when it was first asked for; what is loaded stays what it was."""
    return git_state(Path(__file__).parent)


def _git(folder: Path, question: Sequence[str], asked: contextlib.ExitStack) -> Callable[[float], str | None]:
    """Ask git something; return what waits for its answer, until a time: None where it cannot or does not answer."""
    command = ["git", "-C", str(folder), *question]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
    except OSError:
        return lambda _: None
    asked.enter_context(process)
    asked.callback(process.kill)

    def answer(until: float) -> str | None:
        try:
            said, _ = process.communicate(timeout=max(until - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            return None
        return said if process.returncode == 0 else None

    return answer
