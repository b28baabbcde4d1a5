"""Precision, recall and F1 over labelled class counts, averaged over a stated class set.

Shared by single-label and multi-label classification: both keep per class ``tp``, ``truth`` (support)
and ``predicted``, with any leading batch axes.

Formulas (per class): precision = tp / predicted; recall = tp / truth; F1 = 2 tp / (truth + predicted).

Averages over a class set C: ``macro`` is the plain mean of the class values; ``weighted`` weighs them
by truth support; ``micro`` is the ratio of the sums.

Class sets
----------
``union``    classes that occur in truth or prediction
``present``  classes that occur in truth
``fixed``    classes that the tallies list (field ``listed``), whether they occur or not; union where they list none
a tuple      exactly these, whether they occur or not

A ratio 0/0 takes the value ``zero_division`` (0 or 1); with ``None`` that class is left out of a mean,
and a single class's value is undefined.

Missing answers
---------------
A sample without an answer counts as a wrong answer, and as the one that costs the score most, so that leaving an answer
out never raises a score. Its true class has a false negative. Where an answer names one class, the sample is also a
false positive of one class: M missing answers are M more false positives, which a mean over classes gets where they
lower it most (:func:`least_sum`). Where an answer is a set, the sample is a false positive of every class that it is
not truly of. As a missing answer could have been of any class, 0/0 in precision and F1 is then 0.

The classes of ``union`` depend on the answers: one that is missing may be of a class that occurs nowhere else, and of
sets it may name any number of such classes. No number of classes is then large enough, and these means are undefined:
macro averages over ``union``, and of sets also micro precision and micro F1 over ``union``.

Replicates (leave-one-out, bootstrap) use the class set of the whole without the classes that a replicate lacks: a class
that is in the truth of the whole counts where it is in the truth of the replicate. A macro average of a single group or
case is over the classes that it has in truth, whatever the class set of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.measure import Measure, Scored
from gnomon.core.tallies import Array, Totals

Kind = Literal["f1", "precision", "recall"]
Average = Literal["macro", "weighted", "micro"]
ClassSet = str | tuple[str, ...]
ZeroDivision = Literal[0, 1] | None
PREDICTED, IN_TRUTH = 1, 2
"""Codes of a frozen class set: the class is only predicted on the whole, or it is in the truth of the whole; else 0."""
EACH_RULE = "averaged over the classes that it has in truth; undefined without any"
"""How a macro average is taken on a single group or case."""
CLASS_RULE = "undefined where the class is not in its truth"
"""What the score of one class is on a single group or case."""


def check(classes: ClassSet, zero_division: ZeroDivision, average: str = "macro") -> None:
    """Refuse parameters that mean nothing."""
    if isinstance(classes, str) and classes not in ("union", "present", "fixed"):
        raise InputError(f"classes: expected 'union', 'present' or a list of labels, but got {classes!r}")
    if not isinstance(classes, str) and len(set(classes)) != len(classes):
        raise InputError(f"classes: expected distinct labels, but got {list(classes)!r}")
    if zero_division is not None and (isinstance(zero_division, bool) or zero_division not in (0, 1)):
        raise InputError(f"zero_division: expected 0, 1 or None (undefined), but got {zero_division!r}")
    if average not in ("macro", "weighted", "micro"):
        raise InputError(f"average: expected 'macro', 'weighted' or 'micro', but got {average!r}")


def suffix(classes: ClassSet) -> str:
    """Return what a class set adds to a measure's name."""
    return {"union": "", "present": "_present", "fixed": "_fixed"}.get(str(classes), "_listed")


def ratios(kind: Kind, totals: Totals) -> tuple[Array, Array]:
    """Return numerator and denominator per class, ``(*batch, classes)``."""
    if kind == "f1":
        return 2 * totals["tp"], totals["truth"] + totals["predicted"]
    return totals["tp"], totals["predicted"] if kind == "precision" else totals["truth"]


def supported(classes: ClassSet, totals: Totals) -> Array:
    """Return which classes have the support that the class set asks for, ``(*batch, classes)``."""
    if classes == "present":
        return np.asarray(totals["truth"] > 0)
    return np.asarray(totals["truth"] + totals["predicted"] > 0)


def held(label: str, totals: Totals) -> Array:
    """Return whether one class occurs in truth, ``(*batch, 1)``."""
    axis = totals.axes["class"]
    if label not in axis:
        return np.zeros((*totals.batch, 1), dtype=np.bool_)
    return np.asarray(totals["truth"][..., [axis.index(label)]] > 0)


def where_true(label: str, totals: Totals, scored: Scored) -> Scored:
    """Leave scores of one class undefined where the class does not occur in truth."""
    defined = scored.defined & held(label, totals)[..., 0]
    return Scored(np.where(defined, scored.values, 0.0), defined)


def members(classes: ClassSet, totals: Totals, frozen: Array | None) -> Array:
    """Return which classes of the axis are averaged over, ``(*batch, classes)``.

    With a frozen set (see :func:`freeze`), a class that has support on the whole and none here is skipped; one that is
    in the truth of the whole has support here only where it is true, not where it is predicted alone.
    """
    support = supported(classes, totals)
    by_list = classes not in ("union", "present")
    listed = _listed(classes, totals) if by_list else support
    if frozen is None:
        return np.broadcast_to(listed, support.shape)
    kept = np.where(frozen == IN_TRUTH, totals["truth"] > 0, support)
    return np.asarray(listed & (kept | (frozen == 0)) if by_list else kept & (frozen > 0))


def freeze(classes: ClassSet, totals: Totals) -> Array:
    """Return which classes of the set have support on the whole: :data:`IN_TRUTH`, :data:`PREDICTED` or 0 per class."""
    support = supported(classes, totals)
    inside = support if classes in ("union", "present") else support & _listed(classes, totals)
    return np.where(inside, np.where(totals["truth"] > 0, IN_TRUTH, PREDICTED), 0).astype(np.int8)


def in_truth(totals: Totals, frozen: Array | None) -> Array:
    """Return which classes have truth here, ``(*batch, classes)``; of a frozen set only its members."""
    present = np.asarray(totals["truth"] > 0)
    return present if frozen is None else present[..., frozen > 0]


@dataclass(frozen=True)
class Missing:
    """Answers that are missing, over batch axes."""

    count: Array
    """How many samples have no answer, ``(*batch)``."""
    positives: Array | None = None
    """Their false positives by class, ``(*batch, classes)``, where answers are sets; else each is of one class."""

    @property
    def of_each(self) -> Array:
        """How many of them may be false positives of a class that is looked at alone, ``(*batch, classes or 1)``."""
        return np.asarray(self.count)[..., np.newaxis] if self.positives is None else self.positives

    @property
    def some(self) -> Array:
        """Whether any answer is missing, ``(*batch)``."""
        return np.asarray(self.count > 0)


def averaged(
    kind: Kind,
    average: Average,
    totals: Totals,
    frozen: Array | None,
    classes: ClassSet,
    zero_division: ZeroDivision,
    missing: Missing | None = None,
    *,
    single: bool = False,
) -> Scored:
    """Average one kind of ratio over the class set; answers that are missing cost as much as any answer could.

    With ``single``, totals are of single groups or cases: a macro average is over the classes that each has in truth.
    """
    given = _averaged(kind, average, totals, frozen, classes, zero_division, single=single)
    if missing is None or not missing.some.any():
        return given
    lowest = given if kind == "recall" else _lowest(kind, average, totals, frozen, classes, missing, single)
    whole = "present" if single and average == "macro" else classes
    unbounded = depends_on_missing(kind, average, totals, whole, missing)
    values = np.where(missing.some, lowest.values, given.values)
    return Scored(values, np.where(missing.some, lowest.defined, given.defined) & ~unbounded)


def depends_on_missing(kind: Kind, average: Average, totals: Totals, classes: ClassSet, missing: Missing) -> Array:
    """Return where a mean over classes of truth and answers has no lowest value, as answers are missing, ``(*batch)``.

    A missing answer may add classes to the mean that nothing else names.
    """
    of_sets = missing.positives is not None
    unlimited = average == "macro" or (average == "micro" and of_sets and kind != "recall")
    if not unlimited or classes not in ("union", "fixed"):
        return np.zeros(missing.some.shape, dtype=np.bool_)
    return np.asarray(missing.some if classes == "union" else missing.some & ~(totals["listed"] > 0).any(axis=-1))


def _lowest(
    kind: Kind,
    average: Average,
    totals: Totals,
    frozen: Array | None,
    classes: ClassSet,
    missing: Missing,
    single: bool,
) -> Scored:
    """Return the lowest average of precision or F1 that answers in place of the missing ones could have."""
    weights = members(classes, totals, frozen).astype(np.float64)
    top, bottom = ratios(kind, totals)
    absent = _absent(classes, totals)
    if single and average == "macro":
        weights, absent = weights * (totals["truth"] > 0), 0
    if missing.positives is not None:
        bottom = bottom + missing.positives
    if average == "micro":
        more = missing.count if missing.positives is None else absent * missing.count
        return Scored.ratio((top * weights).sum(axis=-1), (bottom * weights).sum(axis=-1) + more)
    if average == "weighted":
        weights, absent = weights * totals["truth"], 0
    shared = missing.count if missing.positives is None else np.zeros_like(missing.count)
    scored = Scored.ratio(least_sum(top * weights, bottom, shared), weights.sum(axis=-1) + absent)
    return Scored(scored.values, scored.defined & (totals["n"] > 0))


def least_sum(tops: Array, bottoms: Array, more: Array) -> Array:
    """Return the least that the sum of ``tops / (bottoms + shares)`` can be, where shares of 0 or more sum to ``more``.

    ``tops`` and ``bottoms`` are ``(*batch, classes)`` and ``more`` is ``(*batch)``; a top of 0 adds 0, also over 0.
    The sum is convex in the shares, so that it is least where those that have a share all fall at the same rate: the
    bottom of these is ``level * sqrt(top)``, and no other bottom is below that.

    >>> float(least_sum(np.array([1.0, 1.0]), np.array([1.0, 2.0]), np.array(3)))  # both bottoms become 3
    0.6666666666666666
    """
    used = tops > 0
    roots = np.sqrt(tops)
    levels = np.divide(bottoms, roots, out=np.full(tops.shape, np.inf), where=used)
    order = np.argsort(levels, axis=-1, kind="stable")
    ordered = [np.take_along_axis(np.where(used, array, 0.0), order, axis=-1) for array in (bottoms, roots)]
    below, rates = (np.cumsum(array, axis=-1) for array in ordered)
    reached = np.divide(
        below + np.asarray(more)[..., np.newaxis], rates, out=np.full(tops.shape, np.inf), where=rates > 0
    )
    level = reached.min(axis=-1, initial=np.inf, keepdims=True)
    raised = np.maximum(bottoms, np.where(used, np.where(used, level, 0.0) * roots, 0.0))
    return np.asarray(np.divide(tops, raised, out=np.zeros(tops.shape), where=used).sum(axis=-1))


def _averaged(
    kind: Kind,
    average: Average,
    totals: Totals,
    frozen: Array | None,
    classes: ClassSet,
    zero_division: ZeroDivision,
    *,
    single: bool,
) -> Scored:
    """Average over the answers that there are."""
    inside = members(classes, totals, frozen)
    single = single and average == "macro"
    if single:
        inside = inside & (totals["truth"] > 0)
    top, bottom = ratios(kind, totals)
    if average == "micro":
        pooled = Scored.ratio((top * inside).sum(axis=-1), (bottom * inside).sum(axis=-1))
        if zero_division is None:
            return pooled
        nothing = (totals["truth"] + totals["predicted"]).sum(axis=-1) == 0
        return Scored(np.where(pooled.defined, pooled.values, zero_division), ~nothing)
    each = Scored.ratio(top, bottom)
    values, weights = each.values, inside.astype(np.float64)
    absent = 0 if single else _absent(classes, totals)
    if zero_division is None:
        weights, absent = weights * each.defined, 0
    elif zero_division:
        values = np.where(each.defined, values, float(zero_division))
    if average == "weighted":
        weights, absent = weights * totals["truth"], 0
    total = (values * weights).sum(axis=-1) + absent * (zero_division or 0)
    scored = Scored.ratio(total, weights.sum(axis=-1) + absent)
    return Scored(scored.values, scored.defined & (totals["n"] > 0))


def why_undefined(
    kind: Kind, average: Average, totals: Totals, classes: ClassSet, missing: Missing | None = None
) -> str:
    """Say why an average is undefined."""
    if int(totals["n"]) == 0:
        return "no samples"
    if missing is not None and bool(depends_on_missing(kind, average, totals, classes, missing)):
        lacking = f"{int(missing.count)} of {int(totals['n'])} samples have no answer"
        return f"{lacking}, which could add classes; read an average over the classes in truth"
    what = {"union": "truth or prediction", "present": "truth"}.get(str(classes))
    if what:
        return f"no class in {what} has a defined value"
    if average == "weighted":
        return "none of the listed classes occurs in truth"
    return "none of the listed classes has a defined value"


def _absent(classes: ClassSet, totals: Totals) -> int:
    """Return how many listed classes are not on the axis."""
    return 0 if isinstance(classes, str) else len(set(classes) - set(totals.axes["class"]))


def _listed(classes: ClassSet, totals: Totals) -> Array:
    """Return which classes of the axis are on the list, ``(*batch, classes)``."""
    if classes == "fixed":
        listed = totals["listed"] > 0
        return np.asarray(np.where(listed.any(axis=-1, keepdims=True), listed, supported("union", totals)))
    return np.array([label in set(classes) for label in totals.axes["class"]], dtype=np.bool_)


class AnswerCounts(Measure):
    """Base of the measures whose samples may have no answer."""

    def missing(self, totals: Totals) -> Missing | None:
        """Return the answers that are missing, where the tallies of the family can tell."""
        del totals
        return None


class OfClass(Measure):
    """Base of the ratios of one class, its ``label``."""

    label: str

    def score_each(self, totals: Totals) -> Scored:
        """Ratio of one class on single groups or cases, undefined where the class is not in truth."""
        return where_true(self.label, totals, self.score(totals))

    @property
    def each_rule(self) -> str:
        """What a single group or case needs to have a score."""
        return CLASS_RULE

    def support(self, totals: Totals, frozen: Array | None) -> Array:
        """Whether the class has truth here."""
        del frozen
        return held(self.label, totals)


@dataclass(frozen=True)
class AveragedRatio(AnswerCounts):
    """One kind of ratio averaged over a class set; a family adds how it tallies.

    Parameters
    ----------
    average
        ``macro``: plain mean over the classes; ``weighted``: mean over the classes, weighted by how often each is true;
        ``micro``: counts of all classes together.
    classes
        ``union``: classes in truth or prediction; ``present``: classes in truth; ``fixed``: classes of a fixed list;
        ``listed``: these classes.
    zero_division
        ``0``: 0/0 counts as 0; ``1``: 0/0 counts as 1; ``None``: 0/0 is left out.
    """

    average: Average = "macro"
    classes: ClassSet = "union"
    zero_division: ZeroDivision = 0
    kind: ClassVar[Kind]

    def __post_init__(self) -> None:
        check(self.classes, self.zero_division, self.average)

    @property
    def name(self) -> str:
        """Column key; the class set is part of it unless it is the usual one."""
        return f"{self.average}_{self.kind}{suffix(self.classes)}"

    def freeze(self, totals: Totals) -> Array:
        """Resolve the class set on the whole."""
        return freeze(self.classes, totals)

    def support(self, totals: Totals, frozen: Array | None) -> Array | None:
        """Classes of a macro average with truth here; other averages do not hang on rare classes."""
        return in_truth(totals, frozen) if self.average == "macro" else None

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Average over the class set."""
        missing = self.missing(totals)
        return averaged(self.kind, self.average, totals, frozen, self.classes, self.zero_division, missing)

    def score_each(self, totals: Totals) -> Scored:
        """Average over the classes that each single group or case has in truth, where the average is a macro one."""
        return averaged(
            self.kind, self.average, totals, None, self.classes, self.zero_division, self.missing(totals), single=True
        )

    @property
    def each_rule(self) -> str:
        """Which classes of a single group or case a macro average is over."""
        return EACH_RULE if self.average == "macro" else ""

    def why(self, totals: Totals) -> str:
        """No class to average over."""
        return why_undefined(self.kind, self.average, totals, self.classes, self.missing(totals))
