"""Features of episodes: windows and dims as published, what reads what, and 6,000 frames in CPU-seconds.

The long episode has the layout, chunks and compression of the public sample; its depth images are noisy, so that they
compress as little as real ones (to about .8), and take 1.6 GB once decompressed. Time is that of a process of its own
with kept machine code, opening and reading included, videos left out; what a first process has to compile is printed.
"""

import json
import os
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import av
import h5py
import numpy as np

from acceptance.support import ROOT, Promise
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.features.blocks import BLOCKS, DIM, NAMES, VIDEOS, spans
from gnomon.suites.episode.features.computing import Features, compute
from gnomon.suites.episode.features.windows import starts
from gnomon.suites.episode.layout import Place

FRAMES, MOST_CPU_S, MOST_MB = 6000, 20.0, 600
SMALL, ALTERED, VIDEO = 60, 27, "fisheye_cam1"
DIMS = (441, 441, 1092, 147, 21, 63, 42, 980, *(686,) * 6, 896, 22, 117)
DISTINCT = 48

COMPUTE = """
import json, resource, sys, time
from pathlib import Path
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.features.computing import compute
from gnomon.suites.episode.layout import VIDEOS, Place

start = time.process_time()
with Episode.open(Place("long/ep0", Path(sys.argv[1]))) as episode:
    compute(episode, Path(sys.argv[2]), validity=sys.argv[3], skip=VIDEOS)
taken = time.process_time() - start
print(json.dumps({"cpu_s": taken, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def scene(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return depth images with noise and holes, and their confidence."""
    y, x = np.mgrid[:256, :256]
    smooth = np.stack([1.2 + 0.9 * np.sin(x / 45 + k / 9) * np.cos(y / 60 - k / 14) for k in range(n)])
    depth = smooth + rng.normal(scale=0.002, size=smooth.shape)
    depth[rng.random(depth.shape) < 0.04] = 0
    confidence = 120 + 60 * np.cos(x / 30) * np.sin(y / 40) + rng.normal(scale=1.5, size=smooth.shape)
    return depth.astype(np.float32), confidence.astype(np.uint8)


def write_images(file: h5py.File, name: str, images: np.ndarray, n: int, chunk: tuple[int, int, int]) -> None:
    """Write images over and over, compressed once each."""
    kind = {"chunks": chunk, "compression": "gzip", "compression_opts": 4}
    found = file.create_dataset(name, (n, *images.shape[1:]), images.dtype, **kind)
    parts = {}
    for start in range(0, n, chunk[0]):
        for row in range(0, 256, chunk[1]):
            for column in range(0, 256, chunk[2]):
                key = start % len(images), row, column
                if key not in parts:
                    part = images[key[0] : key[0] + chunk[0], row : row + chunk[1], column : column + chunk[2]]
                    parts[key] = zlib.compress(np.ascontiguousarray(part).tobytes(), 4)
                found.id.write_direct_chunk((start, row, column), parts[key])


def caption(times: np.ndarray) -> bytes:
    """Return a segment of a hundred frames each, with an action, objects and an interaction."""
    segments = []
    for k, start in enumerate(range(0, len(times), 100)):
        first, last = str(times[start]), str(times[min(start + 99, len(times) - 1)])
        action = {"label": f"step {k % 7}", "description": "", "start_frame": first, "end_frame": last}
        named = {
            "objects": {first: ["cup", f"thing {k % 5}"]},
            "interaction": {first: f"The hand holds thing {k % 5}."},
        }
        span = {"segment_id": k, "start_frame": first, "end_frame": last, "Sub Task": f"part {k % 3}"}
        segments.append({**span, "Current Action": [action], **named})
    return json.dumps({"config": {"Main Task": "Test"}, "segments": segments}).encode()


def write_annotation(folder: Path, n: int, rng: np.random.Generator) -> None:
    """Write all datasets of an episode."""
    folder.mkdir(parents=True)
    times = 17_000_000_000_000 + np.arange(n) * 50_000_000
    depth, confidence = scene(rng, DISTINCT)
    values = {
        "video/device_timestamp": times.astype("S14"),
        "slam/quat_wxyz": rng.normal(size=(n, 4)),
        "slam/trans_xyz": rng.normal(size=(n, 3)).cumsum(axis=0) / 100,
        "slam/point_cloud": rng.normal(size=(50_000, 3)),
        "hand_mocap/left_joints_3d": rng.normal(scale=0.01, size=(n, 21, 3)).astype(np.float32),
        "hand_mocap/right_joints_3d": rng.normal(scale=0.01, size=(n, 21, 3)).astype(np.float32),
        "full_body_mocap/keypoints": rng.normal(size=(n, 52, 3)).astype(np.float32),
        "full_body_mocap/contacts": rng.random((n, 21)).astype(np.float32),
        "imu/accel_xyz": rng.normal(size=(n * 10, 3)),
        "imu/gyro_xyz": rng.normal(size=(n * 10, 3)),
        "imu/keyframe_indices": np.arange(n) * 10,
        "calibration/cam01/T_c0_b": np.eye(4),
        "calibration/cam01/K": rng.normal(size=4),
        "calibration/cam01/baseline": 0.1,
        "caption": caption(times),
    }
    for k in range(4):
        values |= {f"calibration/cam{k}/{name}": rng.normal(size=4) for name in "KD"}
        values[f"calibration/cam{k}/{'T_cn_cnm1' if k else 'T_c_b'}"] = np.eye(4)
    with h5py.File(folder / "annotation.hdf5", "w") as file:
        for name, value in values.items():
            file[name] = value
        write_images(file, "depth/depth", depth, n, (1, 64, 64))
        write_images(file, "depth/confidence", confidence, n, (2, 64, 128))


def write_video(path: Path, images: np.ndarray) -> None:
    """Write frames that stand for themselves: altering one alters no other."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=20, options={"qp": "0", "g": "1", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = images.shape[2], images.shape[1], "yuv444p"
        for image in images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())


def features(folder: Path, out: Path) -> Features:
    with Episode.open(Place("small/ep0", folder)) as episode:
        compute(episode, out, validity="as-zero")
    return Features.read(out)


def reading(promise: Promise, folder: Path, rng: np.random.Generator) -> None:
    """Alter one frame of one video, and state what changed."""
    write_annotation(folder / "ep0", SMALL, rng)
    images = {name: rng.integers(0, 256, (SMALL + 1, 48, 64, 3)).astype(np.uint8) for name in VIDEOS}
    for name in VIDEOS:
        write_video(folder / "ep0" / f"{name}.mp4", images[name])
    before = features(folder / "ep0", folder / "before")
    images[VIDEO][ALTERED] = 255 - images[VIDEO][ALTERED]
    write_video(folder / "ep0" / f"{VIDEO}.mp4", images[VIDEO])
    after = features(folder / "ep0", folder / "after")
    changed = before.values != after.values
    blocks = [name for name in NAMES if changed[:, spans()[name]].any()]
    rows = np.flatnonzero(changed.any(axis=1)).tolist()
    expected = [k for k, start in enumerate(starts(SMALL).tolist()) if start <= ALTERED < start + 20]
    promise.figure("blocks that one altered video frame changes", str(blocks), VIDEO, blocks == [f"video_{VIDEO}"])
    promise.figure("windows that it changes", str(rows), str(expected), rows == expected)


def timed(folder: Path, validity: str, cache: Path | None = None) -> dict:
    """Compute the features of the long episode in a process of its own."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": str(cache)} if cache else {})}
    command = [sys.executable, "-c", COMPUTE, str(folder / "ep0"), str(folder / f"features-{validity}"), validity]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def main() -> None:
    promise, rng = Promise(), np.random.default_rng(12)
    windows = len(starts(5821))
    promise.figure("windows of 5,821 frames", windows, "1161", windows == 1161)
    promise.figure("numbers of a window", DIM, "8378", DIM == 8378)
    promise.figure("blocks of the published dims", len(BLOCKS), "17", tuple(block.dim for block in BLOCKS) == DIMS)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        reading(promise, root / "small", rng)
        long = root / "long"
        write_annotation(long / "ep0", FRAMES, rng)
        with h5py.File(long / "ep0" / "annotation.hdf5") as file:
            depth = file["depth/depth"]
            print(f"         depth compressed to {depth.id.get_storage_size() / depth.nbytes:.2f}")
        cold = timed(long, "as-zero", root / "cache")
        print(f"         first process, which must compile: {cold['cpu_s']:.1f} CPU-s")
        for validity in ("as-zero", "masked"):
            found = timed(long, validity)
            stored = Features.read(long / f"features-{validity}")
            cost = sorted(stored.facts["cpu_seconds"].items(), key=lambda item: -item[1])[:3]
            most = ", ".join(f"{name} {seconds:.1f}" for name, seconds in cost)
            print(f"         {validity}: {len(stored)} windows; CPU-s of the longest: {most}")
            promise.at_most(f"{FRAMES:,} frames, {validity}, without video: CPU-s", found["cpu_s"], MOST_CPU_S)
            promise.at_most("peak memory in MB", found["peak_mb"], MOST_MB)
    promise.close()


if __name__ == "__main__":
    main()
