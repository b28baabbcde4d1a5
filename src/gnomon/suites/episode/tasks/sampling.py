"""Samples of a task, built from episodes: made in every one, put on a side of the split, and given a class list.

``published`` makes class lists and vocabularies from all samples, ``strict`` from training samples alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.suites.episode.tasks.auditing import quantities, samples
from gnomon.suites.episode.tasks.data import Recorded
from gnomon.suites.episode.tasks.declared import VARIANTS, Task
from gnomon.suites.episode.tasks.drafts import Draft, draft
from gnomon.suites.episode.tasks.splitting import (
    CHRONOLOGICAL,
    DISJOINT,
    EMBARGO,
    SEED,
    SPLITS,
    TEST,
    TRAIN,
    by_order,
    by_time,
    held_out,
)
from gnomon.suites.episode.tasks.taskdata import TaskData
from gnomon.suites.episode.tasks.vocabulary import classes_of, vocabulary_of

__all__ = ["TaskData", "build", "quantities", "samples"]


def build(
    task: Task,
    recorded: Sequence[Recorded],
    variant: str,
    split: str = CHRONOLOGICAL,
    *,
    embargo: int = EMBARGO,
    seed: int = SEED,
    test_episodes: Sequence[str] | None = None,
    held: Collection[str] | None = None,
) -> TaskData:
    """Return the samples of a task.

    Parameters
    ----------
    task
        One of the declared tasks.
    recorded
        The episodes; samples are in their order, and in time within each.
    variant
        ``published`` or ``strict``.
    split
        ``single_episode_chronological`` or ``episode_disjoint``.
    embargo
        Frames between the parts of a strict chronological split.
    seed
        Draws the test episodes of a disjoint split.
    test_episodes
        Names them instead.
    held
        The test episodes of a disjoint split, where they are known and only some of all episodes are given.
    """
    episodes = _episodes(recorded)
    for what, given, known in (("variant", variant, VARIANTS), ("split", split, SPLITS)):
        if given not in known:
            raise InputError(f"no {what} {given!r} of the tasks; there are {', '.join(known)}")
    if test_episodes is not None and split != DISJOINT:
        raise InputError(f"test episodes: only the split {DISJOINT} holds out episodes, but got {split}")
    if split == DISJOINT and held is None:
        held = held_out(list(episodes), seed, test_episodes)
    drafts = {name: draft(task, one, variant) for name, one in episodes.items()}
    part: list[str] = []
    for name, found in drafts.items():
        if split == DISJOINT and held is not None:
            part += [TEST if name in held else TRAIN] * len(found.rows)
        elif variant == "strict":
            part += by_time(found.reads, episodes[name].n_frames, embargo).tolist()
        else:
            part += by_order(found.units).tolist()
    return _joined(task, variant, episodes, drafts, part)


def _episodes(recorded: Sequence[Recorded]) -> dict[str, Recorded]:
    if not recorded:
        raise InputError("tasks: no episode; give at least one")
    counts = Counter(one.id for one in recorded)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise InputError(f"tasks: several episodes are called {some(twice)}; give each its own name")
    return {one.id: one for one in recorded}


def _joined(
    task: Task, variant: str, episodes: Mapping[str, Recorded], drafts: Mapping[str, Draft], part: list[str]
) -> TaskData:
    """Put the samples of all episodes one behind the other, with the class list and what is to be recorded."""
    found = list(drafts.values())
    labels = tuple(label for one in found for label in one.labels)
    sets = tuple(names for one in found for names in one.sets)
    ids, segments = _names(task, episodes, drafts)
    chosen = [place for place, own in enumerate(part) if variant == "published" or own == TRAIN]
    listed = task.kind in ("label", "multilabel")
    input_range = np.concatenate([one.input_range for one in found])
    target_range = np.concatenate([one.target_range for one in found])
    return TaskData(
        task=task,
        variant=variant,
        ids=ids,
        episode=tuple(name for name, one in drafts.items() for _ in range(len(one.rows))),
        segment=segments,
        input_range=input_range,
        target_range=target_range,
        part=tuple(part),
        rows=np.concatenate([one.rows for one in found]),
        labels=labels,
        sets=sets,
        classes=_classes(task, labels, sets, chosen) if listed else task.classes,
        fitted_on=tuple(ids[place] for place in chosen) if listed else (),
        clamped=(target_range[:, 1] - input_range[:, 1] < task.horizon) & (task.horizon > 0),
        dropped=dict(sum((Counter(one.dropped) for one in found), Counter[str]())),
        recorded=episodes,
    )


def _names(
    task: Task, episodes: Mapping[str, Recorded], drafts: Mapping[str, Draft]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the id and the segment of every sample, which are those of the earlier window of a pair."""
    ids: list[str] = []
    segments: list[str] = []
    for name, found in drafts.items():
        first = found.rows.min(axis=1) if task.kind == "pair" else found.rows
        ends = [f"/{label}" for label in found.labels] if task.kind == "pair" else [""] * len(first)
        begins = episodes[name].windows[first].tolist()
        ids += [f"{name}/{begin}{end}" for begin, end in zip(begins, ends, strict=True)]
        segments += [episodes[name].segments[row] for row in first.tolist()]
    return tuple(ids), tuple(segments)


def _classes(
    task: Task, labels: Sequence[str], sets: Sequence[frozenset[str]], chosen: Sequence[int]
) -> tuple[str, ...]:
    if task.kind == "label":
        return classes_of(labels[place] for place in chosen)
    return vocabulary_of(sets[place] for place in chosen)
