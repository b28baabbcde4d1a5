"""Splits and vocabularies of the tasks. Expected values: the published sizes, by hand, or brute force in the test."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.suites.episode.tasks.splitting import by_order, by_time, cut_of, held_out
from gnomon.suites.episode.tasks.vocabulary import codes, multi_hot, unseen, vocabulary_of

PUBLISHED_CUTS = {1144: 801, 1147: 803, 1159: 811, 1160: 812, 1153: 807, 1161: 813}
"""Usable units of a task, and how many are published to be for training."""


@pytest.mark.parametrize("count", PUBLISHED_CUTS)
def test_the_published_cuts(count):
    assert cut_of(count) == PUBLISHED_CUTS[count]
    assert (by_order(np.arange(count)) == "train").sum() == PUBLISHED_CUTS[count]


@given(st.integers(0, 10_000))
def test_a_cut_is_the_nearest_number_and_half_goes_up(count):
    exact = Fraction(7 * count, 10)
    assert abs(cut_of(count) - exact) <= Fraction(1, 2)
    assert exact - cut_of(count) != Fraction(1, 2)


def test_samples_of_a_unit_stay_together():
    units = np.repeat(np.arange(7), 2)
    assert by_order(units).tolist() == ["train"] * 10 + ["test"] * 4


@given(
    st.integers(20, 400),
    st.integers(0, 40),
    st.lists(st.tuples(st.integers(0, 380), st.integers(1, 60)), min_size=1, max_size=30),
)
def test_a_cut_in_time_leaves_the_embargo_between_the_parts(n_frames, embargo, spans):
    reads = np.array([(start, start + length) for start, length in spans])
    parts = by_time(reads, n_frames, embargo).tolist()
    ends = [stop for (_, stop), part in zip(reads.tolist(), parts, strict=True) if part == "train"]
    begins = [start for (start, _), part in zip(reads.tolist(), parts, strict=True) if part == "test"]
    assert all(begin - end >= embargo for begin in begins for end in ends)
    for (start, stop), part in zip(reads.tolist(), parts, strict=True):
        across = start < cut_of(n_frames) and stop > cut_of(n_frames) - embargo
        assert (part == "purged") == across


def test_a_cut_in_time_by_hand():
    # 100 frames: the cut is at 70, training ends at 50.
    reads = np.array([[0, 50], [0, 51], [60, 70], [69, 90], [70, 90]])
    assert by_time(reads, 100, 20).tolist() == ["train", "purged", "purged", "purged", "test"]
    with pytest.raises(InputError, match=r"embargo: expected .* but got -1"):
        by_time(reads, 100, -1)


@given(st.integers(2, 60), st.integers(0, 99))
def test_episodes_are_held_out_by_seed_whatever_their_order(count, seed):
    names = [f"s/ep{k}" for k in range(count)]
    held = held_out(names, seed)
    assert held == held_out(names[::-1], seed)
    assert held < set(names)
    assert max(1, int(0.3 * count)) <= len(held) <= int(0.3 * count) + 1


def test_seeds_hold_out_different_episodes():
    names = [f"s/ep{k}" for k in range(40)]
    assert len({held_out(names, seed) for seed in range(5)}) == 5


def test_episodes_can_be_named():
    assert held_out(["a", "b", "c"], test_episodes=["b"]) == {"b"}
    with pytest.raises(InputError, match="no episode 'd'"):
        held_out(["a", "b"], test_episodes=["d"])
    for chosen in ([], ["a", "b"]):
        with pytest.raises(InputError, match="at least 1 and at most 1 of 2"):
            held_out(["a", "b"], test_episodes=chosen)
    with pytest.raises(InputError, match="expected at least 2 episodes"):
        held_out(["a"])


names = st.sampled_from(["cup", "jar", "pot", "lid"])


@given(st.lists(st.frozensets(names), max_size=12))
def test_multi_hot_gives_the_sets_back(sets):
    vocabulary = vocabulary_of(sets)
    hot = multi_hot(sets, vocabulary)
    assert hot.shape == (len(sets), len(vocabulary))
    assert [{vocabulary[k] for k in np.flatnonzero(row)} for row in hot] == [set(one) for one in sets]


def test_names_outside_the_list_have_no_code():
    assert codes(["jar", "lid"], ["jar"]).tolist() == [0, -1]
    assert multi_hot([{"jar", "lid"}], ["jar"]).tolist() == [[True]]


def test_ceilings_by_hand():
    found = unseen({"a": 1, "b": 7}, {"a": 1, "c": 2, "d": 1}, "samples")
    assert found == {"unseen_test_classes": ["c", "d"], "unseen_test_samples": 3, "ceiling": 0.25}
    assert unseen({"a": 1}, {}, "samples")["ceiling"] is None
    found = unseen({"a": 1}, {"a": 2, "b": 1}, "names")
    assert found == {"unseen_test_classes": ["b"], "unseen_test_names": 1, "ceiling": 1 - 1 / 3}
