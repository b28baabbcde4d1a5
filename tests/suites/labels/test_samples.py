"""Rows as samples; expected parts and digests are worked by hand."""

import numpy as np
import pytest

import gnomon
from gnomon.suites.labels import samples


def table(n=40, groups=8, coarse=False):
    """Rows of groups in turn, with a feature that tells all rows apart unless it is coarse."""
    rng = np.random.default_rng(1)
    fine = rng.standard_normal((2, n))
    first, second = np.round(fine).astype(int) if coarse else fine
    columns = {"id": [f"r{i}" for i in range(n)], "label": ["ab"[i % 2] for i in range(n)]}
    return columns | {"group": [f"g{i % groups}" for i in range(n)], "x": first.tolist(), "y": second.tolist()}


def run(rows, **options):
    return gnomon.run("labels", truth=rows, out="none", systems=("majority", "nearest_mean"), **options).runs


def test_every_row_is_tested_in_the_fold_of_its_group():
    first, second = run(table(), folds=4)
    assert first.samples is second.samples
    found = first.samples
    assert set(found.parts) == {"fold"}
    assert len(set(found.digests)) == 40
    dealt = {}
    for group, fold in zip(found.tags["group"], found.tags["fold"], strict=True):
        dealt.setdefault(group, set()).add(fold)
    assert {len(folds) for folds in dealt.values()} == {1}
    assert {fold for folds in dealt.values() for fold in folds} == set("0123")
    assert {"exact-duplicates", "shared-tags", "unseen-classes"} <= set(first.made)


def test_of_a_part_the_rows_that_are_fitted_on_are_training():
    (first, _) = run(table(), part="test", split="50/25/25")
    counts = {part: first.samples.parts.count(part) for part in set(first.samples.parts)}
    assert counts == {"train": 20, "test": 10}  # 4 and 2 of 8 groups, of 5 rows each


def test_trivial_systems_say_so():
    first, second = run(table(), folds=4)
    assert first.manifest["facts"]["trivial"] is True
    assert "trivial" not in second.manifest["facts"]


def test_coarse_features_are_not_compared():
    (first, _) = run(table(coarse=True), folds=4)
    assert first.samples.digests == ()
    assert first.not_made["exact-duplicates"] == samples.COARSE


def test_a_class_of_one_group_is_unseen_in_its_fold():
    rows = table()
    rows["label"] = [
        "rare" if group == "g3" else label for label, group in zip(rows["label"], rows["group"], strict=True)
    ]
    (finding,) = [f for f in run(rows, folds=4)[0].findings if f.id == "unseen-test-classes"]
    assert finding.evidence.startswith("in 1 of 4 folds; ")
    assert "'rare'; 5 of 10 samples have them, so accuracy cannot exceed 0.5000" in finding.evidence


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (np.arange(20.0)[:, None], False),  # one feature: nothing says that equal values are rare
        (np.random.default_rng(2).standard_normal((20, 4)), True),
        (np.zeros((20, 3)), False),
        (np.zeros((20, 0)), False),
        (np.tile(np.arange(4.0), 5)[:, None] * np.ones(30), False),  # one coarse feature thirty times
    ],
)
def test_equal_rows_are_copies_only_where_features_tell_rows_apart(rows, expected):
    assert samples.telling(rows) is expected


def test_zero_has_one_digest():
    rows = np.random.default_rng(3).standard_normal((20, 4))
    rows[0], rows[1] = 0.0, -0.0
    found = samples.digests(rows)
    assert found[0] == found[1]
    assert len(set(found)) == 19
