"""Motion capture as BVH (Biovision hierarchy): a tree of joints, and channels over frames.

Conventions
-----------
- The channels of a joint may stand in any order. Rotations are in degrees and are multiplied in the order in which
  their channels stand: ``Zrotation Yrotation Xrotation`` is ``Rz Ry Rx``.
- Position channels give the whole displacement from the parent on their axes and take the place of ``OFFSET`` there,
  as programs write them; joints without such channels lie at their ``OFFSET``.
- End sites close a bone and are no joints: they are left out.
- Lengths have no unit in this format. They come out as they are written.

A file is text. Its hierarchy, its number of frames and its number of values are checked against what it holds before
anything is allocated; an error names the line.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.documents import read_bytes
from gnomon.intake.faults import shown
from gnomon.intake.limits import DEFAULT, Limits

MOST_JOINTS = 10_000
_CHANNEL = re.compile(r"([XYZ])(position|rotation)", re.IGNORECASE)
_AXES = "XYZ"


@dataclass
class Joint:
    """One joint of the hierarchy."""

    name: str
    parent: int
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    channels: list[tuple[str, int]] = field(default_factory=list)
    """``position`` or ``rotation``, and the axis, in the order of the file."""


@dataclass(frozen=True)
class Capture:
    """A file: joints, their parents, positions ``(T, J, 3)`` in the unit of the file, and frames per second."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    joints: Array
    fps: float


def is_bvh(head: bytes) -> bool:
    r"""Say whether a file begins as a BVH file does.

    >>> is_bvh(b"HIERARCHY\nROOT Hips")
    True
    """
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:9].upper() == b"HIERARCHY"


def read_bvh(path: str | os.PathLike[str], limits: Limits = DEFAULT) -> Capture:
    """Read a BVH file.

    Raises
    ------
    InputError
        Names the file, the line and what was expected there.
    """
    data = read_bytes(path, limits)
    if not is_bvh(data[:64]):
        raise InputError(f"{shown(path)}: not a BVH file: expected HIERARCHY in the first line")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # names of joints in older code pages; numbers are ASCII in all of them
    return _Reader(shown(path), text.splitlines()).read(limits)


class _Reader:
    """Reads the lines of one file."""

    def __init__(self, where: str, lines: list[str]) -> None:
        self.where, self.lines, self.at = where, lines, 0
        self.joints: list[Joint] = []

    def fail(self, expected: str) -> NoReturn:
        """Raise the error of the line that was read last."""
        found = self.lines[self.at - 1].strip() if 0 < self.at <= len(self.lines) else ""
        got = f"got {shown(found, 60)!r}" if found else "the file ends"
        raise InputError(f"{self.where}: line {min(self.at, len(self.lines))}: expected {expected}, but {got}")

    def words(self) -> list[str]:
        """Return the words of the next line that has some; none at the end."""
        while self.at < len(self.lines):
            self.at += 1
            if found := self.lines[self.at - 1].split():
                return found
        self.at = len(self.lines) + 1
        return []

    def read(self, limits: Limits) -> Capture:
        """Read hierarchy and motion, and compute where the joints are."""
        self.words()
        self._hierarchy()
        values, seconds = self._motion(limits)
        if not seconds > 0:
            raise InputError(f"{self.where}: Frame Time is {seconds:g}, expected seconds above 0")
        names = tuple(joint.name for joint in self.joints)
        parents = tuple(joint.parent for joint in self.joints)
        return Capture(names, parents, place_joints(self.joints, values), 1.0 / seconds)

    def _hierarchy(self) -> None:
        """Read the tree of joints up to MOTION."""
        words = self.words()
        if not words or words[0].upper() != "ROOT":
            self.fail("ROOT and its name")
        open_joints: list[int] = []
        self._begin(words, -1)
        open_joints.append(0)
        while open_joints:
            words = self.words()
            key = words[0].upper() if words else ""
            here = self.joints[open_joints[-1]]
            if key == "OFFSET":
                here.offset = self._offset(words)
            elif key == "CHANNELS":
                here.channels = self._channels(words)
            elif key == "JOINT":
                self._begin(words, open_joints[-1])
                open_joints.append(len(self.joints) - 1)
            elif key == "END":
                self._end_site()
            elif key == "}":
                open_joints.pop()
            else:
                self.fail("OFFSET, CHANNELS, JOINT, End Site or }")
        if (self.words() or [""])[0].upper() != "MOTION":
            self.fail("MOTION (one root per file)")

    def _begin(self, words: list[str], parent: int) -> None:
        """Open a joint: its name, and a brace in this line or the next."""
        name = " ".join(words[1:])
        inline = name.endswith("{")
        name = name.removesuffix("{").strip()
        if not name or len(self.joints) >= MOST_JOINTS:
            self.fail(f"the name of a joint, of at most {MOST_JOINTS:,}")
        if any(joint.name == name for joint in self.joints):
            self.fail("the name of another joint: names must differ")
        if not inline and self.words() != ["{"]:
            self.fail("{")
        self.joints.append(Joint(name, parent))

    def _end_site(self) -> None:
        """Pass over an end site."""
        words = self.words()
        if words != ["{"]:
            self.fail("{ of an End Site")
        words = self.words()
        if not words or words[0].upper() != "OFFSET":
            self.fail("OFFSET of an End Site")
        self._offset(words)
        if self.words() != ["}"]:
            self.fail("} of an End Site")

    def _offset(self, words: list[str]) -> tuple[float, float, float]:
        numbers = self._numbers(words[1:], 3)
        return float(numbers[0]), float(numbers[1]), float(numbers[2])

    def _channels(self, words: list[str]) -> list[tuple[str, int]]:
        found = [_CHANNEL.fullmatch(word) for word in words[2:]]
        count = words[1] if len(words) > 1 else ""
        if not count.isdecimal() or len(count) > 3 or int(count) != len(found) or not all(found):
            self.fail("CHANNELS, their number and that many of Xposition ... Zrotation")
        channels = [(one[2].lower(), _AXES.index(one[1].upper())) for one in found if one]
        if len(set(channels)) != len(channels):
            self.fail("every channel once")
        return channels

    def _motion(self, limits: Limits) -> tuple[Array, float]:
        """Read the values of all channels ``(T, C)`` and the seconds of a frame."""
        frames = self._header("Frames:")
        if not frames.isdecimal() or len(frames) > 12 or not int(frames):
            self.fail("Frames: and their number, at least 1")
        time = self._header("Frame Time:")
        try:
            seconds = float(time)
        except ValueError:
            self.fail("Frame Time: and the seconds of a frame")
        count, width = int(frames), sum(len(joint.channels) for joint in self.joints)
        rest = len(self.lines) - self.at
        if count > rest:
            raise InputError(f"{self.where}: declares {count:,} frames, but only {rest:,} lines follow; write it again")
        limits.raised().check_decoded(
            self.where, 8 * count * (width + 15 * len(self.joints)), sum(map(len, self.lines))
        )
        values = np.empty((count, width))
        for row in range(count):
            values[row] = self._numbers(self.words(), width)
        if words := self.words():
            self.fail(f"the end after {count:,} frames, not {len(words)} more values")
        return values, seconds

    def _header(self, key: str) -> str:
        line = " ".join(self.words())
        if not line.lower().startswith(key.lower()):
            self.fail(key)
        return line[len(key) :].strip()

    def _numbers(self, words: list[str], count: int) -> Array:
        if len(words) != count:
            self.fail(f"{count} numbers, not {len(words)}")
        try:
            found = np.array(words, dtype=np.float64)
        except ValueError:
            self.fail(f"{count} numbers")
        if not np.isfinite(found).all():
            self.fail(f"{count} finite numbers")
        return found


def place_joints(joints: list[Joint], values: Array) -> Array:
    """Return where the joints are ``(T, J, 3)`` by forward kinematics; ``values`` ``(T, C)`` are the channels."""
    frames = len(values)
    places = np.empty((frames, len(joints), 3))
    turns: list[Array] = []
    column = 0
    for index, joint in enumerate(joints):
        move = np.tile(np.array(joint.offset), (frames, 1))
        turn = np.broadcast_to(np.eye(3), (frames, 3, 3))
        for kind, axis in joint.channels:
            if kind == "position":
                move[:, axis] = values[:, column]
            else:
                turn = turn @ _turn_about(axis, np.radians(values[:, column]))
            column += 1
        if joint.parent >= 0:
            before = turns[joint.parent]
            move = places[:, joint.parent] + np.einsum("tij,tj->ti", before, move)
            turn = before @ turn
        places[:, index] = move
        turns.append(turn)
    return places


def _turn_about(axis: int, angles: Array) -> Array:
    """Return rotations ``(T, 3, 3)`` about one axis by angles in radians."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    found = np.zeros((len(angles), 3, 3))
    found[:, axis, axis] = 1.0
    found[:, a, a] = found[:, b, b] = np.cos(angles)
    found[:, b, a] = np.sin(angles)
    found[:, a, b] = -found[:, b, a]
    return found
