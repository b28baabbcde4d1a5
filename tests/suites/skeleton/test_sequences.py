"""Sequences and frames from sample ids. Expected values are written by hand; a plain rule is the reference."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.suites.skeleton.sequences import NO_FRAME, Named, find

HUMMAN = "p000438_a000040_rgb_kinect_000_depth_kinect_000_65"


def test_the_usual_rule():
    found = find([HUMMAN, HUMMAN[:-2] + "7", "x_p1_a2_9", "a_b_c_12", "alone", "a_b_c", "p1_a1", "p1_a2"], 8)
    assert [found.named[code] for code in found.codes] == [
        Named("p000438_a000040", "p000438", "a000040"),
        Named("p000438_a000040", "p000438", "a000040"),
        Named("p1_a2", "p1", "a2"),
        Named("a_b"),
        Named("alone"),
        Named("a_b"),
        Named("p1_a1", "p1", "a1"),
        Named("p1_a2", "p1", "a2"),
    ]
    assert found.frames.tolist() == [65, 7, 9, 12, NO_FRAME, NO_FRAME, 1, 2]


def plain(text):
    """The rule as the format states it, without any shortcut."""
    match = re.search(r"p[0-9]+_a[0-9]+", text)
    digits = re.search(r"([0-9]+)$", text)
    frame = int(digits[1]) if digits and len(digits[1]) <= 18 else NO_FRAME
    return match[0] if match else "_".join(text.split("_")[:2]), frame


@given(st.lists(st.text("pa_019x", max_size=14), min_size=1, max_size=20))
def test_equals_the_plain_rule(ids):
    found = find(ids, len(ids))
    assert [(found.named[c].sequence, f) for c, f in zip(found.codes, found.frames, strict=True)] == [
        plain(text) for text in ids
    ]


def test_samples_without_ids_are_one_sequence():
    found = find(None, 3)
    assert found.codes.tolist() == [0, 0, 0]
    assert found.named == (Named("all"),)


def test_order_is_that_of_frames_not_of_text():
    """Sorted as text, 10 stands before 9; a sequence with an unknown frame keeps the order of the file."""
    found = find(["s_a_10", "t_b_x", "s_a_9", "t_b_1", "s_a_100"], 5)
    assert found.order().tolist() == [2, 0, 4, 1, 3]


def test_repeated_frames_are_counted():
    found = find(["s_a_1", "s_a_1", "s_a_2", "t_b_1", "s_a_1"], 5)
    assert found.repeated().tolist() == [2, 0]


def test_a_rule_of_ones_own():
    rule = r"(?P<subject>\w+)-(?P<sequence>\d+)-f(?P<frame>\d*)"
    found = find(["ann-1-f5", "ann-1-f", "bob-1-f3"], 3, rule)
    assert found.named == (Named("1", "ann"), Named("1", "bob"))
    assert found.codes.tolist() == [0, 0, 1]
    assert found.frames.tolist() == [5, NO_FRAME, 3]


@pytest.mark.parametrize(
    ("rule", "words"), [("(", "not a regular"), ("a", "named group"), ("(?P<sequence>z)", "widen")]
)
def test_bad_rules_are_named(rule, words):
    with pytest.raises(InputError, match=words):
        find(["abc"], 1, rule)


@pytest.mark.parametrize("tail", ["9" * 30, "٣", "²"])
def test_what_is_no_number_is_no_frame(tail):
    assert find([f"s_a_{tail}"], 1).frames.tolist() == [NO_FRAME]
