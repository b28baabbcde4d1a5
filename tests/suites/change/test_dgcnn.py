"""The learned detector: its network against loops in this file, its laws, what it learns, and what it refuses."""

import json
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from gnomon.core.errors import InputError, MissingExtraError, WorkError
from gnomon.core.seeds import generator
from gnomon.core.systems import parse
from gnomon.suites.change.systems import SYSTEMS, _edgeconv
from gnomon.suites.change.systems.detection import Watch
from gnomon.suites.change.systems.dgcnn import FEATURES, Dgcnn, blocks, features, turn

WHY = "needs torch: pip install 'gnomon[models]'"
SMALL = Dgcnn(width=12, neighbours=6, block=256, blocks_per_scene=8, batch=4, epochs=2, context=0.15)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason=WHY)


class Scene:
    """Two scans of a floor and two walls of 2 m; on the floor of one of them stands a cube that the other lacks."""

    def __init__(self, number, *, added=True, cube=True):
        rng = generator(number, "cube")
        self.scans = [surfaces(rng, [0, 0, 0], [2, 2, 1.2], 4000, (0, 2, 4)) for _ in range(2)]
        self.classes = [np.zeros(4000, dtype=np.uint8) for _ in range(2)]
        self.side = 0.3
        self.low = np.array([*rng.uniform(0.3, 1.4, 2), 0.0])
        if cube:
            points = surfaces(rng, self.low, self.low + self.side, 500, (0, 1, 2, 3, 5))
            self.scans[added] = np.concatenate([self.scans[added], points])
            self.classes[added] = np.concatenate([self.classes[added], np.full(500, 1 if added else 2, dtype=np.uint8)])

    def read(self):
        return *self.scans, *self.classes


def surfaces(rng, low, high, count, faces):
    """Points on some faces of a box: 0 and 1 are its ends along x, 2 and 3 along y, 4 and 5 along z."""
    points = rng.uniform(size=(count, 3))
    face = np.asarray(faces)[rng.integers(0, len(faces), count)]
    points[np.arange(count), face // 2] = face % 2
    return np.asarray(low) + points * (np.asarray(high) - low) + rng.normal(0, 0.002, (count, 3))


def untrained(system=SMALL, seed=0):
    """A system with the weights that training begins with: its laws need no more."""
    weights = _edgeconv.initial(_edgeconv.shapes(FEATURES, system.width), generator(seed, "weights"))
    out = replace(system)
    object.__setattr__(out, "_weights", weights)
    return out


def replace_weights(system, other):
    object.__setattr__(system, "_weights", other._weights)
    return system


def leaky(values):
    return np.where(values > 0, values, _edgeconv.SLOPE * values)


def edges_by_loops(points, near, k, weight, bias):
    """An edge convolution of one block, edge by edge in float64; `near` is what the graph is made of."""
    out = np.empty((len(points), weight.shape[1]))
    for i in range(len(points)):
        around = np.argsort(((near - near[i]) ** 2).sum(axis=1))[:k]
        edges = [leaky(np.concatenate([points[i], points[j] - points[i]]) @ weight + bias) for j in around]
        out[i] = np.max(edges, axis=0)
    return out


def network_by_loops(weights, block, k):
    layer = {name: np.asarray(value, dtype=np.float64) for name, value in weights.items()}
    points, near, found = block, block[:, :3], []
    for at in range(_edgeconv.LAYERS):
        points = near = edges_by_loops(points, near, k, layer[f"edge.{at}.weight"], layer[f"edge.{at}.bias"])
        found.append(points)
    joint = np.concatenate(found, axis=1)
    whole = leaky((joint @ layer["whole.weight"] + layer["whole.bias"]).max(axis=0))
    points = np.concatenate([joint, np.tile(whole, (len(joint), 1))], axis=1)
    points = leaky(points @ layer["head.0.weight"] + layer["head.0.bias"])
    points = leaky(points @ layer["head.1.weight"] + layer["head.1.bias"])
    return (points @ layer["head.2.weight"] + layer["head.2.bias"])[:, 0]


@pytest.mark.parametrize(("count", "k", "size", "width"), [(60, 8, 5, 7), (7, 7, 3, 4), (5, 16, 8, 3), (1, 4, 3, 2)])
def test_edge_convolution_is_the_loop(torch, count, k, size, width):
    rng = generator(1, "edges", str(count))
    blocks_, weight = rng.normal(size=(2, count, size)), rng.normal(size=(2 * size, width))
    bias = rng.normal(size=width)
    tensors = [torch.tensor(array, dtype=torch.float32) for array in (blocks_, weight, bias)]
    found = _edgeconv.edge_convolution(tensors[0], _edgeconv.nearest(tensors[0], k), *tensors[1:]).numpy()
    for block, own in zip(blocks_, found, strict=True):
        np.testing.assert_allclose(own, edges_by_loops(block, block, k, weight, bias), atol=1e-5)


def test_network_is_the_loop(torch):
    rng = generator(2, "network")
    weights = {name: rng.normal(size=size) / 4 for name, size in _edgeconv.shapes(FEATURES, 6).items()}
    block = rng.normal(size=(40, FEATURES))
    tensors = {name: torch.tensor(value) for name, value in weights.items()}
    found = _edgeconv.forward(tensors, torch.tensor(block[np.newaxis]), 5).numpy()[0]
    np.testing.assert_allclose(found, network_by_loops(weights, block, 5), atol=1e-9)


@given(st.integers(1, 70), st.integers(1, 20), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_least_values_are_those_of_a_sort(size, k, ties, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(2, 3, size)).astype(np.float32)
    values = np.round(values) if ties else values
    rows = np.empty((2, 3, min(k, size)), dtype=np.int32)
    _edgeconv._least(values, rows)
    np.testing.assert_array_equal(rows, np.argsort(values, axis=2, kind="stable")[:, :, : rows.shape[2]])


def test_gradients_are_those_of_differences(torch):
    rng = generator(3, "gradients")
    points = torch.tensor(rng.normal(size=(2, 9, 4)), requires_grad=True)
    layer = [torch.tensor(rng.normal(size=size), requires_grad=True) for size in ((8, 5), (5,))]
    graph = _edgeconv.nearest(points.detach(), 4)
    assert torch.autograd.gradcheck(
        lambda *given: _edgeconv.edge_convolution(given[0], graph, *given[1:]), (points, *layer)
    )


def test_focal_loss_by_hand(torch):
    logits, truth = torch.tensor([0.0, np.log(3.0), np.log(3.0), 5.0]), torch.tensor([True, True, False, False])
    # Probabilities of what is true: 1/2, 3/4, 1/4; the last point does not count. Weights 2, 2, 1.
    parts = [2 * 0.5 * np.log(2), 2 * 0.25 * np.log(4 / 3), 0.75 * np.log(4)]
    found = _edgeconv.focal_loss(logits, truth, torch.tensor([1.0, 1.0, 1.0, 0.0]), 1.0, 2.0)
    assert float(found) == pytest.approx(sum(parts) / 5, rel=1e-6)


def test_order_of_points_is_irrelevant(torch):
    rng = generator(4, "order")
    weights = {name: torch.from_numpy(value) for name, value in untrained()._weights.items()}
    block = rng.normal(size=(1, 80, FEATURES)).astype(np.float32)
    order = rng.permutation(80)
    first = _edgeconv.forward(weights, torch.from_numpy(block), 6).numpy()[0]
    second = _edgeconv.forward(weights, torch.from_numpy(block[:, order].copy()), 6).numpy()[0]
    np.testing.assert_allclose(second, first[order], atol=1e-5)
    assert np.ptp(first) > 0.1


def test_place_of_both_scans_is_irrelevant(torch):
    reference, comparison = (np.round(scan * 2**16) / 2**16 for scan in Scene(0).scans)  # so that moving is exact
    move = np.array([16.0, -8.0, 4.0])
    for covers, atol in ((1, 0.0), (2, 1e-4)):
        system = untrained(replace(SMALL, covers=covers, register=False))
        here = system._prepared(reference, comparison, Watch())[0]
        there = system._prepared(reference + move, comparison + move, Watch())[0]
        # Cubes of the context begin at the lowest point of a scan, so that they move along.
        np.testing.assert_array_equal(there.rows, here.rows)
        np.testing.assert_allclose(system.probabilities(there), system.probabilities(here), rtol=0, atol=atol)


@given(st.integers(0, 300), st.integers(1, 40), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_blocks_hold_every_point_once(count, size, ties, seed):
    points = np.random.default_rng(seed).normal(size=(count, 3)) * [5, 1, 1]
    cut = blocks(np.round(points) if ties else points, size)
    assert len(cut) == -(-count // size)
    assert cut.size - count <= len(cut)
    assert count == 0 or cut.shape[1] <= size
    for block in cut:
        assert len(block) - len(set(block.tolist())) <= 1
    assert sorted({int(row) for row in cut.ravel()}) == list(range(count))
    assert sum(len(set(block.tolist())) for block in cut) == count


def test_blocks_are_compact():
    points = generator(5, "blocks").uniform(size=(4096, 3)) * [4, 2, 1]
    cut = blocks(points, 64)
    spans = np.ptp(points[cut], axis=1)
    assert spans.max() < 1.0
    np.testing.assert_allclose(features_of_places(points, cut).min(), -spans.max() / 2, atol=0.1)


def features_of_places(points, cut):
    prepared = SMALL._prepared(points, points + 5, Watch())[0]
    only = replace(prepared, points=points)
    return features(only, cut, 0.3)[..., :3]


def test_every_point_beyond_skip_is_predicted(torch):
    scene = Scene(1)
    system = untrained(replace(SMALL, register=False))
    prepared = system._prepared(*scene.scans, Watch())[0]
    chances = system.probabilities(prepared)
    first, second = scene.scans
    apart = np.concatenate([cKDTree(second).query(first)[0], cKDTree(first).query(second)[0]])
    np.testing.assert_array_equal(np.sort(prepared.rows[prepared.asked]), np.flatnonzero(apart > system.skip))
    assert np.isfinite(chances[prepared.asked]).all()
    assert ((chances[prepared.asked] > 0) & (chances[prepared.asked] < 1)).all()
    assert np.isnan(chances[~prepared.asked]).all()
    assert len(np.unique(prepared.rows)) == len(prepared)
    np.testing.assert_array_equal(prepared.sides, np.where(prepared.rows < len(first), -1, 1))
    np.testing.assert_allclose(prepared.lengths, np.minimum(apart[prepared.rows], system.reach))
    np.testing.assert_allclose(np.linalg.norm(prepared.vectors, axis=1), prepared.lengths, atol=1e-12)
    np.testing.assert_array_equal(prepared.points, np.concatenate(scene.scans)[prepared.rows])


def test_turning_keeps_shapes_and_exchanges_scans():
    prepared = SMALL._prepared(*Scene(1).scans, Watch())[0]
    turned = turn(prepared, 0.7, mirror=True, exchange=True)
    np.testing.assert_allclose(np.linalg.norm(turned.points, axis=1), np.linalg.norm(prepared.points, axis=1))
    np.testing.assert_allclose(turned.points[:, 2], prepared.points[:, 2])
    np.testing.assert_allclose(
        (turned.points * turned.vectors).sum(axis=1), (prepared.points * prepared.vectors).sum(axis=1), atol=1e-12
    )
    np.testing.assert_array_equal(turned.sides, -prepared.sides)
    quarter = turn(replace(prepared, points=np.tile([1.0, 0, 3], (len(prepared), 1))), np.pi / 2)
    np.testing.assert_allclose(quarter.points[0], [0, 1, 3], atol=1e-15)


@pytest.mark.parametrize("sizes", [(0, 0), (0, 30), (30, 0), (1, 1), (2, 40)])
def test_few_points_or_none(torch, sizes):
    rng = generator(6, "few")
    found = untrained().detect(*(rng.normal(size=(n, 3)) for n in sizes))
    assert (len(found.reference_labels), len(found.comparison_labels)) == sizes
    assert found.facts["candidates"] + found.facts["context"] <= sum(sizes)


def test_scans_and_points_that_are_far_away_are_bounded(torch):
    scan = np.concatenate([generator(7, "far").normal(size=(300, 3)), [[1e30, 0, 0]]])
    system = untrained(replace(SMALL, threshold=0.0, min_score=0.0))
    prepared, moved, _ = system._prepared(scan, scan + np.array([0, 1e6, 0]), Watch())
    assert prepared.asked.sum() >= 600
    assert np.isfinite(system.probabilities(prepared)[prepared.asked]).all()
    assert len(system.detect(scan, moved).comparison_labels) == 301


def test_boxes_and_scores_are_those_of_clusters(torch):
    """Clusters by scikit-learn; boxes and mean probabilities of their points computed here."""
    cluster = pytest.importorskip("sklearn.cluster")
    scene = Scene(2)
    system = untrained(replace(SMALL, threshold=0.0, min_score=0.0, eps=0.08, register=False))
    prepared = system._prepared(*scene.scans, Watch())[0]
    chances = system.probabilities(prepared)
    expected = {}
    for kind, side in (("Add", 1), ("Remove", -1)):
        own = prepared.asked & (prepared.sides == side)
        points, own_chances = prepared.points[own], chances[own]
        labels = cluster.DBSCAN(eps=0.08, min_samples=5).fit_predict(points)
        for number in set(labels.tolist()) - {-1}:
            here = labels == number
            if here.sum() >= 30:
                low, high = points[here].min(axis=0) - 0.02, points[here].max(axis=0) + 0.02
                expected[own_chances[here].mean()] = kind, np.concatenate([low, high])
    middle = float(np.median(list(expected)))
    for least in (0.0, middle):
        found = replace_weights(replace(system, min_score=least), system).detect(*scene.scans)
        scores = sorted(score for score in expected if score >= least)
        assert len(scores) == len(found.boxes) > 0
        for box, kind, score in zip(found.boxes, found.classes, found.scores, strict=True):
            near = min(expected, key=lambda other, score=score: abs(other - score))
            assert score == pytest.approx(near, abs=1e-9)
            assert kind == expected[near][0]
            np.testing.assert_allclose(box, expected[near][1], atol=1e-9)
    assert 0 < len(scores) < len(expected)


@pytest.mark.training
def test_same_seed_same_weights_and_nothing_of_torch_is_touched(torch):
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    made = []
    for seed in (3, 3, 4):
        system = replace(SMALL)
        facts = system.fit([Scene(n) for n in range(3)], seed)
        made.append(system._weights)
    assert all(np.array_equal(made[0][name], made[1][name]) for name in made[0])
    assert not all(np.array_equal(made[0][name], made[2][name]) for name in made[0])
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.utils.deterministic.fill_uninitialized_memory
    assert torch.equal(torch.get_rng_state(), state)
    assert facts["parameters"] == sum(value.size for value in made[0].values())
    assert (facts["epochs"], facts["training_scenes"], len(facts["loss"])) == (2, 3, 2)
    assert 0 < facts["updates"] <= 12
    assert facts["blocks"] <= 2 * 3 * 8
    assert json.loads(json.dumps(facts)) == facts


@pytest.mark.training
def test_a_cube_is_learned_saved_and_loaded(torch, tmp_path):
    system = replace(SMALL, width=16, epochs=16)
    facts = system.fit([Scene(n, added=n % 2 == 0, cube=n < 5) for n in range(6)], 0)
    assert facts["loss"][-1] < facts["loss"][0] / 2
    for number, added in ((10, True), (11, False)):
        scene = Scene(number, added=added)
        found = system.detect(*scene.scans)
        labels = found.reference_labels, found.comparison_labels
        predicted, truth = (np.concatenate(side) > 0 for side in (labels, scene.classes))
        f1 = 2 * (predicted & truth).sum() / (predicted.sum() + truth.sum())
        assert f1 > 0.8
        assert found.classes[0] == ("Add" if added else "Remove")
        np.testing.assert_allclose(found.boxes[0], [*scene.low, *(scene.low + scene.side)], atol=0.08)
    system.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"weights.npz", "model.json"}
    other = replace(SMALL, width=16, epochs=99)
    other.load(tmp_path)
    again, pickled = other.detect(*scene.scans), pickle.loads(pickle.dumps(system)).detect(*scene.scans)
    for second in (again, pickled):
        np.testing.assert_array_equal(second.boxes, found.boxes)
        np.testing.assert_array_equal(second.scores, found.scores)
        np.testing.assert_array_equal(second.reference_labels, found.reference_labels)
        np.testing.assert_array_equal(second.comparison_labels, found.comparison_labels)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("whole.bias"), "whole.bias is not there"),
        (lambda w: w.update({"edge.1.weight": w["edge.1.weight"][1:]}), r"edge\.1\.weight is float32 \(23, 12\)"),
        (lambda w: w.update({"head.2.bias": w["head.2.bias"].astype(np.float64)}), "head.2.bias is float64"),
        (lambda w: w.update({"more": np.zeros(1)}), "'more' is not a weight"),
        (lambda w: w["head.2.bias"].fill(np.nan), "not finite"),
    ],
)
def test_wrong_weights_are_refused(torch, tmp_path, change, message):
    system = untrained()
    change(system._weights)
    system.save(tmp_path)
    with pytest.raises(InputError, match=message):
        replace(SMALL).load(tmp_path)


def test_weights_of_other_parameters_are_refused(torch, tmp_path):
    untrained().save(tmp_path)
    replace(SMALL, threshold=0.9, eps=0.1).load(tmp_path)
    with pytest.raises(InputError, match=r"skip is 0\.025, expected 0\.03"):
        replace(SMALL, skip=0.03).load(tmp_path)
    with pytest.raises(InputError, match="width is 12, expected 64"):
        Dgcnn().load(tmp_path)


def test_what_cannot_be_used_is_refused(torch):
    with pytest.raises(InputError, match="not trained"):
        Dgcnn().detect(np.zeros((3, 3)), np.zeros((3, 3)))
    with pytest.raises(InputError, match="reference scan: row 1"):
        Dgcnn().detect([[0, 0, 0], [0, np.nan, 0]], np.zeros((3, 3)))
    with pytest.raises(InputError, match="nothing changed in 2 training scenes"):
        replace(SMALL).fit([Scene(0, cube=False), Scene(1, cube=False)], 0)
    with pytest.raises(InputError, match="block is 0, expected more than 0"):
        SYSTEMS.make("dgcnn@block=0")
    with pytest.raises(InputError, match="skip is -1"):
        SYSTEMS.make("dgcnn@skip=-1")


@pytest.mark.training
def test_a_loss_that_is_not_finite_is_refused(torch):
    with pytest.raises(WorkError, match="take a lower rate"):
        replace(SMALL, rate=1e30).fit([Scene(0)], 0)


def test_it_is_known_by_name_and_weights_are_no_parameter():
    assert SYSTEMS.offers(parse("dgcnn"), "fit")
    assert SYSTEMS.make("dgcnn@epochs=3") == Dgcnn(epochs=3)
    assert SYSTEMS.parameters("dgcnn")["threads"] == 1
    assert all(isinstance(value, (bool, int, float)) for value in SYSTEMS.parameters("dgcnn").values())


def test_torch_is_loaded_only_when_needed():
    code = (
        "import sys; from gnomon.suites.change.systems import SYSTEMS; SYSTEMS.make('dgcnn@epochs=3');"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("asked", ["fit", "load", "detect"])
def test_missing_torch_is_named(monkeypatch, tmp_path, asked):
    monkeypatch.setitem(sys.modules, "torch", None)
    given = {"fit": ([], 0), "load": (tmp_path,), "detect": (np.zeros((3, 3)), np.zeros((3, 3)))}[asked]
    with pytest.raises(MissingExtraError, match=r"dgcnn needs torch.*pip install 'gnomon\[models\]'"):
        getattr(Dgcnn(), asked)(*given)
