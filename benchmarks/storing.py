"""Results as files: one JSON for each benchmark, with the machine, the versions and the load it was measured under.

Nothing in it says where: no host, no user, no path. What is measured on one machine says little about another; the
ratios say more than the seconds.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.harness import FOLDER, BenchmarkError

RESULTS = FOLDER / "results"
PACKAGES = ("gnomon", "numpy", "numba", "pyarrow", "scipy")
DIGITS = 6
MEASURED = "measured"
"""Of a row: when it was measured, and on which source, where that is not what its file says of all."""
FIELDS = ("benchmark", "quick", "when", "commit", "changed", "machine", "load", "rows")


def load() -> list[float]:
    """Return how many processes ran or waited, over the last 1, 5 and 15 minutes."""
    return [round(own, 2) for own in os.getloadavg()]


def machine() -> dict[str, Any]:
    """Describe this machine and what runs on it, without names of its own."""
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "kernel": f"{platform.system()} {re.split(r'[^0-9.]', platform.release())[0]}",
        "python": platform.python_version(),
        **{name: found for name in PACKAGES if (found := installed(name))},
    }


def cpu_model() -> str:
    """Return what the processor calls itself, or its architecture where it does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def installed(name: str) -> str | None:
    """Return the version of a package, or None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def source() -> dict[str, Any]:
    """Return the commit that is measured and whether files differ from it; None where there is no repository."""
    commit, status = (git("rev-parse", "HEAD"), git("status", "--porcelain", "--", "src", "benchmarks/*.py"))
    return {"commit": commit or None, "changed": None if status is None else bool(status)}


def git(*arguments: str) -> str | None:
    """Return what git says, or None where it cannot say anything."""
    try:
        done = subprocess.run(["git", *arguments], cwd=FOLDER.parent, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def record(name: str, rows: Iterable[dict[str, Any]], before: list[float], *, quick: bool) -> dict[str, Any]:
    """Return what is stored of one benchmark; ``before`` is the load before it began."""
    return {
        "benchmark": name,
        "quick": quick,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        **source(),
        "machine": machine(),
        "load": {"before": before, "after": load()},
        "rows": [{key: shortened(value) for key, value in row.items()} for row in rows],
    }


def shortened(value: Any) -> Any:
    """Keep six digits of a number that was measured."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def store(found: dict[str, Any], folder: Path) -> Path:
    """Write the result of one benchmark in place of an older one."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found['benchmark']}.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return path


def stored(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Return the results of a folder by benchmark.

    Raises
    ------
    BenchmarkError
        There are none, or a file is something else.
    """
    found = {}
    for path in sorted(folder.glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(held, dict) or set(held) != set(FIELDS):
            raise BenchmarkError(f"{path}: expected {', '.join(FIELDS)}; store it again with --store")
        found[str(held["benchmark"])] = held
    if not found:
        raise BenchmarkError(f"no results in {folder}: `python -m benchmarks --store {folder}` measures them")
    return found
