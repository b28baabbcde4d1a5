"""Ranges against a loop over all pairs; counts of the published episode protocol are those known of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.audit.ranges import read_ranges, touching
from gnomon.audit.split import Split
from gnomon.core.errors import InputError
from gnomon.core.samples import Samples
from gnomon.testing.planted.splits import episode

RANGE = st.tuples(st.integers(0, 12), st.integers(0, 4)).map(lambda pair: (pair[0], pair[0] + pair[1]))
SAMPLE = st.tuples(st.sampled_from("ab"), st.sampled_from(["train", "test"]), RANGE, RANGE)


def build(rows, tags=None):
    ids = tuple(f"s{i}" for i in range(len(rows)))
    cases, parts, inputs, targets = zip(*rows, strict=True)
    return Samples(ids, cases, parts, np.array(inputs), np.array(targets), tags=tags or {})


def touched(rows, embargo):
    """Test samples that touch a training sample, by the definition."""
    found = set()
    for i, (case, part, *mine) in enumerate(rows):
        for other, other_part, *theirs in rows:
            if part == "test" and other_part == "train" and case == other:
                for a in mine:
                    for b in theirs:
                        filled = a[0] < a[1] and b[0] < b[1]
                        if filled and a[0] < b[1] + embargo and b[0] < a[1] + embargo:
                            found.add(i)
    return found


@given(st.lists(SAMPLE, min_size=2, max_size=14), st.integers(0, 3))
def test_ranges_touch_as_a_loop_over_all_pairs_says(rows, embargo):
    if {part for _, part, _, _ in rows} != {"train", "test"}:
        return
    tests = sum(part == "test" for _, part, _, _ in rows)
    found = {finding.id: finding.evidence for finding in read_ranges(build(rows), embargo=embargo)}
    overlapping, near = touched(rows, 0), touched(rows, embargo)
    expected = {}
    if overlapping:
        expected["read-ranges-overlap"] = f"{len(overlapping)} of {tests} test samples"
    if near - overlapping:
        expected["inside-embargo"] = f"{len(near - overlapping)} of {tests} test samples"
    assert found.keys() == expected.keys()
    assert all(found[name].startswith(text) for name, text in expected.items())


@given(st.lists(RANGE, max_size=8), st.lists(RANGE.filter(lambda r: r[0] < r[1]), max_size=8), st.floats(0, 3))
def test_touching_of_one_recording(ranges, others, embargo):
    a, b = (np.array(side, dtype=float).reshape(-1, 2) for side in (ranges, others))
    found = touching(np.zeros(len(a), int), a, np.zeros(len(b), int), b, embargo=embargo)
    assert found.tolist() == [any(s < f + embargo and o < e + embargo for o, f in b) for s, e in a]


def pairs(offset):
    """Each window beside the window so many after it, twice, 70/30 by time; ranges of both as input and target."""
    first = np.arange(1161 - offset)
    a, b = (np.stack([5 * i, 5 * i + 20], axis=1) for i in (first, first + offset))
    return first, a, b


def split_pairs(first, inputs, targets, train):
    parts = tuple("train" if i < train else "test" for i in first.tolist())
    return Samples(tuple(map(str, range(len(first)))), ("e",) * len(first), parts, inputs, targets)


def temporal_order():
    first, a, b = pairs(1)
    return split_pairs(np.repeat(first, 2), np.repeat(a, 2, 0), np.repeat(b, 2, 0), 812)


def misalignment():
    first, a, b = pairs(8)
    both = np.stack([a, b], axis=1).reshape(-1, 2)
    return split_pairs(np.repeat(first, 2), np.repeat(a, 2, 0), both, 807)


def transition():
    plain = episode()
    return Samples(plain.ids, plain.cases, plain.parts, plain.input_range, plain.input_range - [1, 0])


@pytest.mark.parametrize(
    ("samples", "overlapping", "tests"),
    [
        (episode(), 3, 348),
        (episode(19, 20), 7, 348),
        (episode(0, 10), 5, 348),
        (transition(), 4, 348),
        (temporal_order(), 8, 696),
        (misalignment(), 22, 692),
    ],
    ids=["window", "next action", "forecast", "transition", "temporal order", "misalignment"],
)
def test_overlaps_of_the_published_episode_protocol_are_counted(samples, overlapping, tests):
    (finding,) = read_ranges(samples)
    assert finding.severity == "error"
    assert finding.evidence.startswith(f"{overlapping} of {tests} test samples read what train samples read")


def test_the_first_pair_is_named_with_its_ranges():
    rows = [("a", "train", (0, 4), (4, 5)), ("a", "test", (9, 12), (4, 6)), ("a", "test", (20, 21), (21, 22))]
    (finding,) = read_ranges(build(rows))
    assert finding.evidence == (
        "1 of 2 test samples read what train samples read (target on target 1); "
        "first: target [4, 6) of 's1' and target [4, 5) of 's0' of cases 'a'"
    )


def test_a_gap_of_the_embargo_is_clean_and_a_smaller_one_is_not():
    rows = [("a", "train", (0, 4), (0, 4)), ("a", "test", (6, 9), (6, 9))]
    assert read_ranges(build(rows), embargo=2) == ()
    (finding,) = read_ranges(build(rows), embargo=2.1)
    assert finding.id == "inside-embargo"
    assert "come nearer to train samples than 2.1" in finding.evidence


def test_the_gap_counts_on_both_sides_of_a_test_sample():
    after = [("a", "train", (6, 9), (6, 9)), ("a", "test", (0, 4), (0, 4))]
    assert [f.id for f in read_ranges(build(after), embargo=3)] == ["inside-embargo"]


def test_rounding_does_not_make_a_purged_split_dirty():
    ends = np.cumsum(np.full(50, 0.1))
    for end in ends.tolist():
        rows = [("a", "train", (0, end), (0, end)), ("a", "test", (end + 0.3, 99), (end + 0.3, 99))]
        assert read_ranges(build(rows), embargo=0.3) == ()


def test_recordings_are_apart_and_a_tag_can_name_them():
    rows = [("segment 1", "train", (0, 5), (0, 5)), ("segment 2", "test", (4, 9), (4, 9))]
    assert read_ranges(build(rows)) == ()
    (finding,) = read_ranges(build(rows, {"episode": ("e", "e")}), axis="episode")
    assert finding.id == "read-ranges-overlap"
    assert finding.evidence.endswith("of episode 'e'")


def test_large_times_of_many_recordings_are_not_rounded():
    start = 1.7e9 + np.arange(4000) * 1e-3
    ranges = np.stack([start, start + 1e-3], axis=1)
    ranges[1:, 0] = ranges[:-1, 1]
    cases = tuple(f"r{i % 7}" for i in range(4000))
    parts = tuple("train" if i < 2000 else "test" for i in range(4000))
    assert read_ranges(Samples(tuple(map(str, range(4000))), cases, parts, ranges, ranges)) == ()


def test_the_split_may_be_another():
    rows = [("a", "fold 1", (0, 5), (0, 5)), ("a", "fold 2", (4, 9), (4, 9))]
    (finding,) = read_ranges(build(rows), Split(("fold 1",), ("fold 2",)))
    assert "1 of 1 fold 2 samples read what fold 1 samples read" in finding.evidence


@pytest.mark.parametrize("embargo", [-1, float("nan"), float("inf")])
def test_an_embargo_is_a_length(embargo):
    with pytest.raises(InputError, match="embargo: expected a finite number that is not negative"):
        read_ranges(episode(), embargo=embargo)
