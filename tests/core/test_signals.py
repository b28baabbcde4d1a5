"""Expected codes and messages are written by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.signals import (
    NONE,
    Boxes,
    Intervals,
    Labels,
    LabelSets,
    PointLabels,
    Rankings,
    Skeletons,
    Vectors,
    same_frame,
)

ABC = ("a", "b", "c")


def skeletons(**changes):
    return Skeletons(**{"joints": np.zeros((2, 3, 3)), **changes})


def intervals(**changes):
    given = {"starts": [0.0, 2.0], "ends": [1.0, 3.0], "codes": [0, 1], "classes": ABC, "window": (0, 10)}
    return Intervals(**{**given, **changes})


def boxes(**changes):
    return Boxes(**{"geometry": np.ones((2, 6)), "codes": [0, 1], "classes": ABC, **changes})


@pytest.mark.parametrize(
    ("signal", "arrays"),
    [
        (Labels([0, 1], ABC), ("codes",)),
        (LabelSets(np.zeros((2, 3), bool), ABC), ("members",)),
        (intervals(scores=[0.5, 0.5]), ("starts", "ends", "codes", "scores")),
        (boxes(scores=[0.5, 0.5]), ("geometry", "codes", "scores")),
        (skeletons(), ("joints", "valid")),
        (Rankings([0, 1], [1, 1], 5, "pool"), ("greater", "equal")),
        (Vectors([[1.0], [2.0]]), ("values",)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_signals_have_a_length_and_arrays_that_cannot_be_written(signal, arrays):
    assert len(signal) == 2
    for name in arrays:
        with pytest.raises(ValueError, match="read-only"):
            getattr(signal, name)[0] = 0


def test_fields_of_a_signal_cannot_be_replaced():
    with pytest.raises(AttributeError):
        Labels([0], ABC).codes = np.array([1])


@pytest.mark.parametrize("codes", [[0, 1, 2], [NONE, 0], np.array([2, 0], np.uint8), []])
def test_labels_take_codes_of_their_classes_and_none(codes):
    assert Labels(codes, ABC).codes.tolist() == list(codes)


def test_empty_labels_hold_integers():
    assert Labels([], ABC).codes.dtype == np.int64


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([0, 3], r"code 3 at 1 is outside \[-1, 3\)"),
        ([0, 1, -2], "code -2 at 2"),
        ([0.0, 1.0], "expected a list of integer codes, but got float64"),
        ([True, False], "integer codes, but got bool"),
        ([[0, 1]], r"integer codes, but got int64 \(1, 2\)"),
        (np.array(["a"]), "integer codes"),
        ([[0], [0, 1]], "Labels: expected a regular array of numbers"),
        ([10**30], "integer codes, but got object"),
        (None, "integer codes, but got object"),
    ],
)
def test_labels_refuse_codes_that_mean_nothing(codes, message):
    with pytest.raises(InputError, match=message):
        Labels(codes, ABC)


@pytest.mark.parametrize("classes", [("a", "a"), (1, 2), ("a", None), (["a"], ["b"]), ({}, "a")])
def test_classes_are_distinct_texts(classes):
    with pytest.raises(InputError, match="Labels: classes must be distinct texts"):
        Labels([0], classes)
    with pytest.raises(InputError, match="LabelSets: classes must be distinct texts"):
        LabelSets(np.zeros((1, 2), bool), classes)


def test_labels_over_other_classes_are_renumbered_and_none_stays_none():
    labels = Labels([0, 2, NONE, 1], ABC)
    assert labels.over(("c", "x", "b", "a")).tolist() == [3, 0, NONE, 2]


def test_labels_over_their_own_classes_are_not_copied():
    labels = Labels([0, 1], ABC)
    assert labels.over(list(ABC)) is labels.codes


def test_labels_over_fewer_classes_keep_those_in_use():
    assert Labels([0, 1], ABC).over(("b", "a")).tolist() == [1, 0]


def test_labels_over_classes_that_lack_one_in_use_name_it():
    with pytest.raises(InputError, match=r"class 'c' is not among \['a', 'b'\]"):
        Labels([0, 2], ABC).over(("a", "b"))


def test_narrow_codes_are_renumbered_without_overflow():
    classes = tuple(f"{i:03d}" for i in range(200))
    wide = tuple(f"{i:03d}" for i in range(400))[::-1]
    labels = Labels(np.array([0, 199], np.uint8), classes)
    assert labels.over(wide).tolist() == [399, 200]


@given(st.lists(st.integers(-1, 2), max_size=20), st.permutations([*ABC, "d"]))
def test_renumbering_keeps_the_class_of_every_sample(codes, order):
    renumbered = Labels(codes, ABC).over(order)
    name = [None if code == NONE else order[code] for code in renumbered.tolist()]
    assert name == [None if code == NONE else ABC[code] for code in codes]


def test_taking_rows_keeps_classes_and_type():
    taken = PointLabels([0, 1, 2], ABC).take(np.array([2, 0]))
    assert type(taken) is PointLabels
    assert taken.codes.tolist() == [2, 0]
    assert taken.classes == ABC


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (np.zeros((2, 2), bool), r"booleans of shape \(n, 3\), but got bool \(2, 2\)"),
        (np.zeros((2, 3), int), "but got int64"),
        (np.zeros(3, bool), r"but got bool \(3,\)"),
        ([[True] * 3, [True]], "LabelSets: expected a regular array"),
    ],
)
def test_label_sets_are_booleans_per_class(members, message):
    with pytest.raises(InputError, match=message):
        LabelSets(members, ABC)


def test_label_sets_over_other_classes_move_their_columns():
    sets = LabelSets(np.array([[True, False, True], [False, False, True]]), ABC)
    assert sets.over(("c", "d", "a")).tolist() == [[True, False, True], [True, False, False]]
    assert sets.over(ABC) is sets.members


def test_label_sets_over_classes_that_lack_one_in_use_name_it():
    with pytest.raises(InputError, match="class 'b' is not among"):
        LabelSets(np.array([[False, True, False]]), ABC).over(("a", "c"))


def test_label_sets_take_rows():
    sets = LabelSets(np.eye(3, dtype=bool), ABC).take(np.array([False, True, False]))
    assert sets.members.tolist() == [[False, True, False]]


def test_intervals_keep_their_window_as_floats():
    window = intervals().window
    assert window == (0.0, 10.0)
    assert all(type(edge) is float for edge in window)


def test_intervals_of_no_length_are_accepted():
    assert len(intervals(starts=[1.0, 2.0], ends=[1.0, 2.0])) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ends": [1.0, 1.5]}, r"interval 1 ends before it starts: \[2.0, 1.5\)"),
        ({"ends": [1.0]}, r"columns of one length, but got \[1, 2\]"),
        ({"scores": [1.0]}, "columns of one length"),
        ({"starts": [0.0, np.nan]}, r"Intervals.starts: the value at \[1\] is not finite"),
        ({"ends": [np.inf, 3.0]}, r"Intervals.ends: the value at \[0\] is not finite"),
        ({"scores": [0.1, np.nan]}, "Intervals.scores"),
        ({"starts": [[0.0, 2.0]]}, "expected 1 dimension"),
        ({"starts": ["soon", "later"]}, "Intervals.starts: expected a regular array of numbers"),
        ({"ends": [[1.0], [2.0, 3.0]]}, "Intervals.ends: expected a regular array of numbers"),
        ({"scores": [{}, {}]}, "Intervals.scores: expected a regular array of numbers"),
        ({"codes": [0, 3]}, "code 3 at 1"),
        ({"window": (5, 5)}, r"window: expected start < end, but got \(5, 5\)"),
        ({"window": (6, 5)}, r"window: expected start < end, but got \(6, 5\)"),
        ({"window": (1,)}, r"window: expected start < end, but got \(1,\)"),
        ({"window": (0, 1, 2)}, r"window: expected start < end, but got \(0, 1, 2\)"),
        ({"window": ()}, r"window: expected start < end, but got \(\)"),
        ({"window": 10}, "window: expected 1 dimension"),
        ({"window": None}, "window: expected a regular array of numbers"),
        ({"window": ("0", "10")}, "window: expected a regular array of numbers"),
        ({"window": (0, 10**400)}, "window: expected a regular array of numbers"),
        ({"starts": ["0", "2"]}, "Intervals.starts: expected a regular array of numbers: got <U1"),
        ({"window": (0, np.inf)}, "window"),
        ({"window": (np.nan, 1)}, "window"),
    ],
)
def test_impossible_intervals_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        intervals(**changes)


@pytest.mark.parametrize("shape", [(2, 6), (2, 7), (2, 8, 3)])
def test_boxes_come_in_three_shapes(shape):
    assert len(boxes(geometry=np.ones(shape))) == 2


def test_no_boxes_are_boxes():
    assert len(boxes(geometry=np.ones((0, 7)), codes=[])) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"geometry": np.ones((2, 5))}, r"expected shape \(M, 6\), \(M, 7\) or \(M, 8, 3\), but got \(2, 5\)"),
        ({"geometry": np.ones((2, 8))}, "expected shape"),
        ({"geometry": np.ones(6)}, "expected shape"),
        ({"geometry": np.full((2, 6), np.nan)}, r"Boxes.geometry: the value at \[0, 0\] is not finite"),
        ({"codes": [0]}, "columns of one length"),
        ({"scores": [0.5, np.inf]}, "Boxes.scores"),
        ({"codes": [0, 9]}, "code 9 at 1"),
        (
            {"geometry": [[0, 0, 0, 1, 1, 1], [0, 5, 0, 1, 1, 1]]},
            r"box 1: its minimum exceeds its maximum: \[0.0, 5.0, 0.0, 1.0, 1.0, 1.0\]",
        ),
        ({"geometry": [[0, 0, 2, 1, 1, 1], [0, 5, 0, 1, 1, 1]]}, "box 0: its minimum exceeds"),
        ({"geometry": [[0] * 6, [0] * 5]}, "Boxes.geometry: expected a regular array of numbers"),
        ({"geometry": [["x"] * 6] * 2}, "Boxes.geometry: expected a regular array of numbers"),
        ({"geometry": None}, "Boxes.geometry: expected a regular array of numbers: got object"),
        ({"geometry": [["1"] * 6] * 2}, "Boxes.geometry: expected a regular array of numbers: got <U1"),
        ({"scores": ["high", "low"]}, "Boxes.scores: expected a regular array of numbers"),
    ],
)
def test_impossible_boxes_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        boxes(**changes)


def test_a_box_may_be_flat():
    assert len(boxes(geometry=[[0, 0, 0, 1, 1, 0], [2, 2, 2, 2, 2, 2]])) == 2


def test_a_centre_may_exceed_a_size():
    assert len(boxes(geometry=[[9, 9, 9, 1, 1, 1, 0]] * 2)) == 2


def test_joints_that_are_not_finite_are_invalid_unless_told_otherwise():
    joints = np.zeros((1, 2, 3))
    joints[0, 1, 2] = np.nan
    assert skeletons(joints=joints).valid.tolist() == [[True, False]]


def test_a_joint_may_be_marked_invalid_and_hold_anything():
    joints = np.full((1, 1, 3), np.inf)
    assert skeletons(joints=joints, valid=[[False]]).valid.tolist() == [[False]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"joints": np.zeros((2, 3))}, r"expected numbers \(N, J, 3\), but got float64 \(2, 3\)"),
        ({"joints": np.zeros((2, 3, 2))}, "expected numbers"),
        ({"joints": np.zeros((2, 3, 3), bool)}, "expected numbers .* but got bool"),
        ({"joints": np.zeros((2, 3, 3), complex)}, "expected numbers .* but got complex"),
        ({"joints": [[["x", "y", "z"]]]}, "expected numbers .* but got <U1"),
        ({"joints": [[[0, 0, 0]], [[0, 0]]]}, "Skeletons: expected a regular array of numbers"),
        ({"fps": 0}, "fps: expected a rate above 0, but got 0"),
        ({"fps": -25.0}, "fps: expected a rate above 0, but got -25.0"),
        ({"fps": np.nan}, "fps: the value .* is not finite"),
        ({"fps": np.inf}, "fps: the value .* is not finite"),
        ({"fps": "25"}, "fps: expected a regular array of numbers"),
        ({"valid": [[True] * 3, [True]]}, "Skeletons.valid: expected a regular array"),
        ({"valid": np.ones((2, 2), bool)}, r"valid: expected booleans \(2, 3\), but got bool \(2, 2\)"),
        ({"names": ("hip",)}, "expected 3 names, but got 1"),
    ],
)
def test_impossible_skeletons_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        skeletons(**changes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8])
def test_joints_may_be_any_real_numbers(dtype):
    assert len(skeletons(joints=np.zeros((2, 3, 3), dtype), fps=29.97)) == 2


def test_a_joint_marked_valid_must_be_finite():
    joints = np.zeros((2, 2, 3))
    joints[1, 0, 1] = np.nan
    with pytest.raises(InputError, match="joint 0 of sample 1 is marked valid but is not finite"):
        skeletons(joints=joints, valid=np.ones((2, 2), bool))


@pytest.mark.parametrize(
    ("greater", "equal"),
    [([-1], [1]), ([0], [0]), ([4], [2])],
)
def test_impossible_ranks_are_refused(greater, equal):
    with pytest.raises(InputError, match="greater >= 0, equal >= 1 and a sum of at most 5"):
        Rankings(np.array(greater), np.array(equal), 5, "pool")


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([0.5], r"Rankings: expected a list of whole numbers, but got float64 \(1,\)"),
        ([1.0], "whole numbers, but got float64"),
        ([True], "whole numbers, but got bool"),
        (["1"], "whole numbers, but got <U1"),
        ([[1]], r"whole numbers, but got int64 \(1, 1\)"),
        (1, r"whole numbers, but got int64 \(\)"),
        ([[1], [1, 2]], "Rankings: expected a regular array of numbers"),
        ([10**30], "whole numbers, but got object"),
    ],
)
def test_ranks_are_lists_of_whole_numbers(ranks, message):
    with pytest.raises(InputError, match=message):
        Rankings(ranks, [1], 5, "pool")
    with pytest.raises(InputError, match=message):
        Rankings([1], ranks, 5, "pool")


def test_narrow_ranks_are_added_without_overflow():
    wide = Rankings(np.array([250], np.uint8), np.array([10], np.uint8), 260, "pool")
    assert (wide.greater.dtype, wide.equal.dtype) == (np.int64, np.int64)
    with pytest.raises(InputError, match="a sum of at most 259"):
        Rankings(np.array([250], np.uint8), np.array([10], np.uint8), 259, "pool")


def test_the_largest_ranks_do_not_wrap_around():
    top = 2**63 - 1
    assert len(Rankings([top - 1], [1], top, "pool")) == 1
    for greater, equal in ((top, 1), (1, top), (top, top)):
        with pytest.raises(InputError, match=f"a sum of at most {top}"):
            Rankings([greater], [equal], top, "pool")


def test_no_ranks_are_ranks():
    assert len(Rankings([], [], 5, "pool")) == 0


def test_ranks_may_reach_the_size_of_the_pool():
    assert len(Rankings(np.array([4, 0]), np.array([1, 5]), 5, "pool")) == 2


def test_ranks_are_columns_of_one_length():
    with pytest.raises(InputError, match="columns of one length"):
        Rankings(np.array([0, 1]), np.array([1]), 5, "pool")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], "expected 2 dimension"),
        ([[np.nan]], r"the value at \[0, 0\] is not finite"),
        ([[1.0], [1.0, 2.0]], "Vectors: expected a regular array of numbers"),
        ([["far"]], "Vectors: expected a regular array of numbers"),
        ([[10**400]], "Vectors: expected a regular array of numbers"),
        ([[None]], "Vectors: expected a regular array of numbers: got object"),
        ([["1.5"]], "Vectors: expected a regular array of numbers: got <U3"),
        ([[b"1"]], r"Vectors: expected a regular array of numbers: got \|S1"),
        ([[1j]], "Vectors: expected a regular array of numbers: got complex128"),
        (np.array([["2020-01-01"]], "M8[D]"), "Vectors: expected a regular array of numbers: got datetime64"),
        ([[{}]], "Vectors: expected a regular array of numbers"),
    ],
)
def test_impossible_vectors_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        Vectors(values)


@pytest.mark.parametrize(
    ("truth", "prediction"),
    [(Vectors([[1.0]], frame="map"), Vectors([[1.0]], frame="sensor")), (skeletons(), skeletons(frame="world"))],
)
def test_different_frames_are_not_compared(truth, prediction):
    with pytest.raises(InputError, match="transform one of them before comparing"):
        same_frame(truth, prediction)


def test_equal_frames_are_compared():
    same_frame(boxes(), boxes())
