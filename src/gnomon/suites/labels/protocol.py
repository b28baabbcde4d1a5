"""The protocol of ``labels``: macro-F1 first, then what a reader of a classification table expects."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.core.evidence import NOT_TRAINED_ON, Claim, Need
from gnomon.core.measure import Measure
from gnomon.core.protocol import Protocol
from gnomon.measures import classification as single
from gnomon.measures import multilabel as multi
from gnomon.measures.averaging import ClassSet, ZeroDivision

FIRST_TABLE = ("macro_f1", "accuracy", "weighted_f1", "balanced_accuracy", "kappa")
"""The metrics that the first table shows unless ``--metrics`` names others."""
FIRST_TABLE_OF_SETS = ("micro_f1", "macro_f1", "exact_match", "micro_precision", "micro_recall")
"""The same where a row has a set of labels."""
MAX_PER_CLASS = 500
"""Above this many classes no per-class scores are derived."""

CLAIMS = (
    Claim(
        "new-groups",
        "the scores describe groups that are not in the data",
        (Need("groups", 6, "at least 6 groups to resample"), NOT_TRAINED_ON),
    ),
    Claim(
        "every-class",
        "the scores describe every class that was to be recognised",
        (Need("least_class_groups", 2, "every class in at least 2 groups"),),
    ),
)


def protocol(
    classes: Sequence[str], class_set: ClassSet, zero_division: ZeroDivision, *, slices: Sequence[str], sets: bool
) -> Protocol:
    """Return the protocol for data with the given true classes."""
    measures = _set_measures(class_set, zero_division) if sets else _measures(classes, class_set, zero_division)
    return Protocol(
        name="labels",
        version="1",
        measures=tuple(measures),
        group="group",
        slices=tuple(slices),
        settings={"labels": "sets" if sets else "single"},
        claims=CLAIMS,
    )


def _measures(classes: Sequence[str], class_set: ClassSet, zero_division: ZeroDivision) -> list[Measure]:
    overall: list[Measure] = [
        single.F1("macro", class_set, zero_division),
        single.Accuracy(),
        single.F1("weighted", class_set, zero_division),
        single.BalancedAccuracy(),
        single.Kappa(),
        single.Precision("macro", class_set, zero_division),
        single.Recall("macro", class_set, zero_division),
        single.F1("micro", class_set, zero_division),
    ]
    if len(classes) > MAX_PER_CLASS:
        return overall
    kinds = (single.ClassF1, single.ClassPrecision, single.ClassRecall)
    return overall + [kind(label, zero_division) for kind in kinds for label in classes]


def _set_measures(class_set: ClassSet, zero_division: ZeroDivision) -> list[Measure]:
    return [
        multi.SetF1("micro", class_set, zero_division),
        multi.SetF1("macro", class_set, zero_division),
        multi.ExactMatch(),
        multi.SetPrecision("micro", class_set, zero_division),
        multi.SetRecall("micro", class_set, zero_division),
        multi.SetPrecision("macro", class_set, zero_division),
        multi.SetRecall("macro", class_set, zero_division),
    ]
