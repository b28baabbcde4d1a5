"""Predictions in a folder of shards score as one file does; a broken shard or scan fails alone.

Expected values: the same scenes given as one file, which other tests hold against values by hand.
"""

import json
import os
import tracemalloc

import numpy as np
import pytest

import gnomon
from gnomon.cli.main import main
from gnomon.core.code_identity import identity_of
from gnomon.core.errors import InputError
from gnomon.engine.scoring import tally_chunk
from gnomon.intake.clouds import Cloud, write_cloud
from gnomon.runs import exhibits
from gnomon.runs.verify import verify
from gnomon.suites.change import scoring
from gnomon.suites.change.files import read_dataset
from gnomon.suites.change.labels import write_points
from gnomon.suites.change.options import ScoreOptions
from gnomon.suites.change.predictions import Prediction, write_predictions
from gnomon.suites.change.shapes import together


def predicted(rooms, folder, *, seed=0, points=True, scores=True):
    """Move the true boxes at random, lose some and add some; every third scene has classes of points."""
    rng, found = np.random.default_rng(seed), []
    folder.mkdir(parents=True, exist_ok=True)
    for index, scene in enumerate(read_dataset(rooms)):
        kept = rng.random(len(scene.boxes)) < 0.8
        geometry = [*(scene.boxes.geometry[kept] + rng.normal(0, 0.1, (int(kept.sum()), 6))).tolist()]
        codes = scene.boxes.codes[kept].tolist()
        if rng.random() < 0.3:
            geometry, codes = [*geometry, [0.0, 0, 0, 1, 1, 1]], [*codes, int(rng.integers(0, 2))]
        low = [[*np.minimum(g[:3], g[3:]), *np.maximum(g[:3], g[3:])] for g in geometry]
        sure = rng.random(len(low)).tolist() if scores and low else None
        boxes = together([np.array(g) for g in low], codes, sure)
        path = folder / f"{scene.id}.points.npz" if points and index % 3 == 0 else None
        if path:
            true = scene.point_labels(*scene.clouds())
            write_points(path, *(np.where(rng.random(len(side)) < 0.9, side, 0) for side in true))
        found.append(Prediction(scene.id, boxes, path, float(rng.random())))
    return found


def write(folder, found, count, suffix="json"):
    """Deal scenes to shards at random; the numbers of shards are not in the order of scenes."""
    place = np.random.default_rng(5).permutation(np.arange(len(found)) % count)
    for number in range(count):
        own = [item for item, at in zip(found, place, strict=True) if at == number]
        write_predictions(folder / f"part{number}.{suffix}", own)
    return str(folder)


def values(result):
    return [(run.system, run.manifest["protocol"]["variant"], [s.record() for s in run.scores]) for run in result.runs]


@pytest.mark.parametrize(
    ("count", "executor"), [(1, "inline"), pytest.param(3, "processes", marks=pytest.mark.slow), (35, "inline")]
)
def test_shards_score_as_one_file(rooms, tmp_path, count, executor):
    found = predicted(rooms, tmp_path / "mine")
    write_predictions(tmp_path / "mine" / "one.json", found)
    options = {"variant": "both", "per_category": True, "out": str(tmp_path / "runs")}
    whole = gnomon.score("change", str(rooms), {"mine": str(tmp_path / "mine" / "one.json")}, **options)
    (tmp_path / "mine" / "one.json").unlink()
    folder = write(tmp_path / "mine", found, count)
    shards = gnomon.score("change", str(rooms), folder, executor=executor, workers=2, **options)
    assert values(shards) == values(whole)
    assert shards.complete
    for own, other in zip(shards.runs, whole.runs, strict=True):
        assert own.manifest["data_fingerprint"] == other.manifest["data_fingerprint"]
        assert {f.id for f in own.findings} == {f.id for f in other.findings}
        assert own.manifest["facts"]["seconds_per_scene"] == other.manifest["facts"]["seconds_per_scene"]
        assert (own.path / exhibits.NAME).read_bytes() == (other.path / exhibits.NAME).read_bytes()
        assert all(check.passed for check in verify(own.path))


def test_tables_are_shards_too(rooms, tmp_path):
    found = predicted(rooms, tmp_path / "json", points=False)
    write_predictions(tmp_path / "one.json", found)
    whole = gnomon.score("change", str(rooms), str(tmp_path / "one.json"))
    for suffix in ("parquet", "csv"):
        (tmp_path / suffix).mkdir()
        shards = gnomon.score("change", str(rooms), write(tmp_path / suffix, found, 4, suffix))
        assert [own[2] for own in values(shards)] == [own[2] for own in values(whole)]


def test_scenes_that_no_shard_has(rooms, tmp_path):
    found = predicted(rooms, tmp_path / "mine")[4:]
    write_predictions(tmp_path / "one.json", [item for item in found if item.points is None])
    kept = [item for item in found if item.points is None]
    folder = write(tmp_path / "mine", kept, 3)
    with pytest.raises(InputError, match=r"no prediction for '001-2'"):
        gnomon.score("change", str(rooms), folder)
    for missing in ("empty", "skip"):
        whole = gnomon.score("change", str(rooms), {"mine": str(tmp_path / "one.json")}, missing=missing)
        shards = gnomon.score("change", str(rooms), folder, missing=missing, out=str(tmp_path / missing))
        assert all(check.passed for check in verify(shards.runs[0].path))
        assert values(shards) == values(whole)
        assert shards.complete == whole.complete == (missing == "empty")
        assert shards.runs[0].coverage["scenes"] == whole.runs[0].coverage["scenes"]
        assert shards.runs[0].manifest["data_fingerprint"] == whole.runs[0].manifest["data_fingerprint"]


def test_what_shards_may_not_do_together(rooms, tmp_path):
    found = predicted(rooms, tmp_path / "mine", points=False)
    folder = write(tmp_path / "mine", found, 2)
    write_predictions(tmp_path / "mine" / "again.json", found[:1])
    with pytest.raises(InputError, match=r"scene '001-2' is in the shards 'again' and 'part"):
        gnomon.score("change", str(rooms), folder)
    write_predictions(tmp_path / "mine" / "again.json", [Prediction("099-2", found[0].boxes)])
    with pytest.raises(InputError, match="scenes that are not in the truth: '099-2'"):
        gnomon.score("change", str(rooms), folder)
    bare = predicted(rooms, tmp_path / "bare", points=False, scores=False)
    (tmp_path / "mine" / "again.json").unlink()
    place = np.random.default_rng(5).permutation(np.arange(len(found)) % 2)
    write_predictions(tmp_path / "mine" / "part1.json", [b for b, at in zip(bare, place, strict=True) if at == 1])
    with pytest.raises(InputError, match=r"boxes of shard 'part0' have scores and those of 'part1' have none"):
        gnomon.score("change", str(rooms), folder)


def copied(rooms, tmp_path):
    import shutil

    return shutil.copytree(rooms, tmp_path / "rooms")


@pytest.mark.parametrize("what", ["predictions", "points", "shape"])
def test_what_is_broken_fails_alone_and_is_done_once_it_is_mended(rooms, tmp_path, what, capsys):
    rooms = copied(rooms, tmp_path)
    found = predicted(rooms, tmp_path / "mine")
    folder = write(tmp_path / "mine", found, 5)
    place = np.random.default_rng(5).permutation(np.arange(len(found)) % 5)
    scene = next(item for item, at in zip(found, place, strict=True) if at == 2 and item.points)
    path = {
        "predictions": tmp_path / "mine" / "part2.json",
        "points": scene.points,
        "shape": scene.points,
    }[what]
    held = path.read_bytes()
    if what == "shape":
        write_points(path, np.zeros(3), np.zeros(3))
    else:
        path.write_bytes(held[: len(held) // 2])
    command = ["score", "change", "--truth", str(rooms), "--predictions", folder, "--out", str(tmp_path / "runs")]
    with pytest.raises(SystemExit, match="1"):
        main(command)
    assert "partial: 4 of 5 cells" in capsys.readouterr().out
    (run,) = [p for p in (tmp_path / "runs").iterdir() if (p / "coverage.json").is_file()]
    coverage = json.loads((run / "coverage.json").read_text())
    (missing,) = coverage["cells"]["missing"]
    assert missing["cell"] == "mine: part2"
    assert path.name in missing["why"]
    assert coverage["shards"] == {"given": 5, "scored": 4}
    assert scene.scene in coverage["scenes"]["missing"]
    path.write_bytes(held)
    with pytest.raises(SystemExit, match="0"):
        main(command)
    log = (tmp_path / "runs" / "store" / "progress.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["event"] == "found" for line in log) == 4
    (whole,) = [p for p in (tmp_path / "runs").iterdir() if p != run and (p / "coverage.json").is_file()]
    mended = gnomon.score("change", str(rooms), folder)
    assert values(gnomon.load(whole)) == values(mended)
    assert mended.complete


def test_a_scene_is_left_out_until_its_scan_can_be_read(rooms, tmp_path):
    rooms = copied(rooms, tmp_path)
    folder = write(tmp_path / "mine", predicted(rooms, tmp_path / "mine"), 5)
    path = rooms / "Data" / "003" / "003-4.npz"
    held = path.read_bytes()
    path.write_bytes(held[: len(held) // 2])
    (run,) = gnomon.score("change", str(rooms), folder, out=str(tmp_path / "runs")).runs
    assert run.coverage["shards"] == {"given": 5, "scored": 5}
    assert run.coverage["scenes"]["missing"] == list(run.coverage["unreadable"]) == ["003-4"]
    assert path.name in run.coverage["unreadable"]["003-4"][0]
    path.write_bytes(held)
    mended = gnomon.score("change", str(rooms), folder, out=str(tmp_path / "runs"))
    log = (tmp_path / "runs" / "store" / "progress.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["event"] == "found" for line in log) == 4
    assert values(mended) == values(gnomon.score("change", str(rooms), folder))
    assert mended.complete


def test_a_change_of_the_truth_is_noticed(rooms, tmp_path):
    rooms = copied(rooms, tmp_path)
    folder = write(tmp_path / "mine", predicted(rooms, tmp_path / "mine"), 5)
    out = str(tmp_path / "runs")
    first = gnomon.score("change", str(rooms), folder, out=out)
    (rooms / "Label" / "003-2.json").write_text("[]")
    second = gnomon.score("change", str(rooms), folder, out=out)
    assert second.runs[0].manifest["data_fingerprint"] != first.runs[0].manifest["data_fingerprint"]
    log = (tmp_path / "runs" / "store" / "progress.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["event"] == "found" for line in log) == 4


def test_systems_in_different_shards_and_in_a_file_are_compared(rooms, tmp_path):
    one = write(tmp_path / "one", predicted(rooms, tmp_path / "one"), 3)
    two = write(tmp_path / "two", predicted(rooms, tmp_path / "two", seed=1), 6)
    write_predictions(tmp_path / "three.json", predicted(rooms, tmp_path / "none", seed=2, points=False))
    given = (one, two, str(tmp_path / "three.json"))
    result = gnomon.score("change", str(rooms), given, out=str(tmp_path / "runs"), export_indoorcd=str(tmp_path / "x"))
    assert [run.system for run in result.runs] == ["one", "two", "three"]
    assert len({run.ground for run in result.runs}) == 1
    assert "macro f1" in str(gnomon.compare(*(run.path for run in result.runs[:2])))
    assert set(json.loads((tmp_path / "x").read_text())["methods"]) == {"one", "two", "three"}


@pytest.mark.slow
def test_memory_is_that_of_one_scene(tmp_path):
    """Eight times the scans in eight times the shards, beside scans that are large against what is kept of them."""
    peaks = []
    for count in (2, 16):
        folder, mine = tmp_path / f"rooms{count}", tmp_path / f"mine{count}"
        rng = np.random.default_rng(0)
        (folder / "Label").mkdir(parents=True)
        mine.mkdir()
        for number in range(count):
            room = f"r{number}"
            (folder / "Data" / room).mkdir(parents=True)
            for scan in (1, 3):
                write_cloud(folder / "Data" / room / f"{room}-{scan}.npz", Cloud(rng.uniform(0, 9, (40_000, 3))))
            (folder / "Label" / f"{room}-3.json").write_text('[{"label": "Add", "min": [0,0,0], "max": [1,1,1]}]')
            write_predictions(mine / f"{room}.json", [Prediction(f"{room}-3", together([], []))])
        gnomon.score("change", str(folder), str(mine), executor="inline")
        tracemalloc.start()
        gnomon.score("change", str(folder), str(mine), executor="inline")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_files_that_are_not_what_they_were_are_refused(rooms, tmp_path):
    """Of the predictions, and of a label that a worker has in a copy of its own."""
    rooms = copied(rooms, tmp_path)
    folder = write(tmp_path / "mine", predicted(rooms, tmp_path / "mine"), 2)
    job = scoring.score(ScoreOptions(truth=str(rooms), predictions=(folder,)))
    node = next(iter(job.plan))
    given = {**node.arguments, **node.context}
    functions = "gnomon.engine.scoring:tally_chunk", "gnomon.suites.change.scoring:tally"
    assert node.code == {function: identity_of(function) for function in functions}
    label = next(path for path in given["paths"] if path.endswith(".json") and "Label" in path)
    for path in (given["paths"][1], label):
        (tmp_path / "out").mkdir(exist_ok=True)
        stamp = os.stat(path)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 10**9))
        with pytest.raises(InputError, match="not what it was when the command began"):
            tally_chunk(given, {}, tmp_path / "out")
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    tally_chunk(given, {}, tmp_path / "out")


def test_a_partial_run_is_of_the_same_data_and_compared_on_what_both_have(rooms, tmp_path):
    folders = {
        name: write(tmp_path / name, predicted(rooms, tmp_path / name, seed=at), 4) for at, name in enumerate("ab")
    }
    (tmp_path / "b" / "part1.json").write_text("{")
    runs = gnomon.score("change", str(rooms), folders, out=str(tmp_path / "runs")).runs
    one, other = (next(run for run in runs if run.system == name) for name in "ab")
    assert one.complete
    assert not other.complete
    assert one.manifest["data_fingerprint"] == other.manifest["data_fingerprint"]
    assert "comparison" in gnomon.compare(one, other, common=True).tables


def test_a_system_of_which_nothing_can_be_scored_takes_no_other_along(rooms, tmp_path):
    folders = {name: write(tmp_path / name, predicted(rooms, tmp_path / name), 2) for name in ("good", "bad")}
    for path in (tmp_path / "bad").glob("part*.json"):
        path.write_text("{")
    found = gnomon.score("change", str(rooms), folders)
    assert {run.system for run in found.runs} == {"good"}
    assert not found.complete
    assert list(found.lost) == ["bad: part0", "bad: part1"]
    with pytest.raises(InputError, match="no scene could be scored; the first: "):
        gnomon.score("change", str(rooms), {"bad": folders["bad"]})


def test_shards_without_scenes_and_files_that_are_no_shards(rooms, tmp_path):
    found = predicted(rooms, tmp_path / "mine")
    folder = write(tmp_path / "mine", found, 3)
    whole = gnomon.score("change", str(rooms), folder)
    (tmp_path / "mine" / "part9.json").write_text(json.dumps({"scenes": []}))
    (tmp_path / "mine" / "notes.txt").touch()
    again = gnomon.score("change", str(rooms), folder)
    assert again.complete
    assert values(again) == values(whole)
    told = [finding.evidence for finding in again.runs[0].findings if finding.id == "files-left-alone"]
    assert told == ["1 file is no shard by the suffix, and not scored: 'notes.txt'"], "classes of points are known"
    for path in (tmp_path / "mine").glob("part*.json"):
        path.write_text(json.dumps({"scenes": []}))
    with pytest.raises(InputError, match="no scene in any shard"):
        gnomon.score("change", str(rooms), folder)


def test_a_label_that_cannot_be_read_leaves_all_systems_on_the_same_data(rooms, tmp_path):
    """One system has shards of the scene, another has no prediction of its room: the other scenes are known of both."""
    rooms = copied(rooms, tmp_path)
    found = predicted(rooms, tmp_path / "none", points=False)
    folders = {}
    for name, kept in (("all", found), ("some", [item for item in found if not item.scene.startswith("003")])):
        (tmp_path / name).mkdir()
        folders[name] = write(tmp_path / name, kept, 3)
    (rooms / "Label" / "003-2.json").write_text("[")
    runs = gnomon.score("change", str(rooms), folders, missing="skip", out=str(tmp_path / "runs")).runs
    assert [list(run.coverage.get("unreadable", ())) for run in runs] == [["003-2"], []]
    assert ["003-2" in run.coverage["scenes"]["missing"] for run in runs] == [True, True]
    assert len({run.manifest["data_fingerprint"] for run in runs}) == 1


def test_where_shards_fail_and_other_cells_have_nothing_to_score_there_is_no_run(rooms, tmp_path):
    rooms = copied(rooms, tmp_path)
    found = predicted(rooms, tmp_path / "none", points=False)
    folders = {name: write_one(tmp_path / name, kept) for name, kept in (("good", found), ("bad", found[:1]))}
    (tmp_path / "bad" / "part.json").write_text("[")
    with pytest.raises(InputError, match=r"no scene could be scored; the first: .*part\.json"):
        gnomon.score("change", str(rooms), {"bad": folders["bad"]}, missing="skip")
    (tmp_path / "good" / "part.json").unlink()
    write(tmp_path / "good", found, 3)
    result = gnomon.score("change", str(rooms), folders, missing="skip")
    assert [run.system for run in result.runs] == ["good"]
    assert list(result.lost) == ["bad: part"]


def write_one(folder, found):
    folder.mkdir()
    write_predictions(folder / "part.json", found)
    return str(folder)
