"""``labels`` from tables to runs. Expected values are computed by hand or by scikit-learn where said."""

import json
import re

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


def test_a_slice_is_scored_as_a_file_of_its_own_and_says_over_which_classes():
    """By hand: slice x has the class a in truth, and c once among its answers: F1 of a is 6 / 7, that of c is 0."""
    truth = {"id": list("123456"), "label": list("aaaabc"), "site": list("xxxxyy"), "group": list("ghghgh")}
    said = {"id": list("123456"), "label": list("aaacbc")}
    result = gnomon.score("labels", truth, said, slice=("site",))
    alone = gnomon.score(
        "labels", {name: own[:4] for name, own in truth.items()}, {"id": list("1234"), "label": list("aaac")}
    )
    (run,) = result.runs
    assert run.find("macro_f1", "site=x").value == alone.runs[0].find("macro_f1").value == pytest.approx(3 / 7)
    table = result.tables["slices"]
    assert table.rows[0]["macro_f1"].value == pytest.approx(3 / 7)
    rule = "macro f1: over the classes in truth or answers of the slice; one that is in its answers alone counts as 0"
    assert table.notes[0] == rule
    present = gnomon.score("labels", truth, said, slice=("site",), classes="present").tables["slices"]
    assert present.rows[0]["macro_f1_present"].value == pytest.approx(6 / 7)
    assert present.notes[0] == "macro f1 present: over the classes in truth of the slice"


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
    worst = "missing answers: every row is the worst case of its class by itself"
    assert any(note.startswith(worst) for note in result.tables["per_class"].notes)
    full = {"id": TRUTH["id"], "label": TRUTH["label"]}
    pair = gnomon.score("labels", TRUTH, {"part": partial, "full": full}, missing="wrong").tables["per_class"]
    assert any(note.startswith("missing answers of part: every row") for note in pair.notes)
    for given in (full, {"id": ["1"], "label": ["a"]}):
        other = gnomon.score("labels", TRUTH, given, missing="skip").tables["per_class"]
        assert not any("missing answers" in note for note in other.notes)


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
    frame = result.to_pandas()
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


def test_masked_answers_are_missing_and_masked_truth_is_refused():
    """By hand: of six rows four are right and one is masked."""
    answers = np.ma.array(["a", "a", "b", "b", "c", "b"], mask=[0, 1, 0, 0, 0, 0])
    given = {"id": TRUTH["id"], "label": answers}
    assert scores(gnomon.score("labels", TRUTH, given, missing="wrong"))["accuracy"] == pytest.approx(4 / 6)
    assert scores(gnomon.score("labels", TRUTH, given, missing="skip"))["accuracy"] == pytest.approx(4 / 5)
    assert scores(gnomon.score("labels", TRUTH["label"], answers, missing="wrong"))["accuracy"] == pytest.approx(4 / 6)
    with pytest.raises(InputError, match="empty 'label' for ids '2'; fill in every row, or choose --missing wrong"):
        gnomon.score("labels", TRUTH, given)
    with pytest.raises(InputError, match="truth in memory>: empty 'label' for ids '2'; fill in every row"):
        gnomon.score("labels", {**TRUTH, "label": answers}, HALF, missing="wrong")


def test_sparse_columns_of_pandas_are_read():
    pandas = pytest.importorskip("pandas")
    truth, answers = pandas.arrays.SparseArray([0, 1, 0, 1]), pandas.Series(pandas.arrays.SparseArray([0, 1, 1, 1]))
    assert scores(gnomon.score("labels", truth, answers))["accuracy"] == 0.75
    frame = pandas.DataFrame({"id": list("wxyz"), "label": truth})
    assert scores(gnomon.score("labels", frame, {"id": list("wxyz"), "label": answers}))["accuracy"] == 0.75


def test_a_list_inside_a_list_is_refused_in_one_clear_line():
    with pytest.raises(InputError, match="a list that holds one list: give the inner list, one label per row"):
        gnomon.score("labels", [["a", "b", "a"]], ["a", "b", "b"])
    with pytest.raises(InputError, match="'id' has 6, 'label' has 1; give every column one value per row"):
        gnomon.score("labels", {"id": TRUTH["id"], "label": [TRUTH["label"]]}, HALF)
    with pytest.raises(InputError, match="both be sets of labels; the truth has a list in each row"):
        gnomon.score("labels", {"id": TRUTH["id"], "label": [[label] for label in TRUTH["label"]]}, HALF)


@pytest.mark.parametrize(
    ("truth", "predictions", "words"),
    [
        ([["a"], ["b"]], [["a"], ["b"]], "got a list of lists; give a flat list"),
        ({"a", "b"}, ["a", "b"], "truth: expected a path, a table, or one label per row, but got set"),
        (iter("ab"), ["a", "b"], "but got str_ascii_iterator; give labels as a list"),
    ],
)
def test_containers_that_hold_no_column_are_named(truth, predictions, words):
    with pytest.raises(InputError, match=re.escape(words)):
        gnomon.score("labels", truth, predictions, out="none")
