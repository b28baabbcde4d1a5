"""Poses, references, rigs, reliability and fusion. Expected values by hand, or by SciPy's rotations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gnomon.suites.skeleton import fusion
from gnomon.suites.skeleton.fusion import Weighing
from gnomon.suites.skeleton.poses import Poses, mean_rotation, medoid_rows, references, spread


def encodings(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [rng.normal(size=(n, 3)), Rotation.random(n, random_state=seed).as_quat(), np.ones((n, 2))], axis=1
    )


def moved(shifts, angles=None):
    """Cameras that differ by a shift along x and a turn about z in degrees."""
    shifts = np.asarray(shifts, dtype=float)
    about_z = np.zeros((len(shifts), 1)) if angles is None else np.array(angles, dtype=float)[:, np.newaxis]
    turns = Rotation.from_euler("z", about_z, degrees=True).as_quat()
    where = np.stack([shifts, np.zeros(len(shifts)), np.zeros(len(shifts))], axis=1)
    return Poses.decode(np.concatenate([where, turns, np.ones((len(shifts), 2))], axis=1))


def test_decoding_equals_scipy_and_takes_any_sign_and_length_of_a_quaternion():
    given_ = encodings(20)
    given_[3, 3:7] *= -2.5
    found = Poses.decode(given_)
    np.testing.assert_allclose(found.rotations, Rotation.from_quat(given_[:, 3:7]).as_matrix(), atol=1e-14)
    np.testing.assert_array_equal(found.translations, given_[:, :3])
    assert found.ok.all()


def test_what_cannot_be_used():
    """A NaN field of view alone rejects nothing."""
    given_ = encodings(5)
    given_[0, 0], given_[1, 4], given_[2, 3:7], given_[3, 7] = np.nan, np.inf, 0, np.nan
    assert Poses.decode(given_).ok.tolist() == [False, False, False, True, True]


def test_chains_and_inverses():
    a, b = Poses.decode(encodings(9, 1)), Poses.decode(encodings(9, 2))
    points = np.random.default_rng(3).normal(size=(9, 5, 3))
    np.testing.assert_allclose(a.after(b).project(points), a.project(b.project(points)), atol=1e-13)
    np.testing.assert_allclose(a.inverse().project(a.project(points)), points, atol=1e-13)
    np.testing.assert_allclose(a.project(a.centres()[:, np.newaxis])[:, 0], 0, atol=1e-13)


def test_references():
    poses = moved([5.0, 1.0, 2.0, 3.0, 7.0])
    poses = Poses(poses.rotations, poses.translations, np.array([False, True, True, True, True]))
    codes = np.array([0, 0, 0, 0, 1])
    x = {kind: references(poses, codes, 3, kind).translations[:, 0] for kind in ("first", "medoid", "mean")}
    assert x["first"][:2].tolist() == [1.0, 7.0]
    assert x["medoid"][:2].tolist() == [2.0, 7.0]
    assert x["mean"][:2].tolist() == [2.0, 7.0]
    for kind in x:
        assert references(poses, codes, 3, kind).ok.tolist() == [True, True, False]
    assert references(poses, codes, 3, "per_frame") is poses


@pytest.mark.parametrize(("others", "block"), [(512, 512), (512, 4), (7, 5)])
def test_the_medoid_of_two_sides_is_that_of_brute_force(monkeypatch, others, block):
    """Angles by SciPy; with few others, only those evenly spaced among the cameras are looked at."""
    monkeypatch.setattr("gnomon.suites.skeleton.poses.MOST_OTHERS", others)
    monkeypatch.setattr("gnomon.suites.skeleton.poses._BLOCK", block)
    given_, codes = [encodings(40, seed) for seed in (4, 5)], np.arange(40) % 2
    found = medoid_rows(codes, 2, *map(Poses.decode, given_))
    for code in (0, 1):
        rows = np.flatnonzero(codes == code)
        seen = rows[np.linspace(0, 19, min(20, others)).round().astype(int)]
        sums = [sum(_apart(side[a], side[b]) for side in given_ for b in seen) for a in rows]
        assert found[code] == rows[int(np.argmin(sums))]


def _apart(a, b):
    turn = Rotation.from_quat(a[3:7]).inv() * Rotation.from_quat(b[3:7])
    return np.linalg.norm(a[:3] - b[:3]) + turn.magnitude()


def test_mean_rotation_is_halfway():
    turns = Rotation.from_euler("z", [[10], [30]], degrees=True).as_matrix()
    np.testing.assert_allclose(mean_rotation(turns), Rotation.from_euler("z", 20, degrees=True).as_matrix(), atol=1e-14)
    assert np.linalg.det(mean_rotation(np.stack([np.diag([1.0, -1, -1]), np.diag([-1.0, 1, -1])]))) == pytest.approx(1)


def test_spread_of_cameras():
    metres, degrees = spread(moved([0, 0.5, 0, 9], [0, 0, 4, 0]), np.array([0, 0, 0, 1]), 2)
    np.testing.assert_allclose(metres, [0.5, 0])
    np.testing.assert_allclose(degrees, [4, 0], atol=1e-12)


def test_temporal_reliability_by_hand():
    """x = 0, 0.1, 0.2: sd 0.1, over three axes 0.1 / 3; angles to the first 0, 2, 4: sd 2; one camera alone has 1."""
    found = fusion.temporal(moved([0, 0.1, 0.2, 3], [0, 2, 4, 50]), np.array([0, 0, 0, 1]), 3, Weighing())
    np.testing.assert_allclose(found, [np.exp(-(0.1 / 3 / 0.05 + 2 / 5)), 1, 1], rtol=1e-12)


def test_temporal_reliability_is_clipped():
    assert fusion.temporal(moved([0, 1e9]), np.zeros(2, dtype=int), 1, Weighing()).tolist() == [1e-8]


def parts(*offsets):
    """Two joints of one sample, moved by an offset along x for each modality."""
    return [np.array([[[offset, 0, 0], [offset, 1, 0]]]) for offset in offsets]


def fused(offsets, weighing, active=None, target=1, stable=None):
    on = np.ones((len(offsets), 1), dtype=bool) if active is None else np.array(active)[:, np.newaxis]
    steady = np.ones((len(offsets), 1)) if stable is None else np.array(stable)[:, np.newaxis]
    return fusion.fuse(parts(*offsets), on, target, steady, weighing)


def test_mean_ignores_reliability():
    assert fused([0.0, 1.0], Weighing("mean"), stable=[1e-8, 1]).joints[0, 0, 0] == 0.5


def test_weights_by_agreement_with_the_target():
    """e = 0.05 m, so that the weight is exp(-1); the target has 1."""
    r = np.exp(-1)
    found = fused([0.05, 0.0], Weighing("weighted", "cross_sensor"))
    assert found.joints[0, 0, 0] == pytest.approx(0.05 * r / (1 + r))
    assert found.deviation.tolist() == [0.05]


def test_weights_by_agreement_with_the_median_without_a_target():
    """Median of 0, 0.1, 0.4 is 0.1: weights exp(-2), 1, exp(-6)."""
    r = np.exp([-2, 0, -6])
    found = fused([0, 0.1, 0.4], Weighing("weighted", "cross_sensor"), target=None)
    assert found.joints[0, 0, 0] == pytest.approx((r * [0, 0.1, 0.4]).sum() / r.sum())


def test_an_unusable_target_gives_way_to_the_median():
    r = np.exp([-1, -1])
    found = fused([0.0, 5.0, 0.1], Weighing("weighted", "cross_sensor"), active=[True, False, True])
    assert found.joints[0, 0, 0] == pytest.approx((r * [0, 0.1]).sum() / r.sum())


def test_a_single_modality_is_trusted():
    found = fused([3.0, 5.0], Weighing("weighted", "cross_sensor"), active=[True, False])
    assert found.joints[0, 0, 0] == 3.0
    assert found.deviation.tolist() == [0.0]


def test_hard_gate_keeps_what_is_near_the_best():
    """Weights 1 (target), exp(-0.1) = 0.905 (kept at 0.8), exp(-1) = 0.368 (not)."""
    r = np.exp(-0.1)
    found = fused([0.005, 0.0, 0.05], Weighing("hard_gate", "cross_sensor"))
    assert found.joints[0, 0, 0] == pytest.approx(0.005 * r / (1 + r))


def test_hybrid_is_the_product():
    r = np.exp(-1) * 0.5
    found = fused([0.05, 0.0], Weighing("weighted", "hybrid"), stable=[0.5, 1])
    assert found.joints[0, 0, 0] == pytest.approx(0.05 * r / (1 + r))


def test_nothing_active():
    found = fused([1.0, 2.0], Weighing("weighted", "hybrid"), active=[False, False])
    assert found.active.tolist() == [False]


@given(
    st.floats(-1, 1),
    st.floats(-1, 1),
    st.sampled_from(["mean", "weighted", "hard_gate"]),
    st.sampled_from(["cross_sensor", "temporal", "hybrid"]),
)
def test_fusion_stays_between_its_parts(a, b, mode, source):
    found = fused([a, b], Weighing(mode, source), stable=[0.3, 0.9]).joints[0, 0, 0]
    assert min(a, b) - 1e-12 <= found <= max(a, b) + 1e-12


def test_a_robust_rig_forgets_outliers():
    """Nine frames of one calibration, one wildly wrong: the Huber mean is within a centimetre, the plain one is not."""
    rig = Rotation.from_euler("y", 30, degrees=True)
    of = Poses.decode(encodings(10, 4))
    turns = (rig * Rotation.from_matrix(of.rotations)).as_matrix()
    moves = rig.apply(of.translations) + np.array([0.3, 0, 0])
    moves[9] += 5
    to = Poses(turns, moves, np.ones(10, dtype=bool))
    found = fusion.robust_rig(to, of, np.zeros(10, dtype=int), 2)
    assert found.ok.tolist() == [True, False]
    np.testing.assert_allclose(found.rotations[0], rig.as_matrix(), atol=1e-12)
    assert np.linalg.norm(found.translations[0] - [0.3, 0, 0]) < 0.01
    plain = to.after(of.inverse()).translations.mean(axis=0)
    assert np.linalg.norm(plain - [0.3, 0, 0]) > 0.5
