"""Simulated rooms have the promised properties. Expected values are stated here by hand or found by other means:
distances by scipy's tree, surfaces by points drawn on them."""

import dataclasses
import hashlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from gnomon.core.errors import InputError
from gnomon.core.options import build
from gnomon.core.scans import BOX_CLASSES
from gnomon.intake.clouds import read_cloud
from gnomon.simulation.rays import cuboid
from gnomon.suites.change.files import read_dataset
from gnomon.suites.change.options import SimulateOptions, TemplateOptions
from gnomon.suites.change.predictions import read_predictions
from gnomon.suites.change.simulate import simulate
from gnomon.suites.change.simulation import furniture, rooms, scanning
from gnomon.suites.change.simulation.parts import Thing
from gnomon.suites.change.template import template

POINTS = 6000
SLACK = 0.06
"""Metres by which a point may be outside the box of its thing: misalignment below 5 cm, and noise."""


def options(folder, **changes):
    usual = {"rooms": 3, "seed": 5, "points": POINTS, "encoding": "binary"}
    return build(SimulateOptions, {"directory": str(folder), **usual, **changes})


def digests(folder):
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "simulated.json"]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rooms")
    paths = simulate(options(folder))
    return folder, paths, read_dataset(folder)


def test_files_are_those_of_the_layout(made):
    folder, paths, data = made
    assert [path.name for path in paths] == ["001", "002", "003"]
    assert all(path.is_dir() for path in paths)
    assert data.notes == ()
    assert [scene.id for scene in data] == [f"00{room}-{number}" for room in (1, 2, 3) for number in range(2, 7)]
    assert len(digests(folder)) == 3 * (6 + 5 + 5)
    assert all(scene.points is not None for scene in data)
    assert json.loads((folder / "simulated.json").read_text()) == {
        "by": "gnomon simulate change",
        "rooms": 3,
        "seed": 5,
        "points": POINTS,
    }


def test_both_forms_of_labels_occur(made):
    folder, _, _ = made
    assert b'"vertices"' in (folder / "Label/001-3.json").read_bytes()
    assert b'"min"' in (folder / "Label/002-3.json").read_bytes()


def test_scans_have_about_the_points_that_were_asked_for(made):
    for scene in made[2]:
        for cloud in scene.clouds():
            assert 0.87 * POINTS <= len(cloud) <= 1.12 * POINTS
            assert cloud.points.dtype == np.float32


def test_categories_hold_what_they_say(made):
    for scene in made[2]:
        names = [BOX_CLASSES[code] for code in scene.boxes.codes]
        added, removed = names.count("Add"), names.count("Remove")
        if scene.category == "Move":
            assert added == removed >= 1
            sides = scene.boxes.geometry[:, 5] - scene.boxes.geometry[:, 2]
            assert sorted(sides[:added].round(5)) == sorted(sides[added:].round(5))  # turned, but of the same height
        else:
            assert (added > 0) == (scene.category in ("Add", "Composite"))
            assert (removed > 0) == (scene.category in ("Remove", "Composite"))


def test_classes_of_points_fit_the_boxes(made):
    """Changed points lie in a box of their class, and every box has some."""
    for scene in made[2]:
        for cloud, codes, code, name in zip(
            scene.clouds(), scene.point_labels(*scene.clouds()), (2, 1), ("Remove", "Add"), strict=True
        ):
            assert set(np.unique(codes)) <= {0, code}
            changed = cloud.points[codes == code]
            boxes = scene.boxes.geometry[scene.boxes.codes == BOX_CLASSES.index(name)]
            assert (len(boxes) > 0) == (len(changed) > 0)
            inside = np.array(
                [((changed >= b[:3] - SLACK) & (changed <= b[3:] + SLACK)).all(axis=1) for b in boxes], dtype=bool
            ).reshape(len(boxes), len(changed))
            assert inside.any(axis=0).all()
            assert inside.any(axis=1).all()


def test_every_scan_is_taken_anew(made):
    for scene in made[2]:
        reference, comparison = scene.clouds()
        nearest = cKDTree(reference.points).query(comparison.points)[0]
        assert (nearest > 1e-4).mean() > 0.99
        if scene.category == "Unchanged":
            assert np.median(nearest) < 0.1


def test_rooms_depend_on_seed_and_number_alone(made, tmp_path):
    whole = digests(made[0])
    simulate(options(tmp_path / "two", rooms=2))
    assert digests(tmp_path / "two") == {name: value for name, value in whole.items() if "003" not in name}
    simulate(options(tmp_path / "other", rooms=1, seed=6))
    other = digests(tmp_path / "other")
    assert all(value != whole[name] for name, value in other.items() if name.startswith("Data"))


@pytest.mark.parametrize(("suffix", "encoding"), [("ply", "binary"), ("npz", "binary_compressed"), ("pcd", "ascii")])
def test_other_formats_hold_the_same(made, tmp_path, suffix, encoding):
    simulate(options(tmp_path, rooms=1, format=suffix, encoding=encoding))
    for number in range(1, 7):
        expected = read_cloud(made[0] / f"Data/001/001-{number}.pcd").points
        assert np.array_equal(read_cloud(tmp_path / f"Data/001/001-{number}.{suffix}").points, expected)


def test_a_folder_with_other_rooms_is_refused(made, tmp_path):
    simulate(options(tmp_path, rooms=2, points=2000))
    before = digests(tmp_path)
    for changes in ({"rooms": 1}, {"format": "ply"}):
        with pytest.raises(InputError, match="which would not be replaced; choose an empty folder"):
            simulate(options(tmp_path, **({"rooms": 2, "points": 2000} | changes)))
    assert digests(tmp_path) == before
    simulate(options(tmp_path, rooms=2, points=2000))
    assert digests(tmp_path) == before


def test_progress_goes_to_stderr_for_long_work_only(tmp_path, capsys, monkeypatch):
    simulate(options(tmp_path / "a", rooms=2, points=2000))
    monkeypatch.setattr("gnomon.engine.progress.QUIET", 0.0)
    simulate(options(tmp_path / "b", rooms=2, points=2000))
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.partition(",")[0] for line in err.splitlines() if "1 of 2" in line][-1:] == ["1 of 2 rooms (001)"]
    assert "2 of 2" not in err


def plates(*placed):
    """A room of nothing but upright plates of 30 cm, 1 cm thick, at a distance and turned."""
    made = [Thing("plate", np.array([cuboid((x, y, 1.4), (0.01, 0.3, 0.3), yaw)])) for x, y, yaw in placed]
    room = rooms.build(np.random.default_rng(0))
    return dataclasses.replace(room, structure=(), things=dict(enumerate(made)))


def test_density_falls_with_distance_and_slant_and_noise_grows():
    """The solid angle of a plate falls with the square of the distance and with the cosine of its slant."""
    room = plates((1.0, 0.0, 0.0), (-3.0, 0.0, 0.0), (0.0, 2.0, np.pi / 2), (0.0, -2.0, np.pi / 2 + np.pi / 3))
    points, owners = scanning.look(room, room.things, np.array([0, 0, 1.4]), 400_000, np.random.default_rng(1))
    near, far, straight, slanted = (int((owners == number).sum()) for number in range(4))
    assert near / far == pytest.approx(9, rel=0.2)
    assert straight / slanted == pytest.approx(2, rel=0.2)
    assert np.std(points[owners == 0][:, 0]) == pytest.approx(0.003, rel=0.25)
    assert np.std(points[owners == 1][:, 0]) == pytest.approx(0.005, rel=0.25)


def test_what_no_station_sees_is_missing():
    """A plate at 1 m hides the middle of one three times as far away that is twice as large."""
    small = Thing("small", np.array([cuboid((1, 0, 1.4), (0.01, 0.3, 0.3))]))
    large = Thing("large", np.array([cuboid((3, 0, 1.4), (0.01, 1.8, 1.8))]))
    room = dataclasses.replace(plates(), things={0: small, 1: large})
    points, owners = scanning.look(room, room.things, np.array([0, 0, 1.4]), 300_000, np.random.default_rng(1))
    behind = points[owners == 1] - [0, 0, 1.4]
    assert len(behind) > 100
    assert (np.abs(behind[:, 1:]).max(axis=1) > 0.44).all()  # the shadow reaches to 3 x 0.15 m
    seen, _ = scanning.look(room, {1: large}, np.array([0, 0, 1.4]), 300_000, np.random.default_rng(1))
    assert (np.abs(seen - [3, 0, 1.4])[:, 1:].max(axis=1) < 0.44).sum() > 20


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 600), spacing=st.floats(0.02, 0.5))
def test_thinning_keeps_a_least_distance_and_covers(seed, count, spacing):
    cloud = np.random.default_rng(seed).uniform(-1, 1, (count, 3)) * [1, 1, 0.1]
    kept = scanning.thinned(cloud, spacing)
    tree = cKDTree(cloud[kept])
    assert not tree.query_pairs(spacing * (1 - 1e-12))
    assert (tree.query(cloud)[0] <= spacing * (1 + 1e-12)).all()
    assert kept[0]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_misalignment_is_a_rigid_motion_of_less_than_5_cm(seed):
    rng = np.random.default_rng(seed)
    room = rooms.build(rng)
    turn, move = scanning.misalignment(room, rng)
    assert turn @ turn.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1)
    places = rng.uniform([-0.5, -0.5, 0], [0.5, 0.5, 1], (200, 3)) * room.size
    off = np.linalg.norm(places @ turn.T + move - places, axis=1)
    assert 0 < off.max() < 0.05


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_furniture_stands_in_the_room_and_apart(seed):
    room = rooms.build(np.random.default_rng(seed))
    width, depth, height = room.size
    assert len(room.movable) >= 4
    floor = [thing for thing in room.things.values() if thing.support < 0]
    for thing in room.things.values():
        assert (np.abs(thing.box[[0, 3]]) <= width / 2).all()
        assert (np.abs(thing.box[[1, 4]]) <= depth / 2).all()
        assert thing.box[2] >= -1e-9
        assert thing.box[5] < height
        if thing.support >= 0:
            below = room.things[thing.support].box
            assert thing.box[2] <= below[5] + 1e-9
    for index, a in enumerate(floor):
        for b in floor[:index]:
            apart = np.maximum(a.box[:2] - b.box[3:5], b.box[:2] - a.box[3:5])
            assert apart.max() > 0


@pytest.mark.parametrize("maker", [*furniture.LARGE, *furniture.FLOOR, *furniture.TOP])
def test_furniture_has_the_size_of_furniture(maker):
    for seed in range(20):
        box = maker(np.random.default_rng(seed)).box
        assert box[2] == pytest.approx(0, abs=0.04)
        assert (box[3:] - box[:3]).min() > 0.07
        assert (box[3:] - box[:3]).max() < 2.2


def test_template_is_a_dataset_with_predictions(tmp_path):
    paths = template(TemplateOptions(directory=str(tmp_path)))
    assert [path.name for path in paths] == ["dataset", "predictions.json", "predictions.csv"]
    data = read_dataset(paths[0])
    predicted, table = (read_predictions(path) for path in paths[1:])
    assert list(predicted) == list(table) == [scene.id for scene in data]
    assert len(data) == 10
    for scene in data:
        boxes = predicted[scene.id].boxes
        assert np.array_equal(boxes.geometry, table[scene.id].boxes.geometry)
        if scene.category in ("Remove", "Add", "Move"):
            assert boxes.geometry == pytest.approx(scene.boxes.geometry + 0.02, abs=1e-6)
        clouds = scene.clouds()
        assert [len(side) for side in predicted[scene.id].point_labels(*clouds)] == [len(cloud) for cloud in clouds]
    assert len(predicted["001-6"].boxes) == 0
    assert len(predicted["002-6"].boxes) == 1
    assert (paths[0] / "Data/001/001-1.pcd").read_bytes().count(b"\n") < 4000
