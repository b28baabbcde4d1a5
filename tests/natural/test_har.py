"""Natural calls of ``har``: each gives the numbers of the long way round, to the last bit, or says how to mend it.

The long way round is a truth table ``id, label, subject, recording, dataset`` and a prediction table with ids.
"""

import numpy as np
import pyarrow.parquet as pq
import pytest

import gnomon
from gnomon.core.errors import InputError

LABELS = ("running", "sitting", "walking")
ROWS = 72


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, ROWS)
    a = np.where(rng.random(ROWS) < 0.8, truth, rng.integers(0, 3, ROWS))
    scores = rng.random((ROWS, 3)) * 0.4
    scores[np.arange(ROWS), a] += 0.5
    names = np.array(LABELS)
    return {
        "subject": np.array([f"s{row % 8}" for row in range(ROWS)]),
        "y_true": names[truth],
        "y_pred": names[a],
        **{f"p_{name}": scores[:, place] for place, name in enumerate(LABELS)},
    }


@pytest.fixture(scope="module")
def long_way(data):
    ids = [f"w{row:02d}" for row in range(ROWS)]
    truth = {
        "id": ids,
        "label": data["y_true"],
        "subject": data["subject"],
        "recording": data["subject"],
        "dataset": ["data"] * ROWS,
    }
    return scores_of(gnomon.score("har", truth, {"A": {"id": ids, "label": data["y_pred"]}}))


def scores_of(result):
    return [(s.name, s.value, s.low, s.high) for s in result.runs[0].scores if s.slice == "all"]


def matrix(data):
    return np.stack([data[f"p_{name}"] for name in LABELS], axis=1)


CALLS = {
    "arrays": lambda d: gnomon.score("har", d["y_true"], {"A": d["y_pred"]}, groups=d["subject"]),
    "lists": lambda d: gnomon.score("har", d["y_true"].tolist(), {"A": d["y_pred"].tolist()}, groups=d["subject"]),
    "wide table": lambda d: gnomon.score("har", "y_true", {"A": "y_pred"}, table=d, groups="subject"),
    "wide table with the usual name of subjects": lambda d: gnomon.score("har", "y_true", {"A": "y_pred"}, table=d),
    "scores of a wide table": lambda d: gnomon.score("har", "y_true", table=d, scores={"A": "p_"}),
    "an array of scores": lambda d: gnomon.score(
        "har", d["y_true"], scores={"A": matrix(d)}, classes=LABELS, groups=d["subject"]
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_natural_calls_give_the_numbers_of_the_long_way_round(name, data, long_way):
    assert scores_of(CALLS[name](data)) == long_way


def test_scores_beside_labels_are_kept(data, tmp_path):
    gnomon.score("har", "y_true", {"A": "y_pred"}, table=data, scores={"A": "p_"}, out=tmp_path)
    kept = pq.read_table(next(tmp_path.glob("*/predictions.parquet"))).to_pydict()
    assert np.array_equal(np.stack([kept[f"score:{name}"] for name in LABELS], axis=1), matrix(data))


def test_a_table_without_subjects_says_how_they_are_given(data):
    table = {"user": data["subject"], "y_true": data["y_true"], "y_pred": data["y_pred"]}
    with pytest.raises(InputError, match=r"give groups, or --group COLUMN; 'user' looks like it"):
        gnomon.score("har", "y_true", {"A": "y_pred"}, table=table)


def test_labels_in_another_spelling_are_refused(data):
    upper = np.char.upper(data["y_pred"])
    with pytest.raises(InputError, match="'RUNNING' is 'running' in another spelling"):
        gnomon.score("har", data["y_true"], {"A": upper}, groups=data["subject"])
