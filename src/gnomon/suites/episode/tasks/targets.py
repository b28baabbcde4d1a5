"""What samples are to give: labels, sets and vectors of the windows of one episode, each with what is usable.

Conventions
-----------
- A label that names nothing (empty or ``N/A``) is no target.
- Action changes within 10 frames of the centre c if the labels of two neighbouring frames in ``c - 10 .. c + 10``
  (cut to the episode) differ; labels that name nothing are one label there.
- A window has contact if any of the 21 scores is at least .5 in any of its frames; ``strict`` leaves out those of
  ankles and feet, which a person who stands or walks always has.
- The objects of a window are those named in any of its frames.
- Hands of the next 10 frames are ``(10, 42, 3)``: frame by frame, 21 joints of the left hand, then of the right one,
  xyz in metres, minus the body root of that frame.

Hands relative to the root
--------------------------
Hands are stored in the frame of the camera, the root in that of the world. ``published`` subtracts them as they are,
and takes hands that were not seen as zeros. ``strict`` moves hands to the world frame first, and marks as invalid what
was not seen, has no pose or no root.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.features.windows import CENTRE, LENGTH, majority
from gnomon.suites.episode.frames import Points
from gnomon.suites.episode.tasks.data import SIDES, Recorded
from gnomon.suites.episode.tasks.vocabulary import named

HAND_JOINTS = 21
CONTACT = 0.5
"""Least soft score of a contact."""
FEET = (6, 7, 9, 10)
"""Contacts of ankles and feet: entry j is that of joint j + 1."""


class Paths(NamedTuple):
    """Joints of both hands by frame, relative to the root.

    Attributes
    ----------
    xyz
        ``(frames, 42, 3)`` metres, float32.
    valid
        ``(frames, 42)``: which count as values.
    seen
        ``(frames, 42)``: of which hand and root (``strict``: and pose) were there.
    frames
        Coordinate frames of the hands and of the root that was subtracted from them.
    """

    xyz: Array
    valid: Array
    seen: Array
    frames: tuple[str, str]


class Flags(NamedTuple):
    """What is known of :class:`Paths` without its positions: ``(frames, 2)`` by hand, as its joints are seen together.

    Attributes
    ----------
    valid, seen, frames
        As in :class:`Paths`, of the left and the right hand.
    """

    valid: Array
    seen: Array
    frames: tuple[str, str]


def majorities(one: Recorded, level: str) -> tuple[str, ...]:
    """Return the most common ``action`` or ``subtask`` of every window; empty where none is common enough."""
    labels = one.labels.action if level == "action" else one.labels.subtask
    alike = _alike(labels, one.windows)
    return tuple(
        named(labels[start]) if same else majority(labels[start : start + LENGTH])[0]
        for start, same in zip(one.windows.tolist(), alike, strict=True)
    )


def later(one: Recorded, horizon: int) -> tuple[Array, tuple[str, ...]]:
    """Return the frame that is ``horizon`` after the end of every window, at most the last, and its action."""
    frames = np.minimum(one.windows + LENGTH - 1 + horizon, one.n_frames - 1)
    return frames, tuple(named(one.labels.action[frame]) for frame in frames.tolist())


def around(one: Recorded, tolerance: int) -> Array:
    """Return the frames around the centre of every window, ``(windows, 2)`` half-open, cut to the episode."""
    centres = one.windows + CENTRE
    return np.stack([np.maximum(centres - tolerance, 0), np.minimum(centres + tolerance + 1, one.n_frames)], axis=1)


def changes(one: Recorded, ranges: Array) -> Array:
    """Return whether the action changes between two neighbouring frames of each range."""
    actions = [named(label) for label in one.labels.action]
    differs = np.array([a != b for a, b in pairwise(actions)], dtype=np.bool_)
    return _any(differs, ranges - (0, 1))


def annotated(one: Recorded, ranges: Array) -> Array:
    """Return whether any frame of each range has an action."""
    return _any(np.array([bool(named(label)) for label in one.labels.action], dtype=np.bool_), ranges)


def touched(one: Recorded, variant: str) -> tuple[Array, Array]:
    """Return whether there is contact in every window, and whether any of its frames has valid scores.

    A person who stands or walks always touches the ground, so that any contact is no question; ``strict`` asks for
    contact of anything but the feet.
    """
    scores, valid = one.contacts
    scores = np.delete(scores, FEET, axis=1) if variant == "strict" else scores
    windows = np.stack([one.windows, one.windows + LENGTH], axis=1)
    return _any((scores >= CONTACT).any(axis=1) & valid, windows), _any(valid, windows)


def _any(flags: Array, ranges: Array) -> Array:
    """Return whether any flag of each half-open range is set."""
    before = np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])
    return np.asarray(before[ranges[:, 1]] > before[ranges[:, 0]])


def objects(one: Recorded) -> tuple[frozenset[str], ...]:
    """Return the objects that are named in any frame of every window."""
    sets = one.labels.objects
    alike = _alike(sets, one.windows)
    return tuple(
        sets[start] if same else frozenset().union(*sets[start : start + LENGTH])
        for start, same in zip(one.windows.tolist(), alike, strict=True)
    )


def _alike(frames: Sequence[object], windows: Array) -> list[bool]:
    """Return whether all frames of each window hold the same."""
    differs = np.array([a is not b and a != b for a, b in pairwise(frames)], dtype=np.bool_)
    ranges = np.stack([windows, windows + LENGTH - 1], axis=1)
    found: list[bool] = (~_any(differs, ranges)).tolist()
    return found


def published_subtraction(hand: Points, root: Points) -> Array:
    """Return a hand minus the root as the published protocol has it, whatever frames they are in.

    The numbers are no positions: this is the published flaw, kept so that published figures can be made again.
    :meth:`~gnomon.suites.episode.frames.Points.minus` refuses it.
    """
    return np.asarray(hand.xyz - root.xyz)


def paths(one: Recorded, variant: str) -> Paths:
    """Return where both hands are relative to the root, in every frame."""
    xyz = positions(one, variant)
    known = flags(one, variant)
    return Paths(xyz, joints(known.valid), joints(known.seen), known.frames)


def positions(one: Recorded, variant: str) -> Array:
    """Return the positions of :func:`paths`; made once, where the episode holds what was made."""
    found = one.held(f"positions {variant}")
    return _moved(one, variant) if found is None else found


def flags(one: Recorded, variant: str) -> Flags:
    """Return what is known of the paths of hands without their positions; made once for an episode."""
    if f"flags {variant}" not in one.kept:
        _moved(one, variant)
    found: Flags = one.kept[f"flags {variant}"]
    return found


def _moved(one: Recorded, variant: str) -> Array:
    """Return where hands are, and keep it with what is known of it."""
    hands, root, poses = one.motion()
    if variant == "strict":
        moved = [hands[side].to_world(poses) for side in SIDES]
        apart = [hand.minus(root) for hand in moved]
        seen = np.stack([hand.valid for hand in apart], axis=1)
        found = Flags(seen, seen, (moved[0].frame, root.frame))
        xyz = np.concatenate([hand.xyz.astype(np.float32) for hand in apart], axis=1)
    else:
        seen = np.stack([hands[side].valid & root.valid for side in SIDES], axis=1)
        found = Flags(np.ones_like(seen), seen, (hands[SIDES[0]].frame, root.frame))
        raw = [published_subtraction(hands[side], root).astype(np.float32) for side in SIDES]
        xyz = np.concatenate(raw, axis=1)
    one.kept[f"flags {variant}"] = found
    one.hold(f"positions {variant}", xyz)
    return xyz


def joints(valid: Array) -> Array:
    """Return the validity of hands ``(..., 2)`` as that of their joints, ``(..., 42)``."""
    return np.repeat(valid, HAND_JOINTS, axis=-1)


def ahead(frames: Array, first: Array, horizon: int) -> Array:
    """Return what an array of frames holds after the end of windows, ``(windows, horizon, ...)``."""
    steps = first[:, None] + LENGTH + np.arange(horizon)
    return np.asarray(frames[steps])
