"""Captions: what an annotator would write about a script, with the habits that captions have.

Segments are sub-tasks, of which long ones are cut in two; an action stands in the segment in which it begins and may
run past its end, so that the second half may have none. Ends of actions are sometimes early, lists of actions sometimes
missing, and frames are referred to by time (number or text), by name or by number. The last segment ends with a name
beyond the last frame, as in the published sample.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.body import SIDES
from gnomon.suites.episode.simulation.activities import VERBS
from gnomon.suites.episode.simulation.script import NOBODY, Act, Script

LONGEST = 240
"""Frames after which a segment is cut."""
SAMPLED = 40
"""Frames between pictures that the annotator looked at."""
_EARLY, _EMPTY = 0.35, 0.08
"""Share of actions that end early, and of segments whose actions are missing."""
_KINDS = ("time", "time as text", "name", "number")
_SHARES = (0.5, 0.25, 0.15, 0.1)


@dataclass(frozen=True, eq=False)
class _Seen:
    """An action in frames, both ends included."""

    act: Act
    first: int
    last: int


def caption(script: Script, times_ns: Array, frames: int, rng: np.random.Generator) -> bytes:
    """Return the caption of an episode as JSON.

    Parameters
    ----------
    script
        What happens.
    times_ns
        Of the frames of the video, ``(frames + 1,)``.
    frames
        Annotated frames.
    rng
        Source of the annotator's habits.
    """
    writer = _Annotator(script, times_ns, frames, rng)
    pieces = list(_pieces(_in_frames(script, times_ns, frames), frames))
    segments = [writer.segment(number, piece) for number, piece in enumerate(pieces)]
    config = {"total_frames": frames + 1, "Main Task": script.main_task}
    return json.dumps({"config": config, "segments": segments}, indent=1).encode("ascii")


def _in_frames(script: Script, times_ns: Array, frames: int) -> list[_Seen]:
    seconds = (times_ns[:frames] - times_ns[0]) / 1e9
    found = []
    for act in script.acts:
        first, after = np.searchsorted(seconds, [act.start, act.stop]).tolist()
        if after > first:
            found.append(_Seen(act, first, after - 1))
    return found


def _pieces(seen: list[_Seen], frames: int) -> Iterator[tuple[int, int, list[_Seen]]]:
    """Yield the segments: first and last frame, and the actions that begin there."""
    for _, group in groupby(seen, key=lambda one: one.act.subtask):
        whole = list(group)
        first, last = whole[0].first, min(whole[-1].last, frames - 1)
        cuts = [first, last + 1]
        if last + 1 - first > LONGEST:
            cuts.insert(1, first + 3 * (last + 1 - first) // 5)
        for low, high in pairwise(cuts):
            yield low, high - 1, [one for one in whole if low <= one.first < high]


@dataclass(frozen=True, eq=False)
class _Annotator:
    script: Script
    times_ns: Array
    frames: int
    rng: np.random.Generator

    def segment(self, number: int, piece: tuple[int, int, list[_Seen]]) -> dict[str, Any]:
        """Return one segment."""
        first, last, seen = piece
        sampled = list(range(first, last + 1, SAMPLED))
        end = f"frame_{self.frames + 1:07d}" if last == self.frames - 1 else self._time(last)
        return {
            "segment_id": number,
            "start_frame": self._time(first),
            "end_frame": end,
            "Sub Task": self.script.subtasks[self._act(first).subtask],
            "Current Action": self._actions(seen, number),
            "sampled_frames": {f"Image {k}": int(self.times_ns[frame]) for k, frame in enumerate(sampled, start=1)},
            "objects": self._changes(sampled, self._objects),
            "interaction": self._changes(sampled, self._interaction),
        }

    def _actions(self, seen: list[_Seen], number: int) -> list[dict[str, Any]]:
        if number and self.rng.random() < _EMPTY:
            return []
        found = []
        for one in seen:
            last = one.last
            if last - one.first > 16 and self.rng.random() < _EARLY:
                last -= int(self.rng.integers(2, 8))
            description = VERBS[one.act.verb].description.format(**_words(one.act))
            ends = {"start_frame": self._reference(one.first), "end_frame": self._reference(last)}
            found.append({"label": one.act.label, "description": description, **ends})
        return found

    def _changes(self, sampled: list[int], what: Callable[[int], Any]) -> dict[str, Any]:
        """Return what holds at sampled frames, where it differs from before."""
        found, before = {}, None
        for frame in sampled:
            now = what(frame)
            if now != before:
                found[self._time(frame)] = before = now
        return found

    def _objects(self, frame: int) -> list[str]:
        """Return what an action is about, and up to two more things that stand there."""
        act = self._act(frame)
        named = [name for name in (act.thing, act.target) if name]
        if act.verb in ("walk", "carry"):
            return named
        second = (self.times_ns[frame] - self.times_ns[0]) / 1e9
        there = []
        for name, stays in self.script.stays.items():
            stay = [stay for stay in stays if stay.start <= second][-1]
            if stay.hand == NOBODY and np.hypot(*(stay.point - act.point)[:2]) < 0.35:
                there.append(name)
        return list(dict.fromkeys([*named, *there[:2]])) or [act.place]

    def _interaction(self, frame: int) -> str:
        act = self._act(frame)
        sentences = VERBS[act.verb].interaction
        second = (self.times_ns[frame] - self.times_ns[0]) / 1e9
        share = (second - act.start) / (act.stop - act.start)
        return sentences[min(int(max(share, 0.0) * len(sentences)), len(sentences) - 1)].format(**_words(act))

    def _act(self, frame: int) -> Act:
        second = (self.times_ns[frame] - self.times_ns[0]) / 1e9
        return next((act for act in self.script.acts if act.start <= second < act.stop), self.script.acts[-1])

    def _time(self, frame: int) -> str:
        return str(int(self.times_ns[frame]))

    def _reference(self, frame: int) -> int | str:
        kind = self.rng.choice(_KINDS, p=_SHARES)
        if kind == "name":
            return f"frame_{frame:07d}"
        if kind == "number":
            return frame
        return self._time(frame) if kind == "time as text" else int(self.times_ns[frame])


def _words(act: Act) -> dict[str, str]:
    return {"thing": act.thing or "object", "target": act.target or "place", "hand": SIDES[act.hand]}
