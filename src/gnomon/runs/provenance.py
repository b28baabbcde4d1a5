"""Where a result came from: code, machine, time and memory."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
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

from gnomon.intake.sources import Source
from gnomon.runs.seal import hash_file

DEPENDENCIES = ("numpy", "scipy", "numba", "pyarrow", "msgspec", "click", "rich", "torch", "scikit-learn")

PATIENCE = 10.0
"""Seconds that git has for its answers."""
MOST_FILTERS, MOST_PATHS = 100, 1000
"""How many filters are switched off, and of how many changed files it is asked whether they have one."""
QUIET_GIT = ("core.fsmonitor=", f"core.hooksPath={os.devnull}")
QUIET_GIT_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # the index is not written, so that there is no event for a hook
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
}


def describe_input(source: Source) -> dict[str, Any]:
    """Return what a manifest records of a table that was scored: its file, or nothing of what was in memory."""
    if not source.file:
        return {"name": source.name, "path": None, "bytes": None, "sha256": None}
    path = Path(source.file)
    return {
        "name": source.name,
        "path": os.fspath(path),
        "bytes": path.stat().st_size,
        "sha256": hash_file(path),
    }


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
    folders that the repository tracks count. The flag is ``None`` where it is unknown: git did not answer in time, or
    only a program that the repository names could tell (see :func:`_is_dirty`).
    """
    questions = ["rev-parse", "HEAD"], ["ls-files", "--", "."], ["config", "--list", "--name-only", "-z"]
    until = time.monotonic() + PATIENCE
    with contextlib.ExitStack() as asked:  # all at once; what is not waited for is ended
        answers = [_git(folder, question, asked) for question in questions]
        commit, tracked, settings = (answer(until) for answer in answers)
        if not commit or not tracked:
            return None
        dirty = None if settings is None else _is_dirty(folder, settings.split("\0"), asked, until)
    return {"commit": commit.strip(), "dirty": dirty}


def _is_dirty(folder: Path, settings: list[str], asked: contextlib.ExitStack, until: float) -> bool | None:
    """Say whether a tracked file differs from the commit; None where that is unknown.

    To compare a file that has a filter, git runs the program that the configuration names (``filter.NAME.clean``). All
    filters are switched off, so that a file with a filter may differ although it was not changed. Submodules are not
    looked into: git does so with their own configuration, in which nothing can be switched off from here.
    """
    filters = {key[len("filter.") :].rpartition(".")[0] for key in settings if key.startswith("filter.")}
    if len(filters) > MOST_FILTERS or any("=" in name for name in filters):  # -c NAME=VALUE cannot name it
        return None
    off = [f"filter.{name}.{key}" for name in filters for key in ("clean=", "process=", "required=false")]
    question = ["status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty"]
    changes = _git(folder, question, asked, off)(until)
    if changes is None:
        return None
    changed = [(entry[:2], entry[3:]) for entry in changes.split("\0") if entry]
    if not changed:
        has_submodules = any(key.startswith("submodule.") and key.count(".") > 1 for key in settings)
        return None if has_submodules else False
    if not filters or any(state != " M" for state, _ in changed):
        return True
    root = _git(folder, ["rev-parse", "--show-toplevel"], asked)(until)
    question = ["check-attr", "-z", "filter", "--", *(path for _, path in changed[:MOST_PATHS])]
    said = _git(Path(root[:-1]), question, asked)(until) if root else None
    without_filter = said is not None and any(value in ("unspecified", "unset") for value in said.split("\0")[2::3])
    return True if without_filter else None


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


def _git(
    folder: Path, question: Sequence[str], asked: contextlib.ExitStack, settings: Sequence[str] = ()
) -> Callable[[float], str | None]:
    """Ask git something; return what waits for its answer, until a time: None where it cannot or does not answer.

    Nothing that a repository configures is run: no file system monitor, no hook, no pager, and no transport, which git
    would start to fetch objects that are missing here.
    """
    program = shutil.which("git")
    if program is None or not os.path.isabs(program):  # a relative one would be that of the working folder
        return lambda _: None
    options = [part for setting in (*QUIET_GIT, *settings) for part in ("-c", setting)]
    command = [program, "--no-pager", "-C", str(folder), *options, *question]
    try:
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="surrogateescape",
            env={**os.environ, **QUIET_GIT_ENVIRONMENT},
        )
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
