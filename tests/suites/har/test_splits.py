"""Splits. Sizes are the published ones; the procedure is written out again in the test with plain lists."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.suites.har.splits import balanced_subsample, published, strict

SIZES = {
    "motionsense": (12080, 6, (9664, 1208, 1208), 96, 966),
    "realworld": (27138, 8, (21710, 2713, 2715), 216, 2168),
    "mobiact": (4345, 13, (3476, 434, 435), 26, 338),
    "vtt_coniot": (2058, 16, (1646, 205, 207), 16, 160),
}
GOLDEN = {
    0.01: "2ce86f05664c",
    0.1: "4af4f6c7843f",
}
"""First digits of the hash of the index sets of 12,080 windows of classes 0 to 5 in turn, as numpy 2.x gave them."""


@pytest.mark.parametrize("name", SIZES)
def test_the_published_sizes(name):
    n, classes, parts, one, ten = SIZES[name]
    labels = np.arange(n) % classes
    for rate, labelled in ((0.01, one), (0.1, ten)):
        found = published(n, labels, rate)
        assert (len(found.train), len(found.val), len(found.test)) == parts
        assert len(found.labelled) == labelled
        assert sorted(np.concatenate([found.train, found.val, found.test]).tolist()) == list(range(n))
        assert set(found.labelled.tolist()) <= set(found.train.tolist())
        assert len(set(np.bincount(labels[found.labelled]).tolist())) == 1


def by_hand(n, labels, rate, seed):
    random = np.random.RandomState(seed)
    order = list(range(n))
    random.shuffle(order)
    train = order[: int(0.8 * n)]
    budget = max(1, int(len(train) * rate))
    classes = sorted({labels[k] for k in train})
    each = max(1, budget // len(classes))
    chosen = []
    for label in classes:
        mine = [k for k in train if labels[k] == label]
        random.shuffle(mine)
        chosen += mine[:each]
    random.shuffle(chosen)
    return train, order[len(train) : len(train) + int(0.1 * n)], chosen


@given(st.lists(st.sampled_from(["sit", "walk", "run"]), min_size=2, max_size=60), st.sampled_from([0.01, 0.1, 0.5]))
def test_the_published_procedure_written_out(labels, rate):
    found = published(len(labels), labels, rate, seed=7)
    train, val, chosen = by_hand(len(labels), labels, rate, 7)
    assert found.train.tolist() == train
    assert found.val.tolist() == val
    assert found.labelled.tolist() == chosen


def test_index_sets_are_golden_and_the_same_in_another_process():
    code = (
        "import numpy as np; from gnomon.suites.har.splits import published, strict;"
        "y = np.arange(12080) % 6;"
        "print(*[published(12080, y, r).digest() for r in (.01, .1)],"
        " strict([str(k % 10) for k in range(600)], y[:600], .1, 1).digest())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    labels = np.arange(12080) % 6
    here = [published(12080, labels, rate).digest() for rate in (0.01, 0.1)]
    here.append(strict([str(k % 10) for k in range(600)], labels[:600], 0.1, 1).digest())
    assert done == here
    assert [text[:12] for text in here[:2]] == list(GOLDEN.values())


def test_proportional_follows_the_classes():
    labels = np.array(["a"] * 900 + ["b"] * 95 + ["c"] * 5)
    rows = np.arange(1000)
    drawn = balanced_subsample(rows, labels, 0.1, np.random.RandomState(1), "proportional")
    assert {str(k): int((labels[drawn] == k).sum()) for k in np.unique(labels)} == {"a": 90, "b": 9, "c": 1}
    equal = balanced_subsample(rows, labels, 0.1, np.random.RandomState(1))
    assert {str(k): int((labels[equal] == k).sum()) for k in np.unique(labels)} == {"a": 33, "b": 33, "c": 5}


def test_without_a_rate_all_training_windows_are_labelled():
    found = published(100, ["a"] * 100)
    assert found.labelled.tolist() == found.train.tolist()


@given(st.integers(3, 40), st.integers(0, 5))
def test_strict_puts_nobody_on_two_sides(people, seed):
    subjects = [f"s{k % people}" for k in range(people * 7)]
    labels = ["ab"[k % 2] for k in range(len(subjects))]
    found = strict(subjects, labels, 0.1, seed)
    sides = [{subjects[k] for k in part} for part in (found.train, found.val, found.test)]
    assert sum(map(len, sides)) == people
    assert all(sides)
    assert set().union(*sides) == set(subjects)
    assert set(found.labelled.tolist()) <= set(found.train.tolist())
    assert found.digest() == strict(subjects, labels, 0.1, seed).digest()


def test_strict_shares_of_ten_and_twenty_four_people():
    for people, sizes in ((10, (8, 1, 1)), (24, (19, 2, 3)), (3, (1, 1, 1)), (8, (6, 1, 1))):
        subjects = [f"s{k}" for k in range(people)]
        found = strict(subjects, ["x"] * people)
        assert (len(found.train), len(found.val), len(found.test)) == sizes


def test_what_cannot_be_split_is_refused():
    with pytest.raises(InputError, match="2 subjects, expected at least 3"):
        strict(["a", "b"], ["x", "y"], 0.1)
    with pytest.raises(InputError, match="expected 3 labels"):
        published(3, ["a"])
    with pytest.raises(InputError, match="expected more than 0"):
        published(10, ["a"] * 10, 0.0)
    with pytest.raises(InputError, match="mode"):
        published(10, ["a"] * 10, 0.1, "fair")
    with pytest.raises(InputError, match="training part is empty"):
        published(1, ["a"], 0.1)
