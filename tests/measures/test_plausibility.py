"""Sizes that are refused and sizes that are not; limits are those that the module states, bodies are made by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.measures import boxes, pose
from gnomon.measures.plausibility import (
    check_body_size,
    check_box_size,
    check_same_unit,
    check_scene_size,
    measure_bodies,
    measure_boxes,
    measure_distances,
    metres_of,
)

ADULT = np.array([[0.0, 0, 0], [0.3, 0, 1.0], [-0.3, 0.1, 1.75]])


def compare(truth, prediction, places=None, what="bodies"):
    """Compare extents; positions have the factor ``places``, by default that of the extents."""
    factor = np.median(prediction) / np.median(truth) if places is None else places
    check_same_unit(truth, prediction, distances_m=(np.array([2.0, 3, 4]), factor * np.array([3.0])), what=what)


def bodies(size, count=3):
    """Bodies of a given extent."""
    return np.tile(ADULT / 1.75 * size, (count, 1, 1))


@pytest.mark.parametrize("size", [0.05, 0.18, 0.3, 0.5, 1.0, 1.75, 2.5])
def test_hands_children_and_adults_pass(size):
    check_body_size(bodies(size), what="truth")


@pytest.mark.parametrize("size", [0.08, 0.18, 0.5, 1.75, 2.5])
@pytest.mark.parametrize(("factor", "unit"), [(100, "centimetres"), (1000, "millimetres")])
def test_the_same_in_another_unit_is_refused_with_the_figure(size, factor, unit):
    with pytest.raises(InputError, match=r"^file: median body extent .* m \(3 poses\), expected 0.01 to 5 m") as caught:
        check_body_size(bodies(size * factor), what="file", remedy="do that")
    assert unit in str(caught.value)
    assert str(caught.value).endswith("; do that")


def test_metres_that_were_divided_once_too_often_are_refused():
    with pytest.raises(InputError, match=r"median body extent 0.00175 m"):
        check_body_size(bodies(0.00175), what="truth")


def test_what_says_nothing_about_a_unit_is_not_judged():
    check_body_size(np.zeros((4, 1, 3)), what="single joints")
    check_body_size(np.full((4, 3, 3), 7.0), what="joints that coincide")
    check_body_size(np.full((4, 3, 3), np.nan), what="no finite joint")
    check_body_size(np.empty((0, 3, 3)), what="no pose")
    compare(np.array([1.7]), np.zeros(3), what="a constant point")
    nowhere = np.zeros(3), np.zeros(3)
    check_same_unit(np.array([0.1]), np.array([10.0]), distances_m=nowhere, what="boxes around the origin")


def test_hidden_joints_and_a_few_outliers_do_not_count():
    joints = bodies(1.7, 5)
    joints[:, 2] = 9_000.0
    seen = np.ones((5, 3), bool)
    seen[:, 2] = False
    check_body_size(joints, what="truth", seen=seen)
    wild = bodies(1.7, 40)
    wild[:2] *= 1000
    check_body_size(wild, what="truth")
    wild[2] *= 1000
    with pytest.raises(
        InputError, match=r"median body extent 1.7 m, but 3 of 40 \(8%\) measure 1700 m \(median of these\)"
    ):
        check_body_size(wild, what="truth")


@given(place=st.floats(-1e6, 1e6), count=st.integers(1, 4))
def test_extents_do_not_depend_on_the_place(place, count):
    assert measure_bodies(bodies(1.7, count) + place) == pytest.approx([1.7] * count, abs=1e-6)


@pytest.mark.parametrize("factor", [100, 1000, 120, 800, 0.01, 0.001])
def test_a_prediction_in_another_unit_is_refused(factor):
    with pytest.raises(InputError, match="not in one unit"):
        compare(np.array([1.6, 1.7, 1.8]), factor * np.array([1.7]))


@pytest.mark.parametrize("factor", [1, 0.5, 5, 20, 50, 60, 200, 600, 1 / 10, 1 / 30, 1 / 60, 1 / 200, 1e5, 1e-6])
def test_other_nonsense_is_left_to_the_scores(factor):
    compare(np.array([1.6, 1.7, 1.8]), factor * np.array([1.7]))


@pytest.mark.parametrize("factor", [100, 1000, 0.01, 0.001])
def test_sizes_without_positions_are_no_other_unit(factor):
    """A box around the scan, or a speck, lies where the truth does; a unit error scales its place too."""
    for places in (0.2, 1, 5, 1 / factor):
        compare(np.array([1.6, 1.7, 1.8]), factor * np.array([1.7]), places)


def test_distances():
    points = np.array([[[3.0, 4, 0], [0, 0, 0]], [[np.nan, 0, 0], [0, 0, 2]]])
    assert measure_distances(points).tolist() == [5.0, 2.0]
    assert measure_distances(points, np.array([[True, True], [True, False]])).tolist() == [5.0]


def test_scans():
    room = np.random.default_rng(0).uniform(0, 6, (1000, 3)).astype(np.float32)
    assert 5 < check_scene_size(room, what="scan") < 6
    assert check_scene_size(room[:0], what="scan") == 0.0
    for factor in (100, 1000):
        with pytest.raises(
            InputError, match=r"^scan: extent of the scan \d+ m \(1,000 points\), expected 0.05 to 200 m"
        ):
            check_scene_size(room * factor, what="scan")


def test_a_stray_point_does_not_refuse_a_scan():
    room = np.random.default_rng(0).uniform(0, 4, (2300, 3))
    far = np.vstack([room, [[400.0, 0, 0]]])
    assert check_scene_size(far, what="scan") == pytest.approx(check_scene_size(room, what="scan"), rel=0.01)


def test_one_box_of_another_unit_is_refused():
    sizes = np.array([0.5, 1.0, 1000.0])
    with pytest.raises(InputError, match=r"labels: median box extent 1 m, but 1 of 3 \(33%\) measure 1000 m"):
        check_box_size(sizes, what="labels")
    true = np.array([[0, 0, 0, 1, 1, 1.0], [2, 2, 0, 3, 3, 1], [0, 0, 0, 1000, 1, 1]])
    with pytest.raises(InputError, match=r"1 of 3 .* measure 1000 m"):
        boxes.evaluate(true, true)


def test_boxes():
    sizes = measure_boxes([[0, 0, 0, 1, 2, 0.5], [1, 1, 1, 1.2, 1.1, 1.1]])
    assert sizes == pytest.approx([2.0, 0.2])
    check_box_size(sizes, what="labels", scan_m=6.0)
    with pytest.raises(InputError, match=r"labels: median box extent 1100 m \(2 boxes\)"):
        check_box_size(1000 * sizes, what="labels")
    with pytest.raises(InputError, match=r"largest box extent 200 m \(2 boxes\) in a scan of 6 m: boxes and scan"):
        check_box_size(100 * sizes, what="labels", scan_m=6.0)


def test_boxes_of_one_scene_are_judged_too():
    true = np.array([[0, 0, 0, 1, 1, 2.0]])
    assert boxes.evaluate(true, true)["f1"] == 1.0
    with pytest.raises(InputError, match="truth: median box extent 2000 m"):
        boxes.evaluate(1000 * true, 1000 * true)
    with pytest.raises(InputError, match=r"boxes: .*1000 times as large"):
        boxes.average_precision(true, 1000 * true, [0.5])


def test_boxes_around_the_scan_and_specks_are_scored():
    cups = np.array([[2, 3, 1, 2.1, 3.1, 1.12], [4, 1, 1, 4.1, 1.1, 1.15]])
    for size in (4, 6, 8, 13):  # 13 m is 96 times as large as a cup
        scan = np.array([[3 - size / 2, 3 - size / 2, 0, 3 + size / 2, 3 + size / 2, 2.5]])
        assert boxes.evaluate(cups, scan)["f1"] == 0.0
    for speck in (0.0135, 0.00135, 0.000135):
        middle = (cups[:, :3] + cups[:, 3:]) / 2
        assert boxes.evaluate(cups, np.hstack([middle - speck / 20, middle + speck / 20]))["f1"] == 0.0


def test_bodies_that_shrink_to_a_point_at_their_place_are_scored():
    place = np.array([2.0, 3, 0])
    true, shrunk = bodies(1.7) + place, bodies(0.017) + place
    assert pose.evaluate(true, shrunk)["mpjpe"] > 0
    with pytest.raises(InputError, match=r"bodies: .* 100 times as small, as are the distances from the origin"):
        pose.evaluate(true, true / 100)


def test_units():
    assert [metres_of(unit) for unit in ("m", "cm", "mm")] == [1.0, 0.01, 0.001]
    with pytest.raises(InputError, match="--unit: expected one of m, cm, mm, but got 'inch'"):
        metres_of("inch", what="--unit")
