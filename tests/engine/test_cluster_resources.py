"""What nodes take of workers of a cluster: it is waited for, one worker has to have all of it, and lacking is said.

What is expected is written by hand; workers are programs of their own on loopback, which declare what a test says.
"""

import threading
import time
from dataclasses import replace

import pytest
from acceptance.cluster import programs

from gnomon.core.errors import InputError
from gnomon.engine import cluster
from gnomon.engine.job import work
from gnomon.engine.plan import Limits, Plan

pytest.importorskip("distributed", reason="distributed is not installed (extra cluster)")

GPU = Limits(retries=0, resources=(("GPU", 1.0),))
BOTH = Limits(retries=0, resources=(("GPU", 1.0), ("BIG", 1.0)))


@pytest.fixture
def some_workers(tmp_path):
    """Start a cluster whose workers declare what is given; wait until all of them are there."""
    (tmp_path / "programs").mkdir()
    with programs(tmp_path / "programs", workers=0) as found:

        def start(*declared):
            workers = [found.start_worker(*(("--resources", one) if one else ())) for one in declared]
            _wait(lambda: len(_registered(found)) == len(found.workers))
            return found, workers

        yield start


def _registered(found):
    import distributed

    with distributed.Client(found.address, set_as_default=False) as client:
        return client.scheduler_info(n_workers=-1)["workers"]


def _wait(done, seconds=30):
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until
        time.sleep(0.1)


def _worked(plan, asked):
    """Work on a plan apart, so that what never ends is an error of the test."""
    result = []

    def run():
        try:
            result.append(work(plan, asked))
        except InputError as error:
            result.append(error)

    threading.Thread(target=run, daemon=True).start()
    _wait(lambda: result)
    if isinstance(result[0], InputError):
        raise result[0]
    return result[0]


def _lines(log):
    return log.read_text().split() if log.exists() else []


@pytest.mark.kill
def test_the_death_of_the_only_worker_that_has_it(node, options, some_workers, tmp_path):
    """The others go on, and what takes it is done by the worker that comes in its place."""
    found, (gpu, _) = some_workers("GPU=1", "")
    log, result = tmp_path / "log", []
    heavy = [replace(node(f"gpu{i}", limits=GPU, seconds=1, log=str(log)), heavy=True) for i in range(4)]
    light = [node(f"light{i}", limits=GPU, seconds=0.3, log=str(log)) for i in range(12)]
    asked = options(executor=f"dask://{found.address}")
    thread = threading.Thread(target=lambda: result.append(work(Plan([*heavy, *light]), asked)), daemon=True)
    thread.start()
    _wait(lambda: any(line.startswith("gpu") for line in _lines(log)))
    time.sleep(0.5)  # in the middle of the next one
    found.kill(gpu)
    _wait(lambda: sum(line.startswith("light") for line in _lines(log)) == len(light))
    assert thread.is_alive()
    found.start_worker("--resources", "GPU=1")
    thread.join(timeout=60)
    assert result, "the command ended in an error, or not at all"
    assert result[0].complete


@pytest.mark.slow
def test_workers_that_have_it_may_come_later(node, options, some_workers, monkeypatch, capfd):
    monkeypatch.setattr(cluster, "QUIET", 0.5)
    found, _ = some_workers("")
    threading.Timer(3, found.start_worker, ["--resources", "GPU=1"]).start()
    assert work(Plan([node("a", limits=GPU)]), options(executor=f"dask://{found.address}")).complete
    said = "gnomon: no worker of the cluster has GPU=1: 1 worker declares nothing; waiting for one\n"
    assert said in capfd.readouterr().err


def test_patience_ends(node, options, some_workers, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1.5)
    found, _ = some_workers("", "")
    text = "^no worker of the cluster has GPU=1: 2 workers declare nothing; start workers with --resources GPU=1$"
    with pytest.raises(InputError, match=text):
        work(Plan([node("a", limits=GPU)]), options(executor=f"dask://{found.address}"))


@pytest.mark.slow
def test_patience_begins_when_something_waits_for_it(node, options, some_workers, monkeypatch):
    """While what it needs is being made, nobody has to be there who can do it."""
    monkeypatch.setattr(cluster, "PATIENCE", 1.5)
    found, _ = some_workers("")
    first = node("made", seconds=10)
    heavy = replace(node("trained", limits=GPU), heavy=True, needs={"it": first})
    # Longer than patience after the begin, and so long before the end that a busy machine has started it by then.
    threading.Timer(3, found.start_worker, ["--resources", "GPU=1"]).start()
    assert work(Plan([first, heavy]), options(executor=f"dask://{found.address}")).complete


@pytest.mark.slow
def test_one_worker_has_to_have_all_of_it(node, options, some_workers, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1.5)
    found, _ = some_workers("GPU=1", "BIG=1")
    asked = options(executor=f"dask://{found.address}")
    text = "^no worker of the cluster has GPU=1,BIG=1: 2 workers declare 'BIG=1', 'GPU=1'; start workers with "
    with pytest.raises(InputError, match=f"{text}--resources GPU=1,BIG=1$"):
        _worked(Plan([node("a", limits=BOTH)]), asked)
    some_workers("GPU=2,BIG=1")
    assert work(Plan([node(f"a{i}", limits=BOTH) for i in range(3)]), asked).complete


@pytest.mark.parametrize("executor", ["auto", "inline", "processes", "dask"])
def test_where_no_worker_can_declare_anything(node, options, executor):
    text = r"^resources are handed out by a cluster .*: give --executor dask://HOST:PORT or dask://FILE.json, or no"
    with pytest.raises(InputError, match=text):
        work(Plan([node("a", limits=GPU)]), options(executor=executor))


@pytest.mark.parametrize(
    ("threads", "has", "asked", "slots"),
    [
        (3, {}, (), 3),
        (3, {"GPU": 2}, (), 3),
        (3, {"GPU": 2}, (("GPU", 1.0),), 2),
        (1, {"GPU": 2}, (("GPU", 1.0),), 1),
        (8, {"GPU": 1}, (("GPU", 0.1),), 8),
        (16, {"GPU": 0.3}, (("GPU", 0.1),), 3),
        (8, {"GPU": 4, "MEM": 5e9}, (("GPU", 1.0), ("MEM", 2e9)), 2),
        (8, {"GPU": 4}, (("GPU", 1.0), ("MEM", 2e9)), 0),
        (8, {"GPU": 0.5}, (("GPU", 1.0),), 0),
        (8, None, (("GPU", 1.0),), 0),
    ],
)
def test_how_many_fit_on_a_worker(threads, has, asked, slots):
    assert cluster.slots({"nthreads": threads, "resources": has}, asked) == slots
