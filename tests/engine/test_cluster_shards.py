"""Folders of shards scored on workers of a cluster, with the store of this process and with one of their own.

What is expected is what the same folders give in this process, to the last byte of the scores.
"""

import contextlib
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from acceptance.cluster import programs

import gnomon
from gnomon.engine import cluster

pytest.importorskip("distributed", reason="distributed is not installed (extra cluster)")
SHARDS = 5


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A cluster of two workers as programs."""
    with programs(tmp_path_factory.mktemp("programs"), workers=2) as found:
        yield f"dask://{found.address}"


@pytest.fixture(params=["shared", "unshared"])
def store(request, monkeypatch, tmp_path):
    """Whether workers see the store of this process."""
    if request.param == "unshared":
        monkeypatch.setattr(cluster, "marked", lambda store: contextlib.nullcontext(os.fspath(tmp_path / "nowhere")))


def codes(folder, rng, shard):
    truth = rng.integers(0, 4, 2000).astype(np.uint8)
    said = np.where(rng.random(2000) < 0.7, truth, rng.integers(0, 4, 2000)).astype(np.uint8)
    for side, array in (("truth", truth), ("said", said)):
        np.save(folder / side / f"{shard}.npy", array)


def tables(folder, rng, shard):
    ids, truth = [f"{shard}-{row}" for row in range(400)], rng.choice(["a", "b", "c"], 400)
    said, order = np.where(rng.random(400) < 0.7, truth, "a"), rng.permutation(400)
    columns = {"id": ids, "label": truth.tolist(), "group": [f"person {shard}"] * 400}
    pq.write_table(pa.table(columns), folder / "truth" / f"{shard}.parquet")
    given = pa.table({"id": ids, "label": said.tolist()}).take(pa.array(order))
    pq.write_table(given, folder / "said" / f"{shard}.parquet")


@pytest.fixture(params=[codes, tables])
def folder(request, tmp_path):
    """Shards of codes, or of tables with ids."""
    rng = np.random.default_rng(8)
    for side in ("truth", "said"):
        (tmp_path / side).mkdir()
    for shard in range(SHARDS):
        request.param(tmp_path, rng, shard)
    return tmp_path


def scored(folder, executor, out):
    found = gnomon.score("labels", folder / "truth", {"mine": folder / "said"}, executor=executor, out=folder / out)
    (run,) = found.runs
    assert all(check.passed for check in gnomon.verify(run.path))
    return run


def scores(run):
    with open(os.path.join(run.path, "scores.json"), "rb") as file:
        return file.read()


@pytest.mark.usefixtures("store")
def test_shards_on_a_cluster_are_those_of_this_process(folder, two):
    here, there = scored(folder, "inline", "here"), scored(folder, two, "there")
    assert scores(here) == scores(there)
    assert there.coverage == here.coverage
    assert there.coverage["shards"] == {"truth": SHARDS, "scored": SHARDS, "without predictions": 0}


@pytest.mark.usefixtures("store")
def test_a_corrupt_shard_fails_alone_and_is_all_that_is_left_to_do(folder, two):
    path = next((folder / "said").glob("3.*"))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    run = scored(folder, two, "there")
    assert not run.complete
    assert run.coverage["cells"]["done"] == SHARDS - 1
    assert [item["cell"] for item in run.coverage["cells"]["missing"]] == ["mine: 3"]
    path.write_bytes(whole)
    again = scored(folder, two, "there")
    assert again.complete
    assert scores(again) == scores(scored(folder, "inline", "here"))
