"""``labels`` from tables to runs. Expected values are computed by hand or by scikit-learn where said."""

import json

import numpy as np
import pyarrow as pa
import pytest

import gnomon
from gnomon.core.errors import InputError

TRUTH = {
    "id": ["1", "2", "3", "4", "5", "6"],
    "label": ["a", "a", "b", "b", "c", "a"],
    "group": ["x", "x", "y", "y", "z", "z"],
    "site": ["n", "s", "n", "s", "n", "s"],
}
GOOD = {"id": ["6", "5", "4", "3", "2", "1"], "label": ["a", "c", "b", "b", "a", "a"]}
HALF = {"id": ["1", "2", "3", "4", "5", "6"], "label": ["a", "b", "b", "a", "c", "c"]}


def scores(result, name="predictions"):
    return result.scores[name]


def test_order_of_rows_does_not_matter():
    result = gnomon.score("labels", TRUTH, GOOD)
    assert scores(result)["accuracy"] == 1.0
    assert scores(result)["macro_f1"] == 1.0


def test_hand_computed_scores():
    """By hand: 3 of 6 right; F1 a = 2/(3+2), b = 2/(2+2), c = 2/(1+2)."""
    result = scores(gnomon.score("labels", TRUTH, HALF))
    assert result["accuracy"] == 0.5
    assert result["macro_f1"] == pytest.approx((2 / 5 + 1 / 2 + 2 / 3) / 3)
    assert result["f1[a]"] == pytest.approx(2 / 5)


def test_several_systems_by_name_and_paired_comparison():
    result = gnomon.score("labels", TRUTH, {"good": GOOD, "half": HALF})
    assert list(result.scores) == ["good", "half"]
    row = result.tables["comparison"].rows[0]
    assert (row["a"].value, row["b"].value) == ("good", "half")
    assert row["groups"].value == 3
    assert any("smallest attainable p is 0.25" in note for note in result.tables["comparison"].notes)


def test_no_group_column_means_no_interval():
    truth = {key: TRUTH[key] for key in ("id", "label")}
    result = gnomon.score("labels", truth, HALF)
    score = result.runs[0].find("accuracy")
    assert score.low is None
    assert score.interval_why == "undefined (1 group)"
    assert any("no group column" in note for note in result.tables["scores"].notes)


def test_rows_as_groups_on_request():
    result = gnomon.score("labels", TRUTH, HALF, group="id")
    assert result.runs[0].find("accuracy").groups == 6
    assert result.runs[0].find("accuracy").low is not None


def test_slices_split_cases_but_keep_groups():
    result = gnomon.score("labels", TRUTH, HALF, slice=("site",))
    run = result.runs[0]
    assert len(run.roster) == 6
    assert run.find("accuracy").groups == 3
    north = run.find("accuracy", "site=n")
    assert (north.value, north.n, north.groups) == (1.0, 3, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": ["1", "2", "3", "4", "5"], "label": list("abcab")}, ["no prediction", "'6'", "--missing"]),
        ({"id": ["1", "2", "3", "4", "5", "6", "7"], "label": list("abcabca")}, ["not in the truth", "'7'", "--extra"]),
        ({"id": ["1", "1", "3", "4", "5", "6"], "label": list("abcabc")}, ["more than once", "'1'"]),
        ({"id": ["1", "2", "3", "4", "5", "6"], "label": ["a", "", "b", "a", "b", "c"]}, ["empty 'label'", "'2'"]),
        ({"id": ["1", "2", "3", "4", "5", "6"], "klass": list("abcabc")}, ["no column 'label'", "'klass'"]),
    ],
)
def test_bad_predictions_are_named(change, words):
    with pytest.raises(InputError) as caught:
        gnomon.score("labels", TRUTH, change)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "\n" not in str(caught.value)


def test_many_missing_ids_are_counted_not_listed():
    truth = {"id": [f"r{i:04d}" for i in range(1000)], "label": ["a"] * 1000}
    with pytest.raises(InputError, match=r"'r0010', .* and 985 more \(990 in all\)"):
        gnomon.score("labels", truth, {"id": truth["id"][:10], "label": truth["label"][:10]})


def test_missing_counted_wrong():
    """By hand: 5 of 6 predicted and right; the sixth, truly a, is wrong and predicted where it costs most."""
    partial = {"id": ["1", "2", "3", "4", "5"], "label": ["a", "a", "b", "b", "c"]}
    result = gnomon.score("labels", TRUTH, partial, missing="wrong")
    assert scores(result)["accuracy"] == pytest.approx(5 / 6)
    assert scores(result)["recall[a]"] == pytest.approx(2 / 3)
    assert scores(result)["precision[a]"] == pytest.approx(2 / 3)
    run = result.runs[0]
    assert scores(result)["recall[a]"] <= scores(result)["macro_f1_present"] < 1
    union = gnomon.score("labels", TRUTH, partial, missing="wrong", classes="union").runs[0].find("macro_f1")
    assert union.value is None
    assert "1 of 6 samples have no answer" in union.why
    assert run.complete
    assert run.coverage["rows"]["missing"] == 1
    assert run.coverage["policy"]["missing"] == "wrong"
    assert [f.id for f in run.findings] == ["missing-predictions", "unread-input"]


def test_missing_left_out_is_partial_and_says_so():
    partial = {"id": ["1", "2", "3"], "label": ["a", "a", "b"]}
    result = gnomon.score("labels", TRUTH, partial, missing="skip")
    run = result.runs[0]
    assert scores(result)["accuracy"] == 1.0
    assert not run.complete
    assert any("partial: 3 of 6 rows scored" in note for note in result.tables["scores"].notes)


def test_groups_without_a_scored_row_are_no_groups():
    """Group z and class c are never scored: two groups are left, and the claim about every class falls."""
    partial = {"id": ["1", "2", "3", "4"], "label": ["a", "a", "b", "b"]}
    run = gnomon.score("labels", TRUTH, partial, missing="skip").runs[0]
    assert run.find("accuracy").groups == 2
    facts = {name: value for name, value in run.manifest["facts"].items() if name != "unread"}
    assert facts == {"groups": 2, "cases": 2, "least_class_groups": 0}
    assert [v.id for v in run.verdicts if not v.supported] == ["new-groups", "every-class"]


def test_policies_are_different_runs(tmp_path):
    partial = {"id": ["1", "2", "3", "4"], "label": ["a", "a", "b", "b"]}
    for policy in ("skip", "wrong"):
        gnomon.score("labels", TRUTH, partial, missing=policy, out=tmp_path)
    assert len(list(tmp_path.glob("labels-*"))) == 2


def test_runs_of_one_name_and_of_other_data_are_told_apart(tmp_path):
    """Two systems called x on one truth, and one on another: two tables, every column its own numbers."""
    other = {**TRUTH, "label": ["a", "a", "b", "b", "c", "c"]}
    for truth, guess in ((TRUTH, GOOD), (TRUTH, HALF), (other, HALF)):
        gnomon.score("labels", truth, {"x": guess}, out=tmp_path)
    result = gnomon.load(tmp_path)
    assert len(result.scores) == 3
    assert {len(result.tables["scores"].rows), len(result.tables["scores_2"].rows)} == {1, 2}
    pair = next(
        table for name, table in result.tables.items() if name.startswith("per_class") and len(table.columns) == 4
    )
    columns = [column.key for column in pair.columns[2:]]
    assert [pair.rows[0][key].value for key in columns] == [1.0, pytest.approx(2 / 5)]
    assert "(data " in result.tables["scores"].title


def test_nothing_is_written_unless_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gnomon.score("labels", TRUTH, HALF)
    gnomon.score("labels", TRUTH, HALF, out=None)
    gnomon.run("labels", truth=TRUTH, systems=("majority",), folds=3, out="none")
    assert list(tmp_path.iterdir()) == []


def test_intervals_that_were_not_asked_for_are_nowhere():
    result = gnomon.score("labels", TRUTH, {"good": GOOD, "half": HALF}, interval="none")
    assert all(cell.low is None for table in result.tables.values() for row in table.rows for cell in row.values())
    assert "intervals were not asked for" in result.tables["scores"].notes


def test_unknown_predicted_labels_are_a_finding():
    floats = {"id": TRUTH["id"], "label": ["a.0", "a.0", "b", "b", "c", "a"]}
    run = gnomon.score("labels", TRUTH, floats).runs[0]
    assert [f.id for f in run.findings] == ["labels-never-true", "unread-input"]
    assert "'a.0'" in run.findings[0].evidence


def test_one_class_truth_is_a_finding_and_kappa_undefined():
    truth = {"id": ["1", "2"], "label": ["a", "a"], "group": ["x", "y"]}
    run = gnomon.score("labels", truth, {"id": ["1", "2"], "label": ["a", "a"]}).runs[0]
    assert [f.id for f in run.findings] == ["one-class-truth"]
    assert run.find("kappa").value is None
    assert run.find("kappa").why == "truth and prediction hold one and the same class only"


def test_class_set_and_zero_division_reach_the_measure():
    result = gnomon.score("labels", TRUTH, HALF, classes="a,b,c,d", zero_division="0")
    assert scores(result)["macro_f1_listed"] == pytest.approx((2 / 5 + 1 / 2 + 2 / 3) / 4)
    assert "classes=('a', 'b', 'c', 'd')" in result.runs[0].find("macro_f1_listed").measure
    assert [f.id for f in result.runs[0].findings] == ["listed-class-absent", "unread-input"]
    assert "averages over the listed classes a, b, c, d; 0/0 counts as 0" in result.tables["scores"].notes
    same = gnomon.score("labels", TRUTH, HALF, classes=["a", "b", "c", "d"], zero_division=0)
    assert scores(same) == scores(result)
    assert scores(gnomon.score("labels", TRUTH, HALF, zero_division=None, classes="present"))["macro_f1_present"]


def test_multilabel_by_separator_and_by_lists():
    """By hand: tp 2, truth 3, predicted 3, so micro-F1 = 4/6; exact on row 1 only."""
    truth = {"id": ["1", "2", "3"], "label": ["cup;hand", "cup", ""], "group": ["x", "y", "z"]}
    prediction = {"id": ["1", "2", "3"], "label": ["hand; cup", "", "hand"]}
    result = scores(gnomon.score("labels", truth, prediction, separator=";"))
    assert result["micro_f1"] == pytest.approx(4 / 6)
    assert result["exact_match"] == pytest.approx(1 / 3)
    lists = {"id": ["1", "2", "3"], "label": [["cup", "hand"], ["cup"], []], "group": ["x", "y", "z"]}
    guess = {"id": ["1", "2", "3"], "label": [["hand", "cup"], [], ["hand"]]}
    assert scores(gnomon.score("labels", lists, guess)) == result


def test_fingerprints_ignore_row_order_and_notice_content():
    def prints(truth, prediction):
        manifest = gnomon.score("labels", truth, prediction).runs[0].manifest
        return manifest["data_fingerprint"], manifest["prediction_fingerprint"]

    shuffled = {key: list(reversed(values)) for key, values in TRUTH.items()}
    assert prints(TRUTH, HALF) == prints(shuffled, HALF)
    relabelled = {**TRUTH, "label": ["b", "a", "b", "b", "c", "a"]}
    assert prints(relabelled, HALF)[0] != prints(TRUTH, HALF)[0]
    regrouped = {**TRUTH, "group": ["x", "y", "y", "y", "z", "z"]}
    assert prints(regrouped, HALF)[0] != prints(TRUTH, HALF)[0]
    assert prints(TRUTH, GOOD)[1] != prints(TRUTH, HALF)[1]


def test_group_level_fold_equals_a_plain_reference(tmp_path):
    """Tallies per case against a plain Python count written here."""
    rng = np.random.default_rng(3)
    n = 500
    truth = {
        "id": [str(i) for i in range(n)],
        "label": rng.choice(list("abcd"), n).tolist(),
        "group": rng.choice(list("pqrs"), n).tolist(),
    }
    guess = rng.choice(list("abce"), n).tolist()
    run = gnomon.score("labels", truth, {"id": truth["id"], "label": guess}, out=tmp_path).runs[0]
    tallies = run.tallies["classification"]
    for case, group in enumerate(run.roster.groups):
        rows = [i for i in range(n) if truth["group"][i] == group]
        for column, label in enumerate(tallies.axes["class"]):
            assert tallies.fields["truth"][case, column] == sum(truth["label"][i] == label for i in rows)
            assert tallies.fields["predicted"][case, column] == sum(guess[i] == label for i in rows)
            hits = sum(truth["label"][i] == guess[i] == label for i in rows)
            assert tallies.fields["tp"][case, column] == hits


def test_formats_agree(tmp_path):
    from gnomon.intake.writing import write_table

    found = []
    for suffix in ("csv", "tsv", "parquet", "jsonl", "npz"):
        truth, prediction = tmp_path / f"truth.{suffix}", tmp_path / f"half.{suffix}"
        write_table(pa.table(TRUTH), truth)
        write_table(pa.table(HALF), prediction)
        run = gnomon.score("labels", truth, prediction).runs[0]
        found.append((run.system, run.manifest["data_fingerprint"], json.dumps([s.record() for s in run.scores])))
    assert len(set(found)) == 1


def test_result_prints_and_converts():
    result = gnomon.score("labels", TRUTH, {"half": HALF})
    assert "macro f1" in str(result)
    assert repr(result) == str(result)
    assert "<table" in result._repr_html_()
    frame = result.to_frame()
    assert frame.loc[0, "system"] == "half"
    assert frame.loc[0, "accuracy"] == 0.5
    assert result.to_arrow("per_class").column("class").to_pylist() == ["a", "b", "c"]


def test_data_frames_are_accepted():
    pandas = pytest.importorskip("pandas")
    result = gnomon.score("labels", pandas.DataFrame(TRUTH), pandas.DataFrame(HALF))
    assert scores(result)["accuracy"] == 0.5


def test_unknown_option_suggests():
    with pytest.raises(InputError, match="did you mean 'missing'"):
        gnomon.score("labels", TRUTH, HALF, mising="skip")
