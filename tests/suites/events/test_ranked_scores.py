"""mAP and first onset errors of ``events`` are scores with intervals, made from rows. Expected values: by hand."""

import json

import pytest

import gnomon
from gnomon.runs.comparison import Contest

RANKED = ("first_onset_error_median", "first_onset_error_p90", "mAP@50:95", "mAP@50")


def write(folder, late, scores=True):
    """One event of 10 s in each recording, found so many seconds late (None: not at all), the later the less sure."""
    truth, found = [], {}
    for i, seconds in enumerate(late):
        truth.append(folder / f"r{i}.json")
        case = {"t1": 0, "t2": 100, "subject": {"id": f"s{i}"}, "labels": [{"t1": 10, "t2": 20, "label": "fall"}]}
        truth[-1].write_text(json.dumps(case))
        found[f"r{i}"] = []
        if seconds is not None:
            item = {"t1": 10 + seconds, "t2": 20, "label": "fall", "score": 1 - seconds / 100}
            found[f"r{i}"] = [item if scores else {key: item[key] for key in ("t1", "t2", "label")}]
    (folder / "mine.json").write_text(json.dumps(found))
    return {"truth": tuple(map(str, truth)), "predictions": str(folder / "mine.json")}


def test_scores_of_rows_by_hand(tmp_path):
    # Eight found 0 to 7 s late, two missed. IoU is (10 - late) / 10: at .5 six hit, the best six of eight returns.
    given = write(tmp_path, [0, 1, 2, 3, 4, 5, 6, 7, None, None])
    result = gnomon.score("events", **given, out=tmp_path / "runs")
    (run,) = result.runs
    scores = {name: run.find(name) for name in RANKED}
    assert scores["mAP@50"].value == pytest.approx(6 / 10)
    # At .5, .55, .6, ..., .95 the first 6, 5, 5, 4, 4, 3, 3, 2, 2, 1 returns hit.
    assert scores["mAP@50:95"].value == pytest.approx((6 + 5 + 5 + 4 + 4 + 3 + 3 + 2 + 2 + 1) / 10 / 10)
    assert (scores["first_onset_error_median"].value, scores["first_onset_error_p90"].value) == (
        3.5,
        pytest.approx(0.9 * 7),
    )
    assert [scores[name].n for name in RANKED] == [8, 8, 10, 10]
    assert all(score.low < score.value < score.high for score in scores.values())
    assert scores["first_onset_error_median"].unit == "s"
    assert all(check.passed for check in gnomon.verify(run.path))
    row = gnomon.load(tmp_path / "runs").tables["edge_errors"].rows[0]
    assert (row["median"].value, row["median"].low, row["map50"].high) == (
        3.5,
        scores["first_onset_error_median"].low,
        scores["mAP@50"].high,
    )


def test_results_without_scores_have_no_average_precision(tmp_path):
    (run,) = gnomon.score("events", **write(tmp_path, [0, 1, 2], scores=False)).runs
    assert run.find("mAP@50").why == "something returned has no score"
    assert run.find("first_onset_error_median").value == 1.0


def test_nothing_returned_is_no_precision_and_no_onset_error(tmp_path):
    (run,) = gnomon.score("events", **write(tmp_path, [None, None])).runs
    assert run.find("mAP@50").value == 0.0
    assert run.find("first_onset_error_median").why == "no first onset error to summarise"


def test_the_published_variant_stays_what_its_text_says(tmp_path):
    (run,) = gnomon.score("events", **write(tmp_path, [0, 1]), variant="published").runs
    assert not {measure.name for measure in run.measures} & set(RANKED)


def test_an_early_system_does_not_win_by_its_signed_onset_error(tmp_path):
    """30 s early is not better than exact: 0 is best, and a signed error has no winner."""
    truth, sides = [], {"early": {}, "exact": {}}
    for i in range(8):
        case = {"t1": 0, "t2": 200, "labels": [{"t1": 60, "t2": 90, "label": "fall"}]}
        truth.append(tmp_path / f"r{i}.json")
        truth[-1].write_text(json.dumps(case))
        sides["early"][f"r{i}"] = [{"t1": 30, "t2": 90, "label": "fall"}]
        sides["exact"][f"r{i}"] = [{"t1": 60, "t2": 90, "label": "fall"}]
    for name, found in sides.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(found))
    given = [f"{name}={tmp_path / name}.json" for name in sides]
    early, exact = gnomon.score("events", tuple(map(str, truth)), tuple(given), out="none").runs
    for name, seconds in (("first_onset_error_median", -30.0), ("first_onset_error_p90", -30.0)):
        measure = next(one for one in early.measures if one.name == name)
        assert (early.find(name).value, exact.find(name).value, measure.direction) == (seconds, 0.0, "")
        assert measure.loss(0.0) < measure.loss(seconds)
        assert Contest([early, exact]).winner(measure) == ""
