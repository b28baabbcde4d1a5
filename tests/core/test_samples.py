"""Expected ranges are written by hand."""

import numpy as np
import pytest

from gnomon.core.errors import GnomonError, InputError
from gnomon.core.samples import Samples


def samples(**changes):
    given = {
        "ids": ("w0", "w1"),
        "cases": ("r1", "r1"),
        "parts": ("train", "test"),
        "input_range": np.array([[0, 2], [3, 5]]),
        "target_range": np.array([[2, 3], [1, 2]]),
    }
    return Samples(**{**given, **changes})


def test_samples_have_a_length():
    assert len(samples()) == 2


def test_a_sample_reads_from_its_first_input_or_target_to_the_last():
    assert samples().reads().tolist() == [[0, 3], [1, 5]]


def test_a_part_is_a_mask():
    assert samples().part("test").tolist() == [False, True]
    assert samples().part("val").tolist() == [False, False]


def test_ranges_are_frozen_copies():
    given = np.array([[0.0, 1.0], [1.0, 2.0]])
    made = samples(input_range=given)
    given[0, 0] = 99
    assert made.input_range.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(ValueError, match="read-only"):
        made.input_range[0, 0] = 1


def test_no_samples_are_samples():
    empty = samples(ids=(), cases=(), parts=(), input_range=np.zeros((0, 2)), target_range=np.zeros((0, 2)))
    assert len(empty) == 0
    assert empty.reads().shape == (0, 2)
    assert empty.part("train").tolist() == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cases": ("r1",)}, "column 'cases' has 1 rows, expected 2"),
        ({"parts": ("train", "val", "test")}, "column 'parts' has 3 rows"),
        ({"digests": ("x",)}, "column 'digests'"),
        ({"tags": {"subject": ("ann",)}}, "column 'subject'"),
        ({"tags": {"cases": ("r1",)}}, "column 'cases' has 1 rows"),
        ({"tags": {"parts": ()}}, "column 'parts' has 0 rows"),
        ({"digests": ("x", "y"), "tags": {"digests": ("x",)}}, "column 'digests' has 1 rows"),
    ],
)
def test_columns_have_one_row_per_sample(changes, message):
    with pytest.raises(GnomonError, match=message):
        samples(**changes)


@pytest.mark.parametrize("name", ["input_range", "target_range"])
@pytest.mark.parametrize("ranges", [[[0, 1]], [[0, 1], [2, 1]], [[0, 1], [0, np.nan]], [[0, 1], [0, np.inf]]])
def test_ranges_are_finite_ordered_and_one_per_sample(name, ranges):
    with pytest.raises(GnomonError, match=f"{name} must be 2 finite ranges with start <= end"):
        samples(**{name: np.array(ranges, dtype=float)})


@pytest.mark.parametrize("name", ["input_range", "target_range"])
@pytest.mark.parametrize("shape", [(4,), (1, 4), (4, 1), (2, 2, 1), (2, 1), (2, 3), (0,), (0, 2), ()])
def test_ranges_have_a_start_and_an_end_per_sample(name, shape):
    with pytest.raises(GnomonError, match=f"{name} must be 2 finite ranges"):
        samples(**{name: np.zeros(shape)})


@pytest.mark.parametrize("name", ["input_range", "target_range"])
@pytest.mark.parametrize(
    "ranges", [[["now", "then"]] * 2, [[0, 1], [2]], [[0, {}]] * 2], ids=["text", "ragged", "dict"]
)
def test_ranges_are_numbers(name, ranges):
    with pytest.raises(GnomonError, match=f"{name} must be ranges of numbers"):
        samples(**{name: ranges})


@pytest.mark.parametrize("shape", [(0,), (0, 2)])
def test_no_ranges_may_come_in_any_empty_shape(shape):
    empty = samples(ids=(), cases=(), parts=(), input_range=np.zeros(shape), target_range=[])
    assert empty.reads().shape == (0, 2)


def test_a_column_and_a_tag_may_have_the_same_name():
    assert samples(tags={"cases": ("x", "y")}).cases == ("r1", "r1")


def test_an_empty_range_is_a_range():
    assert len(samples(target_range=np.array([[1, 1], [4, 4]]))) == 2


def test_digests_and_tags_are_kept():
    made = samples(digests=("x", "y"), tags={"subject": ("ann", "bob")})
    assert made.digests == ("x", "y")
    assert made.tags["subject"] == ("ann", "bob")


def test_a_column_is_found_by_name_before_a_tag_of_that_name():
    made = samples(digests=("x", "y"), tags={"subject": ("ann", "bob"), "parts": ("p", "q")})
    assert made.column("subject") == ("ann", "bob")
    assert made.column("parts") == ("train", "test")
    assert made.column("ids") == ("w0", "w1")
    assert made.column("cases") == ("r1", "r1")
    assert made.column("digests") == ("x", "y")


@pytest.mark.parametrize("name", ["digests", "device"])
def test_a_column_that_is_not_there_is_refused_with_those_that_are(name):
    with pytest.raises(InputError, match=f"no column '{name}'; they have cases, ids, parts, subject"):
        samples(tags={"subject": ("ann", "bob")}).column(name)
