"""Whether an episode can be what it says: times that rise, bodies of human size, frames in the order of their times.

A unit that is not metres, or a stream whose frames were shuffled, would be scored as if it were right. What is checked
reads the small streams alone: times and indices, body, hands and poses of the camera.

Limits
------
size of a body, of a hand
    Typical extent (:mod:`gnomon.measures.plausibility`): 0.1 to 4 m, 0.02 to 1 m.
camera and pelvis
    Median distance at most 5 m, as the camera is worn on the head.
order
    Times, numbers of frames and indices of samples do not fall. Pelvis and camera do not jump about: where consecutive
    frames are 0.25 m apart or more (median), and half as far as any two frames, they are not in order. A body that
    stays within a few decimetres can be shuffled unseen.
"""

from __future__ import annotations

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.measures.plausibility import check_body_size
from gnomon.suites.episode.episode import SIDES, Episode
from gnomon.suites.episode.features.statistics import CHUNK

BODY_M, HAND_M = (0.1, 4.0), (0.02, 1.0)
FROM_CAMERA_M = 5.0
LARGEST_ANSWER_M = 10.0
"""Of a hand that was predicted: a poor answer may be of any smaller size, but one in centimetres is larger."""
JUMP_M, JUMP_SHARE = 0.25, 0.5
RISING = (
    "slam/frame_names",
    "video/frame_number",
    "full_body_mocap/frame_nums",
    "imu/device_timestamp_ns",
    "imu/keyframe_indices",
)
"""What rises from row to row beside the times of frames; negative indices stand for nothing."""


def check_plausible(episode: Episode) -> None:
    """Refuse an open episode whose times go backwards, or whose bodies and paths are not those of a person.

    Raises
    ------
    InputError
        Names the dataset, the row or the figure, and what was expected.
    """
    check_rising(f"{shown(episode.path)}: times of frames", episode.times_ns)
    for name in RISING:
        values = episode.numbers(name)
        if values is not None:
            check_rising(f"{shown(episode.path)}: {name}", values)
    body, where = _gathered(episode)
    for name, (points, limits) in body.items():
        check_body_size(points, what=f"{shown(episode.path)}: {name}", limits=limits)
    _check_paths(episode, where)


def check_rising(where: str, values: Array) -> None:
    """Refuse times or indices that fall from one row to the next; negative ones stand for nothing."""
    rows = np.flatnonzero(np.isfinite(values) & (values >= 0))
    falls = np.flatnonzero(np.diff(values[rows]) < 0)
    if len(falls):
        before, row = rows[falls[0]], rows[falls[0] + 1]
        more = f" ({len(falls)} times in all)" if len(falls) > 1 else ""
        raise InputError(
            f"{where}: goes backwards at row {row}: {values[row]:.0f} after {values[before]:.0f}{more}, expected "
            "values that rise; put the rows in the order of their times"
        )


def _gathered(episode: Episode) -> tuple[dict[str, tuple[Array, tuple[float, float]]], dict[str, tuple[Array, Array]]]:
    """Return the joints of valid frames with their limits, and where pelvis and camera are, with which are valid."""
    starts = range(0, episode.n_frames, CHUNK)
    ranges = [(start, min(start + CHUNK, episode.n_frames)) for start in starts]
    bodies = [episode.body(*one) for one in ranges]
    poses = [episode.poses(*one) for one in ranges]
    sizes = {"full_body_mocap/keypoints": (np.concatenate([one.xyz[one.valid] for one in bodies]), BODY_M)}
    for side in SIDES:
        hands = [episode.hand(side, *one) for one in ranges]
        sizes[f"hand_mocap/{side}_joints_3d"] = (np.concatenate([one.xyz[one.valid] for one in hands]), HAND_M)
    rotation, shift = (np.concatenate([getattr(one, key) for one in poses]) for key in ("rotation", "translation"))
    camera = -np.einsum("nji,nj->ni", rotation, shift)
    paths = {
        "full_body_mocap/keypoints": (
            np.concatenate([one.xyz[:, 0] for one in bodies]),
            np.concatenate([one.valid for one in bodies]),
        ),
        "slam/trans_xyz": (camera, np.concatenate([one.valid for one in poses])),
    }
    return sizes, paths


def _check_paths(episode: Episode, paths: dict[str, tuple[Array, Array]]) -> None:
    for name, (places, valid) in paths.items():
        steps = np.linalg.norm(np.diff(places, axis=0), axis=1)[valid[1:] & valid[:-1]]
        if len(steps) < 2 or float(np.median(steps)) < JUMP_M:
            continue
        there = places[valid]
        apart = float(np.median(np.linalg.norm(there - np.roll(there, len(there) // 2, axis=0), axis=1)))
        step = float(np.median(steps))
        if step >= JUMP_SHARE * apart:
            raise InputError(
                f"{shown(episode.path)}: {name}: consecutive frames are {step:.2f} m apart (median), as any two frames "
                f"are ({apart:.2f} m): they are not in the order of their times; put them in order"
            )
    (pelvis, seen), (camera, known) = paths.values()
    both = seen & known
    apart = float(np.median(np.linalg.norm(pelvis[both] - camera[both], axis=1))) if both.any() else 0.0
    if apart > FROM_CAMERA_M:
        raise InputError(
            f"{shown(episode.path)}: slam/trans_xyz: the camera is {apart:.4g} m from the pelvis (median over "
            f"{int(both.sum()):,} frames), expected at most {FROM_CAMERA_M} m; give both in metres, in one world"
        )
