"""Targets that carry no question: one class, a constant, classes that training never showed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.audit.split import SPLIT, Split
from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array


def degenerate_targets(
    targets: Sequence[Any] | Array, samples: Samples, split: Split = SPLIT, *, where: str = "targets"
) -> tuple[Finding, ...]:
    """Find targets of one class, or dimensions of constant value, in training or in test.

    Needs one target per sample: labels, or numbers ``(n,)`` or ``(n, d)``; floats are values, everything else is
    classes. Cannot see targets that nearly always have one value (a trivial baseline shows them).
    """
    values = _targets(targets, samples)
    findings = []
    for name, rows in zip(split.names(samples), split.sides(samples), strict=True):
        part = values[rows]
        same = (part == part[:1]).all(axis=0)
        if not same.any():
            continue
        if values.dtype.kind != "f" and values.ndim == 1:
            text = f"all {len(rows)} {name} targets are {part[:1].tolist()[0]!r}"
            remedy = "a constant answer is perfect here; add data of other classes, or drop the task"
            findings.append(Finding("one-class-target", "warning", where, text, remedy))
        else:
            text = f"{int(same.sum())} of {same.size} target dimensions are constant over {len(rows)} {name} samples"
            remedy = "a constant answer is perfect there; drop these dimensions, or add data in which they vary"
            findings.append(Finding("constant-target", "warning", where, text, remedy))
    return tuple(findings)


def unseen_classes(
    targets: Sequence[Any] | Array, samples: Samples, split: Split = SPLIT, *, where: str = "targets"
) -> tuple[Finding, ...]:
    """Find classes of the test that training never showed, and the accuracy that they leave attainable.

    Needs one label per sample. Cannot see a class that has another name on each side.
    """
    values = _targets(targets, samples)
    if values.ndim != 1 or values.dtype.kind == "f":
        raise InputError(f"expected one label per sample, but got {values.dtype} of shape {values.shape}")
    seen, held = split.sides(samples)
    seen_name, held_name = split.names(samples)
    known = set(values[seen].tolist())
    counts = Counter(values[held].tolist())
    unseen = [label for label, _ in counts.most_common() if label not in known]
    if not unseen:
        return ()
    lost = sum(counts[label] for label in unseen)
    text = (
        f"{len(unseen)} of {len(counts)} classes of {held_name} are not in {seen_name}: {some(unseen)}; "
        f"{lost} of {len(held)} samples have them, so accuracy cannot exceed {1 - lost / len(held):.4f}"
    )
    remedy = "report the ceiling with the score, or split so that every class is in training"
    return (Finding("unseen-test-classes", "warning", where, text, remedy),)


def _targets(targets: Sequence[Any] | Array, samples: Samples) -> Array:
    values = np.asarray(targets)
    if values.ndim < 1 or len(values) != len(samples):
        raise InputError(f"expected one target for each of {len(samples)} samples, but got shape {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError("targets: expected finite numbers; leave samples without a target out")
    return values
