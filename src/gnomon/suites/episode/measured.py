"""Measures of the twelve tasks: those of :mod:`gnomon.measures`, each of one task, under the published names.

``macro_f1`` averages over the classes that occur in the truth of the test part, as published; ``macro_f1_union`` over
those in truth or answers. ``f1`` is that of the positive class. ``r2`` pools all dimensions unscaled, as published;
``r2_mean`` is the mean over dimensions. ``mrr`` and ``topK_accuracy`` are means over the order of ties; optimistic and
pessimistic ones stand beside them.

All tasks share the cases of a run (annotated segments); tallies are kept by task, so that each score rests on the
segments in which its task has test samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.core.measure import Measure
from gnomon.core.tallies import Totals
from gnomon.measures.classification import F1, Accuracy, ClassF1
from gnomon.measures.multilabel import ExactMatch, SetF1
from gnomon.measures.regression import R2, Mae, R2PerDimension
from gnomon.measures.retrieval import MedianRank, Mrr, TopK
from gnomon.measures.tasks import family, named
from gnomon.measures.trajectories import FinalError, TrajectoryError
from gnomon.suites.episode.tasks.declared import TASKS, Task

LABELS, SETS = "episode_labels", "episode_sets"
_UNION = {"present": "", "union": "_union"}


@dataclass(frozen=True)
class EpisodeAccuracy(Accuracy):
    """Accuracy of a task."""

    task: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", family(LABELS, self.task))

    @property
    def name(self) -> str:
        """Column key."""
        return named("accuracy", self.task)


@dataclass(frozen=True)
class EpisodeF1(F1):
    """F1 of a task, averaged over classes."""

    classes: str = "present"
    task: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "family", family(LABELS, self.task))

    @property
    def name(self) -> str:
        """Column key; the class set is part of it unless it is the published one."""
        return named(f"{self.average}_f1{_UNION[str(self.classes)]}", self.task)


@dataclass(frozen=True)
class EpisodeClassF1(ClassF1):
    """F1 of one class of a task."""

    task: str = ""
    called: str = "f1"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "family", family(LABELS, self.task))

    @property
    def name(self) -> str:
        """Column key."""
        return named(self.called, self.task)

    def count(self, totals: Totals) -> int:
        """All samples, as beside the other scores of the task."""
        return int(totals["n"])


@dataclass(frozen=True)
class EpisodeSetF1(SetF1):
    """F1 of the sets of a task, averaged over labels."""

    classes: str = "present"
    task: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "family", family(SETS, self.task))

    @property
    def name(self) -> str:
        """Column key; micro-F1 is over all labels, and macro-F1 says so where it is not over those in truth."""
        return named(f"{self.average}_f1{'' if self.average == 'micro' else _UNION[str(self.classes)]}", self.task)


@dataclass(frozen=True)
class EpisodeExactMatch(ExactMatch):
    """Share of the sets of a task that are exactly right."""

    task: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", family(SETS, self.task))

    @property
    def name(self) -> str:
        """Column key."""
        return named("exact_match", self.task)


def of_task(task: Task) -> tuple[Measure, ...]:
    """Return the measures of a task, its headline first."""
    name = task.name
    if task.kind in ("label", "binary", "pair"):
        averages = (EpisodeF1("macro", "present", 0, name), EpisodeAccuracy(name), EpisodeF1("macro", "union", 0, name))
        if task.kind == "label":
            return averages
        called = "boundary_f1" if "boundary_f1" in task.also else "f1"
        positive = EpisodeClassF1(task.classes[1], 0, name, called)
        return (positive, *averages) if task.metric == "f1" else (averages[0], positive, *averages[1:])
    if task.kind == "multilabel":
        kinds = (("micro", "union"), ("macro", "present"), ("macro", "union"))
        return (*(EpisodeSetF1(average, over, 0, name) for average, over in kinds), EpisodeExactMatch(name))  # type: ignore[arg-type]
    if task.kind == "retrieval":
        tops = {k: TopK(task=name, k=k) for k in (1, 5, 10)}
        first, second = (Mrr(task=name), tops[5]) if task.metric == "mrr" else (tops[5], Mrr(task=name))
        bounds = (Mrr(task=name, form="optimistic"), Mrr(task=name, form="pessimistic"))
        return (first, second, tops[1], tops[10], MedianRank(task=name), *bounds)
    if task.metric == "mpjpe":
        return (TrajectoryError(name), FinalError(name), R2(name), R2PerDimension(name))
    return (R2(name), R2PerDimension(name), Mae(name))


def measures(tasks: Sequence[str]) -> tuple[Measure, ...]:
    """Return the measures of some tasks: all headlines first, then the others task by task."""
    own = [of_task(TASKS[name]) for name in tasks]
    return (*(one[0] for one in own), *(measure for one in own for measure in one[1:]))


MEASURES: tuple[Measure, ...] = (
    EpisodeAccuracy("timeline_action"),
    EpisodeF1("macro", "present", 0, "timeline_action"),
    EpisodeF1("macro", "union", 0, "next_action"),
    EpisodeClassF1("forward", 0, "temporal_order"),
    EpisodeClassF1("boundary", 0, "transition_detection", "boundary_f1"),
    EpisodeSetF1("micro", "union", 0, "object_relevance"),
    EpisodeSetF1("macro", "present", 0, "object_relevance"),
    EpisodeExactMatch("object_relevance"),
)
"""An example of every kind, so that runs can be read back."""
