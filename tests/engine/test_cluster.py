"""Plans worked on by a Dask cluster: a scheduler and workers that are programs of their own, on loopback.

What is expected is what the same plan gives inline; who dies, and when, is up to the test.
"""

import contextlib
import os
import threading
import time

import pytest

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.engine import carrying, cluster
from gnomon.engine.job import work
from gnomon.engine.options import EngineOptions
from gnomon.engine.plan import Limits, Plan
from gnomon.engine.store import Store

pytest.importorskip("distributed", reason="distributed is not installed (extra cluster)")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    from acceptance.cluster import programs

    with programs(tmp_path_factory.mktemp("cluster"), workers=2) as found:
        yield found


@pytest.fixture
def joined(running, options):
    """Options that join the cluster."""
    return lambda **more: options(executor=f"dask://{running.address}", **more)


def test_results_needs_and_work_that_is_done(node, joined, tmp_path):
    log = str(tmp_path / "log")
    data = node("data", kind="artefact", text="d")
    plan = Plan(node(f"c{i}", needs={"data": data}, log=log) for i in range(6))
    for _ in range(2):
        outcome = work(plan, joined())
        found = {name: (path / "text").read_text() for name, path in outcome.done.items()}
        assert found == {f"c{i}": f"dc{i}" for i in range(6)}
    assert len((tmp_path / "log").read_text().split()) == 6
    assert not list((tmp_path / "store").glob("shared-*"))


def test_errors_deaths_and_limits_are_charged_to_their_own_cell(node, joined, tmp_path):
    plan = Plan(
        [
            node("good"),
            node("bad", "fail", message="broken sensor"),
            node("deadly", "die", limits=Limits(retries=0, deaths=1)),
            node("slow", "sleep", seconds=30, limits=Limits(retries=0, seconds=0.5)),
            node("hungry", "eat", bytes=400_000_000, limits=Limits(retries=0, memory_bytes=300_000_000)),
            node("again", "once", how="die", marker=str(tmp_path / "marker")),
            node("fine"),
        ]
    )
    outcome = work(plan, joined())
    assert list(outcome.done) == ["good", "again", "fine"]
    assert outcome.missing["bad"] == "ValueError: broken sensor (engine_toys.py:13) (1 attempt)"
    assert outcome.missing["deadly"] == "its worker died (killed by SIGKILL) (2 attempts)"
    assert outcome.missing["slow"] == "exceeded its time limit of 0.5 s (1 attempt)"
    assert outcome.missing["hungry"].startswith("exceeded its memory limit (")


def test_results_travel_where_the_store_is_not_shared(node, joined, running, tmp_path, monkeypatch):
    """The mark of the store is nowhere, as it would be on a machine with disks of its own."""
    monkeypatch.setattr(cluster, "marked", lambda store: contextlib.nullcontext(os.fspath(tmp_path / "nowhere")))
    data = node("data", kind="artefact", text="far")
    plan = Plan([*(node(f"c{i}", needs={"data": data}) for i in range(4)), node("bad", "fail", needs={"data": data})])
    outcome = work(plan, joined())
    assert {name: (path / "text").read_text() for name, path in outcome.done.items()} == {
        f"c{i}": f"farc{i}" for i in range(4)
    }
    assert "bad" in outcome.missing
    own = Store(tmp_path / "store")
    assert all(own.check(cell.key) for cell in plan.cells if cell.name != "bad")
    assert not own.has(data.key), "what cells need stays where it was made"
    assert list(running.folder.glob(f"worker*/*/{carrying.STORE}/{data.key[:2]}/{data.key}"))


def test_a_result_that_is_too_large_to_travel_says_so(node, joined, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "marked", lambda store: contextlib.nullcontext(os.fspath(tmp_path / "nowhere")))
    monkeypatch.setattr(cluster, "MOST_BYTES", 2)
    outcome = work(Plan([node("c", text="long")]), joined())
    assert "at most 0 are sent: give --store a shared folder" in outcome.missing["c"]


def _wait(done, seconds=30):
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until
        time.sleep(0.2)


def test_a_scheduler_file(node, options, running):
    assert work(Plan([node("a")]), options(executor=f"dask://{running.file}")).complete


def test_without_the_extra_it_is_said_how_to_get_it(node, options, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gnomon\[cluster\]'"):
        work(Plan([node("a")]), options(executor="dask"))


@pytest.mark.parametrize(
    ("text", "found"), [("", ()), ("GPU=1", (("GPU", 1.0),)), (" a=2 , b=.5", (("a", 2), ("b", 0.5)))]
)
def test_resources_are_read(text, found):
    assert EngineOptions(resources=text).limits().resources == found


@pytest.mark.parametrize("text", ["GPU", "GPU=", "=1", "GPU=0", "GPU=-1", "GPU=inf", "GPU=1,GPU=2"])
def test_resources_that_make_no_sense(text):
    with pytest.raises(InputError, match="expected NAME=AMOUNT"):
        EngineOptions(resources=text).limits()


@pytest.mark.kill
def test_a_cluster_that_is_started_here(node, options):
    outcome = work(Plan(node(f"c{i}", seconds=0.1) for i in range(8)), options(executor="dask", workers=2))
    assert outcome.complete
    assert not carrying.HANDS.free, "no process stays"


@pytest.mark.kill
def test_a_scheduler_that_is_restarted_and_workers_that_die(node, options, tmp_path):
    from acceptance.cluster import programs

    log = tmp_path / "log"
    plan = Plan(node(f"c{i}", seconds=0.3, log=str(log)) for i in range(40))
    (tmp_path / "programs").mkdir()
    with programs(tmp_path / "programs", workers=2) as found:
        result = []
        asked = options(executor=f"dask://{found.address}", deaths=10)
        worker = threading.Thread(target=lambda: result.append(work(plan, asked)))
        worker.start()
        _wait(lambda: log.exists() and len(log.read_text().split()) > 3)
        found.kill(found.workers[0])
        found.start_worker()
        _wait(lambda: len(log.read_text().split()) > 10)
        found.kill(found.scheduler)
        for old in list(found.workers):
            found.kill(old)
        found.start_scheduler()
        for _ in range(2):
            found.start_worker()
        worker.join(timeout=120)
    assert result
    assert result[0].complete
    events = (tmp_path / "store" / "progress.jsonl").read_text()
    assert events.count('"event": "done"') + events.count('"event": "found"') == 40
