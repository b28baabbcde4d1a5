"""Scans: neighbours and clusters as ratios to the peers, a scene through ``multi_stage`` in CPU-seconds, large memory.

A scene is the Composite of a simulated room with 110,000 points in each scan, read from its files; the first detection
in a process without kept machine code is printed too. The pair of five million points each goes through all eight
stages in a process of its own, whose peak memory is what the system counted.
"""

import json
import os
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import numpy as np

from acceptance.speed_of_counting_and_intervals import rows
from acceptance.support import ROOT, Promise

LEAST_RATIO, MOST_CPU_S, MOST_MB = 10, 1.0, 2000
POINTS, MANY = 110_000, 5_000_000

DETECT = """
import json, resource, sys, time
import numpy as np
from gnomon.suites.change.systems import SYSTEMS

reference, comparison = (np.load(path) for path in sys.argv[1:3])
times = []
for _ in range(int(sys.argv[3])):
    start = time.process_time()
    found = SYSTEMS.make("multi_stage").detect(reference, comparison)
    times.append(time.process_time() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"cpu_s": times, "peak_mb": peak, "boxes": len(found.boxes), "seconds": found.seconds}))
"""


def detect(paths: list[Path], times: int, cache: Path | None = None) -> dict:
    """Run the detector in a process of its own; with an empty cache it has to compile first."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": str(cache)} if cache else {})}
    command = [sys.executable, "-c", DETECT, *map(str, paths), str(times)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def scene(folder: Path) -> list[Path]:
    """Simulate a room and return the scans of its Composite."""
    from gnomon.suites.change.files import read_dataset
    from gnomon.suites.change.simulate import simulate

    options = {"rooms": 1, "seed": 0, "points": POINTS, "format": "pcd", "encoding": "binary"}
    simulate(types.SimpleNamespace(directory=str(folder / "rooms"), **options))
    clouds = next(scene for scene in read_dataset(folder / "rooms") if scene.category == "Composite").clouds()
    return saved(folder, "scene", *(cloud.points for cloud in clouds))


def saved(folder: Path, name: str, *scans: np.ndarray) -> list[Path]:
    paths = [folder / f"{name}-{i}.npy" for i in range(len(scans))]
    for path, points in zip(paths, scans, strict=True):
        np.save(path, points.astype(np.float32))
    return paths


def main() -> None:
    promise = Promise()
    for row in rows("scans"):
        what = f"{row['name']}, {row['n']:,} points twice, {row['ours_s']:.2f} CPU-s: times {row['peer']}"
        if row["name"] == "scans-loop":
            promise.at_least(f"{what} ({row['peer_s']:.1f} CPU-s), equal clusters", row["ratio"], LEAST_RATIO)
        else:
            print(f"         {what} ({row['peer_s']:.1f} CPU-s): {row['ratio']:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = scene(folder)
        cold = detect(paths, 1, folder / "cache")
        print(f"         one scene, first of a process that must compile: {cold['cpu_s'][0]:.1f} CPU-s")
        warm = detect(paths, 4)
        kept = f"first of a process {warm['cpu_s'][0]:.2f}, {warm['boxes']} boxes"
        promise.at_most(f"one scene of 2 x {POINTS:,} points: CPU-seconds ({kept})", min(warm["cpu_s"][1:]), MOST_CPU_S)
        from benchmarks.scans import pair

        large = detect(saved(folder, "large", *pair(MANY)), 1)
        what = f"2 x {MANY:,} points, {large['cpu_s'][0]:.1f} CPU-s, {large['boxes']} boxes: peak memory in MB"
        promise.at_most(what, large["peak_mb"], MOST_MB)
    promise.close()


if __name__ == "__main__":
    main()
