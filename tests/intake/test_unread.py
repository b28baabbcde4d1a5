"""Names that nobody reads are named in a finding, in every suite whose files have columns, fields or keys."""

import json

import numpy as np
import pyarrow as pa
import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.intake.unread import CELL, Unread, Watched, collecting, note, note_columns, reading_for, with_finding


def unread(run):
    return [f.evidence for f in run.findings if f.id == "unread-input"]


def test_notes_are_those_of_a_system_or_of_all():
    with collecting() as notes:
        note("truth.csv", {"a": 2, "empty": 0})
        with reading_for("mine"):
            note_columns("mine.csv", pa.table({"id": [1], "b": ["x"], "c": [""]}), ["id"])
    (own,), facts = with_finding((), {"seed": 1}, notes, "mine")
    assert own.evidence == "not read: mine.csv: 'b' (1 row); truth.csv: 'a' (2 rows)"
    assert (own.severity, own.where) == ("info", "2 files")
    assert facts == {
        "seed": 1,
        "unread": [
            {"file": "mine.csv", "side": "predictions", "names": {"b": 1}},
            {"file": "truth.csv", "side": "truth", "names": {"a": 2}},
        ],
    }
    assert with_finding((), {"seed": 1}, notes, "mine: first arm") == ((own,), facts)
    (other,), _ = with_finding((), {}, notes, "minerals")
    assert other.evidence == "not read: truth.csv: 'a' (2 rows)"
    assert with_finding((), {"seed": 1}, Unread(), "mine") == ((), {"seed": 1})
    note("nowhere.csv", {"x": 1})  # nobody collects: nothing happens


def test_all_names_of_predictions_are_told_and_eight_of_a_truth():
    names = [f"n{number}" for number in range(12)]
    with collecting() as notes:
        note("truth.csv", dict.fromkeys(names, 5))
        with reading_for("mine"):
            note("mine.csv", dict.fromkeys(names, 4) | {"n11": 2})
    (finding,), facts = with_finding((), {}, notes, "mine")
    own, _, truth = finding.evidence.partition("; ")
    assert own == f"not read: mine.csv: {', '.join(map(repr, names))} (up to 4 rows)"
    assert truth == f"truth.csv: {', '.join(map(repr, names[:8]))} and 4 more (12 in all) (5 rows)"
    assert [list(item["names"]) for item in facts["unread"]] == [names, names]


def test_files_of_one_suffix_are_told_under_one_pattern():
    with collecting() as notes:
        for name in ("a", "b"):
            note(f"data/truth/{name}/one.json", {"x": 2})
            note(f"data/truth/{name}/*", {"notes.txt": 1})
            with reading_for("mine"):
                note(f"data/mine/shard_{name}.csv", {"y": 3, name: 1})
                note(f"rec.py:Sure on {name}: detected()", {"z": 1})
    (finding,), facts = with_finding((), {}, notes, "mine")
    assert finding.evidence == (
        "not read: mine/*.csv: 'y', 'a', 'b' (up to 6 rows); rec.py:Sure on *: 'z' (2 rows); "
        "truth/*.json: 'x' (4 rows); truth/*: 'notes.txt' (2 files)"
    )
    assert [item["file"] for item in facts["unread"]][:1] == ["data/mine/*.csv"]


def test_a_file_that_is_read_again_counts_once(tmp_path):
    with collecting() as notes:
        note("a.csv", {"x": 3})
        with reading_for(CELL):
            note("b.csv", {"x": 3})
            note("b.csv", {"x": 3})
    notes.write(tmp_path)
    both = Unread()
    both.merge(Unread.read(tmp_path), "mine")
    both.merge(Unread.read(tmp_path / "elsewhere"))
    assert both.notes == {"": {"a.csv": {"x": 3}}, "mine": {"b.csv": {"x": 3}}}
    with reading_for("mine"):
        both.add("mine", "a.csv", {"x": 3})
    assert [(item["file"], item["side"]) for item in both.files("mine")] == [
        ("b.csv", "predictions"),
        ("a.csv", "truth"),
    ]


def test_two_spellings_of_a_path_are_one_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with collecting() as notes:
        note(tmp_path / "truth" / "a.json", {"x": 3})
        with reading_for("mine"):
            note("truth/a.json", {"x": 3})
            note(tmp_path / "said" / "b.json", {"y": 2})
            note("said/../said/b.json", {"y": 2, "z": 1})
    held = [(item["side"], item["names"]) for item in notes.files("mine")]
    assert held == [("predictions", {"y": 2, "z": 1}), ("truth", {"x": 3})]


def test_the_truth_of_shards_stays_the_truth_where_it_is_read_again(tmp_path, monkeypatch):
    """Recordings that are kept to be looked at are read again when the system is put together."""
    monkeypatch.chdir(tmp_path)
    for name in ("noon", "night"):
        event = {"t1": 10.0, "t2": 20.0, "label": "walk"}
        record = {"t1": 0.0, "t2": 60.0, "labels": [{**event, "certainty": 0.5}]}
        for folder, held in (("truth", record), ("said", {name: [{**event, "foo": 1}]})):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"{name}.json").write_text(json.dumps(held))
    (run,) = gnomon.score("events", "truth", {"mine": "said"}, out="runs").runs
    held = [(item["side"], item["names"]) for item in run.manifest["facts"]["unread"]]
    assert held == [("predictions", {"foo": 2}), ("truth", {"labels.certainty": 2})]


def test_a_watched_mapping_knows_what_was_taken():
    held = Watched({"a": [1, 2], "b": [3], "c": 4})
    assert (held["a"], held.get("d", 5)) == ([1, 2], 5)
    assert held.untaken() == {"b": 1, "c": 1}


def test_labels_name_columns_of_both_sides(tmp_path):
    (tmp_path / "truth.csv").write_text("id,label,group,place,x\n1,a,g,home,0.5\n2,b,h,,0.6\n")
    (tmp_path / "mine.csv").write_text("id,label,probability\n1,a,0.9\n2,b,0.8\n")
    (run,) = gnomon.score("labels", str(tmp_path / "truth.csv"), str(tmp_path / "mine.csv")).runs
    assert unread(run) == ["not read: mine.csv: 'probability' (2 rows); truth.csv: 'place', 'x' (up to 2 rows)"]
    assert [item["names"] for item in run.manifest["facts"]["unread"]] == [{"probability": 2}, {"place": 1, "x": 2}]
    (sliced,) = gnomon.score("labels", str(tmp_path / "truth.csv"), str(tmp_path / "mine.csv"), slice=("x",)).runs
    assert "'x'" not in unread(sliced)[0]


def test_labels_do_not_name_features_that_systems_learn_from(tmp_path):
    rows = [f"{n},{'ab'[n % 2]},g{n % 4},note {n},{n}" for n in range(12)]
    (tmp_path / "truth.csv").write_text("\n".join(["id,label,group,remark,x", *rows, ""]))
    options = {"truth": str(tmp_path / "truth.csv"), "systems": "majority", "folds": 2, "out": "none"}
    (run,) = gnomon.run("labels", **options).runs
    assert unread(run) == ["not read: truth.csv: 'remark' (12 rows)"]


def test_shards_of_labels_name_theirs(tmp_path):
    for side in ("truth", "mine"):
        (tmp_path / side).mkdir()
    for name in ("a", "b"):
        rows = [f"{name}{n},{'ab'[n]},g{n}" for n in range(2)]
        (tmp_path / "truth" / f"{name}.csv").write_text(
            "\n".join(["id,label,group,place", *(f"{r},x" for r in rows), ""])
        )
        rows = [f"{name}{n},{'ab'[n]},0.9" for n in range(2)]
        (tmp_path / "mine" / f"{name}.csv").write_text("\n".join(["id,label,certainty", *rows, ""]))
    (run,) = gnomon.score("labels", str(tmp_path / "truth"), str(tmp_path / "mine")).runs
    assert unread(run) == ["not read: mine/*.csv: 'certainty' (4 rows); truth/*.csv: 'place' (4 rows)"]


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
    assert told.startswith(f"not read: predictions.csv: 'confidence' ({len(rows)} rows); {label.name}: ")
    assert "'annotator'" in told
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
    assert unread(run) == ["not read: mine.npz: 'pred_confidence' (4 rows)"]


def test_a_calibration_holds_no_other_entry(tmp_path):
    from gnomon.suites.skeleton import calibration

    motion = {"rotation": np.eye(3).tolist(), "translation": [0, 0, 0], "scale": 2}
    (tmp_path / "rig.json").write_text(json.dumps({"rgb": motion}))
    with pytest.raises(InputError, match="unknown entry 'scale'"):
        calibration.read(tmp_path / "rig.json")
