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
    Times of frames rise (:class:`gnomon.suites.episode.episode.Episode`). In other times, numbers of frames and indices
    of samples, rows are out of order that must be left out so that no value falls (the fewest). More than 1 % of the
    rows of a stream are an error: shuffled, reversed, or parts in another order. Fewer, such as a time stamp that was
    written late, are a finding. The IMU is no part of the truth of any task: its order is checked where features of it
    are computed. Pelvis, camera and hands do not jump about: where consecutive frames are 0.25 m apart or more
    (median; hands 0.05 m), and half as far as any two frames, they are not in order. A body that stays within a few
    decimetres, or a hand that rests, can be shuffled unseen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.evidence import Finding
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.measures.plausibility import check_body_size
from gnomon.suites.episode.episode import SIDES, Episode
from gnomon.suites.episode.features.statistics import CHUNK
from gnomon.suites.episode.layout import Place

BODY_M, HAND_M = (0.1, 4.0), (0.02, 1.0)
FROM_CAMERA_M = 5.0
JUMP_M, HAND_JUMP_M, JUMP_SHARE = 0.25, 0.05, 0.5
MOST_OUT_OF_ORDER = 0.01
"""Largest share of the rows of a stream that may be out of order."""
OF_FRAMES = ("slam/frame_names", "video/frame_number", "full_body_mocap/frame_nums")
"""What rises from row to row beside the times of frames; negative indices stand for nothing."""
OF_IMU = ("imu/device_timestamp_ns", "imu/keyframe_indices")
"""What rises from row to row of the IMU, which features read and no task is made from."""


@dataclass(frozen=True)
class Disorder:
    """Rows of a stream that are not in the order of their values.

    ``rows`` is how many rows must be left out so that the others do not fall, of ``of``; ``falls`` is how often a value
    is below the one before it, first at row ``first``, from ``before`` to ``after``.
    """

    rows: int
    of: int
    falls: int
    first: int
    before: int
    after: int

    def __str__(self) -> str:
        more = f" ({self.falls:,} times in all)" if self.falls > 1 else ""
        return (
            f"goes backwards at row {self.first}: {self.after} after {self.before}{more}; {self.rows:,} of {self.of:,} "
            "rows are out of order"
        )


def check_plausible(episode: Episode) -> None:
    """Refuse an open episode whose frames are not in order, or whose bodies and paths are not those of a person.

    Only what tasks are made from is checked; see :func:`check_imu_order` for what features alone read.

    Raises
    ------
    InputError
        Names the dataset, the row or the figure, and what was expected.
    """
    _check_order(episode, OF_FRAMES)
    body, where = _gathered(episode)
    for name, (points, limits) in body.items():
        check_body_size(points, what=f"{shown(episode.path)}: {name}", limits=limits)
    _check_paths(episode, where)


def check_imu_order(episode: Episode) -> None:
    """Refuse an open episode whose IMU samples are not in order."""
    _check_order(episode, OF_IMU)


def order_findings(places: Sequence[Place]) -> list[Finding]:
    """Find streams of episodes of which some rows are out of order, few enough for the episode to be used."""
    found = []
    for place in places:
        with Episode.open(place) as episode:
            for name, disorder in _disorders(episode, (*OF_FRAMES, *OF_IMU)):
                text = f"{place.id}: {name} {disorder}"
                remedy = "put the rows in the order of their times, or correct the values"
                found.append(Finding("rows-out-of-order", "warning", place.id, text, remedy))
    return found


def find_disorder(values: Array) -> Disorder | None:
    """Return which rows of times or indices are out of order; None where no value falls.

    Negative values stand for nothing.

    >>> str(find_disorder(np.array([0, 1, 3, 2, 4])))
    'goes backwards at row 3: 2 after 3; 1 of 5 rows are out of order'
    """
    rows = np.flatnonzero(np.isfinite(values) & (values >= 0))
    kept = values[rows]
    falls = np.flatnonzero(kept[1:] < kept[:-1])
    if not len(falls):
        return None
    ends: list[float] = []  # least last value of the rising rows of each length that were found so far
    for value in kept.tolist():
        place = bisect_right(ends, value)
        ends[place : place + 1] = [value]
    first = int(falls[0])
    return Disorder(
        len(kept) - len(ends), len(kept), len(falls), int(rows[first + 1]), int(kept[first]), int(kept[first + 1])
    )


def _disorders(episode: Episode, names: Sequence[str]) -> Iterator[tuple[str, Disorder]]:
    for name in names:
        values = episode.numbers(name)
        if values is not None and (found := find_disorder(values)):
            yield name, found


def _check_order(episode: Episode, names: Sequence[str]) -> None:
    """Refuse an episode of which more than a few rows of a stream are out of order."""
    for name, found in _disorders(episode, names):
        if found.rows > MOST_OUT_OF_ORDER * found.of:
            raise InputError(
                f"{shown(episode.path)}: {name}: {found}, expected at most {MOST_OUT_OF_ORDER:.0%}; put the rows in "
                "the order of their times"
            )


def _gathered(episode: Episode) -> tuple[dict[str, tuple[Array, tuple[float, float]]], dict[str, tuple[Array, Array]]]:
    """Return joints of valid frames with their limits, and where pelvis, camera and wrists are, and which are valid."""
    starts = range(0, episode.n_frames, CHUNK)
    ranges = [(start, min(start + CHUNK, episode.n_frames)) for start in starts]
    bodies = [episode.body(*one) for one in ranges]
    poses = [episode.poses(*one) for one in ranges]
    sizes = {"full_body_mocap/keypoints": (np.concatenate([one.xyz[one.valid] for one in bodies]), BODY_M)}
    wrists = {}
    for side in SIDES:
        hands = [episode.hand(side, *one) for one in ranges]
        name = f"hand_mocap/{side}_joints_3d"
        xyz, valid = np.concatenate([one.xyz for one in hands]), np.concatenate([one.valid for one in hands])
        sizes[name] = (xyz[valid], HAND_M)
        wrists[name] = (xyz[:, 0], valid)
    rotation, shift = (np.concatenate([getattr(one, key) for one in poses]) for key in ("rotation", "translation"))
    camera = -np.einsum("nji,nj->ni", rotation, shift)
    paths = {
        "full_body_mocap/keypoints": (
            np.concatenate([one.xyz[:, 0] for one in bodies]),
            np.concatenate([one.valid for one in bodies]),
        ),
        "slam/trans_xyz": (camera, np.concatenate([one.valid for one in poses])),
        **wrists,
    }
    return sizes, paths


def _check_paths(episode: Episode, paths: dict[str, tuple[Array, Array]]) -> None:
    for name, (places, valid) in paths.items():
        steps = np.linalg.norm(np.diff(places, axis=0), axis=1)[valid[1:] & valid[:-1]]
        least = HAND_JUMP_M if name.startswith("hand_mocap/") else JUMP_M
        if len(steps) < 2 or float(np.median(steps)) < least:
            continue
        there = places[valid]
        apart = float(np.median(np.linalg.norm(there - np.roll(there, len(there) // 2, axis=0), axis=1)))
        step = float(np.median(steps))
        if step >= JUMP_SHARE * apart:
            raise InputError(
                f"{shown(episode.path)}: {name}: consecutive frames are {step:.2f} m apart (median), as any two frames "
                f"are ({apart:.2f} m): they are not in the order of their times; put them in order"
            )
    (pelvis, seen), (camera, known) = paths["full_body_mocap/keypoints"], paths["slam/trans_xyz"]
    both = seen & known
    apart = float(np.median(np.linalg.norm(pelvis[both] - camera[both], axis=1))) if both.any() else 0.0
    if apart > FROM_CAMERA_M:
        raise InputError(
            f"{shown(episode.path)}: slam/trans_xyz: the camera is {apart:.4g} m from the pelvis (median over "
            f"{int(both.sum()):,} frames), expected at most {FROM_CAMERA_M} m; give both in metres, in one world"
        )
