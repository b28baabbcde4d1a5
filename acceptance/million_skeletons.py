"""``gnomon run skeleton`` on a million samples, end to end: reading, ids, cameras, scoring; in CPU-seconds.

The file is written as a model would write it: 24 joints, two sensors, sequences of 250 frames, ids sorted as text.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from acceptance.support import Promise

SAMPLES, FRAMES, JOINTS = 1_000_000, 250, 24
MOST_CPU_S = 15.0


def write(path: Path) -> None:
    rng = np.random.default_rng(0)
    sequences = SAMPLES // FRAMES
    order = np.argsort(np.arange(FRAMES).astype(str), kind="stable")
    frames = np.tile(order, sequences)
    code = np.repeat(np.arange(sequences), FRAMES)
    ids = [
        f"p{c // 20:06d}_a{c % 20:06d}_rgb_kinect_000_depth_kinect_000_{f}" for c, f in zip(code, frames, strict=True)
    ]
    truth = rng.normal(scale=0.4, size=(SAMPLES, JOINTS, 3)).astype(np.float32)
    cameras = np.zeros((SAMPLES, 2, 9), dtype=np.float32)
    cameras[:, :, 2], cameras[:, :, 6] = 3.0, 1.0
    noisy = cameras + rng.normal(scale=0.01, size=cameras.shape).astype(np.float32)
    prediction = truth + rng.normal(scale=0.03, size=truth.shape).astype(np.float32)
    np.savez(
        path,
        sample_ids=np.array(ids),
        pred_keypoints=prediction,
        gt_keypoints=truth,
        pred_cameras_stream=noisy,
        gt_cameras_stream=cameras,
        camera_stream_modalities=np.array(["rgb", "lidar"]),
        camera_stream_sensor_indices=np.array([0, 0]),
    )


def run(path: Path, *extra: str) -> tuple[float, float, dict[str, object]]:
    """Return CPU-seconds, peak memory in MB, and what the command said."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "gnomon", "run", "skeleton", "--pred-file", str(path), "--json", *extra]
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, after.ru_maxrss / 1024, json.loads(done.stdout)


def main() -> None:
    promise = Promise()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.npz"
        write(path)
        run(path, "--out", str(Path(folder) / "first"))  # compiles what is not compiled yet
        for name, extra in (
            ("seq_lidar_ref", ()),
            ("multi_sensor, weighted", ("--projection-mode", "multi_sensor", "--fusion-mode", "weighted")),
        ):
            cpu, memory, found = run(path, *extra, "--out", str(Path(folder) / name.split(",")[0]))
            samples = found["runs"][0]["coverage"]["samples"]  # type: ignore[index]
            promise.figure(f"{name}: valid samples", samples["valid"], str(SAMPLES), samples["valid"] == SAMPLES)
            bound = MOST_CPU_S if name == "seq_lidar_ref" else 2 * MOST_CPU_S
            promise.at_most(f"{name}: CPU-seconds ({memory:.0f} MB at most)", cpu, bound)
    promise.close()


if __name__ == "__main__":
    main()
