"""Rays end where small steps through solids do; bounds are tight; bundles change nothing. Expected values are stated by
hand or found from the definition of each solid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gnomon.simulation.rays import (
    BOX,
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    NOTHING,
    UPRIGHT,
    bounds,
    bundle,
    cast,
    cuboid,
    ellipsoid,
    move_solids,
    room,
    upright_cylinder,
)

PLACES = st.tuples(*[st.floats(-1, 1)] * 3)
SIZES = st.tuples(*[st.floats(0.2, 1.2)] * 3)
CENTRED = st.tuples(st.sampled_from([cuboid, ellipsoid]), PLACES, SIZES, st.floats(-3, 3)).map(
    lambda given: given[0](*given[1:])
)
STANDING = st.tuples(PLACES, st.floats(0.1, 0.6), st.floats(0.2, 1.2)).map(lambda given: upright_cylinder(*given))
WITH_AXIS = st.tuples(st.sampled_from([CAPSULE, CYLINDER]), PLACES, PLACES, st.floats(0.1, 0.5)).map(
    lambda given: [given[0], *given[1], *np.add(given[2], (0.0, 0.0, 2.2)), given[3]]  # never of length 0
)
SOLIDS = st.one_of(CENTRED, STANDING, WITH_AXIS)


def alone(directions):
    """Every ray is a bundle of its own."""
    return bundle(np.array(directions, dtype=float), np.arange(len(directions)))


def inside(solid, points):
    """Which points are inside a solid, from its definition."""
    kind = solid[0]
    if kind in (CAPSULE, CYLINDER):
        start, end, radius = np.array(solid[1:4]), np.array(solid[4:7]), solid[7]
        share = (points - start) @ (end - start) / ((end - start) @ (end - start))
        nearest = start + np.clip(share, 0, 1)[:, np.newaxis] * (end - start)
        near = np.linalg.norm(points - nearest, axis=1) <= radius
        return near if kind == CAPSULE else near & (share >= 0) & (share <= 1)
    centre, half, yaw = np.array(solid[1:4]), np.array(solid[4:7]), solid[7]
    turn = np.array([[np.cos(yaw), np.sin(yaw), 0], [-np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    q = (points - centre) @ turn.T
    if kind == BOX:
        return (np.abs(q) <= half).all(axis=1)
    if kind == UPRIGHT:
        return (np.hypot(q[:, 0], q[:, 1]) <= half[0]) & (np.abs(q[:, 2]) <= half[2])
    assert kind == ELLIPSOID
    return ((q / half) ** 2).sum(axis=1) <= 1


@settings(max_examples=120, deadline=None)
@given(solids=st.lists(SOLIDS, min_size=1, max_size=4), seed=st.integers(0, 10_000))
def test_rays_stop_where_small_steps_meet_a_solid(solids, seed):
    rng = np.random.default_rng(seed)
    origin = np.array([4.0, 3.5, 2.5])
    aims = rng.uniform(-1, 1, (40, 3)) - origin
    directions = aims / np.linalg.norm(aims, axis=1, keepdims=True)
    hits = cast(np.array(solids), origin, bundle(directions, np.arange(40) // 7))
    step = 0.004
    steps = np.arange(0, 9, step)
    for ray, direction in enumerate(directions):
        walked = np.array([inside(solid, origin + steps[:, np.newaxis] * direction) for solid in solids])
        met = walked.any(axis=0)
        first = steps[np.argmax(met)] if met.any() else np.inf
        if hits.owners[ray] == NOTHING:
            assert met.sum() <= 1  # a grazed corner, at most
            assert hits.ranges[ray] == np.inf
        elif hits.ranges[ray] + 3 * step < first:  # a solid thinner than a step was met before
            beyond = origin + (hits.ranges[ray] + np.array([1e-9, 1e-6, 1e-4, 1e-3])[:, np.newaxis]) * direction
            assert inside(solids[hits.owners[ray]], beyond).any()
        else:
            assert first - step <= hits.ranges[ray] <= first + 1e-9


@settings(max_examples=120, deadline=None)
@given(solid=SOLIDS, seed=st.integers(0, 10_000))
def test_normals_point_out_of_the_surface(solid, seed):
    """A small step against the normal leads into the solid or along its edge, one with it out of the solid."""
    rng = np.random.default_rng(seed)
    origin = np.array([4.0, 3.5, 2.5])
    directions = rng.uniform(-1, 1, (60, 3)) - origin
    hits = cast(np.array([solid]), origin, alone(directions))
    met = hits.owners == 0
    reached = (origin + hits.ranges[met, np.newaxis] * directions[met]).reshape(-1, 3)
    normals = hits.normals[met]
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-9)
    assert not inside(solid, reached + 1e-5 * normals).any()
    assert inside(solid, reached - 1e-5 * normals).mean() > 0.9 if met.sum() > 10 else True
    unit = directions[met] / np.linalg.norm(directions[met], axis=1, keepdims=True)
    np.testing.assert_allclose(hits.cosines[met], -(unit * normals).sum(axis=1), atol=1e-9)
    assert not hits.normals[~met].any()


@settings(max_examples=120, deadline=None)
@given(solid=SOLIDS)
def test_bounds_hold_the_surface_tightly(solid):
    rng = np.random.default_rng(0)
    (box,) = bounds(np.array([solid]))
    points = rng.uniform(box[:3] - 0.2, box[3:] + 0.2, (40_000, 3))
    held = points[inside(solid, points)]
    assert (held >= box[:3] - 1e-12).all()
    assert (held <= box[3:] + 1e-12).all()
    assert (held.min(axis=0) < box[:3] + 0.2).all()
    assert (held.max(axis=0) > box[3:] - 0.2).all()


@settings(max_examples=60, deadline=None)
@given(solid=SOLIDS, yaw=st.floats(-3, 3), shift=PLACES)
def test_moved_solids_hold_the_moved_points(solid, yaw, shift):
    points = np.random.default_rng(0).uniform(-3, 3, (4000, 3))
    turn = Rotation.from_euler("z", yaw)
    before = inside(solid, points)
    (moved,) = move_solids(np.array([solid]), yaw, shift)
    assert np.mean(before != inside(moved, turn.apply(points) + shift)) < 1e-3  # rounding at the surface


def test_a_box_seen_straight_on():
    """From 3 m before a cube of 1 m: its face is 2.5 m away, and the ray along the diagonal of the plane meets it at
    45 degrees."""
    cube = np.array([cuboid((0, 0, 0), (1, 1, 1))])
    hits = cast(cube, np.array([-3.0, 0, 0]), alone([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [2, 0, 0], [0, 0, 0]]))
    assert hits.ranges.tolist() == [2.5, np.inf, np.inf, 1.25, np.inf]
    assert hits.owners.tolist() == [0, NOTHING, NOTHING, 0, NOTHING]
    assert hits.cosines[[0, 3]].tolist() == [1.0, 1.0]
    assert hits.normals[0].tolist() == [-1, 0, 0]
    slanted = cast(cube, np.array([-1.0, -0.5, 0]), alone([[np.sqrt(0.5), np.sqrt(0.5), 0]]))
    assert slanted.ranges[0] == pytest.approx(np.sqrt(0.5))
    assert slanted.cosines[0] == pytest.approx(np.sqrt(0.5))


def test_a_room_is_seen_from_inside():
    """From the middle of a room of 4 x 3 x 2 m every wall is half a side away and its normal points to the middle."""
    walls = np.concatenate([np.eye(3), -np.eye(3)])
    hits = cast(np.array([room((2, 1.5, 1), (4, 3, 2))]), np.array([2.0, 1.5, 1.0]), alone(walls))
    assert hits.ranges.tolist() == [2, 1.5, 1, 2, 1.5, 1]
    assert np.array_equal(hits.normals, -walls)
    assert hits.owners.tolist() == [0] * 6


def test_a_ray_along_the_axis_meets_the_end():
    """A rod of 1 m and 10 cm along x: its lid is 2 m away, that of a capsule 10 cm nearer."""
    for kind, away in ((CYLINDER, 2.0), (CAPSULE, 1.9)):
        rod = np.array([[kind, 0, 0, 0, 1, 0, 0, 0.1]])
        hits = cast(rod, np.array([-2.0, 0, 0]), alone([[1, 0, 0]]))
        assert hits.ranges[0] == pytest.approx(away)
        assert hits.normals[0] == pytest.approx([-1, 0, 0])


@settings(max_examples=40, deadline=None)
@given(solids=st.lists(SOLIDS, min_size=3, max_size=12), seed=st.integers(0, 10_000))
def test_bundles_and_turned_axes_change_nothing(solids, seed):
    rng = np.random.default_rng(seed)
    table = np.array([*solids, room((0, 0, 0), (9, 9, 9))])
    directions, bundles = rng.normal(size=(300, 3)), rng.integers(0, 7, 300)
    directions[::17] = 0.0
    turn, origin = Rotation.random(random_state=seed), rng.uniform(-2, 2, 3)
    expected = cast(table, origin, alone(directions))
    for kind in (bundles, np.zeros(300, dtype=int), np.arange(300) // 8):
        found = cast(table, origin, bundle(directions, kind))
        assert np.array_equal(found.ranges, expected.ranges)
        assert np.array_equal(found.owners, expected.owners)
    turned = cast(table, origin, bundle(turn.inv().apply(directions), bundles), turn.as_matrix())
    np.testing.assert_allclose(turned.ranges, expected.ranges, rtol=1e-6)
    assert (expected.owners[::17] == NOTHING).all()
