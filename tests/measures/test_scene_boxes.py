"""Scores of boxes over scenes: the fold against one evaluation of everything, names, and identities."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.scans import BOX_CLASSES, Boxes
from gnomon.core.tallies import Tallies
from gnomon.measures import boxes
from gnomon.measures.scene_boxes import (
    BoxClassF1,
    BoxClassPrecision,
    BoxClassRecall,
    BoxErrorsPerScene,
    BoxF1,
    BoxF1OfMeans,
    BoxIoU,
    BoxPrecision,
    BoxRecall,
    matched,
    per_scene,
)
from gnomon.numerics import assignment
from gnomon.numerics.assignment import ORDERS

UNIT = [0, 0, 0, 1, 1, 1]


def scene(truth, prediction, classes=BOX_CLASSES):
    """Sides are lists of (x of the box's start, height, class)."""
    sides = []
    for side in (truth, prediction):
        geometry = np.array([[x, 0, 0, x + 1, 1, h] for x, h, _ in side], float).reshape(-1, 6)
        sides.append(Boxes(geometry, np.array([classes.index(c) for _, _, c in side], int), classes))
    return sides


def total(measure, scenes):
    return Tallies.stack([measure.tally(*sides) for sides in scenes]).total()


def value(measure, scenes):
    totals = total(measure, scenes)
    scored = measure.score(totals)
    return float(scored.values) if scored.defined else measure.why(totals)


SCENES = [
    scene([(0, 1, "Add"), (5, 1, "Remove")], [(0, 1, "Add"), (9, 1, "Add"), (12, 1, "Add"), (5, 0.5, "Remove")]),
    scene([(0, 1, "Remove")], []),
    scene([], []),
]


def test_worked_scores():
    """By hand: Add has 1 match of 1 true and 3 predicted, Remove 1 of 2 true and 1 predicted."""
    assert value(BoxPrecision(), SCENES) == pytest.approx((1 / 3 + 1) / 2)
    assert value(BoxRecall(), SCENES) == pytest.approx((1 + 1 / 2) / 2)
    assert value(BoxF1(), SCENES) == pytest.approx((2 / 4 + 2 / 3) / 2)
    assert value(BoxF1OfMeans(), SCENES) == pytest.approx(2 * (2 / 3) * 0.75 / (2 / 3 + 0.75))
    assert value(BoxF1(average="micro"), SCENES) == pytest.approx(4 / 7)
    assert value(BoxClassF1(label="Add"), SCENES) == pytest.approx(0.5)
    assert value(BoxClassPrecision(label="Remove"), SCENES) == 1.0
    assert value(BoxClassRecall(label="Remove"), SCENES) == 0.5
    assert value(BoxIoU(), SCENES) == 0.75
    assert value(BoxIoU(label="Remove"), SCENES) == 0.5
    assert value(BoxErrorsPerScene(), SCENES) == pytest.approx(2 / 3)
    assert value(BoxErrorsPerScene(what="missed"), SCENES) == pytest.approx(1 / 3)
    assert per_scene(total(BoxF1(), SCENES)) == {"true": pytest.approx(1.0), "predicted": pytest.approx(4 / 3)}


def test_macro_f1_is_not_the_f1_of_macro_means():
    """By hand: precision 1 and recall 1/4 of one class, the other way round of the other."""
    wide = scene(
        [(x, 1, "Add") for x in (0, 2, 4, 6)] + [(20, 1, "Remove")],
        [(0, 1, "Add")] + [(x, 1, "Remove") for x in (20, 22, 24, 26)],
    )
    assert value(BoxF1(), [wide]) == pytest.approx(0.4)
    assert value(BoxF1OfMeans(), [wide]) == pytest.approx(0.625)


def test_undefined_says_why():
    empty = [scene([], [])]
    assert value(BoxF1(), empty) == "no boxes in truth or prediction"
    assert value(BoxPrecision(average="micro"), [scene([(0, 1, "Add")], [])]) == "no predicted boxes"
    assert value(BoxRecall(), [scene([], [(0, 1, "Add")])]) == "no true boxes"
    assert value(BoxF1OfMeans(), [scene([], [(0, 1, "Add")])]) == "no true boxes"
    assert value(BoxF1OfMeans(), [scene([(0, 1, "Add")], [])]) == "no predicted boxes"
    assert value(BoxIoU(), [scene([(0, 1, "Add")], [(3, 1, "Add")])]) == "no matched boxes"
    assert value(BoxClassRecall(label="Remove"), [scene([(0, 1, "Add")], [])]) == "no true boxes of class 'Remove'"
    assert value(BoxPrecision(zero_division=0), [scene([(0, 1, "Add")], [])]) == 0.0
    nothing = Tallies.stack([BoxF1().tally(*empty[0])]).take(np.zeros(0, int)).total()
    for measure in (BoxF1(), BoxIoU(), BoxErrorsPerScene(), BoxClassF1(label="Add")):
        assert not measure.score(nothing).defined
        assert measure.why(nothing) == "no scenes"
    assert per_scene(nothing) == {"true": None, "predicted": None}


def test_the_threshold_and_the_order_are_part_of_identity_and_name():
    published, strict = BoxF1(), BoxF1(iou=0.5, matching="max-cardinality")
    assert published.name == "box_macro_f1@0.25:hungarian-then-filter"
    assert strict.name == "box_macro_f1@0.5:max-cardinality"
    assert published.family == "boxes_hungarian_then_filter_0p25"
    assert strict.family == "boxes_max_cardinality_0p5"
    assert BoxClassF1(label="Add").name == "box_f1[Add]@0.25:hungarian-then-filter"
    assert BoxF1OfMeans().name == "box_f1_of_macro_means@0.25:hungarian-then-filter"
    assert BoxF1(iou=1).iou == 1.0


def test_orders_give_different_tallies():
    """The counterexample of the functional test, as signals."""
    sides = [
        Boxes([[a, 0, 0, b, 1, 1] for a, b in side], [0, 0], ("Add",))
        for side in (((0.4, 1.3), (0.8, 1.1)), ((0.2, 0.9), (0.6, 1.3)))
    ]
    found = {
        order: int(BoxF1(matching=order).tally(*sides).fields["tp"][0, 0])
        for order in ("hungarian-then-filter", "max-cardinality")
    }
    assert found == {"hungarian-then-filter": 1, "max-cardinality": 2}


@pytest.mark.parametrize("order", ["hungarian-then-filter", "gated-hungarian", "max-cardinality", "greedy"])
def test_one_scene_scores_as_the_plain_function_does(order):
    rng = np.random.default_rng(5)
    low = rng.integers(0, 2, (30, 3)).astype(float)
    geometry = np.c_[low, low + rng.integers(1, 3, (30, 3))]
    codes, score = rng.integers(0, 2, 30), rng.random(15)
    truth = Boxes(geometry[:15], codes[:15], BOX_CLASSES)
    prediction = Boxes(geometry[15:], codes[15:], BOX_CLASSES, score)
    names = np.array(BOX_CLASSES)[codes]
    plain = boxes.evaluate(
        geometry[:15], geometry[15:], matching=order, truth_class=names[:15], prediction_class=names[15:], score=score
    )
    assert 0 < plain["tp"] < 15
    rule = {"matching": order}
    sides = [(truth, prediction)]
    assert value(BoxF1(average="micro", **rule), sides) == plain["f1"]
    assert value(BoxF1(**rule), sides) == plain["macro"]["f1"]
    assert value(BoxF1OfMeans(**rule), sides) == plain["macro"]["f1_of_means"]
    assert value(BoxIoU(**rule), sides) == pytest.approx(plain["mean_iou"], abs=1e-15)
    assert value(BoxClassRecall(label="Add", **rule), sides) == plain["per_class"]["Add"]["recall"]


def test_identities_name_what_cannot_be():
    measure = BoxF1()
    tallies = Tallies.stack([measure.tally(*sides) for sides in SCENES])
    assert measure.identities(tallies, {}) == []
    for field, change, what in (
        ("tp", 9, "more matches than true or predicted boxes"),
        ("iou", 5.0, "a sum of IoU is not one of matches from the threshold to 1"),
        ("iou", 0.1, "a sum of IoU is not one of matches from the threshold to 1"),
    ):
        fields = {name: array.copy() for name, array in tallies.fields.items()}
        fields[field][0, 0] = change
        assert what in measure.identities(Tallies(tallies.layout, tallies.axes, fields), {})


def test_bad_parameters_and_sides_are_refused():
    for parameters, message in (
        ({"iou": 0}, "iou: expected values above 0"),
        ({"matching": "hungarian"}, "matching: expected one of"),
        ({"classes": "all"}, "classes: expected"),
        ({"zero_division": 2}, "zero_division: expected"),
    ):
        with pytest.raises(InputError, match=message):
            BoxF1(**parameters)
    with pytest.raises(InputError, match="what: expected false or missed"):
        BoxErrorsPerScene(what="all")
    truth = Boxes([UNIT], [0], BOX_CLASSES)
    with pytest.raises(InputError, match="prediction: box 0 has no class"):
        BoxF1().tally(truth, Boxes([UNIT], [-1], BOX_CLASSES))
    with pytest.raises(InputError, match="in the frame 'scene' and the prediction in 'world'"):
        BoxF1().tally(truth, Boxes([UNIT], [0], BOX_CLASSES, frame="world"))
    with pytest.raises(InputError, match="truth: box 0 is flat"):
        BoxF1().tally(Boxes([[0, 0, 0, 1, 1, 0]], [0], BOX_CLASSES), truth)


def test_class_lists_may_differ_between_the_sides():
    truth = Boxes([UNIT], [0], ("Remove", "Add"))
    prediction = Boxes([UNIT], [1], ("Add", "Remove"))
    assert value(BoxClassF1(label="Remove"), [(truth, prediction)]) == 1.0
    assert dataclasses.replace(BoxF1(), iou=0.5) == BoxF1(iou=0.5)


def test_scores_of_a_class_have_the_support_of_its_true_boxes():
    """By hand: 'Add' has a true box in the first of three scenes, 'Remove' in the first two."""
    tallies = Tallies.stack([BoxF1().tally(*sides) for sides in SCENES])
    for kind in (BoxClassF1, BoxClassPrecision, BoxClassRecall, BoxIoU):
        found = {
            label: kind(label=label).support(tallies.each(), None)[:, 0].tolist() for label in ("Add", "Remove", "?")
        }
        assert found == {"Add": [True, False, False], "Remove": [True, True, False], "?": [False] * 3}
    assert BoxIoU().support(tallies.each(), None) is None


def drawn(rng, form, scored):
    """Boxes on a grid, with many ties, some of them twice: by corners, by vertices, or turned by eighths."""
    low = rng.integers(0, 3, (rng.integers(0, 7), 3)).astype(float)
    size = rng.integers(1, 3, low.shape)
    codes = rng.integers(0, 2, len(low))
    geometry = np.c_[low, low + size]
    if form == "turned":
        geometry = np.c_[low, size, rng.integers(0, 3, len(low)) * np.pi / 4]
    elif form == "vertices":
        corners = np.array(list(itertools.product((0, 1), repeat=3)))
        geometry = np.where(corners == 1, (low + size)[:, np.newaxis], low[:, np.newaxis])
    return Boxes(geometry, codes, BOX_CLASSES, rng.integers(0, 3, len(low)) / 2 if scored else None)


@pytest.mark.parametrize("matching", ORDERS)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scored=st.booleans(), forms=st.sampled_from(["plain", "mixed"]))
def test_scenes_together_are_scenes_alone(matching, seed, scored, forms):
    """The rows of scenes that are matched one by one are the reference: not even ties hang on what else is there."""
    rng = np.random.default_rng(seed)
    kinds = ["corners"] if forms == "plain" else ["corners", "vertices", "turned"]
    sides = [[drawn(rng, rng.choice(kinds), scored) for _ in range(6)] for _ in range(2)]
    scenes = boxes.Scenes(*sides)
    measure = BoxF1(iou=0.3, matching=matching)
    assert scenes.pair is not None
    assert measure.tally_scenes(scenes) == Tallies.stack([measure.tally(*both) for both in scenes])
    each = [(boxes.detections(*both, (0.25, 0.5, 0.9)), 1) for both in scenes]
    assert boxes.detections_of_scenes(scenes, (0.25, 0.5, 0.9)) == Ledger.stack(each)
    for truth, prediction in scenes:
        found = boxes.evaluate(
            truth.geometry,
            prediction.geometry,
            iou=0.3,
            matching=matching,
            truth_class=truth.codes,
            prediction_class=prediction.codes,
            score=prediction.scores,
        )
        assert matched(truth, prediction, 0.3, matching) == found["matches"]


def test_scenes_that_cannot_be_taken_together_are_taken_one_by_one():
    some = Boxes([UNIT], [0], BOX_CLASSES, [0.5])
    other = Boxes([UNIT], [0], ("Remove", "Add"), [0.5])
    for sides in (
        ([some, some], [some, Boxes([UNIT], [0], BOX_CLASSES)]),
        ([some, other], [some, some]),
        ([Boxes([UNIT], [0], BOX_CLASSES, frame="world"), some],) * 2,
    ):
        scenes = boxes.Scenes(*sides)
        assert scenes.pair is None
        assert BoxF1().tally_scenes(scenes) == Tallies.stack([BoxF1().tally(*both) for both in scenes])
        assert boxes.detections_of_scenes(scenes) == Ledger.stack([(boxes.detections(*both), 1) for both in scenes])
    flat = Boxes([UNIT, [0, 0, 0, 1, 1, 0]], [0, 0], BOX_CLASSES)
    for wrong, message in ((flat, "truth: box 1 is flat"), (Boxes([UNIT], [-1], BOX_CLASSES), "truth: box 0 has no")):
        with pytest.raises(InputError, match=message):
            BoxF1().tally_scenes(boxes.Scenes([some, wrong], [some, some]))


def test_ties_of_a_scene_do_not_hang_on_other_scenes(monkeypatch):
    """Two predictions are as good as one another: that which comes first by its corners is a hit, beside turned boxes
    too; by its vertices, it would be the other one. By hand: half of the cube each, IoU 1/2."""
    cube, halves = [0, 0, 0, 2, 2, 2], [[0, 0, 1, 2, 2, 2], [1, 0, 0, 2, 2, 2]]
    plain = Boxes([cube], [0], BOX_CLASSES), Boxes(halves, [0, 0], BOX_CLASSES, [0.5, 0.5])
    turned = (Boxes([[0, 0, 0, 1, 2, 3, 0.5]], [0], BOX_CLASSES, [0.5]),) * 2
    alone = boxes.detections(*plain, (0.25,))
    assert alone.columns["hit_0p25"].tolist() == [0, 1, 0]
    both = boxes.Scenes(*zip(plain, turned, strict=True))
    assert boxes.detections_of_scenes(both, (0.25,)).columns["hit_0p25"].tolist() == [0, 1, 0, 1, 0]
    seen = []
    monkeypatch.setattr(assignment, "match", lambda *given: seen.append(given[-1]) or np.zeros(0, np.int64))
    both.pair.matched(0.25, "hungarian-then-filter")
    assert seen[0].tolist() == [1, 1, 1]


@pytest.mark.parametrize("matching", ORDERS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_scenes_anywhere_together_are_scenes_alone(matching, seed):
    """Coordinates of any rounding and place, sides without boxes, classes and scores that only some scenes have."""
    rng = np.random.default_rng(seed)
    names = [BOX_CLASSES, BOX_CLASSES[::-1], (*BOX_CLASSES, "Move")][: rng.choice([1, 1, 3])]
    scored = rng.choice(3)

    def side():
        n, place = rng.integers(0, 5), rng.normal(0, 10.0 ** rng.integers(-3, 4))
        low = place + rng.random((n, 3))
        geometry = np.c_[low, low + rng.uniform(0.5, 1.5, low.shape)]
        scores = rng.integers(0, 3, n) / 3 if scored == 2 or (scored == 1 and rng.random() < 0.5) else None
        return Boxes(geometry, rng.integers(0, 2, n), names[rng.choice(len(names))], scores)

    scenes = boxes.Scenes([side() for _ in range(5)], [side() for _ in range(5)])
    measure = BoxF1(iou=0.2, matching=matching)
    assert measure.tally_scenes(scenes) == Tallies.stack([measure.tally(*both) for both in scenes])
    assert boxes.detections_of_scenes(scenes) == Ledger.stack([(boxes.detections(*both), 1) for both in scenes])


def test_scenes_of_which_none_has_boxes():
    nothing = Boxes(np.zeros((0, 6)), [], BOX_CLASSES)
    scenes = boxes.Scenes([nothing] * 3, [nothing] * 3)
    found = BoxF1().tally_scenes(scenes)
    assert found == Tallies.stack([BoxF1().tally(nothing, nothing)] * 3)
    assert found.fields["n"].tolist() == [1, 1, 1]
    assert len(boxes.detections_of_scenes(scenes)) == 0
