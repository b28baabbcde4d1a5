"""Prediction files in every form that the format allows. Expected values are written by hand."""

import pickle

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.suites.skeleton import files
from gnomon.suites.skeleton.files import KEPT, MISMATCH, MISSING, NON_FINITE, NOT_JOINTS

RNG = np.random.default_rng(5)
JOINTS = RNG.normal(size=(4, 3, 3)).astype(np.float32)
CAMERAS = RNG.normal(size=(4, 2, 9)).astype(np.float32)
STREAM = {"camera_stream_modalities": ["RGB", "lidar"], "camera_stream_sensor_indices": [0, 0]}


def saved(path, **fields):
    """Save as .npz or .pkl, as the suffix says."""
    if path.suffix == ".npz":
        np.savez(
            path,
            **{name: np.asarray(value, dtype=object) if _ragged(value) else value for name, value in fields.items()},
        )
    else:
        path.write_bytes(pickle.dumps(fields))
    return path


def _ragged(value):
    return isinstance(value, list) and any(not isinstance(item, (str, int)) for item in value)


def ragged(items):
    """A list of per-sample items as an object array, without numpy trying to stack them."""
    out = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        out[index] = item
    return out


@pytest.fixture(params=["file.npz", "file.pkl"])
def path(request, tmp_path):
    return tmp_path / request.param


def test_plain_arrays(path):
    found = files.read(
        saved(
            path,
            sample_ids=["a", "b", "c", "d"],
            pred_keypoints=JOINTS,
            gt_keypoints=JOINTS + 1,
            pred_cameras_stream=CAMERAS,
            gt_cameras_stream=CAMERAS,
            **STREAM,
        )
    )
    assert found.ids == ("a", "b", "c", "d")
    np.testing.assert_array_equal(found.prediction, JOINTS)
    np.testing.assert_array_equal(found.truth, JOINTS + 1)
    assert found.reasons.tolist() == [KEPT] * 4
    np.testing.assert_array_equal(found.cameras["pred"].stream("rgb", 0), CAMERAS[:, 0])
    np.testing.assert_array_equal(found.cameras["gt"].stream("lidar", 0), CAMERAS[:, 1])
    assert np.isnan(found.cameras["gt"].stream("lidar", 1)).all()
    assert np.isnan(found.cameras["gt"].stream("radar", 0)).all()


def test_frames_of_a_window_stand_for_their_last(path):
    window = np.stack([JOINTS + 5, JOINTS], axis=1)
    found = files.read(saved(path, pred_keypoints=window, gt_keypoints=JOINTS))
    np.testing.assert_array_equal(found.prediction, JOINTS)
    assert found.ids is None


def test_every_reason(path):
    broken = JOINTS[3].copy()
    broken[0, 0] = np.inf
    pred = ragged([None, JOINTS[0][:2], JOINTS[1][:, :2], broken, JOINTS[2], np.stack([JOINTS[0], JOINTS[3]])])
    true = ragged([JOINTS[0], JOINTS[0], JOINTS[1][:, :2], JOINTS[3], JOINTS[2], JOINTS[3]])
    found = files.read(saved(path, pred_keypoints=pred, gt_keypoints=true))
    assert found.reasons.tolist() == [MISSING, MISMATCH, NOT_JOINTS, NON_FINITE, KEPT, KEPT]
    np.testing.assert_array_equal(found.prediction[5], JOINTS[3])


def test_another_number_of_joints_than_most_is_a_mismatch(path):
    items = ragged([JOINTS[0], JOINTS[1], JOINTS[2][:2]])
    assert files.read(saved(path, pred_keypoints=items, gt_keypoints=items)).reasons.tolist() == [KEPT, KEPT, MISMATCH]


def test_non_finite_samples_of_whole_arrays(path):
    joints = JOINTS.copy()
    joints[1, 2, 0] = np.nan
    joints[2, 0, 0], joints[2, 1, 1] = np.inf, -np.inf
    found = files.read(saved(path, pred_keypoints=joints, gt_keypoints=JOINTS))
    assert found.reasons.tolist() == [KEPT, NON_FINITE, NON_FINITE, KEPT]


def test_joints_too_large_to_be_squared_are_dropped(path):
    joints = np.ones((3, 4, 3))
    joints[1, 0, 0], joints[2, 0, 0] = 1e200, 1e100
    found = files.read(saved(path, pred_keypoints=joints, gt_keypoints=joints))
    assert found.reasons.tolist() == [KEPT, NON_FINITE, KEPT]


def test_metadata_of_every_sample(path):
    names = ragged([["lidar"], ["rgb", "lidar"], None, ["rgb", None]])
    sensors = ragged([[0], [0, 1], None, [0, None]])
    cameras = ragged([CAMERAS[0][:1], CAMERAS[1], CAMERAS[2], ragged([CAMERAS[3][0], None])])
    fields = {"camera_stream_modalities_per_sample": names, "camera_stream_sensor_indices_per_sample": sensors}
    found = files.read(saved(path, pred_keypoints=JOINTS, gt_keypoints=JOINTS, pred_cameras_stream=cameras, **fields))
    lidar = found.cameras["pred"].stream("lidar", 0)
    np.testing.assert_array_equal(lidar[0], CAMERAS[0][0])
    assert np.isnan(lidar[1:]).all()
    np.testing.assert_array_equal(found.cameras["pred"].stream("lidar", 1)[1], CAMERAS[1][1])
    np.testing.assert_array_equal(found.cameras["pred"].stream("rgb", 0)[3], CAMERAS[3][0])


def test_older_cameras_in_all_shapes(path):
    items = ragged([CAMERAS[0][0], CAMERAS[1], np.stack([CAMERAS[0], CAMERAS[2]], axis=1), None])
    names = ragged([["lidar"], ["rgb", "lidar"], ["rgb", "lidar"], None])
    fields = {"gt_cameras": items, "camera_modalities_per_sample": names}
    lidar = (
        files.read(saved(path, pred_keypoints=JOINTS, gt_keypoints=JOINTS, **fields)).cameras["gt"].stream("lidar", 0)
    )
    np.testing.assert_array_equal(lidar[:3], [CAMERAS[0][0], CAMERAS[1][1], CAMERAS[2][1]])
    assert np.isnan(lidar[3]).all()


def test_cameras_without_names_by_column(path):
    saved(path, pred_keypoints=JOINTS, gt_keypoints=JOINTS, pred_cameras=CAMERAS)
    assert np.isnan(files.read(path).cameras["pred"].stream("lidar", 0)).all()
    found = files.read(path, columns={"lidar": 1})
    np.testing.assert_array_equal(found.cameras["pred"].stream("lidar", 0), CAMERAS[:, 1])
    with pytest.raises(InputError, match="column 7, but there are 2"):
        files.read(path, columns={"lidar": 7}).cameras["pred"].stream("lidar", 0)


def test_the_asked_field_comes_first(path):
    other = CAMERAS + 1
    saved(
        path,
        pred_keypoints=JOINTS,
        gt_keypoints=JOINTS,
        pred_cameras=CAMERAS,
        mine=other,
        camera_modalities=["rgb", "lidar"],
    )
    np.testing.assert_array_equal(files.read(path).cameras["pred"].stream("rgb", 0), CAMERAS[:, 0])
    found = files.read(path, prediction_cameras="mine")
    np.testing.assert_array_equal(found.cameras["pred"].stream("rgb", 0), other[:, 0])


def test_joints_by_modality(path):
    saved(path, pred_keypoints=JOINTS, gt_keypoints=JOINTS, pred_keypoints_rgb=JOINTS + 2)
    np.testing.assert_array_equal(files.read(path, modalities=["rgb"]).by_modality["rgb"], JOINTS + 2)
    assert files.read(path).by_modality == {}


@pytest.mark.parametrize("kind", [np.float16, np.longdouble, np.int32])
def test_other_kinds_of_numbers_are_converted(path, kind):
    joints, cameras = (np.round(array * 100).astype(kind) for array in (JOINTS, CAMERAS))
    fields = {"pred_cameras_stream": cameras, "gt_cameras_stream": cameras, **STREAM}
    if kind is np.longdouble:
        np.savez(path.with_suffix(".npz"), pred_keypoints=joints, gt_keypoints=joints, **fields)
        path = path.with_suffix(".npz")
    else:
        saved(path, pred_keypoints=joints, gt_keypoints=joints, **fields)
    found = files.read(path)
    np.testing.assert_array_equal(found.prediction, joints.astype(np.float64))
    np.testing.assert_array_equal(found.cameras["gt"].stream("lidar", 0), cameras[:, 1].astype(np.float64))


def test_names_of_modalities_as_bytes_and_with_blanks(path):
    names = {"camera_stream_modalities": np.array([b"RGB ", b" lidar"]), "camera_stream_sensor_indices": [0, 0]}
    found = files.read(saved(path, pred_keypoints=JOINTS, gt_keypoints=JOINTS, pred_cameras_stream=CAMERAS, **names))
    np.testing.assert_array_equal(found.cameras["pred"].stream("lidar", 0), CAMERAS[:, 1])


def test_what_the_prediction_lacks_does_not_change_the_truth(path):
    found = files.read(saved(path, pred_keypoints=ragged([None, *JOINTS[1:]]), gt_keypoints=JOINTS))
    np.testing.assert_array_equal(found.truth, JOINTS)


def test_none_is_absent(tmp_path):
    path = tmp_path / "file.pkl"
    path.write_bytes(
        pickle.dumps({"pred_keypoints": JOINTS, "gt_keypoints": JOINTS, "sample_ids": None, "pred_cameras": None})
    )
    assert files.read(path).ids is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"gt_keypoints": JOINTS}, "no field 'pred_keypoints'; it has 'gt_keypoints'"),
        ({"pred_keypoints": JOINTS, "gt_keypoints": JOINTS[:3]}, "gt_keypoints has 3 items, but pred_keypoints has 4"),
        ({"pred_keypoints": JOINTS, "gt_keypoints": JOINTS, "sample_ids": ["a"]}, "1 sample_ids for 4 samples"),
        ({"pred_keypoints": JOINTS[:, 0], "gt_keypoints": JOINTS}, "expected numbers"),
        (
            {"pred_keypoints": JOINTS, "gt_keypoints": JOINTS, "pred_cameras": CAMERAS[:, :, :5]},
            r"expected \(N, S, 9\)",
        ),
        ({"pred_keypoints": JOINTS, "gt_keypoints": JOINTS, "pred_cameras": CAMERAS[:2]}, "has 2 items, expected 4"),
        ({"pred_keypoints": JOINTS[:0], "gt_keypoints": JOINTS[:0]}, "holds no samples"),
        ({"pred_keypoints": JOINTS[:, :2], "gt_keypoints": JOINTS}, r"has '\(2, 3\)', gt_keypoints has '\(3, 3\)'"),
        ({"pred_keypoints": JOINTS, "gt_keypoints": JOINTS, "pred_cameras": np.float64(3)}, "cameras of every sample"),
        (
            {
                "pred_keypoints": JOINTS,
                "gt_keypoints": JOINTS,
                "pred_cameras": CAMERAS,
                "camera_modalities": np.int64(3),
            },
            "expected a list",
        ),
    ],
)
def test_bad_files_are_named(path, fields, words):
    with pytest.raises(InputError, match=words):
        files.read(saved(path, **fields))


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"camera_stream_modalities": ["lidar"]}, "2 cameras, but 1 modality names"),
        ({"camera_stream_modalities": ["lidar", "rgb"], "camera_stream_sensor_indices": [0]}, "but 1 sensor indices"),
    ],
)
def test_metadata_of_another_length_is_an_error(path, metadata, words):
    saved(path, pred_keypoints=JOINTS, gt_keypoints=JOINTS, pred_cameras_stream=CAMERAS, **metadata)
    with pytest.raises(InputError, match=words):
        files.read(path).cameras["pred"].stream("lidar", 0)


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"expected a \.npz, \.pkl"):
        files.read(tmp_path / "x.json")


def test_written_files_are_read_back(tmp_path):
    fields = {"pred_keypoints": JOINTS, "gt_keypoints": JOINTS, "sample_ids": ["a", "b", "c", "d"], "extra": None}
    files.write(tmp_path / "out.npz", fields)
    np.testing.assert_array_equal(files.read(tmp_path / "out.npz").prediction, JOINTS)
    with pytest.raises(InputError, match="'pred_keypoints' is ragged"):
        files.write(tmp_path / "out.npz", {**fields, "pred_keypoints": ragged([None, JOINTS[0]])})
    with pytest.raises(InputError, match=r"ends in \.npz"):
        files.write(tmp_path / "out.pkl", fields)
