"""The blocks of the feature vector: seventeen, in a fixed order, 8,378 numbers in all.

Conventions
-----------
- A dynamic block has ``per_frame`` numbers in every frame and 7 statistics of each over a window
  (:mod:`gnomon.suites.episode.features.statistics`), statistic by statistic: all means first, then all deviations.
- A block without ``per_frame`` is the same in every window of an episode.
- ``kind`` says what a block may tell a model: ``observed`` (from the frames of the window alone), ``static`` (known
  before the episode), ``derived-from-annotation`` (written by whoever wrote the labels) or ``whole-episode`` (made of
  all frames, so that it has seen those after the window).
- ``frame`` is the coordinate frame of points, ``""`` where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gnomon.core.errors import InputError, some

Kind = Literal["observed", "static", "derived-from-annotation", "whole-episode"]
LENGTH, STRIDE = 20, 5
"""Frames of a window, and from one window to the next."""
CENTRE = 9
"""Frames from the first of a window to its centre."""
STATISTICS = ("mean", "std", "min", "max", "last_minus_first", "mean_of_differences", "std_of_differences")
"""What a dynamic block keeps of every number of a frame."""
VIDEOS = ("fisheye_cam0", "fisheye_cam1", "fisheye_cam2", "fisheye_cam3", "stereo_left", "stereo_right")
VERSION = 1
"""Of the way in which features are made; part of what they are stored under."""


@dataclass(frozen=True)
class Block:
    """One block of the vector.

    Attributes
    ----------
    name
        As in the manifest.
    per_frame
        Numbers of one frame; 0 for a block that is the same in all windows.
    dim
        Numbers of one window.
    kind
        What it may tell, as the module says.
    stream
        Streams of the episode that it reads.
    frame
        Coordinate frame, or ``""``.
    source
        Where its numbers come from, in words.
    """

    name: str
    per_frame: int
    dim: int
    kind: Kind
    stream: tuple[str, ...]
    frame: str
    source: str


def _moving(
    name: str, per_frame: int, stream: str, source: str, *, frame: str = "", kind: Kind = "observed", more: str = ""
) -> Block:
    streams = (stream, more) if more else (stream,)
    return Block(name, per_frame, per_frame * len(STATISTICS), kind, streams, frame, source)


BLOCKS: tuple[Block, ...] = (
    _moving("hand_left_joints", 63, "hand_left", "21 joints of the left hand, fitted to the images", frame="camera"),
    _moving("hand_right_joints", 63, "hand_right", "21 joints of the right hand, fitted to the images", frame="camera"),
    _moving("body_joints", 156, "body", "52 joints of the body, estimated by motion capture", frame="world"),
    _moving("body_contacts", 21, "contacts", "soft scores of contact of 21 joints, estimated by motion capture"),
    _moving("camera_translation", 3, "camera", "world to body, relative to the window's first frame", frame="body"),
    _moving("camera_rotation_matrix", 9, "camera", "world to body, row by row", frame="body"),
    _moving("imu_accel_gyro", 6, "imu", "acceleration and angular rate at the sample of the frame", frame="body"),
    _moving("depth_confidence", 140, "depth", "depth image and its confidence, summarised", more="confidence"),
    *(_moving(f"video_{name}", 98, name, f"decoded frames of {name}.mp4, summarised") for name in VIDEOS),
    _moving(
        "caption_objects_interaction_text",
        128,
        "caption",
        "words of the annotated objects and interaction",
        kind="derived-from-annotation",
    ),
    Block("slam_point_cloud", 0, 22, "whole-episode", ("point_cloud",), "world", "map of the whole episode"),
    Block("calibration", 0, 117, "static", ("calibration",), "", "numbers of the calibration, by sorted path"),
)
"""All blocks, in the order of the vector."""
NAMES = tuple(block.name for block in BLOCKS)
DIM = sum(block.dim for block in BLOCKS)
"""Length of the vector."""


def spans() -> dict[str, slice]:
    """Return the columns of every block.

    >>> spans()["hand_right_joints"]
    slice(441, 882, None)
    """
    found, start = {}, 0
    for block in BLOCKS:
        found[block.name] = slice(start, start + block.dim)
        start += block.dim
    return found


def column_numbers(names: Sequence[str]) -> list[int]:
    """Return the columns of blocks, in the order of the names."""
    known = spans()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"features: no block {some(unknown)}; there are {', '.join(known)}")
    return [column for name in names for column in range(known[name].start, known[name].stop)]


def manifest() -> dict[str, Any]:
    """Return what ``feature_manifest.json`` says: of every block its columns (half-open), kind, streams and source."""
    places = spans()
    rows = []
    for block in BLOCKS:
        row = asdict(block) | {"stream": list(block.stream)}
        row |= {"start": places[block.name].start, "end": places[block.name].stop}
        rows.append(row)
    return {
        "version": VERSION,
        "dim": DIM,
        "window": {"frames": LENGTH, "stride": STRIDE, "centre": CENTRE},
        "statistics": list(STATISTICS),
        "blocks": rows,
    }
