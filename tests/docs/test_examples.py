"""The metric of one's own that a page computes: against scikit-learn, and held to the laws of measures."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon import testing

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/labels/matthews.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("matthews", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(3)
    truth = rng.choice(list("abcd"), 240, p=(0.5, 0.3, 0.15, 0.05))
    return truth, np.where(rng.random(240) < 0.7, truth, rng.choice(list("abcd"), 240))


def given(labels, groups):
    truth, said = labels
    ids = list(range(len(truth)))
    group = [f"g{index % groups}" for index in ids]
    return {"id": ids, "label": list(truth), "group": group}, {"id": ids, "label": list(said)}


def test_it_is_what_scikit_learn_computes(labels):
    metrics = pytest.importorskip("sklearn.metrics")
    truth, said = given(labels, groups=12)
    (run,) = gnomon.score("labels", truth, {"mine": said}, metrics=f"{EXAMPLE}:Matthews").runs
    found = run.find("matthews")
    assert found.value == pytest.approx(metrics.matthews_corrcoef(*labels), abs=1e-12)
    assert found.low < found.value < found.high
    assert found.groups == 12


def test_it_is_undefined_where_nothing_varies(example):
    truth, said = given((np.array(["a"] * 6), np.array(list("aabbab"))), groups=3)
    (run,) = gnomon.score("labels", truth, {"mine": said}, metrics=example.Matthews).runs
    found = run.find("matthews")
    assert (found.value, found.why) == (None, "truth or prediction holds one class only")


def test_it_obeys_the_laws(example):
    assert [text for seed in range(50) for text in testing.check(example.Matthews(), seed)] == []


def test_stored_runs_are_compared_by_it(labels, tmp_path):
    truth, said = given(labels, groups=12)
    gnomon.score("labels", truth, {"mine": said, "perfect": truth}, out=str(tmp_path))
    compared = gnomon.compare(tmp_path, metrics=f"{EXAMPLE}:Matthews").tables["comparison"].rows[0]
    assert [compared[key].value for key in ("measure", "a", "b")] == ["matthews", "perfect", "mine"]
    assert compared["difference"].value > 0
