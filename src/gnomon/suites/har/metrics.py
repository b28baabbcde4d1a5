"""The four metrics: which label a system answers with, how answers are matched with the truth, and what is counted.

Metrics
-------
zs-open
    Zero-shot: the best of all 87 training labels.
zs-closed
    Zero-shot over what the test dataset holds. A classifier is asked among the training labels whose group occurs in
    the dataset (its scores are masked); a text-aligned model among the dataset's own labels.
sup-1, sup-10
    Fine-tuned on 1 % or 10 % of the labelled windows of the dataset's own training part, tested on its test part, over
    the dataset's own labels.

Scorings
--------
``group``: truth and answer are mapped to their synonym group first. ``exact``: they must be the same label. ``native``
is the one that the protocol prescribes: group for zs-open and for zs-closed of classifiers, exact for zs-closed of
text-aligned models and for both supervised metrics. The other one is always there too, since systems with different
native scorings are not on a par.

Measures
--------
Accuracy, macro-F1 (0/0 is 0), the same over classes in truth, weighted F1, all as in
:mod:`gnomon.measures.classification`. Macro-F1 is over the classes that are published: the fixed list of the dataset's
labels where answers are scored by exact label natively, else the union of classes in truth and answer. A measure
belongs to one metric and one dataset, or is the plain mean over the main datasets: every dataset has the same weight
however large it is. They are shown in per cent and stored as shares.

The mean is a measure of its own (and not put together from the scores of datasets afterwards), so that a run has one
headline, and so that intervals, paired comparison and the gap between variants hold for it as for any other. Its
jackknife leaves one subject of one dataset out at a time; against the stratified one of
:mod:`gnomon.inference.composites` its variance is larger by at most about (G - 1) / G over (g - 1) / g, with g subjects
in the smallest dataset and G in all.

Undefined cases: no window of the dataset was scored under the metric; for a mean, of any of its datasets. Where answers
are missing, macro-F1 over the union of classes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, Scored, Shown
from gnomon.core.signals import Labels
from gnomon.core.tallies import Array, Field, Tallies, Totals
from gnomon.measures import averaging
from gnomon.measures.averaging import Average, ClassSet
from gnomon.measures.classification import F1, LAYOUT, Accuracy, missing_of, tally_cases

METRICS = ("zs-open", "zs-closed", "sup-1", "sup-10")
RATES: Mapping[str, float] = {"sup-1": 0.01, "sup-10": 0.1}
"""Share of the training part that is labelled."""
SCORINGS = ("native", "group", "exact")
Scoring = Literal["native", "group", "exact"]
PER_CENT = Shown(100.0, "%", 1)
TASK_LAYOUT = (*LAYOUT, Field("listed", ("class",)))
"""Counts by class, and whether a class is on the fixed list of the dataset (in every case that has a window)."""
DATASETS_LAYOUT = (
    Field("tp", ("dataset", "class")),
    Field("truth", ("dataset", "class")),
    Field("predicted", ("dataset", "class")),
    Field("n", ("dataset",)),
    Field("listed", ("dataset", "class")),
)
_TABLES = ("tp", "truth", "predicted", "listed")


def is_grouped(scoring: str, own: str) -> bool:
    """Tell whether a scoring compares synonym groups; ``own`` is the native one.

    >>> is_grouped("native", own="group"), is_grouped("exact", own="group")
    (True, False)
    """
    return (own if scoring == "native" else scoring) == "group"


def native(metric: str, text_aligned: bool) -> Scoring:
    """Return how the protocol scores a metric.

    >>> native("zs-closed", text_aligned=True), native("zs-closed", text_aligned=False)
    ('exact', 'group')
    """
    if metric not in METRICS:
        raise InputError(f"no task {metric!r}; there are {', '.join(METRICS)}")
    return "group" if metric == "zs-open" or (metric == "zs-closed" and not text_aligned) else "exact"


def best(scores: Array, labels: Sequence[str], allowed: Array | None = None) -> Array:
    """Return the allowed label with the largest score of every row ``(n, labels)``; of equal ones the first."""
    if allowed is not None:
        if not allowed.any():
            raise InputError("closed set: no training label is in a group of the dataset, so nothing can be answered")
        kept = np.flatnonzero(allowed)
        scores, labels = scores[:, kept], [labels[index] for index in kept.tolist()]
    names = np.array(labels, dtype=object)
    return np.asarray(names[scores.argmax(axis=1)]) if len(scores) else np.zeros(0, dtype=object)


def family(metric: str, datasets: Sequence[str], scoring: str) -> str:
    """Name the tallies that the measures of a metric on datasets share: letters, digits and underscores."""
    return "__".join(("har", metric.replace("-", "_"), *map(_plain, datasets), scoring))


def mean_family(metric: str, datasets: Sequence[str], scoring: str) -> str:
    """Name the tallies of the means over datasets."""
    return f"mean__{family(metric, datasets, scoring)}"


def _plain(name: str) -> str:
    """Return a name in letters, digits and underscores; one that has others gets a hash, so that none are confused."""
    slug = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return slug if slug == name else f"{slug}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def title(name: str, metric: str, dataset: str, scoring: str) -> str:
    """Name a measure: ``accuracy[sup-1 motionsense]``, ``exact_accuracy[...]``; without a dataset it is the mean."""
    own = name if scoring == "native" else f"{scoring}_{name}"
    return f"{own}[{metric}{' ' + dataset if dataset else ''}]"


def scored_as(name: str, metric: str, dataset: str, scoring: str) -> tuple[str, ...]:
    """Return the name that the table of scorings prints, with the task; nothing for native scoring.

    >>> scored_as("macro_f1_present", "sup-1", "motionsense", "group")
    ('macro_f1 in truth by group[sup-1 motionsense]',)
    """
    if scoring == "native":
        return ()
    how = "by group" if scoring == "group" else scoring
    return (f"{name.replace('_present', ' in truth')} {how}[{metric} {dataset}]",)


@dataclass(frozen=True)
class TaskAccuracy(Accuracy):
    """Accuracy under one metric on one dataset."""

    metric: str = "zs-open"
    dataset: str = ""
    scoring: Scoring = "native"
    layout: ClassVar[tuple[Field, ...]] = TASK_LAYOUT
    shown: ClassVar[Shown | None] = PER_CENT

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", family(self.metric, [self.dataset], self.scoring))

    @property
    def name(self) -> str:
        """Column key."""
        return title("accuracy", self.metric, self.dataset, self.scoring)

    @property
    def aliases(self) -> tuple[str, ...]:
        """As the table of scorings prints it."""
        return scored_as("accuracy", self.metric, self.dataset, self.scoring)

    def tally(self, truth: Labels, prediction: Labels) -> Tallies:
        """Count one case, without a fixed list."""
        return listed(super().tally(truth, prediction))

    def why(self, totals: Totals) -> str:
        """Only without windows."""
        del totals
        return "no window was scored"


@dataclass(frozen=True)
class TaskF1(F1):
    """F1 averaged over classes, under one metric on one dataset."""

    metric: str = "zs-open"
    dataset: str = ""
    scoring: Scoring = "native"
    layout: ClassVar[tuple[Field, ...]] = TASK_LAYOUT
    shown: ClassVar[Shown | None] = PER_CENT

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "family", family(self.metric, [self.dataset], self.scoring))

    @property
    def name(self) -> str:
        """Column key; the class set is part of it unless it is the published one."""
        own = f"{self.average}_f1{_suffix(self.classes)}"
        return title(own, self.metric, self.dataset, self.scoring)

    @property
    def aliases(self) -> tuple[str, ...]:
        """As the table of scorings prints it."""
        return scored_as(f"{self.average}_f1{_suffix(self.classes)}", self.metric, self.dataset, self.scoring)

    def tally(self, truth: Labels, prediction: Labels) -> Tallies:
        """Count one case, without a fixed list."""
        return listed(super().tally(truth, prediction))


@dataclass(frozen=True)
class _OverDatasets(Measure):
    """Base of the means over datasets: tallies have a row per dataset and class."""

    metric: str = "zs-open"
    datasets: tuple[str, ...] = ("",)
    scoring: Scoring = "native"
    signal: ClassVar[type] = Labels
    family: ClassVar[str] = "har"
    layout: ClassVar[tuple[Field, ...]] = DATASETS_LAYOUT
    shown: ClassVar[Shown | None] = PER_CENT

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", mean_family(self.metric, self.datasets, self.scoring))

    def tally(self, truth: Labels, prediction: Labels) -> Tallies:
        """Count one case of the first dataset."""
        if len(truth) != len(prediction):
            raise InputError(f"expected as many answers as truths, but got {len(prediction)} and {len(truth)}")
        counted = listed(tally_cases(truth, prediction, np.zeros(len(truth), dtype=np.int64), 1))
        return spread(counted, np.zeros(1, dtype=np.int64), self.datasets)

    def identities(self, tallies: Tallies, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Check that counts can come from one true and at most one answered class per window."""
        del ledgers
        fields, wrong = tallies.fields, []
        if (fields["tp"] > np.minimum(fields["truth"], fields["predicted"])).any():
            wrong.append("tp exceeds truth or predicted support")
        if (fields["truth"].sum(axis=2) != fields["n"]).any():
            wrong.append("truth supports do not sum to n")
        return wrong

    def count(self, totals: Totals) -> int:
        """Windows of all datasets."""
        return int(totals["n"].sum())

    def why(self, totals: Totals) -> str:
        """Name the datasets without a window."""
        empty = [name for name, n in zip(totals.axes["dataset"], totals["n"].tolist(), strict=True) if not n]
        return f"no window was scored of {', '.join(empty)}" if any(empty) else "no window was scored"

    def parts(self, totals: Totals) -> list[Totals]:
        """Return the totals of every dataset by itself."""
        axes = {"class": totals.axes["class"]}
        return [
            Totals({**{f: totals[f][..., d, :] for f in _TABLES}, "n": totals["n"][..., d]}, axes, totals.batch)
            for d in range(len(totals.axes["dataset"]))
        ]


def _mean(scored: Sequence[Scored]) -> Scored:
    values = np.mean([one.values for one in scored], axis=0)
    return Scored(np.asarray(values), np.asarray(np.all([one.defined for one in scored], axis=0)))


@dataclass(frozen=True)
class MeanAccuracy(_OverDatasets):
    """Mean over datasets of the accuracy under one metric."""

    title: ClassVar[str] = "mean accuracy"

    @property
    def name(self) -> str:
        """Column key."""
        return title("accuracy", self.metric, "", self.scoring)

    @property
    def aliases(self) -> tuple[str, ...]:
        """As the first table prints it."""
        return (f"{self.metric} acc",) if self.scoring == "native" else ()

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Average the ratios of hits to windows."""
        del frozen
        return _mean([Scored.ratio(part["tp"].sum(axis=-1), part["n"]) for part in self.parts(totals)])


@dataclass(frozen=True)
class MeanF1(_OverDatasets):
    """Mean over datasets of an averaged F1 under one metric."""

    average: Average = "macro"
    classes: ClassSet = "fixed"
    title: ClassVar[str] = "mean F1"

    def __post_init__(self) -> None:
        averaging.check(self.classes, 0, self.average)
        super().__post_init__()

    @property
    def name(self) -> str:
        """Column key; the class set is part of it unless it is the published one."""
        return title(f"{self.average}_f1{_suffix(self.classes)}", self.metric, "", self.scoring)

    @property
    def aliases(self) -> tuple[str, ...]:
        """As the first table prints it."""
        headline = (self.average, self.classes, self.scoring) == ("macro", "fixed", "native")
        return (f"{self.metric} F1",) if headline else ()

    def freeze(self, totals: Totals) -> Array:
        """Resolve the class set of every dataset on the whole, ``(datasets, classes)``."""
        return np.stack([averaging.freeze(self.classes, part) for part in self.parts(totals)])

    def support(self, totals: Totals, frozen: Array | None) -> Array | None:
        """Classes of a macro average with truth here, those of all datasets side by side."""
        if self.average != "macro":
            return None
        present = totals["truth"] > 0
        flat = present.reshape(*present.shape[:-2], -1)
        return np.asarray(flat if frozen is None else flat[..., frozen.ravel() > 0])

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Average over the classes of each dataset, then over datasets."""
        kept = [None] * len(totals.axes["dataset"]) if frozen is None else list(frozen)
        return self._averaged(totals, kept)

    def score_each(self, totals: Totals) -> Scored:
        """Average over the classes that each single subject has in truth, in every dataset."""
        return self._averaged(totals, [None] * len(totals.axes["dataset"]), single=True)

    @property
    def each_rule(self) -> str:
        """Which classes of a single subject a macro average is over."""
        return averaging.EACH_RULE if self.average == "macro" else ""

    def _averaged(self, totals: Totals, kept: Sequence[Array | None], *, single: bool = False) -> Scored:
        return _mean(
            [
                averaging.averaged("f1", self.average, part, own, self.classes, 0, missing_of(part), single=single)
                for part, own in zip(self.parts(totals), kept, strict=True)
            ]
        )

    def why(self, totals: Totals) -> str:
        """Name the datasets without a window, or the first that misses answers which no mean can count."""
        if totals["n"].all():
            for name, part in zip(totals.axes["dataset"], self.parts(totals), strict=True):
                if bool(averaging.depends_on_missing("f1", self.average, part, self.classes, missing_of(part))):
                    reason = averaging.why_undefined("f1", self.average, part, self.classes, missing_of(part))
                    return f"{name}: {reason}" if name else reason
        return super().why(totals)


def spread(counted: Tallies, dataset: Array, datasets: Sequence[str]) -> Tallies:
    """Give tallies by class an axis of datasets; ``dataset`` holds the place of every case among `datasets`."""
    rows, k = np.arange(counted.n_cases), len(counted.axes["class"])
    fields: dict[str, Array] = {}
    for name in _TABLES:
        fields[name] = np.zeros((counted.n_cases, len(datasets), k), dtype=np.int64)
        fields[name][rows, dataset] = counted.fields[name]
    fields["n"] = np.zeros((counted.n_cases, len(datasets)), dtype=np.int64)
    fields["n"][rows, dataset] = counted.fields["n"]
    return Tallies(DATASETS_LAYOUT, {"dataset": tuple(datasets), "class": counted.axes["class"]}, fields)


def none(n_cases: int) -> Tallies:
    """Return the tallies by class of cases of which nothing was scored."""
    empty: Array = np.zeros((n_cases, 0), dtype=np.int64)
    fields = {field.name: empty if field.axes else np.zeros(n_cases, dtype=np.int64) for field in TASK_LAYOUT}
    return Tallies(TASK_LAYOUT, {"class": ()}, fields)


def listed(counted: Tallies, labels: Sequence[str] = ()) -> Tallies:
    """Mark the classes that are on a fixed list, in every case that has a window; they have to be on the axis."""
    on = np.array([label in labels for label in counted.axes["class"]], dtype=np.int64)
    marks = np.minimum(counted.fields["n"], 1)[:, np.newaxis] * on
    return Tallies(TASK_LAYOUT, counted.axes, {**counted.fields, "listed": marks})


def _suffix(classes: ClassSet) -> str:
    return "" if classes == "fixed" else "_union" if classes == "union" else averaging.suffix(classes)


MEASURES: tuple[Measure, ...] = (
    TaskAccuracy("zs-open", "motionsense"),
    TaskF1("macro", "fixed", 0, "zs-open", "motionsense"),
    TaskF1("macro", "present", 0, "sup-1", "motionsense", "exact"),
    TaskF1("weighted", "fixed", 0, "sup-1", "motionsense"),
    MeanAccuracy("zs-open", ("motionsense",)),
    MeanF1("zs-open", ("motionsense",)),
    MeanF1("zs-closed", ("motionsense",), "group", "macro", "present"),
    MeanF1("sup-10", ("motionsense",), "native", "weighted"),
    MeanF1("sup-10", ("motionsense",), "native", "macro", "union"),
)
"""An example of every kind, so that runs can be read back."""
