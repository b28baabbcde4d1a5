"""A third-party package adds a suite and measures through entry points; a broken one is named and skipped.

The package under ``examples/repcount`` is installed by pip into a folder of its own, as a user would install it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [*command, "--target", str(folder), str(ROOT / "examples" / "repcount")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    broken = folder / "gnomon_broken-1.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: gnomon-broken\nVersion: 1\n")
    (broken / "entry_points.txt").write_text("[gnomon.suites]\nbroken = gnomon_absent:SUITE\n")
    return folder


@pytest.fixture
def gnomon(site, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(site)}

    def call(*arguments, code=0):
        command = [sys.executable, "-m", "gnomon", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        return done

    return call


def test_suite_and_measures_are_listed_and_the_broken_one_is_named(gnomon):
    done = gnomon("list", "suites")
    assert "repetition counting" in done.stdout
    assert "labels" in done.stdout
    assert "plug-in 'broken' (gnomon.suites, gnomon-broken) is skipped: ModuleNotFoundError" in done.stderr
    assert "within_one" in gnomon("list", "measures").stdout


def test_its_verb_works_to_the_end(gnomon, tmp_path):
    """Expected by hand: errors 0, 1, 2, 1 over 4 sets; three of them within one."""
    (tmp_path / "truth.csv").write_text("id,subject,count\n1,anna,10\n2,anna,8\n3,ben,12\n4,ben,5\n")
    (tmp_path / "mine.csv").write_text("id,count\n4,6\n3,10\n2,9\n1,10\n")
    options = ("--truth", "truth.csv", "--predictions", "mine.csv", "--system", "mine", "--out", "runs")
    record = json.loads(gnomon("score", "repcount", *options, "--json").stdout)
    scores = {score["name"]: score for score in record["runs"][0]["scores"]}
    assert scores["mae"]["value"] == 1.0
    assert scores["within_one"]["value"] == 0.75
    assert scores["mae"]["groups"] == 2
    assert scores["mae"]["low"] is not None
    assert "FAILED" not in gnomon("verify", "runs").stdout
    assert "mae (repetitions) ↓" in gnomon("report", "runs").stdout
    bad = gnomon("score", "repcount", "--truth", "truth.csv", "--predictions", "truth.csv", "--out", "runs2", code=0)
    assert "1.000" in bad.stdout


def test_its_measures_obey_the_laws(site):
    code = """
import numpy as np
from gnomon import testing
from gnomon_repcount.measures import MEASURES, RepCounts

class Draw(testing.Drawer):
    def draw(self, rng):
        truth = rng.integers(0, 30, int(rng.integers(0, 9)))
        return RepCounts(truth), RepCounts(np.abs(truth + rng.integers(-3, 4, len(truth))))
    def perfect(self, truth):
        return truth

testing.generate(RepCounts, Draw())
broken = [text for measure in MEASURES for seed in range(200) for text in testing.check(measure, seed)]
assert not broken, broken[:3]
print("laws hold")
"""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "laws hold", done.stderr
