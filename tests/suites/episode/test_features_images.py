"""Depth and video numbers: against numpy, percentiles exactly, area means against pixels repeated 32 times."""

import os
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from gnomon.core.errors import InputError
from gnomon.suites.episode.features.images import depth_numbers, video_numbers

REAL = Path(os.environ.get("GNOMON_REAL_DATA", "")) / "episode" / "annotation-8-frames.hdf5"


def plain_depth(depth, confidence):
    """The 140 numbers of an image, as numpy has them."""
    good = np.isfinite(depth) & (depth > 0)
    values = depth[good].astype(np.float64)
    stats = [values.mean(), values.std(), values.min(), values.max(), *np.percentile(values, [10, 50, 90]), good.mean()]
    tall, wide = depth.shape[0] // 8, depth.shape[1] // 8
    cells, sure = [], []
    for a in range(8):
        for b in range(8):
            part = np.s_[a * tall : (a + 1) * tall, b * wide : (b + 1) * wide]
            inside = depth[part][good[part]].astype(np.float64)
            cells.append(inside.mean() if len(inside) else 0.0)
            sure.append(confidence[part].astype(np.float64).mean())
    scores = confidence.astype(np.float64)
    return np.array([*stats, *cells, scores.mean(), scores.std(), scores.min(), scores.max(), *sure])


def plain_video(image):
    """The 98 numbers of a frame, as numpy has them."""
    scaled = image.astype(np.float64) / 255
    histograms = [np.histogram(image[..., c], bins=8, range=(0, 256))[0] / image[..., c].size for c in range(3)]
    grey = scaled @ np.array([0.299, 0.587, 0.114])
    small, grid = area(grey, 32), area(grey, 8)
    gx, gy = np.abs(np.diff(small, axis=1)), np.abs(np.diff(small, axis=0))
    means, spreads = scaled.mean(axis=(0, 1)), scaled.std(axis=(0, 1))
    return np.concatenate([means, spreads, *histograms, grid.ravel(), [gx.mean(), gx.std(), gy.mean(), gy.std()]])


def area(grey, side):
    """Area means: every pixel becomes side x side equal ones, so that cells hold whole pixels."""
    height, width = grey.shape
    fine = np.repeat(np.repeat(grey, side, axis=0), side, axis=1)
    return fine.reshape(side, height, side, width).mean(axis=(1, 3))


def room(rng, n=3, shape=(32, 48)):
    y, x = np.mgrid[: shape[0], : shape[1]] / 10
    depth = np.stack([1.5 + np.sin(x + k) * np.cos(y) for k in range(n)]) + rng.normal(scale=0.01, size=(n, *shape))
    depth[rng.random(depth.shape) < 0.1] = 0
    return depth.astype(np.float32), rng.integers(0, 256, depth.shape).astype(np.uint8)


def test_depth_is_that_of_numpy():
    depth, confidence = room(np.random.default_rng(0))
    depth[1, :8, :12] = 0
    depth[2, 3, 3], depth[2, 5, 5], depth[2, 7, 7] = np.nan, np.inf, -1
    numbers, share = depth_numbers(depth, confidence, np.ones(3, dtype=bool))
    for k in range(3):
        np.testing.assert_allclose(numbers[k], plain_depth(depth[k], confidence[k]), rtol=1e-12, atol=1e-14)
    assert share.tolist() == [1, 1, 1]
    assert numbers[1, 8 : 8 + 2].tolist() == [0, 0]


depths = st.one_of(
    st.lists(st.floats(0, 10, width=32), min_size=64, max_size=64),
    st.lists(st.sampled_from([0.0, 1.0, 1.0000001, 2.0]), min_size=64, max_size=64),
    st.lists(st.floats(min_value=2.0**-149, max_value=3.4028234663852886e38, width=32), min_size=64, max_size=64),
)


@settings(deadline=None, max_examples=200)
@given(depths)
def test_percentiles_are_exactly_those_of_numpy(values):
    depth = np.array(values, dtype=np.float32).reshape(1, 8, 8)
    numbers, share = depth_numbers(depth, None, np.ones(1, dtype=bool))
    valid = depth[depth > 0].astype(np.float64)
    if not len(valid):
        assert share.tolist() == [0]
        assert not numbers.any()
        return
    assert numbers[0, 4:7].tolist() == np.percentile(valid, [10, 50, 90]).tolist()
    assert numbers[0, 2:4].tolist() == [valid.min(), valid.max()]
    assert numbers[0, 7] == len(valid) / 64


def test_one_depth_everywhere_has_no_spread():
    numbers, _ = depth_numbers(np.full((1, 256, 256), 1.25, np.float32), None, np.ones(1, dtype=bool))
    assert numbers[0, :8].tolist() == [1.25, 0, 1.25, 1.25, 1.25, 1.25, 1.25, 1]
    assert numbers[0, 8:72].tolist() == [1.25] * 64


def test_images_do_not_touch_each_other():
    depth, confidence = room(np.random.default_rng(1), n=5)
    depth[2] = 0
    together, share = depth_numbers(depth, confidence, np.ones(5, dtype=bool))
    assert share.tolist() == [1, 1, 0, 1, 1]
    for k in range(5):
        alone, _ = depth_numbers(depth[k : k + 1], confidence[k : k + 1], np.ones(1, dtype=bool))
        assert alone.tobytes() == together[k].tobytes()


def test_frames_after_the_end_of_the_confidence_are_read_in_part():
    """72 of 140 numbers are those of the depth."""
    depth, confidence = room(np.random.default_rng(3), n=3)
    confidence[2] = 0
    _, share = depth_numbers(depth, confidence, np.ones(3, dtype=bool), np.array([True, True, False]))
    assert share.tolist() == [1, 1, 72 / 140]


def test_without_confidence_its_numbers_are_0_and_counted_as_missing():
    depth, confidence = room(np.random.default_rng(2))
    whole, _ = depth_numbers(depth, confidence, np.ones(3, dtype=bool))
    numbers, share = depth_numbers(depth, None, np.array([True, True, False]))
    assert numbers[:, :72].tobytes() == whole[:, :72].tobytes()
    assert not numbers[:, 72:].any()
    assert share == pytest.approx([72 / 140, 72 / 140, 0])


@pytest.mark.parametrize("shape", [(1, 12, 16), (16, 16)])
def test_depth_of_another_shape_is_refused(shape):
    with pytest.raises(InputError, match="sides that 8 divides"):
        depth_numbers(np.ones(shape, np.float32), None, np.ones(1, dtype=bool))


def test_confidence_of_another_type_is_refused():
    with pytest.raises(InputError, match="expected uint8"):
        depth_numbers(np.ones((1, 8, 8), np.float32), np.ones((1, 8, 8)), np.ones(1, dtype=bool))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 99))
def test_video_is_that_of_numpy_at_any_size(height, width, seed):
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)
    np.testing.assert_allclose(video_numbers(image), plain_video(image), rtol=1e-9, atol=1e-12)


def test_a_black_left_and_white_right_half_by_hand():
    image = np.zeros((64, 64, 3), np.uint8)
    image[:, 32:] = 255
    numbers = video_numbers(image)
    assert numbers[:6] == pytest.approx([0.5] * 6)
    assert numbers[6:14].tolist() == [0.5, 0, 0, 0, 0, 0, 0, 0.5]
    assert numbers[30:38] == pytest.approx([0, 0, 0, 0, 1, 1, 1, 1])
    # one step of 1 among 31 differences of each row: mean 1 / 31, variance (1 / 31)(30 / 31); no step down a column
    assert numbers[94:] == pytest.approx([1 / 31, np.sqrt(30) / 31, 0, 0], abs=1e-12)


def test_a_view_is_read_as_what_it_shows():
    image = np.random.default_rng(3).integers(0, 256, (40, 50, 3)).astype(np.uint8)
    assert video_numbers(image[:, ::-1]).tobytes() == video_numbers(image[:, ::-1].copy()).tobytes()


@pytest.mark.parametrize("image", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)])
def test_frames_of_another_kind_are_refused(image):
    with pytest.raises(InputError, match=r"expected frames \(h, w, 3\) of uint8"):
        video_numbers(image)


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_file(), reason="needs GNOMON_REAL_DATA")
def test_depth_of_the_real_sample_is_that_of_numpy():
    h5py = pytest.importorskip("h5py")
    with h5py.File(REAL) as file:
        depth, confidence = file["depth/depth"][:], file["depth/confidence"][:]
    numbers, share = depth_numbers(depth, confidence, np.ones(8, dtype=bool))
    assert share.tolist() == [1] * 8
    for k in range(8):
        np.testing.assert_allclose(numbers[k], plain_depth(depth[k], confidence[k]), rtol=1e-12)
