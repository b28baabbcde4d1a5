"""Permuted-label control: without a relation between inputs and labels, a score must fall to chance.

The labels are permuted (within groups, where given, so that what groups differ in stays), everything that reads
labels is done again, and the score is taken. With R permutations, p = (1 + number of permuted scores at least as good
as the observed one) / (R + 1) (Phipson and Smyth, 2010), and the mean of the permuted scores has a t interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from gnomon.audit.split import codes
from gnomon.core.errors import InputError
from gnomon.core.evidence import Finding
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.inference.intervals import t_quantile

LEVEL = 0.99
"""Of the interval of the mean permuted score."""
ALPHA = 0.05


def permuted_labels(
    evaluate: Callable[[Array], float],
    labels: Array,
    *,
    groups: Sequence[str] | None = None,
    chance: float | None = None,
    direction: Literal["up", "down"] = "up",
    rounds: int = 20,
    seed: int = 0,
) -> tuple[Finding, ...]:
    """Find a score that does not need the labels to be true.

    Needs ``evaluate(labels)``, which trains and scores from the beginning with the labels of all samples as given:
    feature selection, vocabularies and tuning included. ``chance`` is the best score that an answer without inputs
    can reach; with permutation inside groups, one that knows the group. Without it, only the observed score is
    compared. Cannot see copies and neighbours across the split, whose labels are permuted apart, nor a small leak
    with few rounds.
    """
    labels = np.asarray(labels)
    group = np.zeros(len(labels), np.int64) if groups is None else codes(groups)
    if rounds < 19 or len(group) != len(labels):
        raise InputError(
            f"expected at least 19 rounds and a group for each of {len(labels)} labels, but got "
            f"{rounds} and {len(group)}"
        )
    rng = generator(seed, "audit", "permuted")
    sign = 1.0 if direction == "up" else -1.0
    observed = _value(evaluate(labels.copy()))
    scores = np.array([_value(evaluate(permute(labels, group, rng))) for _ in range(rounds)])
    mean, half = float(scores.mean()), _half_width(scores)
    p = (1 + int((sign * scores >= sign * observed).sum())) / (rounds + 1)
    said = f"permuted {mean:.4g} [{mean - half:.4g}, {mean + half:.4g}] over {rounds} permutations"
    findings = []
    if p > ALPHA:
        text = f"observed {observed:.4g} is not better than with permuted labels: {said}, p = {p:.3g}"
        remedy = "the score does not show that labels were learnt: look for a leak, a broken target, or too little data"
        findings.append(Finding("permuted-as-good", "error", "labels", text, remedy))
    if chance is not None and sign * mean - half > sign * chance:
        text = f"permuted labels still score better than chance {chance:.4g}: {said} (observed {observed:.4g})"
        remedy = "something reads test labels: repeat selection, encoding and fitting inside of the training part"
        findings.append(Finding("permuted-above-chance", "error", "labels", text, remedy))
    return tuple(findings)


def permute(labels: Array, group: Array, rng: np.random.Generator) -> Array:
    """Return the labels permuted within each group; refuse labels that this cannot change."""
    order = np.argsort(group, kind="stable")
    shuffled = order[np.lexsort((rng.random(len(labels)), group[order]))]
    out = labels.copy()
    out[order] = labels[shuffled]
    if len(labels) and all(len(np.unique(labels[group == g], axis=0)) == 1 for g in np.unique(group).tolist()):
        raise InputError("labels are constant inside of every group, so that permuting changes nothing; drop groups")
    return out


def _half_width(scores: Array) -> float:
    return t_quantile((1 + LEVEL) / 2, len(scores) - 1) * float(scores.std(ddof=1)) / math.sqrt(len(scores))


def _value(score: float) -> float:
    value = float(score)
    if not math.isfinite(value):
        raise InputError(f"evaluate: expected a finite score, but got {value}")
    return value
