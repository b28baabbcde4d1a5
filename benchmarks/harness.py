"""Fair ratios: ours and a peer on the same data, each in its own environment, timed in turns within one run.

A benchmark is a module of this folder with ``rows(context)``; :func:`benchmarks` finds it by its being there. Its peer
is a script of the same kind in ``peers/``, run by the interpreter of the peers' environment. The peer loads the data,
warms up, answers with a digest of its result, and then runs a burst whenever it is asked for one. A result that differs
from the peer's is an error, not a row.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent
DEFAULT_PEERS = Path(".venv-peers/bin/python")

Burst = Callable[[], float]


class BenchmarkError(Exception):
    """A benchmark cannot be run, or ours and the peer's results differ."""


@dataclass(frozen=True)
class Row:
    """One comparison; ``extras`` are further columns."""

    name: str
    n: int
    ours_s: float
    peer: str | None
    peer_s: float | None
    extras: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times faster ours is; nothing where there is no peer (a growth curve)."""
        return None if self.peer_s is None else self.peer_s / self.ours_s

    def as_dict(self) -> dict[str, Any]:
        """Return all columns as plain data."""
        fixed = {"name": self.name, "n": self.n, "ours_s": self.ours_s, "peer": self.peer, "peer_s": self.peer_s}
        return {**fixed, "ratio": self.ratio, **self.extras}


@dataclass(frozen=True)
class Context:
    """What a benchmark is given: the peers' interpreter, a folder for data, and whether to be quick."""

    peers: Path
    folder: Path
    quick: bool = False

    def peer(self, script: str, arrays: Mapping[str, np.ndarray], **parameters: Any) -> Peer:
        """Start ``peers/<script>.py`` on these arrays and parameters; use it in a ``with`` statement."""
        with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".npz", delete=False) as file:
            np.savez(file, **arrays)
        return Peer(self.peers, FOLDER / "peers" / f"{script}.py", {"data": file.name, **parameters})


class Peer:
    """A peer in its own process: ready with a result, then timed on demand."""

    def __init__(self, python: Path, script: Path, parameters: Mapping[str, Any]) -> None:
        # -E and -s: nothing of this environment may reach the peer's.
        command = [str(python), "-E", "-s", str(script)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready = self._ask(parameters)
        self.name: str = ready["peer"]
        self.version: str = ready["version"]
        self.digest: str = ready["digest"]

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def burst(self, repeat: int) -> Burst:
        """Return a callable that makes the peer run ``repeat`` times and returns its best seconds."""
        return lambda: float(self._ask({"repeat": repeat})["seconds"])

    def expect(self, result: np.ndarray) -> None:
        """Refuse to go on if ours differs from the peer's result."""
        if digest(result) != self.digest:
            raise BenchmarkError(
                f"ours and the result of {self.name} {self.version} differ; a ratio would mean nothing"
            )

    def _ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # its own words are on stderr; the empty answer below says so
            print(json.dumps(message), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise BenchmarkError(f"the peer ended with code {self._process.wait()}; its message is above")
        return dict(json.loads(answer))


def digest(result: np.ndarray) -> str:
    """Digest of an array of counts, the same as ``peers/serving.py`` computes."""
    return hashlib.sha256(np.ascontiguousarray(result, "<i8").tobytes()).hexdigest()


def burst(function: Callable[[], Any], repeat: int) -> Burst:
    """Return a callable that runs a function ``repeat`` times and returns the best seconds."""

    def run() -> float:
        best = float("inf")
        for _ in range(repeat):
            start = perf_counter()
            function()
            best = min(best, perf_counter() - start)
        return best

    return run


def in_turns(rounds: int, **contestants: Burst) -> dict[str, float]:
    """Best seconds of each contestant over some rounds; in each round everyone has a turn."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, turn in contestants.items():
            best[name] = min(best[name], turn())
    return best


def benchmarks() -> dict[str, ModuleType]:
    """Return the benchmarks of this folder by name."""
    names = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "rows")}


def find_peers(given: Path | None) -> Path:
    """Return the peers' interpreter."""
    peers = given or DEFAULT_PEERS
    if not os.access(peers, os.X_OK):
        raise BenchmarkError(f"no interpreter of the peers at {peers}: `make bench` creates it, --peers names another")
    return peers


def table(rows: list[Row]) -> str:
    """Align rows as text."""
    names = list(dict.fromkeys(name for row in rows for name in row.as_dict()))
    cells = [names, *([_cell(name, row.as_dict().get(name)) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.rjust, line, widths)).rstrip() for line in cells)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name.endswith("_s"):
        return f"{value * 1e3:.3f} ms"
    if isinstance(value, float):
        return f"{value:.1f}x" if name == "ratio" or name.startswith("reads") else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def chosen(names: list[str]) -> dict[str, ModuleType]:
    """Return benchmarks by name, in the order asked for; all where none is named."""
    known = benchmarks()
    for name in names:
        if name not in known:
            raise BenchmarkError(f"no benchmark is called {name!r}; there are {', '.join(known)}")
    return {name: known[name] for name in names or known}
