"""Episodes that are damaged, incomplete or too short: a clear line, or masked blocks on record; never silent zeros.

Simulated episodes without gaps are damaged one by one and given to ``gnomon run episode``. Either the command refuses
them in one line that names the episode, before any work; or the run records which blocks it could read, how much of
them, and why. Coverage of everything that was not damaged stays 1.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from acceptance.support import Promise
from gnomon.suites.episode.features.blocks import NAMES

FRAMES = 160
TASKS = "object_relevance,hand_trajectory_forecast,cross_modal_retrieval"
HANDS = ("hand_left_joints", "hand_right_joints")
CAMERA = ("camera_translation", "camera_rotation_matrix")
CAPTION = "caption_objects_interaction_text"
Damage = Callable[[Path], None]


@dataclass(frozen=True)
class Refused:
    """A damage that the command refuses, with what its line must say."""

    name: str
    damage: Damage
    says: str


@dataclass(frozen=True)
class Masked:
    """A damage that a run lives with: the blocks that lose coverage, the finding, and what it must say."""

    name: str
    damage: Damage
    blocks: tuple[str, ...]
    finding: str
    says: str


def annotation(folder: Path) -> Path:
    return folder / "annotation.hdf5"


def overwritten(start: int, count: int) -> Damage:
    def damage(folder: Path) -> None:
        with annotation(folder).open("r+b") as file:
            file.seek(start)
            file.write(b"\xff" * count)

    return damage


def truncated(folder: Path) -> None:
    os.truncate(annotation(folder), annotation(folder).stat().st_size // 2)


def edited(change: Callable[[h5py.File], None]) -> Damage:
    def damage(folder: Path) -> None:
        with h5py.File(annotation(folder), "r+") as file:
            change(file)

    return damage


def put(file: h5py.File, name: str, values: object) -> None:
    del file[name]
    file[name] = values


def cut(file: h5py.File, name: str, length: int) -> None:
    put(file, name, file[name][:length])


def shortened(length: int) -> Damage:
    """Cut every dataset by frame, and the videos, to a number of frames."""

    def change(file: h5py.File) -> None:
        found: list[str] = []
        file.visititems(lambda name, node: found.append(name) if _by_frame(name, node) else None)
        for name in found:
            cut(file, name, length)

    return edited(change)


def _by_frame(name: str, node: object) -> bool:
    return isinstance(node, h5py.Dataset) and node.shape[:1] == (FRAMES,) and not name.startswith("calibration")


def bad_chunk(name: str) -> Damage:
    """Overwrite the first stored chunk of a dataset."""

    def damage(folder: Path) -> None:
        with h5py.File(annotation(folder), "r") as file:
            stored = file[name]
            where = stored.id.get_chunk_info(0).byte_offset if stored.chunks else stored.id.get_offset()
        overwritten(where, 64)(folder)

    return damage


def nan_poses(file: h5py.File) -> None:
    file["slam/quat_wxyz"][40:60] = np.nan
    file["slam/trans_xyz"][40:60] = np.nan


def outside(file: h5py.File) -> None:
    caption = json.loads(file["caption"][()])
    caption["segments"][-1]["end_frame"] = "frame_9999999"
    caption["segments"].append(
        {**caption["segments"][0], "segment_id": 99, "start_frame": 500_000, "end_frame": 600_000}
    )
    put(file, "caption", json.dumps(caption).encode())


def late_imu(file: h5py.File) -> None:
    """Let forty frames name samples that were taken two seconds earlier."""
    index = file["imu/keyframe_indices"][:]
    index[60:100] = np.maximum(index[60:100] - 400, 0)
    file["imu/keyframe_indices"][:] = index


def cut_video(folder: Path) -> None:
    path = folder / "stereo_left.mp4"
    os.truncate(path, int(path.stat().st_size * 0.6))


REFUSED = (
    Refused("HDF5 file with a broken head", overwritten(0, 64), "not a readable HDF5 file"),
    Refused("HDF5 file cut in half", truncated, "not a readable HDF5 file"),
    Refused("caption that is no JSON", edited(lambda f: put(f, "caption", b'{"segments": [')), "not a JSON document"),
    Refused("19 frames", shortened(19), "19 frames, but a window has 20"),
    Refused(
        "times that fall",
        edited(lambda f: put(f, "video/device_timestamp", f["video/device_timestamp"][:][::-1])),
        "times do not rise",
    ),
    Refused("no annotation file", lambda folder: annotation(folder).unlink(), "no annotation.hdf5"),
)
MASKED = (
    Masked(
        "chunk of depth overwritten", bad_chunk("depth/depth"), ("depth_confidence",), "masked-blocks", "cannot be read"
    ),
    Masked(
        "chunk of a hand overwritten",
        bad_chunk("hand_mocap/left_joints_3d"),
        HANDS[:1],
        "masked-blocks",
        "cannot be read",
    ),
    Masked("no caption", edited(lambda f: f.__delitem__("caption")), (CAPTION,), "masked-blocks", "caption is missing"),
    Masked("references outside the episode", edited(outside), (), "repaired-or-left-out", "references outside"),
    Masked(
        "no video",
        lambda f: (f / "fisheye_cam2.mp4").unlink(),
        ("video_fisheye_cam2",),
        "masked-blocks",
        "fisheye_cam2: missing",
    ),
    Masked("video cut off", cut_video, ("video_stereo_left",), "masked-blocks", "stereo_left"),
    Masked(
        "no depth",
        edited(lambda f: f.__delitem__("depth/depth")),
        ("depth_confidence",),
        "masked-blocks",
        "depth/depth is missing",
    ),
    Masked(
        "confidence of 100 frames",
        edited(lambda f: cut(f, "depth/confidence", 100)),
        ("depth_confidence",),
        "masked-blocks",
        f"100 of {FRAMES}",
    ),
    Masked("poses that are not finite", edited(nan_poses), CAMERA, "invalid-frames", "camera_translation 20"),
    Masked(
        "a hand of 100 frames",
        edited(lambda f: cut(f, "hand_mocap/left_joints_3d", 100)),
        HANDS[:1],
        "masked-blocks",
        f"100 of {FRAMES}",
    ),
    Masked("IMU samples of another time", edited(late_imu), ("imu_accel_gyro",), "invalid-frames", "imu_accel_gyro 40"),
    Masked(
        "a calibration with a number less",
        edited(lambda f: cut(f, "calibration/cam0/K", 3)),
        ("calibration",),
        "masked-blocks",
        "116 numbers",
    ),
)


def gnomon(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gnomon", *map(str, words)], capture_output=True, text=True, check=False
    )


def run(data: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    shutil.rmtree(out, ignore_errors=True)
    words = ("--systems", "random", "--tasks", TASKS, "--executor", "inline", "--out", out, *more)
    return gnomon("run", "episode", data, *words)


def manifest(out: Path) -> dict:
    return json.loads(next(out.glob("episode-*/manifest.json")).read_bytes())


def coverage(out: Path) -> dict:
    return json.loads(next(out.glob("episode-*/coverage.json")).read_bytes())["cells"]


def findings(out: Path) -> list[dict]:
    return json.loads(next(out.glob("episode-*/audit.json")).read_bytes())["findings"]


def line(done: subprocess.CompletedProcess[str]) -> str:
    return next((text for text in reversed(done.stderr.splitlines()) if text.startswith("gnomon:")), "")


def refused(promise: Promise, case: Refused, data: Path, out: Path) -> None:
    done = run(data, out)
    said = line(done)
    whole = "ep0" in said and case.says in said and "Traceback" not in done.stderr and done.returncode == 2
    nothing = not list(out.glob("episode-*"))
    promise.figure(
        case.name, re.sub(r"\S*/session", "session", said)[:150], f"one line: {case.says}", whole and nothing
    )


def masked(promise: Promise, case: Masked, data: Path, out: Path) -> None:
    done = run(data, out)
    if done.returncode:
        promise.figure(case.name, line(done) or done.stderr[-200:], "a run", False)
        return
    streams = manifest(out)["facts"]["streams"]["session_000/ep0"]
    low = {name: round(share, 3) for name, share in streams["coverage"].items() if share < 1}
    told = [one["evidence"] for one in findings(out) if one["id"] == case.finding]
    holds = set(low) == set(case.blocks) and any(case.says in text for text in told)
    promise.figure(case.name, f"coverage {low or 'whole'}, {case.finding}", f"{case.blocks or 'whole'}, and why", holds)


def twenty(promise: Promise, data: Path, root: Path) -> None:
    """An episode of one window: too little for a split of its own, and a part of several."""
    shortened(20)(data / "session_000" / "ep0")
    alone = run(data / "session_000", root / "alone")
    cells = coverage(root / "alone")
    reasons = {item["why"] for item in cells["missing"]}
    told = cells["done"] == 0 and all("no sample to train and test on" in why for why in reasons)
    holds = told and alone.returncode == 1 and "Traceback" not in alone.stderr
    promise.figure("20 frames, alone", f"{cells['done']} of {cells['total']} cells; {min(reasons)}", "says why", holds)
    run(data, root / "both", "--split", "episode_disjoint", "--test-episodes", "session_001/ep0")
    held = manifest(root / "both")["facts"]["tasks"]["object_relevance"]["samples"]
    left = {item["cell"] for item in coverage(root / "both")["missing"]}
    holds = held["train"] == 1 and left == {"random hand_trajectory_forecast (strict)"}
    promise.figure("20 frames among others", f"{held}; missing {sorted(left)}", "one training window", holds)


def among_others(promise: Promise, data: Path, root: Path) -> None:
    """One episode that cannot be read, and one that can."""
    truncated(data / "session_001" / "ep0")
    stopped = run(data, root / "stopped")
    says = "1 of 2 episodes cannot be used, nothing was computed: session_001/ep0" in line(stopped)
    promise.figure("one bad of two", line(stopped)[:120], "named before any work", says and stopped.returncode == 2)
    done = run(data, root / "skipped", "--bad", "skip")
    facts = manifest(root / "skipped")["facts"] if not done.returncode else {"left_out": {}, "episodes": None}
    told = [one["evidence"] for one in findings(root / "skipped") if one["id"] == "episode-left-out"]
    holds = list(facts["left_out"]) == ["session_001/ep0"] and facts["episodes"] == 1 and len(told) == 1
    promise.figure("one bad of two, --bad skip", f"left out {list(facts['left_out'])}", "run of the other", holds)


def main() -> None:
    promise = Promise()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        made = gnomon(
            "simulate",
            "episode",
            root / "good",
            "--episodes",
            "2",
            "--frames",
            str(FRAMES),
            "--videos",
            "32",
            "--gaps",
            "none",
        )
        if made.returncode:
            sys.exit(made.stderr)
        one = root / "good" / "session_000"

        def damaged(damage: Damage) -> Path:
            shutil.rmtree(root / "bad", ignore_errors=True)
            shutil.copytree(one, root / "bad" / "session_000")
            damage(root / "bad" / "session_000" / "ep0")
            return root / "bad"

        masked(
            promise,
            Masked("nothing damaged", lambda _: None, (), "simulated-data", "simulated"),
            damaged(lambda _: None),
            root / "out",
        )
        for case in REFUSED:
            refused(promise, case, damaged(case.damage), root / "out")
        for other in MASKED:
            masked(promise, other, damaged(other.damage), root / "out")
        for name, check in (("twenty", twenty), ("among", among_others)):
            shutil.copytree(root / "good", root / name)
            check(promise, root / name, root / f"{name}-out")
    print(f"   {len(REFUSED)} refused, {len(MASKED)} masked, of {len(NAMES)} blocks", flush=True)
    promise.close()


if __name__ == "__main__":
    main()
