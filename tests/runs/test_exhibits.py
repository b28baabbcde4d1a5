"""Exhibits: what is packed is read back, worst first, and a damaged file says so."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import GnomonError, InputError
from gnomon.runs import exhibits
from gnomon.runs.exhibits import Exhibit


@pytest.fixture
def folder(tmp_path):
    items = [
        Exhibit("tame", {"window": [0, 1]}, {"start": np.arange(5.0)}, 0.1, "F1 0.9"),
        Exhibit("wild", {"window": [0, 2]}, {"start": np.arange(3.0), "points": np.ones((2, 3), "f4")}, 0.9),
    ]
    (tmp_path / exhibits.NAME).write_bytes(exhibits.pack(items, of=7))
    return tmp_path


def test_the_worst_comes_first_and_the_list_knows_of_how_many(folder):
    found = exhibits.listed(folder)
    assert [(entry.case, entry.note) for entry in found.entries] == [("wild", ""), ("tame", "F1 0.9")]
    assert found.of == 7


def test_an_exhibit_is_read_back_as_it_was(folder):
    found = exhibits.read(folder, "wild")
    assert found.data == {"window": [0, 2]}
    np.testing.assert_array_equal(found.arrays["start"], [0, 1, 2])
    assert found.arrays["points"].dtype == np.float32
    assert found.arrays["points"].shape == (2, 3)


def test_the_same_exhibits_give_the_same_bytes_in_any_order():
    one, two = Exhibit("a", {}, {"x": np.arange(2)}), Exhibit("b", {}, {"x": np.arange(3)})
    assert exhibits.pack([one, two], of=2) == exhibits.pack([two, one], of=2)


def test_a_run_without_exhibits_has_an_empty_list(tmp_path):
    assert exhibits.listed(tmp_path).entries == ()
    assert exhibits.listed(None).entries == ()


def test_an_unknown_case_is_refused_by_name(folder):
    with pytest.raises(InputError, match=r"no exhibit of case 'other'.*keeps 2 cases"):
        exhibits.read(folder, "other")


def test_a_truncated_file_is_refused(folder):
    path = folder / exhibits.NAME
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(GnomonError):
        exhibits.listed(folder)


def keep_worst(cases, most, room=math.inf):
    worst = exhibits.Worst(most, room)
    made = []

    def make(case):
        made.append(case)
        return case

    for case, badness, size in cases:
        worst.offer(case, badness, lambda case=case: make(case), size)
    return worst.items, made


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 3)), unique_by=lambda one: one[0]),
    st.integers(0, 4),
    st.randoms(),
)
def test_the_worst_are_kept_in_whatever_order_they_are_offered(cases, most, rng):
    """Reference: all cases sorted by badness, then by name."""
    expected = [case for case, _ in sorted(cases, key=lambda one: (-one[1], one[0]))][:most]
    shuffled = [(case, badness, 0) for case, badness in cases]
    rng.shuffle(shuffled)
    assert keep_worst(shuffled, most)[0] == expected


def test_no_more_is_kept_than_there_is_room_for():
    cases = [("a", 3.0, 50), ("b", 2.0, 40), ("c", 1.0, 40)]
    assert keep_worst(cases, 3, room=100)[0] == ["a", "b"]
    assert keep_worst(cases[::-1], 3, room=100)[0] == ["a", "b"]
    cases[1] = ("b", 2.0, 60)
    for order in itertools.permutations(cases):
        assert keep_worst(order, 3, room=100)[0] == ["a"], "what is less bad than one that did not fit is not kept"
    assert keep_worst(cases[::-1], 3, room=10)[0] == ["a"], "the worst is kept whatever its size"


def test_offered_from_the_worst_on_no_more_are_made_than_are_kept():
    made = []
    worst = exhibits.Worst(2)
    worst.offer_all(["a", "b", "c", "d"], [0.1, 0.4, 0.3, 0.4], lambda place: made.append(place) or place)
    assert worst.items == made == [1, 3]
    worst = exhibits.Worst(2)
    worst.offer_all(["a", "b", "c"], [0.1, 0.4, 0.3], lambda place: None if place == 1 else place)
    assert worst.items == [2, 0], "one that cannot be shown makes room for the next"


def test_items_are_measured_once_they_are_made():
    made, measured = [], []
    sizes = {"a": 50, "b": 60, "c": 10}
    worst = exhibits.Worst(3, 100)
    worst.offer_all(
        list(sizes),
        [3.0, 2.0, 1.0],
        lambda place: made.append(place) or "abc"[place],
        lambda item: measured.append(item) or sizes[item],
    )
    assert worst.items == ["a"]
    assert (made, measured) == ([0, 1], ["a", "b"]), "what is less bad than one that did not fit is not made"
