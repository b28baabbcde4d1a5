"""One episode, read lazily: opening looks at names, shapes and sizes; values are read when they are asked for.

Conventions
-----------
- Ranges of frames are half-open. N is the number of time stamps of the video, else of the camera's poses.
- Every stream by frame comes with a mask. Where it is False the values are zeros and stand for nothing: the stream is
  missing or too short there, is not finite, or says itself that it saw nothing (hands, body and depth of zeros).
- Hands are in the frame of the camera (left stereo), body and poses in that of the world; metres.
- The stored pose maps the world to the body of the headset; the pose of the camera is ``T_c0_b`` after it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType, TracebackType
from typing import Any, Literal

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.intake.limits import MIB
from gnomon.suites.episode import captions, videos
from gnomon.suites.episode.annotation import Annotation, Shape, UnusableError
from gnomon.suites.episode.captions import FRAME_NUMBERS, FrameLabels
from gnomon.suites.episode.frames import CAMERA, FARTHEST_M, WORLD, Points, Poses, rotations
from gnomon.suites.episode.layout import DATASETS, VIDEOS, Place

Side = Literal["left", "right"]
SIDES: tuple[Side, ...] = ("left", "right")
DEPTH_SIZE = 256
LARGEST = 1e5
"""Beyond this no sensor of a headset has ever been, in m, m/s^2 or rad/s."""
FARTHEST_SAMPLES, FARTHEST_NS = 3.0, 5e7
"""An IMU sample that is farther from its frame than so many samples, or nanoseconds, is not of that frame."""
_TIMES = ("video/device_timestamp", "slam/frame_names")
_IMU_TIMES = "imu/device_timestamp_ns"
_TO_CAMERA = "calibration/cam01/T_c0_b"
_SHAPES: Mapping[str, Shape] = {
    "hand_mocap/left_joints_3d": (None, 21, 3),
    "hand_mocap/right_joints_3d": (None, 21, 3),
    "full_body_mocap/keypoints": (None, 52, 3),
    "full_body_mocap/contacts": (None, 21),
    "slam/quat_wxyz": (None, 4),
    "slam/trans_xyz": (None, 3),
    "slam/point_cloud": (None, 3),
    "imu/keyframe_indices": (None,),
    "imu/accel_xyz": (None, 3),
    "imu/gyro_xyz": (None, 3),
    "depth/depth": (None, DEPTH_SIZE, DEPTH_SIZE),
    "depth/confidence": (None, DEPTH_SIZE, DEPTH_SIZE),
}
_NOT_BY_FRAME = ("slam/point_cloud", "imu/accel_xyz", "imu/gyro_xyz")
_TIME = re.compile(rb"(\d{1,19})(?:\.\w{1,4})?\x00*")
_LATEST_NS = np.iinfo(np.int64).max
_READ_BYTES = 32 * MIB


class Episode:
    """An open episode; use it as a context manager.

    Attributes
    ----------
    id, folder
        Name of the episode, and where it is.
    n_frames
        Number of frames.
    streams
        Name of every stream -> empty if it can be read, else why not.
    partial
        Name of streams that can be read -> why only in part.
    """

    def __init__(self, place: Place, file: Annotation) -> None:
        self.id = place.id
        self.folder = place.folder
        self._place = place
        self._file = file
        self._sets: dict[str, Any] = {}
        self._times_set, self.n_frames = self._find_times()
        streams, partial = {}, {}
        for name in DATASETS:
            streams[name], partial[name] = self._look(name)
        for name in VIDEOS:
            streams[name], partial[name] = videos.fault_of(place.video(name))
        self.streams: Mapping[str, str] = MappingProxyType(streams)
        self.partial: Mapping[str, str] = MappingProxyType({name: why for name, why in partial.items() if why})

    @classmethod
    def open(cls, place: Place) -> Episode:
        """Open an episode and check what it has.

        Raises
        ------
        InputError
            The annotation file is missing, damaged, or has no time stamps of frames.
        """
        file = Annotation(place.annotation)
        try:
            return cls(place, file)
        except BaseException:
            file.close()
            raise

    def close(self) -> None:
        """Close the annotation file."""
        self._file.close()

    def __enter__(self) -> Episode:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def times_ns(self) -> Array:
        """Time of every frame in nanoseconds, ``(N,)``, rising."""
        values = self._file.read(self._times_set)
        times = values.astype(np.int64) if values.dtype.kind in "iu" else _numbers(values)
        times = self._times_of(values.tolist()) if times is None else times
        falls = np.diff(times, prepend=-1) <= 0
        if falls.any():
            row = int(np.argmax(falls))
            after = f"{times[row]} ns after {times[row - 1]} ns" if row else f"{times[row]} ns"
            raise self._file.refused(self._times_set, f"times do not rise at frame {row}: {after}")
        times.setflags(write=False)
        return times

    @property
    def path(self) -> str | os.PathLike[str]:
        """The annotation file."""
        return self._file.path

    def numbers(self, name: str) -> Array | None:
        """Return a dataset of one number a row, or of names of frames that are numbers; None where it is not there."""
        try:
            found = self._file.dataset(name, (None,), "SOfiu")
        except UnusableError:
            return None
        values = self._file.read(found)
        if values.dtype.kind in "fiu":
            return np.asarray(values)
        matches = [_TIME.fullmatch(text if isinstance(text, bytes) else str(text).encode()) for text in values.tolist()]
        times = [int(match[1]) for match in matches if match]
        return np.array(times) if len(times) == len(matches) and max(times, default=0) <= _LATEST_NS else None

    @property
    def simulated(self) -> bool:
        """Whether the annotation file says that it was generated, wherever it lies now."""
        return self._file.marked("simulated")

    @property
    def fps(self) -> float:
        """Frames per second, as measured."""
        return (self.n_frames - 1) / (int(self.times_ns[-1]) - int(self.times_ns[0])) * 1e9

    def hand(self, side: str, start: int, stop: int) -> Points:
        """Return the 21 joints of the left or right hand, in the frame of the camera; valid where it was seen."""
        if side not in SIDES:
            raise InputError(f"hand {side!r}: expected {' or '.join(SIDES)}")
        xyz, there = self._rows(DATASETS[f"hand_{side}"][0], start, stop)
        return Points(xyz, there & _some(xyz), CAMERA)

    def body(self, start: int, stop: int) -> Points:
        """Return the 52 joints of the body, in the frame of the world."""
        xyz, there = self._rows("full_body_mocap/keypoints", start, stop)
        return Points(xyz, there & _some(xyz), WORLD)

    def root(self, start: int, stop: int) -> Points:
        """Return the pelvis, in the frame of the world."""
        return self.body(start, stop).joint(0)

    def contacts(self, start: int, stop: int) -> tuple[Array, Array]:
        """Return the contact scores of 21 joints ``(n, 21)``, and which frames are valid ``(n,)``."""
        return _masked(*self._rows("full_body_mocap/contacts", start, stop))

    def poses(self, start: int, stop: int) -> Poses:
        """Return what moves the world to the camera (left stereo)."""
        translation, rotation, valid = self.camera(start, stop)
        to_camera = self._to_camera
        if to_camera is None:
            return Poses(rotation, translation, np.zeros_like(valid))
        turn, shift = to_camera[:3, :3], to_camera[:3, 3]
        return Poses(turn @ rotation, translation @ turn.T + shift, valid)

    def camera(self, start: int, stop: int) -> tuple[Array, Array, Array]:
        """Return the stored poses, world to body: translation ``(n, 3)``, rotation ``(n, 3, 3)``, valid ``(n,)``."""
        quaternions, turned = self._rows("slam/quat_wxyz", start, stop)
        translation, moved = self._rows("slam/trans_xyz", start, stop)
        rotation, proper = rotations(quaternions)
        valid = turned & moved & proper & (np.abs(translation) <= FARTHEST_M).all(axis=1)
        return np.where(valid[:, None], translation, 0.0), np.where(valid[:, None, None], rotation, 0.0), valid

    def imu(self, start: int, stop: int) -> tuple[Array, Array]:
        """Return acceleration and angular rate at each frame ``(n, 6)``, and which frames are valid ``(n,)``.

        A frame is not valid where the sample that it names was taken more than 3 samples or .05 s from it.
        """
        values = np.zeros((stop - start, 6))
        index, valid = self._rows("imu/keyframe_indices", start, stop)
        sensors = [self._sets[name] for name in DATASETS["imu"][1:] if name in self._sets]
        if len(sensors) < 2:
            return values, np.zeros(len(values), dtype=np.bool_)
        valid &= (index >= 0) & (index < min(len(sensor) for sensor in sensors))
        valid &= ~self._far_from_imu[start:stop]
        index = np.where(valid, index, 0).astype(np.int64)
        if valid.any():
            low, high = int(index[valid].min()), int(index[valid].max()) + 1
            parts = [self._file.read(sensor, np.s_[low:high]) for sensor in sensors]
            values[valid] = np.concatenate(parts, axis=1)[index[valid] - low]
        return _masked(values, valid)

    def depth(self, start: int, stop: int) -> tuple[Array, Array | None, Array]:
        """Return depth, its confidence, and which frames are valid.

        Depth is ``(n, 256, 256)`` float32 in metres, 0 where there is none; confidence is ``(n, 256, 256)`` uint8, or
        None where the episode has none; a frame is valid if it has a depth anywhere.
        """
        depth, valid = self._rows("depth/depth", start, stop, np.float32)
        _clean(depth, valid)
        if self.streams["confidence"]:
            return depth, None, valid
        return depth, self._rows("depth/confidence", start, stop, np.uint8)[0], valid

    def has_confidence(self, start: int, stop: int) -> Array:
        """Return which frames have a confidence of their depth, ``(n,)``; it may end before the depth does."""
        length = 0 if self.streams["confidence"] else len(self._sets["depth/confidence"])
        return np.arange(start, stop) < length

    def point_cloud(self) -> Array:
        """Return the points of the whole episode's map, ``(M, 3)``."""
        self._check_readable("point_cloud")
        return np.asarray(self._file.read(self._sets["slam/point_cloud"]), dtype=np.float64)

    def calibration(self) -> dict[str, Array]:
        """Return the numbers of the calibration by their paths, in sorted order."""
        self._check_readable("calibration")
        try:
            leaves = dict(self._file.leaves("calibration"))
        except UnusableError as error:
            raise InputError(f"{shown(self._file.path)}: {error}; correct the file") from error
        return {name: np.asarray(self._file.read(found), dtype=np.float64) for name, found in leaves.items()}

    def frame_labels(self) -> FrameLabels:
        """Return what the caption says of each frame."""
        self._check_readable("caption")
        raw = self._file.read(self._sets["caption"])
        if not isinstance(raw, bytes):
            raise self._file.refused(self._sets["caption"], f"expected text, but got {type(raw).__name__}")
        return captions.parse(raw, self.times_ns, self.n_frames, where=f"{shown(self._file.path)}: caption")

    def chunks(self, stream: str) -> Iterator[slice]:
        """Yield ranges of frames that together are the episode, along the chunks that a stream is stored in."""
        self._check_readable(stream)
        names = DATASETS[stream] + (("depth/confidence",) if stream == "depth" else ())
        sets = [self._sets[name] for name in names if name in self._sets and name not in _NOT_BY_FRAME]
        steps = [found.chunks[0] if found.chunks else 1 for found in sets]
        frame_bytes = max(sum(found.nbytes // max(len(found), 1) for found in sets), 1)
        step = math.lcm(*steps)
        if step * frame_bytes > 4 * _READ_BYTES:
            step = steps[0]
        step *= max(_READ_BYTES // (step * frame_bytes), 1)
        for start in range(0, self.n_frames, step):
            yield slice(start, min(start + step, self.n_frames))

    def empty_streams(self) -> list[str]:
        """Return the streams that can be read and in which no frame is valid.

        Frames are read until one is valid, so that little is read of a stream that holds something.
        """
        valid: dict[str, Callable[[int, int], Array]] = {
            "hand_left": lambda start, stop: self.hand("left", start, stop).valid,
            "hand_right": lambda start, stop: self.hand("right", start, stop).valid,
            "body": lambda start, stop: self.body(start, stop).valid,
            "contacts": lambda start, stop: self.contacts(start, stop)[1],
            "camera": lambda start, stop: self.camera(start, stop)[2],
            "imu": lambda start, stop: self.imu(start, stop)[1],
            "depth": lambda start, stop: self.depth(start, stop)[2],
        }
        readable = {name: frames for name, frames in valid.items() if not self.streams[name]}
        return [name for name, frames in readable.items() if not any(frames(*part).any() for part in self._parts())]

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of frames that together are the episode, few frames first."""
        start, step = 0, 8
        while start < self.n_frames:
            yield start, min(start + step, self.n_frames)
            start, step = start + step, min(2 * step, 128)

    @cached_property
    def _far_from_imu(self) -> Array:
        """Frames whose IMU sample was taken at another time, ``(N,)``; none where the samples have no times.

        Both clocks are one in what is recorded; where they are apart for good, the median distance is taken off.
        """
        far = np.zeros(self.n_frames, dtype=np.bool_)
        try:
            found = self._file.dataset(_IMU_TIMES, (None,))
        except UnusableError:
            return far
        if len(found) < 2:
            return far
        index, there = self._rows("imu/keyframe_indices", 0, self.n_frames)
        there &= (index >= 0) & (index < len(found))
        times = np.asarray(self._file.read(found), dtype=np.float64) - float(self.times_ns[0])
        steps = np.diff(times[np.isfinite(times)])
        apart = times[np.where(there, index, 0).astype(np.int64)] - (self.times_ns - self.times_ns[0])
        known = there & np.isfinite(apart)
        if not known.any() or not len(steps):
            return there
        middle = float(np.median(apart[known]))
        most = min(FARTHEST_SAMPLES * float(np.median(steps)), FARTHEST_NS)
        return np.asarray(there & ~(np.abs(apart - (middle if abs(middle) > FARTHEST_NS else 0.0)) <= most))

    @cached_property
    def _to_camera(self) -> Array | None:
        """Pose that maps the body of the headset to the camera; nothing where the episode has no proper one."""
        try:
            matrix = np.asarray(self._file.read(self._file.dataset(_TO_CAMERA, (4, 4))), dtype=np.float64)
        except UnusableError:
            return None
        turn = matrix[:3, :3]
        proper = (
            np.isfinite(matrix).all() and np.allclose(turn @ turn.T, np.eye(3), atol=1e-3) and np.linalg.det(turn) > 0
        )
        return matrix if proper else None

    def _find_times(self) -> tuple[Any, int]:
        reasons = []
        for name in _TIMES:
            try:
                found = self._file.dataset(name, (None,), "SOiu")
            except UnusableError as error:
                reasons.append(str(error))
                continue
            if not 2 <= len(found) <= FRAME_NUMBERS:
                raise self._file.refused(found, f"{len(found)} frames, expected 2 to {FRAME_NUMBERS}")
            return found, len(found)
        raise InputError(f"{shown(self._file.path)}: no times of frames ({'; '.join(reasons)}); complete the file")

    def _times_of(self, texts: list[Any]) -> Array:
        times = np.zeros(self.n_frames, dtype=np.int64)
        for row, text in enumerate(texts):
            match = _TIME.fullmatch(text if isinstance(text, bytes) else str(text).encode())
            if not match or int(match[1]) > _LATEST_NS:
                got = shown(repr(text), 80)
                raise self._file.refused(self._times_set, f"frame {row} has the time {got}, expected nanoseconds")
            times[row] = int(match[1])
        return times

    def _look(self, stream: str) -> tuple[str, str]:
        """Return why a stream of the annotation file cannot be read, and why only in part; both often empty."""
        try:
            if stream == "calibration":
                found = sum(1 for _ in self._file.leaves("calibration"))
                return ("" if found else "calibration holds no numbers"), ""
            if stream == "caption":
                self._sets["caption"] = self._file.dataset("caption", (), "SO")
                return "", ""
            for name in DATASETS[stream]:
                self._sets[name] = self._file.dataset(name, _SHAPES[name])
        except UnusableError as error:
            return str(error), ""
        lengths = {name: len(self._sets[name]) for name in DATASETS[stream]}
        if empty := [name for name, length in lengths.items() if not length]:
            return f"{empty[0]} is empty", ""
        odd = [self._length(name, length) for name, length in lengths.items() if name not in _NOT_BY_FRAME]
        if stream == "camera" and self._to_camera is None:
            odd.append(f"{_TO_CAMERA} is missing or no rigid motion: nothing can be moved between camera and world")
        return "", "; ".join(filter(None, odd))

    def _length(self, name: str, length: int) -> str:
        if length < self.n_frames:
            return f"{name} has {length} of {self.n_frames} frames"
        return f"{name} has {length} frames, of which {self.n_frames} are used" if length > self.n_frames else ""

    def _rows(self, name: str, start: int, stop: int, kind: type[np.generic] = np.float64) -> tuple[Array, Array]:
        """Return rows of a dataset, zeros where it has none, and where it has some."""
        if not 0 <= start <= stop <= self.n_frames:
            raise InputError(
                f"episode {self.id}: frames {start} to {stop}, expected a range within 0 to {self.n_frames}"
            )
        shape = tuple(length or 0 for length in _SHAPES[name][1:])
        values = np.zeros((stop - start, *shape), dtype=kind)
        there = np.zeros(stop - start, dtype=np.bool_)
        if (found := self._sets.get(name)) is not None:
            end = min(stop, len(found))
            self._file.read_into(found, start, end, values)
            there[: max(end - start, 0)] = True
        return values, there

    def _check_readable(self, stream: str) -> None:
        if why := self.streams[stream]:
            raise InputError(f"episode {self.id}: stream {stream} cannot be read: {why}; complete the episode")


def _numbers(texts: Array) -> Array | None:
    """Return times that are all written with as many digits, at most 18, and nothing else; None where they are not.

    >>> _numbers(np.array([b"100", b"250"])).tolist()
    [100, 250]
    >>> _numbers(np.array([b"1.jpg"])) is None
    True
    """
    if texts.dtype.kind != "S":
        return None
    marks = np.ascontiguousarray(texts).view(np.uint8).reshape(len(texts), texts.dtype.itemsize)
    width = int((marks[0] != 0).sum()) if len(marks) else 0
    digits = marks[:, :width] - np.uint8(ord("0"))
    if not 0 < width <= 18 or (digits > 9).any() or marks[:, width:].any():
        return None
    return np.asarray(digits @ (10 ** np.arange(width - 1, -1, -1, dtype=np.int64)))


def _some(xyz: Array) -> Array:
    """Return which frames of ``(n, joints, 3)`` hold anything but zeros."""
    return np.asarray((xyz != 0).reshape(len(xyz), xyz.shape[1] * 3).any(axis=1))


def _masked(values: Array, valid: Array) -> tuple[Array, Array]:
    """Return values ``(n, d)`` with zeros where they are not valid or no measurement, and which are valid."""
    valid = valid & (np.abs(values) <= LARGEST).all(axis=1)
    return np.where(valid[:, None], values, 0.0), valid


@jit
def _clean(depth: Array, valid: Array) -> None:
    """Set what is no depth to 0, and frames without any to not valid."""
    for i in range(len(depth)):
        seen = False
        frame = depth[i].reshape(-1)
        for k in range(frame.size):
            if frame[k] > 0 and frame[k] <= LARGEST:
                seen = True
            else:
                frame[k] = 0
        valid[i] = valid[i] and seen
