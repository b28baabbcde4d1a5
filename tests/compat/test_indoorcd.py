"""Published names: expected values by hand; the order of arguments is (prediction, truth)."""

import re

import numpy as np
import pytest

from gnomon.compat import indoorcd
from gnomon.compat.indoorcd import DetectedBox, GroundTruthBox
from gnomon.core.errors import InputError


def true(label, low, high):
    return GroundTruthBox(label, [low, 0, 0], [high, 1, 1])


def found(label, low, high):
    return DetectedBox(label, np.array([low, 0, 0]), np.array([high, 1, 1]), 0.5)


def test_boxes_are_given_as_prediction_then_truth():
    # Three detected, one true, one matched: precision 1/3 and recall 1; the other way round both would be swapped.
    detected = [found("Add", 0, 1), found("Add", 5, 6), found("Remove", 8, 9)]
    result = indoorcd.BoxLevelEvaluator(iou_threshold=0.25).evaluate(detected, [true("Add", 0, 1)])
    assert (result["precision"], result["recall"], result["f1"]) == pytest.approx((1 / 3, 1, 0.5))
    assert (result["tp"], result["fp"], result["fn"], result["mean_iou"]) == (1, 2, 0, 1.0)
    assert result["per_class"]["Add"]["precision"] == pytest.approx(0.5)


def test_boxes_match_as_published():
    # The example of the specification: the Hungarian assignment keeps .7778 and loses two matches above .25.
    detected = [found("Add", 0.2, 0.9), found("Add", 0.6, 1.3)]
    truths = [true("Add", 0.4, 1.3), true("Add", 0.8, 1.1)]
    assert indoorcd.BoxLevelEvaluator().evaluate(detected, truths)["tp"] == 1


def test_points_are_given_as_prediction_then_truth():
    result = indoorcd.PointLevelEvaluator().evaluate([1, 1, 1, 2], [1, 0, 0, 2])
    assert result["accuracy"] == 0.5
    assert (result["precision"]["Add"], result["recall"]["Add"]) == pytest.approx((1 / 3, 1.0))
    assert result["f1"]["Remove"] == 1.0
    assert result["macro_f1"] == pytest.approx((0 + 0.5 + 1) / 3)


def test_scenes_are_given_as_prediction_then_truth():
    result = indoorcd.SceneLevelEvaluator().evaluate([True, True, False, True], [True, False, False, False])
    assert (result["accuracy"], result["cdr"], result["far"]) == pytest.approx((0.5, 1.0, 2 / 3))


@pytest.mark.parametrize(
    ("box", "expected"),
    [((0, 1), 1.0), ((0.5, 1.5), 1 / 3), ((1, 2), 0.0), ((3, 4), 0.0)],
)
def test_iou_by_hand(box, expected):
    assert indoorcd.compute_iou(true("Add", 0, 1), found("Remove", *box)) == pytest.approx(expected)


def test_boxes_without_volume_have_no_iou():
    flat = GroundTruthBox("Add", [0, 0, 0], [0, 0, 0])
    assert indoorcd.compute_iou(flat, flat) == 0.0


class Shifted:
    """Finds the one box where it is told to."""

    def __init__(self, at=0.0, width=1.0):
        self.at, self.width = at, width

    def detect(self, reference, comparison):
        assert reference.shape == comparison.shape == (4, 3)
        return [found("Add", self.at, self.at + self.width)]


SCENE = (np.zeros((4, 3)), np.ones((4, 3)), [true("Add", 1, 2)])


def test_grid_search_tries_everything_in_order_and_returns_the_best():
    best, results = indoorcd.grid_search(Shifted, {"at": [0.0, 1.0, 3.0], "width": [1.0, 2.0]}, [SCENE])
    assert best == {"at": 0.0, "width": 2.0}  # the first of three that are equal
    assert [item["params"]["at"] for item in results] == [0.0, 0.0, 1.0, 1.0, 3.0, 3.0]
    assert [item["metrics"]["macro_f1"] for item in results] == [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    best, _ = indoorcd.grid_search(Shifted, {"at": [0.0, 1.0], "width": [1.0, 2.0]}, [SCENE], metric="mean_iou")
    assert best == {"at": 1.0, "width": 1.0}


@pytest.mark.parametrize(
    ("grid", "scenes", "metric", "message"),
    [
        ({}, [SCENE], "macro_f1", "at least one parameter"),
        ({"at": []}, [SCENE], "macro_f1", "at least one value"),
        ({"at": [1.0]}, [], "macro_f1", "at least one scene"),
        ({"at": [1.0]}, [SCENE], "accuracy", "expected one of macro_precision"),
        ({"foo": [1.0]}, [SCENE], "macro_f1", "Shifted does not take"),
        ({"at": [1.0]}, ["d4"], "macro_f1", "expected scenes or"),
        ({"at": [1.0]}, "no-such-folder", "macro_f1", "no such folder"),
    ],
)
def test_grid_search_refuses(grid, scenes, metric, message):
    with pytest.raises(InputError, match=message):
        indoorcd.grid_search(Shifted, grid, scenes, metric)


def test_the_detector_takes_the_published_parameters():
    grid = {"distance_threshold": 0.05, "eps": 0.02, "box_budget_per_class": 3}
    assert indoorcd.MultiStageDetector(**grid).parameters.box_budget_per_class == 3
    floor = np.stack(np.meshgrid(np.linspace(0, 2, 40), np.linspace(0, 2, 40), [0.0]), axis=-1).reshape(-1, 3)
    cube = np.random.default_rng(0).uniform([0.9, 0.9, 0.2], [1.1, 1.1, 0.4], (800, 3))
    walls = np.random.default_rng(1).uniform([0, 0, 0], [2, 2, 2], (200, 3))
    room = np.concatenate([floor, walls])
    boxes = indoorcd.MultiStageDetector().detect(room, np.concatenate([room, cube]))
    assert [box.label for box in boxes] == ["Add"]
    assert indoorcd.compute_iou(boxes[0], GroundTruthBox("Add", [0.9, 0.9, 0.2], [1.1, 1.1, 0.4])) > 0.3


def test_the_published_table(tmp_path):
    metrics = {"macro_precision": 0.312, "macro_recall": 0.267, "macro_f1": 0.273, "mean_iou": 0.451}
    value = {"methods": {"multi_stage": {"metrics": metrics}, "none_": {"metrics": {**metrics, "mean_iou": None}}}}
    text = indoorcd.generate_latex_tables(value)
    head = re.search(r"\\toprule\n\s*(.*) \\\\", text)[1]
    assert head.translate(str.maketrans("", "", "{}")) == "Method & Precision & Recall & F1 & mIoU"
    assert r"multi\_stage & 0.312 & 0.267 & 0.273 & 0.451" in text
    assert r"none\_ & 0.312 & 0.267 & 0.273 & {undefined}" in text


@pytest.mark.parametrize(
    ("results", "message"), [({"a": 1}, "expected an object with 'methods'"), ("none.json", "none")]
)
def test_results_that_are_none_are_refused(results, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        indoorcd.generate_latex_tables(results)
