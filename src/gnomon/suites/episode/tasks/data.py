"""One episode as the tasks see it: labels, hands, root, contacts, and the features of its windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.episode.features.windows import CENTRE, LENGTH, starts

if TYPE_CHECKING:
    from gnomon.suites.episode.captions import FrameLabels
    from gnomon.suites.episode.episode import Episode
    from gnomon.suites.episode.frames import Points, Poses

SIDES = ("left", "right")
OUTSIDE = "none"
"""Segment of a window in an episode without segments."""


class Table(Protocol):
    """Features of the windows of one episode."""

    @property
    def values(self) -> Array:
        """``(windows, d)`` float32; may lie on disk."""

    @property
    def coverage(self) -> Array:
        """``(windows, blocks)``: share of the frames in which a block's stream was valid."""

    def columns(self, blocks: Sequence[str]) -> Array:
        """Return the columns of some blocks."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """What tasks need of one episode.

    Attributes
    ----------
    id, n_frames
        Name of the episode and number of its frames.
    windows
        ``(windows,)`` first frame of every window, rising.
    labels
        Labels of every frame, and the annotated segments.
    hands
        By side: 21 joints of every frame in the camera frame.
    root
        The body root of every frame in the world frame, as one joint.
    poses
        World to camera, of every frame.
    contacts
        ``(frames, 21)`` soft scores and ``(frames,)`` whether they are valid.
    features
        Features of the windows.
    kept
        What was made of the streams and is asked for again.
    """

    id: str
    n_frames: int
    windows: Array
    labels: FrameLabels
    hands: Mapping[str, Points]
    root: Points
    poses: Poses
    contacts: tuple[Array, Array]
    features: Table
    kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        lengths = {
            **{f"{side} hand": len(self.hands[side].xyz) for side in SIDES},
            "body root": len(self.root.xyz),
            "poses": len(self.poses.rotation),
            "contacts": len(self.contacts[0]),
        }
        self.check_frames({"action labels": len(self.labels.action), **lengths})
        self.check_features()
        if len(self.windows) and (self.windows.min() < 0 or self.windows.max() + LENGTH > self.n_frames):
            raise InputError(f"episode {self.id!r}: windows reach outside its {self.n_frames} frames")

    def check_frames(self, lengths: Mapping[str, int]) -> None:
        """Refuse streams of another length than the episode; lengths are by name."""
        wrong = {name: n for name, n in lengths.items() if n != self.n_frames}
        if wrong:
            said = ", ".join(f"{name} {n}" for name, n in wrong.items())
            raise InputError(f"episode {self.id!r}: expected {self.n_frames} frames of each stream, but got {said}")

    def hold(self, name: str, values: Array) -> None:
        """Keep an array that was made of the streams."""
        self.kept[name] = values

    def held(self, name: str) -> Array | None:
        """Return an array that was kept, if it was."""
        found: Array | None = self.kept.get(name)
        return found

    def check_features(self) -> None:
        """Refuse features that are not those of the windows."""
        if len(self.features.values) != len(self.windows):
            got = f"{len(self.features.values)} rows of features for {len(self.windows)} windows"
            raise InputError(f"episode {self.id!r}: {got}; compute its features again")

    def motion(self) -> tuple[Mapping[str, Points], Points, Poses]:
        """Return hands, root and poses."""
        return self.hands, self.root, self.poses

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """The annotated segment of the centre of every window, as ``episode/segment``.

        Of segments that overlap the later one counts; a centre between two segments belongs to the one before it, a
        centre before the first to the first.
        """
        of_frame = np.full(self.n_frames, -1, dtype=np.int64)
        for place, segment in enumerate(self.labels.segments):
            of_frame[max(segment.start, 0) : segment.stop] = place
        known = np.flatnonzero(of_frame >= 0)
        if not len(known):
            return (f"{self.id}/{OUTSIDE}",) * len(self.windows)
        before = np.searchsorted(known, self.windows + CENTRE, side="right") - 1
        places = of_frame[known[np.maximum(before, 0)]]
        return tuple(f"{self.id}/{self.labels.segments[place].id}" for place in places.tolist())

    @property
    def session(self) -> str:
        """The session that the episode is of: its id without the last part."""
        return self.id.rpartition("/")[0] or self.id


def read(episode: Episode, features: Table) -> Recorded:
    """Read what tasks need of an episode."""
    n = episode.n_frames
    return Recorded(
        id=episode.id,
        n_frames=n,
        windows=starts(n),
        labels=episode.frame_labels(),
        hands={side: episode.hand(side, 0, n) for side in SIDES},
        root=episode.root(0, n),
        poses=episode.poses(0, n),
        contacts=episode.contacts(0, n),
        features=features,
    )
