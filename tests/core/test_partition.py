"""Parts of groups. Counts are worked by hand; laws hold for any groups, shares and seeds."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.partition import PARTS, PartOptions, Shares, parts, shares
from gnomon.core.seeds import generator

GROUPS = st.sets(st.text(min_size=1, max_size=6), min_size=7, max_size=60)


@given(GROUPS, st.integers(0, 2**31), st.randoms())
def test_every_group_is_in_one_part_whatever_the_order(groups, seed, random):
    listed = list(groups) * 2
    random.shuffle(listed)
    found = parts(listed, shares("70/15/15"), seed)
    assert set(found) == groups
    assert found == parts(sorted(groups), shares("70/15/15"), seed)
    assert set(found.values()) == set(PARTS)


@given(st.integers(1, 400), st.tuples(*[st.integers(1, 100)] * 3))
def test_counts_are_within_one_of_the_shares(total, given_shares):
    exact = [Fraction(total * share, sum(given_shares)) for share in given_shares]
    try:
        found = Counter(parts(map(str, range(total)), Shares(*map(Fraction, given_shares)), 42).values())
    except InputError:
        assert min(exact) < 1
        return
    assert sum(found.values()) == total
    assert all(abs(found[part] - share) < 1 for part, share in zip(PARTS, exact, strict=True))


@pytest.mark.parametrize(
    ("total", "counts"),
    [
        (5, (3, 1, 1)),  # 3.5, .75, .75: the remainders of val and test are larger
        (6, (4, 1, 1)),
        (20, (14, 3, 3)),
        (217, (152, 33, 32)),  # 151.9, 32.55, 32.55: two are left, train first, then the earlier of equal ones
    ],
)
def test_counts_by_hand(total, counts):
    found = Counter(parts((f"room {n}" for n in range(total)), shares("70/15/15"), 42).values())
    assert tuple(found[part] for part in PARTS) == counts


def test_seeds_give_different_parts():
    groups = [f"s{n}" for n in range(30)]
    found = [parts(groups, shares("70/15/15"), seed) for seed in range(5)]
    assert len({tuple(item.values()) for item in found}) == 5


def test_groups_are_sorted_shuffled_and_cut():
    """Expected by the recipe, step by step; numbers come before text, in numeric order."""
    names = ["9", "10", "a", "b", "c"]
    order = generator(42, "partition").permutation(5).tolist()
    shuffled = [names[place] for place in order]
    expected = dict(zip(shuffled, ["train"] * 3 + ["val", "test"], strict=True))
    assert parts(["b", "10", "a", "9", "c"], shares("60/20/20"), 42) == expected


def test_the_parts_of_a_seed_stay_what_they_are():
    """Recorded once: if this changes, groups that were kept for the test have been chosen by."""
    found = parts([f"s{n:02d}" for n in range(1, 11)], shares("60/20/20"), 42)
    assert [group for group, part in found.items() if part == "val"] == ["s02", "s06"]
    assert [group for group, part in found.items() if part == "test"] == ["s01", "s03"]


@pytest.mark.parametrize("total", [1, 2, 3, 4])
def test_a_part_that_would_be_empty_is_refused(total):
    with pytest.raises(InputError, match=r"subjects? split 70/15/15 leave none for .*test: give more subjects"):
        parts(map(str, range(total)), shares("70/15/15"), 42, "subject")


def test_a_part_may_be_left_out_but_not_chosen():
    found = PartOptions(part="val", split="0/1/1").parts("abcd")
    assert sorted(found.values()) == ["test", "test", "val", "val"]
    with pytest.raises(InputError, match="--part train: --split 0/1/1 gives it no room"):
        PartOptions(part="train", split="0/1/1").parts("abcd", "room")


@pytest.mark.parametrize("text", ["", "70/30", "a/b/c", "0/0/0", "-1/1/1", "1/1/1/1", "1/0/0/", "nan/1/1"])
def test_odd_shares_are_refused(text):
    with pytest.raises(InputError, match="expected three shares such as 70/15/15"):
        shares(text)


def test_shares_are_recorded_as_percent():
    options = PartOptions(part="val", split="2/1/1", split_seed=7)
    record = options.split_record(options.parts("abcd"), "room")
    groups = {"train": 2, "val": 1, "test": 1}
    assert record == {"part": "val", "by": "room", "shares": "50/25/25", "seed": 7, "groups": groups}
    assert PartOptions().split_record({}, "room") == {}
