"""A scheduler and three workers as programs, a worker killed every two seconds during 200 cells: nothing is lost.

All cells finish, each is stored once, and scores are byte for byte those of ``--executor inline``.
"""

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from acceptance.cluster import Programs, programs
from acceptance.support import Promise

FOLDS, SYSTEMS = 50, ("majority", "nearest_mean", "slow.py:Slow", "slow.py:Slow@nap=0.3")
CELLS = FOLDS * len(SYSTEMS)
EVERY = 2.0
SLOW = '''
import os
import time
import numpy as np

class Slow:
    """Nearest mean, after a nap."""

    def __init__(self, *, nap: float = 0.2):
        self.nap = nap

    def fit(self, features, labels, rng):
        with open("LOG", "a") as file:
            file.write(f"{os.getppid()}\\n")
        time.sleep(self.nap)
        self.names = np.unique(labels)
        self.means = np.stack([features[labels == name].mean(axis=0) for name in self.names])

    def predict(self, features):
        return self.names[((features[:, None] - self.means) ** 2).sum(axis=2).argmin(axis=1)]
'''


def gnomon(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "gnomon"), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def assassin(cluster: Programs, fits: Path, over: threading.Event, killed: list[int]) -> None:
    """Kill a worker now and then, the one that has just begun a slow fit, and start another in its place."""
    dice = random.Random(5)
    while not over.wait(EVERY):
        victim = at_work(cluster, fits) or dice.choice(cluster.workers)
        killed.append(victim.pid)
        cluster.kill(victim)
        cluster.start_worker()


def at_work(cluster: Programs, fits: Path) -> subprocess.Popen[bytes] | None:
    """Wait for a fit to begin, for a second, and return the worker whose process it is in."""
    before, until = begun(fits), time.monotonic() + 1.0
    while time.monotonic() < until:
        for owner in begun(fits)[len(before) :]:
            if found := [worker for worker in cluster.workers if worker.pid == int(owner)]:
                return found[0]
        time.sleep(0.01)
    return None


def begun(fits: Path) -> list[str]:
    """Return the workers of all slow fits so far; the last line may still be written."""
    return fits.read_text().split("\n")[:-1] if fits.exists() else []


def main() -> None:
    promise, over, killed = Promise(), threading.Event(), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "slow.py").write_text(SLOW.replace("LOG", str(folder / "fits")))
        gnomon(folder, "simulate", "labels", "data", "--groups", "60", "--rows", "40")
        asked = ["run", "labels", "--truth", "data/truth.csv", "--folds", str(FOLDS), "--systems", ",".join(SYSTEMS)]
        plain = gnomon(folder, *asked, "--executor", "inline", "--out", "inline")
        (folder / "fits").unlink()
        promise.figure("inline, exit code", plain.returncode, "0", plain.returncode == 0)
        (folder / "cluster").mkdir()
        with programs(folder / "cluster") as cluster:
            killer = threading.Thread(target=assassin, args=(cluster, folder / "fits", over, killed))
            killer.start()
            address = f"dask://{cluster.address}"
            done = gnomon(folder, *asked, "--executor", address, "--deaths", "20", "--out", "dask")
            over.set()
            killer.join()
        if done.returncode:
            print(done.stderr[-3000:])
        promise.figure("on the cluster, exit code", done.returncode, "0", done.returncode == 0)
        promise.figure("workers killed", len(killed), "at least 5", len(killed) >= 5)
        stored = {name: len(list((folder / name / "store").glob("??/*"))) for name in ("inline", "dask")}
        promise.figure("results in the store", stored["dask"], str(stored["inline"]), stored["dask"] == CELLS + 1)
        events = [json.loads(line) for line in (folder / "dask/store/progress.jsonl").read_text().splitlines()]
        ended = Counter(event["name"] for event in events if event["event"] in ("done", "found"))
        once = sum(number == 1 for number in ended.values())
        promise.figure("nodes reported done, each once", once, str(CELLS + 1), once == len(ended) == CELLS + 1)
        died = sum(event["event"] == "died" for event in events)
        fits = len(begun(folder / "fits"))
        print(f"   {died} attempts told as died with their worker; the scheduler tries some again by itself")
        promise.figure("slow fits begun", fits, f"more than the {2 * FOLDS} cells: kills met work", fits > 2 * FOLDS)
        same = [
            (folder / "dask" / path.parent.name / "scores.json").read_bytes() == path.read_bytes()
            for path in sorted((folder / "inline").glob("labels-*/scores.json"))
        ]
        promise.figure("runs with the bytes of inline", sum(same), str(len(SYSTEMS)), same == [True] * len(SYSTEMS))
    promise.close()


if __name__ == "__main__":
    main()
