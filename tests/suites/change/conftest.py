"""Small datasets of ``change``: simulated rooms, and rooms written by hand."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from gnomon.intake.clouds import Cloud, write_cloud
from gnomon.suites.change.simulate import simulate


@pytest.fixture(scope="session")
def rooms(tmp_path_factory):
    """Seven simulated rooms of few points."""
    folder = tmp_path_factory.mktemp("change") / "rooms"
    simulate(SimpleNamespace(directory=str(folder), rooms=7, seed=3, points=2500, format="npz", encoding="binary"))
    return folder


@pytest.fixture
def by_hand(tmp_path):
    """Write a dataset of scenes ``{"001-3": [("Add", low corner, high corner), ...]}``; every scan has 50 points."""

    def write(scenes, name="data"):
        folder = tmp_path / name
        (folder / "Label").mkdir(parents=True)
        rng = np.random.default_rng(0)
        for room in {scene.split("-")[0] for scene in scenes}:
            scans = folder / "Data" / room
            scans.mkdir(parents=True)
            for stem in (f"{room}-1", *(scene for scene in scenes if scene.startswith(f"{room}-"))):
                write_cloud(scans / f"{stem}.npz", Cloud(rng.uniform(0, 10, (50, 3))))
        for scene, boxes in scenes.items():
            listed = [{"label": label, "min": list(low), "max": list(high)} for label, low, high in boxes]
            (folder / "Label" / f"{scene}.json").write_text(json.dumps({"boxes": listed}))
        return folder

    return write
