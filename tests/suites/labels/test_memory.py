"""Labels in memory, as other libraries hold them. Expected: 3 of 4 rows are right."""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.suites.labels.options import RunOptions
from gnomon.suites.labels.running import _stored_truth

TRUTH, ANSWERS = ["a", "b", "a", "b"], ["a", "b", "b", "b"]
CODES, CODED = [0, 1, 0, 1], [0, 1, 1, 1]


class DataArray:
    """What xarray offers: an array by protocol, and items that are of its own type."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.shape = self.values.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return DataArray(self.values[index])


def made(kind):
    if kind in ("series", "categorical", "categorical series", "index", "string series"):
        pandas = pytest.importorskip("pandas")
        makers = {
            "series": lambda values: pandas.Series(values, index=range(9, 5, -1)),
            "categorical": pandas.Categorical,
            "categorical series": lambda values: pandas.Series(values, dtype="category"),
            "index": pandas.Index,
            "string series": lambda values: pandas.Series(values, dtype="string"),
        }
        return makers[kind](TRUTH), makers[kind](ANSWERS)
    if kind in ("tensor", "tensor of booleans"):
        torch = pytest.importorskip("torch")
        sides = torch.tensor(CODES), torch.tensor(CODED)
        return sides if kind == "tensor" else tuple(side.bool() for side in sides)
    makers = {
        "list": list,
        "tuple": tuple,
        "array": np.array,
        "objects": lambda values: np.array(values, dtype=object),
        "arrow": pa.array,
        "chunks": lambda values: pa.chunked_array([values[:1], values[1:]]),
        "data array": DataArray,
    }
    return makers[kind](TRUTH), makers[kind](ANSWERS)


KINDS = (
    *("list", "tuple", "array", "objects", "arrow", "chunks", "data array", "tensor", "tensor of booleans"),
    *("series", "categorical", "categorical series", "index", "string series"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_one_dimensional_values_are_columns(kind):
    truth, answers = made(kind)
    ids = list("wxyz")
    result = gnomon.score("labels", {"id": ids, "label": truth}, {"id": ids, "label": answers})
    assert result.scores["predictions"]["accuracy"] == 0.75


@pytest.mark.parametrize("kind", KINDS)
def test_labels_alone_are_matched_by_their_place(kind):
    truth, answers = made(kind)
    assert gnomon.score("labels", truth, answers).scores["predictions"]["accuracy"] == 0.75
    named = gnomon.score("labels", truth, {"one": answers, "other": truth}).scores
    assert (named["one"]["accuracy"], named["other"]["accuracy"]) == (0.75, 1.0)


def test_kinds_may_differ_between_both_sides():
    assert gnomon.score("labels", TRUTH, np.array(ANSWERS)).scores["predictions"]["accuracy"] == 0.75
    assert gnomon.score("labels", DataArray(TRUTH), tuple(ANSWERS)).scores["predictions"]["accuracy"] == 0.75


@pytest.mark.parametrize(
    ("truth", "predictions", "said"),
    [
        (TRUTH, ANSWERS[:3], "truth has 4 labels and predictions 3: expected as many"),
        (TRUTH, {"mine": ANSWERS * 2}, "truth has 4 labels and mine 8: expected as many"),
        (np.array([TRUTH]), ANSWERS, r"truth: expected one value per row, but got an array of shape \(1, 4\)"),
        (TRUTH, {"id": [1], "label": ["a"]}, "predictions: expected labels in the order of the truth, which has no"),
        (TRUTH, [np.array(ANSWERS), np.array(ANSWERS)], "system names must differ"),
        ({"id": [1, 2], "label": ["a"]}, {}, "truth: columns differ in length: 'id' has 2, 'label' has 1"),
        (
            {"id": [1], "label": 3},
            {"id": [1], "label": ["a"]},
            "column 'label': expected one value per row, but got int",
        ),
        (
            {"id": [1], "label": ["a"]},
            np.array(["a"]),
            "predictions: expected a table with named columns, but got ndarray",
        ),
    ],
)
def test_what_is_wrong_is_named(truth, predictions, said):
    with pytest.raises(InputError, match=said):
        gnomon.score("labels", truth, predictions or {"id": [1, 2], "label": ["a", "a"]})


def test_one_index_in_two_orders_is_refused():
    pandas = pytest.importorskip("pandas")
    truth = pandas.Series(TRUTH, index=list("wxyz"))
    with pytest.raises(InputError, match="the same index in different orders"):
        gnomon.score("labels", truth, pandas.Series(ANSWERS, index=list("zyxw")))


def test_truth_that_many_store_at_once_is_whole_for_each(tmp_path):
    """Threads of one process stand for containers, whose processes may have the same id."""
    rows = {"id": [str(i) for i in range(50)], "label": ["a", "b"] * 25}
    for turn in range(20):
        options, start, found = RunOptions(truth=rows, out=str(tmp_path / str(turn))), threading.Barrier(4), []

        def store(options=options, start=start, found=found):
            start.wait()
            found.append(pq.read_table(_stored_truth(options)).num_rows)

        threads = [threading.Thread(target=store) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [50] * 4
        assert len(list((tmp_path / str(turn) / "store" / "inputs").iterdir())) == 1
