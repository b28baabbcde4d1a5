"""Expected rows are written by hand."""

import numpy as np
import pytest

from gnomon.core.errors import GnomonError
from gnomon.core.ledgers import Ledger


def coded(case, codes, labels):
    return Ledger(np.array(case), {"truth": np.array(codes)}, {"truth": labels})


def test_a_ledger_has_a_length():
    assert len(Ledger([0, 0, 1], {"score": [0.1, 0.2, 0.3]})) == 3


def test_a_ledger_is_frozen_and_does_not_follow_the_arrays_it_was_made_from():
    case, score = np.array([0, 1]), np.array([0.5, 0.25])
    ledger = Ledger(case, {"score": score})
    case[0], score[0] = 9, 9.0
    assert ledger.case.tolist() == [0, 1]
    assert ledger.columns["score"].tolist() == [0.5, 0.25]
    with pytest.raises(ValueError, match="read-only"):
        ledger.case[0] = 1


@pytest.mark.parametrize("column", [[1.0], [[1.0, 2.0]], 1.0])
def test_columns_have_one_value_per_row(column):
    with pytest.raises(GnomonError, match="ledger column 'score': expected shape"):
        Ledger([0, 1], {"score": column})


@pytest.mark.parametrize("case", [[-1, 0], [0.0, 1.0], [0.5, 1.0], [True, False], ["a", "b"], [[0, 1]], 0, [None, 0]])
def test_cases_are_a_list_of_whole_numbers(case):
    with pytest.raises(GnomonError, match="the cases of a ledger must be a list of whole numbers from 0"):
        Ledger(case, {})


def test_an_empty_list_of_cases_may_have_any_type():
    assert len(Ledger([], {"score": []})) == 0


def test_columns_that_do_not_fit_signed_integers_are_refused():
    with pytest.raises(GnomonError, match="signed integers or floats, but one is uint64"):
        Ledger([0], {"score": [0.5], "count": np.array([1], np.uint64)})


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.int8, np.int64, np.float32])
def test_narrower_columns_are_kept_as_they_are(dtype):
    assert Ledger([0], {"x": np.array([1], dtype)}).columns["x"].dtype == dtype


@pytest.mark.parametrize(
    ("labels", "name"), [({"truth": ("a", "b"), "other": ("a",)}, "other"), ({"truth": ("a", "a")}, "truth")]
)
def test_labels_are_distinct_and_belong_to_a_column(labels, name):
    with pytest.raises(GnomonError, match=f"ledger labels '{name}' need a column of that name and must not repeat"):
        Ledger([0], {"truth": [0]}, labels)


@pytest.mark.parametrize("codes", [[0.0], [0.5], [np.nan], [False], ["a"]])
def test_codes_are_whole_numbers(codes):
    with pytest.raises(GnomonError, match="'truth' holds a code outside its 2 labels"):
        coded([0], codes, ("a", "b"))


@pytest.mark.parametrize("code", [-2, 2])
def test_codes_outside_the_labels_are_refused(code):
    with pytest.raises(GnomonError, match="'truth' holds a code outside its 2 labels"):
        coded([0], [code], ("a", "b"))


def test_the_code_for_none_is_accepted():
    assert coded([0, 0], [-1, 1], ("a", "b")).columns["truth"].tolist() == [-1, 1]


def test_an_empty_ledger_is_a_ledger():
    assert len(coded(np.zeros(0, int), np.zeros(0, int), ())) == 0


def test_ledgers_compare_by_content():
    assert coded([0], [1], ("a", "b")) == coded([0], [1], ("a", "b"))
    assert coded([0], [1], ("a", "b")) != coded([1], [1], ("a", "b"))
    assert coded([0], [1], ("a", "b")) != coded([0], [0], ("a", "b"))
    assert coded([0], [1], ("a", "b")) != coded([0], [1], ("a", "c"))
    assert Ledger([0], {"x": [1]}) != Ledger([0], {"y": [1]})
    assert Ledger([0], {"x": [1]}) != "text"


def test_missing_numbers_are_equal_to_each_other():
    assert Ledger([0, 0], {"x": [np.nan, 1.0]}) == Ledger([0, 0], {"x": [np.nan, 1.0]})
    assert Ledger([0, 0], {"x": [np.nan, 1.0]}) != Ledger([0, 0], {"x": [1.0, np.nan]})
    assert Ledger([0], {"x": [np.nan]}) != Ledger([0], {"x": [0]})


def test_ledgers_cannot_be_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ledger([0], {}))


def test_taking_cases_keeps_their_rows_and_codes():
    ledger = Ledger([0, 2, 1, 2], {"score": [0.1, 0.2, 0.3, 0.4]})
    taken = ledger.take(np.array([True, False, True]))
    assert taken.case.tolist() == [0, 2, 2]
    assert taken.columns["score"].tolist() == [0.1, 0.2, 0.4]


def test_stacking_numbers_the_cases_on():
    stacked = Ledger.stack([(Ledger([0, 1], {"x": [1, 2]}), 3), (Ledger([0, 0], {"x": [3, 4]}), 1)])
    assert stacked.case.tolist() == [0, 1, 3, 3]
    assert stacked.columns["x"].tolist() == [1, 2, 3, 4]


def test_stacking_aligns_codes_by_label_and_keeps_none():
    stacked = Ledger.stack([(coded([0, 0], [0, -1], ("b",)), 1), (coded([0, 0], [1, 0], ("c", "a")), 1)])
    assert stacked.labels == {"truth": ("a", "b", "c")}
    assert stacked.columns["truth"].tolist() == [1, -1, 0, 2]


def test_stacking_a_part_without_labels_keeps_its_nones():
    stacked = Ledger.stack([(coded([0], [-1], ()), 1), (coded([0], [0], ("a",)), 1)])
    assert stacked.columns["truth"].tolist() == [-1, 0]


@pytest.mark.parametrize(
    "other",
    [
        Ledger([0], {"score": [1]}),
        Ledger([0], {"truth": [0], "score": [1]}, {"truth": ("a",)}),
        Ledger([0], {"truth": [0]}),
        Ledger([0], {}),
    ],
)
def test_ledgers_of_different_columns_are_not_stacked(other):
    one = coded([0], [0], ("a",))
    for parts in ([(one, 1), (other, 1)], [(other, 1), (one, 1)]):
        with pytest.raises(GnomonError, match="ledgers of different columns cannot be stacked"):
            Ledger.stack(parts)


def test_stacking_nothing_is_refused():
    with pytest.raises(GnomonError, match="at least one ledger"):
        Ledger.stack([])
