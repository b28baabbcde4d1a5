"""Lists of boxes read at once against the plain way, box by box: the plain code of the package is the reference of
every expected value here; it has tests of its own."""

import itertools
import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.documents import check_parsed_bytes
from gnomon.intake.limits import Limits
from gnomon.suites.change import labels, predictions, uniform
from gnomon.suites.change.files import read_dataset
from gnomon.suites.change.labels import read_alike, read_boxes
from gnomon.suites.change.predictions import read_predictions

UNIT = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
numbers = st.one_of(
    st.integers(-50, 50), st.floats(-60, 60, allow_nan=False).map(lambda x: round(x, 3)), st.sampled_from([-0.0, 0.1])
)
sizes = st.floats(0.01, 9, allow_nan=False).map(lambda x: round(x, 3) or 0.5)


def entries(low, size, yaw, form, order):
    """One box in a form; vertices in any order, turned about z where yaw is not 0."""
    high = [a + b for a, b in zip(low, size, strict=True)]
    if form == "min":
        return {"min": low, "max": high}
    if form == "center":
        return {"center": low, "size": size, "yaw": yaw}
    corners = np.where(UNIT == 1, high, low)
    if yaw:
        turn = np.array([[np.cos(yaw), np.sin(yaw), 0], [-np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
        corners = corners @ turn
    return {"vertices": corners[list(order)].tolist()}


@st.composite
def listed(draw, form=None, name="class", scored=None):
    """A list of boxes, most of them of one form."""
    form = form or draw(st.sampled_from(["min", "vertices", "center"]))
    scored = draw(st.booleans()) if scored is None else scored
    boxes = []
    for _ in range(draw(st.integers(0, 4))):
        own = draw(st.sampled_from(["min", "vertices", "center"])) if draw(st.integers(0, 20)) == 20 else form
        low, size = draw(st.tuples(numbers, numbers, numbers)), draw(st.tuples(sizes, sizes, sizes))
        yaw = draw(st.sampled_from([0, 0.0, 0.5, np.pi / 2]))
        order = draw(st.permutations(range(8)))
        box = {name: draw(st.sampled_from(["Add", "Remove", "add", "REMOVE"]))}
        box |= entries(list(low), list(size), yaw, own, order)
        boxes.append({**box, "score": draw(st.sampled_from([0, 0.5, 1, -0.25]))} if scored else box)
    return boxes


def same(found, expected):
    assert found.geometry.shape == expected.geometry.shape
    assert found.geometry.tobytes() == expected.geometry.tobytes()
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.codes.dtype == expected.codes.dtype
    assert (found.scores is None) == (expected.scores is None)
    assert found.scores is None or found.scores.tobytes() == expected.scores.tobytes()
    assert (found.classes, found.frame) == (expected.classes, expected.frame)
    assert not found.geometry.flags.writeable


def said(path, read):
    """What reading gives, or the message that it ends with."""
    try:
        return read(path)
    except InputError as error:
        return str(error)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["boxes", "objects", ""]), listed(name="label")), min_size=1, max_size=4))
def test_labels_read_together(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("labels")
    paths = []
    for number, (key, boxes) in enumerate(files):
        paths.append(folder / f"{number}.json")
        value = {"filename": "a: b.pcd", key: boxes} if key else boxes
        paths[-1].write_text(json.dumps(value), encoding="utf-8-sig" if number % 2 else "utf-8")
    found = read_alike(paths)
    if found is None:  # some list is of several forms
        forms = [{tuple(sorted(box.keys() - {"label"})) for box in boxes} for _, boxes in files]
        assert any(len(own) > 1 for own in forms)
        return
    for path, boxes in zip(paths, found, strict=True):
        same(boxes, read_boxes(path))


SCORED = '{"class": "Add", "min": [0, 0, 0], "max": [1, 1, 1], "score": %s}'
CORNER = '{"label": "Add", "min": [0, 0, 0], "max": [1, 1, 1]}'
GOOD = [
    f"[{CORNER}]",
    f'  {{"boxes": [{CORNER}, {CORNER}], "note": "x: {{y: z}}", "count": 3}}',
    '{"objects": [{"name": "add", "color": null, "id": 4, "min": [0, -0.0, 1e-3], "max": [1, 1, 1]}]}',
    "[]",
    '{"objects": []}',
]
BAD = [
    '[{"label": "Add", "label": "Add", "min": [0, 0, 0], "max": [1, 1, 1]}]',
    '{"boxes": [], "boxes": []}',
    f'{{"boxes": [{CORNER}], "objects": []}}',
    '[{"label": "Move", "min": [0, 0, 0], "max": [1, 1, 1]}]',
    '[{"label": "Add", "min": [0, 0, true], "max": [1, 1, 1]}]',
    '[{"label": "Add", "min": [0, 0], "max": [1, 1, 1]}]',
    '[{"label": "Add", "min": [0, 0, 0], "max": [1, 1, 0]}]',
    '[{"label": "Add", "min": [2, 0, 0], "max": [1, 1, 1]}]',
    '[{"label": "Add", "min": [0, 0, 0], "max": [1, 1, 1e300]}]',
    '[{"label": "Add", "min": [0, 0, 0], "max": [1, 1, 100000000000000000000000000]}]',
    '[{"label": "Add", "name": "Add", "min": [0, 0, 0], "max": [1, 1, 1]}]',
    '[{"label": "Add", "min": [0, 0, 0], "max": [1, 1, 1], "yaw": 0}]',
    '[{"label": "Add", "min": [0, 0, 0], "max": [1, 1, 1%s]}]' % ("0" * 400),
    '[{"label": "Add", "min": ["0", 0, 0], "max": [1, 1, 1]}]',
    '[{"label": "Add", "min": [NaN, 0, 0], "max": [1, 1, 1]}]',
    '[{"label": "Add", "vertices": [[0, 0, 0]]}]',
    f'[{{"label": "Add", "vertices": {json.dumps([[0, 0, 0]] * 8)}}}]',
    f"[{CORNER}, 5]",
    f"[{CORNER}",
    '{"boxes": null}',
    "5",
    "",
]


@pytest.mark.parametrize("text", GOOD)
def test_labels_that_are_read_at_once(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    (found,) = read_alike([tmp_path / "a.json"])
    same(found, read_boxes(tmp_path / "a.json"))


@pytest.mark.parametrize("text", BAD)
def test_labels_with_a_fault_are_left_to_be_read_one_by_one(tmp_path, text):
    (tmp_path / "good.json").write_text(GOOD[0])
    (tmp_path / "bad.json").write_text(text)
    assert read_alike([tmp_path / "good.json", tmp_path / "bad.json"]) is None
    with pytest.raises(InputError):
        read_boxes(tmp_path / "bad.json")
    assert read_alike([tmp_path / "none.json"]) is None


def test_a_fault_is_said_of_the_first_label_that_has_one(by_hand):
    scenes = {f"a-{number}": [("Add", (0, 0, 0), (1, 1, 1))] for number in (2, 3, 4, 5)}
    data = by_hand(scenes)
    for number, text in ((3, BAD[5]), (4, BAD[0])):
        (data / "Label" / f"a-{number}.json").write_text(text)
    with pytest.raises(InputError, match=r"a-3\.json: object 0: min is \[0, 0\], expected 3 numbers"):
        read_dataset(data)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_predictions_read_at_once(tmp_path_factory, data):
    scored = data.draw(st.booleans())
    scenes = []
    for number in range(data.draw(st.integers(1, 4))):
        scene = {"scene": f"a-{number}", "boxes": data.draw(listed(scored=scored))}
        scene |= data.draw(
            st.fixed_dictionaries({}, optional={"seconds": st.sampled_from([0, 2, 0.5, None, -1, True, "a"])})
        )
        scene |= data.draw(
            st.fixed_dictionaries({}, optional={"points": st.sampled_from([None, "a/b.npz", "../b.npz", 3])})
        )
        scenes.append(scene)
    path = tmp_path_factory.mktemp("predictions") / "p.json"
    path.write_text(json.dumps({"scenes": scenes}))
    expected = said(path, predictions._box_by_box)
    found = predictions._read_alike(path)
    if isinstance(expected, str):
        assert found is None
        return
    for name in found or ():
        same(found[name].boxes, expected[name].boxes)
        assert (found[name].points, found[name].seconds) == (expected[name].points, expected[name].seconds)
    assert found is None or list(found) == list(expected)
    assert found is not None or len({frozenset(box) - {"class"} for s in scenes for box in s["boxes"]}) > 1


@pytest.mark.parametrize(
    "text",
    [
        '{"scenes": [{"scene": "a", "scene": "a", "boxes": []}]}',
        '{"scenes": [{"scene": "a", "boxes": []}, {"scene": "a", "boxes": []}]}',
        '{"scenes": [{"scene": " ", "boxes": []}]}',
        '{"scenes": [{"scene": "a", "boxes": [], "point": "x"}]}',
        '{"scenes": [{"scene": "a", "boxes": [{"class": "Add", "min": [0, 0, 0], "max": [1, 1, 1], "scores": 1}]}]}',
        '{"scenes": [{"scene": "a", "boxes": [], "seconds": 1%s}]}' % ("0" * 400),
        f'{{"scenes": [{{"scene": "a", "boxes": [{SCORED % ("1" + "0" * 400)}]}}]}}',
        f'{{"scenes": [{{"scene": "a", "boxes": [{SCORED % "true"}]}}]}}',
        f'{{"scenes": [{{"scene": "a", "boxes": [{SCORED % "0"}, {SCORED % "null"}]}}]}}',
        '{"scenes": [{"scene": "a"}]}',
        '{"scenes": []}',
    ],
)
def test_predictions_with_a_fault_are_left_to_be_read_box_by_box(tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    assert not predictions._read_alike(tmp_path / "p.json")
    with pytest.raises(InputError):
        read_predictions(tmp_path / "p.json")


def test_vertices_at_zeros_of_both_signs(tmp_path):
    """Which of two zeros is the least one hangs on the order of vertices: as it does box by box."""
    rng = np.random.default_rng(0)
    paths = [tmp_path / f"{number}.json" for number in range(40)]
    for path in paths:
        corners = np.where(UNIT == 0, rng.choice([0.0, -0.0], UNIT.shape), 1.0)[rng.permutation(8)]
        path.write_text(json.dumps([{"label": "Add", "vertices": corners.tolist()}]))
    for path, boxes in zip(paths, read_alike(paths), strict=True):
        same(boxes, read_boxes(path))


def test_zeros_keep_the_sign_that_they_are_written_with(tmp_path):
    """By hand: -0 is a whole number, which has no sign at zero; -0.0 has one."""
    (tmp_path / "a.json").write_text('[{"label": "Add", "min": [-0, -0.0, 0], "max": [1, 1, 1]}]')
    (found,) = read_alike([tmp_path / "a.json"])
    assert np.signbit(found.geometry[0, :3]).tolist() == [False, True, False]
    same(found, read_boxes(tmp_path / "a.json"))


@pytest.mark.parametrize(
    "keys", [['a"b', "c\\d", "\n"], ["other_1", "__class__", "self", ""], [f"k{n}" for n in range(99)]]
)
def test_labels_with_entries_of_any_name(tmp_path, keys):
    (tmp_path / "a.json").write_text(json.dumps([{**dict.fromkeys(keys, 1), **json.loads(CORNER)}]))
    expected = read_boxes(tmp_path / "a.json")
    for boxes in read_alike([tmp_path / "a.json"]) or ():
        same(boxes, expected)
    assert (read_alike([tmp_path / "a.json"]) is None) == (keys[0] != "other_1")


def test_batches_of_boxes_end_anywhere(tmp_path, monkeypatch):
    monkeypatch.setattr(uniform, "BATCH", 3)
    boxes = [json.loads(CORNER) | {"max": [1, 1, size]} for size in (1, 2, 3, 4)]
    paths = [tmp_path / f"{number}.json" for number in range(9)]
    for number, path in enumerate(paths):
        path.write_text(json.dumps(boxes[: number % 5]))
    found = read_alike(paths)
    assert [len(own) for own in found] == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    for path, own in zip(paths, found, strict=True):
        same(own, read_boxes(path))


def test_a_file_that_would_take_too_much_is_not_read(tmp_path, monkeypatch):
    box = {"class": "Add", "min": [0, 0, 0], "max": [1, 1, 1]}
    (path := tmp_path / "p.json").write_text(json.dumps({"scenes": [{"scene": "a", "boxes": [box] * 9}]}))
    (label := tmp_path / "a.json").write_text(json.dumps([box] * 9))
    assert len(predictions._read_alike(path)) == len(read_alike([label])) == 1
    small = partial(check_parsed_bytes, limits=Limits(max_parsed_bytes=999))
    for module in (labels, predictions):
        monkeypatch.setattr(module, "check_parsed_bytes", small)
    assert read_alike([label]) is None
    with pytest.raises(InputError, match=r"p\.json: content too large: .* expected at most 999"):
        predictions._read_alike(path)
