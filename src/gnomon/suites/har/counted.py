"""What is counted of the answers to a task, however many they are: labels on both sides, facts and findings of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from gnomon.core.errors import some
from gnomon.core.evidence import Finding
from gnomon.suites.har.metrics import RATES, Scoring
from gnomon.suites.har.predictions import Answers
from gnomon.suites.har.vocabulary import LABELS, TEST_LABELS, asked_of, coverage, digest, group_of


@dataclass(frozen=True)
class Counted:
    """The windows of one metric and dataset, counted by true label and by answer; see :class:`Answers`."""

    metric: str
    dataset: str
    scoring: Scoring
    truth: dict[str, int]
    answers: dict[str, int]
    """An empty answer is none."""
    n_train: int | None = None
    classes: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(item: Answers) -> Counted:
        """Count answers."""
        return Counted(
            item.metric,
            item.dataset,
            item.scoring,
            _counts(item.truth),
            _counts(item.answers),
            item.n_train,
            tuple(item.classes),
            dict(item.facts),
        )

    @staticmethod
    def read(record: Mapping[str, Any]) -> Counted:
        """Read what :meth:`record` gave."""
        return msgspec.convert(record, Counted)

    def record(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def __len__(self) -> int:
        return sum(self.truth.values())

    def listed(self, scoring: str) -> tuple[str, ...]:
        """Return the fixed list of labels; none where the native scoring is by group, or groups are counted."""
        return self.classes if self.scoring == "exact" and scoring != "group" else ()


def _counts(texts: pa.Array) -> dict[str, int]:
    """Count texts; null is the empty one."""
    return {own["values"] or "": own["counts"] for own in texts.value_counts().to_pylist()}


def facts(tasks: Sequence[Counted], subjects: Sequence[int]) -> dict[str, Any]:
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


def _covered(task: Counted) -> dict[str, Any]:
    found = asdict(coverage(task.dataset, task.truth, asked_of(task.dataset, task.truth)))
    return {**found, "unmappable": list(found["unmappable"])}


def findings(tasks: Sequence[Counted], where: str, lost: int) -> tuple[Finding, ...]:
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


def _odd_answers(task: Counted, where: str) -> list[Finding]:
    """Find answers that cannot be right, whatever the window is."""
    known = {*LABELS, *(label for own in TEST_LABELS.values() for label in own), *task.truth, ""}
    groups = {group_of(label) for label in task.truth} | {group_of(label) for label in task.classes}
    told = []
    unknown = [label for label in task.answers if label not in known]
    if unknown:
        told.append((unknown, "labels that nobody knows"))
    if task.metric == "zs-closed" and task.scoring == "group":
        outside = [label for label in task.answers if label and label in known and group_of(label) not in groups]
        told.append((outside, "labels outside the closed set"))
    elif task.scoring == "exact":
        outside = [label for label in task.answers if label and label in known and label not in task.classes]
        told.append((outside, "labels that the dataset does not have"))
    found = []
    for labels, what in told:
        if labels:
            n = sum(task.answers[label] for label in labels)
            text = f"{task.metric} {task.dataset}: {n} of {len(task)} answers are {what}: {some(sorted(labels))}"
            found.append(Finding("impossible-answers", "warning", where, text, "check the spelling of the labels"))
    return found
