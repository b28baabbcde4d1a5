"""Where the numbers of a block come from: frame after frame of an episode, some at a time.

Every stream is read once, in order. What cannot be read is missing, with the reason, and reading goes on behind it; so
a damaged part of a file costs the frames in it and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.episode import videos
from gnomon.suites.episode.features import images, text
from gnomon.suites.episode.features.blocks import Block
from gnomon.suites.episode.features.statistics import CHUNK

if TYPE_CHECKING:
    from gnomon.suites.episode.captions import FrameLabels
    from gnomon.suites.episode.episode import Episode, Side

IMAGES = 64
"""Video frames that are summed up at a time."""


class Piece(NamedTuple):
    """The next frames of a block.

    Attributes
    ----------
    frames
        ``(n, per_frame)`` float64.
    share
        ``(n,)``: share of each frame's numbers that could be read.
    why
        Why some could not; empty where the stream simply does not see anything.
    """

    frames: Array
    share: Array
    why: str = ""


def pieces(block: Block, episode: Episode, labels: FrameLabels | None) -> Iterator[Piece]:
    """Yield the frames of a dynamic block from the first on; there may be fewer than the episode has.

    Parameters
    ----------
    block
        One with numbers for every frame.
    episode
        An open episode.
    labels
        Labels of its frames; None where there is no caption.
    """
    if block.name == "caption_objects_interaction_text":
        yield from () if labels is None else _words(labels, episode.n_frames)
    elif block.name == "depth_confidence":
        yield from _guarded(block, episode, _depth, episode.chunks("depth"))
    elif block.name.startswith("video_"):
        yield from _video(block, episode)
    else:
        steps = range(0, episode.n_frames, CHUNK)
        parts = (slice(start, min(start + CHUNK, episode.n_frames)) for start in steps)
        yield from _guarded(block, episode, _READERS[block.name], parts)


def _guarded(
    block: Block, episode: Episode, read: Callable[[Episode, int, int], Piece], parts: Iterator[slice]
) -> Iterator[Piece]:
    """Read part by part; a part that cannot be read is missing."""
    try:
        for part in parts:
            try:
                yield read(episode, part.start, part.stop)
            except InputError as error:
                n = part.stop - part.start
                yield Piece(np.zeros((n, block.per_frame)), np.zeros(n), str(error))
    except InputError as error:
        yield Piece(np.zeros((0, block.per_frame)), np.zeros(0), str(error))


def _joints(xyz: Array, valid: Array) -> Piece:
    return Piece(xyz.reshape(len(xyz), -1), valid.astype(np.float64))


def _hand(side: Side) -> Callable[[Episode, int, int], Piece]:
    def read(episode: Episode, start: int, stop: int) -> Piece:
        points = episode.hand(side, start, stop)
        return _joints(points.xyz, points.valid)

    return read


def _body(episode: Episode, start: int, stop: int) -> Piece:
    points = episode.body(start, stop)
    return _joints(points.xyz, points.valid)


def _contacts(episode: Episode, start: int, stop: int) -> Piece:
    return _joints(*episode.contacts(start, stop))


def _translation(episode: Episode, start: int, stop: int) -> Piece:
    translation, _, valid = episode.camera(start, stop)
    return _joints(translation, valid)


def _rotation(episode: Episode, start: int, stop: int) -> Piece:
    _, rotation, valid = episode.camera(start, stop)
    return _joints(rotation, valid)


def _imu(episode: Episode, start: int, stop: int) -> Piece:
    return _joints(*episode.imu(start, stop))


_READERS: dict[str, Callable[[Episode, int, int], Piece]] = {
    "hand_left_joints": _hand("left"),
    "hand_right_joints": _hand("right"),
    "body_joints": _body,
    "body_contacts": _contacts,
    "camera_translation": _translation,
    "camera_rotation_matrix": _rotation,
    "imu_accel_gyro": _imu,
}


def _depth(episode: Episode, start: int, stop: int) -> Piece:
    depth, confidence, valid = episode.depth(start, stop)
    return Piece(*images.depth_numbers(depth, confidence, valid, episode.has_confidence(start, stop)))


def _video(block: Block, episode: Episode) -> Iterator[Piece]:
    """Decode a video; what is behind a damage is missing."""
    path = episode.folder / f"{block.stream[0]}.mp4"
    rows: list[Array] = []
    why = ""
    decoded = videos.frames(path, episode.n_frames)
    try:
        for _, image in decoded:
            rows.append(images.video_numbers(image))
            if len(rows) == IMAGES:
                yield Piece(np.stack(rows), np.ones(len(rows)))
                rows = []
        why = decoded.fault
    except InputError as error:
        why = str(error)
    finally:
        decoded.close()
    yield Piece(np.stack(rows) if rows else np.zeros((0, block.per_frame)), np.ones(len(rows)), why)


def _words(labels: FrameLabels, n_frames: int) -> Iterator[Piece]:
    """Yield the words of objects and interaction of every frame; equal ones are hashed once."""
    known: dict[tuple[Collection[str], str], tuple[Array, bool]] = {}
    for start in range(0, n_frames, CHUNK):
        rows = []
        for frame in range(start, min(start + CHUNK, n_frames)):
            words = labels.objects[frame], labels.interaction[frame]
            if words not in known:
                known[words] = text.embed((*words[0], words[1]))
            rows.append(known[words])
        yield Piece(np.stack([vector for vector, _ in rows]), np.array([float(some) for _, some in rows]))
