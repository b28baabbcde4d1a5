"""Data by address on workers of a cluster that do not see the copies of this machine.

The copies of this process are put out of sight while a plan is worked on, as they would be on another machine; the
worker has a folder for copies of its own. What is expected is what the same work gives here.
"""

import contextlib
import importlib
import os
import textwrap
from pathlib import Path

import pytest
from acceptance.cluster import programs
from acceptance.webserver import serving

import gnomon
from gnomon.engine import cluster, job
from gnomon.engine.plan import Limits, Node, Plan
from gnomon.intake import remote

pytest.importorskip("distributed", reason="distributed is not installed (extra cluster)")
pytest.importorskip("aiohttp", reason="aiohttp is not installed (extra cluster)")

READING = """
from pathlib import Path

def read(arguments, needs, out):
    text = "".join((path / "text").read_text() for path in needs.values())
    for path in arguments.get("files", []):
        text += Path(path["at"]).read_text()
    (out / "text").write_text(text + arguments.get("text", ""))

def refuse(arguments, needs, out):
    raise ValueError(arguments["file"] + ": no good")
"""


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    """A cluster of one worker that keeps copies in a folder of its own."""
    folder = tmp_path_factory.mktemp("far")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNOMON_CACHE", str(folder / "copies"))
        with programs(folder, workers=1) as found:
            yield found


@pytest.fixture
def web():
    with serving() as found:
        yield found


@pytest.fixture
def near(tmp_path, monkeypatch):
    """The copies of this process; return a context in which they are out of sight."""
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path / "copies"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "far_reading.py").write_text(textwrap.dedent(READING))
    importlib.invalidate_caches()

    @contextlib.contextmanager
    def out_of_sight():
        (tmp_path / "copies").rename(tmp_path / "hidden")
        yield
        (tmp_path / "hidden").rename(tmp_path / "copies")

    return out_of_sight


def node(name, needs=None, kind="cell", context=None, **arguments):
    arguments = {"name": name, **arguments}
    limits = Limits(retries=2)
    return Node(name, "far_reading:read", arguments, needs or {}, kind, context=context or {}, limits=limits)


def texts(outcome):
    return {name: (path / "text").read_text() for name, path in outcome.done.items()}


@pytest.mark.parametrize("shared", [True, False])
def test_a_worker_fetches_what_it_does_not_see(web, far, near, options, tmp_path, monkeypatch, shared):
    if not shared:
        monkeypatch.setattr(cluster, "marked", lambda store: contextlib.nullcontext(os.fspath(tmp_path / "nowhere")))
    body = f"from afar ({shared})"
    path = os.fspath(remote.local(web.put("/a.csv", body.encode(), "1")))
    data = node("data", kind="artefact", context={"files": [{"at": path}]})
    plan = Plan([*(node(f"c{i}", {"data": data}) for i in range(3)), node("own", context={"files": [{"at": path}]})])
    with near():
        outcome = job.work(plan, options(executor=f"dask://{far.address}"))
    assert texts(outcome) == {**{f"c{i}": body for i in range(3)}, "own": body}
    assert web.fetched("/a.csv") == 2, "once here, and once by the worker for all that it does"
    (copy,) = (found for found in (far.folder / "copies").rglob("a.csv") if found.read_text() == body)
    assert copy.parent.name == Path(path).parent.name, "the same content"


def test_arguments_stay_as_they_are(web, far, near, options):
    path = os.fspath(remote.local(web.put("/a.csv", b"x", "1")))
    with near():
        outcome = job.work(Plan([node("c", text=path)]), options(executor=f"dask://{far.address}"))
    assert texts(outcome) == {"c": path}
    assert web.fetched("/a.csv") == 1


def test_what_cannot_be_fetched_fails_its_cell_in_words(web, far, near, options, tmp_path):
    secret = web.url.replace("http://", "http://me:hunter2@")
    for name in ("changed", "gone"):
        web.put(f"/{name}.csv", b"one", "1")
    paths = {name: os.fspath(remote.local(f"{secret}/{name}.csv?sig=f00dcafe")) for name in ("changed", "gone")}
    web.put("/changed.csv", b"two", "2")
    del web.answers["/gone.csv"]
    plan = Plan(
        [node(name, context={"files": [{"at": path}]}) for name, path in paths.items()] + [node("fine", text="x")]
    )
    with near():
        outcome = job.work(plan, options(executor=f"dask://{far.address}"))
    assert list(outcome.done) == ["fine"]
    where = f"{web.url}/%s.csv?sig=***"
    assert outcome.missing["changed"].startswith(f"{where % 'changed'}: changed since this work began; ")
    assert outcome.missing["gone"].startswith(
        f"{where % 'gone'}: nothing there (HTTP 404); check the address (worker on "
    )
    assert all(why.endswith("(1 attempt)") for why in outcome.missing.values())
    written = [*(tmp_path / "store").rglob("*"), *far.folder.rglob("*.log"), *(far.folder / "copies").rglob("*.json")]
    for file in written:
        text = file.read_text() if file.is_file() else ""
        assert not any(word in text for word in ("hunter2", "f00dcafe")), file


def test_a_cell_that_fails_names_the_address(web, far, near, options, tmp_path):
    url = web.put("/odd.csv", b"odd", "1")
    path = os.fspath(remote.local(url))
    with near():
        plan = Plan([Node("c", "far_reading:refuse", context={"file": path}, limits=Limits(retries=0))])
        outcome = job.work(plan, options(executor=f"dask://{far.address}"))
    assert outcome.missing["c"] == f"ValueError: {url}: no good (far_reading.py:11) (1 attempt)"
    assert "copies" not in "".join(file.read_text() for file in (tmp_path / "store" / "failures").iterdir())


def test_a_run_of_a_suite(web, far, near, tmp_path, monkeypatch):
    rows = [f"{i},{'ab'[i % 2]},g{i % 6},{i % 2 + i / 100}" for i in range(30)]
    truth = tmp_path / "truth.csv"
    truth.write_text("\n".join(["id,label,group,x", *rows]) + "\n")
    url = web.put("/truth.csv", truth.read_bytes(), "1")
    here = gnomon.run("labels", truth=str(truth), folds=2, executor="inline", out=str(tmp_path / "here"))
    monkeypatch.setattr(cluster, "marked", lambda store: contextlib.nullcontext(os.fspath(tmp_path / "nowhere")))
    real = job.work

    def unseen(*given, **more):
        with near():
            return real(*given, **more)

    monkeypatch.setattr(job, "work", unseen)
    asked = {"folds": 2, "executor": f"dask://{far.address}", "out": str(tmp_path / "far")}
    there = gnomon.run("labels", truth=url, **asked)
    assert there.complete
    for one, other in zip(here.runs, there.runs, strict=True):
        assert one.manifest["id"] == other.manifest["id"]
        assert (one.path / "scores.json").read_bytes() == (other.path / "scores.json").read_bytes()
        text = (other.path / "manifest.json").read_text()
        assert url in text
        assert "copies" not in text
