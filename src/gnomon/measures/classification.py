"""Single-label classification: accuracy, precision, recall, F1, balanced accuracy, Cohen's kappa, confusion.

Every sample has one true class and one predicted class (or none: a missing prediction, counted as the wrong one that
costs the score most, so that a score never rises where a prediction is left out). A case keeps, per class, ``tp``,
``truth`` (support) and ``predicted``, and the number of samples ``n``; every score below is a ratio of their sums.

Conventions
-----------
- Labels are integers or text; ``truth, prediction`` in this order; rows of a confusion matrix are truth.
- The class set of a macro or weighted average is part of the measure: ``union`` of truth and
  prediction (the default, as in scikit-learn), ``present`` in truth, or an explicit list.
- ``zero_division`` names what 0/0 means for one class: 0 (default), 1, or ``None`` for "undefined".

Measures
--------
accuracy
    sum of tp / n.
macro / weighted / micro precision, recall, F1
    see :mod:`gnomon.measures.averaging`. With all classes, micro-F1 equals accuracy.
balanced accuracy
    mean recall over the classes that occur in truth (Brodersen et al., 2010).
kappa
    (p_o - p_e) / (1 - p_e), with p_o the accuracy and p_e = sum truth_c predicted_c / n^2 (Cohen, 1960). A missing
    prediction is taken for the most frequent true class in p_e.

Missing predictions
-------------------
They are ``n`` less the sum of ``predicted``. Recall and accuracy count them among the samples; precision and F1 of a
class count each as one more false positive of that class; averages, see :mod:`gnomon.measures.averaging`.

Undefined cases
---------------
No samples: everything. Missing predictions: macro averages over ``union``. One class only, in truth and in prediction:
kappa. ``present`` without any class that occurs:
its averages. Listed classes of which none occurs: weighted averages; the others are of 0/0 alone, which is
``zero_division``. Undefined is ``None`` with the reason under ``undefined``, never 0 and never NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, Scored
from gnomon.core.signals import NONE, Labels
from gnomon.core.tallies import Array, Field, Tallies, Totals, union
from gnomon.measures import averaging
from gnomon.measures.accumulate import Accumulator, score_function
from gnomon.measures.averaging import AnswerCounts, AveragedRatio, Kind, Missing, ZeroDivision

if TYPE_CHECKING:
    from gnomon.measures.plain import Pairs

LAYOUT = (Field("tp", ("class",)), Field("truth", ("class",)), Field("predicted", ("class",)), Field("n"))
MAX_CONFUSION = 4096
"""Above this number of classes a dense confusion matrix is not made."""


def tally_cases(truth: Labels, prediction: Labels, case: Array, n_cases: int) -> Tallies:
    """Tally many cases in one pass; ``case`` holds the case of each sample."""
    from gnomon.numerics.counting import class_counts

    classes = union([truth.classes, prediction.classes])
    true, predicted = truth.over(classes), prediction.over(classes)
    if true.size and int(true.min()) == NONE:
        raise InputError(f"truth of sample {int(np.argmin(true))} is missing: every sample needs a true class")
    counts = class_counts(true, predicted, case, len(classes), n_cases)
    n = np.bincount(case, minlength=n_cases)
    fields = dict(zip(("tp", "truth", "predicted"), counts, strict=True))
    return Tallies(LAYOUT, {"class": classes}, {**fields, "n": n})


def missing_of(totals: Totals) -> Missing:
    """Return how many samples have no predicted class."""
    return Missing(np.asarray(totals["n"] - totals["predicted"].sum(axis=-1)))


class ClassCounts(AnswerCounts):
    """Base of the measures over per-class counts."""

    signal: ClassVar[type] = Labels
    family: ClassVar[str] = "classification"
    layout: ClassVar[tuple[Field, ...]] = LAYOUT

    def tally(self, truth: Labels, prediction: Labels) -> Tallies:
        """Count one case."""
        if len(truth) != len(prediction):
            raise InputError(f"expected as many predictions as truths, but got {len(prediction)} and {len(truth)}")
        return tally_cases(truth, prediction, np.zeros(len(truth), dtype=np.int64), 1)

    def missing(self, totals: Totals) -> Missing:
        """Return how many samples have no predicted class."""
        return missing_of(totals)

    def identities(self, tallies: Tallies, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Check that counts can come from one true and at most one predicted class per sample."""
        fields, wrong = tallies.fields, []
        if (fields["tp"] > np.minimum(fields["truth"], fields["predicted"])).any():
            wrong.append("tp exceeds truth or predicted support")
        if (fields["truth"].sum(axis=1) != fields["n"]).any():
            wrong.append("truth supports do not sum to n")
        if (fields["predicted"].sum(axis=1) > fields["n"]).any():
            wrong.append("predicted supports exceed n")
        if "confusion" in ledgers and not _agree(tallies, ledgers["confusion"]):
            wrong.append("the confusion ledger does not sum to the tallies")
        return wrong


def _agree(tallies: Tallies, ledger: Ledger) -> bool:
    """Say whether a ledger of (case, truth, predicted, count) has the marginals that the tallies hold."""
    if any(tuple(ledger.labels[side]) != tallies.axes["class"] for side in ("truth", "predicted")):
        return False
    truth, predicted, count = (ledger.columns[name] for name in ("truth", "predicted", "count"))
    sums = {name: np.zeros_like(tallies.fields[name]) for name in ("tp", "truth", "predicted")}
    given, hit = predicted >= 0, predicted == truth
    np.add.at(sums["truth"], (ledger.case, truth), count)
    np.add.at(sums["predicted"], (ledger.case[given], predicted[given]), count[given])
    np.add.at(sums["tp"], (ledger.case[hit], truth[hit]), count[hit])
    return all(np.array_equal(sums[name], tallies.fields[name]) for name in sums)


@dataclass(frozen=True)
class Accuracy(ClassCounts):
    """Share of samples whose predicted class is the true one."""

    title: ClassVar[str] = "accuracy"

    @property
    def name(self) -> str:
        """Column key."""
        return "accuracy"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Hits over samples."""
        del frozen
        return Scored.ratio(totals["tp"].sum(axis=-1), totals["n"])


@dataclass(frozen=True)
class F1(AveragedRatio, ClassCounts):
    """F1, the harmonic mean of precision and recall, averaged over a class set."""

    title: ClassVar[str] = "F1"
    kind: ClassVar[Kind] = "f1"


@dataclass(frozen=True)
class Precision(AveragedRatio, ClassCounts):
    """Precision (of what was predicted as a class, the share that is right), averaged over a class set."""

    title: ClassVar[str] = "precision"
    kind: ClassVar[Kind] = "precision"


@dataclass(frozen=True)
class Recall(AveragedRatio, ClassCounts):
    """Recall (of what is truly of a class, the share that was found), averaged over a class set."""

    title: ClassVar[str] = "recall"
    kind: ClassVar[Kind] = "recall"


@dataclass(frozen=True)
class _OfClass(averaging.OfClass, ClassCounts):
    """Base of the ratios of one class.

    Parameters
    ----------
    zero_division
        ``0``: 0/0 counts as 0; ``1``: 0/0 counts as 1; ``None``: 0/0 is undefined.
    """

    label: str
    zero_division: ZeroDivision = 0
    kind: ClassVar[Kind]

    def __post_init__(self) -> None:
        averaging.check("union", self.zero_division)

    @property
    def name(self) -> str:
        """Column key."""
        return f"{self.kind}[{self.label}]"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Ratio of one class; where predictions are missing, each is a false positive of it."""
        del frozen
        top, bottom = (np.zeros(totals.batch), np.zeros(totals.batch))
        if self.label in totals.axes["class"]:
            index = totals.axes["class"].index(self.label)
            top, bottom = (counts[..., index] for counts in averaging.ratios(self.kind, totals))
        if self.kind != "recall":
            bottom = bottom + self.missing(totals).count
        scored = Scored.ratio(top, bottom)
        if self.zero_division is None:
            return scored
        values = np.where(scored.defined, scored.values, self.zero_division)
        return Scored(values, np.broadcast_to(totals["n"] > 0, values.shape))

    def why(self, totals: Totals) -> str:
        """The class does not occur."""
        if int(totals["n"]) == 0:
            return "no samples"
        side = {"f1": "truth or prediction", "precision": "prediction", "recall": "truth"}[self.kind]
        return f"class {self.label!r} does not occur in {side}"

    def count(self, totals: Totals) -> int:
        """True samples of the class."""
        axis = totals.axes["class"]
        return int(totals["truth"][axis.index(self.label)]) if self.label in axis else 0


@dataclass(frozen=True)
class ClassF1(_OfClass):
    """F1 of one class, the harmonic mean of its precision and recall."""

    title: ClassVar[str] = "F1 of a class"
    kind: ClassVar[Kind] = "f1"


@dataclass(frozen=True)
class ClassPrecision(_OfClass):
    """Precision of one class: of what was predicted as it, the share that is right."""

    title: ClassVar[str] = "precision of a class"
    kind: ClassVar[Kind] = "precision"


@dataclass(frozen=True)
class ClassRecall(_OfClass):
    """Recall of one class: of what is truly of it, the share that was found."""

    title: ClassVar[str] = "recall of a class"
    kind: ClassVar[Kind] = "recall"


@dataclass(frozen=True)
class BalancedAccuracy(ClassCounts):
    """Mean recall over the classes that occur in truth."""

    title: ClassVar[str] = "balanced accuracy"

    def freeze(self, totals: Totals) -> Array:
        """Classes in truth, on the whole."""
        return averaging.freeze("present", totals)

    def support(self, totals: Totals, frozen: Array | None) -> Array:
        """Classes with truth here."""
        return averaging.in_truth(totals, frozen)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Macro recall over classes in truth."""
        return averaging.averaged("recall", "macro", totals, frozen, "present", None)


@dataclass(frozen=True)
class Kappa(ClassCounts):
    """Agreement beyond what the same shares of labels would reach by chance, as a share of all that is beyond it."""

    title: ClassVar[str] = "Cohen's kappa"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """(n * hits - chance) / (n^2 - chance), free of intermediate rounding for whole counts."""
        del frozen
        n = np.asarray(totals["n"], dtype=np.float64)
        hits = totals["tp"].sum(axis=-1)
        chance = (totals["truth"].astype(np.float64) * totals["predicted"]).sum(axis=-1)
        # Kappa falls as chance rises: a missing prediction is taken for the class that raises it most.
        chance = chance + self.missing(totals).count * totals["truth"].max(axis=-1, initial=0)
        return Scored.ratio(n * hits - chance, n * n - chance)

    def why(self, totals: Totals) -> str:
        """No samples, or chance agreement is certain."""
        if int(totals["n"]) == 0:
            return "no samples"
        missing = int(self.missing(totals).count)
        also = f", or are missing ({missing})" if missing else ""
        return f"truth and prediction hold one and the same class only{also}"


MEASURES: tuple[Measure, ...] = (
    Accuracy(),
    F1("macro", "union"),
    F1("macro", "present"),
    F1("weighted"),
    F1("micro"),
    Precision("macro"),
    Precision("macro", "present", None),
    Recall("macro"),
    Recall("weighted"),
    BalancedAccuracy(),
    Kappa(),
    ClassF1("0"),
    ClassPrecision("0"),
    ClassRecall("0", None),
)


def evaluate(
    truth: Sequence[Any] | Array,
    prediction: Sequence[Any] | Array,
    *,
    classes: str | Sequence[Any] = "union",
    zero_division: ZeroDivision = 0,
) -> dict[str, Any]:
    """Score one set of predictions on plain labels.

    Parameters
    ----------
    truth, prediction
        Sequences or arrays of integers or of text, of equal length.
    classes
        Class set of the averages: ``union``, ``present``, or the labels themselves.
    zero_division
        Value of 0/0 for one class: 0, 1 or ``None`` (undefined).

    Returns
    -------
    dict
        ``accuracy``; ``{macro,weighted,micro}_{precision,recall,f1}``; ``balanced_accuracy``; ``kappa``;
        ``classes`` (labels of the class set, in order); ``per_class`` by label (``precision, recall, f1,
        support, predicted, tp``); ``confusion`` (rows truth, columns prediction, in the order of
        ``classes``); ``n``; ``undefined`` by name.

    Examples
    --------
    >>> result = evaluate(["walk", "walk", "sit", "sit"], ["walk", "sit", "sit", "sit"])
    >>> result["accuracy"], round(result["macro_f1"], 4), result["confusion"]
    (0.75, 0.7333, [[2, 0], [1, 1]])
    >>> evaluate([], [])["undefined"]["accuracy"]
    'no samples'
    """
    from gnomon.measures.plain import evaluate_labels

    return evaluate_labels(truth, prediction, classes=classes, zero_division=zero_division)


def accumulate(*, classes: str | Sequence[Any] = "union", zero_division: ZeroDivision = 0) -> Accumulator[Pairs]:
    """Score labels that come in parts; the options are those of :func:`evaluate`, which ``compute`` equals exactly.

    >>> stream = accumulate()
    >>> for truth, prediction in ((["walk", "walk"], ["walk", "sit"]), (["sit", "sit"], ["sit", "sit"])):
    ...     stream = stream.update(truth, prediction)
    >>> stream.compute()["accuracy"]
    0.75
    >>> stream.update(["run"], ["run"], groups="subject 7").compute_groups()["subject 7"]["accuracy"]
    1.0
    """
    from gnomon.measures.plain import accumulate_labels

    return accumulate_labels(classes=classes, zero_division=zero_division)


accuracy = score_function(evaluate, "accuracy", "Share of samples whose label is right.")
balanced_accuracy = score_function(evaluate, "balanced_accuracy", "Mean recall over the classes in truth.")
kappa = score_function(evaluate, "kappa", "Agreement beyond chance (Cohen's kappa).")
macro_f1 = score_function(evaluate, "macro_f1", "Mean F1 over the class set.")
macro_precision = score_function(evaluate, "macro_precision", "Mean precision over the class set.")
macro_recall = score_function(evaluate, "macro_recall", "Mean recall over the class set.")
weighted_f1 = score_function(evaluate, "weighted_f1", "Mean F1, each class weighted by its truth support.")
weighted_precision = score_function(evaluate, "weighted_precision", "Mean precision, weighted by truth support.")
weighted_recall = score_function(evaluate, "weighted_recall", "Mean recall, weighted by truth support.")
micro_f1 = score_function(evaluate, "micro_f1", "F1 of the summed counts of the class set.")
micro_precision = score_function(evaluate, "micro_precision", "Precision of the summed counts of the class set.")
micro_recall = score_function(evaluate, "micro_recall", "Recall of the summed counts of the class set.")
