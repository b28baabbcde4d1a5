"""Words, map and calibration: hashes from b2sum, counts by hand, statistics against numpy."""

import hashlib
import os
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from gnomon.suites.episode.features.computing import calibration_numbers, cloud_numbers
from gnomon.suites.episode.features.text import embed, place, tokens

REAL = Path(os.environ.get("GNOMON_REAL_DATA", "")) / "episode" / "annotation-8-frames.hdf5"


def test_place_and_sign_from_b2sum():
    # printf cup | b2sum -l 64 gives ac 58 70 03 0e 16 5a a9: first byte 172 = 128 + 44, top bit of the last byte set
    assert place("cup") == (44, -1)


@given(st.text(min_size=1, max_size=8))
def test_place_is_that_of_the_hash_as_bytes(token):
    raw = hashlib.blake2b(token.encode(), digest_size=8).digest()
    assert place(token) == (raw[0] & 127, -1 if raw[7] & 128 else 1)


def test_words_are_letters_and_digits_in_lower_case():
    assert tokens("Coffee-cup_2, KÜCHE! (the mug)") == ["coffee", "cup", "2", "küche", "the", "mug"]
    assert tokens(" ,.-_ ") == []


def test_a_bag_by_hand():
    found, some = embed(["red cup", "the cup"])
    expected = np.zeros(128)
    for word, count in (("red", 1), ("cup", 2), ("the", 1)):
        index, sign = place(word)
        expected[index] += sign * count
    assert len({place(word)[0] for word in ("red", "cup", "the")}) == 3
    np.testing.assert_allclose(found, expected / np.sqrt(6), rtol=1e-15)
    assert some


@given(
    st.lists(st.sampled_from(["knife", "cutting board", "bowl 2", "", "The hand takes it."]), max_size=6), st.randoms()
)
def test_order_does_not_matter_and_length_is_1(texts, random):
    found, some = embed(texts)
    shuffled = list(texts)
    random.shuffle(shuffled)
    assert embed(shuffled)[0].tobytes() == found.tobytes()
    assert some == any(texts)
    assert np.linalg.norm(found) == pytest.approx(1.0 if found.any() else 0.0)


def test_no_words_are_zeros():
    found, some = embed(["", "--"])
    assert not some
    assert not found.any()


def test_the_far_points_are_dropped_and_the_rest_is_that_of_numpy():
    rng = np.random.default_rng(0)
    near, far = rng.normal(size=(95, 3)), rng.normal(size=(5, 3)) + 1000
    points = np.concatenate([far[:2], near, far[2:], [[np.nan, 0, 0]]])
    numbers, share, why = cloud_numbers(points)
    steps = np.diff(near, axis=0)
    rows = [near.mean(0), near.std(0), near.min(0), near.max(0), near[-1] - near[0], steps.mean(0), steps.std(0)]
    np.testing.assert_allclose(numbers, [*np.concatenate(rows), np.log(96)], rtol=1e-9, atol=1e-12)
    assert (share, why) == (1.0, "")


@pytest.mark.parametrize("points", [np.zeros((0, 3)), np.full((4, 3), np.nan)])
def test_no_points_are_a_reason(points):
    numbers, share, why = cloud_numbers(points)
    assert not numbers.any()
    assert share == 0
    assert why == f"none of {len(points)} points is finite"


def test_calibration_is_by_sorted_path():
    leaves = {"cam1/K": np.arange(100.0).reshape(25, 4), "cam0/T": np.arange(16.0).reshape(4, 4) + 500}
    leaves["cam01/baseline"] = np.array(0.12)
    numbers, share, why = calibration_numbers(leaves)
    assert numbers.tolist() == [*(500.0 + np.arange(16)), 0.12, *np.arange(100.0)]
    assert (share, why) == (1.0, "")


def test_calibration_with_another_count_gives_no_block():
    numbers, share, why = calibration_numbers({"a": np.ones(116)})
    assert not numbers.any()
    assert (share, why) == (0.0, "116 numbers in 1 datasets, expected 117")


def test_calibration_that_is_not_finite_is_counted():
    values = np.arange(117.0)
    values[[3, 50]] = np.nan, np.inf
    numbers, share, why = calibration_numbers({"a": values})
    assert numbers[[3, 50, 51]].tolist() == [0, 0, 51]
    assert share == pytest.approx(115 / 117)
    assert why == "2 of 117 numbers are not finite"


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_file(), reason="needs GNOMON_REAL_DATA")
def test_the_real_calibration_has_117_numbers_and_the_real_map_loses_5_percent():
    h5py = pytest.importorskip("h5py")
    leaves = {}

    def visit(name, found):
        if isinstance(found, h5py.Dataset) and found.dtype.kind == "f":
            leaves[name] = found[()]

    with h5py.File(REAL) as file:
        file["calibration"].visititems(visit)
        points = file["slam/point_cloud"][:]
    _, share, why = calibration_numbers(leaves)
    assert (share, why) == (1.0, "")
    numbers, _, _ = cloud_numbers(points)
    assert np.expm1(numbers[-1]) == pytest.approx(0.95 * len(points), abs=1.5)
    assert np.ptp(points, axis=0).max() > 100 > (numbers[9:12] - numbers[6:9]).max()
