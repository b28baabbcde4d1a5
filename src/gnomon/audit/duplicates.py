"""Inputs that are on both sides of a split: equal by digest, or nearly equal by their vectors.

Near duplicates
---------------
Vectors are compared after what a metric forgives: ``correlation`` (offset and gain of the whole vector), ``cosine``
(gain) or ``distance`` (nothing). For the first two, a similarity r is a distance sqrt(2 - 2 r) between unit vectors.

Some data are alike everywhere (a phone on a table). Where ``apart`` names what makes training samples independent
(subject, recording), the smallest distance between training samples that differ in it is the null: a test sample is a
near duplicate only if it is nearer than half of that. In k dimensions the chance of coming so near falls with 2**-k.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from gnomon.audit.near import Vectors, nearest
from gnomon.audit.split import SPLIT, Split, codes
from gnomon.core.errors import InputError
from gnomon.core.evidence import Finding
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array

Metric = Literal["correlation", "cosine", "distance"]
SAME = 1e-9
"""Independent training samples nearer than this leave no room for a near duplicate."""


def exact_duplicates(samples: Samples, split: Split = SPLIT) -> tuple[Finding, ...]:
    """Find test samples whose input has the digest of a training input.

    Needs digests of the content of inputs (not of file names). Cannot see inputs that differ in a bit, and says how
    many samples have no digest. Two datasets are compared with a split by the tag that names them.
    """
    seen, held = split.sides(samples)
    seen_name, held_name = split.names(samples)
    digests = samples.column("digests")
    first: dict[str, int] = {}
    for row in seen[::-1].tolist():
        first[digests[row]] = row
    first.pop("", None)
    twice = [row for row in held.tolist() if digests[row] in first]
    findings = []
    if twice:
        distinct = len({digests[row] for row in twice})
        text = (
            f"{len(twice)} of {len(held)} {held_name} samples have the input of a {seen_name} sample "
            f"({distinct} distinct digests); first: {samples.ids[twice[0]]!r} "
            f"and {samples.ids[first[digests[twice[0]]]]!r}"
        )
        remedy = "drop one of each pair, or split by what the copies were made from"
        findings.append(Finding("exact-duplicates", "error", split.column, text, remedy))
    blank = sum(not digests[row] for row in (*seen.tolist(), *held.tolist()))
    if blank:
        text = f"{blank} of {len(seen) + len(held)} samples have no digest and were not compared"
        findings.append(Finding("digests-missing", "info", "digests", text, "hash the input of every sample"))
    return tuple(findings)


def near_duplicates(
    vectors: Array,
    samples: Samples,
    split: Split = SPLIT,
    *,
    metric: Metric = "correlation",
    threshold: float = 0.995,
    apart: str = "",
) -> tuple[Finding, ...]:
    """Find test vectors that nearly equal a training vector.

    Needs one vector per sample, ``(n, ...)``. ``threshold`` is the least similarity, or for ``distance`` the largest
    distance. Findings are warnings; with ``apart``, which brings the null, they are errors. Cannot see copies that were
    shifted in time, cut otherwise or turned (:func:`~gnomon.audit.ranges.read_ranges` sees shifts inside a recording).
    """
    seen, held = split.sides(samples)
    seen_name, held_name = split.names(samples)
    rows, usable = _prepared(vectors, len(samples), metric)
    seen, held = seen[usable[seen]], held[usable[held]]
    findings = list(_unusable(usable, metric))
    asked = _radius(metric, threshold)
    null = _null(rows[seen], codes([samples.column(apart)[row] for row in seen.tolist()]), asked) if apart else math.inf
    if null <= SAME:
        text = f"{seen_name} samples that differ in {apart} are {null:.2g} apart, so a copy cannot be told from them"
        remedy = f"look for duplicates between values of {apart} in {seen_name}, or compare richer vectors"
        return (*findings, Finding("near-duplicates-undecidable", "warning", apart, text, remedy))
    radius = min(asked, null / 2)
    place, distance = nearest(Vectors(rows[held]), Vectors(rows[seen]), radius)
    hits = np.flatnonzero(place >= 0)
    if not len(hits):
        return tuple(findings)
    best = int(hits[np.argmin(distance[hits])])
    pair = samples.ids[int(held[best])], samples.ids[int(seen[place[best]])]
    text = (
        f"{len(hits)} of {len(held)} {held_name} vectors have a {seen_name} vector "
        f"{_bound(metric, radius)}{_against(metric, null, asked, apart)}; "
        f"nearest: {pair[0]!r} and {pair[1]!r} ({_shown(metric, float(distance[best]))})"
    )
    remedy = "find out what the pairs share; split by it, or drop one of each pair"
    return (*findings, Finding("near-duplicates", "error" if apart else "warning", split.column, text, remedy))


def _prepared(vectors: Array, n: int, metric: Metric) -> tuple[Array, Array]:
    """Return rows between which plain distance counts, and which of them can be compared."""
    if metric not in ("correlation", "cosine", "distance"):
        raise InputError(f"no metric {metric!r}; there are correlation, cosine, distance")
    array = np.asarray(vectors)
    if array.ndim < 2 or len(array) != n or array.size == 0 or array.dtype.kind not in "iufb":
        raise InputError(f"vectors: expected numbers of shape ({n}, d), but got {array.dtype} of {array.shape}")
    rows = array.reshape(n, -1).astype(np.float64)
    if not np.isfinite(rows).all():
        raise InputError("vectors: expected finite numbers; fill or drop rows that have gaps")
    if metric == "distance":
        return rows - rows.mean(axis=0), np.ones(n, dtype=np.bool_)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows /= np.where(largest > 0, largest, 1)
    if metric == "correlation":
        rows -= rows.mean(axis=1, keepdims=True)
    length = np.sqrt(np.square(rows).sum(axis=1))
    usable = length > 1e-12 * math.sqrt(rows.shape[1])
    rows /= np.where(usable, length, 1)[:, None]
    return rows, usable


def _unusable(usable: Array, metric: Metric) -> tuple[Finding, ...]:
    if usable.all():
        return ()
    text = f"{int((~usable).sum())} of {len(usable)} vectors are constant, have no {metric} and were not compared"
    return (Finding("constant-vectors", "info", "vectors", text, "compare digests, or use metric 'distance'"),)


def _radius(metric: Metric, threshold: float) -> float:
    if metric == "distance":
        if not math.isfinite(threshold) or threshold < 0:
            raise InputError(f"threshold: expected a distance that is not negative, but got {threshold!r}")
        return threshold
    if not -1 <= threshold <= 1:
        raise InputError(f"threshold: expected a similarity in [-1, 1], but got {threshold!r}")
    return math.sqrt(2 - 2 * threshold) + SAME


def _null(rows: Array, group: Array, radius: float) -> float:
    """Return the smallest distance between rows of different groups; infinite if it is over twice the radius."""
    if len(set(group.tolist())) < 2:
        raise InputError("apart: training samples have one value only, so none are independent; leave it out")
    side = Vectors(rows, group)
    return float(nearest(side, side, 2 * radius)[1].min())


def _bound(metric: Metric, radius: float) -> str:
    similarity = 1 - radius * radius / 2
    return f"at most {radius:.3g} away" if metric == "distance" else f"with {metric} of at least {similarity:.6g}"


def _shown(metric: Metric, distance: float) -> str:
    return f"distance {distance:.3g}" if metric == "distance" else f"{metric} {1 - distance * distance / 2:.6f}"


def _against(metric: Metric, null: float, asked: float, apart: str) -> str:
    if not apart:
        return ""
    if math.isinf(null):
        return f" (training vectors of different {apart} are all farther than {2 * asked:.3g})"
    return f" (the nearest training vectors of different {apart}: {_shown(metric, null)})"
