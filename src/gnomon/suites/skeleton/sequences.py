"""Sequences and frames of samples, read from their ids.

The usual rule: the sequence is the first ``p<digits>_a<digits>`` of the id, else its first two fields between
underscores; the frame is the number at its end. Subject and action are the two numbers. Another rule is a regular
expression with the named group ``sequence`` and perhaps ``frame``, ``subject`` and ``action``, or a preset:

``h36m``  ``S9_Walking_1``: subject ``S9``, action ``Walking``, take 1 (one or two digits, or none); perhaps a camera of
          eight digits, and a frame: ``S9_Walking_1.60457274_000123``
``3dpw``  ``downtown_arguing_00``: action ``arguing``; perhaps a person, 0 or 1, and a frame:
          ``downtown_arguing_00_1/image_00042``. The dataset does not name people, so that recordings are the groups.

Labels of sequences that several rows share (:func:`find_labels`) are read by the same rules, but for the frame: rows
then follow one another in their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gnomon.core.cases import Roster, join
from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown

USUAL = re.compile(r"(?P<sequence>p(?P<subject>\d+)_a(?P<action>\d+))", re.ASCII)
PRESETS = {
    "h36m": re.compile(
        r"(?P<sequence>(?P<subject>S\d+)[_/ ](?P<action>[A-Za-z]+)(?:[_ ]\d{1,2}(?!\d))?(?:[._ /-]\d{8}(?!\d))?)"
        r"(?:[._ /-](?:frame_?|image_|img_)?(?P<frame>\d+))?(?:\.\w+)?$",
        re.ASCII,
    ),
    "3dpw": re.compile(
        r"(?P<sequence>(?P<subject>[A-Za-z]+_(?P<action>[A-Za-z]+)_\d{2})(?:_[0-9](?!\d))?)"
        r"(?:[._ /-](?:frame_?|image_|img_)?(?P<frame>\d+))?(?:\.\w+)?$",
        re.ASCII,
    ),
}
"""Rules of known datasets."""
LEVELS = {"3dpw": "recording"}
"""What the groups of a preset are called, where they are not subjects."""
PERSON = re.compile(r" ?person \d+$")
NO_FRAME = -1
LONGEST = 18
"""Digits of a frame number; what is longer is no frame number."""
ALL = "all"
"""The one sequence of samples without ids."""


class Named(NamedTuple):
    """What an id says besides its frame."""

    sequence: str
    subject: str = ""
    action: str = ""


@dataclass(frozen=True)
class Sequences:
    """Which sequence and frame every sample belongs to."""

    codes: Array
    """Index of the sequence by sample; sequences are numbered as they first appear."""
    frames: Array
    """Number of the frame by sample, or ``NO_FRAME``."""
    named: tuple[Named, ...]

    @cached_property
    def unnumbered(self) -> Array:
        """Which sequences hold a sample without a frame number: only the order of rows says what follows what."""
        found = np.zeros(len(self.named), dtype=bool)
        found[self.codes[self.frames == NO_FRAME]] = True
        return found

    @cached_property
    def _order(self) -> Array:
        return np.lexsort((np.where(self.unnumbered[self.codes], 0, self.frames), self.codes))

    def order(self) -> Array:
        """Return the samples by sequence, inside of it by frame; by place in the file where a frame is unknown."""
        return self._order

    def sorted_rows(self, content: Callable[[int], Any]) -> Array:
        """Return the rows by sequence, frame and ``content``, so that the order of the file decides nothing.

        Rows of a sequence without frame numbers stay in the order of the file: it is their order in time.
        """
        rows = self.order().copy()
        codes, frames = self.codes[rows], self.frames[rows]
        same = (np.diff(codes) == 0) & (np.diff(frames) == 0) & ~self.unnumbered[codes[1:]]
        starts = np.flatnonzero(~np.append(False, same))
        sizes = np.diff(starts, append=len(rows))
        for start, size in zip(starts[sizes > 1], sizes[sizes > 1], strict=True):
            rows[start : start + size] = sorted(rows[start : start + size].tolist(), key=content)
        return rows

    def take(self, rows: Array) -> Sequences:
        """Return the sequences of the samples in another order; sequences keep their numbers."""
        return Sequences(self.codes[rows], self.frames[rows], self.named)

    def repeated(self) -> Array:
        """Return how many samples of every sequence repeat the frame number of another one of it."""
        order = self.order()
        codes, frames = self.codes[order], self.frames[order]
        same = (np.diff(codes) == 0) & (np.diff(frames) == 0) & (frames[1:] != NO_FRAME)
        return np.bincount(codes[1:][same], minlength=len(self.named))


def find(ids: Sequence[str] | None, n: int, rule: str = "", preset: str = "") -> Sequences:
    """Return the sequences of n samples by their ids; without ids they are one."""
    if ids is None:
        return Sequences(np.zeros(n, dtype=np.int64), np.full(n, NO_FRAME), (Named(ALL),))
    pattern = _compiled(rule) if rule else PRESETS.get(preset)
    codes, frames = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    known: dict[Named, int] = {}
    if pattern is not None:
        for index, text in enumerate(ids):
            name, frames[index] = _by_rule(text, pattern, preset)
            codes[index] = known.setdefault(name, len(known))
        return Sequences(codes, frames, tuple(known))
    stems: dict[str, int] = {}
    tails: dict[str, int] = {}
    listed_codes, listed_frames = [], []
    for text in ids:  # a million ids: what stands before and after the last underscore repeats, and is looked at once
        stem, _, tail = text.rpartition("_")
        code, frame = stems.get(stem), tails.get(tail)
        if code is None or frame is None:
            numbered = tail.isascii() and tail.isdecimal() and len(tail) <= LONGEST
            name = _usual(text)
            code, frame = known.setdefault(name, len(known)), _trailing(text)
            if numbered:
                tails[tail] = frame
                if _usual(stem) == name:
                    stems[stem] = code
        listed_codes.append(code)
        listed_frames.append(frame)
    return Sequences(np.array(listed_codes, dtype=np.int64), np.array(listed_frames, dtype=np.int64), tuple(known))


def find_labels(labels: Sequence[str], rule: str = "", preset: str = "") -> Sequences:
    """Return the sequences of samples by their labels: rows of one label are one sequence, in their order.

    >>> find_labels(["S9_Eating_1", "S9_Eating_1", "S11_Posing"], preset="h36m").named[1]
    Named(sequence='S11_Posing', subject='S11', action='Posing')
    """
    pattern = _compiled(rule) if rule else PRESETS.get(preset)
    known: dict[str, int] = {}
    codes = np.array([known.setdefault(label, len(known)) for label in labels], dtype=np.int64)
    named = []
    for label in known:
        person = PERSON.search(label)
        stem = label[: person.start()] if person else label
        if pattern is not None:
            said = _by_rule(stem, pattern, preset)[0]
        else:
            found = USUAL.search(stem)
            said = Named("", f"p{found['subject']}", f"a{found['action']}") if found else Named("")
        named.append(said._replace(sequence=label))
    return Sequences(codes, np.full(len(labels), NO_FRAME), tuple(named))


def to_frames(values: Sequence[str], n: int) -> Array:
    """Return frame numbers that were written beside the samples; none where one of them is no whole number."""
    texts = [value.removesuffix(".0") for value in values]
    fine = len(texts) == n and all(t.isascii() and t.isdecimal() and len(t) <= LONGEST for t in texts)
    return np.array([int(text) for text in texts]) if fine else np.full(n, NO_FRAME)


def _compiled(rule: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(rule)
    except re.error as error:
        raise InputError(f"--group-by {shown(rule, 80)!r} is not a regular expression: {error}") from error
    if "sequence" not in pattern.groupindex:
        raise InputError(f"--group-by {shown(rule, 80)!r}: expected a named group (?P<sequence>...) in it")
    return pattern


def _by_rule(text: str, pattern: re.Pattern[str], preset: str = "") -> tuple[Named, int]:
    found = pattern.search(text)
    if preset and pattern is PRESETS[preset] and found is None:
        example = {"h36m": "S9_Walking_1", "3dpw": "downtown_arguing_00"}[preset]
        raise InputError(f"--id-preset {preset}: sample id {shown(text, 80)!r} is not written as {example}")
    if found is None or found["sequence"] is None:
        raise InputError(f"--group-by: sample id {shown(text, 80)!r} does not match; widen the expression")
    parts = found.groupdict()
    name = Named(parts["sequence"], parts.get("subject") or "", parts.get("action") or "")
    if "frame" not in parts:
        return name, _trailing(text)
    frame = parts["frame"] or ""
    return name, int(frame) if frame.isascii() and frame.isdecimal() and len(frame) <= LONGEST else NO_FRAME


def _usual(text: str) -> Named:
    found = USUAL.search(text)
    if found:
        return Named(found["sequence"], f"p{found['subject']}", f"a{found['action']}")
    return Named("_".join(text.split("_")[:2]))


def _trailing(text: str) -> int:
    digits = len(text) - len(text.rstrip("0123456789"))
    return int(text[-digits:]) if 0 < digits <= LONGEST else NO_FRAME


def make_roster(found: Sequence[Named], level: str = "") -> Roster:
    """Return who sequences are; groups are subjects where every sequence names one, or are called as ``level`` says."""
    subjects = [named.subject for named in found]
    actions = [named.action for named in found]
    level = level or ("subject" if all(subjects) else "sequence")
    ids = [named.sequence for named in found]
    if len(set(ids)) != len(ids):  # a rule of one's own may give one sequence name to several people or actions
        ids = ["/".join(filter(None, (named.subject, named.action, named.sequence))) for named in found]
    groups = tuple(ids) if level == "sequence" else tuple(subjects)
    tags = {"action": tuple(actions)} if all(actions) and len(set(actions)) > 1 else {}
    return Roster(tuple(join((name,)) for name in ids), groups, tags, level)
