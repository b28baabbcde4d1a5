"""Multi-label classification: any number of classes per sample.

A case keeps, per class, ``tp``, ``truth``, ``predicted`` and ``unanswered``, the samples of the class that have no
predicted set; the number of samples ``n`` and of those without a predicted set ``missing``; and ``exact``, the number
of samples whose predicted set equals the true set (two empty sets are equal).

Conventions
-----------
- Truth and prediction are sequences of collections of labels (``{"cup", "hand"}``), or boolean / 0-1
  arrays ``(n, classes)`` with the labels given.
- Class sets and ``zero_division`` as in :mod:`gnomon.measures.averaging`.
- An empty set is an answer. A sample without a set counts as the wrong one that costs most: without its true classes,
  with every other class, and never as an exact match. So a score never rises where a set is left out.

Measures
--------
micro / macro / weighted precision, recall, F1 over classes; exact match ratio = exact / n.

Undefined cases
---------------
No samples: everything. Missing sets: macro averages over ``union``, and micro precision and F1 over it, as a set could
name any number of other labels. No label in truth or prediction at all: the averages (an exact match of empty sets
is still counted), but a macro average over listed classes, which is of 0/0 alone: ``zero_division``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, Scored, score_by_name
from gnomon.core.signals import LabelSets
from gnomon.core.tallies import Array, Field, Tallies, Totals, natural_key, union
from gnomon.measures.accumulate import Accumulator, add_tallies, score_function
from gnomon.measures.averaging import AnswerCounts, Average, AveragedRatio, ClassSet, Kind, Missing, ZeroDivision
from gnomon.numerics.foreign import to_native

AVERAGES: tuple[Average, ...] = ("micro", "macro", "weighted")
LAYOUT = (
    Field("tp", ("class",)),
    Field("truth", ("class",)),
    Field("predicted", ("class",)),
    Field("unanswered", ("class",)),
    Field("exact"),
    Field("missing"),
    Field("n"),
)


def tally_cases(truth: LabelSets, prediction: LabelSets, case: Array, n_cases: int) -> Tallies:
    """Tally many cases in one pass; ``case`` holds the case of each sample."""
    classes = union([truth.classes, prediction.classes])
    true, predicted = truth.over(classes), prediction.over(classes)
    given = np.ones(len(true), dtype=np.bool_) if prediction.given is None else prediction.given
    if truth.given is not None and not truth.given.all():
        raise InputError(f"truth of sample {int(np.argmin(truth.given))} is missing: every sample needs a true set")
    counts = {}
    sides = {"tp": true & predicted, "truth": true, "predicted": predicted, "unanswered": true & ~given[:, np.newaxis]}
    for name, member in sides.items():
        rows, columns = np.nonzero(member)
        flat = np.bincount(case[rows] * len(classes) + columns, minlength=n_cases * len(classes))
        counts[name] = flat.reshape(n_cases, len(classes))
    counts["exact"] = np.bincount(case[given & (true == predicted).all(axis=1)], minlength=n_cases)
    counts["missing"] = np.bincount(case[~given], minlength=n_cases)
    counts["n"] = np.bincount(case, minlength=n_cases)
    return Tallies(LAYOUT, {"class": classes}, counts)


class SetCounts(AnswerCounts):
    """Base of the measures over label sets."""

    signal: ClassVar[type] = LabelSets
    family: ClassVar[str] = "multilabel"
    layout: ClassVar[tuple[Field, ...]] = LAYOUT

    def tally(self, truth: LabelSets, prediction: LabelSets) -> Tallies:
        """Count one case."""
        if len(truth) != len(prediction):
            raise InputError(f"expected as many predictions as truths, but got {len(prediction)} and {len(truth)}")
        return tally_cases(truth, prediction, np.zeros(len(truth), dtype=np.int64), 1)

    def missing(self, totals: Totals) -> Missing | None:
        """Return how many samples have no set, and of which classes each of them is a false positive.

        Runs of older versions do not tell.
        """
        if "missing" not in totals.fields:
            return None
        count = np.asarray(totals["missing"])
        return Missing(count, count[..., np.newaxis] - totals["unanswered"])

    def identities(self, tallies: Tallies, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Check that counts can come from sets of labels."""
        del ledgers
        fields, wrong = tallies.fields, []
        if (fields["tp"] > np.minimum(fields["truth"], fields["predicted"])).any():
            wrong.append("tp exceeds truth or predicted support")
        if (np.maximum(fields["truth"], fields["predicted"]) > fields["n"][:, np.newaxis]).any():
            wrong.append("a class occurs more often than there are samples")
        if (fields["exact"] > fields["n"]).any():
            wrong.append("more exact matches than samples")
        if "missing" in fields and (
            (fields["missing"] > fields["n"]).any()
            or (fields["unanswered"] > np.minimum(fields["truth"], fields["missing"][:, np.newaxis])).any()
        ):
            wrong.append("more missing sets than samples")
        return wrong


@dataclass(frozen=True)
class SetF1(AveragedRatio, SetCounts):
    """F1 of pairs of sample and label, averaged over a class set."""

    title: ClassVar[str] = "F1"
    kind: ClassVar[Kind] = "f1"


@dataclass(frozen=True)
class SetPrecision(AveragedRatio, SetCounts):
    """Precision of pairs of sample and label: of those predicted, the share that is true."""

    title: ClassVar[str] = "precision"
    kind: ClassVar[Kind] = "precision"


@dataclass(frozen=True)
class SetRecall(AveragedRatio, SetCounts):
    """Recall of pairs of sample and label: of those that are true, the share that was found."""

    title: ClassVar[str] = "recall"
    kind: ClassVar[Kind] = "recall"


@dataclass(frozen=True)
class ExactMatch(SetCounts):
    """Share of samples whose predicted set equals the true set."""

    title: ClassVar[str] = "exact match"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Exact matches over samples."""
        del frozen
        return Scored.ratio(totals["exact"], totals["n"])


MEASURES: tuple[Measure, ...] = (
    SetF1("micro"),
    SetF1("macro"),
    SetF1("weighted", "present"),
    SetPrecision("macro"),
    SetRecall("macro", "present", None),
    ExactMatch(),
)


def label_sets(values: Sequence[Collection[str]]) -> LabelSets:
    """Turn collections of labels into a membership table.

    >>> label_sets([{"b"}, {"a", "b"}, set()]).classes
    ('a', 'b')
    """
    if (
        not isinstance(values, Sequence)
        or isinstance(values, str)
        or not all(isinstance(item, Collection) and not isinstance(item, str) for item in values)
    ):
        raise InputError("expected a collection of labels per sample, but got plain text: wrap each in a list")
    classes = sorted({_text(label) for item in values for label in item}, key=natural_key)
    place = {label: index for index, label in enumerate(classes)}
    members = np.zeros((len(values), len(classes)), dtype=np.bool_)
    for row, item in enumerate(values):
        members[row, [place[_text(label)] for label in item]] = True
    return LabelSets(members, tuple(classes))


def _text(label: object) -> str:
    if isinstance(label, (str, int, np.integer)) and not isinstance(label, bool):
        return str(label)
    raise InputError(f"expected integers or text as labels, but got {label!r}")


def evaluate(
    truth: Sequence[Collection[str]] | Array,
    prediction: Sequence[Collection[str]] | Array,
    *,
    labels: Sequence[str] | None = None,
    classes: str | Sequence[str] = "union",
    zero_division: ZeroDivision = 0,
) -> dict[str, Any]:
    """Score multi-label predictions: collections of labels, or 0-1 arrays ``(n, classes)``.

    >>> evaluate([{"a"}, {"a", "b"}], [{"a"}, {"b"}])["micro_f1"]
    0.8
    """
    return _finish(_step(None, truth, prediction, labels=labels), classes=classes, zero_division=zero_division)


def accumulate(
    *,
    labels: Sequence[str] | None = None,
    classes: str | Sequence[str] = "union",
    zero_division: ZeroDivision = 0,
) -> Accumulator[Tallies]:
    """Score sets of labels that come in parts; the options are those of :func:`evaluate`.

    >>> accumulate().update([{"a"}], [{"a"}]).update([{"a", "b"}], [{"b"}]).compute()["micro_f1"]
    0.8
    """
    finish = partial(_finish, classes=classes, zero_division=zero_division)
    finish(_step(None, [], []))  # refuses options now, not at the end of the stream
    return Accumulator(partial(_step, labels=labels), finish)


def _step(state: Tallies | None, truth: Any, prediction: Any, *, labels: Sequence[str] | None = None) -> Tallies:
    """Count a part, and add it to the parts before it."""
    true, predicted = _sets(truth, labels, "truth"), _sets(prediction, labels, "prediction")
    return add_tallies(state, ExactMatch().tally(true, predicted))


def _finish(state: Tallies, *, classes: Any, zero_division: Any) -> dict[str, Any]:
    class_set: ClassSet = classes if isinstance(classes, str) else tuple(map(_text, classes))
    measures: dict[str, Measure] = {
        f"{average}_{kind.kind}": kind(average, class_set, zero_division)
        for kind in (SetF1, SetPrecision, SetRecall)
        for average in AVERAGES
    }
    totals = state.total()
    undefined: dict[str, str] = {}
    found = score_by_name({**measures, "exact_match": ExactMatch()}, totals, undefined)
    return {**found, "n": int(totals["n"]), "undefined": undefined}


exact_match = score_function(evaluate, "exact_match", "Share of samples whose predicted set equals the true set.")
micro_f1 = score_function(evaluate, "micro_f1", "F1 of all pairs of sample and label.")
micro_precision = score_function(evaluate, "micro_precision", "Precision of all pairs of sample and label.")
micro_recall = score_function(evaluate, "micro_recall", "Recall of all pairs of sample and label.")
macro_f1 = score_function(evaluate, "macro_f1", "Mean F1 over the class set.")
macro_precision = score_function(evaluate, "macro_precision", "Mean precision over the class set.")
macro_recall = score_function(evaluate, "macro_recall", "Mean recall over the class set.")
weighted_f1 = score_function(evaluate, "weighted_f1", "Mean F1, each class weighted by its truth support.")
weighted_precision = score_function(evaluate, "weighted_precision", "Mean precision, weighted by truth support.")
weighted_recall = score_function(evaluate, "weighted_recall", "Mean recall, weighted by truth support.")


def _sets(values: Sequence[Collection[str]] | Array, labels: Sequence[str] | None, side: str) -> LabelSets:
    values = to_native(values, side)
    if not isinstance(values, np.ndarray) or values.dtype.kind == "O":  # a column of lists
        return label_sets(values if isinstance(values, Sequence) else values.tolist())
    if values.ndim != 2 or not np.isin(values, (0, 1)).all():
        raise InputError(f"{side}: expected a 0-1 array (n, classes), but got {values.dtype} {values.shape}")
    names = tuple(map(str, range(values.shape[1]))) if labels is None else tuple(labels)
    if len(names) != values.shape[1]:
        raise InputError(f"{side}: expected {values.shape[1]} labels, but got {some(names)}")
    return LabelSets(values.astype(np.bool_), names)
