"""Windows predicted elsewhere: tables in, scores out. Expected values by scikit-learn, by hand, or by counting here."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.metrics import accuracy_score, f1_score

import gnomon
from gnomon.core.errors import InputError
from gnomon.runs.content import column_digest
from gnomon.suites.har.options import TemplateOptions
from gnomon.suites.har.template import template
from gnomon.suites.har.vocabulary import LABELS, TEST_LABELS, group_of


def drawn(n=400, seed=0, dataset="motionsense", task=None):
    rng = np.random.default_rng(seed)
    own = TEST_LABELS[dataset]
    truth = rng.choice(own, n)
    answers = np.where(rng.random(n) < 0.5, truth, rng.choice(LABELS, n))
    people = rng.integers(1, 9, n)
    table = {
        "id": [f"w{i}" for i in range(n)],
        "label": truth.tolist(),
        "subject": [f"s{p}" for p in people],
        "recording": [f"r{p}-{t}" for p, t in zip(people, truth, strict=True)],
        "dataset": [dataset] * n,
    }
    given = {"id": list(table["id"]), "label": answers.tolist()}
    if task:
        table["task"] = given["task"] = [task] * n
    return table, given


def test_scores_are_those_of_scikit_learn():
    truth, given = drawn()
    scores = gnomon.score("har", truth, given).scores["predictions"]
    for scoring, map_ in (("group_", group_of), ("exact_", str)):
        t, p = ([map_(x) for x in side] for side in (truth["label"], given["label"]))
        expected = {
            "accuracy": accuracy_score(t, p),
            "macro_f1": f1_score(t, p, average="macro", zero_division=0),
            "weighted_f1": f1_score(t, p, average="weighted", zero_division=0),
            "macro_f1_present": f1_score(t, p, labels=sorted(set(t)), average="macro", zero_division=0),
        }
        for name, value in expected.items():
            for where in ("zs-open motionsense", "zs-open"):
                assert scores[f"{scoring}{name}[{where}]"] == pytest.approx(value, abs=1e-12)
    assert scores["accuracy[zs-open]"] == scores["group_accuracy[zs-open]"]


@pytest.mark.parametrize(
    ("metric", "aligned", "scoring"),
    [("zs-closed", False, "group"), ("zs-closed", True, "exact"), ("sup-1", False, "exact")],
)
def test_the_native_scoring_follows_the_metric_and_the_kind_of_model(metric, aligned, scoring):
    truth, given = drawn(seed=3)
    scores = gnomon.score("har", truth, given, task=metric, text_aligned=aligned).scores["predictions"]
    assert scores[f"accuracy[{metric}]"] == scores[f"{scoring}_accuracy[{metric}]"]


def test_the_mean_is_over_main_datasets_and_the_severe_one_is_apart():
    tables = [drawn(100 + 50 * i, i, name) for i, name in enumerate(("motionsense", "realworld", "vtt_coniot"))]
    truth, given = ({key: [x for t in tables for x in t[side][key]] for key in tables[0][side]} for side in (0, 1))
    given["dataset"] = truth["dataset"]
    result = gnomon.score("har", truth, given)
    scores = result.scores["predictions"]
    own = [scores[f"accuracy[zs-open {name}]"] for name in ("motionsense", "realworld")]
    assert scores["accuracy[zs-open]"] == pytest.approx(np.mean(own), abs=1e-12)
    assert scores["accuracy[zs-open vtt_coniot]"] is not None
    rows = {row["dataset"].value: row for row in result.tables["coverage"].rows}
    assert rows["vtt_coniot (apart)"]["mask"].value == "20/87"
    novel = [label for label in truth["label"][250:] if group_of(label) not in {group_of(x) for x in LABELS}]
    assert rows["vtt_coniot (apart)"]["ceiling"].value == pytest.approx(100 * (1 - len(novel) / 200))


def test_scores_over_labels_are_masked_in_the_closed_set():
    """By hand: the largest score is outside of the closed set, the second largest is right."""
    truth, _ = drawn(4, 1)
    truth["label"] = ["walking"] * 4
    columns = {"score:ironing": [3.0] * 4, "score:nordic_walking": [2.0] * 4, "score:sitting": [1.0] * 4}
    given = {"id": truth["id"], **columns}
    assert gnomon.score("har", truth, given).scores["predictions"]["accuracy[zs-open]"] == 0
    closed = gnomon.score("har", truth, given, task="zs-closed").scores["predictions"]
    assert (closed["accuracy[zs-closed]"], closed["exact_accuracy[zs-closed]"]) == (1, 0)


def test_missing_windows_are_an_error_or_wrong_or_left_out():
    truth, given = drawn(50, 2)
    given = {"id": given["id"][:40], "label": truth["label"][:40]}
    with pytest.raises(InputError, match="no prediction for windows of the truth"):
        gnomon.score("har", truth, given)
    assert gnomon.score("har", truth, given, missing="wrong").scores["predictions"]["accuracy[zs-open]"] == 0.8
    left = gnomon.score("har", truth, given, missing="skip")
    assert left.scores["predictions"]["accuracy[zs-open]"] == 1
    assert not left.complete


@pytest.mark.parametrize("metric", ["zs-open", "zs-closed"])
def test_one_missing_window_leaves_macro_f1_defined(metric):
    """By hand: 8 windows of 2 groups, all right but one that is missing and costs most as an answer of the other group.

    a: 3 of 4 found, no false positive: 6 / 7; b: 4 of 4 found, one false positive: 8 / 9.
    """
    truth, _ = drawn(8, 1)
    truth["label"] = ["walking"] * 4 + ["sitting"] * 4
    given = {"id": truth["id"][1:], "label": truth["label"][1:]}
    result = gnomon.score("har", truth, given, task=metric, missing="wrong")
    scores = result.scores["predictions"]
    assert scores[f"macro_f1[{metric}]"] == pytest.approx((6 / 7 + 8 / 9) / 2, abs=0.01)
    assert scores[f"macro_f1[{metric}]"] == scores[f"macro_f1_present[{metric}]"]
    assert any("else over the groups in truth" in note for note in result.tables["datasets"].notes)
    default = gnomon.score("har", truth, {"id": truth["id"], "label": truth["label"]}, task=metric)
    assert default.runs[0].manifest["protocol_fingerprint"] != result.runs[0].manifest["protocol_fingerprint"]


def test_a_system_that_answers_nothing_has_no_score():
    truth, _ = drawn(20, 1)
    for missing in ("wrong", "skip"):
        with pytest.raises(InputError, match="no window of the truth has a prediction: nothing can be scored"):
            gnomon.score("har", truth, {"id": ["w0"], "label": [None]}, missing=missing)


def test_windows_of_a_file_that_were_not_scored_are_recorded_by_case():
    truth, given = drawn(50, 2)
    kept = {key: values[:3] + values[4:] for key, values in given.items()}
    coverage = gnomon.score("har", truth, kept, missing="skip").runs[0].coverage
    case = "/".join(truth[name][3] for name in ("dataset", "subject", "recording"))
    assert coverage["lacking"] == {case: 1}
    assert coverage["left_out"] == {case: column_digest(pa.array(["zs-open w3"]))}


@pytest.mark.parametrize(("lost", "differ"), [((3, 4), True), ((3, 3), False)])
def test_systems_that_lack_as_many_windows_need_not_lack_the_same(lost, differ):
    truth, given = drawn(400, 2)
    systems = {
        name: {key: values[:at] + values[at + 1 :] for key, values in given.items()}
        for name, at in zip(("one", "two"), lost, strict=True)
    }
    result = gnomon.score("har", truth, systems, missing="skip")
    found = [finding.evidence for finding in result.runs[0].findings if finding.id == "coverage-differs"]
    assert len(found) == differ
    assert not differ or "one 399 windows, two 399 windows" in found[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, p: t.pop("subject"), "no column 'subject'"),
        (lambda t, p: p.pop("label"), "no column 'label'"),
        (lambda t, p: p["id"].__setitem__(0, "w1"), "occur more than once"),
        (lambda t, p: p["id"].__setitem__(0, "else"), "not in the truth"),
        (lambda t, p: t.update(task=["zs"] * 20), "unknown task 'zs'"),
        (lambda t, p: t.update(task=["zs-open"] * 20), "no column 'task'"),
        (lambda t, p: t["label"].__setitem__(3, None), "empty 'label' in row 4"),
    ],
)
def test_what_is_wrong_with_tables_is_said(change, message):
    truth, given = drawn(20, 4)
    change(truth, given)
    with pytest.raises(InputError, match=message):
        gnomon.score("har", truth, given)


def test_a_table_with_semicolons_is_recognised(tmp_path):
    truth, _ = drawn(20, 4)
    path = tmp_path / "said.csv"
    path.write_text("id;label\nw0;walking\n")
    with pytest.raises(InputError, match="seems to be separated by semicolons, as 'id', 'label': save it with commas"):
        gnomon.score("har", truth, str(path))


def test_scores_that_are_not_numbers_are_refused():
    truth, _ = drawn(2, 4)
    with pytest.raises(InputError, match="row 2: a score is missing"):
        gnomon.score("har", truth, {"id": truth["id"], "score:walking": [1.0, float("nan")]})


def test_the_template_scores_as_it_says(tmp_path):
    """By hand: of 72 windows, one subject's 4 of walking_upstairs are wrong by group, and 4 of jogging too by label."""
    truth, predictions = template(TemplateOptions(directory=str(tmp_path)))
    scores = gnomon.score("har", str(truth), str(predictions)).scores["predictions"]
    assert scores["accuracy[zs-open]"] == pytest.approx(68 / 72)
    assert scores["exact_accuracy[zs-open]"] == pytest.approx(64 / 72)
    assert scores["accuracy[sup-10]"] == 1
    assert pa.csv.read_csv(truth).num_rows == 4 * 72


def test_the_published_shape(tmp_path):
    truth, given = drawn(60, 5, task="sup-1")
    gnomon.score("har", truth, {"mine": given}, export_baseline=str(tmp_path / "out"))
    found = json.loads((tmp_path / "out" / "mine_evaluation.json").read_text())
    entry = found["results"]["motionsense"]["1pct_supervised"]
    expected = 100 * accuracy_score(truth["label"], given["label"])
    assert entry["accuracy"] == pytest.approx(expected)
    assert set(entry) == {"accuracy", "f1_macro", "f1_weighted", "n_samples", "n_train_samples"}
    assert entry["n_samples"] == 60


def test_order_of_rows_changes_nothing(tmp_path):
    truth, given = drawn(80, 6)
    order = np.random.default_rng(0).permutation(80)
    mixed = {key: [values[i] for i in order] for key, values in given.items()}
    first, second = gnomon.score("har", truth, given), gnomon.score("har", truth, mixed)
    assert first.runs[0].manifest["id"] == second.runs[0].manifest["id"]
    assert first.scores == second.scores


def test_a_stored_run_is_read_back_and_verified(tmp_path):
    from gnomon.runs.verify import verify

    truth, given = drawn(120, 7)
    result = gnomon.score("har", truth, given, out=str(tmp_path))
    path = result.runs[0].path
    assert all(check.passed for check in verify(path))
    assert gnomon.load(path).scores == result.scores
    assert (
        result.runs[0].manifest["facts"]["vocabulary"] == result.runs[0].manifest["protocol"]["settings"]["vocabulary"]
    )


def test_macro_f1_of_exact_metrics_is_over_the_labels_of_the_dataset():
    """By hand: two of the six labels of MotionSense occur and all answers are right, so that macro-F1 is 2/6."""
    n = 8
    own = (["walking", "sitting"] * n)[:n]
    truth = {
        "id": [f"w{i}" for i in range(n)],
        "label": own,
        "subject": ["s"] * n,
        "recording": ["r"] * n,
        "dataset": ["motionsense"] * n,
    }
    given = {"id": truth["id"], "label": own, "n_train": [12] * n}
    for metric, aligned, expected in (("sup-1", False, 2 / 6), ("zs-closed", True, 2 / 6), ("zs-closed", False, 1.0)):
        result = gnomon.score("har", truth, given, task=metric, text_aligned=aligned)
        scores = result.scores["predictions"]
        assert scores[f"macro_f1[{metric} motionsense]"] == pytest.approx(expected)
        assert scores[f"macro_f1[{metric}]"] == pytest.approx(expected)
        assert scores[f"macro_f1_present[{metric}]"] == pytest.approx(1.0)
        assert result.runs[0].manifest["facts"]["tasks"][f"{metric} motionsense"]["n_train"] == 12
    given["n_train"][3] = 13
    with pytest.raises(InputError, match="'n_train' is not the same in all rows"):
        gnomon.score("har", truth, given, task="sup-1")


@pytest.mark.parametrize(
    ("metric", "label", "said"),
    [
        ("zs-open", "Walking", "labels that nobody knows"),
        ("zs-closed", "eating_soup", "outside the closed set"),
        ("sup-1", "running", "labels that the dataset does not have"),
    ],
)
def test_answers_that_cannot_be_right_are_named(metric, label, said):
    truth, _ = drawn(60, seed=1)
    given = {"id": list(truth["id"]), "label": list(truth["label"])}
    result = gnomon.score("har", truth, given, task=metric)
    assert "impossible-answers" not in {f.id for f in result.runs[0].findings}
    given["label"][5] = label
    (found,) = [f for f in gnomon.score("har", truth, given, task=metric).runs[0].findings if "impos" in f.id]
    assert said in found.evidence
    assert "1 of 60 answers" in found.evidence
    assert label in found.evidence


def test_scores_that_are_no_numbers_are_named_with_row_and_column():
    truth, _ = drawn(4)
    given = {"id": list(truth["id"]), "score:walking": ["1", "2", "x", "4"]}
    with pytest.raises(InputError, match=r"column 'score:walking' holds 'x' in row 3"):
        gnomon.score("har", truth, given)


def test_columns_that_are_not_used_are_named():
    truth = {"id": ["1", "2"], "label": ["walking", "sitting"], "subject": ["a", "b"], "recording": ["r", "s"]}
    truth |= {"dataset": ["motionsense"] * 2, "metrics": ["sup-1"] * 2}
    answers = {"id": ["1", "2"], "label": ["walking", "sitting"], "confidence": [0.5, 0.6]}
    run = gnomon.score("har", truth, answers).runs[0]
    told = [finding.evidence for finding in run.findings if finding.id == "unread-input"]
    assert told == ["not read: <predictions in memory>: 'confidence' (2 rows); <truth in memory>: 'metrics' (2 rows)"]


def test_columns_of_shards_that_are_not_used_are_named(tmp_path):
    for name in ("a", "b"):
        for side, column in (("truth", "metrics"), ("mine", "confidence")):
            (tmp_path / side).mkdir(exist_ok=True)
            rows = [f"{name}{n},walking,{name},r{name},motionsense,1" for n in range(3)]
            text = "\n".join([f"id,label,subject,recording,dataset,{column}", *rows, ""])
            (tmp_path / side / f"{name}.csv").write_text(text)
    run = gnomon.score("har", str(tmp_path / "truth"), str(tmp_path / "mine")).runs[0]
    (told,) = [finding.evidence for finding in run.findings if finding.id == "unread-input"]
    own = "mine/*.csv: 'subject', 'recording', 'confidence' (6 rows)"
    assert told == f"not read: {own}; truth/*.csv: 'metrics' (6 rows)"


def test_a_file_is_recorded_however_its_path_is_given(tmp_path):
    truth, given = drawn(20, 4)
    for name, table in (("truth", truth), ("said", given)):
        pa.csv.write_csv(pa.table(table), tmp_path / f"{name}.csv")
    said = tmp_path / "said.csv"
    result = gnomon.score("har", tmp_path / "truth.csv", {"mine": said})
    assert [one["path"] for one in result.runs[0].manifest["inputs"]] == [str(tmp_path / "truth.csv"), str(said)]
    assert result.runs[0].manifest["inputs"][1]["bytes"] == said.stat().st_size
