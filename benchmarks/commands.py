"""Whole commands: ``gnomon score`` of every suite on about a million units, from the shell to the run on disk.

There is no peer. The data of :mod:`benchmarks.million` are written into a folder and scored by a process of its own,
once to warm up (files in memory, kernels compiled) and then in turns; ``ours_s`` is the best of three from starting
Python to its end, ``cpu_s`` the CPU time of that turn, all threads counted, ``peak_mb`` the largest memory. One more
turn is sampled (:mod:`benchmarks.places`); ``places`` are the functions with most CPU time of their own, as shares.

``python -m benchmarks.commands NAME [N]`` measures one command and shows where its time goes.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import FOLDER, BenchmarkError, Context, Row
from benchmarks.million import COMMANDS
from benchmarks.turns import peak_mb

N, QUICK = 1_000_000, 20_000
TURNS = 3
PLACES, SHOWN = 3, 25
REPORT = "measured.json"


def rows(context: Context) -> Iterator[Row]:
    for name, command in COMMANDS.items():
        if importlib.util.find_spec(command.needs) is None:
            print(f"commands: {name} is left out, there is no {command.needs}", file=sys.stderr)
            continue
        yield measured(name, QUICK if context.quick else N, context.folder)


def measured(name: str, n: int, folder: Path | None = None) -> Row:
    """Measure one command on data of its own, which are deleted after it."""
    with tempfile.TemporaryDirectory(dir=folder) as held:
        data = Path(held)
        words = COMMANDS[name].write(data, n)
        run(data, words)
        turns = [run(data, words) for _ in range(TURNS)]
        places = run(data, words, "--sampled")["places"]
    best = min(turns, key=lambda turn: turn["seconds"])
    extras = {"unit": COMMANDS[name].unit, "cpu_s": best["cpu_s"], "peak_mb": best["peak_mb"], "places": places}
    return Row(f"score-{name}", n, best["seconds"], None, None, extras)


def run(data: Path, words: list[str], *options: str) -> dict[str, Any]:
    """Run ``gnomon score`` in a process of its own, into a folder that is new; return what it took."""
    with tempfile.TemporaryDirectory(dir=data) as out:
        command = [sys.executable, "-m", "benchmarks.commands", *options, "--run", out, *words]
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begun
        if done.returncode:
            raise BenchmarkError(f"gnomon score {words[0]} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
        found: dict[str, Any] = json.loads((Path(out) / REPORT).read_text(encoding="utf-8"))
    return {"seconds": seconds, **found}


def inside(out: Path, words: list[str], sample: bool) -> int:
    """Be the process that is measured: the command itself, then what it took."""
    from benchmarks.places import sampled, shown

    import gnomon as package
    from gnomon.cli.main import main as gnomon

    manner = sampled(Path(package.__file__).parent) if sample else contextlib.nullcontext()
    with manner as places, contextlib.redirect_stdout(io.StringIO()):
        try:
            code = gnomon(["score", *words, "--out", str(out / "runs")])
        except SystemExit as end:
            code = end.code
    if code:
        return int(code)
    found: dict[str, Any] = {"cpu_s": time.process_time(), "peak_mb": peak_mb()}
    if places is not None:
        found["places"] = places.slowest(PLACES)
        lines: list[str] = []
        shown(places, SHOWN, lines.append)
        found["shown"] = lines
    (out / REPORT).write_text(json.dumps(found), encoding="utf-8")
    return 0


def main(arguments: list[str]) -> int:
    if "--run" in arguments:
        at = arguments.index("--run")
        return inside(Path(arguments[at + 1]), arguments[at + 2 :], "--sampled" in arguments[:at])
    if not 1 <= len(arguments) <= 2 or arguments[0] not in COMMANDS:
        names = ", ".join(COMMANDS)
        print(f"usage: python -m benchmarks.commands NAME [N], where NAME is one of {names}", file=sys.stderr)
        return 2
    n = int(float(arguments[1])) if arguments[1:] else N
    with tempfile.TemporaryDirectory() as held:
        words = COMMANDS[arguments[0]].write(Path(held), n)
        plain = [run(Path(held), words) for _ in range(2)][-1]
        found = run(Path(held), words, "--sampled")
    print(*found["shown"], sep="\n")
    print(f"{n:,}: {plain['seconds']:.2f} s, CPU {plain['cpu_s']:.2f} s, {plain['peak_mb']:,.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
