"""Streams equal the whole to the last bit, single functions equal their ``evaluate``; ``evaluate`` computed the values.

What ``evaluate`` gives is tested by task. Here one table of tasks drives the laws, so that a new task is tested by
standing in it.
"""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.measures import (
    boxes,
    cameras,
    classification,
    matching,
    multilabel,
    points,
    pose,
    recognition,
    regression,
    retrieval,
    scenes,
    segmentation,
    trajectories,
)
from gnomon.measures.pose import evaluate as evaluate_pose

ROWS = 40


def rng():
    return np.random.default_rng(5)


def labels(n=ROWS):
    words = np.array(["sit", "walk", "run", "lie"])
    return words[rng().integers(0, 4, n)], words[rng().integers(0, 3, n)]


def sets(n=ROWS):
    draw = rng()
    return [[{c for c in "abcd" if draw.random() < 0.4} for _ in range(n)] for _ in range(2)]


def numbers(n=ROWS):
    truth = rng().normal(1e3, 1.0, (n, 3))
    return truth, truth + rng().normal(0, 0.3, (n, 3))


def skeletons(n=ROWS):
    truth = rng().normal(0, 0.3, (n, 5, 3)) + np.linspace(0, 1.7, 5)[:, np.newaxis] * [0, 0, 1]
    return truth, truth + rng().normal(0, 0.05, truth.shape)


def forecasts(n=ROWS):
    truth = rng().normal(0, 1.0, (n, 4, 3, 3))
    return truth, truth + rng().normal(0, 0.1, truth.shape)


def encoded(n=ROWS):
    truth = np.concatenate([rng().normal(size=(n, 3)), rng().normal(size=(n, 4))], axis=1)
    return truth, truth + rng().normal(0, 0.1, truth.shape)


TASKS = {
    "classification": (classification.evaluate, classification.accumulate, labels),
    "multilabel": (multilabel.evaluate, multilabel.accumulate, sets),
    "points": (points.evaluate, points.accumulate, lambda: tuple(rng().integers(0, 3, (2, ROWS)))),
    "scenes": (scenes.evaluate, scenes.accumulate, lambda: tuple(rng().random((2, ROWS)) < 0.5)),
    "regression": (regression.evaluate, regression.accumulate, numbers),
    "trajectories": (trajectories.evaluate, trajectories.accumulate, forecasts),
    "cameras": (cameras.evaluate, cameras.accumulate, encoded),
    "pose": (evaluate_pose, pose.accumulate, skeletons),
    "retrieval": (retrieval.evaluate, retrieval.accumulate, lambda: (rng().integers(0, 9, (ROWS, ROWS)) / 8,)),
}
"""The tasks whose rows may be cut anywhere: evaluate, accumulate, data."""
CUTS = st.lists(st.integers(0, ROWS), max_size=5).map(lambda cuts: [0, *sorted(cuts), ROWS])


@pytest.mark.parametrize("task", TASKS)
@given(cuts=CUTS)
@settings(max_examples=15, deadline=None)
def test_a_stream_equals_the_whole_wherever_it_is_cut(task, cuts):
    evaluate, start, data = TASKS[task]
    sides = data()
    stream = start()
    for low, high in itertools.pairwise(cuts):
        stream.update(*(side[low:high] for side in sides))
    assert stream.compute() == evaluate(*sides)
    assert stream.compute() == evaluate(*sides)


@pytest.mark.parametrize("task", sorted(TASKS.keys() - {"retrieval"}))
def test_groups_are_scored_by_themselves_given_by_row_or_by_part(task):
    evaluate, start, data = TASKS[task]
    sides = data()
    groups = np.array([f"s{row % 3}" for row in range(ROWS)])
    by_row = start().update(*sides, groups=groups)
    for name, found in by_row.compute_groups().items():
        rows = np.flatnonzero(groups == name)
        own = [[side[row] for row in rows] if isinstance(side, list) else side[rows] for side in sides]
        assert found == evaluate(*own)
        assert start().update(*own, groups=name).compute_groups() == {name: found}
    assert by_row.compute() == evaluate(*sides)


def test_a_part_that_is_refused_leaves_no_trace():
    stream = classification.accumulate().update(["a", "b"], ["a", "a"], groups=["x", "y"])
    before = stream.compute(), stream.compute_groups()
    for truth, prediction, groups in (
        (["a"], ["a", "b"], None),
        ([1], [1], None),
        (["a"], ["a"], ["x", "y"]),
        (["a"], ["a"], [None]),
    ):
        with pytest.raises(InputError):
            stream.update(truth, prediction, groups=groups)
    assert (stream.compute(), stream.compute_groups()) == before


def test_nothing_is_computed_of_nothing():
    stream = classification.accumulate()
    with pytest.raises(InputError, match="call update"):
        stream.compute()
    with pytest.raises(InputError, match="no groups"):
        stream.update(["a"], ["a"]).compute_groups()
    stream.reset()
    with pytest.raises(InputError, match="call update"):
        stream.compute()


def test_masks_and_weights_go_with_their_rows():
    truth, prediction = numbers()
    mask = rng().random(truth.shape) < 0.7
    mask[:10, 1] = False  # the first value that counts of this dimension comes late
    weights = rng().random(ROWS)
    stream = regression.accumulate()
    for low, high in ((0, 5), (5, 5), (5, 31), (31, ROWS)):
        part = slice(low, high)
        stream.update(truth[part], prediction[part], mask=mask[part], weights=weights[part])
    assert stream.compute() == regression.evaluate(truth, prediction, mask=mask, weights=weights)
    joints, found = skeletons()
    seen = rng().random(joints.shape[:2]) < 0.9
    sequence = np.repeat(["a", "b"], ROWS // 2)
    stream = pose.accumulate(fps=25.0, bones=[(0, 1)])
    for low, high in ((0, 7), (7, ROWS)):
        part = slice(low, high)
        stream.update(joints[part], found[part], mask=seen[part], sequence=sequence[part])
    whole = evaluate_pose(joints, found, mask=seen, sequence=sequence, fps=25.0, bones=[(0, 1)])
    assert stream.compute() == whole


def test_what_a_stream_keeps_is_its_own():
    truth, prediction = skeletons()
    stream = pose.accumulate().update(truth, prediction)
    expected = stream.compute()
    prediction += 1.0
    assert stream.compute() == expected


@pytest.mark.parametrize(
    ("start", "parts", "said"),
    [
        (pose.accumulate, [{}, {"mask": np.ones((ROWS, 5), bool)}], "give each in all updates, or in none"),
        (regression.accumulate, [{"cut": 2}, {}], "expected 2 dimensions, as before, but got 3"),
        (pose.accumulate, [{"cut": 2}, {}], "rows of the shapes of the first update"),
    ],
)
def test_parts_must_be_alike(start, parts, said):
    sides = skeletons() if start is pose.accumulate else numbers()
    stream = start()
    for part in parts[:-1]:
        cut = part.pop("cut", None)
        stream.update(*(side[:, :cut] for side in sides), **part)
    with pytest.raises(InputError, match=said):
        stream.update(*sides, **parts[-1])


def test_options_are_refused_at_once():
    with pytest.raises(InputError, match="zero_division"):
        classification.accumulate(zero_division=3)
    with pytest.raises(InputError, match="classes"):
        multilabel.accumulate(classes="some")
    with pytest.raises(InputError, match="ks"):
        retrieval.accumulate(ks=[0])
    with pytest.raises(InputError, match="iou"):
        boxes.accumulate(iou=0)


@pytest.mark.parametrize("options", [{"classes": "present"}, {"classes": ["walk", "swim"]}, {"zero_division": None}])
def test_options_of_a_stream_are_those_of_the_whole(options):
    truth, prediction = labels()
    stream = classification.accumulate(**options).update(truth[:3], prediction[:3]).update(truth[3:], prediction[3:])
    assert stream.compute() == classification.evaluate(truth, prediction, **options)


def test_many_classes_are_counted_without_a_matrix():
    truth = rng().integers(0, 10**6, 9000)
    prediction = np.where(rng().random(9000) < 0.5, truth, 3)
    stream = classification.accumulate()
    for low in range(0, 9000, 2500):
        stream.update(truth[low : low + 2500], prediction[low : low + 2500])
    whole = classification.evaluate(truth, prediction)
    assert stream.compute() == whole
    assert whole["confusion"] is None
    assert whole["accuracy"] == np.mean(truth == prediction)


def scene(seed, n):
    draw = np.random.default_rng(seed)
    low = draw.uniform(0, 6, (n, 3))
    truth = np.concatenate([low, low + draw.uniform(0.5, 1.5, (n, 3))], axis=1)
    names = np.array(["chair", "table"])[draw.integers(0, 2, n)]
    return truth, truth + draw.normal(0, 0.05, truth.shape), names, draw.random(n)


@pytest.mark.parametrize("matching_order", ["hungarian-then-filter", "greedy"])
def test_a_stream_of_scenes_equals_all_boxes_with_their_scenes(matching_order):
    parts = [scene(seed, n) for seed, n in ((1, 5), (2, 0), (3, 7))]
    stream = boxes.accumulate(matching=matching_order)
    for truth, prediction, names, score in parts:
        stream.update(truth, prediction, truth_class=names, prediction_class=names, score=score)
    truth, prediction, names, score = (np.concatenate(side) for side in zip(*parts, strict=True))
    where = np.repeat([0, 1, 2], [5, 0, 7])
    both = {"truth_class": names, "prediction_class": names, "truth_scene": where, "prediction_scene": where}
    assert stream.compute() == boxes.evaluate(truth, prediction, score=score, matching=matching_order, **both)


def test_a_stream_of_one_scene_equals_its_evaluation():
    truth, prediction, names, score = scene(4, 6)
    options = {"truth_class": names, "prediction_class": names, "score": score}
    assert boxes.accumulate().update(truth, prediction, **options).compute() == boxes.evaluate(
        truth, prediction, **options
    )
    with pytest.raises(InputError, match="some scenes only"):
        boxes.accumulate().update(truth, prediction, **options).update(truth, prediction).compute()


RECORDINGS = {
    "morning": ([(0, 4.3, "cut"), (4.3, 9, "stir")], [(0, 5, "cut"), (5, 8.7, "pour")], (0, 10)),
    "noon": ([], [(1, 2, "cut")], (0, 5)),
    "night": ([(1, 3, "stir"), (6, 9, "stir")], [(1.1, 8.9, "stir")], (0, 12)),
}


@pytest.mark.parametrize("task", [recognition, segmentation, matching])
def test_a_stream_of_recordings_equals_a_mapping_in_any_order(task):
    truth, prediction, window = ({name: own[side] for name, own in RECORDINGS.items()} for side in range(3))
    whole = task.evaluate(truth, prediction, window=window)
    stream = task.accumulate()
    for name in reversed(RECORDINGS):
        stream.update(*RECORDINGS[name][:2], window=RECORDINGS[name][2], groups=name)
    assert stream.compute() == whole
    assert whole["recordings"] == 3
    alone = task.evaluate(*RECORDINGS["night"][:2], window=(0, 12))
    assert stream.compute_groups()["night"] == alone


def test_recordings_must_fit():
    with pytest.raises(InputError, match="prediction: no truth of recordings 'b'"):
        recognition.evaluate({"a": []}, {"b": []}, window=(0, 1))
    with pytest.raises(InputError, match="window: expected one for each recording, but got none of 'a'"):
        recognition.evaluate({"a": []}, {}, window={})
    with pytest.raises(InputError, match="expected a mapping by recording"):
        recognition.evaluate({"a": []}, [], window=(0, 1))


MODULES = {
    "classification": (classification, labels()),
    "multilabel": (multilabel, sets()),
    "points": (points, tuple(rng().integers(0, 3, (2, ROWS)))),
    "scenes": (scenes, tuple(rng().random((2, ROWS)) < 0.5)),
    "regression": (regression, numbers()),
    "trajectories": (trajectories, forecasts()),
    "cameras": (cameras, encoded()),
    "pose": (pose, skeletons()),
    "retrieval": (retrieval, (rng().integers(0, 9, (ROWS, ROWS)) / 8,)),
    "boxes": (boxes, scene(6, 8)[:2]),
}


def functions(module):
    """The single functions of a module: those that the helper made."""
    return {name: item for name, item in vars(module).items() if hasattr(item, "__signature__")}


@pytest.mark.parametrize("name", MODULES)
def test_single_functions_equal_their_entry_of_evaluate(name):
    module, sides = MODULES[name]
    result = module.evaluate(*sides)
    found = functions(module)
    assert found
    for called, function in found.items():
        place = function.__doc__.split("returns its ``")[1].split("``")[0]
        expected = result
        for part in [place] if place in result else place.split("."):
            expected = expected[part]
        assert function(*sides) == expected, called
        assert (function.__name__, function.__module__) == (called, module.evaluate.__module__)
        assert inspect.signature(function).parameters == inspect.signature(module.evaluate).parameters


@pytest.mark.parametrize("module", [recognition, segmentation, matching])
def test_single_functions_of_recordings_equal_their_entry(module):
    truth, prediction, window = RECORDINGS["morning"]
    scores = {value for name, value in module.evaluate(truth, prediction, window=window).items() if name != "undefined"}
    found = functions(module)
    assert found
    for called, function in found.items():
        assert function(truth, prediction, window=window) in scores
        assert function.__name__ == called


@pytest.mark.parametrize("name", ["classification", "multilabel", "scenes", "regression", "recognition"])
def test_every_number_of_evaluate_has_its_function(name):
    if name == "recognition":
        module, result = recognition, recognition.evaluate([(0, 1)], [(0, 1)], window=(0, 2))
    else:
        module, sides = MODULES[name]
        result = module.evaluate(*sides)
    counts = {"n", "tp", "fp", "fn", "tn", "dimensions", "recordings"}
    scores = {key for key, value in result.items() if value is None or isinstance(value, float)} - counts
    assert scores <= functions(module).keys()


def test_a_single_function_gives_none_where_it_is_undefined():
    assert classification.accuracy([], []) is None
    assert regression.r2([1.0], [1.0]) is None


class OnlyDlpack:
    """A tensor of a framework that offers DLPack and nothing else."""

    def __init__(self, values):
        self._values = np.ascontiguousarray(values)

    def __dlpack__(self, **options):
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


@pytest.mark.parametrize("name", ["points", "regression", "trajectories", "cameras", "pose", "retrieval", "boxes"])
def test_tensors_are_arrays(name):
    module, sides = MODULES[name]
    assert module.evaluate(*map(OnlyDlpack, sides)) == module.evaluate(*sides)


def test_series_are_sequences():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    truth, prediction = labels()
    whole = classification.evaluate(truth, prediction)
    for kind in (pd.Series, pl.Series, pd.Categorical, list):
        assert classification.evaluate(kind(truth), kind(prediction)) == whole
        assert classification.accumulate().update(kind(truth), kind(prediction)).compute() == whole
    frame = pd.DataFrame(numbers()[0])
    assert regression.evaluate(frame, pl.DataFrame(numbers()[1])) == regression.evaluate(*numbers())
    starts, ends = pd.Series([0.0, 4.0]), pl.Series([4.0, 9.0])
    assert segmentation.evaluate((starts, ends), [(0, 4), (4, 9)], window=(0, 9))["edit"] == 100.0


def test_what_is_no_sequence_is_refused():
    with pytest.raises(InputError, match="expected a sequence of labels"):
        classification.evaluate(5, 5)
    with pytest.raises(InputError, match="groups: expected one value for the whole part"):
        retrieval.accumulate().update([[1.0]], groups=[1])
