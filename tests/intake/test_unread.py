"""Names that nobody reads are named in a finding, in every suite whose files have columns, fields or keys."""

import json

import numpy as np
import pyarrow as pa
import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.intake.unread import Unread, Watched, collecting, note, note_columns, reading_for, with_finding


def unread(run):
    return [f.evidence for f in run.findings if f.id == "unread-input"]


def test_notes_are_those_of_a_system_or_of_all():
    with collecting() as notes:
        note("truth.csv", {"a": 2, "empty": 0})
        with reading_for("mine"):
            note_columns("mine.csv", pa.table({"id": [1], "b": ["x"], "c": [""]}), ["id"])
    (own,) = with_finding((), notes, "mine")
    assert own.evidence == "2 names not read: 'a' in 2 rows of 'truth.csv'; 'b' in 1 row of 'mine.csv'"
    assert own.where == "2 files"
    (arm,) = with_finding((), notes, "mine: first arm")
    assert arm == own
    (other,) = with_finding((), notes, "minerals")
    assert other.evidence == "1 name not read: 'a' in 2 rows of 'truth.csv'"
    assert with_finding((), Unread(), "mine") == ()
    note("nowhere.csv", {"x": 1})  # nobody collects: nothing happens


def test_a_file_that_is_read_again_counts_once(tmp_path):
    with collecting() as notes:
        note("a.csv", {"x": 3})
        note("a.csv", {"x": 3})
    notes.write(tmp_path)
    both = Unread()
    both.merge(Unread.read(tmp_path), "mine")
    both.merge(Unread.read(tmp_path / "elsewhere"))
    assert both.notes == {"mine": {"a.csv": {"x": 3}}}


def test_a_watched_mapping_knows_what_was_taken():
    held = Watched({"a": [1, 2], "b": [3], "c": 4})
    assert (held["a"], held.get("d", 5)) == ([1, 2], 5)
    assert held.untaken() == {"b": 1, "c": 1}


def test_labels_name_columns_of_both_sides(tmp_path):
    (tmp_path / "truth.csv").write_text("id,label,group,place,x\n1,a,g,home,0.5\n2,b,h,,0.6\n")
    (tmp_path / "mine.csv").write_text("id,label,probability\n1,a,0.9\n2,b,0.8\n")
    (run,) = gnomon.score("labels", str(tmp_path / "truth.csv"), str(tmp_path / "mine.csv")).runs
    (told,) = unread(run)
    assert "'place' in 1 row of 'truth.csv'" in told
    assert "'x' in 2 rows of 'truth.csv'" in told
    assert "'probability' in 2 rows of 'mine.csv'" in told
    (sliced,) = gnomon.score("labels", str(tmp_path / "truth.csv"), str(tmp_path / "mine.csv"), slice=("x",)).runs
    assert "'x'" not in unread(sliced)[0]


def test_labels_do_not_name_features_that_systems_learn_from(tmp_path):
    rows = [f"{n},{'ab'[n % 2]},g{n % 4},note {n},{n}" for n in range(12)]
    (tmp_path / "truth.csv").write_text("\n".join(["id,label,group,remark,x", *rows, ""]))
    options = {"truth": str(tmp_path / "truth.csv"), "systems": "majority", "folds": 2, "out": "none"}
    (run,) = gnomon.run("labels", **options).runs
    assert unread(run) == ["1 name not read: 'remark' in 12 rows of 'truth.csv'"]


def test_shards_of_labels_name_theirs(tmp_path):
    for side in ("truth", "mine"):
        (tmp_path / side).mkdir()
    (tmp_path / "truth" / "a.csv").write_text("id,label,group,place\n1,a,g,home\n2,b,h,home\n")
    (tmp_path / "mine" / "a.csv").write_text("id,label,certainty\n1,a,0.9\n2,b,0.8\n")
    (run,) = gnomon.score("labels", str(tmp_path / "truth"), str(tmp_path / "mine")).runs
    (told,) = unread(run)
    assert "'place' in 2 rows" in told
    assert "'certainty' in 2 rows" in told


def test_names_of_codes_hold_no_other_field(tmp_path):
    for side in ("truth", "mine"):
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "a.npy", np.array([0, 1], dtype=np.uint8))
    (tmp_path / "truth" / "classes.json").write_text(json.dumps({"classes": ["a", "b"], "ignored": 1}))
    with pytest.raises(InputError, match="unknown field 'ignored'; expected classes and ignore"):
        gnomon.score("labels", str(tmp_path / "truth"), str(tmp_path / "mine"))


def test_change_names_columns_of_a_table_and_entries_of_labels(tmp_path):
    from gnomon.cli.main import main

    with pytest.raises(SystemExit):
        main(["template", "change", str(tmp_path / "it")])
    data = tmp_path / "it" / "dataset"
    table = tmp_path / "it" / "predictions.csv"
    head, *rows = table.read_text().splitlines()
    table.write_text("\n".join([f"{head},confidence", *(f"{row},0.5" for row in rows), ""]))
    label = sorted((data / "Label").glob("*.json"))[0]
    held = json.loads(label.read_text())
    listed = held["objects"] if "objects" in held else held["boxes"]
    for box in listed:
        box["colour"] = "red"
    label.write_text(json.dumps({**held, "annotator": "me"}))
    (run, *_) = gnomon.score("change", truth=str(data), predictions=str(table)).runs
    (told,) = unread(run)
    assert f"'confidence' in {len(rows)} rows of 'predictions.csv'" in told
    assert f"'annotator' in 1 row of '{label.name}'" in told
    assert ("'colour'" in told) == bool(listed)


def test_skeleton_names_fields_that_are_not_read(tmp_path):
    from gnomon.suites.skeleton.files import write

    joints = np.random.default_rng(0).normal(size=(4, 17, 3))
    camera = np.tile([0, 0, 0, 0, 0, 0, 1, 1, 1], (4, 1, 1)).astype(float)
    fields = {
        "sample_ids": [f"p1_a1_{n}" for n in range(4)],
        "pred_keypoints": joints,
        "gt_keypoints": joints,
        "pred_cameras_stream": camera,
        "gt_cameras_stream": camera,
        "camera_stream_modalities": ["lidar"],
        "camera_stream_sensor_indices": [0],
        "pred_confidence": np.ones(4),
    }
    write(tmp_path / "mine.npz", fields)
    (run, *_) = gnomon.score("skeleton", pred_file=str(tmp_path / "mine.npz")).runs
    assert unread(run) == ["1 name not read: 'pred_confidence' in 4 rows of 'mine.npz'"]


def test_a_calibration_holds_no_other_entry(tmp_path):
    from gnomon.suites.skeleton import calibration

    motion = {"rotation": np.eye(3).tolist(), "translation": [0, 0, 0], "scale": 2}
    (tmp_path / "rig.json").write_text(json.dumps({"rgb": motion}))
    with pytest.raises(InputError, match="unknown entry 'scale'"):
        calibration.read(tmp_path / "rig.json")
