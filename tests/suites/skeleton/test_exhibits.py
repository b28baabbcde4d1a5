"""What runs of ``skeleton`` keep of their worst samples: the same poses and errors that were scored."""

import shutil

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

import gnomon
from gnomon.core.errors import GnomonError, InputError
from gnomon.intake.tables import read_table
from gnomon.runs import exhibits as kept
from gnomon.runs.run import load
from gnomon.simulation.body import SMPL
from gnomon.suites.skeleton import exhibits, files
from gnomon.suites.skeleton.options import SimulateOptions
from gnomon.suites.skeleton.simulate import simulate
from gnomon.suites.skeleton.views import tables


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("skeleton")
    simulate(SimulateOptions(directory=str(folder), subjects=3, frames=40))
    return folder


@pytest.fixture(scope="module")
def made(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    given = [f"{name}={data / name}.npz" for name in ("strong", "weak")]
    result = gnomon.run("skeleton", pred_file=given, out=str(out), variant="both", exhibits=4)
    return {(run.system.split(" ")[0], run.manifest["protocol"]["variant"]): load(run.path) for run in result.runs}


def scored(run):
    """The table of a run: mean error in metres by sequence and frame."""
    table = read_table(run.path / "predictions.parquet")
    rows = zip(*(table.column(name).to_pylist() for name in ("sequence", "frame", "mpjpe")), strict=True)
    found = {}
    for sequence, frame, error in rows:
        found.setdefault(sequence, {})[frame] = error
    return found


def long_file(path, lengths, seed=0):
    """A file of 5 joints in sequences of the given lengths; cameras are the identity, so that errors are plain."""
    rng = np.random.default_rng(seed)
    ids = [f"p{1 + k}_a1_{frame}" for k, length in enumerate(lengths) for frame in range(length)]
    truth = rng.normal(size=(len(ids), 5, 3))
    error = rng.random(len(ids)) * 0.1
    prediction = truth + error[:, None, None] * [0, 0, 1]
    cameras = np.tile([0, 0, 0, 0, 0, 0, 1, 1, 1], (len(ids), 1, 1)).astype(np.float32)
    files.write(
        path,
        {
            "sample_ids": np.array(ids),
            "pred_keypoints": prediction,
            "gt_keypoints": truth,
            "pred_cameras_stream": cameras,
            "gt_cameras_stream": cameras,
            "camera_stream_modalities": np.array(["lidar"]),
            "camera_stream_sensor_indices": np.array([0]),
        },
    )
    return error


@pytest.mark.parametrize("variant", ["published", "strict"])
@pytest.mark.parametrize("system", ["strong", "weak"])
def test_kept_errors_are_the_scored_ones(made, system, variant):
    """Every sample of a clip against the run's own table; errors by joint average to it; poses give the errors."""
    run = made[system, variant]
    truth = scored(run)
    entries = kept.listed(run.path).entries
    assert len(entries) == 4
    for entry in entries:
        data = exhibits.shown([run], entry.case).data
        own = truth[entry.case]
        found = data["predictions"][0]
        assert data["frames"].tolist() == sorted(own)
        expected = np.array([np.nan if own[f] is None else 1000 * own[f] for f in data["frames"].tolist()])
        np.testing.assert_allclose(found["error"], expected, rtol=1e-5)
        np.testing.assert_allclose(np.nanmean(found["error"]), np.nanmean(expected), rtol=1e-5)
        np.testing.assert_array_equal(found["valid"], ~np.isnan(expected))
        apart = 1000 * np.linalg.norm(found["joints"].astype(float) - data["truth"], axis=2)
        np.testing.assert_allclose(apart, found["joint_error"], atol=0.02)
        assert data["worst"] == int(np.nanargmax(expected))


@pytest.mark.parametrize("system", ["strong", "weak"])
def test_the_worst_sequences_are_kept_worst_first(made, system):
    run = made[system, "strict"]
    worst = {
        name: max(e for e in own.values() if e is not None) for name, own in scored(run).items() if any(own.values())
    }
    expected = sorted(worst, key=lambda name: -worst[name])[:4]
    listing = kept.listed(run.path)
    assert [entry.case for entry in listing.entries] == expected
    assert listing.of == len(worst)


def test_long_sequences_are_cut_into_clips_about_their_worst_samples(tmp_path):
    """Expected clips by brute force: each worst sample, unless it lies in a clip that was taken before."""
    error = long_file(tmp_path / "long.npz", [1000, 200])
    result = gnomon.run("skeleton", pred_file=str(tmp_path / "long.npz"), out=str(tmp_path / "runs"), exhibits=50)
    entries = kept.listed(result.runs[0].path).entries
    taken = {}
    for index in np.argsort(-error):
        sequence, inside = ("p1_a1", index) if index < 1000 else ("p2_a1", index - 1000)
        clips = taken.setdefault(sequence, {})
        if any(start <= inside < end for start, end in clips):
            continue
        starts = range(0, 701 + 150, 150) if sequence == "p1_a1" else (0,)
        middles = {start: abs(inside + 0.5 - (start + 150)) for start in starts}
        start = min(middles, key=lambda s: (middles[s], s))
        clips[start, min(start + 300, 1000 if sequence == "p1_a1" else 200)] = error[index]
    expected = {
        (f"{name} samples {a + 1}-{b}" if name == "p1_a1" else name): bad
        for name, clips in taken.items()
        for (a, b), bad in clips.items()
    }
    assert {entry.case: pytest.approx(entry.badness, rel=1e-9) for entry in entries} == expected
    view = exhibits.shown(result.runs, "p1_a1")
    assert view.data["case"] == next(entry.case for entry in entries if entry.case.startswith("p1_a1"))
    assert len(view.data["frames"]) in (250, 300)


def test_at_most_so_many_samples_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(exhibits, "SAMPLES", 130)
    error = long_file(tmp_path / "many.npz", [50] * 6)
    result = gnomon.run("skeleton", pred_file=str(tmp_path / "many.npz"), out=str(tmp_path / "runs"), exhibits=50)
    worst = error.reshape(6, 50).max(axis=1)
    expected = [f"p{1 + k}_a1" for k in np.argsort(-worst)[:2]]
    assert [entry.case for entry in kept.listed(result.runs[0].path).entries] == expected


def test_what_is_kept_does_not_depend_on_blocks(tmp_path, monkeypatch):
    from gnomon.suites.skeleton import projection

    long_file(tmp_path / "many.npz", [40, 700, 333, 40, 320])
    whole = gnomon.run("skeleton", pred_file=str(tmp_path / "many.npz"), out=str(tmp_path / "a"), exhibits=3)
    monkeypatch.setattr(projection, "BLOCK", 1)
    parts = gnomon.run("skeleton", pred_file=str(tmp_path / "many.npz"), out=str(tmp_path / "b"), exhibits=3)
    contents = [(result.runs[0].path / kept.NAME).read_bytes() for result in (whole, parts)]
    assert contents[0] == contents[1]


def test_systems_stand_side_by_side_and_other_frames_are_left_out(made):
    sets = [{entry.case for entry in kept.listed(made[name, "strict"].path).entries} for name in ("strong", "weak")]
    case = sorted(sets[0] & sets[1])[0]
    both = exhibits.shown([made["strong", "strict"], made["weak", "strict"]], case).data
    assert [item["system"] for item in both["predictions"]] == ["strong", "weak"]
    lone = exhibits.shown([made["weak", "strict"]], case).data
    np.testing.assert_array_equal(both["predictions"][1]["error"], lone["predictions"][0]["error"])
    shared = sets[0] & {entry.case for entry in kept.listed(made["weak", "published"].path).entries}
    if shared:
        view = exhibits.shown([made["strong", "strict"], made["weak", "published"]], sorted(shared)[0])
        assert [item["system"] for item in view.data["predictions"]] == ["strong"]
        assert any("another frame" in note for note in view.notes)
    with pytest.raises(InputError, match="no exhibit of case 'nobody' in 1 run"):
        exhibits.shown([made["strong", "strict"]], "nobody")


def test_joints_of_smpl_are_known_by_their_distances(made):
    data = exhibits.shown([made["strong", "strict"]], kept.listed(made["strong", "strict"].path).entries[0].case).data
    assert data["joints"][4] == "4 left_knee"
    assert [4, 1] in data["bones"]
    assert len(data["bones"]) == 23
    assert np.linalg.norm(data["up"]) == pytest.approx(1)
    head, feet = SMPL.names.index("head"), [SMPL.names.index("left_foot"), SMPL.names.index("right_foot")]
    body = np.nanmean(data["truth"], axis=0)
    assert (body[head] - body[feet].mean(axis=0)) @ data["up"] > 1


def test_other_joints_are_joined_by_the_shortest_tree(tmp_path):
    """The tree against that of scipy; 24 joints in an order that is not SMPL's are not taken for it."""
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 24):
        truth = rng.normal(size=(size, 3)) + 0.01 * rng.normal(size=(6, size, 3))
        shape = exhibits._shape([truth], [f"j{i}" for i in range(size)], ())
        apart = np.linalg.norm(truth[:, :, None] - truth[:, None], axis=3).mean(axis=0)
        tree = minimum_spanning_tree(apart)
        assert sum(apart[a, b] for a, b in shape["bones"]) == pytest.approx(tree.sum())
        assert len(shape["bones"]) == size - 1
        assert shape["joints"] == [f"j{i}" for i in range(size)]
        assert shape["up"] is None
    given = exhibits._shape([rng.normal(size=(3, 4, 3))], list("abcd"), [(0, 3)])
    assert given["bones"] == [[0, 3]]


@pytest.mark.parametrize(("out", "count"), [("none", 24), ("runs", 0)])
def test_nothing_is_kept_where_nothing_is_asked_for(data, tmp_path, out, count):
    folder = out if out == "none" else str(tmp_path / out)
    result = gnomon.run("skeleton", pred_file=str(data / "strong.npz"), out=folder, exhibits=count)
    assert kept.NAME not in result.runs[0].files
    assert kept.listed(result.runs[0].path).entries == ()


def test_a_damaged_exhibit_is_refused(made, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(made["weak", "strict"].path, folder)
    item = kept.read(folder, kept.listed(folder).entries[0].case)
    arrays = {**item.arrays, "prediction": item.arrays["prediction"][:-1]}
    (folder / kept.NAME).write_bytes(kept.pack([kept.Exhibit(item.case, item.data, arrays)], of=1))
    with pytest.raises(GnomonError, match=r"exhibit of .* is damaged"):
        exhibits.shown([load(folder)], item.case)


def test_the_heat_of_joints_is_the_table_of_joints(made):
    runs = [made["strong", "strict"], made["weak", "strict"]]
    shown = {item.name: item for item in tables(runs)}
    heat, table = shown["joint_heat"].data, shown["joints"]
    assert heat["unit"] == "mm"
    assert heat["low_is_good"] is True
    for place, name in enumerate(heat["rows"]):
        cells = [row[f"system:{name}"].value for row in table.rows]
        assert heat["values"][place] == pytest.approx(cells)
    assert heat["columns"] == [row["joint"].value for row in table.rows]


def test_where_no_clip_is_kept_there_is_no_file(tmp_path):
    assert exhibits.pack_clips([], 0, [], []) == {}
    assert exhibits.merge_clips([(tmp_path, {})], 3) == {}
