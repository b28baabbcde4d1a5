"""Boxes in one form: what each of the three forms means, any order of vertices, and what is no box."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnomon.core.errors import InputError
from gnomon.numerics.solids import ALIGNED, TILTED, UPRIGHT, solids

CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def vertices(centre, half, rotation):
    return centre + (CUBE * half) @ rotation.as_matrix().T


def test_min_max_is_kept_as_it_is():
    box = solids([[0, 1, 2, 3, 5, 8]])
    assert box.low.tolist() == [[0, 1, 2]]
    assert box.high.tolist() == [[3, 5, 8]]
    assert box.volume.tolist() == [72.0]
    assert box.stand.tolist() == [ALIGNED]


def test_yaw_turns_counter_clockwise_seen_from_above():
    """By hand: the end of the long side of a box of yaw 30 degrees lies at (cos 30, sin 30), not at its mirror."""
    box = solids([[0, 0, 0, 2, 1e-3, 1, np.pi / 6]])
    corners = box.corners()[0]
    far = corners[corners[:, 0].argmax()]
    assert far[:2] == pytest.approx([np.cos(np.pi / 6), np.sin(np.pi / 6)], abs=1e-3)
    assert box.stand.tolist() == [UPRIGHT]


@pytest.mark.parametrize("yaw", [0.0, np.pi / 2, np.pi, -np.pi / 2, 3 * np.pi])
def test_quarter_turns_are_aligned(yaw):
    box = solids([[1, 2, 3, 4, 2, 1, yaw]])
    size = [2, 4, 1] if abs(np.sin(yaw)) > 0.5 else [4, 2, 1]
    assert box.stand.tolist() == [ALIGNED]
    assert (box.high - box.low)[0] == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_vertices_in_any_order_give_the_same_box(seed):
    rng = np.random.default_rng(seed)
    half, centre = rng.uniform(0.05, 3, 3), rng.normal(0, 5, 3)
    kinds = {ALIGNED: Rotation.identity(), UPRIGHT: Rotation.from_euler("z", 0.7), TILTED: Rotation.random(rng=rng)}
    for stand, rotation in kinds.items():
        corners = vertices(centre, half, rotation)
        found = solids(np.array([rng.permutation(corners) for _ in range(30)]))
        assert found.stand.tolist() == [stand] * 30
        assert found.centre == pytest.approx(np.tile(centre, (30, 1)), abs=1e-12)
        assert np.sort(found.half, axis=1) == pytest.approx(np.tile(np.sort(half), (30, 1)), rel=1e-9)
        assert found.volume == pytest.approx(np.full(30, 8 * half.prod()), rel=1e-9)
        for given, back in zip(np.tile(corners, (30, 1, 1)), found.corners(), strict=True):
            distances = np.linalg.norm(given[:, np.newaxis] - back, axis=2)
            assert distances.min(axis=1).max() < 1e-9


def test_the_three_forms_agree():
    low, high = np.array([1.0, 2.0, 3.0]), np.array([2.0, 5.0, 4.5])
    flat = [*((low + high) / 2), *(high - low), 0.0]
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    forms = [solids([[*low, *high]]), solids([flat]), solids([corners])]
    for box in forms:
        assert (box.low, box.high) == (pytest.approx(low[np.newaxis]), pytest.approx(high[np.newaxis]))
        assert box.stand.tolist() == [ALIGNED]
        assert box.volume.tolist() == pytest.approx([4.5])


def test_rounded_decimals_are_still_a_box():
    corners = vertices(np.zeros(3), np.array([0.4, 0.3, 0.2]), Rotation.from_euler("xyz", [0.3, 0.2, 1.0]))
    assert solids([corners.round(3)]).volume == pytest.approx([8 * 0.4 * 0.3 * 0.2], rel=0.01)


@pytest.mark.parametrize("empty", [[], np.zeros((0, 6)), np.zeros((0, 7)), np.zeros((0, 8, 3)), np.zeros((0, 6), int)])
def test_no_boxes(empty):
    assert len(solids(empty)) == 0


def skewed():
    corners = CUBE.copy()
    corners[:, 0] += 0.2 * corners[:, 1]
    return corners


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        ([[0, 0, 0, 1, 1, 1], [0, 0, 5, 1, 1, 1]], "truth: box 1 has a minimum above its maximum"),
        ([[0, 0, 0, 1, 0, 1]], "truth: box 0 is flat"),
        ([[0, 0, 0, 1, 1, 1], [0, 0, 0, np.nan, 1, 1]], "truth: box 1 holds a value that is not finite"),
        ([[0, 0, 0, np.inf, 1, 1]], "truth: box 0 holds a value that is not finite"),
        ([[0, 0, 0, 1e200, 1, 1]], "truth: box 0 holds a value beyond any place"),
        ([[0, 0, 0, 1, 1, 0, 0.1]], "truth: box 0 has a length that is not above 0"),
        ([[0, 0, 0, 1, -1, 1, 0.1]], "truth: box 0 has a length that is not above 0"),
        ([[0, 0, 0, 1e-120, 1e-120, 1e-120]], "truth: box 0 is too small"),
        ([[1e17, 0, 0, 1, 1, 1, 0]], "truth: box 0 is too small for its place"),
        (np.array([CUBE, skewed()]), "truth: box 1 has vertices that are not those of a box"),
        (np.array([CUBE, np.vstack([CUBE[:7], CUBE[:1]])]), "truth: box 1 is flat or has a vertex twice"),
        (CUBE[np.newaxis] * [1, 1, 0], "truth: box 0 is flat or has a vertex twice"),
        (np.zeros((1, 8, 3)), "truth: box 0 is flat or has a vertex twice"),
        (np.random.default_rng(0).normal(size=(3, 8, 3)), "truth: box 0 has vertices that are not those of a box"),
        (np.zeros((2, 5)), r"truth: expected shape \(M, 6\)"),
        (np.zeros((2, 7, 3)), r"truth: expected shape \(M, 6\)"),
        (np.zeros(6), r"truth: expected shape \(M, 6\)"),
        ([[0, 0, 0, 1, 1, 1], [0, 0]], "truth: expected a regular array of numbers"),
        ([["a"] * 6], "truth: expected a regular array of numbers"),
        ([[True] * 6], "truth: expected a regular array of numbers"),
        (None, "truth: expected a regular array of numbers"),
    ],
)
def test_what_is_no_box_is_refused(geometry, message):
    with pytest.raises(InputError, match=message) as error:
        solids(geometry, "truth")
    assert "\n" not in str(error.value)
