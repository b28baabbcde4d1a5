"""Labels of a task, counted on both sides, and the facts and findings that follow from the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec
import pyarrow as pa

from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.core.tallies import natural_key
from gnomon.suites.har.metrics import RATES, Scoring, is_grouped
from gnomon.suites.har.predictions import Answers
from gnomon.suites.har.vocabulary import LABELS, TEST_LABELS, asked_of, coverage, digest, group_of


@dataclass(frozen=True)
class TaskCounts:
    """The windows of one metric and dataset, counted by true label and by answer; see :class:`Answers`."""

    metric: str
    dataset: str
    scoring: Scoring
    truth: dict[str, int]
    answers: dict[str, int]
    """An empty answer is none."""
    n_train: int | None = None
    labels: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(item: Answers) -> TaskCounts:
        """Count answers."""
        return TaskCounts(
            item.metric,
            item.dataset,
            item.scoring,
            _counts(item.truth),
            _counts(item.answers),
            item.n_train,
            tuple(sorted(item.labels)),
            dict(item.facts),
        )

    @staticmethod
    def read(record: Mapping[str, Any]) -> TaskCounts:
        """Read what :meth:`record` gave."""
        return msgspec.convert(record, TaskCounts)

    def record(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def __len__(self) -> int:
        return sum(self.truth.values())

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels that may be answered where answers are scored by exact label: those of the dataset."""
        return asked_of(self.dataset, self.labels)

    def listed(self, scoring: str) -> tuple[str, ...]:
        """Return the fixed list of labels; none where the native scoring is by group, or groups are counted."""
        return self.classes if self.scoring == "exact" and scoring != "group" else ()

    def true_classes(self, scoring: str) -> tuple[str, ...]:
        """Return the classes in truth, as a scoring counts them: labels or their groups."""
        grouped = is_grouped(scoring, self.scoring)
        return tuple(sorted({group_of(label) if grouped else label for label in self.truth}))


def _counts(texts: pa.Array) -> dict[str, int]:
    """Count texts; null is the empty one."""
    return {own["values"] or "": own["counts"] for own in texts.value_counts().to_pylist()}


def merge_counts(counts: Sequence[TaskCounts], where: str) -> list[TaskCounts]:
    """Add up the counts of every metric and dataset, in their natural order; ``where`` is for messages."""
    found: dict[tuple[str, str], list[TaskCounts]] = {}
    for one in counts:
        found.setdefault((one.metric, one.dataset), []).append(one)
    ordered = sorted(found, key=lambda task: tuple(map(natural_key, task)))
    return [_merge_task(found[task], where) for task in ordered]


def _merge_task(counts: Sequence[TaskCounts], where: str) -> TaskCounts:
    first, truth, answers = counts[0], Counter[str](), Counter[str]()
    for one in counts:
        truth.update(one.truth)
        answers.update(one.answers)
    trained = {one.n_train for one in counts if one.answers.keys() - {""} or one.n_train is not None}
    if len(trained) > 1:
        raise InputError(
            f"{where}: {first.metric} {first.dataset}: 'n_train' is not the same in all shards "
            f"({some(map(str, trained))}); give one number"
        )
    return replace(
        first,
        truth=dict(truth),
        answers=dict(answers),
        n_train=next(iter(trained), None),
        labels=tuple(sorted({label for one in counts for label in one.labels})),
    )


def describe_tasks(tasks: Sequence[TaskCounts], subjects: Sequence[int]) -> dict[str, Any]:
    """Return what the answers themselves tell: windows, subjects, coverage of labels, ceilings."""
    entries = {
        f"{task.metric} {task.dataset}": {
            "n": len(task),
            "n_train": task.n_train,
            "subjects": people,
            "scoring": task.scoring,
            **task.facts,
        }
        for task, people in zip(tasks, subjects, strict=True)
    }
    supervised = [people for task, people in zip(tasks, subjects, strict=True) if task.metric in RATES]
    zero = [people for task, people in zip(tasks, subjects, strict=True) if task.metric not in RATES]
    return {
        "vocabulary": digest(),
        "tasks": entries,
        "coverage": {task.dataset: _covered(task) for task in tasks},
        "least_groups": min(supervised, default=0),
        "least_zero_shot_groups": min(zero, default=0),
    }


def _covered(task: TaskCounts) -> dict[str, Any]:
    found = asdict(coverage(task.dataset, task.truth, asked_of(task.dataset, task.truth)))
    return {**found, "unmappable": list(found["unmappable"])}


def find_faults(tasks: Sequence[TaskCounts], where: str, lost: int) -> tuple[Finding, ...]:
    """Find windows without an answer, true labels of another dataset, and answers that cannot be right."""
    found = []
    if lost:
        text = f"{lost} windows have no prediction and are counted as wrong"
        found.append(Finding("missing-predictions", "warning", where, text, "predict every window"))
    odd = sorted(
        {label for task in tasks for label in task.truth if label not in TEST_LABELS.get(task.dataset, (label,))}
    )
    if odd:
        text = f"{len(odd)} true labels are not labels of their dataset: {some(odd)}"
        found.append(
            Finding("labels-of-another-set", "warning", where, text, "check names against gnomon data describe")
        )
    return (*found, *(finding for task in tasks for finding in _odd_answers(task, where)))


def _odd_answers(task: TaskCounts, where: str) -> list[Finding]:
    """Find answers that cannot be right, whatever the window is."""
    known = {*LABELS, *(label for own in TEST_LABELS.values() for label in own), *task.truth, ""}
    classes = set(task.classes)
    groups = {group_of(label) for label in {*task.truth, *classes}}
    told = []
    unknown = [label for label in task.answers if label not in known]
    if unknown:
        told.append((unknown, "labels that nobody knows"))
    if task.metric == "zs-closed" and task.scoring == "group":
        outside = [label for label in task.answers if label and label in known and group_of(label) not in groups]
        told.append((outside, "labels outside the closed set"))
    elif task.scoring == "exact":
        outside = [label for label in task.answers if label and label in known and label not in classes]
        told.append((outside, "labels that the dataset does not have"))
    found = []
    for labels, what in told:
        if labels:
            n = sum(task.answers[label] for label in labels)
            text = f"{task.metric} {task.dataset}: {n} of {len(task)} answers are {what}: {some(sorted(labels))}"
            found.append(Finding("impossible-answers", "warning", where, text, "check the spelling of the labels"))
    return found
