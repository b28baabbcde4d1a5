"""One episode from its seed to its files.

What is missing now and then: hands that are not found, lost poses, and depth and inertial samples that drop out.

The annotation file: every dataset of the published layout, with its types, and the mark that it is simulated.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.simulation.body import FIRST_FINGERS, HEAD, SIDES, SIGNS, SMPL_H, own_turns
from gnomon.simulation.curves import wander
from gnomon.simulation.gait import Feet
from gnomon.simulation.rays import Hits
from gnomon.suites.episode.layout import ANNOTATION
from gnomon.suites.episode.simulation import acting, captioning, posing, rig, route, scene, script, sensing
from gnomon.suites.episode.simulation.extras import needed
from gnomon.suites.episode.simulation.filming import Film
from gnomon.suites.episode.simulation.kitchen import kitchen
from gnomon.suites.episode.simulation.people import Person, draw_person
from gnomon.suites.episode.simulation.picturing import (
    DEPTH_MAX,
    DEPTH_MIN,
    Camera,
    colours,
    depth_camera,
    depth_map,
    video_cameras,
)
from gnomon.suites.episode.simulation.posing import Posed
from gnomon.suites.episode.simulation.rig import DEPTH_SIZE, Rig, inverse
from gnomon.suites.episode.simulation.scene import Scene
from gnomon.suites.episode.simulation.script import Script
from gnomon.suites.episode.simulation.sensing import FPS, Poses
from gnomon.suites.episode.simulation.sound import sound

REST_WRIST = np.array([-0.096, 0.006, 0.006])
"""Of the left hand model at rest: a hand's translation is its wrist minus this."""
CLOUD = 4_000
"""Points of the cloud, about."""
_LOOKS = 80
"""Frames from which its points are taken, at most."""
_CLOUD_FAR = 6.0


@dataclass(frozen=True)
class Request:
    """What is asked for: seed, number of the episode, annotated frames, height of videos, and whether data drop out."""

    seed: int
    number: int
    frames: int
    height: int
    gaps: bool

    def stream(self, purpose: str) -> np.random.Generator:
        """Return the random numbers of one purpose."""
        return generator(self.seed, "episode", str(self.number), purpose)


@dataclass(frozen=True, eq=False)
class Take:
    """Everything about an episode that does not need rays; one frame more than is annotated."""

    who: Person
    script: Script
    feet: Feet
    posed: Posed
    headset: Rig
    times_ns: Array
    poses: Poses
    touch: Array
    scene: Scene
    gaps: Gaps


def act_out(request: Request) -> Take:
    """Let a person act out a script of their own."""
    count = request.frames + 1
    times_ns = sensing.clock(request.stream("clock"), count)
    seconds = (times_ns - times_ns[0]) / 1e9
    who, room = draw_person(request.stream("person")), kitchen(request.stream("kitchen"))
    play = script.write(request.stream("script"), room, who, float(seconds[-1]) + 0.5)
    stand, feet = play.route.at(seconds), route.feet(play.route, who, seconds)
    wanted = acting.wishes(play, room, who, seconds, FPS)
    posed = posing.pose(who.body, stand, feet, wanted, request.stream("sway"), FPS)
    headset = rig.rig(request.stream("headset"))
    poses = sensing.follow(posed, headset, seconds, request.stream("world"))
    seen = scene.scene(play, room, posed, stand, wanted, seconds)
    lost = none(request.frames)
    if request.gaps:
        lost = gaps(request.stream("gaps"), request.frames, float(seconds[-1]))
    return Take(who, play, feet, posed, headset, times_ns, poses, wanted.touch, seen, lost)


def record(folder: Path, request: Request) -> Iterator[int]:
    """Write an episode into a folder, and yield each frame when it is done."""
    take = act_out(request)
    cameras, depth = video_cameras(take.headset, request.height), depth_camera(take.headset)
    heard = sound(take.script, take.feet.landings, (request.frames + 1) / 20, request.stream("sound"))
    gain = 1 + 0.05 * wander(request.stream("light"), request.frames + 1, 1, FPS, 2.0)[:, 0]
    folder.mkdir(parents=True, exist_ok=True)
    cloud, errors = _Cloud(request), int(request.stream("depth").integers(1 << 31))
    with ExitStack() as stack:
        film = {}
        for name, camera in cameras.items():
            shape = camera.rays.shape
            film[name] = stack.enter_context(Film(folder / f"{name}.mp4", (shape[1], shape[0]), heard))
        attributes = {"by": "gnomon simulate episode", "seed": request.seed, "episode": request.number}
        file = stack.enter_context(created(folder / ANNOTATION, request.frames, attributes))
        file.write(datasets(request, take))
        for frame in range(request.frames + 1):
            at = take.poses.in_room(frame)
            for name, camera in cameras.items():
                film[name].add(colours(camera.hits(take.scene, frame, at), camera, take.scene, at, float(gain[frame])))
            if frame < request.frames:
                hits = depth.hits(take.scene, frame, at)
                cloud.look(frame, hits, depth, at, take)
                maps = depth_map(hits, take.headset, take.scene, frame, errors)
                if not take.gaps.depth[frame]:
                    file.write_depth(frame, *maps)
            yield frame
        file.write({"slam/point_cloud": cloud.points()})


class _Cloud:
    """The points that tracking keeps: on what stands still, seen over the whole episode."""

    def __init__(self, request: Request) -> None:
        self._every = max(1, request.frames // _LOOKS)
        self._count = -(-CLOUD * self._every // max(request.frames, 20))
        self._rng = request.stream("cloud")
        self._found: list[Array] = []

    def look(self, frame: int, hits: Hits, camera: Camera, at: Array, take: Take) -> None:
        """Take some points of a frame."""
        if frame % self._every:
            return
        still = (hits.owners < len(take.scene.room.solids)) & (hits.ranges < _CLOUD_FAR)
        rows, columns = np.nonzero(still)
        if not len(rows):
            return
        chosen = self._rng.choice(len(rows), self._count)
        turn, origin = camera.place(at)
        rays = camera.rays[rows[chosen], columns[chosen]]
        away = hits.ranges[rows[chosen], columns[chosen], np.newaxis] * (rays @ turn.T)
        points = take.poses.to_world(origin + away)
        self._found.append(points + self._rng.normal(0, 0.006, points.shape))

    def points(self) -> Array:
        """Return the points, ``(M, 3)`` in the world."""
        return np.concatenate([np.empty((0, 3)), *self._found])


def datasets(request: Request, take: Take) -> dict[str, Any]:
    """Return every dataset of the annotation but depth maps and points."""
    count = request.frames
    names = [str(time) for time in take.times_ns[:count].tolist()]
    video = {"video_height": request.height, "full_stereo": rig.STEREO, "full_fisheye": rig.FISHEYE}
    found: dict[str, Any] = calibration(take.headset)
    found |= metadata(take.who.height, request.number, video)
    found |= _slam(request, take, names) | _imu(request, take) | _body(request, take)
    for side in (0, 1):
        found |= _hand(request, take, side)
    return found | {
        "caption": captioning.caption(take.script, take.times_ns, count, request.stream("caption")),
        "depth/depth_max": DEPTH_MAX,
        "depth/depth_min": DEPTH_MIN,
        "depth/scale": rig.DEPTH_SCALE,
        "video/device_timestamp": np.array(names, dtype="S14"),
        "video/frame_number": np.arange(count, dtype=np.int64),
        "video/length_sec": float(take.times_ns[count] - take.times_ns[0]) / 1e9,
    }


def _slam(request: Request, take: Take, names: list[str]) -> dict[str, Any]:
    count = request.frames
    quaternions, moves = sensing.tracked(take.poses, request.stream("tracking"))
    quaternions[:count][take.gaps.poses] = np.nan
    moves[:count][take.gaps.poses] = np.nan
    return {
        "slam/frame_names": np.array([f"{name}.jpg" for name in names], dtype="S18"),
        "slam/quat_wxyz": quaternions[:count],
        "slam/trans_xyz": moves[:count],
    }


def _imu(request: Request, take: Take) -> dict[str, Any]:
    felt = sensing.feel(take.poses, int(take.times_ns[0]), request.stream("imu"))
    since = (felt.time_ns - take.times_ns[0]) / 1e9
    kept = (since < take.gaps.imu[0]) | (since >= take.gaps.imu[1])
    return {
        "imu/device_timestamp_ns": felt.time_ns[kept],
        "imu/accel_xyz": felt.accel[kept],
        "imu/gyro_xyz": felt.gyro[kept],
        "imu/keyframe_indices": sensing.nearest(felt.time_ns[kept], take.times_ns[: request.frames]),
    }


def _body(request: Request, take: Take) -> dict[str, Any]:
    count, world = request.frames, take.poses.world_from_room[:3, :3]
    turns, joints = take.posed.turns[:count], take.poses.to_world(take.posed.joints[:count])
    own = _quaternions(own_turns(SMPL_H, turns))
    eyes = joints[:, HEAD] + world @ turns[:, HEAD] @ rig.EYES
    found = {
        "Ts_world_cpf": np.concatenate([_quaternions(world @ turns[:, HEAD]), eyes], axis=1),
        "Ts_world_root": np.concatenate([_quaternions(world @ turns[:, 0]), joints[:, 0]], axis=1),
        "betas": np.zeros((count, 16)),
        "body_quats": own[:, 1:22],
        "contacts": sensing.contacts(take.who.body, take.posed, take.touch, request.stream("contacts"))[:count],
        "keypoints": joints,
        "left_hand_quats": own[:, FIRST_FINGERS[0] : FIRST_FINGERS[0] + 15],
        "right_hand_quats": own[:, FIRST_FINGERS[1] : FIRST_FINGERS[1] + 15],
    }
    packed: dict[str, Any] = {f"full_body_mocap/{name}": value.astype(np.float32) for name, value in found.items()}
    return packed | {"full_body_mocap/frame_nums": np.arange(count, dtype=np.int64)}


def _hand(request: Request, take: Take, side: int) -> dict[str, Any]:
    count = request.frames
    seen = sensing.see_hand(take.posed, take.poses, take.headset, side, request.stream(f"{SIDES[side]} hand"))
    there = seen.seen[:count] & ~take.gaps.hands[:, side]
    first = FIRST_FINGERS[side]
    fingers = own_turns(SMPL_H, take.posed.turns[:count])[:, first : first + 15]
    found = {
        "joints_3d": seen.joints[:count],
        "mano_hand_betas": np.zeros((count, 10)),
        "mano_hand_global_orient": seen.turn[:count].reshape(count, 9),
        "mano_hand_pose": fingers.reshape(count, 135),
        "translation": seen.joints[:count, 0] - REST_WRIST * (SIGNS[side], 1.0, 1.0),
    }
    packed = {}
    for name, value in found.items():
        shown = np.where(there.reshape(-1, *[1] * (value.ndim - 1)), value, 0.0)
        packed[f"hand_mocap/{SIDES[side]}_{name}"] = shown.astype(np.float32)
    return packed


def _quaternions(turns: Array) -> Array:
    """Return quaternions (w first, not negative) of turns ``(..., 3, 3)``."""
    found = Rotation.from_matrix(turns.reshape(-1, 3, 3)).as_quat(canonical=True, scalar_first=True)
    return np.asarray(found.reshape(*turns.shape[:-2], 4))


LEAST = 60
"""Frames below which an episode loses hands only."""


@dataclass(frozen=True, eq=False)
class Gaps:
    """What is missing, by frame.

    Attributes
    ----------
    hands
        ``(N, 2)``: hands that were in sight but not found.
    poses, depth
        ``(N,)``.
    imu
        First and last second without inertial samples; both 0 where none are missing.
    """

    hands: Array
    poses: Array
    depth: Array
    imu: tuple[float, float]


def gaps(rng: np.random.Generator, frames: int, seconds: float) -> Gaps:
    """Draw what is missing from an episode."""
    hands = np.stack([_runs(rng, frames, max(1, frames // 120), 12) for _ in range(2)], axis=1)
    if frames < LEAST:
        return Gaps(hands, np.zeros(frames, dtype=np.bool_), np.zeros(frames, dtype=np.bool_), (0.0, 0.0))
    poses, depth = _runs(rng, frames, max(1, frames // 400), 4), _runs(rng, frames, max(1, frames // 300), 3)
    start = float(rng.uniform(0.2, 0.8)) * seconds
    return Gaps(hands, poses, depth, (start, start + float(rng.uniform(0.2, 0.5))))


def none(frames: int) -> Gaps:
    """Return that nothing is missing."""
    nothing = np.zeros(frames, dtype=np.bool_)
    return Gaps(np.zeros((frames, 2), dtype=np.bool_), nothing, nothing, (0.0, 0.0))


def _runs(rng: np.random.Generator, frames: int, count: int, longest: int) -> Array:
    """Return a mask of frames with so many runs, none of them at the first frame."""
    found = np.zeros(frames, dtype=np.bool_)
    for start in rng.integers(1, frames, count).tolist():
        found[start : start + int(rng.integers(1, longest + 1))] = True
    return found


SIMULATED = "simulated"
"""Attribute of the file: it is no recording."""


@contextmanager
def created(path: Path, frames: int, attributes: Mapping[str, Any]) -> Iterator[AnnotationFile]:
    """Create an annotation file, which is closed at the end of the block."""
    h5py = needed("h5py")
    with h5py.File(os.fspath(path), "w") as file:
        file.attrs[SIMULATED] = True
        for name, value in attributes.items():
            file.attrs[name] = value
        yield AnnotationFile(h5py, file, frames)


class AnnotationFile:
    """An annotation file in the making."""

    def __init__(self, h5py: Any, file: Any, frames: int) -> None:
        self._text = h5py.string_dtype("ascii")
        self._file = file
        square = (frames, DEPTH_SIZE, DEPTH_SIZE)
        pack = {"chunks": (1, *square[1:]), "compression": "gzip", "compression_opts": 1}
        self._depth = file.create_dataset("depth/depth", square, np.float32, **pack)
        self._confidence = file.create_dataset("depth/confidence", square, np.uint8, **pack)

    def write(self, values: Mapping[str, Any]) -> None:
        """Write datasets by path: arrays packed, texts and numbers as they are."""
        for path, value in values.items():
            if isinstance(value, str | bytes):
                self._file.create_dataset(path, data=value, dtype=self._text)
            elif np.ndim(value) == 0:
                self._file.create_dataset(path, data=np.float64(value))
            else:
                self._file.create_dataset(path, data=value, chunks=value.shape, compression="gzip")

    def write_depth(self, frame: int, depth: Array, confidence: Array) -> None:
        """Write the depth map of one frame."""
        self._depth[frame], self._confidence[frame] = depth, confidence


def calibration(headset: Rig) -> dict[str, Any]:
    """Return the datasets of the calibration."""
    found: dict[str, Any] = {
        "calibration/cam01/K": headset.stereo,
        "calibration/cam01/T_c0_b": headset.left_from_body,
        "calibration/cam01/baseline": headset.baseline,
    }
    before = np.eye(4)
    for k, (lens_k, lens_d, from_body) in enumerate(headset.fisheye):
        path = f"calibration/cam{k}"
        found |= {f"{path}/K": lens_k, f"{path}/D": lens_d}
        found |= {f"{path}/camera_model": "pinhole", f"{path}/distortion_model": "equidistant"}
        found[f"{path}/T_c_b" if k == 0 else f"{path}/T_cn_cnm1"] = from_body @ before
        before = inverse(from_body)
    return found


def metadata(height: float, number: int, video: Mapping[str, Any]) -> dict[str, Any]:
    """Return the datasets of the metadata, all of them made up."""
    made = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(days=number)
    report = {"generated_at": made.isoformat(), "recordings": [], "root": SIMULATED}
    return {
        "metadata/body_height": round(height, 2),
        "metadata/device_id": f"{SIMULATED}-{number:04d}",
        "metadata/device_version": SIMULATED,
        "metadata/health_report": json.dumps(report, indent=2),
        "metadata/other": json.dumps({SIMULATED: True, **video}),
        "metadata/time_created": made.isoformat(),
    }
