"""What runs of ``change`` keep of scenes: thinning against brute force, boxes against the tallies, equal bytes."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gnomon
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.scans import BOX_CLASSES, Boxes
from gnomon.intake.clouds import Cloud, write_cloud
from gnomon.runs import exhibits as kept
from gnomon.runs.run import load
from gnomon.suites.change import exhibits, keeping
from gnomon.suites.change.files import read_dataset
from gnomon.suites.change.labels import by_boxes
from gnomon.suites.change.shapes import together

SYSTEMS = ("multi_stage", "distance", "nothing", "everything")


@pytest.fixture(scope="module")
def made(rooms, tmp_path_factory):
    """Runs of four systems over all simulated rooms, which keep nine scenes each."""
    out = tmp_path_factory.mktemp("exhibits")
    result = gnomon.run("change", data_path=str(rooms), systems=SYSTEMS, part="all", out=str(out), exhibits=9)
    return {run.system: run for run in result.runs}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 900), st.integers(2, 300))
def test_wrong_points_are_kept_up_to_half_and_the_rest_is_filled(seed, n, most):
    """Expected sets by brute force over the rows."""
    rng = np.random.default_rng(seed)
    changed = rng.random(n) < rng.random()
    wrong = changed & (rng.random(n) < 0.5)
    order = rng.permutation(n)
    rows = keeping.thinned(order, wrong, changed, most).tolist()
    assert rows == sorted(set(rows))
    assert len(rows) == min(n, most)
    held, half = set(rows), most // 2
    for which in (wrong, changed):
        members = set(np.flatnonzero(which).tolist())
        assert len(held & members) >= min(len(members), half)
    if wrong.sum() > half and (~changed).sum() >= most - half:
        assert held & set(np.flatnonzero(changed).tolist()) <= set(np.flatnonzero(wrong).tolist())
    plain = [row for row in order.tolist() if not changed[row]]
    shown = [row for row in plain if row in held]
    assert shown == plain[: len(shown)]


def test_points_are_spread_over_space_not_over_rows():
    """Nine tenths of the points lie in one corner; a spread choice covers the cubes that are filled, by counting."""
    rng = np.random.default_rng(5)
    points = np.concatenate([rng.uniform(0, 0.5, (27_000, 3)), rng.uniform(0, 4, (3_000, 3))])
    order = keeping.spread(points, np.random.default_rng(1), enough=4_000)
    assert sorted(order.tolist()) == list(range(30_000))
    cubes = np.floor(points * 2).astype(int)
    filled = {tuple(cube) for cube in cubes.tolist()}
    early = {tuple(cube) for cube in cubes[order[:3_200]].tolist()}
    assert len(early) == len(filled)
    random = {tuple(cube) for cube in cubes[np.random.default_rng(2).permutation(30_000)[:3_200]].tolist()}
    assert len(random) < 0.6 * len(filled)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_worst_scenes_are_kept(made, system):
    """Order by hand from the tallies of the run: wrong boxes by F1, then the others by their wrong points."""
    run = made[system]
    listing = kept.listed(run.path)
    assert listing.of == len(run.roster) == 35
    assert len(listing.entries) == 9
    boxes = next(part for name, part in run.tallies.items() if name.startswith("boxes"))
    tp, truth, predicted = (boxes.fields[name].sum(axis=1) for name in ("tp", "truth", "predicted"))
    points = next(part for name, part in run.tallies.items() if "points" in name).fields
    wrong = 1 - points["tp"].sum(axis=1) / points["truth"].sum(axis=1)
    f1 = {c: 2 * tp[i] / (truth[i] + predicted[i]) for i, c in enumerate(run.roster.ids) if truth[i] + predicted[i]}
    key = {c: (-(2 - f1[c]) if f1.get(c, 1) < 1 else -wrong[i], c) for i, c in enumerate(run.roster.ids)}
    assert [entry.case for entry in listing.entries] == sorted(run.roster.ids, key=key.__getitem__)[:9]


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_status_of_boxes_is_that_of_the_tallies(made, system):
    run = made[system]
    boxes = next(part for name, part in run.tallies.items() if name.startswith("boxes"))
    labels = boxes.axes["class"]
    for entry in kept.listed(run.path).entries:
        row = {name: values[run.roster.ids.index(entry.case)] for name, values in boxes.fields.items()}
        found = exhibits.shown([run], entry.case).data["boxes"]
        for label in BOX_CLASSES:
            at = labels.index(label)
            own = [box for box in found if box["class"] == label]
            true = [box["status"] for box in own if box["system"] == ""]
            predicted = [box["status"] for box in own if box["system"] == system]
            assert true.count("matched") == predicted.count("matched") == row["tp"][at]
            assert true.count("missed") == row["truth"][at] - row["tp"][at]
            assert predicted.count("false") == row["predicted"][at] - row["tp"][at]
            matched = [box["iou"] for box in own if box["system"] and box["status"] == "matched"]
            assert sum(matched) == pytest.approx(row["iou"][at])
            assert all(box["cloud"] == ("comparison" if label == "Add" else "reference") for box in own)


def test_points_lie_where_the_scan_has_them_and_say_what_became_of_them(rooms, made):
    """All points of these small scans are kept: outcomes by brute force from truth and stored predictions."""
    run = made["multi_stage"]
    case = kept.listed(run.path).entries[0].case
    scene = next(scene for scene in read_dataset(rooms) if scene.id == case)
    clouds = scene.clouds()
    data = exhibits.shown([run], case).data
    names = [code["name"] for code in data["codes"]]
    wrong = 0
    for cloud, true, own in zip(data["clouds"], scene.point_labels(*clouds), clouds, strict=True):
        assert cloud["points"].dtype == np.float32
        np.testing.assert_allclose(cloud["points"], own.points, atol=keeping.STEP)
        label = "Remove" if cloud["name"] == "reference" else "Add"
        changed = np.isin(cloud["code"], [names.index(f"{word} {label}") for word in ("right", "missed")])
        np.testing.assert_array_equal(changed, true != 0)
        wrong += np.isin(cloud["code"], [names.index(f"{word} {label}") for word in ("missed", "false")]).sum()
    points = next(part for name, part in run.tallies.items() if "points" in name).fields
    row = run.roster.ids.index(case)
    assert wrong == points["truth"][row].sum() - points["tp"][row].sum()
    assert data["facts"]["wrong points"] == wrong


def test_several_systems_share_their_points(made):
    cases = [{entry.case for entry in kept.listed(made[name].path).entries} for name in ("nothing", "everything")]
    case = sorted(cases[0] & cases[1])[0]
    data = exhibits.shown([made["nothing"], made["everything"]], case).data
    assert data["systems"] == ["nothing", "everything"]
    names = [code["name"] for code in data["codes"]]
    for cloud in data["clouds"]:
        label = "Remove" if cloud["name"] == "reference" else "Add"
        true = cloud["code"] == names.index(label)
        np.testing.assert_array_equal(cloud["by_system"]["nothing"] == names.index(f"missed {label}"), true)
        assert (cloud["by_system"]["nothing"][~true] == 0).all()
        np.testing.assert_array_equal(cloud["by_system"]["everything"] == names.index(f"right {label}"), true)
        assert len(cloud["points"]) == len(cloud["code"])
    for box in (box for box in data["boxes"] if box["system"] == ""):
        assert box["by_system"]["nothing"] == {"status": "missed", "iou": None}
        assert box["status"] == "missed"


def test_a_run_that_lacks_the_case_is_left_out_with_a_note(made):
    mine = {entry.case for entry in kept.listed(made["multi_stage"].path).entries}
    other = next(entry.case for entry in kept.listed(made["nothing"].path).entries if entry.case not in mine)
    view = exhibits.shown([made["multi_stage"], made["nothing"]], other)
    assert view.data["systems"] == ["nothing"]
    assert view.notes == (f"multi_stage is left out: its run does not keep {other} (option --exhibits)",)
    with pytest.raises(InputError, match="no exhibit of case '999-9' in 1 run"):
        exhibits.shown([made["nothing"]], "999-9")


def test_equal_inputs_give_equal_bytes(rooms, tmp_path):
    scenes = [{"scene": scene.id, "boxes": []} for scene in read_dataset(rooms)]
    (tmp_path / "p.json").write_text(json.dumps({"scenes": scenes}))
    contents = []
    for name in ("one", "two"):
        result = gnomon.score("change", str(rooms), str(tmp_path / "p.json"), out=str(tmp_path / name))
        contents.append((result.runs[0].path / kept.NAME).read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.parametrize(("out", "count", "files"), [("none", 24, 0), ("runs", 0, 0), ("runs", 2, 1)])
def test_nothing_is_kept_where_nothing_is_asked_for(rooms, tmp_path, out, count, files):
    folder = out if out == "none" else str(tmp_path / out)
    result = gnomon.run("change", data_path=str(rooms), systems=("nothing",), out=folder, exhibits=count)
    run = result.runs[0]
    assert len([name for name in run.files if name == kept.NAME]) == files
    assert len(kept.listed(run.path).entries) == (count if files else 0)


def test_a_large_scan_is_thinned_and_keeps_its_wrong_points(by_hand, tmp_path):
    """A false box holds 5,000 of 20,000 points: by hand, all of them are kept, and 7,000 others."""
    folder = by_hand({"001-3": [("Add", (0, 0, 0), (1, 1, 1))]})
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.uniform(5, 6, (5_000, 3)), rng.uniform(0, 4, (15_000, 3))]) + np.array([4e5, 5e6, 0])
    write_cloud(folder / "Data" / "001" / "001-3.npz", Cloud(points))
    boxes = [{"class": "Add", "min": [4e5 + 5, 5e6 + 5, 5], "max": [4e5 + 6, 5e6 + 6, 6]}]
    (tmp_path / "p.json").write_text(json.dumps({"scenes": [{"scene": "001-3", "boxes": boxes}]}))
    result = gnomon.score("change", str(folder), str(tmp_path / "p.json"), out=str(tmp_path / "runs"))
    data = exhibits.shown([load(result.runs[0].path)], "001-3").data
    cloud = data["clouds"][1]
    assert len(cloud["points"]) == keeping.POINTS
    assert (cloud["code"] == [code["name"] for code in data["codes"]].index("false Add")).sum() == 5_000
    assert (
        (by_boxes(together([np.array([*b["min"], *b["max"]]) for b in boxes], [0]), points[:1], points)[1]).sum() == 5e3
    )
    assert data["facts"]["points"] == "12,050 of 20,050"


def test_corners_are_rings_of_which_the_second_is_above_the_first():
    """A box on its edge, turned by 30 degrees: expected from its own geometry."""
    geometry = np.array([[1.0, 2, 3, 4, 2, 1, np.pi / 6], [0, 0, 0, 1, 1, 5, 0]])
    found = keeping.corners(Boxes(geometry, np.zeros(2, dtype=np.int64), BOX_CLASSES))
    assert found.shape == (2, 8, 3)
    np.testing.assert_allclose(found[:, 4:, :2], found[:, :4, :2], atol=1e-12)
    np.testing.assert_allclose(found[:, 4:, 2] - found[:, :4, 2], np.repeat([[1.0], [5.0]], 4, axis=1))
    np.testing.assert_allclose(found.mean(axis=1), geometry[:, :3], atol=1e-12)
    sides = np.linalg.norm(np.diff(found[0, [0, 1, 2, 3, 0]], axis=0), axis=1)
    np.testing.assert_allclose(sorted(sides), [2, 2, 4, 4])


def test_a_damaged_exhibit_is_refused(made, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(made["nothing"].path, folder)
    item = kept.read(folder, kept.listed(folder).entries[0].case)
    arrays = {name: array for name, array in item.arrays.items() if name != "comparison_rows"}
    (folder / kept.NAME).write_bytes(kept.pack([kept.Exhibit(item.case, item.data, arrays)], of=1))
    with pytest.raises(GnomonError, match=r"exhibit of case .* is damaged"):
        exhibits.shown([load(folder)], item.case)
