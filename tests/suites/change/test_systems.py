"""The interface of the detectors that come with the suite, their parameters, registration, and what is trivial."""

import dataclasses
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.core.systems import parse
from gnomon.suites.change.systems import SYSTEMS
from gnomon.suites.change.systems.detection import Detection

UNTRAINED = [name for name in SYSTEMS.builtin if not SYSTEMS.offers(parse(name), "fit")]
TRIVIAL = [name for name in SYSTEMS.builtin if SYSTEMS.declares(parse(name), "trivial")]

NOTHING = {"reference_labels": [], "comparison_labels": []}


def plate(rng, low, high, n):
    p = rng.uniform(size=(n, 3))
    p[np.arange(n), rng.integers(0, 3, n)] = rng.integers(0, 2, n)
    return np.asarray(low) + p * (np.asarray(high) - low)


@pytest.fixture(scope="module")
def scene():
    """A room of 3 x 2.5 x 2 m with a box that came and another one that went, seen from all sides."""
    rng = generator(0, "scene")
    walls = [plate(rng, [0, 0, 0], [3, 2.5, 2], 20_000) + rng.normal(0, 0.002, (20_000, 3)) for _ in range(2)]
    gone, came = plate(rng, [0.6, 0.6, 0.5], [1.0, 0.9, 0.8], 6000), plate(rng, [1.9, 1.5, 0.8], [2.2, 1.9, 1.3], 6000)
    truth = {"Add": [1.9, 1.5, 0.8, 2.2, 1.9, 1.3], "Remove": [0.6, 0.6, 0.5, 1.0, 0.9, 0.8]}
    return np.concatenate([walls[0], gone]), np.concatenate([walls[1], came]), truth


@pytest.mark.parametrize("name", UNTRAINED)
def test_every_system_keeps_the_interface(name, scene):
    reference, comparison, _ = scene
    system = SYSTEMS.make(name)
    assert dataclasses.is_dataclass(system)
    assert pickle.loads(pickle.dumps(system)) == system
    found, again = system.detect(reference, comparison), SYSTEMS.make(name).detect(reference.copy(), comparison.copy())
    assert found.boxes.dtype == np.float64
    assert found.boxes.shape == (len(found.classes), 6)
    assert set(found.classes) <= {"Add", "Remove"}
    assert found.reference_labels.shape == (len(reference),)
    assert found.comparison_labels.shape == (len(comparison),)
    for one, two in zip(dataclasses.astuple(found)[:5], dataclasses.astuple(again)[:5], strict=True):
        np.testing.assert_array_equal(one, two)
    assert found.facts == again.facts
    with pytest.raises(ValueError, match="read-only"):
        found.reference_labels[0] = 2


@pytest.mark.parametrize("name", ["multi_stage@box_budget_per_class=1", "distance", "icp"])
def test_what_came_and_what_went_is_found(name, scene):
    reference, comparison, truth = scene
    found = SYSTEMS.make(name).detect(reference, comparison)
    assert found.classes == ("Add", "Remove")
    for box, kind in zip(found.boxes, found.classes, strict=True):
        np.testing.assert_allclose(box, truth[kind], atol=0.05)
    assert (found.reference_labels[20_000:] == 2).mean() > 0.9
    assert (found.comparison_labels[20_000:] == 1).mean() > 0.9
    assert (found.reference_labels[:20_000] == 2).mean() < 0.01
    assert ((found.scores > 0.5) & (found.scores < 1)).all()


@pytest.mark.parametrize("name", UNTRAINED)
@pytest.mark.parametrize("sizes", [(0, 0), (0, 30), (30, 0), (1, 1), (2, 40)])
def test_few_points_or_none(name, sizes):
    rng = generator(1, "few")
    found = SYSTEMS.make(name).detect(*(rng.normal(size=(n, 3)) for n in sizes))
    assert (len(found.reference_labels), len(found.comparison_labels)) == sizes
    if name != "everything":
        assert not len(found.boxes)


def test_far_apart_scans_have_no_region(scene):
    reference, comparison, _ = scene
    found = SYSTEMS.make("multi_stage").detect(reference, comparison + 50)
    assert found.facts["region"] is None
    assert "within the distance threshold" in found.facts["why"]["Add"]
    assert not len(found.boxes)
    assert not found.reference_labels.any()


def test_facts_say_whether_the_floor_of_eps_binds(scene):
    reference, comparison, _ = scene
    low = SYSTEMS.make("multi_stage@eps=.001").detect(reference, comparison).facts
    high = SYSTEMS.make("multi_stage@eps=.2").detect(reference, comparison).facts
    for name in ("Add", "Remove"):
        floor = 1.6 * low["spacing"][name]
        assert low["eps"][name] == {"asked": 0.001, "used": floor, "floor_binds": True}
        assert high["eps"][name] == {"asked": 0.2, "used": 0.2, "floor_binds": False}


def test_trivial_systems_by_hand():
    reference, comparison = np.array([[0, 0, 0], [1, 2, 3.0]]), np.array([[5, 5, 5.0]])
    nothing, everything = (SYSTEMS.make(name).detect(reference, comparison) for name in TRIVIAL)
    assert not len(nothing.boxes)
    assert nothing.reference_labels.tolist() == [0, 0]
    np.testing.assert_allclose(
        everything.boxes, [[4.98, 4.98, 4.98, 5.02, 5.02, 5.02], [-0.02, -0.02, -0.02, 1.02, 2.02, 3.02]]
    )
    assert everything.classes == ("Add", "Remove")
    assert everything.scores.tolist() == [0.5, 0.5]
    assert everything.reference_labels.tolist() == [2, 2]
    assert everything.comparison_labels.tolist() == [1]


def test_parameters_by_keyword_or_text():
    system = SYSTEMS.make("multi_stage@eps=0.02@box_budget=false")
    assert (system.eps, system.box_budget, system.distance_threshold) == (0.02, False, 0.06)
    other = SYSTEMS.make(parse("multi_stage@box_budget=false@eps=.02"))
    assert system == SYSTEMS.find("multi_stage")(eps=0.02, box_budget=False) == other
    defaults = SYSTEMS.make("multi_stage")
    assert (defaults.proximity_threshold, defaults.slack, defaults.region_scale, defaults.boundary_margin) == (
        0.03,
        1.05,
        0.96,
        0.10,
    )
    assert defaults.beyond == pytest.approx(0.0315)
    assert SYSTEMS.make("multi_stage@proximity_filter=false@distance_threshold=.04").beyond == pytest.approx(0.042)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("multi_stage@epsilon=1", "no parameter 'epsilon'"),
        ("multi_stage@box_budget=1", "expected true or false"),
        ("multi_stage@eps=-1", "eps is -1.0, expected a finite number that is not negative"),
        ("distance@min_samples=2.5", "expected a whole number"),
        ("nothing@pad=1", "it has none"),
        ("m3c2", "built in are multi_stage"),
    ],
)
def test_wrong_parameters_are_named(text, message):
    with pytest.raises(InputError, match=message):
        SYSTEMS.make(text)


def test_parameters_are_checked_in_python_too():
    with pytest.raises(InputError, match="box_budget is 1"):
        SYSTEMS.find("multi_stage")(box_budget=1)
    with pytest.raises(InputError, match=r"min_points is 2\.5"):
        SYSTEMS.find("multi_stage")(min_points=2.5)
    with pytest.raises(InputError, match="eps is 'x'"):
        SYSTEMS.find("distance")(eps="x")


@pytest.mark.parametrize("name", UNTRAINED)
def test_scans_are_checked(name):
    good = np.zeros((3, 3))
    with pytest.raises(InputError, match="reference scan: row 1"):
        SYSTEMS.make(name).detect([[0, 0, 0], [0, math.nan, 0]], good)
    with pytest.raises(InputError, match="comparison scan"):
        SYSTEMS.make(name).detect(good, np.zeros((3, 4)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"boxes": [[0, 0, 0, 1, 1, 1]], "classes": (), "scores": []}, "1 boxes, 0 classes and 0 scores"),
        ({"boxes": [[0, 0, 0, 1, 1, 1]], "classes": ("Move",), "scores": [0.5]}, "'Move'"),
        ({"boxes": [[0, 0, 0, 1, 0, 1]], "classes": ("Add",), "scores": [0.5]}, "no volume"),
        ({"boxes": [[0, 0, 0, 1, 1, 1]], "classes": ("Add",), "scores": [1.0]}, "score"),
        ({"boxes": [], "classes": (), "scores": [], "reference_labels": [0, 1]}, "reference_labels"),
    ],
)
def test_detections_are_checked(fields, message):
    with pytest.raises(InputError, match=message):
        Detection(**{**NOTHING, **fields})


def test_own_systems_are_found(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "class Mine:\n    def __init__(self, limit: float = 0.1):\n        self.limit = limit\n"
        "    def detect(self, reference, comparison):\n        return None\n"
    )
    assert SYSTEMS.make(f"{path}:Mine@limit=2").limit == 2.0
    assert SYSTEMS.identity(parse(f"{path}:Mine"))["identity"].startswith("Mine:")
    assert SYSTEMS.identity(parse("icp"))["identity"] != SYSTEMS.identity(parse("distance"))["identity"]
    path.write_text("class Mine:\n    pass\n")
    with pytest.raises(InputError, match="detect"):
        SYSTEMS.find(f"{path}:Mine")


def test_names_are_known_without_loading_numbers():
    code = "import sys, gnomon.suites.change.systems as s; assert s.SYSTEMS; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_registration_lays_boxes_into_the_frame_of_the_reference(scene):
    reference, comparison, truth = scene
    shift = np.array([0.04, -0.03, 0.02])
    found = SYSTEMS.make("icp").detect(reference, comparison + shift)
    assert found.facts["registration"]["converged"]
    assert found.facts["registration"]["moved_m"] == pytest.approx(np.linalg.norm(shift), abs=0.01)
    for box, kind in zip(found.boxes, found.classes, strict=True):
        np.testing.assert_allclose(box, truth[kind], atol=0.05)
    assert set(found.classes) == {"Add", "Remove"}
