"""Scans and boxes of implausible size, worked by hand: rooms of 10 m (see ``by_hand``), a true box of 1 m."""

import json
import re

import numpy as np
import pytest

import gnomon
from gnomon.core.errors import InputError, NothingScoredError
from gnomon.intake.clouds import Cloud, write_cloud

TRUE = {"001-3": [("Add", (1, 1, 1), (2, 2, 2))], "002-3": [("Add", (4, 4, 1), (4.5, 5, 1.5))]}


def write_predictions(path, factor=1.0):
    scenes = [
        {
            "scene": scene,
            "boxes": [
                {"class": name, "min": [factor * v for v in low], "max": [factor * v for v in high]}
                for name, low, high in boxes
            ],
        }
        for scene, boxes in TRUE.items()
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"scenes": scenes}))
    return path


def scale_labels(factor):
    return {
        scene: [(name, tuple(factor * v for v in low), tuple(factor * v for v in high)) for name, low, high in boxes]
        for scene, boxes in TRUE.items()
    }


def test_rooms_and_boxes_in_metres_pass(by_hand, tmp_path):
    result = gnomon.score("change", str(by_hand(TRUE)), str(write_predictions(tmp_path / "p.json")))
    assert next(iter(result.scores.values()))[result.runs[0].measures[0].name] == 1.0


@pytest.mark.parametrize("shards", [False, True])
@pytest.mark.parametrize("factor", [1000, 100])
def test_predictions_in_another_unit_are_refused(by_hand, tmp_path, factor, shards):
    path = write_predictions(tmp_path / "in" / "p.json", factor)
    with pytest.raises(InputError, match=rf"boxes: .* of the truth 1 m, {factor} times as large, .*: not in one unit"):
        gnomon.score("change", str(by_hand(TRUE)), str(path.parent if shards else path))


def test_predictions_of_another_odd_size_are_scored(by_hand, tmp_path):
    result = gnomon.score("change", str(by_hand(TRUE)), str(write_predictions(tmp_path / "p.json", 12)))
    assert next(iter(result.scores.values()))[result.runs[0].measures[0].name] == 0.0


@pytest.mark.parametrize("half", [0.005, 0.0005, 25, 50])
def test_boxes_of_any_size_about_the_true_places_are_scored(by_hand, tmp_path, half):
    """Specks, and boxes around a large scene: 1/100, 1/1000, 50 and 100 times the true size, at the true places."""
    path = write_predictions(tmp_path / "p.json")
    told = json.loads(path.read_text())
    for scene in told["scenes"]:
        for box in scene["boxes"]:
            middle = np.add(box["min"], box["max"]) / 2
            box["min"], box["max"] = (middle - half).tolist(), (middle + half).tolist()
    path.write_text(json.dumps(told))
    result = gnomon.score("change", str(by_hand(TRUE)), str(path))
    assert next(iter(result.scores.values()))[result.runs[0].measures[0].name] == 0.0


def test_labels_that_are_larger_than_the_scan_are_refused(by_hand, tmp_path):
    labels, path = str(by_hand(scale_labels(100))), str(write_predictions(tmp_path / "p.json", 100))
    with pytest.raises(InputError, match=r"001-3.json: largest box extent 100 m \(1 box\) in a scan of 9\.\d+ m"):
        gnomon.score("change", labels, path)


def test_labels_of_kilometres_are_refused(by_hand, tmp_path):
    data, path = str(by_hand(scale_labels(1000))), str(write_predictions(tmp_path / "p.json"))
    said = r"labels: median box extent 1000 m \(2 boxes\), expected 0.001 to 200 m"
    with pytest.raises(InputError, match=said):
        gnomon.score("change", data, path)
    with pytest.raises(InputError, match=said):
        gnomon.run("change", data_path=data, systems="nothing", part="all", out="none")


@pytest.mark.parametrize("shards", [False, True])
def test_predictions_of_one_scene_that_are_far_larger_than_the_scan_are_a_finding(by_hand, tmp_path, shards):
    """One of two scenes in millimetres: the median says nothing. The other is scored as it is."""
    path = write_predictions(tmp_path / "in" / "p.json")
    told = json.loads(path.read_text())
    box = told["scenes"][0]["boxes"][0]
    box["min"], box["max"] = ([1000 * v for v in box[side]] for side in ("min", "max"))
    path.write_text(json.dumps(told))
    (run,) = gnomon.score("change", str(by_hand(TRUE)), str(path.parent if shards else path)).runs
    (finding,) = (item for item in run.findings if item.id == "large-boxes")
    assert finding.severity == "warning"
    assert "3 times as large as the scan in 1 of 2 scenes: 001-3 1000 m in a scan of 9." in finding.evidence


def test_a_stray_point_does_not_refuse_a_dataset(by_hand, tmp_path):
    data = by_hand(TRUE)
    scan = data / "Data" / "001" / "001-3.npz"
    points = np.load(scan)
    near = points[points.files[0]].astype(np.float64)
    write_cloud(scan, Cloud(np.vstack([np.tile(near, (4, 1)), [[400.0, 0, 0]]])))
    assert len(gnomon.score("change", str(data), str(write_predictions(tmp_path / "p.json"))).runs) == 1


@pytest.mark.parametrize("verb", ["score", "run"])
def test_scans_in_millimetres_are_refused(by_hand, tmp_path, verb):
    data = by_hand(TRUE)
    for scan in (data / "Data").rglob("*.npz"):
        points = np.load(scan)
        write_cloud(scan, Cloud(1000 * points[points.files[0]].astype(np.float64)))
    said = (
        r"-1.npz: extent of the scan 9\d\d\d m \(50 points\), expected 0.05 to 200 m .*: these look like .*millimetres"
    )
    if verb == "score":
        with pytest.raises(InputError, match=said):
            gnomon.score("change", str(data), str(write_predictions(tmp_path / "p.json")))
    else:
        with pytest.raises(NothingScoredError, match=said):
            gnomon.run("change", data_path=str(data), systems="nothing", part="all", out="none")


@pytest.mark.parametrize("verb", ["score", "shards", "run"])
def test_metres_that_are_asked_for_are_obeyed(by_hand, tmp_path, verb):
    """A scan of a coin, 1 cm across: refused, unless --unit m insists."""
    data = by_hand(scale_labels(1e-3))
    for scan in (data / "Data").rglob("*.npz"):
        points = np.load(scan)
        write_cloud(scan, Cloud(1e-3 * points[points.files[0]].astype(np.float64)))
    path = write_predictions(tmp_path / "in" / "p.json", 1e-3)

    def scored(**options):
        if verb == "run":
            return gnomon.run("change", data_path=str(data), systems="nothing", part="all", out="none", **options)
        given = path.parent if verb == "shards" else path
        return gnomon.score("change", str(data), str(given), out=str(tmp_path / "out"), **options)

    with pytest.raises((InputError, NothingScoredError), match=r"0.05 to 200 m .*; --unit m insists on metres"):
        scored()
    result = scored(unit="m")
    assert result.complete
    assert len(result.runs[0].roster.ids) == len(TRUE)
    (finding,) = (item for item in result.runs[0].findings if item.id == "suspicious-units")
    assert "in 2 of 2 scenes: 001-3 a scan of 0.00" in finding.evidence


@pytest.mark.parametrize("verb", ["score", "shards", "run"])
def test_metres_of_two_units_are_obeyed_with_a_warning_of_both_sizes(by_hand, tmp_path, verb):
    """Scans in millimetres, labels in metres: 1 m and .5 x 1 x .5 m in rooms of 10,000."""
    data = by_hand(TRUE)
    for scan in (data / "Data").rglob("*.npz"):
        points = np.load(scan)
        write_cloud(scan, Cloud(1000 * points[points.files[0]].astype(np.float64)))
    path = write_predictions(tmp_path / "in" / "p.json")
    if verb == "run":
        result = gnomon.run("change", data_path=str(data), systems="nothing", part="all", out="none", unit="m")
    else:
        given = path.parent if verb == "shards" else path
        result = gnomon.score("change", str(data), str(given), out=str(tmp_path / "out"), unit="m")
    assert result.complete
    (finding,) = (item for item in result.runs[0].findings if item.id == "suspicious-units")
    assert finding.severity == "warning"
    assert re.search(r"001-3 a scan of 9\d\d\d m with true boxes up to 1 m", finding.evidence)
    assert "expected scans of 0.05 to 200 m" in finding.evidence


def test_metres_of_a_usual_size_that_are_asked_for_are_no_finding(by_hand, tmp_path):
    path = write_predictions(tmp_path / "p.json")
    (run,) = gnomon.score("change", str(by_hand(TRUE)), str(path), unit="m").runs
    assert "suspicious-units" not in [item.id for item in run.findings]
