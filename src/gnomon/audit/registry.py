"""Every check by id: what it looks for, what it can find, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gnomon.core.evidence import Finding
from gnomon.core.suite import load


@dataclass(frozen=True)
class Check:
    """One check: id, one line about it, the ids of its findings, and where its function is."""

    id: str
    summary: str
    finds: tuple[str, ...]
    reference: str
    """``module:function`` below this package; imported when it is called."""
    kind: Literal["passive", "active"] = "passive"

    def load(self) -> Callable[..., tuple[Finding, ...]]:
        """Import the function."""
        check: Callable[..., tuple[Finding, ...]] = load(f"gnomon.audit.{self.reference}")
        return check


_ALL = (
    Check(
        "read-ranges",
        "test samples whose input or target reads what training samples read, or comes nearer than an embargo",
        ("read-ranges-overlap", "inside-embargo"),
        "ranges:read_ranges",
    ),
    Check(
        "exact-duplicates",
        "test inputs whose digest is that of a training input",
        ("exact-duplicates", "digests-missing"),
        "duplicates:exact_duplicates",
    ),
    Check(
        "near-duplicates",
        "test vectors that nearly equal a training vector, against how alike independent training vectors are",
        ("near-duplicates", "near-duplicates-undecidable", "constant-vectors"),
        "duplicates:near_duplicates",
    ),
    Check(
        "shared-tags",
        "subjects, sessions, devices or any other named tag on both sides of the split",
        ("shared-tag", "tag-unknown"),
        "people:shared_tags",
    ),
    Check(
        "same-people",
        "people of one dataset who are in another, as declared or by their descriptors",
        ("same-cohort", "same-people"),
        "people:same_people",
    ),
    Check(
        "input-blocks",
        "input blocks derived from labels, from the future or from the whole recording, or not on the allow-list",
        ("label-derived-input", "whole-recording-input", "input-not-allowed", "input-untagged"),
        "inputs:input_blocks",
    ),
    Check(
        "fit-provenance",
        "scalers, vocabularies and other transforms that were fitted on other than training samples",
        ("fitted-on-test", "fitted-elsewhere"),
        "inputs:fit_provenance",
    ),
    Check(
        "refit",
        "a fitted artefact that fitting again on the training samples does not give",
        ("refit-differs", "not-deterministic"),
        "poison:refit",
        "active",
    ),
    Check(
        "poisoned-fit",
        "a fit whose artefacts change when test inputs or test targets are replaced",
        ("fit-reads-test", "not-deterministic"),
        "poison:poisoned_fit",
        "active",
    ),
    Check(
        "poisoned-predictions",
        "predictions that change when test targets, or the inputs of other test cases, are replaced",
        ("reads-test-targets", "reads-other-test-inputs", "not-deterministic"),
        "poison:poisoned_predictions",
        "active",
    ),
    Check(
        "future-poison",
        "features or predictions that change when a recording is replaced after their end",
        ("reads-the-future", "not-deterministic"),
        "poison:future_poison",
        "active",
    ),
    Check(
        "permuted-labels",
        "a score that stays above chance, or near the observed one, when labels are permuted",
        ("permuted-as-good", "permuted-above-chance"),
        "permuted:permuted_labels",
        "active",
    ),
    Check(
        "degenerate-targets",
        "targets of one class or of constant value, in training or in test",
        ("one-class-target", "constant-target"),
        "targets:degenerate_targets",
    ),
    Check(
        "unseen-classes",
        "classes of the test that training never showed, with the accuracy they leave attainable",
        ("unseen-test-classes",),
        "targets:unseen_classes",
    ),
    Check(
        "trivial-baselines",
        "systems that a majority, constant or last-value answer equals or beats",
        ("trivial-baseline-wins", "baseline-missing"),
        "results:trivial_baselines",
    ),
    Check(
        "no-op-arms",
        "arms of an ablation or a grid with identical tallies",
        ("no-op-arm",),
        "results:no_op_arms",
    ),
    Check(
        "same-predictions",
        "the same stored predictions under several names",
        ("same-predictions",),
        "results:same_predictions",
    ),
    Check(
        "coverage",
        "cases without a score, by reason, and systems that dropped different ones",
        ("partial-coverage", "coverage-differs", "unexpected-cases"),
        "results:coverage",
    ),
    Check(
        "units-and-frames",
        "unit and frame tags that differ between two sides or between cases",
        ("tags-differ", "tags-mixed", "tags-missing"),
        "quantities:units_and_frames",
    ),
    Check(
        "scales",
        "cases whose magnitudes are those of another unit",
        ("suspicious-scale",),
        "quantities:scales",
    ),
    Check(
        "identities",
        "stored tallies that cannot be true, and stored scores that do not follow from them",
        ("broken-identity", "score-does-not-follow"),
        "results:identities",
    ),
    Check(
        "selection",
        "a selection metric that is not reported, or a selection that looked at test samples",
        ("selection-metric-not-reported", "selected-on-test", "selected-elsewhere"),
        "results:selection",
    ),
    Check(
        "cut-points",
        "tasks over the same recordings of which one trains on what another tests",
        ("cuts-differ",),
        "sequences:cut_points",
    ),
    Check(
        "clamped-targets",
        "samples whose target is nearer than the declared horizon",
        ("target-clamped",),
        "sequences:clamped_targets",
    ),
    Check(
        "invalid-values",
        "entries that are marked as invalid and were scored or fitted as values",
        ("invalid-as-values",),
        "sequences:invalid_values",
    ),
    Check(
        "overlapping-units",
        "units that are counted or resampled as independent, although most samples overlap one of another unit",
        ("overlapping-units",),
        "sequences:overlapping_units",
    ),
    Check(
        "tied-ranks",
        "ranking scores that hang on the order of ties, and identical queries with different answers",
        ("ties-decide", "duplicate-queries"),
        "sequences:tied_ranks",
    ),
)

CHECKS: dict[str, Check] = {check.id: check for check in _ALL}
"""By id, in the order in which a report names them."""
