"""What a run keeps of predictions, and fingerprints of scenes: by columns against row by row, written out here."""

import os

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.scans import BOX_CLASSES, Boxes
from gnomon.runs.content import column_digest, table_digest
from gnomon.runs.seal import hash_file
from gnomon.suites.change import content
from gnomon.suites.change.files import Scene, read_dataset
from gnomon.suites.change.labels import write_points
from gnomon.suites.change.predictions import Prediction
from gnomon.suites.change.shapes import FRAME

KINDS = {
    "scene": pa.string(),
    "class": pa.string(),
    "geometry": pa.list_(pa.float64()),
    "score": pa.float64(),
    "points_sha256": pa.string(),
}


def row_by_row(predictions):
    rows = []
    for item in predictions:
        boxes, digest = item.boxes, item.points and hash_file(item.points)
        for index in range(len(boxes)):
            score = None if boxes.scores is None else float(boxes.scores[index])
            label = BOX_CLASSES[boxes.codes[index]]
            rows.append((item.scene, label, boxes.geometry[index].ravel().tolist(), score, digest))
        if not len(boxes):
            rows.append((item.scene, None, None, None, digest))
    return pa.table({name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(KINDS.items())})


@st.composite
def boxes(draw):
    """Boxes in a form, with scores or without, perhaps none; what they look like does not matter here."""
    shape = draw(st.sampled_from([(6,), (7,), (8, 3)]))
    n, rng = draw(st.integers(0, 3)), np.random.default_rng(draw(st.integers(0, 99)))
    geometry = np.sort(rng.normal(size=(n, int(np.prod(shape)))), axis=1).reshape(n, *shape)
    scores = rng.random(n) if draw(st.booleans()) else None
    return Boxes(geometry, rng.integers(0, 2, n), BOX_CLASSES, scores, FRAME)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(boxes(), st.sampled_from([None, "a", "b"])), max_size=5))
def test_what_was_scored_as_a_table(tmp_path_factory, given):
    folder = tmp_path_factory.getbasetemp()
    for name in "ab":
        (folder / name).write_text(name)
    listed = [Prediction(f"s{k}", own, name and folder / name) for k, (own, name) in enumerate(given)]
    found, expected = content.table(listed), row_by_row(listed)
    assert found.schema == expected.schema
    assert found.equals(expected)
    assert table_digest(found) == table_digest(expected)
    found.validate(full=True)


def test_a_scene_without_boxes_has_a_row_without_a_class():
    """By hand: two scenes, one box."""
    box = Boxes([[0, 0, 0, 1, 1, 2]], [1], BOX_CLASSES, [0.5], FRAME)
    found = content.table([Prediction("b", Boxes(np.zeros((0, 6)), [], BOX_CLASSES)), Prediction("a", box)])
    assert found.to_pylist() == [
        {"scene": "b", "class": None, "geometry": None, "score": None, "points_sha256": None},
        {"scene": "a", "class": "Remove", "geometry": [0, 0, 0, 1, 1, 2], "score": 0.5, "points_sha256": None},
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(boxes(), st.booleans()), max_size=5))
def test_the_fingerprint_of_scenes_is_that_of_their_columns(tmp_path_factory, given):
    """Ids, hashes of points, and of every box the scene, the class and the numbers: columns written out here."""
    folder = tmp_path_factory.getbasetemp()
    for name in ("1", "2", "points"):
        (folder / name).write_text(name)
    scenes = [
        Scene(
            room="r",
            number=number + 2,
            reference=folder / "1",
            comparison=folder / "2",
            label=folder / "1",
            points=folder / "points" if pointed else None,
            boxes=own,
        )
        for number, (own, pointed) in enumerate(given)
    ]
    scans = f"{hash_file(folder / '1')} {hash_file(folder / '2')}"
    expected = column_digest(
        pa.array([f"r-{number + 2}" for number in range(len(given))], pa.string()),
        pa.array([hash_file(folder / "points") if pointed else scans for _, pointed in given], pa.string()),
        pa.array([f"r-{number + 2}" for number, (own, _) in enumerate(given) for _ in range(len(own))], pa.string()),
        pa.array([BOX_CLASSES[code] for own, _ in given for code in own.codes], pa.string()),
        pa.array(np.concatenate([np.zeros(0), *(own.geometry.ravel() for own, _ in given)])),
    )
    assert fingerprint_of(scenes) == expected


def fingerprint_of(scenes):
    return content.fingerprint([content.described(scene) for scene in scenes])


def test_the_fingerprint_changes_with_what_is_scored(by_hand):
    low, high = (0, 0, 0), (1, 1, 1)
    data = by_hand({"a-2": [("Remove", low, high)], "a-3": [("Add", low, high)]})
    scan = data / "Data" / "a" / "a-1.npz"
    seen = [fingerprint_of(read_dataset(data).scenes)]
    assert fingerprint_of(read_dataset(data).scenes) == seen[0]
    held, stamp = scan.read_bytes(), scan.stat().st_mtime_ns
    scan.write_bytes(held[:-1] + bytes([held[-1] ^ 1]))
    os.utime(scan, ns=(stamp, stamp + 10**9))
    seen.append(fingerprint_of(read_dataset(data).scenes))
    (data / "Label" / "a-3.json").write_text('{"boxes": []}')
    seen.append(fingerprint_of(read_dataset(data).scenes))
    write_points(data / "Label" / "a-3.points.npz", np.zeros(50), np.zeros(50))
    seen.append(fingerprint_of(read_dataset(data).scenes))
    assert len(set(seen)) == 4


def test_label_files_with_their_hashes(by_hand):
    data = by_hand({"a-3": []})
    label = data / "Label" / "a-3.json"
    assert content.inputs(read_dataset(data).scenes) == [{"path": str(label), "sha256": hash_file(label)}]
