"""Findings about targets are written by hand, the ceiling is counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.audit.split import Split
from gnomon.audit.targets import degenerate_targets, unseen_classes
from gnomon.core.errors import InputError
from gnomon.core.samples import Samples


def samples(parts):
    n = len(parts)
    ranges = np.tile([0.0, 1.0], (n, 1))
    return Samples(tuple(map(str, range(n))), ("r",) * n, tuple(parts), ranges, ranges)


PARTS = ["train", "train", "test", "test"]


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        (["a", "b", "a", "b"], []),
        (["a", "a", "a", "b"], ["all 2 train targets are 'a'"]),
        (["a", "b", "c", "c"], ["all 2 test targets are 'c'"]),
        ([1, 1, 1, 1], ["all 2 train targets are 1", "all 2 test targets are 1"]),
        ([True, False, True, True], ["all 2 test targets are True"]),
    ],
)
def test_one_class_is_found_on_either_side(targets, expected):
    findings = degenerate_targets(targets, samples(PARTS))
    assert [f.evidence for f in findings] == expected
    assert {(f.id, f.severity) for f in findings} <= {("one-class-target", "warning")}


def test_objects_are_labels_too():
    (finding,) = degenerate_targets(np.array(["a", "b", "c", "c"], dtype=object), samples(PARTS))
    assert finding.evidence == "all 2 test targets are 'c'"


def test_constant_values_and_dimensions_are_found():
    values = np.array([[1.0, 2, 3], [1, 3, 4], [2, 2, 2], [1, 2, 2]])
    findings = degenerate_targets(values, samples(PARTS))
    assert [f.evidence for f in findings] == [
        "1 of 3 target dimensions are constant over 2 train samples",
        "2 of 3 target dimensions are constant over 2 test samples",
    ]
    assert degenerate_targets(values[:, 2] * 0 + [0.5, 0.1, 2, 3], samples(PARTS)) == ()


@given(st.lists(st.tuples(st.sampled_from(["train", "test"]), st.sampled_from("abcd")), min_size=2))
def test_the_ceiling_is_the_share_of_test_samples_with_a_known_class(rows):
    parts, labels = zip(*rows, strict=True)
    if len(set(parts)) < 2:
        return
    known = {label for part, label in rows if part == "train"}
    tests = [label for part, label in rows if part == "test"]
    findings = unseen_classes(labels, samples(parts))
    assert bool(findings) == bool(set(tests) - known)
    if findings:
        ceiling = sum(label in known for label in tests) / len(tests)
        assert f"accuracy cannot exceed {ceiling:.4f}" in findings[0].evidence
        assert findings[0].evidence.startswith(f"{len(set(tests) - known)} of {len(set(tests))} classes of test")


def test_classes_of_training_alone_are_no_finding():
    assert unseen_classes(["a", "b", "a", "a"], samples(PARTS)) == ()
    assert unseen_classes(["a", "b", "a", "c"], samples(PARTS), Split(("test",), ("train",)))[0].evidence.startswith(
        "1 of 2"
    )


@pytest.mark.parametrize(
    ("check", "targets", "message"),
    [
        (degenerate_targets, ["a"], "expected one target for each of 4 samples"),
        (degenerate_targets, [1.0, 2.0, np.nan, 1.0], "expected finite numbers"),
        (unseen_classes, [1.0, 2.0, 3.0, 4.0], "expected one label per sample"),
        (unseen_classes, np.zeros((4, 2), int), "expected one label per sample"),
    ],
)
def test_targets_are_one_per_sample(check, targets, message):
    with pytest.raises(InputError, match=message):
        check(targets, samples(PARTS))
