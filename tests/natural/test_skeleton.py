"""Natural calls on poses: each gives what the long way round gives, to the last bit, or one line that names the fix.

The long way round is a prediction file (``.npz``) with both sides in metres under their published names.
"""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon
from gnomon.cli.main import main
from gnomon.core.errors import GnomonError
from gnomon.measures.pose_joints import SETS

N, H36M = 24, SETS["h36m17"]
IDS = [f"S{subject}_{action}_1" for subject in (9, 11) for action in ("Walking", "Eating") for _ in range(6)]


class Tensor:
    """What a framework gives that has no ``__array__`` but gradients, a device and DLPack."""

    def __init__(self, values):
        self.values, self.shape = values, values.shape

    def detach(self):
        return self

    def cpu(self):
        return self

    def __dlpack__(self, **asked):
        return self.values.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class Wrapped:
    """An object that becomes an array when it is asked to."""

    def __init__(self, values):
        self.values, self.shape = values, values.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


@pytest.fixture(scope="module")
def poses():
    """A body that walks: 17 joints of Human3.6M, about 1.7 m tall, and a prediction that is some cm off."""
    rng = np.random.default_rng(31)
    right, left = -0.1, 0.1
    legs = [[side, height, 0] for side in (right, left) for height in (0.9, 0.5, 0.1)]
    middle = [[0, 1.15, 0], [0, 1.4, 0], [0, 1.5, 0.05], [0, 1.7, 0]]
    arms = [[2 * side, height, 0.1] for side in (left, right) for height in (1.4, 1.15, 0.9)]
    rest = np.array([[0, 0.9, 0], *legs, *middle, *arms])
    truth = rest + np.cumsum(rng.normal(0, 0.02, (N, 1, 3)), axis=0) + rng.normal(0, 0.01, (N, 17, 3))
    return truth, truth + rng.normal(0, 0.03, truth.shape)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, poses):
    """All the files that people keep such poses in."""
    path = tmp_path_factory.mktemp("poses")
    truth, predicted = poses
    for name, side in (("truth", truth), ("pred", predicted)):
        np.save(path / f"{name}.npy", side)
        np.savez(path / f"{name}.npz", joints=side, sample_ids=IDS)
        np.savez(path / f"{name}_two.npz", joints_3d=side, joints_cam=side + 1)
        (path / f"{name}.json").write_text(json.dumps(side.tolist()))
        (path / f"{name}_rows.json").write_text(
            json.dumps([{"id": i, "keypoints_3d": row} for i, row in zip(IDS, side.tolist(), strict=True)])
        )
        columns = {
            f"{joint}_{axis}": side[:, j, k] for j, joint in enumerate(H36M.names) for k, axis in enumerate("xyz")
        }
        pq.write_table(pa.table({"sample_id": IDS, **columns}), path / f"{name}.parquet")
        pd.DataFrame(columns).to_csv(path / f"{name}.csv", index=False)
        np.save(path / f"{name}_turned.npy", side.swapaxes(1, 2))
        np.save(path / f"{name}_flat.npy", side.reshape(N, 51))
        (path / name).mkdir()
        for label in dict.fromkeys(IDS):
            np.save(path / name / f"{label}.npy", side[[i == label for i in IDS]])
        np.savez(path / f"{name}_by_take.npz", **{i: side[[j == i for j in IDS]] for i in dict.fromkeys(IDS)})
        with (path / f"{name}.npy").open("rb") as file:
            (path / f"{name}_named_npz.npz").write_bytes(file.read())
    np.save(path / "short.npy", predicted[:-1])
    np.savez(path / "both.npz", gt_keypoints=truth, pred_keypoints=predicted)
    pd.DataFrame({"clip": IDS}).to_csv(path / "ids.csv", index=False)
    pd.DataFrame({"sequence": sorted(set(IDS)), "room": ["a", "a", "b", "b"]}).to_csv(path / "rooms.csv", index=False)
    (path / "joints.txt").write_text("\n".join(H36M.names))
    return path


def long_way(path, truth, predicted, *, ids=None, **options):
    """Write a prediction file in metres, and score it."""
    fields = {"gt_keypoints": truth, "pred_keypoints": predicted} | ({} if ids is None else {"sample_ids": ids})
    np.savez(path / "long.npz", **fields)
    return gnomon.score("skeleton", pred_file=str(path / "long.npz"), **options).scores["long"]


def score(truth, predictions, **options):
    return gnomon.score("skeleton", truth, predictions, **options).scores


WHOLE = {
    "arrays": lambda t, p, f: score(t, p),
    "lists": lambda t, p, f: score(t.tolist(), p.tolist()),
    "objects with __array__": lambda t, p, f: score(Wrapped(t), Wrapped(p)),
    "tensors by DLPack": lambda t, p, f: score(Tensor(t), Tensor(p)),
    "a mapping of one system": lambda t, p, f: score(t, {"predictions": p}),
    "npy": lambda t, p, f: score(f / "truth.npy", str(f / "pred.npy")),
    "npz with a key": lambda t, p, f: score(f / "truth_two.npz", f"{f / 'pred_two.npz'}", key="joints_3d"),
    "json": lambda t, p, f: score(f / "truth.json", str(f / "pred.json")),
    "csv with a column per coordinate": lambda t, p, f: score(f / "truth.csv", str(f / "pred.csv")),
    "an array and a file": lambda t, p, f: score(t, str(f / "pred.npy")),
    "published spelling of the unit": lambda t, p, f: score(t, p, unit="m"),
    "a frame": lambda t, p, f: score(
        pd.read_parquet(f / "truth.parquet").drop(columns="sample_id"), str(f / "pred.csv")
    ),
}


@pytest.mark.parametrize("call", WHOLE)
def test_joints_without_ids_are_one_sequence(call, poses, folder, tmp_path):
    (found,) = WHOLE[call](*poses, folder).values()
    plain = {name: value for name, value in found.items() if "[" not in name}
    expected = long_way(tmp_path, *poses)
    assert plain == {name: expected[name] for name in plain}
    assert len(plain) == 16


NAMED = {
    "npz with ids": lambda t, p, f: score(f / "truth.npz", str(f / "pred.npz"), id_preset="h36m"),
    "rows of json": lambda t, p, f: score(f / "truth_rows.json", str(f / "pred_rows.json"), id_preset="h36m"),
    "parquet with ids": lambda t, p, f: score(f / "truth.parquet", str(f / "pred.parquet"), id_preset="h36m"),
    "ids in memory": lambda t, p, f: score(t, p, ids=IDS, id_preset="h36m"),
    "ids as an array": lambda t, p, f: score(t, p, ids=np.array(IDS), id_preset="h36m"),
    "ids from a table": lambda t, p, f: score(t, p, ids=str(f / "ids.csv"), id="clip", id_preset="h36m"),
    "folders, a file per sequence": lambda t, p, f: score(f / "truth", f"predictions={f / 'pred'}", id_preset="h36m"),
    "patterns": lambda t, p, f: score(f"{f / 'truth'}/*.npy", f"p={f / 'pred'}/*.npy", id_preset="h36m"),
    "an array per sequence": lambda t, p, f: score(
        f / "truth_by_take.npz", str(f / "pred_by_take.npz"), key="*", id_preset="h36m"
    ),
    "a mapping by sequence": lambda t, p, f: score(
        dict(np.load(f / "truth_by_take.npz")), dict(np.load(f / "pred_by_take.npz")), id_preset="h36m"
    ),
    "a mapping with ids": lambda t, p, f: score(
        {"joints": t, "sample_ids": IDS}, {"joints": p, "sample_ids": IDS}, id_preset="h36m"
    ),
    "millimetres": lambda t, p, f: score(*halves(t, p), ids=IDS, id_preset="h36m", units="mm"),
    "groups by name": lambda t, p, f: score(t, p, ids=IDS, id_preset="h36m", group="subject"),
    "groups as an array": lambda t, p, f: score(t, p, ids=IDS, id_preset="h36m", group=[i.split("_")[0] for i in IDS]),
}


def halves(*sides):
    """The sides in millimetres, so that a thousandth of them is what they were, to the last bit."""
    found = [np.round(side * 1000 * 8) / 8 for side in sides]
    return [np.where(one * 0.001 == side, one, side / 0.001) for one, side in zip(found, sides, strict=True)]


@pytest.mark.parametrize("call", NAMED)
def test_joints_with_ids_are_sequences_of_subjects(call, poses, folder, tmp_path):
    truth, predicted = poses
    if call == "millimetres":
        truth, predicted = (side * 0.001 for side in halves(truth, predicted))
    (found,) = NAMED[call](*poses, folder).values()
    plain = {name: value for name, value in found.items() if "[" not in name}
    frames = [f"{name}_{row:06d}" for row, name in enumerate(IDS)]
    expected = long_way(tmp_path, truth, predicted, ids=frames, id_preset="h36m")
    assert plain == {name: expected[name] for name in plain}


def test_two_systems_by_name_and_what_the_run_records(poses):
    truth, predicted = poses
    result = gnomon.score("skeleton", truth, {"A": predicted, "B": truth + 0.1}, joints="h36m17", root="thorax")
    assert list(result.scores) == ["A", "B"]
    run = result.runs[0]
    assert run.manifest["options"]["resolved"]["aligned_by"] == "row order"
    assert run.manifest["options"]["resolved"]["projection_mode"].startswith("none: the input has no cameras")
    assert run.manifest["protocol"]["variant"] == "strict"
    assert "cameras" not in result.tables
    assert result.scores["A"]["mpjpe[left_knee]"] > 0
    assert "not projected" in str(result).splitlines()[0]
    assert result.scores["B"]["pelvis_mpjpe[thorax]"] == 0.0


def test_a_mask_hides_joints_and_samples(poses, tmp_path):
    """Hidden joints may hold anything; the rest is what a kernel with the mask gives."""
    truth, predicted = poses
    seen = np.random.default_rng(5).random((N, 17)) > 0.3
    seen[3], seen[:, 0] = False, True
    seen[3] = False
    spoilt = np.where(seen[:, :, None], predicted, np.nan)
    found = score(truth, spoilt, mask=seen)["predictions"]
    kept = np.delete(np.arange(N), 3)
    expected = gnomon_pose(truth[kept], predicted[kept], seen[kept])
    for name in ("mpjpe", "pa_mpjpe", "pelvis_mpjpe", "n_mpjpe", "rigid_mpjpe", "root_error"):
        assert found[name] == pytest.approx(expected[name], rel=1e-12), name
    np.savez(tmp_path / "t.npz", joints=truth, valid=seen)
    assert score(tmp_path / "t.npz", spoilt)["predictions"] == found
    np.savez(tmp_path / "m.npz", joints=truth, seen=seen)
    assert score(tmp_path / "m.npz", spoilt, mask="seen")["predictions"] == found
    hidden = np.broadcast_to(~seen[:, :, None], truth.shape)
    assert score(np.ma.array(truth, mask=hidden), spoilt)["predictions"] == found


def gnomon_pose(truth, predicted, seen):
    from gnomon.measures.pose import evaluate

    return evaluate(truth, predicted, mask=seen)


def test_people_are_sequences_of_their_own(poses):
    truth, predicted = (np.stack([side[:12], side[12:]], axis=1) for side in poses)
    result = gnomon.score("skeleton", truth, predicted)
    assert truth.shape == (12, 2, 17, 3)
    assert list(result.runs[0].roster.ids) == ["person 1", "person 2"]
    alone = gnomon.score("skeleton", truth[:, 1], predicted[:, 1]).scores["predictions"]["mpjpe"]
    rows = {row["sequence"].value: row["mpjpe"].value for row in result.tables["sequences"].rows}
    assert rows["person 2"] == pytest.approx(1000 * alone)


def test_other_orders_of_joints_give_the_same(poses):
    truth, predicted = poses
    mpi = SETS["mpi3dhp17"]
    limbs = [name for name in H36M.names if name in mpi.index and name not in ("spine", "head")]
    there = np.zeros((N, 17, 3))
    there[:, [mpi.index[name] for name in limbs]] = predicted[:, [H36M.index[name] for name in limbs]]
    found = score(truth, there, joints="h36m17", pred_joints="mpi3dhp17", match_joints="exact")["predictions"]
    own = [H36M.index[name] for name in limbs]
    expected = score(truth[:, own], predicted[:, own])["predictions"]
    assert found["mpjpe"] == expected["mpjpe"]
    assert found["pelvis_mpjpe"] == expected["pelvis_mpjpe"]


def test_groups_from_a_table(poses, folder):
    result = gnomon.score("skeleton", *poses, ids=IDS, id_preset="h36m", group=str(folder / "rooms.csv"))
    assert (result.runs[0].roster.level, sorted(set(result.runs[0].roster.groups))) == ("group", ["a", "b"])


def test_bvh(tmp_path):
    lines = ["HIERARCHY", "ROOT Hips", "{", "OFFSET 0 0 0", "CHANNELS 6 Xposition Yposition Zposition Zrotation"]
    lines[-1] += " Xrotation Yrotation"
    lines += ["JOINT Spine", "{", "OFFSET 0 50 0", "CHANNELS 3 Zrotation Xrotation Yrotation", "JOINT Head", "{"]
    lines += ["OFFSET 0 40 0", "CHANNELS 3 Zrotation Xrotation Yrotation", "End Site", "{", "OFFSET 0 10 0", "}"]
    lines += ["}", "}", "}", "MOTION", "Frames: 2", "Frame Time: 0.04"]
    frames = ["1 90 3 0 0 0 0 0 0 0 0 0", "2 91 4 90 0 0 0 0 0 0 0 0"]
    (tmp_path / "t.bvh").write_text("\n".join([*lines, *frames]))
    by_hand = np.array([[[1, 90, 3], [1, 140, 3], [1, 180, 3]], [[2, 91, 4], [-48, 91, 4], [-88, 91, 4]]])
    result = gnomon.score("skeleton", tmp_path / "t.bvh", by_hand + np.array([10.0, 0, 0]), units="cm")
    assert result.scores["predictions"]["mpjpe"] == pytest.approx(0.1)
    assert result.scores["predictions"]["mpjpe[Head]"] == pytest.approx(0.1)


def test_the_command_line(poses, folder, tmp_path, capsys):
    words = ["score", "skeleton", "--truth", str(folder / "truth.npz"), "--predictions", f"A={folder / 'pred.npz'}"]
    words += ["--id-preset", "h36m", "--group", "subject", "--joints", "h36m17", "--out", "none", "--json"]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    printed = json.loads(capsys.readouterr().out)
    (scores,) = [run["scores"] for run in printed["runs"]]
    found = {one["name"]: one["value"] for one in scores if one["slice"] == "all"}
    frames = [f"{name}_{row:06d}" for row, name in enumerate(IDS)]
    expected = long_way(tmp_path, *poses, ids=frames, id_preset="h36m", joints="h36m17")
    assert found == expected


REFUSED = {
    "transposed": (lambda t, p, f: score(f / "truth_turned.npy", p), "transposed; give array.swapaxes(-1, -2)"),
    "flat": (lambda t, p, f: score(t, str(f / "pred_flat.npy")), "give array.reshape(24, 17, 3)"),
    "one pose": (lambda t, p, f: score(t[0], p[0]), "one pose; give array[None]"),
    "two dimensions": (lambda t, p, f: score(t[..., :2], p[..., :2]), "not in space"),
    "lengths": (lambda t, p, f: score(t, str(f / "short.npy")), "24 samples and"),
    "several arrays": (lambda t, p, f: score(f / "truth_two.npz", p), "several arrays may be the joints"),
    "one array as both sides": (
        lambda t, p, f: score(f / "truth_two.npz", str(f / "truth_two.npz"), key="joints"),
        "are both the array 'joints' of this file; name that of the predictions with --pred-key",
    ),
    "a root without names": (lambda t, p, f: score(t, p, root="pelvis"), "--joints gives joints their names"),
    "unknown key": (lambda t, p, f: score(f / "truth_two.npz", p, key="xyz"), "no array 'xyz'"),
    "wrong set": (lambda t, p, f: score(t, p, joints="smpl24"), "has 17 joints, but --joints smpl24 has 24; h36m17"),
    "underivable": (
        lambda t, p, f: score(t, np.zeros((N, 24, 3)), joints="h36m17", pred_joints="smpl24"),
        "joint 'neck_nose', 'head' of h36m17 cannot be derived from smpl24; --match-joints common",
    ),
    "sizes without names": (lambda t, p, f: score(t, p[:, :16]), "17 joints and"),
    "unknown set": (lambda t, p, f: score(t, p, joints="panoptic19"), "no such set of joints"),
    "millimetres": (lambda t, p, f: score(1000 * t, 1000 * p), "these look like millimetres"),
    "one side in millimetres": (lambda t, p, f: score(t, 1000 * p), "not in one unit"),
    "unknown root": (lambda t, p, f: score(t, p, joints="h36m17", root="navel"), "or a name: 'pelvis', 'right_hip'"),
    "ids of another length": (lambda t, p, f: score(t, p, ids=IDS[:-1]), "ids: got 23, expected 24"),
    "ids of another kind": (lambda t, p, f: score(t, p, ids=IDS, id_preset="3dpw"), "is not written as downtown_ar"),
    "another kind of file": (
        lambda t, p, f: score(f / "truth_named_npz.npz", p),
        "not a NumPy archive (.npz): this is",
    ),
    "legs exchanged": (
        lambda t, p, f: score(t[:, [0, 4, 5, 6, 1, 2, 3, *range(7, 17)]], p, joints="h36m17"),
        "the other leg comes first; give --joints h36m17-smpl",
    ),
    "cameras asked for": (lambda t, p, f: score(t, p, reference="medoid"), "--reference needs cameras"),
    "the published protocol": (lambda t, p, f: score(t, p, variant="published"), "projects joints through cameras"),
    "both routes": (lambda t, p, f: score(t, p, pred_file="x.npz"), "--pred-file holds both sides"),
    "no predictions": (lambda t, p, f: score(t, None), "--predictions is missing"),
    "a mask of another shape": (lambda t, p, f: score(t, p, mask=np.ones((N, 3), bool)), "expected booleans (24,) or"),
    "no subject": (lambda t, p, f: score(t, p, group="subject"), "no subject is known of 'all'"),
    "a prediction file": (lambda t, p, f: score(f / "both.npz", p), "give it alone, with --pred-file"),
    "no such file": (lambda t, p, f: score(t, "nowhere.npy"), "no such file"),
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_cannot_be_scored_names_the_fix_in_one_line(call, poses, folder):
    action, said = REFUSED[call]
    with pytest.raises(GnomonError) as caught:
        action(*poses, folder)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
