"""What a run keeps of the samples of a task: how many there are of which kind, not which.

An outline is made of samples and takes their place, so that those of one episode can be let go before the next is read:
outlines of episodes add up to that of all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.core.errors import GnomonError
from gnomon.core.tallies import Array
from gnomon.suites.episode.tasks.declared import Task
from gnomon.suites.episode.tasks.splitting import PARTS, TEST, TRAIN
from gnomon.suites.episode.tasks.validity import entries
from gnomon.suites.episode.tasks.vocabulary import unseen

if TYPE_CHECKING:
    from gnomon.suites.episode.tasks.taskdata import TaskData

Cuts = Mapping[str, Mapping[str, int | None]]


@dataclass(frozen=True, eq=False)
class Outline:
    """The samples of one task in one variant, counted.

    Attributes
    ----------
    task, variant
        What is asked.
    episodes
        The episode of every segment that has a sample.
    tested
        Episodes with a test sample, in their order.
    ranked
        The test samples of a task that ranks them among one another, in their order; of others none.
    named
        By part: labels, or names of sets, and how often they occur.
    samples, dropped, clamped, cut, invalid
        For the record of a run: samples by part, windows that are no sample by reason, targets that were moved to the
        last frame, by episode where training ends and testing begins, and entries of targets.
    """

    task: Task
    variant: str
    episodes: Mapping[str, str]
    tested: tuple[str, ...]
    ranked: tuple[str, ...]
    named: Mapping[str, Mapping[str, int]]
    samples: Mapping[str, int]
    dropped: Mapping[str, int]
    clamped: int
    cut: Cuts
    invalid: Mapping[str, int]

    @staticmethod
    def of(data: TaskData) -> Outline:
        """Count samples."""
        train, test = data.of(TRAIN), data.of(TEST)
        tested = dict.fromkeys(data.episode[place] for place in test.tolist())
        ranked = tuple(data.ids[place] for place in test.tolist()) if data.task.kind == "retrieval" else ()
        total, invalid, as_values = entries(data)
        used = np.concatenate([train, test])
        return Outline(
            task=data.task,
            variant=data.variant,
            episodes=dict(zip(data.segment, data.episode, strict=True)),
            tested=tuple(tested),
            ranked=ranked,
            named={part: _named(data, data.of(part)) for part in PARTS},
            samples={part: len(data.of(part)) for part in PARTS},
            dropped=dict(data.dropped),
            clamped=int(data.clamped[used].sum()),
            cut=_cuts(data, train, test),
            invalid={
                "total": int(total[used].sum()),
                "invalid": int(invalid[used].sum()),
                "used": int(as_values[used].sum()),
            },
        )

    @staticmethod
    def added(parts: Sequence[Outline]) -> Outline:
        """Add up the outlines of a task in different episodes, in their order."""
        if not parts:
            raise GnomonError("no outline to add up: expected at least one")
        first = parts[0]
        if any((one.task, one.variant) != (first.task, first.variant) for one in parts):
            raise GnomonError("outlines of different tasks or variants do not add up")
        cut = {name: ends for one in parts for name, ends in one.cut.items()}
        if len(cut) < sum(len(one.cut) for one in parts):
            raise GnomonError(f"{first.task.name}: an episode is in several outlines, and would count twice")
        return Outline(
            task=first.task,
            variant=first.variant,
            episodes={segment: episode for one in parts for segment, episode in one.episodes.items()},
            tested=tuple(name for one in parts for name in one.tested),
            ranked=tuple(name for one in parts for name in one.ranked),
            named={part: _sum([one.named[part] for one in parts]) for part in PARTS},
            samples=_sum([one.samples for one in parts]),
            dropped=_sum([one.dropped for one in parts]),
            clamped=sum(one.clamped for one in parts),
            cut=cut,
            invalid=_sum([one.invalid for one in parts]),
        )

    @property
    def asked(self) -> int:
        """How many test samples there are."""
        return self.samples[TEST]

    @property
    def known(self) -> set[str]:
        """Labels and names that occur."""
        return {name for own in self.named.values() for name in own}

    @property
    def lacks(self) -> str:
        """Why the task cannot be trained and tested on these samples; empty where it can.

        Where a constant answer would be perfect, ``strict`` takes that for no question.
        """
        missing = [part for part in (TRAIN, TEST) if not self.samples[part]]
        if missing:
            return f"no sample to {' and '.join(missing)} on"
        if self.variant == "strict" and self.task.kind in ("label", "binary"):
            for part in (TRAIN, TEST):
                if len(self.named[part]) == 1:
                    return f"all {part} targets are {min(self.named[part])!r}, so that a constant answer is perfect"
        return ""

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The counts that a run records."""
        facts: dict[str, Any] = {
            "samples": dict(self.samples),
            "dropped": dict(self.dropped),
            "clamped": self.clamped,
            "cut": self.cut,
            "invalid": dict(self.invalid),
        }
        sets = self.task.kind == "multilabel"
        if sets or any(self.named.values()):
            facts |= unseen(self.named[TRAIN], self.named[TEST], "names" if sets else "samples")
        return facts


def _named(data: TaskData, places: Array) -> Mapping[str, int]:
    if data.task.kind == "multilabel":
        return dict(Counter(name for place in places.tolist() for name in data.sets[place]))
    return dict(Counter(data.labels[place] for place in places.tolist())) if data.labels else {}


def _sum(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Add counts up, key by key, in the order in which keys occur."""
    found: dict[str, int] = {}
    for one in counts:
        for key, count in one.items():
            found[key] = found.get(key, 0) + count
    return found


def _cuts(data: TaskData, train: Array, test: Array) -> Cuts:
    """Return, by episode, where what training samples read ends and where what test samples read begins."""
    first, last = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    ends, begins = np.full(len(data.recorded), last), np.full(len(data.recorded), first)
    np.maximum.at(ends, data.numbers[train], data.reads[train, 1])
    np.minimum.at(begins, data.numbers[test], data.reads[test, 0])
    return {
        name: {"train_ends": None if end == last else end, "test_begins": None if begin == first else begin}
        for name, end, begin in zip(data.recorded, ends.tolist(), begins.tolist(), strict=True)
    }
