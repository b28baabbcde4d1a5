"""Datasets, labels and predictions of ``change``. Files and expected values were written by hand; classes of points
inside oriented boxes come from Rodrigues' formula multiplied out in the test."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.scans import BOX_CLASSES
from gnomon.intake.clouds import Cloud, write_cloud
from gnomon.intake.unread import collecting
from gnomon.intake.writing import write_table
from gnomon.suites.change.files import CATEGORIES, read_dataset
from gnomon.suites.change.labels import by_boxes, fitted, read_boxes, read_points, write_boxes, write_points
from gnomon.suites.change.predictions import CORNERS, Prediction, read_predictions, write_predictions
from gnomon.suites.change.shapes import together

UNIT = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
SCAN = np.array([[0.5, 0.5, 0.5], [2.0, 2.0, 2.0], [0.5, 0.5, 5.0]], dtype=np.float32)


@pytest.fixture
def root(tmp_path):
    """Room 001 with two comparisons, room b-2 with an unchanged one."""
    for name, numbers in {"001": (1, 2, 3), "b-2": (1, 6)}.items():
        (tmp_path / "Data" / name).mkdir(parents=True)
        for number in numbers:
            write_cloud(tmp_path / "Data" / name / f"{name}-{number}.pcd", SCAN + number, encoding="ascii")
    label(
        tmp_path, "001-2", {"filename": "001-2.pcd", "objects": [{"name": "Remove", "vertices": (UNIT + 1).tolist()}]}
    )
    label(tmp_path, "001-3", {"boxes": [{"label": "Add", "min": [3, 3, 3], "max": [4, 4, 4]}]})
    label(tmp_path, "b-2-6", [])
    return tmp_path


def label(root, name, value):
    (root / "Label").mkdir(exist_ok=True)
    path = root / "Label" / f"{name}.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_a_dataset(root):
    data = read_dataset(root)
    assert [(scene.id, scene.room, scene.category) for scene in data] == [
        ("001-2", "001", "Remove"),
        ("001-3", "001", "Add"),
        ("b-2-6", "b-2", "Unchanged"),
    ]
    assert data.notes == ()
    first = data[0]
    assert first.boxes.geometry.tolist() == [[1, 1, 1, 2, 2, 2]]
    assert [first.boxes.classes[code] for code in first.boxes.codes] == ["Remove"]
    assert first.boxes.frame == "reference"
    reference, comparison = first.clouds()
    assert np.array_equal(reference.points, SCAN + 1)
    assert np.array_equal(comparison.points, SCAN + 2)
    assert [side.tolist() for side in first.point_labels(reference, comparison)] == [[2, 0, 0], [0, 0, 0]]
    assert [side.tolist() for side in data[1].point_labels(*data[1].clouds())] == [[0, 0, 0], [1, 0, 0]]
    assert len(data[2].boxes) == 0
    assert len(data[1:]) == 2


def test_categories_are_those_of_the_published_numbers():
    assert CATEGORIES == {2: "Remove", 3: "Add", 4: "Move", 5: "Composite", 6: "Unchanged"}


def test_classes_of_points_from_a_file(root):
    path = root / "Label" / "001-2.points.npz"
    write_points(path, np.array([0, 2, 2]), np.array([0, 0, 1]))
    scene = read_dataset(root)[0]
    assert [side.tolist() for side in scene.point_labels(*scene.clouds())] == [[0, 2, 2], [0, 0, 1]]
    write_points(path, np.array([0, 2]), np.array([0, 0, 1]))
    with pytest.raises(InputError, match=r"'reference' has 2 classes, but .*001-1.pcd has 3 points"):
        scene.point_labels(*scene.clouds())


def test_classes_of_points_that_were_dropped(root):
    points = SCAN.copy()
    points[1] = np.nan
    np.savez(root / "Data/001/001-3.npz", points=points)
    (root / "Data/001/001-3.pcd").unlink()
    write_points(root / "Label/001-3.points.npz", np.array([0, 2, 2]), np.array([0, 0, 1]))
    scene = read_dataset(root)[1]
    with pytest.raises(InputError, match="1 of 3 points have a coordinate"):
        scene.clouds()
    reference, comparison = scene.clouds(invalid="drop")
    assert scene.point_labels(reference, comparison)[1].tolist() == [0, 1]


def test_other_names_and_formats(root):
    (root / "Data").rename(root / "DATA")
    (root / "Label").rename(root / "label")
    old = root / "DATA/001/001-2.pcd"
    old.rename(old.with_suffix(".PCD"))
    write_cloud(root / "DATA/001/001-3.ply", SCAN)
    (root / "DATA/001/001-3.pcd").unlink()
    for extra in ("DATA/readme.txt", "DATA/001/001-3.jpg", "DATA/001/copy.pcd", "label/notes.md", "label/a.json"):
        (root / extra).write_text("x")
    data = read_dataset(root)
    assert [scene.comparison.name for scene in data] == ["001-2.PCD", "001-3.ply", "b-2-6.pcd"]
    assert data.notes == (
        "3 entries of Data are no scans (ROOM/ROOM-N.pcd): '001/001-3.jpg', '001/copy.pcd', 'readme.txt'",
        "2 files in Label are no labels (ROOM-N.json): 'a.json', 'notes.md'",
    )


def test_misnamed_scans_and_rooms_without_any_are_named(root):
    """A scan and its label under another name are a scene less, of which nothing else would tell."""
    (root / "Data/001/001-3.pcd").rename(root / "Data/001/001_3.pcd")
    (root / "Label/001-3.json").rename(root / "Label/001_3.json")
    (root / "Data/099").mkdir()
    (root / "Data/b-2/deep").mkdir()
    write_cloud(root / "Data/loose.pcd", SCAN)
    (root / "Data/.DS_Store").write_text("x")
    data = read_dataset(root)
    assert [scene.id for scene in data] == ["001-2", "b-2-6"]
    assert data.notes == (
        "3 entries of Data are no scans (ROOM/ROOM-N.pcd): '001/001_3.pcd', 'b-2/deep/', 'loose.pcd'",
        "1 room has no scan: '099'",
        "1 file in Label is no label (ROOM-N.json): '001_3.json'",
    )


@pytest.mark.parametrize("name", ["score", "confidence", "probability", "prob"])
@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_a_score_has_four_names(tmp_path, name, form):
    path = tmp_path / f"mine.{form}"
    if form == "json":
        entry = {"class": "Add", "min": [0, 0, 0], "max": [1, 1, 1], name: 0.25}
        path.write_text(json.dumps({"scenes": [{"scene": "001-3", "boxes": [entry]}]}))
    else:
        row = {"scene": "001-3", "class": "Add", **dict(zip(CORNERS, (0.0, 0.0, 0.0, 1.0, 1.0, 1.0), strict=True))}
        write_table(pa.Table.from_pylist([{**row, name: 0.25}]), path)
    with collecting() as notes:
        assert read_predictions(path)["001-3"].boxes.scores.tolist() == [0.25]
    assert notes.notes == {}


def test_of_two_columns_of_scores_the_first_is_read_and_words_are_none(tmp_path):
    row = {"scene": "001-3", "class": "Add", **dict(zip(CORNERS, (0.0, 0.0, 0.0, 1.0, 1.0, 1.0), strict=True))}
    row |= {"confidence": "high", "probability": 0.25, "prob": 0.5}
    write_table(pa.Table.from_pylist([row]), tmp_path / "mine.csv")
    with collecting() as notes:
        assert read_predictions(tmp_path / "mine.csv")["001-3"].boxes.scores.tolist() == [0.25]
    assert list(notes.notes[""][str(tmp_path / "mine.csv")]) == ["confidence", "prob"]
    entry = {"class": "Add", "min": [0, 0, 0], "max": [1, 1, 1], "score": 0.25, "prob": 0.5}
    (tmp_path / "two.json").write_text(json.dumps({"scenes": [{"scene": "001-3", "boxes": [entry]}]}))
    with pytest.raises(InputError, match="score and prob: a box has one score"):
        read_predictions(tmp_path / "two.json")


def test_gaps_are_errors_or_notes(root):
    (root / "Data/b-2/b-2-1.pcd").unlink()
    (root / "Data/001/001-2.pcd").unlink()
    (root / "Label/001-3.json").unlink()
    (root / "Data/003").mkdir()
    write_cloud(root / "Data/003/003-1.pcd", SCAN)
    write_cloud(root / "Data/003/003-4.pcd", SCAN)
    label(root, "003-4", [])
    (root / "Data/004").mkdir()
    write_cloud(root / "Data/004/004-1.pcd", SCAN)
    write_points(root / "Label/003-5.points.npz", np.zeros(3), np.zeros(3))
    for expected in (
        "classes of points without boxes: '003-5'",
        "room without a reference scan (RRR-1): 'b-2'",
        "comparison without a label: '001-3'",
        "label without a scan: '001-2'",
    ):
        with pytest.raises(InputError) as caught:
            read_dataset(root)
        assert expected in str(caught.value)
        if "003-5" in expected:
            (root / "Label/003-5.points.npz").unlink()
        elif "b-2" in expected:
            write_cloud(root / "Data/b-2/b-2-1.pcd", SCAN)
        elif "001-3" in expected:
            label(root, "001-3", [])
    (root / "Data/b-2/b-2-1.pcd").unlink()
    data = read_dataset(root, missing="skip")
    assert [scene.id for scene in data] == ["001-3", "003-4"]
    assert data.notes == (
        "left out, room without a reference scan (RRR-1): 'b-2'",
        "left out, label without a scan: '001-2'",
        "1 room has no comparison: '004'",
    )


def test_layouts_that_are_wrong(root, tmp_path_factory):
    with pytest.raises(InputError, match="no such folder"):
        read_dataset(root / "nowhere")
    with pytest.raises(InputError, match="no folder 'Data'"):
        read_dataset(root / "Label")
    with pytest.raises(InputError, match="expected one of 'error', 'skip'"):
        read_dataset(root, missing="ignore")
    wrong = {
        "Data/001/b-2-3.pcd": "a scan of room 'b-2' in the folder of '001'",
        "Data/001/001-2.ply": "the same scan is there as '001-2.pcd'",
        "Data/001/001-7.pcd": "number 7 has no meaning, expected 1 reference, 2 Remove",
        "Label/001-1.json": "a label for a reference scan",
        "Label/001-9.json": "number 9 has no meaning",
        "data/x": "2 folders 'Data', expected one",
    }
    for name, message in wrong.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        with pytest.raises(InputError, match=message):
            read_dataset(root)
        path.unlink()
    (root / "data").rmdir()
    label(root, "b-2-6", [{"label": "Add", "min": [0, 0, 0], "max": [1, 1, 1]}])
    with pytest.raises(InputError, match=r"b-2-6.json: 1 box in a scene of category Unchanged"):
        read_dataset(root)
    empty = tmp_path_factory.mktemp("empty")
    (empty / "Data").mkdir()
    (empty / "Label").mkdir()
    with pytest.raises(InputError, match="no scene: expected Data/001/001-1"):
        read_dataset(empty)


BOX = {"min": [0, 0, 0], "max": [1, 1, 1]}
BENT = UNIT.copy()
BENT[7] += 0.2
WRONG = {
    "no list": ({"things": []}, "0 entries of 'objects', 'boxes'"),
    "two lists": ({"objects": [], "boxes": []}, "2 entries of 'objects', 'boxes'"),
    "text": ("Add", "got str, expected a list of boxes"),
    "not an object": ([[1, 2, 3]], "object 0 is [1, 2, 3]"),
    "no name": ([BOX], "object 0: 0 entries of 'name', 'label', 'class'"),
    "unknown name": ([{"name": "Added", **BOX}], "object 0: class 'Added', expected one of 'Add', 'Remove'"),
    "number": ([{"name": 1, **BOX}], "object 0: class 1"),
    "no geometry": ([{"name": "Add"}], "object 0: got none of them, expected min and max"),
    "half": ([{"name": "Add", "min": [0, 0, 0]}], "object 0: got 'min'"),
    "two forms": ([{"name": "Add", "vertices": UNIT.tolist(), **BOX}], "object 0: got 'min', 'max', 'vertices'"),
    "min above max": (
        [{"name": "Add", **BOX}, {"name": "Add", "min": [0, 2, 0], "max": [1, 1, 1]}],
        "object 1 has a minimum above its maximum",
    ),
    "flat": ([{"name": "Add", "min": [0, 0, 0], "max": [1, 1, 0]}], "object 0 is flat"),
    "seven vertices": ([{"name": "Add", "vertices": UNIT[:7].tolist()}], "object 0: vertices is"),
    "bent": (
        [{"name": "Add", **BOX}, {"name": "Add", "vertices": BENT.tolist()}],
        "object 1 has vertices that are not",
    ),
    "ragged": ([{"name": "Add", "vertices": [[0, 0], [1]]}], "object 0: vertices is"),
    "text numbers": ([{"name": "Add", "min": ["0", "0", "0"], "max": [1, 1, 1]}], "object 0: min is"),
    "null": ([{"name": "Add", "min": [None, 0, 0], "max": [1, 1, 1]}], "object 0: min is"),
    "too large": ([{"name": "Add", "min": [0, 0, 0], "max": [1e200, 1, 1]}], "object 0"),
}


@pytest.mark.parametrize(("value", "message"), WRONG.values(), ids=WRONG)
def test_labels_that_are_wrong(tmp_path, value, message):
    with pytest.raises(InputError) as caught:
        read_boxes(label(tmp_path, "001-3", value))
    assert message in str(caught.value)
    assert "001-3.json" in str(caught.value)


def test_nan_in_a_label(tmp_path):
    path = tmp_path / "001-3.json"
    path.write_text('[{"name": "Add", "min": [NaN, 0, 0], "max": [1, 1, 1]}]')
    with pytest.raises(InputError, match="not a JSON document"):
        read_boxes(path)


def test_boxes_of_several_forms_become_vertices(tmp_path):
    turned = {"name": "remove", "center": [1, 2, 3], "size": [2, 4, 6], "yaw": np.pi / 2}
    boxes = read_boxes(label(tmp_path, "001-3", [{"label": "ADD", **BOX}, turned]))
    assert boxes.geometry.shape == (2, 8, 3)
    assert [BOX_CLASSES[code] for code in boxes.codes] == ["Add", "Remove"]
    assert boxes.geometry.min(axis=1).round(9).tolist() == [[0, 0, 0], [-1, 1, 0]]
    assert boxes.geometry.max(axis=1).round(9).tolist() == [[1, 1, 1], [3, 3, 6]]
    assert read_boxes(label(tmp_path, "001-3", [turned])).geometry.shape == (1, 7)


@pytest.mark.parametrize("form", ["vertices", "corners"])
def test_labels_written_and_read(tmp_path, form):
    boxes = together([np.array([0.1, 0.2, 0.3, 1.1, 1.25, 1.5]), np.array([-1, -1, -1, 0, 0, 1e-3])], [1, 0])
    for some in (boxes, together([], [])):
        write_boxes(tmp_path / "001-3.json", some, form=form, filename="001-3.pcd")
        back = read_boxes(tmp_path / "001-3.json")
        assert np.array_equal(back.geometry, some.geometry)
        assert np.array_equal(back.codes, some.codes)


def test_labels_that_cannot_be_written(tmp_path):
    turned = together([np.array([0, 0, 0, 1, 2, 3, 0.5])], [0])
    with pytest.raises(InputError, match="expected boxes by min and max"):
        write_boxes(tmp_path / "a.json", turned, form="corners")
    with pytest.raises(InputError, match="expected the form vertices or corners"):
        write_boxes(tmp_path / "a.json", turned, form="yaw")
    write_boxes(tmp_path / "a.json", turned, form="vertices")
    assert read_boxes(tmp_path / "a.json").geometry.shape == (1, 8, 3)


def test_points_inside_turned_boxes():
    """A point is inside if its offset, turned back by the yaw, is within half the size: multiplied out here."""
    rng = np.random.default_rng(3)
    points = rng.uniform(-2, 2, (2000, 3))
    centre, size, yaw = np.array([0.2, -0.3, 0.1]), np.array([1.0, 2.0, 1.5]), 0.7
    away = points - centre
    along = np.stack(
        [
            np.cos(yaw) * away[:, 0] + np.sin(yaw) * away[:, 1],
            np.cos(yaw) * away[:, 1] - np.sin(yaw) * away[:, 0],
            away[:, 2],
        ],
        axis=1,
    )
    expected = (np.abs(along) <= size / 2).all(axis=1)
    boxes = together([np.array([*centre, *size, yaw])], [BOX_CLASSES.index("Remove")])
    reference, comparison = by_boxes(boxes, points, points)
    assert 50 < expected.sum() < 500
    assert np.array_equal(reference, np.where(expected, 2, 0))
    assert not comparison.any()
    assert reference.dtype == np.uint8


def test_classes_of_points_that_are_wrong(tmp_path):
    path = tmp_path / "001-3.points.npz"
    good = {"reference": np.array([0, 2]), "comparison": np.array([0, 1])}
    for change, message in (
        (
            {"reference": np.array([0, 1])},
            r"'reference': point 1 has the class 1, expected 0 \(NoChange\) or 2 \(Remove\)",
        ),
        (
            {"comparison": np.array([0, 2])},
            r"'comparison': point 1 has the class 2, expected 0 \(NoChange\) or 1 \(Add\)",
        ),
        ({"comparison": np.array([0.0, 1.0])}, r"'comparison' is float64 \(2,\)"),
        ({"comparison": np.zeros((2, 1), int)}, "expected one whole number for each point"),
    ):
        np.savez(path, **(good | change))
        with pytest.raises(InputError, match=message):
            read_points(path)
    np.savez(path, reference=good["reference"])
    with pytest.raises(InputError, match="'comparison' is missing, got 'reference'"):
        read_points(path)


def same(a: Prediction, b: Prediction) -> bool:
    scores = (a.boxes.scores is None) == (b.boxes.scores is None) or not len(a.boxes)
    return (
        a.scene == b.scene
        and np.array_equal(a.boxes.geometry, b.boxes.geometry if len(b.boxes) else a.boxes.geometry)
        and np.array_equal(a.boxes.codes, b.boxes.codes)
        and scores
        and (a.boxes.scores is None or not len(a.boxes) or np.array_equal(a.boxes.scores, b.boxes.scores))
        and (a.seconds, a.points) == (b.seconds, b.points)
    )


FLOATS = st.floats(-50, 50, width=32)
SIZES = st.floats(0.125, 8, width=32)


@st.composite
def predictions(draw, turned):
    count = draw(st.integers(1, 4))
    scored = draw(st.booleans())
    out = []
    for index in range(count):
        boxes = draw(st.lists(st.tuples(*[FLOATS] * 3, *[SIZES] * 3, FLOATS, st.integers(0, 1)), max_size=3))
        rows = [
            np.array([x, y, z, a, b, c, w] if turned else [x, y, z, x + a, y + b, z + c])
            for x, y, z, a, b, c, w, _ in boxes
        ]
        scores = [float(w) for *_, w, _ in boxes] if scored else None
        kept = together(rows, [box[-1] for box in boxes], scores)
        out.append(Prediction(f"00{index}-2", kept, None, draw(st.none() | st.floats(0, 9))))
    return out


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("suffix", ["json", "csv", "parquet", "jsonl"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_predictions_written_and_read(tmp_path_factory, suffix, turned, data):
    listed = data.draw(predictions(turned))
    path = tmp_path_factory.mktemp("p") / f"p.{suffix}"
    write_predictions(path, listed)
    back = read_predictions(path)
    assert list(back) == [item.scene for item in listed]
    assert all(same(item, back[item.scene]) for item in listed)


def test_predictions_with_classes_of_points(tmp_path):
    (tmp_path / "points").mkdir()
    file = tmp_path / "points" / "001-2.points.npz"
    write_points(file, np.array([0, 2]), np.array([1, 0, 0]))
    write_predictions(tmp_path / "p.json", [Prediction("001-2", together([], []), file, 1.5)])
    assert json.loads((tmp_path / "p.json").read_text()) == {
        "scenes": [{"scene": "001-2", "boxes": [], "points": "points/001-2.points.npz", "seconds": 1.5}]
    }
    back = read_predictions(tmp_path / "p.json")["001-2"]
    clouds = Cloud(SCAN[:2]), Cloud(SCAN)
    assert [side.tolist() for side in back.point_labels(*clouds)] == [[0, 2], [1, 0, 0]]
    assert Prediction("a", together([], [])).point_labels(*clouds) is None
    with pytest.raises(InputError, match="'comparison' has 3 classes"):
        fitted(read_points(file), (clouds[0], clouds[0]), "file")
    with pytest.raises(InputError, match="is not in the folder of the predictions"):
        write_predictions(tmp_path / "points" / "p.json", [Prediction("a", together([], []), tmp_path / "x.npz")])


def scene(**changes):
    return {"scenes": [{"scene": "001-2", "boxes": [{"class": "Add", **BOX, **changes}]}]}


WRONG_JSON = {
    "no scenes": ({}, "expected an object with a list 'scenes'"),
    "none": ({"scenes": []}, "no scene; list every scene"),
    "no id": ({"scenes": [{"boxes": []}]}, "scenes[0]: scene is None"),
    "text": ({"scenes": ["001-2", 3]}, "scene '001-2' is '001-2', expected an object"),
    "no boxes": ({"scenes": [{"scene": "a"}]}, "scene 'a': boxes are None, expected a list"),
    "twice": ({"scenes": [{"scene": "a", "boxes": []}] * 2}, "scene 'a' occurs twice"),
    "unknown": (scene(scroe=1), "scene '001-2': box 0: unknown entry 'scroe'"),
    "class": (scene(**{"class": "Move"}), "box 0: class 'Move'"),
    "score": (scene(score="high"), "box 0: score is 'high'"),
    "true": (scene(score=True), "box 0: score is True"),
    "box": (scene(min=[2, 2, 2]), "scene '001-2': box 0 has a minimum above its maximum"),
    "seconds": ({"scenes": [{"scene": "a", "boxes": [], "seconds": -1}]}, "seconds is -1.0, expected 0 or more"),
    "up": ({"scenes": [{"scene": "a", "boxes": [], "points": "../a.npz"}]}, "points is '../a.npz'"),
    "absolute": ({"scenes": [{"scene": "a", "boxes": [], "points": "/a.npz"}]}, "points is '/a.npz'"),
    "windows": ({"scenes": [{"scene": "a", "boxes": [], "points": "..\\a.npz"}]}, "expected the name of a .npz"),
    "kind": ({"scenes": [{"scene": "a", "boxes": [], "points": "a.pkl"}]}, "points is 'a.pkl'"),
    "some scores": (
        {"scenes": [{"scene": "a", "boxes": [{"class": "Add", **BOX, "score": 1}, {"class": "Add", **BOX}]}]},
        "box 1: some boxes have a score and some have none",
    ),
    "scores of some scenes": (
        {"scenes": [scene()["scenes"][0], {"scene": "a", "boxes": [{"class": "Add", **BOX, "score": 1}]}]},
        "boxes of 'a' have scores and those of '001-2' have none",
    ),
}


@pytest.mark.parametrize(("value", "message"), WRONG_JSON.values(), ids=WRONG_JSON)
def test_predictions_that_are_wrong(tmp_path, value, message):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_predictions(path)
    assert message in str(caught.value)
    assert "p.json" in str(caught.value)


HEAD = "scene,class,xmin,ymin,zmin,xmax,ymax,zmax,score,seconds\n"
WRONG_CSV = {
    "column": ("scene,class,xmin\na,Add,1\n", "no column 'ymin', 'zmin', 'xmax'"),
    "both": (HEAD.replace("score", "yaw"), "corners and centres in one table"),
    "class": (HEAD + "a,Add,0,0,0,1,1,1,1,\na,Gone,0,0,0,1,1,1,1,\n", "row 2: class 'Gone'"),
    "no scene": (HEAD + ",Add,0,0,0,1,1,1,1,\n", "row 1: scene is None"),
    "number": (HEAD + "a,Add,0,0,,1,1,1,1,\n", "row 1: zmin is None"),
    "turned round": (HEAD + "a,Add,0,0,2,1,1,1,1,\n", "row 1 has a minimum above its maximum"),
    "no class": (HEAD + "a,,0,,,,,,,\n", "row 1: no class, so the scene has no boxes, but it has 'xmin'"),
    "not alone": (
        HEAD + "a,,,,,,,,,\na,Add,0,0,0,1,1,1,1,\n",
        "row 1: no class, so the scene has no boxes, but it is not",
    ),
    "seconds": (HEAD + "a,Add,0,0,0,1,1,1,1,2\na,Add,0,0,0,1,1,1,1,3\n", "row 1: several seconds for scene 'a'"),
    "score": (HEAD + "a,Add,0,0,0,1,1,1,1,2\na,Add,0,0,0,1,1,1,,2\n", "row 2: some boxes have a score"),
    "empty": (HEAD, "no scene"),
}


@pytest.mark.parametrize(("text", "message"), WRONG_CSV.values(), ids=WRONG_CSV)
def test_tables_that_are_wrong(tmp_path, text, message):
    path = tmp_path / "p.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_predictions(path)
    assert message in str(caught.value)
    assert "p.csv" in str(caught.value)


def test_tables_that_cannot_be_written(tmp_path):
    tilted = together([np.array([0, 0, 0, 1, 1, 1.0]), np.array([0, 0, 0, 1, 1, 1, 0.5])], [0, 0])
    straight = together([np.array([0, 0, 0, 1, 1, 1.0])], [0])
    for listed in ([Prediction("a", tilted)], [Prediction("a", straight, tmp_path / "a.npz")]):
        with pytest.raises(InputError, match=r"write \.json"):
            write_predictions(tmp_path / "p.csv", listed)
    with pytest.raises(InputError, match="scenes given twice: 'a'"):
        write_predictions(tmp_path / "p.csv", [Prediction("a", straight)] * 2)
    with pytest.raises(InputError, match="no scene to write"):
        write_predictions(tmp_path / "p.json", [])
