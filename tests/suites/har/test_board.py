"""The board of ``har``: what is chosen decides what it shows, and its numbers are those of the runs."""

import pytest

import gnomon
from gnomon.suites.har.board import board


@pytest.fixture(scope="module")
def runs(root, tmp_path_factory):
    out = tmp_path_factory.mktemp("board")
    systems = "majority,nearest_mean"
    return list(gnomon.run("har", data_root=str(root), out=str(out), systems=systems, profile="smoke", folds=3).runs)


def items(found, name):
    return next(item for item in found.items if item.name == name)


def test_nothing_chosen_takes_the_first_of_everything(runs):
    found = board(runs, {})
    assert found.chosen == {name: options[0] for name, options in found.choices.items()}
    assert found.chosen["task"] == "zs-open"


def test_what_there_is_not_is_not_chosen(runs):
    assert board(runs, {"task": "<script>", "dataset": "other"}).chosen["task"] == "zs-open"


@pytest.mark.parametrize(("measure", "key"), [("accuracy", "accuracy"), ("macro F1", "macro_f1")])
def test_the_grid_holds_the_scores_of_the_chosen_metric(runs, measure, key):
    table = items(board(runs, {"task": "sup-10", "measure": measure}), "grid")
    row = next(row for row in table.rows if row["dataset"].value == "target")
    for run in runs:
        expected = run.find(f"{key}[sup-10 target]")
        assert row[f"system:{run.system}"].value == pytest.approx(100 * expected.value)


def test_the_classes_follow_from_the_answers(runs):
    """F1 from the stored answers, counted here row by row."""
    import pyarrow.parquet as pq

    metric, dataset = "sup-10", "target"
    table = items(board(runs, {"task": metric, "dataset": dataset}), "classes")
    for run in runs:
        rows = pq.read_table(run.path / "predictions.parquet").to_pylist()
        own = [(r["truth"], r["label"]) for r in rows if r["task"] == metric and r["dataset"] == dataset]
        for line in table.rows:
            label = line["class"].value
            right = sum(t == p == label for t, p in own)
            both = sum(t == label for t, _ in own) + sum(p == label for _, p in own)
            assert line["n"].value == sum(t == label for t, _ in own)
            assert line[f"system:{run.system}"].value == pytest.approx(200 * right / both if both else 0.0)


def test_the_heat_map_has_every_metric_and_dataset(runs):
    view = items(board(runs, {}), "heat")
    assert len(view.data["rows"]) == len(view.data["values"])
    assert view.data["columns"] == [run.system for run in sorted(runs, key=lambda r: -r.scores[0].value)]
    assert any(row.startswith("sup-1 ") for row in view.data["rows"])
