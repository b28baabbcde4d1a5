"""The stages of ``multi_stage`` and ``distance``, against the recipe written once more with loops, slowly.

The reference is written from the text of the recipe and shares nothing with the code under test: distances come from
tables of all of them, clusters from scikit-learn, boxes are pairs of tuples, clusters lists of rows. Rooms are small
and random: a floor and walls scanned twice, with objects that came, went or stayed.
"""

import functools
import itertools
import math
import statistics
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN

from gnomon.core.seeds import generator
from gnomon.suites.change.files import read_dataset
from gnomon.suites.change.simulate import simulate
from gnomon.suites.change.systems import SYSTEMS, stages
from gnomon.suites.change.systems.distance import Distance
from gnomon.suites.change.systems.multi_stage import MultiStage
from gnomon.suites.change.systems.stages import Candidates

SWITCHES = ("proximity_filter", "boundary_filter", "box_budget", "box_merging")


def distances(points, others, alone=False):
    """Distance of each point to the nearest of others; of itself only to those that are another one."""
    found = []
    for i, (x, y, z) in enumerate(points):
        squares = (others[:, 0] - x) ** 2 + (others[:, 1] - y) ** 2 + (others[:, 2] - z) ** 2
        if alone:
            squares[i] = math.inf
        found.append(math.sqrt(squares.min()))
    return found


def spacing(points):
    """Median distance to the nearest other point."""
    return statistics.median(distances(points, points, alone=True))


def box_of(points, pad=0.0):
    return tuple(min(p[k] for p in points) - pad for k in range(3)), tuple(
        max(p[k] for p in points) + pad for k in range(3)
    )


def hull(boxes):
    return tuple(min(b[0][k] for b in boxes) for k in range(3)), tuple(max(b[1][k] for b in boxes) for k in range(3))


def region(points, away, within, scale):
    low, high = box_of([p for p, d in zip(points, away, strict=True) if d <= within])
    centre = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    half = [(b - a) / 2 * scale for a, b in zip(low, high, strict=True)]
    return tuple(c - h for c, h in zip(centre, half, strict=True)), tuple(
        c + h for c, h in zip(centre, half, strict=True)
    )


def contains(box, p):
    return all(box[0][k] <= p[k] <= box[1][k] for k in range(3))


def volume(box):
    return math.prod(max(b - a, 0.0) for a, b in zip(*box, strict=True))


def common(one, two):
    low = tuple(max(a, b) for a, b in zip(one[0], two[0], strict=True))
    return volume((low, tuple(min(a, b) for a, b in zip(one[1], two[1], strict=True))))


def iou(one, two):
    shared = common(one, two)
    return shared / (volume(one) + volume(two) - shared)


def centre(box):
    return tuple((a + b) / 2 for a, b in zip(*box, strict=True))


def change_rows(points, away, box, beyond):
    return [i for i, (p, d) in enumerate(zip(points, away, strict=True)) if contains(box, p) and d > beyond]


def off_boundary(points, rows, box, margin):
    """Rows that are not within the margin of a face."""
    faces = [(k, side[k]) for side in box for k in range(3)]
    return [i for i in rows if all(abs(points[i][k] - at) >= margin for k, at in faces)]


def clusters(points, rows, eps, min_samples, least, most):
    """Lists of rows, in the order of their numbers."""
    if not rows:
        return []
    labels = DBSCAN(eps=eps, min_samples=min_samples).fit(points[rows]).labels_
    groups = [[row for row, label in zip(rows, labels, strict=True) if label == n] for n in range(max(labels) + 1)]
    return [group for group in groups if least <= len(group) <= most]


def covered(pairs, box, least):
    return [(b, g) for b, g in pairs if common(b, box) / volume(b) >= least or contains(box, centre(b))]


def budget(pairs, most):
    """Most points first, then the longest diagonal; sorting is stable."""
    return sorted(pairs, key=lambda pair: (-len(pair[1]), -math.dist(*pair[0])))[:most]


def merge(pairs, least, apart):
    """Grow groups until no two belong together."""
    groups = [[pair] for pair in pairs]

    def together(one, two):
        return any(iou(a, b) >= least or math.dist(centre(a), centre(b)) <= apart for a, _ in one for b, _ in two)

    moved = True
    while moved:
        moved = False
        for i in range(len(groups)):
            for j in range(i + 1, len(groups)):
                if together(groups[i], groups[j]):
                    groups[i] += groups.pop(j)
                    moved = True
                    break
            if moved:
                break
    return [(hull([b for b, _ in group]), sorted(row for _, rows in group for row in rows)) for group in groups]


def suppress(pairs, most):
    kept = []
    for pair in sorted(pairs, key=lambda pair: -volume(pair[0])):
        if all(iou(pair[0], other[0]) < most for other in kept):
            kept.append(pair)
    return kept


def drop_enclosing(pairs):
    def encloses(one, two):
        return one != two and all(one[0][k] <= two[0][k] and one[1][k] >= two[1][k] for k in range(3))

    return [pair for pair in pairs if not any(encloses(pair[0], other[0]) for other in pairs)]


def score(rows, away, beyond):
    typical = statistics.median(away[i] for i in rows)
    return math.sqrt(len(rows) / (len(rows) + 50) * (1 - beyond / typical))


def one_class(points, away, space, box, asked):
    """Stages 2 to 8 for one scan: (box, rows, score) of what is left."""
    beyond = 1.05 * (0.03 if asked["proximity_filter"] else asked["distance_threshold"])
    rows = change_rows(points, away, box, beyond)
    if asked["boundary_filter"]:
        rows = off_boundary(points, rows, box, 0.10 * 1.05)
    groups = clusters(points, rows, max(asked["eps"], 1.6 * space), 5, 10, 100_000)
    pad = max(0.75 * space, 0.02)
    pairs = covered([(box_of(points[group], pad), group) for group in groups], box, 0.5)
    if asked["box_budget"]:
        pairs = budget(pairs, asked["box_budget_per_class"])
    if asked["box_merging"]:
        pairs = merge(pairs, 0.20, 0.07)
    pairs = drop_enclosing(suppress(pairs, 0.70))
    return [(b, group, score(group, away, beyond)) for b, group in pairs]


def measured(reference, comparison):
    """By class: the scan, the distances to the other one and the spacing."""
    reference, comparison = np.asfortranarray(reference), np.asfortranarray(comparison)
    return {
        "Add": (comparison, np.array(distances(comparison, reference)), spacing(comparison)),
        "Remove": (reference, np.array(distances(reference, comparison)), spacing(reference)),
    }


def multi_stage(sides, **asked):
    """What the whole recipe finds: by class, a list of (box, rows, score)."""
    asked = {
        "distance_threshold": 0.06,
        "eps": 0.015,
        "box_budget_per_class": 5,
        **dict.fromkeys(SWITCHES, True),
        **asked,
    }
    box = region(*sides["Remove"][:2], asked["distance_threshold"] * 1.05, 0.96)
    return {name: one_class(*side, box, asked) for name, side in sides.items()}


def distance(sides, threshold=0.05, eps=0.05, min_cluster=50, min_samples=25):
    found = {}
    for name, (points, away, _) in sides.items():
        groups = clusters(points, np.flatnonzero(away > threshold).tolist(), eps, min_samples, min_cluster, 10**9)
        found[name] = [(box_of(points[g], 0.02), g, score(g, away, threshold)) for g in groups]
    return found


def surface(rng, low, high, n):
    """Points on the faces of a box."""
    p = rng.uniform(size=(n, 3))
    p[np.arange(n), rng.integers(0, 3, n)] = rng.integers(0, 2, n)
    return np.asarray(low) + p * (np.asarray(high) - low)


def room(seed, n=1200):
    """A reference and a comparison of about n points; objects are small and dense, two of them inside of another."""
    rng = generator(seed, "room")
    scans = [surface(rng, [0, 0, 0], [1.6, 1.3, 1.0], n) + rng.normal(0, 0.003, (n, 3)) for _ in range(2)]
    for _ in range(8):
        low = rng.uniform([0.05, 0.05, 0.05], [1.4, 1.1, 0.8])
        which = rng.integers(0, 3)
        for k in range(2):
            if which in (k, 2):
                box = surface(rng, low, low + rng.uniform(0.04, 0.15, 3), 60)
                scans[k] = np.concatenate([scans[k], box + rng.normal(0, 0.002, box.shape)])
    for k in range(2):
        low = rng.uniform([0.2, 0.2, 0.2], [1.0, 0.7, 0.45])
        within = low + 0.17 + rng.uniform(-0.07, 0.07, 3)
        nested = [surface(rng, low, low + 0.4, 1600), surface(rng, within, within + 0.06, 60)]
        scans[k] = np.concatenate([scans[k], *nested])
    return tuple(rng.permutation(scan) for scan in scans)


def same(detection, wanted, sizes):
    """Compare boxes, scores and labels of points, whatever the order of boxes within a class."""
    for name, code, labels in (
        ("Add", 1, detection.comparison_labels),
        ("Remove", 2, detection.reference_labels),
    ):
        own = [i for i, kind in enumerate(detection.classes) if kind == name]
        found = sorted((tuple(detection.boxes[i]), detection.scores[i]) for i in own)
        expected = sorted((tuple(low + high), score) for (low, high), _, score in wanted[name])
        assert len(found) == len(expected)
        for (box, score), (other, true) in zip(found, expected, strict=True):
            np.testing.assert_allclose(box, other, rtol=0, atol=1e-12)
            assert score == pytest.approx(true, abs=1e-12)
        changed = np.zeros(sizes[name], dtype=np.uint8)
        for _, rows, _ in wanted[name]:
            changed[rows] = code
        np.testing.assert_array_equal(labels, changed)


@functools.cache
def measured_room(seed):
    return measured(*room(seed))


ASKED = [
    {},
    *({switch: False} for switch in SWITCHES),
    dict.fromkeys(SWITCHES, False),
    {"eps": 0.07, "box_budget_per_class": 3, "distance_threshold": 0.04},
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: ",".join(asked) or "full")
def test_multi_stage_equals_the_recipe(seed, asked):
    reference, comparison = room(seed)
    detection = MultiStage(**asked).detect(reference, comparison)
    wanted = multi_stage(measured_room(seed), **asked)
    same(detection, wanted, {"Add": len(comparison), "Remove": len(reference)})


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Scenes of a simulated room, shrunk to a third, so that a few points are as dense as many."""
    folder = tmp_path_factory.mktemp("simulated")
    options = {"rooms": 1, "seed": 5, "points": 8000, "format": "npz", "encoding": "binary"}
    simulate(types.SimpleNamespace(directory=str(folder), **options))
    scenes = {scene.category: scene.clouds() for scene in read_dataset(folder)}
    return {name: tuple(cloud.points.astype(float) / 3 for cloud in clouds) for name, clouds in scenes.items()}


@pytest.mark.parametrize("category", ["Composite", "Unchanged"])
def test_multi_stage_equals_the_recipe_on_simulated_rooms(simulated, category):
    reference, comparison = simulated[category]
    sides, sizes = measured(reference, comparison), {"Add": len(comparison), "Remove": len(reference)}
    for asked in ({}, {"box_budget": False, "boundary_filter": False}):
        found = MultiStage(**asked).detect(reference, comparison)
        assert len(found.boxes) or category == "Unchanged"
        same(found, multi_stage(sides, **asked), sizes)


def test_the_rooms_put_every_stage_to_work():
    counts = [
        counts
        for seed in range(4)
        for asked in ("multi_stage", "multi_stage@box_budget=false")
        for counts in SYSTEMS.make(asked).detect(*room(seed)).facts["counts"].values()
    ]
    order = ("change_points", "off_boundary", "clusters", "budgeted", "merged", "boxes")
    for before, after in itertools.pairwise(order):
        assert any(row[after] < row[before] for row in counts), (before, after)
        assert all(row[after] <= row[before] for row in counts)
    assert all(any(row[stage] for row in counts) for stage in order)


@pytest.mark.parametrize("seed", range(4))
def test_distance_equals_the_recipe(seed):
    reference, comparison = room(seed)
    asked = {"min_cluster": 20, "min_samples": 10}
    detection = Distance(**asked).detect(reference, comparison)
    wanted = distance(measured_room(seed), **asked)
    assert wanted["Add"] or wanted["Remove"]
    same(detection, wanted, {"Add": len(comparison), "Remove": len(reference)})


def candidates(pairs):
    """The same candidates for the code under test."""
    boxes = np.array([low + high for (low, high), _ in pairs]).reshape(-1, 6)
    owner = np.full(1 + max((row for _, rows in pairs for row in rows), default=-1), -1)
    for i, (_, rows) in enumerate(pairs):
        owner[rows] = i
    return Candidates(boxes, np.array([len(rows) for _, rows in pairs], dtype=np.int64), owner)


def as_pairs(found):
    return [
        ((tuple(box[:3]), tuple(box[3:])), np.flatnonzero(found.owner == i).tolist())
        for i, box in enumerate(found.boxes.tolist())
    ]


@st.composite
def drawn_pairs(draw):
    """Boxes with corners on a lattice, so that overlaps, equal supports and enclosing ones are common."""
    pairs, row = [], 0
    for _ in range(draw(st.integers(0, 9))):
        low = draw(st.tuples(*[st.integers(0, 6)] * 3))
        size = draw(st.tuples(*[st.integers(1, 4)] * 3))
        count = draw(st.integers(1, 3))
        box = tuple(a / 8 for a in low), tuple((a + b) / 8 for a, b in zip(low, size, strict=True))
        pairs.append((box, list(range(row, row + count))))
        row += count
    return pairs


def unordered(pairs):
    return sorted((box, tuple(rows)) for box, rows in pairs)


@given(drawn_pairs())
@settings(max_examples=150)
def test_stages_on_boxes_equal_loops(pairs):
    found = candidates(pairs)
    box = (0.1875,) * 3, (0.8125,) * 3
    roi = np.array(box[0] + box[1])
    assert as_pairs(stages.covered(found, roi, 0.5)) == covered(pairs, box, 0.5)
    assert as_pairs(stages.budgeted(found, 3)) == budget(pairs, 3)
    assert unordered(as_pairs(stages.merged(found, 0.2, 0.07))) == unordered(merge(pairs, 0.2, 0.07))
    assert unordered(as_pairs(stages.suppressed(found, 0.7))) == unordered(suppress(pairs, 0.7))
    unique = list({pair[0]: pair for pair in reversed(pairs)}.values())[::-1]
    assert unordered(as_pairs(stages.without_enclosing(found))) == unordered(drop_enclosing(unique))


@pytest.mark.parametrize("seed", range(3))
def test_stages_on_points_equal_loops(seed):
    reference, comparison = room(seed, n=600)
    away = np.array(distances(reference, comparison))
    found = stages.region(reference, away, 0.063, 0.96)
    box = region(reference, away, 0.063, 0.96)
    np.testing.assert_allclose(found, box[0] + box[1], rtol=0, atol=1e-15)
    rows = stages.changed(reference, away, found, 0.0315)
    assert rows.tolist() == change_rows(reference, away, box, 0.0315)
    kept = rows[stages.off_faces(reference[rows], found, 0.105)].tolist()
    assert kept == off_boundary(reference, rows.tolist(), box, 0.105)
    owner = stages.cluster(reference[kept], 0.06, 5, 10, 50)
    groups = clusters(reference, kept, 0.06, 5, 10, 50)
    assert [[kept[i] for i in np.flatnonzero(owner == k)] for k in range(owner.max(initial=-1) + 1)] == groups
    boxed = stages.enclose(reference[kept], owner, 0.02)
    expected = [sum(box_of(reference[group], 0.02), ()) for group in groups]
    np.testing.assert_allclose(boxed.boxes, np.reshape(expected, (-1, 6)), rtol=0, atol=1e-15)
    assert boxed.support.tolist() == [len(group) for group in groups]
    scores = stages.confidence(boxed, away[kept], 0.0315)
    np.testing.assert_allclose(scores, [score(group, away, 0.0315) for group in groups], rtol=1e-12)


def test_no_region_where_scans_do_not_meet():
    assert stages.region(np.zeros((4, 3)), np.full(4, 1.0), 0.06, 0.96) is None


def test_clusters_that_are_too_large_are_dropped_by_hand():
    # Three clumps of 4, 6 and 8 points; kept are sizes from 5 to 7.
    points = np.concatenate([np.full((n, 3), float(n)) for n in (4, 6, 8)])
    assert stages.cluster(points, 0.5, 2, 5, 7).tolist() == [-1] * 4 + [0] * 6 + [-1] * 8


def test_confidence_grows_with_support_and_contrast_by_hand():
    # 50 points give a support of one half, a distance of twice the threshold a contrast of one half: the root of 1/4.
    owner = np.zeros(50, dtype=np.int64)
    found = Candidates(np.array([[0, 0, 0, 1, 1, 1.0]]), np.array([50]), owner)
    assert stages.confidence(found, np.full(50, 0.06), 0.03).tolist() == pytest.approx([0.5])
    more = Candidates(found.boxes, np.array([450]), np.zeros(450, dtype=np.int64))
    assert stages.confidence(more, np.full(450, 0.06), 0.03)[0] == pytest.approx(math.sqrt(0.45))
    assert stages.confidence(found, np.full(50, 0.3), 0.03)[0] == pytest.approx(math.sqrt(0.45))
    assert (
        0
        < stages.confidence(found, np.full(50, 0.03), 0.03)[0]
        < stages.confidence(more, np.full(450, math.inf), 0)[0]
        < 1
    )


def test_scenes_of_one_merged_pair_by_hand():
    # Two boxes whose centres are 1/16 apart become one, a third at 7/16 does not; all three points stay labelled.
    boxes = [((x, 0.0, 0.0), (x + 0.0625, 0.125, 0.125)) for x in (0.0, 0.0625, 0.5)]
    found = stages.merged(candidates([(box, [i]) for i, box in enumerate(boxes)]), 0.2, 0.07)
    assert found.boxes.tolist() == [[0, 0, 0, 0.125, 0.125, 0.125], [0.5, 0, 0, 0.5625, 0.125, 0.125]]
    assert found.support.tolist() == [2, 1]
    assert found.owner.tolist() == [0, 0, 1]
