"""``gnomon score change``: expected values by hand, on datasets written by the tests."""

import json

import numpy as np
import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.core.scans import BOX_CLASSES
from gnomon.numerics import boxes as overlapping
from gnomon.runs import exhibits
from gnomon.suites.change import files, labels, predictions, tallies
from gnomon.suites.change.files import read_dataset
from gnomon.suites.change.labels import write_points
from gnomon.suites.change.predictions import Prediction, read_predictions, write_predictions
from gnomon.suites.change.shapes import together


def box(label, low, high):
    """A box over the unit square, from low to high along x."""
    return label, (low, 0, 0), (high, 1, 1)


def predict(path, scenes, **more):
    """Write a prediction file: ``{"001-3": [(class, low, high[, score]), ...]}``."""
    listed = []
    for scene, boxes in scenes.items():
        items = []
        for label, low, high, *score in boxes:
            item = {"class": label, "min": list(low), "max": list(high)}
            items.append({**item, "score": score[0]} if score else item)
        listed.append({"scene": scene, "boxes": items, **more})
    path.write_text(json.dumps({"scenes": listed}))
    return str(path)


def measure(result, name, system="predictions"):
    scores = result.scores[system]
    return next(value for key, value in scores.items() if key.startswith(name))


def truth_as_prediction(folder, out):
    out.mkdir()
    dataset = read_dataset(folder)
    listed = []
    for scene in dataset:
        labels = scene.point_labels(*scene.clouds())
        write_points(out / f"{scene.id}.points.npz", *labels)
        scores = np.ones(len(scene.boxes))
        boxes = together(list(scene.boxes.geometry), scene.boxes.codes.tolist(), scores.tolist())
        listed.append(Prediction(scene.id, boxes, out / f"{scene.id}.points.npz", 0.5))
    write_predictions(out / "predictions.json", listed)
    return str(out / "predictions.json")


def test_the_truth_itself_is_perfect(rooms, tmp_path):
    result = gnomon.score("change", str(rooms), truth_as_prediction(rooms, tmp_path / "p"))
    scores = result.scores["predictions"]
    for name, value in scores.items():
        best = 0.0 if name.startswith(("far", "false_boxes", "missed_boxes")) else 1.0
        assert value == best, name
    run = result.runs[0]
    assert run.roster.level == "room"
    assert (len(run.roster), len(set(run.roster.groups))) == (35, 7)
    assert run.manifest["facts"]["seconds_per_scene"] == 0.5
    assert run.manifest["facts"]["unchanged_scenes"] == 7
    assert not run.findings


def test_counts_by_hand(by_hand, tmp_path):
    data = by_hand({"a-3": [box("Add", 0, 1), box("Add", 3, 4)], "a-2": [box("Remove", 0, 1)], "b-6": []})
    given = {"a-3": [box("Add", 0, 1), box("Remove", 3, 4)], "a-2": [box("Remove", 0, 0.5)], "b-6": [box("Add", 0, 1)]}
    result = gnomon.score("change", str(data), predict(tmp_path / "predictions.json", given))
    # Add: 1 of 2 true and of 2 predicted; Remove: 1 of 1 true and of 2 predicted. IoU 1 and 0.5.
    assert measure(result, "box_precision[Add]") == 0.5
    assert measure(result, "box_recall[Add]") == 0.5
    assert measure(result, "box_precision[Remove]") == 0.5
    assert measure(result, "box_recall[Remove]") == 1.0
    assert measure(result, "box_macro_f1") == pytest.approx((0.5 + 2 / 3) / 2)
    assert measure(result, "box_f1_of_macro_means") == pytest.approx(2 * 0.5 * 0.75 / 1.25)
    assert measure(result, "box_mean_iou") == 0.75
    assert measure(result, "false_boxes_per_scene") == pytest.approx(2 / 3)
    assert measure(result, "missed_boxes_per_scene") == pytest.approx(1 / 3)
    assert (measure(result, "scene_accuracy"), measure(result, "cdr"), measure(result, "far")) == (2 / 3, 1.0, 1.0)
    assert {finding.id for finding in result.runs[0].findings} == {"points-from-boxes", "no-scores"}
    assert "no score" in next(s.why for s in result.runs[0].scores if s.name.startswith("mAP"))


def test_strict_finds_matches_that_the_published_order_loses(by_hand, tmp_path):
    # The example of the specification: IoU [[.4545, .1111], [.7778, .4286]] between predictions and truths.
    data = by_hand({"a-3": [box("Add", 0.4, 1.3), box("Add", 0.8, 1.1)], "b-6": []})
    given = {"a-3": [box("Add", 0.2, 0.9), box("Add", 0.6, 1.3)], "b-6": []}
    path = predict(tmp_path / "predictions.json", given)
    result = gnomon.score("change", str(data), path, variant="both")
    recall = {run.system: run.find(run.measures[2].name).value for run in result.runs}
    assert recall == {"predictions [published]": 0.5, "predictions [strict]": 1.0}
    gap = {row["measure"].value: row for row in result.tables["variants"].rows}["box macro recall@0.25"]
    assert (gap["published"].value, gap["strict"].value, gap["gap"].value) == (0.5, 1.0, 0.5)
    greedy = gnomon.score("change", str(data), path, matching="greedy")
    assert measure(greedy, "box_macro_recall") == 0.5
    assert "greedy" in greedy.runs[0].measures[0].name


def test_without_unchanged_scenes_there_is_no_false_alarm_rate(by_hand, tmp_path):
    data = by_hand({"a-3": [box("Add", 0, 1)], "b-3": [box("Add", 0, 1)]})
    path = predict(tmp_path / "predictions.json", {"a-3": [], "b-3": []})
    result = gnomon.score("change", str(data), path)
    score = next(s for s in result.runs[0].scores if s.name == "far")
    assert (score.value, score.why) == (None, "no unchanged scene in truth")
    assert any("false alarms is known" in v.statement and v.missing for v in result.runs[0].verdicts)


def test_scores_by_category(rooms, tmp_path):
    result = gnomon.score("change", str(rooms), truth_as_prediction(rooms, tmp_path / "p"), per_category=True)
    slices = {score.slice for score in result.runs[0].scores}
    assert slices == {"all", *(f"category={c}" for c in ("Add", "Remove", "Move", "Composite", "Unchanged"))}
    assert "slices" in result.tables


def test_policies_for_scenes_without_a_prediction(by_hand, tmp_path):
    data = by_hand({"a-3": [box("Add", 0, 1)], "b-3": [box("Add", 0, 1)]})
    path = predict(tmp_path / "predictions.json", {"a-3": [box("Add", 0, 1)]})
    with pytest.raises(InputError, match=r"no prediction for 'b-3'; add them .* --missing empty or --missing skip"):
        gnomon.score("change", str(data), path)
    empty = gnomon.score("change", str(data), path, missing="empty")
    assert (measure(empty, "box_recall[Add]"), empty.complete) == (0.5, True)
    skipped = gnomon.score("change", str(data), path, missing="skip")
    assert (measure(skipped, "box_recall[Add]"), skipped.complete) == (1.0, False)


def test_predictions_for_unknown_scenes_are_refused(by_hand, tmp_path):
    data = by_hand({"a-3": [box("Add", 0, 1)]})
    with pytest.raises(InputError, match="not in the truth: 'c-3'; it has 'a-3'"):
        gnomon.score("change", str(data), predict(tmp_path / "predictions.json", {"a-3": [], "c-3": []}))


def test_classes_of_points_must_fit_the_scans(by_hand, tmp_path):
    data = by_hand({"a-3": [box("Add", 0, 1)]})
    write_points(tmp_path / "a.npz", np.zeros(50), np.zeros(49))
    path = predict(tmp_path / "predictions.json", {"a-3": []}, points="a.npz")
    with pytest.raises(InputError, match=r"a\.npz: 'comparison' has 49 classes, but .*a-3\.npz has 50 points"):
        gnomon.score("change", str(data), path)


def test_many_boxes_are_named(by_hand, tmp_path):
    data = by_hand({"a-3": [box("Add", 0, 1)]})
    path = predict(tmp_path / "predictions.json", {"a-3": [box("Add", 2 * i, 2 * i + 1) for i in range(4)]})
    finding = next(f for f in gnomon.score("change", str(data), path).runs[0].findings if f.id == "many-boxes")
    assert "4 predicted boxes for 1 true ones (4.0 times as many)" in finding.evidence


def test_the_published_json(by_hand, tmp_path):
    data = by_hand({"a-3": [box("Add", 0, 1)], "a-2": [box("Remove", 0, 1)]})
    path = predict(tmp_path / "predictions.json", {"a-3": [box("Add", 0, 1)], "a-2": []}, seconds=0.25)
    gnomon.score("change", str(data), path, export_indoorcd=str(tmp_path / "r" / "results.json"))
    value = json.loads((tmp_path / "r" / "results.json").read_text())
    assert len(value["timestamp"]) == len("20250108_120000")
    assert value["iou_threshold"] == 0.25
    method = value["methods"]["predictions"]
    assert (method["num_scenes"], method["avg_time"]) == (2, 0.25)
    metrics = method["metrics"]
    assert list(metrics)[:7] == [
        "accuracy",
        "macro_precision",
        "macro_recall",
        "macro_f1",
        "precision",
        "recall",
        "f1",
    ]
    assert metrics["recall"] == {"Add": 1.0, "Remove": 0.0}
    assert metrics["precision"] == {"Add": 1.0, "Remove": None}
    # Remove is never predicted: its precision counts as 0 in the mean.
    assert (metrics["macro_precision"], metrics["macro_recall"], metrics["macro_f1"]) == (0.5, 0.5, 0.5)


def test_published_statistics_over_scenes(by_hand, tmp_path):
    # F1 of scenes: 1, 0 and undefined; sd with ddof 0 is .5, so 1.96 * .5 / sqrt(2).
    data = by_hand({"a-3": [box("Add", 0, 1)], "b-3": [box("Add", 0, 1)], "b-6": []})
    path = predict(tmp_path / "predictions.json", {"a-3": [box("Add", 0, 1)], "b-3": [], "b-6": []})
    table = gnomon.score("change", str(data), path, variant="published").tables["published"]
    row = table.rows[0]
    assert (row["scenes"].value, row["mean"].value) == (2, 0.5)
    assert row["half"].value == pytest.approx(1.96 * 0.5 / np.sqrt(2))
    assert "not to be relied on" in table.notes[0]


def test_two_systems_are_compared_over_rooms(rooms, tmp_path):
    good = truth_as_prediction(rooms, tmp_path / "p")
    none = predict(tmp_path / "none.json", {scene.id: [] for scene in read_dataset(rooms)})
    result = gnomon.score("change", str(rooms), {"good": good, "none": none}, out=str(tmp_path / "runs"))
    row = result.tables["comparison"].rows[0]
    assert (row["a"].value, row["b"].value, row["difference"].value, row["groups"].value) == ("good", "none", 1.0, 7)
    assert row["p"].value == pytest.approx(2 / 2**7)


def test_a_class_that_is_never_predicted_does_not_raise_an_average(by_hand, tmp_path):
    data = by_hand({"a-3": [box("Add", 0, 1)], "a-2": [box("Remove", 0, 1)], "b-6": []})
    path = predict(tmp_path / "predictions.json", {"a-3": [box("Add", 0, 1)], "a-2": [], "b-6": []})
    result = gnomon.score("change", str(data), path)
    assert measure(result, "box_macro_precision") == 0.5
    assert measure(result, "box_f1_of_macro_means") == 0.5
    assert measure(result, "point_macro3_precision") < 1


def test_gaps_of_a_dataset_are_an_error_or_named(by_hand, tmp_path):
    data = by_hand({"a-3": [box("Add", 0, 1)], "b-3": [box("Add", 0, 1)]})
    (data / "Label" / "b-3.json").unlink()
    path = predict(tmp_path / "predictions.json", {"a-3": []})
    with pytest.raises(InputError, match=r"comparison without a label: 'b-3'; .* \(--gaps skip\)"):
        gnomon.score("change", str(data), path)
    run = gnomon.score("change", str(data), path, gaps="skip").runs[0]
    gap = next(f for f in run.findings if f.id == "dataset-gaps")
    assert gap.evidence.startswith("left out, comparison without")
    assert gap.severity == "warning"


def test_point_files_of_truth_are_held_against_the_scans(by_hand, tmp_path):
    data = by_hand({"a-3": [box("Add", 0, 1)]})
    write_points(data / "Label" / "a-3.points.npz", np.zeros(5), np.zeros(5))
    write_points(tmp_path / "mine.npz", np.zeros(5), np.zeros(5))
    path = predict(tmp_path / "predictions.json", {"a-3": []}, points="mine.npz")
    with pytest.raises(InputError, match=r"a-3\.points\.npz: 'reference' has 5 classes, but .* has 50 points"):
        gnomon.score("change", str(data), path)


def stored(result):
    """What a run holds besides when and where it was made."""
    run = result.runs[0]
    ledger = run.ledgers["detections"]
    return run.tallies, ledger, run.roster, [(s.name, s.value, s.low, s.high) for s in run.scores], run.findings


def test_scenes_tallied_together_are_scenes_tallied_alone(rooms, tmp_path, monkeypatch):
    """Tallied after each scene, the same run is the reference; so it is where pairs of all scenes are too many."""
    given = {}
    for number, scene in enumerate(read_dataset(rooms)):
        moved = scene.boxes.geometry + 0.02 * number
        items = zip(scene.boxes.codes.tolist(), moved.tolist(), strict=True)
        given[scene.id] = [(BOX_CLASSES[code], g[:3], g[3:], number % 3) for code, g in items]
    path = predict(tmp_path / "predictions.json", given)
    options = {"variant": "published", "out": str(tmp_path / "runs")}
    together = gnomon.score("change", str(rooms), path, **options)
    monkeypatch.setattr(tallies, "MUCH", 1)
    alone = gnomon.score("change", str(rooms), path, **options)
    assert stored(alone) == stored(together)
    monkeypatch.setattr(tallies, "MUCH", 1 << 18)
    monkeypatch.setattr(overlapping, "MOST_PAIRS", max(len(own) for own in given.values()) ** 2)
    assert stored(gnomon.score("change", str(rooms), path, **options)) == stored(together)
    monkeypatch.setattr(overlapping, "MOST_PAIRS", 0)
    with pytest.raises(InputError, match="boxes overlap in more than 0 pairs; match fewer boxes at a time"):
        gnomon.score("change", str(rooms), path, **options)


def test_what_is_wrong_with_the_first_scene_is_said_first(by_hand, tmp_path, monkeypatch):
    data = by_hand({"a-3": [box("Add", 0, 1)], "b-3": [box("Add", 0, 1)]})
    path = predict(tmp_path / "predictions.json", {"a-3": [box("Add", 0, 1)], "b-3": [box("Add", 0, 1)]})
    (tmp_path / "b.npz").write_bytes(b"nothing")
    given = json.loads((tmp_path / "predictions.json").read_text())
    given["scenes"][1]["points"] = "b.npz"
    (tmp_path / "predictions.json").write_text(json.dumps(given))
    with pytest.raises(InputError, match=r"b\.npz"):
        gnomon.score("change", str(data), path)
    monkeypatch.setattr(overlapping, "MOST_PAIRS", 0)
    with pytest.raises(InputError, match="more than 0 pairs"):
        gnomon.score("change", str(data), path)


def test_the_quick_ways_and_the_plain_ones_give_the_same_run(rooms, tmp_path, monkeypatch):
    """Labels, predictions and points read and marked one by one are the reference."""
    given = {}
    for number, scene in enumerate(read_dataset(rooms)):
        items = zip(scene.boxes.codes.tolist(), (scene.boxes.geometry + 0.01 * number).tolist(), strict=True)
        given[scene.id] = [(BOX_CLASSES[code], g[:3], g[3:], number / 7) for code, g in items]
    path = predict(tmp_path / "predictions.json", given)
    write_predictions(tmp_path / "predictions.csv", read_predictions(path).values())
    options = {"variant": "strict", "out": str(tmp_path / "runs")}
    quick = [gnomon.score("change", str(rooms), p, **options) for p in (path, str(tmp_path / "predictions.csv"))]
    monkeypatch.setattr(files, "read_alike", lambda paths: None)
    monkeypatch.setattr(predictions, "_read_alike", lambda path: None)
    monkeypatch.setattr(predictions.tabled, "read", lambda table, form: None)
    monkeypatch.setattr(tallies, "by_boxes", labels.by_boxes)
    monkeypatch.setattr(tallies, "MUCH", 1)
    for found, source in zip(quick, (path, str(tmp_path / "predictions.csv")), strict=True):
        plain = gnomon.score("change", str(rooms), source, **options)
        assert stored(plain) == stored(found)
        for name in ("data_fingerprint", "prediction_fingerprint"):
            assert plain.runs[0].manifest[name] == found.runs[0].manifest[name]


TWO = {"001-3": [box("Add", 1, 2)], "002-3": [box("Add", 1, 2)]}


@pytest.mark.parametrize("damage", [b"not an archive", None])
@pytest.mark.parametrize("sharded", [False, True])
def test_a_scan_that_cannot_be_read_leaves_out_its_scene_alone(by_hand, tmp_path, damage, sharded):
    folder = by_hand(TWO)
    scan = folder / "Data" / "002" / "002-3.npz"
    if damage is None:
        scan.unlink()
        scan.symlink_to(tmp_path / "nowhere.npz")
    else:
        scan.write_bytes(damage)
    (tmp_path / "shards").mkdir()
    given = predict(tmp_path / "shards" / "predictions.json", TWO)
    options = {"out": "none"} if not sharded else {"out": str(tmp_path / "out")}
    result = gnomon.score("change", str(folder), str(tmp_path / "shards") if sharded else given, **options)
    (run,) = result.runs
    assert not result.complete
    assert run.roster.ids == ("001-3",)
    scenes = {"truth": 2, "scored": 1, "missing": ["002-3"]}
    assert run.coverage["scenes"] == scenes
    assert "002-3.npz" in run.coverage["unreadable"]["002-3"][0]
    (left,) = (item for item in run.findings if item.id == "scenes-left-out")
    assert "1 of 2 scenes" in left.evidence


def test_where_no_scan_can_be_read_the_first_error_is_told(by_hand, tmp_path):
    folder = by_hand(TWO)
    for scan in folder.glob("Data/*/*-1.npz"):
        scan.write_bytes(b"not an archive")
    with pytest.raises(InputError, match=r"no scene could be scored; the first: .*001-1\.npz"):
        gnomon.score("change", str(folder), predict(tmp_path / "p.json", TWO), out="none")


def test_a_system_without_a_readable_scene_takes_no_other_along(by_hand, tmp_path):
    folder = by_hand(TWO)
    (folder / "Data" / "002" / "002-3.npz").write_bytes(b"not an archive")
    given = {}
    for name, scenes in (("all", ("001-3", "002-3")), ("second", ("002-3",))):
        (tmp_path / name).mkdir()
        given[name] = predict(tmp_path / name / "p.json", {scene: TWO[scene] for scene in scenes})
    folders = {name: str(tmp_path / name) for name in given}
    for sources in (given, folders):
        result = gnomon.score("change", str(folder), sources, missing="skip", out="none")
        assert [(run.system, len(run.roster)) for run in result.runs] == [("all", 1), ("second", 0)]
        assert all("002-3.npz" in run.coverage["unreadable"]["002-3"][0] for run in result.runs)
        assert not result.complete


def test_every_scan_is_read_once_for_all_systems_and_variants(rooms, tmp_path, monkeypatch):
    paths = {name: truth_as_prediction(rooms, tmp_path / name) for name in ("one", "two", "three")}
    read = []
    made = files.read_scan
    monkeypatch.setattr(files, "read_scan", lambda path, **how: read.append(path.name) or made(path, **how))
    gnomon.score("change", str(rooms), paths, variant="both")
    assert len(read) == len(set(read)) == 7 * 6


@pytest.mark.parametrize("variant", ["published", "strict"])
def test_both_variants_together_are_each_alone(rooms, tmp_path, variant):
    given = {}
    for number, scene in enumerate(read_dataset(rooms)):
        items = zip(scene.boxes.codes.tolist(), (scene.boxes.geometry + 0.02 * number).tolist(), strict=True)
        given[scene.id] = [(BOX_CLASSES[code], g[:3], g[3:], number % 3) for code, g in items]
    path = predict(tmp_path / "predictions.json", given)
    both = gnomon.score("change", str(rooms), path, variant="both", out=str(tmp_path / "both"))
    alone = gnomon.score("change", str(rooms), path, variant=variant, out=str(tmp_path / "alone")).runs[0]
    own = next(run for run in both.runs if run.manifest["protocol"]["variant"] == variant)
    assert own.tallies == alone.tallies
    assert own.ledgers == alone.ledgers
    assert [s.record() for s in own.scores] == [s.record() for s in alone.scores]
    assert (own.path / exhibits.NAME).read_bytes() == (alone.path / exhibits.NAME).read_bytes()


@pytest.mark.parametrize("kind", ["file", "shards", "run"])
@pytest.mark.parametrize("damage", ['{"bad":', '{"boxes": [{"label": "Add"}]}', None])
def test_a_label_that_cannot_be_read_leaves_out_its_scene(by_hand, tmp_path, kind, damage):
    folder = by_hand(TWO)
    label = folder / "Label" / "002-3.json"
    if damage is None:
        label.unlink()
        label.symlink_to(tmp_path / "nowhere.json")
    else:
        label.write_text(damage)
    (tmp_path / "shards").mkdir()
    given = predict(tmp_path / "shards" / "predictions.json", TWO)
    if kind == "run":
        result = gnomon.run("change", data_path=str(folder), systems="nothing", part="all", out="none")
    else:
        given = str(tmp_path / "shards") if kind == "shards" else given
        result = gnomon.score("change", str(folder), given, out=str(tmp_path / "out"))
    (run,) = result.runs
    assert not result.complete
    assert run.roster.ids == ("001-3",)
    assert run.coverage["scenes"] == {"truth": 2, "scored": 1, "missing": ["002-3"]}
    assert "002-3.json" in run.coverage["unreadable"]["002-3"][0]
    (left,) = (item for item in run.findings if item.id == "scenes-left-out")
    assert left.severity == "warning"
    assert "1 of 2 scenes" in left.evidence
    assert "002-3.json" in left.evidence


def test_files_and_shards_of_a_broken_label_are_of_the_same_data_which_is_not_that_of_an_empty_label(by_hand, tmp_path):
    folder = by_hand(TWO)
    (tmp_path / "shards").mkdir()
    given = predict(tmp_path / "shards" / "predictions.json", TWO)
    seen = []
    for content in ('{"bad":', "[]"):
        (folder / "Label" / "002-3.json").write_text(content)
        for number, path in enumerate((given, str(tmp_path / "shards"))):
            out = str(tmp_path / f"out{len(seen)}{number}")
            seen.append(gnomon.score("change", str(folder), path, out=out).runs[0].manifest["data_fingerprint"])
    assert seen[0] == seen[1]
    assert seen[2] == seen[3]
    assert seen[0] != seen[2]


def test_boxes_in_an_unchanged_scene_leave_it_out(by_hand, tmp_path):
    scenes = {"001-3": TWO["001-3"], "002-6": TWO["002-3"]}
    (run,) = gnomon.score("change", str(by_hand(scenes)), predict(tmp_path / "p.json", scenes), out="none").runs
    assert "category Unchanged, expected none" in run.coverage["unreadable"]["002-6"][0]
    assert run.roster.ids == ("001-3",)


def test_where_no_label_can_be_read_the_first_error_is_told(by_hand, tmp_path):
    folder = by_hand(TWO)
    for label in folder.glob("Label/*.json"):
        label.write_text("[")
    with pytest.raises(InputError, match=r"no label can be read; the first: .*001-3\.json"):
        gnomon.score("change", str(folder), predict(tmp_path / "p.json", TWO), out="none")
