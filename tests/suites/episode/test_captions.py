"""Captions: expected labels are worked out by hand on small captions, and by a plain loop over frames on others."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.suites.episode.captions import DROPPED, OUTSIDE, UNREADABLE, Segment, parse

N = 20
STEP = 50_000_000
FIRST = 72_857_807_732_824
TIMES = FIRST + STEP * np.arange(N)


def segment(start, end, *actions, name=0, task="task", **more):
    listed = [{"label": label, "start_frame": a, "end_frame": b} for label, a, b in actions]
    head = {"segment_id": name, "start_frame": start, "end_frame": end}
    return {**head, "Sub Task": task, "Current Action": listed, "objects": {}, "interaction": {}, **more}


def read(*segments, n=N, times=None):
    raw = json.dumps({"config": {}, "segments": segments}).encode()
    return parse(raw, TIMES[:n] if times is None else times, n)


def runs(labels):
    """Return stretches of equal labels as text: ``a*3 b*2``, with - for none."""
    out = []
    for label in labels:
        if out and out[-1][0] == label:
            out[-1][1] += 1
        else:
            out.append([label, 1])
    return " ".join(f"{label or '-'}*{count}" for label, count in out)


def at(frame, offset=0):
    return str(int(TIMES[0]) + STEP * frame + offset)


@pytest.mark.parametrize(
    "reference",
    [5, "5", "0005", 5.0, "frame_0000005", "frame_5.jpg", at(5), int(at(5)), float(at(5)), f"{at(5)}.jpg", " 5 "],
)
def test_every_form_of_a_reference(reference):
    found = read(segment(reference, 9))
    assert found.segments == (Segment("0", 5, 10, "task"),)
    assert found.repairs == {"segments without actions": 1}


@pytest.mark.parametrize(
    ("offset", "frame"), [(0, 5), (24_999_999, 5), (25_000_000, 5), (25_000_001, 6), (-25_000_000, 4), (-24_999_999, 5)]
)
def test_a_time_stands_for_the_nearest_frame(offset, frame):
    """The earlier one where two are equally near."""
    assert read(segment(at(5, offset), 19)).segments[0].start == frame


def test_times_just_beyond_the_ends_belong_to_the_end_frames():
    found = read(segment(at(0, -25_000_000), at(19, 25_000_000)))
    assert (found.segments[0].start, found.segments[0].stop) == (0, 20)
    assert OUTSIDE not in found.repairs


def test_a_range_is_cut_to_the_episode_and_counted():
    found = read(segment(at(-3), "frame_0000020", ("a", 18, 400)))
    assert found.segments == (Segment("0", 0, 20, "task"),)
    assert runs(found.action) == "a*20"
    assert found.repairs == {OUTSIDE: 3}


def test_a_range_outside_is_left_out_and_never_moved_inside():
    found = read(segment(0, 9, ("a", 0, 4), ("b", 30, 40)), segment(at(25), at(60), ("c", at(26), at(30)), name=1))
    assert [s.id for s in found.segments] == ["0"]
    assert runs(found.action) == "a*20"
    assert found.repairs == {OUTSIDE: 6, DROPPED: 3}


@pytest.mark.parametrize("reference", [None, True, "first", "frame_", 5.5, [5], {"frame": 5}, "-3", ""])
def test_references_that_cannot_be_read_are_counted(reference):
    found = read(segment(reference, 9), segment(10, 19, name=1))
    assert [s.id for s in found.segments] == ["1"]
    assert found.repairs == {UNREADABLE: 1, "segments without actions": 1}


def test_negative_numbers_lie_before_the_episode():
    assert read(segment(-5, 4)).segments[0] == Segment("0", 0, 5, "task")
    assert read(segment(-5, -1)).segments == ()


def test_ends_are_inclusive_and_a_later_action_overwrites():
    found = read(segment(0, 19, ("a", 0, 9), ("b", 5, 7), ("c", 10, 19)))
    assert runs(found.action) == "a*5 b*3 a*2 c*10"


def test_a_gap_takes_the_action_that_ended_last_else_the_first():
    found = read(segment(2, 15, ("a", 4, 5), ("b", 8, 9)))
    assert runs(found.action) == "-*2 a*6 b*12"


def test_a_gap_takes_the_action_that_ended_last_not_the_last_of_the_list():
    found = read(segment(0, 19, ("b", 6, 9), ("a", 2, 3)))
    assert runs(found.action) == "b*2 a*4 b*14"
    assert found.repairs == {"actions out of order": 1}


def test_gaps_are_filled_from_the_own_segment_and_actions_run_past_theirs():
    """Frames 12 and 13 are a gap of the second segment, in which no action has ended yet."""
    found = read(segment(0, 9, ("a", 0, 11)), segment(10, 19, ("b", 14, 15), name=1))
    assert runs(found.action) == "a*12 b*8"
    assert found.repairs == {"actions past their segment": 1}


def test_action_and_subtask_are_carried_across_segments():
    found = read(
        segment(2, 5, ("a", 2, 5), task="one"), segment(8, 11, name=1, task="two"), segment(14, 15, task="", name=2)
    )
    assert runs(found.action) == "-*2 a*18"
    assert runs(found.subtask) == "-*2 one*6 two*12"
    assert [s.subtask for s in found.segments] == ["one", "two", ""]
    assert found.repairs == {"segments without actions": 2}


def test_objects_and_interaction_hold_within_their_segment_only():
    first = segment(0, 9, objects={at(6): ["cup"], "2": ["pot", "cup", " lid "]}, interaction={"frame_3": "pours"})
    second = segment(10, 19, name=1, objects={"15": []}, interaction={"12": "waits", "16": ""})
    found = read(first, second)
    assert [sorted(names) for names in found.objects] == [[]] * 2 + [["cup", "lid", "pot"]] * 4 + [["cup"]] * 4 + [
        []
    ] * 10
    assert runs(found.interaction) == "-*3 pours*7 -*2 waits*4 -*4"


def test_points_outside_episode_or_segment_are_left_out_and_counted():
    found = read(segment(0, 9, objects={"12": ["cup"], "99": ["pot"]}, interaction={"x": "y", at(-9): "z"}))
    assert not any(found.objects)
    assert not any(found.interaction)
    expected = {OUTSIDE: 2, UNREADABLE: 1, "objects outside their segment, left out": 1, "segments without actions": 1}
    assert found.repairs == expected


def test_order_and_overlap_of_segments_are_counted():
    found = read(segment(10, 19, name="b"), segment(0, 10, name="a"), segment(12, 19, name="b"))
    assert [(s.id, s.start) for s in found.segments] == [("a", 0), ("b", 10), ("b#2", 12)]
    expected = {"segments out of order": 1, "segments that overlap": 2, "segment ids that are repeated, numbered": 1}
    assert {key: found.repairs[key] for key in expected} == expected


def test_odd_parts_are_left_out_and_counted():
    odd = {"Current Action": "cut", "objects": ["cup"], "interaction": {"3": 7}, "Sub Task": 5, "segment_id": None}
    found = read(segment(0, 5, **odd), segment(6, 9, ("", 6, 7), ("a", 9, 8), objects={"6": "cup"}, name=1))
    assert found.segments[0] == Segment("0", 0, 6, "")
    assert found.repairs == {
        "actions without a label, left out": 1,
        "labels that are not text, left out": 3,
        "lists of actions that are none, left out": 1,
        "objects that are no mapping, left out": 1,
        "ranges that end before they start, left out": 1,
    }


def test_repeated_keys_are_counted():
    raw = json.dumps({"segments": [segment(0, 9, objects={"1": ["a"], "2": ["b"]})]}).replace('"2": [', '"1": [')
    found = parse(raw.encode(), TIMES, N)
    assert found.repairs["keys that are repeated, of which the last holds"] == 1
    assert found.objects[5] == {"b"}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a JSON document"),
        (b'{"segments": [', "not a JSON document"),
        (b'{"segments": [{}] "x"}', "not a JSON document .*byte 18"),
        (b"\xff\xfe", "not a JSON document"),
        (b"[]", "expected an object with a list of segments, but got list"),
        (b'{"config": {}}', "but got the keys config"),
        (b'{"segments": {}}', "expected an object with a list of segments"),
        (b'{"segments": [{}, 3]}', r"segments\[1\]: expected an object, but got 3"),
        (b'{"segments": ' + b"[" * 100 + b"]" * 100 + b"}", "nested 101 deep"),
    ],
)
def test_broken_captions_are_refused(raw, message):
    with pytest.raises(InputError, match=f"file: caption: .*{message}"):
        parse(raw, TIMES, N, where="file: caption")


def test_a_caption_without_segments_labels_nothing():
    found = read()
    assert runs(found.action) == runs(found.subtask) == runs(found.interaction) == "-*20"
    assert found.segments == ()
    assert found.repairs == {}


def plain(segments, n):
    """Return actions and sub-tasks by the rules of the layout, frame by frame."""
    action, subtask = [""] * n, [""] * n
    for s in segments:
        for frame in range(max(s["start_frame"], 0), min(s["end_frame"] + 1, n)):
            subtask[frame] = s["Sub Task"]
        for a in s["Current Action"]:
            for frame in range(max(a["start_frame"], 0), min(a["end_frame"] + 1, n)):
                action[frame] = a["label"]
    for s in segments:
        own = [a for a in s["Current Action"] if a["start_frame"] < n]
        for frame in range(s["start_frame"], min(s["end_frame"] + 1, n)):
            if own and not action[frame]:
                ended = [a for a in own if min(a["end_frame"], n - 1) < frame]
                ended.sort(key=lambda a: min(a["end_frame"], n - 1))
                action[frame] = (ended[-1] if ended else own[0])["label"]
    for labels in (action, subtask):
        for frame in range(1, n):
            labels[frame] = labels[frame] or labels[frame - 1]
    return tuple(action), tuple(subtask)


@st.composite
def annotations(draw):
    n = draw(st.integers(2, 40))
    edges = sorted(draw(st.lists(st.integers(0, n + 5), min_size=2, max_size=8, unique=True)))
    made = []
    for k, (a, b) in enumerate(pairwise(edges)):
        spans = draw(st.lists(st.tuples(st.integers(a, b), st.integers(0, 12)), max_size=4))
        made.append(
            segment(a, b - 1, *((f"a{k}.{i}", s, s + d) for i, (s, d) in enumerate(spans)), name=k, task=f"t{k}")
        )
    return n, made


@given(annotations())
def test_labels_are_those_of_a_plain_loop(case):
    n, segments = case
    found = read(*segments, times=np.arange(n) * STEP, n=n)
    assert (found.action, found.subtask) == plain(segments, n)
    assert len(found.objects) == len(found.interaction) == n


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=4,
)
KEYS = ("segment_id", "start_frame", "end_frame", "Sub Task", "Current Action", "objects", "interaction", "label")


PARTS = st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4)


@settings(max_examples=40)
@given(
    st.lists(
        st.builds(lambda part, more: {**part, "Current Action": more}, PARTS, st.lists(PARTS, max_size=2)), max_size=3
    )
)
def test_any_json_gives_labels_or_the_projects_own_error(segments):
    found = read(*segments)
    assert len(found.action) == len(found.subtask) == len(found.objects) == len(found.interaction) == N


@given(st.binary(max_size=60))
def test_any_bytes_give_the_projects_own_error(raw):
    with pytest.raises(InputError):
        parse(raw, TIMES, N)
