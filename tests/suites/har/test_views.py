"""Tables of ``har`` runs: what stands where, and that every format renders it."""

import re

import pytest

import gnomon
from gnomon.runs.tables import worst
from gnomon.suites.har.metrics import METRICS
from gnomon.suites.har.reference import DEVIATIONS, FIGURES, deviations


@pytest.fixture(scope="module")
def result(root, tmp_path_factory):
    out = tmp_path_factory.mktemp("views")
    systems = "majority,nearest_mean"
    return gnomon.run("har", data_root=str(root), out=str(out), systems=systems, profile="smoke", folds=3)


def test_the_tables_and_their_order(result):
    names = list(result.tables)
    assert names == ["scores", "comparison", "datasets", "scorings", "coverage", "deviations", "reference"]


def test_the_first_table_has_accuracy_and_macro_f1_of_every_metric_with_intervals(result):
    table = result.tables["scores"]
    keys = [column.key for column in table.columns]
    assert keys == ["system", *(f"{kind}[{m}]" for m in METRICS for kind in ("accuracy", "macro_f1"))]
    row = next(row for row in table.rows if row["system"].value == "nearest_mean")
    run = next(run for run in result.runs if run.system == "nearest_mean")
    for key in keys[1:]:
        score = run.find(key)
        assert row[key].value == pytest.approx(100 * score.value)
        if score.low is not None:
            assert (row[key].low, row[key].high) == pytest.approx((100 * score.low, 100 * score.high))


def test_the_severe_dataset_is_marked_and_last(result):
    datasets = [row["dataset"].value for row in result.tables["datasets"].rows]
    assert datasets == ["target"] * 8 + ["severe (apart)"] * 8


def test_every_row_has_its_counts(result):
    for row in result.tables["datasets"].rows:
        assert row["n"].value > 0
        assert row["n_train"].value > 0
        assert row["subjects"].value > 1


def test_group_and_exact_stand_side_by_side(result):
    rows = [row for row in result.tables["scorings"].rows if row["task"].value == "sup-10"]
    assert {row["native"].value for row in rows} == {"exact"}
    zero = [row for row in result.tables["scorings"].rows if row["task"].value == "zs-open"]
    assert {row["native"].value for row in zero} == {"group"}
    for row in (*rows, *zero):
        assert row["accuracy_group"].value >= row["accuracy_exact"].value


def test_labels_that_no_training_window_has_are_named(root, tmp_path):
    """By hand: the dataset ``second`` has no window of sitting, of which there is a training label."""
    options = {"train": "second", "test": "target", "systems": "majority", "tasks": "zs-open", "profile": "smoke"}
    result = gnomon.run("har", data_root=str(root), out=str(tmp_path), **options)
    assert "target: no window of the training data here is of sitting" in result.tables["coverage"].notes


def test_profile_and_deviations_are_told(result):
    assert "profile smoke" in result.tables["scores"].title
    told = [row["deviation"].value for row in result.tables["deviations"].rows]
    assert told == ["training datasets", "profile smoke", "no encoder"]


def test_published_deviations_follow_the_systems():
    assert deviations(["majority"]) == ()
    found = deviations(["moment@size=small", "majority"])
    assert {item.system for item in found} == {"moment", "all"}
    assert {item.system for item in DEVIATIONS} == {*FIGURES, "all"}


def test_reported_figures_are_those_of_the_text():
    """From the reported table: TSFM 39.8/12.7, 51.1/33.4, 72.7/61.0, 85.6/80.0."""
    assert [FIGURES["tsfm"][metric] for metric in METRICS] == [(39.8, 12.7), (51.1, 33.4), (72.7, 61.0), (85.6, 80.0)]


@pytest.mark.parametrize("format", ["terminal", "json", "csv", "markdown", "latex", "html"])
def test_every_format_renders(result, format):
    text = result.to(format)
    assert "nearest_mean" in text or "nearest\\_mean" in text


def test_notes_that_differ_in_a_number_are_said_once():
    texts = [f"interval unreliable: {k} classes rest on fewer than 10 subjects" for k in (3, 9, 4)]
    assert worst([*texts, "other"]) == ["interval unreliable: up to 9 classes rest on fewer than 10 subjects", "other"]


def test_no_note_holds_a_path(result, root):
    notes = [note for table in result.tables.values() for note in table.notes]
    assert not [note for note in notes if re.search(re.escape(str(root)), note)]
