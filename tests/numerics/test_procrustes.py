"""Alignment: a plain SVD, sample by sample and in extended precision where it centres, is the reference.

The reference below follows Umeyama (1991); the cases typed out were worked by hand. Each fault known from other tools
has a test under its name.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import procrustes as scipy_procrustes
from scipy.spatial.transform import Rotation

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.numerics.procrustes import ALIGNMENTS, CHUNK, FINE, NOT_FINITE, UNSEEN, align

CLOSE = 1e-9
"""Metres."""


def reference(truth, prediction, kind, root=(0, 0)):
    """Distances of one sample by plain means: (J, 3) each, all joints visible."""
    t, p = (np.asarray(side, np.longdouble) for side in (truth, prediction))
    if kind == "none":
        return np.linalg.norm((p - t).astype(float), axis=1)
    if kind in ("root", "scale"):
        a, b = ((side - side[list(root)].mean(axis=0)).astype(float) for side in (t, p))
        square = (b * b).sum()
        scale = 1.0 if kind == "root" else max((a * b).sum() / square, 0.0) if square > 0 else 0.0
        return np.linalg.norm(scale * b - a, axis=1)
    a, b = ((side - side.mean(axis=0)).astype(float) for side in (t, p))
    u, s, vt = np.linalg.svd(b.T @ a)
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(u) * np.linalg.det(vt))])
    square = (b * b).sum()
    scale = 1.0 if kind == "rigid" else (s * signs).sum() / square if square > 0 else 0.0
    return np.linalg.norm(scale * b @ ((u * signs) @ vt) - a, axis=1)


def expected(truth, prediction, kind, root=(0, 0)):
    return np.stack([reference(t, p, kind, root) for t, p in zip(truth, prediction, strict=True)])


def agree(truth, prediction, kinds=ALIGNMENTS, pelvis=0):
    pair = pelvis if isinstance(pelvis, tuple) else (pelvis, pelvis)
    found = align(truth, prediction, keep=kinds, pelvis=pelvis)
    assert (found.status == FINE).all()
    for kind in kinds:
        wanted = expected(truth, prediction, kind, pair)
        np.testing.assert_allclose(found.errors[kind], wanted, rtol=0, atol=CLOSE, err_msg=kind)
        np.testing.assert_allclose(found.sums[kind], wanted.sum(axis=1), rtol=0, atol=CLOSE * wanted.shape[1])
    return found


def drawn(seed, n=200, joints=17, noise=0.1):
    rng = generator(seed, "skeletons")
    truth = rng.normal(size=(n, joints, 3)) * [0.2, 0.2, 0.6]
    return truth, truth + noise * rng.normal(size=truth.shape), rng


def some_rotations(rng, n):
    return Rotation.random(n, rng=rng).as_matrix()


@pytest.mark.parametrize("joints", [1, 2, 3, 17, 24])
@pytest.mark.parametrize("n", [1, 2, 3, 15, 16, 17, 50])
def test_agrees_with_svd_whatever_the_batch(n, joints):
    truth, prediction, _ = drawn(n, n, joints)
    agree(truth, prediction, pelvis=joints - 1)


@pytest.mark.parametrize("n", [2, 3])
def test_fault_batches_of_two_or_three_frames_mistransposed(n):
    """Elsewhere an axis of 2 or 3 was taken for the coordinates; a frame must score the same alone and in a batch."""
    truth, prediction, _ = drawn(5, n, n)
    together = align(truth, prediction, keep=ALIGNMENTS)
    for i in range(n):
        alone = align(truth[i : i + 1], prediction[i : i + 1], keep=ALIGNMENTS)
        for kind in ALIGNMENTS:
            assert np.array_equal(alone.errors[kind][0], together.errors[kind][i])


def test_fault_reflections_allowed():
    """A mirrored skeleton is not a perfect one; scipy's procrustes says it is."""
    truth, _, _ = drawn(1)
    mirrored = truth * [-1.0, 1.0, 1.0]
    assert scipy_procrustes(truth[0], mirrored[0])[2] < 1e-12
    found = agree(truth, mirrored)
    assert (found.sums["similarity"] / 17 > 0.01).all()
    assert (found.sums["rigid"] / 17 > 0.01).all()


def test_a_point_reflection_is_no_scale():
    truth, _, _ = drawn(2)
    found = agree(truth, -truth)
    away = np.linalg.norm(truth - truth[:, :1], axis=2).sum(axis=1)
    np.testing.assert_allclose(found.sums["scale"], away, atol=CLOSE)


def test_fault_failure_reported_as_perfect():
    """A sample with a NaN has no distance, not 0, and does not take the others with it."""
    truth, prediction, _ = drawn(3, 40)
    clean = align(truth, prediction, keep=ALIGNMENTS)
    broken = prediction.copy()
    broken[7, 3, 1] = np.nan
    broken[20, 0, 0] = np.inf
    broken[33] = 1e200
    found = align(truth, broken, keep=ALIGNMENTS)
    bad = np.isin(np.arange(40), [7, 20, 33])
    assert (found.status == np.where(bad, NOT_FINITE, FINE)).all()
    for kind in ALIGNMENTS:
        assert np.isnan(found.sums[kind][bad]).all()
        assert np.isnan(found.errors[kind][bad]).all()
        assert np.array_equal(found.errors[kind][~bad], clean.errors[kind][~bad])
    assert np.isnan(found.apart[bad]).all()


def test_fault_joints_masked_only_after_alignment():
    """A hidden joint must not pull on the alignment: the same as if it were not there."""
    truth, prediction, rng = drawn(4, 60)
    seen = rng.random(truth.shape[:2]) < 0.6
    seen[:, 0] = True
    garbage = np.where(seen[..., np.newaxis], prediction, rng.choice([np.nan, np.inf, 1e9], truth.shape))
    found = align(truth, garbage, mask=seen, keep=ALIGNMENTS)
    late = align(truth, np.where(np.isfinite(garbage), garbage, 1e3), keep=("similarity",)).errors["similarity"]
    for i in range(60):
        rows = seen[i]
        for kind in ALIGNMENTS:
            wanted = reference(truth[i, rows], prediction[i, rows], kind)
            np.testing.assert_allclose(found.errors[kind][i, rows], wanted, rtol=0, atol=CLOSE)
            assert np.isnan(found.errors[kind][i, ~rows]).all()
            assert found.sums[kind][i] == pytest.approx(wanted.sum(), abs=CLOSE)
    assert np.abs(late - found.errors["similarity"])[seen].max() > 0.01
    assert found.count.tolist() == seen.sum(axis=1).tolist()


def test_fault_shuffled_rows():
    """Rows belong to rows: both sides shuffled alike score the same bits, one side alone does not."""
    truth, prediction, rng = drawn(6, 100)
    order = rng.permutation(100)
    found, shuffled = align(truth, prediction), align(truth[order], prediction[order])
    for kind in ALIGNMENTS:
        assert np.array_equal(found.sums[kind][order], shuffled.sums[kind])
    one_side = align(truth, prediction[order])
    assert all(one_side.sums[kind].sum() > 1.5 * found.sums[kind].sum() for kind in ALIGNMENTS)
    joints = align(truth, prediction[:, rng.permutation(17)])
    assert joints.sums["similarity"].sum() > 1.5 * found.sums["similarity"].sum()


def test_planar():
    truth, prediction, _ = drawn(7)
    agree(truth * [1, 1, 0], prediction)
    agree(truth * [1, 0, 1], prediction * [1, 0, 1])


def test_collinear():
    """The rotation about the line is not unique, the distances are."""
    truth, prediction, rng = drawn(8)
    line = rng.normal(size=(200, 17, 1)) * rng.normal(size=(200, 1, 3))
    other = rng.normal(size=(200, 17, 1)) * rng.normal(size=(200, 1, 3))
    agree(line, prediction)
    agree(truth, line)
    agree(line, other)
    agree(line, line + 0.05 * (prediction - truth))


@pytest.mark.parametrize("thin", [1e-2, 1e-4, 1e-6, 1e-9, 1e-12, 1e-15])
def test_nearly_collinear_stays_finite_and_optimal(thin):
    """Between the adjugate and Jacobi: the sum of squares is that of the SVD, whatever rotation is taken."""
    truth, prediction, rng = drawn(9)
    line = rng.normal(size=(200, 17, 1)) * rng.normal(size=(200, 1, 3))
    found = align(line + thin * truth, line + thin * prediction, keep=("rigid", "similarity"))
    for kind in ("rigid", "similarity"):
        wanted = expected(line + thin * truth, line + thin * prediction, kind)
        np.testing.assert_allclose((found.errors[kind] ** 2).sum(axis=1), (wanted**2).sum(axis=1), atol=1e-12)
        assert np.abs(found.errors[kind] - wanted).max() < max(CLOSE, 10 * thin)


def test_coincident_joints_count():
    """By hand: all predicted joints at one place leave each true joint's distance to the centroid."""
    truth = np.array([[[0.0, 0, 0], [3, 0, 0], [0, 3, 0]]])
    found = align(truth, np.full((1, 3, 3), 7.0), keep=ALIGNMENTS)
    centroid = [np.sqrt(2), np.sqrt(5), np.sqrt(5)]
    np.testing.assert_allclose(found.errors["similarity"][0], centroid)
    np.testing.assert_allclose(found.errors["rigid"][0], centroid)
    np.testing.assert_allclose(found.errors["scale"][0], [0, 3, 3])
    assert found.status.tolist() == [FINE]
    back = align(np.full((1, 3, 3), 7.0), truth, keep=ALIGNMENTS)
    np.testing.assert_allclose(back.errors["rigid"][0], centroid)
    np.testing.assert_allclose(back.errors["similarity"][0], [0, 0, 0])


def test_one_joint():
    found = align([[[1.0, 2, 3]]], [[[1.0, 2, 5]]])
    assert {kind: float(found.sums[kind][0]) for kind in ALIGNMENTS} == {
        "none": 2.0,
        "root": 0.0,
        "rigid": 0.0,
        "similarity": 0.0,
        "scale": 0.0,
    }
    assert found.apart.tolist() == [2.0]


def test_huge_offsets():
    """A sensor a million metres away: what float64 holds of the input is not lost."""
    truth, prediction, _ = drawn(10)
    agree(truth + 1e6, prediction + np.array([1e6, -1e6, 3.0]))
    near, far = (align(truth + away, prediction + away).sums["similarity"] for away in (0.0, 1e6))
    np.testing.assert_allclose(near, far, rtol=0, atol=1e-7)


def test_sizes_from_tiny_to_huge():
    truth, prediction, _ = drawn(11, 20)
    near = align(truth, prediction, keep=ALIGNMENTS)
    for size in (1e-60, 1e-9, 1e9, 1e60):
        found = align(truth * size, prediction * size, keep=ALIGNMENTS)
        for kind in ALIGNMENTS:
            np.testing.assert_allclose(found.errors[kind], near.errors[kind] * size, rtol=1e-9)
    agree(truth, prediction * 1e-9)


def test_middle_of_a_pair_as_root():
    truth, prediction, _ = drawn(12)
    found = agree(truth, prediction, pelvis=(4, 9))
    apart = prediction[:, [4, 9]].mean(axis=1) - truth[:, [4, 9]].mean(axis=1)
    np.testing.assert_allclose(found.apart, np.linalg.norm(apart, axis=1), atol=CLOSE)


def test_hidden_root_and_nothing_visible():
    truth, prediction, _ = drawn(13, 3, 4)
    seen = np.ones((3, 4), bool)
    seen[1, 2] = seen[2] = False
    found = align(truth, prediction, mask=seen, pelvis=(0, 2), keep=ALIGNMENTS)
    assert found.status.tolist() == [FINE, FINE, UNSEEN]
    assert found.rooted.tolist() == [True, False, False]
    for kind in ALIGNMENTS:
        defined = [True, kind not in ("root", "scale"), False]
        assert (np.isfinite(found.sums[kind]) == defined).all()
        assert np.isfinite(found.errors[kind]).any(axis=1).tolist() == defined


def test_any_number_type_and_layout():
    truth, prediction, _ = drawn(14, 40)
    single = [side.astype(np.float32) for side in (truth, prediction)]
    wanted = align(*(side.astype(np.float64) for side in single))
    swapped = [np.ascontiguousarray(side.transpose(2, 0, 1)).transpose(1, 2, 0) for side in single]
    frozen = [side.copy() for side in single]
    for side in frozen:
        side.setflags(write=False)
    foreign = [side.astype(">f4") for side in single]
    for given_ in (single, swapped, frozen, foreign, [single[0], single[1].astype(np.float64)]):
        found = align(*given_)
        for kind in ALIGNMENTS:
            assert np.array_equal(found.sums[kind], wanted.sums[kind])
    whole = align(np.arange(18).reshape(2, 3, 3), np.arange(18).reshape(2, 3, 3) + 1)
    np.testing.assert_allclose(whole.sums["none"], 3 * np.sqrt(3))


def test_chunks_do_not_show():
    truth, prediction, _ = drawn(15, CHUNK + 5, 3)
    found = align(truth, prediction)
    last = align(truth[-20:], prediction[-20:])
    for kind in ALIGNMENTS:
        assert np.array_equal(found.sums[kind][-20:], last.sums[kind])


def test_only_what_is_asked_for():
    truth, prediction, _ = drawn(16, 10)
    found = align(truth, prediction, alignments=("root",), keep=("similarity",))
    assert set(found.sums) == {"root", "similarity"}
    assert set(found.errors) == {"similarity"}
    assert align(truth[:0], prediction[:0]).sums["none"].shape == (0,)
    twice = align(truth, prediction, keep=("root", "root", "none")).errors
    assert {name: array.shape for name, array in twice.items()} == {"root": (10, 17), "none": (10, 17)}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_laws_of_alignment(seed):
    """A common motion changes no distance; a similarity of the prediction changes none after that alignment."""
    truth, prediction, rng = drawn(seed, 20, int(generator(seed, "joints").integers(3, 9)))
    base = align(truth, prediction, keep=ALIGNMENTS)
    turns, away = some_rotations(rng, 20), rng.normal(size=(20, 1, 3))
    moved = [side @ turns.transpose(0, 2, 1) + away for side in (truth, prediction)]
    together = align(*moved, keep=ALIGNMENTS)
    for kind in ALIGNMENTS:
        np.testing.assert_allclose(together.errors[kind], base.errors[kind], rtol=0, atol=CLOSE)
    rigid = align(truth, moved[1], keep=("rigid",)).errors["rigid"]
    np.testing.assert_allclose(rigid, base.errors["rigid"], rtol=0, atol=CLOSE)
    similar = align(truth, moved[1] * rng.uniform(0.1, 9), keep=("similarity",)).errors["similarity"]
    np.testing.assert_allclose(similar, base.errors["similarity"], rtol=0, atol=CLOSE)
    squares = {kind: (base.errors[kind] ** 2).sum(axis=1) for kind in ALIGNMENTS}
    assert (squares["similarity"] <= squares["rigid"] + CLOSE).all()
    assert (squares["rigid"] <= np.minimum(squares["none"], squares["root"]) + CLOSE).all()
    assert (squares["scale"] <= squares["root"] + CLOSE).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"truth": np.zeros((2, 3))}, r"truth: expected numbers of shape \(N, J, 3\)"),
        ({"prediction": np.zeros((2, 3, 2))}, "prediction: expected numbers"),
        ({"prediction": np.zeros((2, 4, 3))}, "expected the same"),
        ({"prediction": np.zeros((3, 3, 3))}, "expected the same"),
        ({"truth": np.zeros((2, 0, 3)), "prediction": np.zeros((2, 0, 3))}, "at least one joint"),
        ({"truth": np.zeros((2, 3, 3), complex)}, "complex"),
        ({"truth": [[[0, 0, 0]], [[0, 0]]]}, "regular array"),
        ({"truth": [[["a", "b", "c"]]]}, "expected numbers"),
        ({"pelvis": 3}, "pelvis: expected a joint from 0 to 2"),
        ({"pelvis": -1}, "pelvis"),
        ({"pelvis": (0, 1, 2)}, "pelvis"),
        ({"pelvis": 0.5}, "pelvis"),
        ({"pelvis": True}, "pelvis"),
        ({"mask": np.ones((2, 3))}, "mask: expected booleans"),
        ({"mask": np.ones((2, 2), bool)}, "mask: expected booleans"),
        ({"alignments": ("affine",)}, "alignments: expected some of none"),
    ],
)
def test_refusals(change, words):
    whole = {"truth": np.zeros((2, 3, 3)), "prediction": np.zeros((2, 3, 3)), **change}
    with pytest.raises(InputError, match=words):
        align(whole.pop("truth"), whole.pop("prediction"), **whole)
