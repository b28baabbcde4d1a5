"""Folds of samples; parts and findings of each fold are worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.audit import split
from gnomon.audit.people import shared_tags
from gnomon.audit.split import FOLD, fold_names, in_every_fold, of_fold, taken
from gnomon.core.errors import InputError
from gnomon.core.samples import Samples


def samples(parts, folds=None, **tags):
    n = len(parts)
    ranges = np.stack([np.arange(n), np.arange(n) + 1], axis=1)
    names = tuple(f"s{i}" for i in range(n))
    tags = {name: tuple(column) for name, column in tags.items()}
    return Samples(names, names, tuple(parts), ranges, ranges, names, tags | ({FOLD: tuple(folds)} if folds else {}))


def roles(found):
    return dict(zip(found.ids, found.parts, strict=True))


def test_a_rotating_sample_is_tested_in_its_fold_and_trained_on_in_the_others():
    rotating = samples([FOLD] * 4, "abba")
    assert fold_names(rotating) == ("a", "b")
    assert roles(of_fold(rotating, "a")) == {"s0": "test", "s1": "train", "s2": "train", "s3": "test"}
    assert roles(of_fold(rotating, "b")) == {"s0": "train", "s1": "test", "s2": "test", "s3": "train"}


def test_other_samples_keep_their_part_in_the_folds_that_they_are_of():
    mixed = samples([FOLD, FOLD, "train", "val", "test"], ["a", "b", "", "a", "b"])
    assert roles(of_fold(mixed, "a")) == {"s0": "test", "s1": "train", "s2": "train", "s3": "val"}
    assert roles(of_fold(mixed, "b")) == {"s0": "train", "s1": "test", "s2": "train", "s4": "test"}


def test_what_is_taken_keeps_its_columns():
    found = taken(samples(["train", "test", "test"], subject="xyz"), [2, 0])
    assert (found.ids, found.parts, found.digests, found.tags["subject"]) == (
        ("s2", "s0"),
        ("test", "train"),
        ("s2", "s0"),
        ("z", "x"),
    )
    assert found.input_range.tolist() == [[2, 3], [0, 1]]


def test_a_finding_of_several_folds_is_said_once():
    """x is in folds a and b, y in b and c, z in c alone: folds a, b and c each test somebody known."""
    rotating = samples([FOLD] * 5, "abbcc", subject="xxyyz")
    (finding,) = in_every_fold(lambda part: shared_tags(part, ["subject"]), rotating)
    assert finding.evidence == (
        "in 3 of 3 folds; in fold 'a', 1 of 1 subject of test are in train too, with 1 of 1 test samples: 'x'"
    )


def test_folds_that_keep_people_apart_are_clean():
    rotating = samples([FOLD] * 5, "aabbc", subject="xxyyz")
    assert in_every_fold(lambda part: shared_tags(part, ["subject"]), rotating) == ()


def test_without_folds_a_check_is_made_once():
    calls = []
    plain = samples(["train", "test"])
    assert in_every_fold(lambda part: calls.append(part) or (), plain) == ()
    assert calls == [plain]


def test_more_than_can_be_compared_is_refused(monkeypatch):
    monkeypatch.setattr(split, "MOST_COMPARED", 7)
    with pytest.raises(InputError, match="4 samples in 2 folds are too many to compare"):
        in_every_fold(lambda _: (), samples([FOLD] * 4, "abab"))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=2, max_size=12))
def test_a_group_in_two_folds_is_found_and_no_other(rows):
    """By brute force: somebody is in two folds."""
    folds, people = zip(*rows, strict=True)
    if len(set(folds)) < 2:
        return
    found = in_every_fold(
        lambda part: shared_tags(part, ["subject"]), samples([FOLD] * len(rows), folds, subject=people)
    )
    assert bool(found) == any(len({f for f, p in rows if p == person}) > 1 for person in people)
