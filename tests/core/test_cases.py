"""Expected rosters are written by hand."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.cases import Case, Corpus, Roster, join
from gnomon.core.errors import GnomonError, InputError

CASES = (
    Case("1", ("ann", "monday"), [0, 1], {"room": "hall"}),
    Case("2", ("bob", "monday"), [1, 1]),
    Case("3", ("ann", "tuesday"), [0, 0], {"room": "lab", "device": "x"}),
)


def corpus(cases=CASES, **changes):
    return Corpus(**{"name": "home", "cases": cases, "levels": ("subject", "day"), "content": "abc", **changes})


def roster(**changes):
    given = {"ids": ("1", "2", "3"), "groups": ("a", "b", "a"), "tags": {"room": ("hall", "lab", "hall")}}
    return Roster(**{**given, **changes})


def test_a_corpus_refuses_repeated_case_ids():
    with pytest.raises(InputError, match="corpus 'home' repeats case ids: '1'"):
        corpus((CASES[0], CASES[1], CASES[0]))


def test_repeated_case_ids_are_counted_in_order_of_appearance():
    cases = tuple(Case(name, ("ann", "monday"), []) for name in ("z", "1", "a", "a", "z", "z"))
    with pytest.raises(InputError, match=r"repeats case ids: 'z', 'a'$"):
        corpus(cases)


def test_a_corpus_refuses_paths_of_another_depth():
    with pytest.raises(InputError, match=r"do not have the levels .*'subject', 'day'.*: '9'"):
        corpus((*CASES, Case("9", ("ann",), [])))


def test_a_roster_groups_cases_at_a_level():
    assert corpus().roster("subject").groups == ("ann", "bob", "ann")


def test_a_deeper_group_carries_its_whole_path():
    assert corpus().roster("day").groups == ("ann/monday", "bob/monday", "ann/tuesday")


def test_groups_of_different_paths_stay_different():
    cases = (Case("1", ("a/b", "c"), []), Case("2", ("a", "b/c"), []), Case("3", ("a%2Fb", "c"), []))
    assert corpus(cases).roster("day").groups == ("a%2Fb/c", "a/b%2Fc", "a%252Fb/c")
    assert corpus(cases).roster("subject").groups == ("a%2Fb", "a", "a%252Fb")


paths = st.lists(st.text(alphabet="a/%25F", max_size=4), min_size=1, max_size=3)


@given(paths, paths)
def test_joined_paths_are_equal_only_if_the_paths_are(one, other):
    assert (join(one) == join(other)) == (one == other)
    assert join(one).count("/") == len(one) - 1


def test_a_roster_keeps_ids_level_and_tags_and_fills_absent_tags():
    made = corpus().roster("subject")
    assert made.ids == ("1", "2", "3")
    assert made.level == "subject"
    assert made.tags == {"device": ("", "", "x"), "room": ("hall", "", "lab")}


def test_an_unknown_level_is_named_with_those_there_are():
    with pytest.raises(GnomonError, match=r"no level 'room'; it has \['subject', 'day'\]"):
        corpus().roster("room")


def test_the_fingerprint_of_equal_corpora_is_equal():
    assert corpus().fingerprint == corpus(tuple(dataclasses.replace(case) for case in CASES)).fingerprint


@pytest.mark.parametrize(
    "other",
    [
        corpus(name="work"),
        corpus(levels=("person", "day")),
        corpus(content="abd"),
        corpus(CASES[::-1]),
        corpus(CASES[:2]),
        corpus((dataclasses.replace(CASES[0], tags={"room": "lab"}), *CASES[1:])),
        corpus((dataclasses.replace(CASES[0], path=("ann", "friday")), *CASES[1:])),
        corpus((dataclasses.replace(CASES[0], id="0"), *CASES[1:])),
    ],
)
def test_the_fingerprint_changes_with_anything_in_the_corpus(other):
    assert other.fingerprint != corpus().fingerprint


@pytest.mark.parametrize(
    ("groups", "codes", "names"),
    [
        (("b", "a", "b"), [1, 0, 1], ("a", "b")),
        (("10", "9", "x"), [1, 0, 2], ("9", "10", "x")),
        (("10", "-1", "9"), [2, 0, 1], ("-1", "9", "10")),
    ],
)
def test_group_codes_follow_natural_order(groups, codes, names):
    found = roster(groups=groups).codes()
    assert (found[0].tolist(), found[1]) == (codes, names)


@given(st.lists(st.sampled_from(["a", "b", "10", "9", "-1", ""]), max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_cases_does_not_change_the_order_of_groups(groups, shuffler):
    shuffled = list(groups)
    shuffler.shuffle(shuffled)
    ids = tuple(map(str, range(len(groups))))
    assert Roster(ids, tuple(shuffled)).codes()[1] == Roster(ids, tuple(groups)).codes()[1]


def test_an_empty_roster_has_no_groups():
    codes, names = Roster((), ()).codes()
    assert codes.tolist() == []
    assert names == ()


@given(st.lists(st.sampled_from("abc")))
def test_group_codes_name_the_group_of_every_case(groups):
    codes, names = Roster(tuple(map(str, range(len(groups)))), tuple(groups)).codes()
    assert [names[code] for code in codes] == groups
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("changes", [{"groups": ("a",)}, {"tags": {"room": ("hall",)}}, {"ids": ("1", "2")}])
def test_columns_of_a_roster_have_one_length(changes):
    with pytest.raises(GnomonError, match="roster columns have different lengths"):
        roster(**changes)


def test_a_roster_refuses_repeated_ids():
    with pytest.raises(GnomonError, match="repeats a case id"):
        roster(ids=("1", "2", "1"))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, [True, True, True]),
        ({"room": "hall"}, [True, False, True]),
        ({"room": "garden"}, [False, False, False]),
        ({"room": "hall", "day": "1"}, [True, False, False]),
    ],
)
def test_rows_carry_all_the_asked_tags(where, expected):
    tagged = roster(tags={"room": ("hall", "lab", "hall"), "day": ("1", "1", "2")})
    assert tagged.rows(where).tolist() == expected


def test_rows_refuse_an_unknown_tag():
    with pytest.raises(InputError, match=r"no tag 'day' in this run; it has \['room'\]"):
        roster().rows({"day": "1"})
    with pytest.raises(InputError, match="it has none"):
        roster(tags={}).rows({"day": "1"})


@pytest.mark.parametrize("rows", [np.array([2, 0]), [2, 0]])
def test_taking_rows_keeps_groups_tags_and_level(rows):
    assert roster(level="subject").take(rows) == Roster(
        ("3", "1"), ("a", "a"), {"room": ("hall", "hall")}, level="subject"
    )


def test_taking_a_mask_keeps_the_order():
    assert roster().take(np.array([True, False, True])).ids == ("1", "3")


def test_taking_nothing_leaves_an_empty_roster():
    assert len(roster().take(np.zeros(3, bool))) == 0
