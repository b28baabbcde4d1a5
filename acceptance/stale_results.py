"""A stored result is never used after the code behind it changed, however far below the command that code lies.

The package is copied; every suite runs twice on small generated data, then a reader or kernel deep below it is changed
in the copy, and it runs again. The second run finds everything in the store; the third finds nothing that depends on
what was changed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from acceptance.support import ROOT, Promise

NEEDLESS = "\n_CHANGED = 1\n"
SUITES = {
    "labels": (
        ["simulate", "labels", "data", "--groups", "6", "--rows", "30"],
        ["run", "labels", "--truth", "data/truth.csv", "--group", "group"],
        "intake/delimited.py",
    ),
    "events": (
        ["simulate", "events", "data", "--subjects", "2", "--minutes", "4", "--hours", "1"],
        ["run", "events", "data/walking/s01.json", "data/walking/s02.json", "--recognizers", "threshold-walker"],
        "intake/documents.py",
    ),
    "har": (
        ["simulate", "har", "data", "--subjects", "2", "--minutes", "1", "--datasets", "uci_har,motionsense"],
        ["run", "har", "--data-root", "data", "--systems", "nearest_mean", "--tasks", "zs-closed"],
        "intake/numbers.py",
    ),
    "change": (
        ["simulate", "change", "data", "--rooms", "1", "--points", "1500"],
        ["run", "change", "--data-path", "data", "--part", "all", "--systems", "icp"],
        "numerics/rigid.py",
    ),
    "episode": (
        ["simulate", "episode", "data", "--frames", "200"],
        ["run", "episode", "data", "--systems", "majority", "--tasks", "timeline_action"],
        "suites/episode/_moving.py",
    ),
}


def main() -> None:
    promise = Promise()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        environment = {**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(Path(folder) / "compiled")}

        def gnomon(place: Path, *arguments: str) -> str:
            command = [sys.executable, "-m", "gnomon", *arguments]
            done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
            if done.returncode not in (0, 1):
                raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
            return done.stderr

        for suite, (simulate, run, file) in SUITES.items():
            place = Path(folder) / suite
            place.mkdir()
            gnomon(place, *simulate)
            gnomon(place, *run, "--out", "runs")
            total, again = counted(gnomon(place, *run, "--out", "runs"))
            promise.figure(f"{suite}: found in the store when nothing changed", again, f"{total}", again == total)
            with (copy / "gnomon" / file).open("a") as source:
                source.write(NEEDLESS)
            total, after = counted(gnomon(place, *run, "--out", "runs"))
            promise.figure(f"{suite}: found in the store after {file} changed", after, "0", after == 0)
    promise.close()


def counted(told: str) -> tuple[int, int]:
    """Return how many nodes a command had, and how many of them it found in the store."""
    found = re.findall(r"(\d+) of (\d+) done(?: \((\d+) found in the store\))?", told)
    if not found:
        raise SystemExit(f"no count of nodes in: {told}")
    return int(found[-1][1]), int(found[-1][2] or 0)


if __name__ == "__main__":
    main()
