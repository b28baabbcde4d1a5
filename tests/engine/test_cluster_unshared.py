"""Workers of a cluster that have a store of their own: what is put together here comes here, once, and afresh if asked.

The mark of the store is nowhere for some or all workers, as it would be on machines with disks of their own. What is
expected is what the same work gives in this process.
"""

import contextlib
import math
import os
from dataclasses import replace

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from acceptance.cluster import programs

import gnomon
from gnomon.engine import cluster
from gnomon.engine.job import work
from gnomon.engine.plan import WHOLE, Plan
from gnomon.engine.schedule import Schedule
from gnomon.engine.store import Reading, Store
from gnomon.engine.work import Order, carry_out

pytest.importorskip("distributed", reason="distributed is not installed (extra cluster)")


MANIFEST = """[dataset]
name = "{name}"
files = ["{name}.csv"]
text_hz = 20
role = "{role}"
placement = "pocket"
gravity = "present"
time = "s"
acceleration = "m/s^2"
rotation = "rad/s"
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A cluster of two workers, each with a store of its own."""
    with programs(tmp_path_factory.mktemp("far"), workers=2) as found:
        yield found


@pytest.fixture
def unshared(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "marked", lambda store: contextlib.nullcontext(os.fspath(tmp_path / "nowhere")))


@pytest.fixture
def kept(node):
    """Make an artefact of which some files are read when results are put together."""

    def make(name, read, **more):
        return replace(node(name, kind="artefact", **more), read=read)

    return make


def test_what_is_read_travels_and_the_rest_does_not(node, kept, options, two, unshared, tmp_path):
    whole, part, none = kept("whole", WHOLE), kept("part", ("te?t",)), kept("none", ())
    plan = Plan([node("c", needs={"whole": whole, "part": part, "none": none})])
    outcome = work(plan, options(executor=f"dask://{two.address}"))
    assert (outcome.done["c"] / "text").read_text() == "wholepartnonec"
    own = Store(tmp_path / "store")
    assert own.check(whole.key)
    assert not own.has(part.key), "a part is no result"
    assert not own.has(none.key)
    reading = Reading(tmp_path / "store")
    assert [(reading.path(one.key) / "text").read_text() for one in (whole, part)] == ["whole", "part"]
    assert not reading.path(none.key).exists()
    assert work(plan, options(executor="inline")).complete
    assert not own.has(part.key), "all that needs it is there"
    more = Plan([*plan.cells, node("d", needs={"part": part})])
    assert work(more, options(executor="inline")).complete, "what came in part is made where it is needed"
    assert own.check(part.key)
    assert reading.path(part.key) == own.path(part.key)


def test_a_part_of_several_files(options, two, unshared, tmp_path, monkeypatch, node):
    """A model beside its facts: the facts come."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "fitting.py").write_text(
        "def fit(arguments, needs, out):\n    for name in ('model', 'facts'):\n        (out / name).write_text(name)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    fitted = replace(node("fit", kind="artefact"), function="fitting:fit", read=("facts",))
    assert work(Plan([fitted]), options(executor=f"dask://{two.address}")).complete
    names = sorted(path.name for path in Reading(tmp_path / "store").path(fitted.key).iterdir())
    assert names == ["facts", "result.json", "seal.sha256"]


def test_afresh_is_once_in_every_store(node, options, two, unshared, tmp_path):
    log = tmp_path / "log"
    data = node("data", kind="artefact", log=str(log))
    plan = Plan(node(f"c{i}", needs={"data": data}, seconds=0.5) for i in range(6))
    asked = {"executor": f"dask://{two.address}"}
    for more, made in (({}, 2), ({}, 2), ({"fresh": True}, 4), ({"fresh": True}, 6)):
        outcome = work(plan, options(**asked, **more))
        assert outcome.complete
        assert len(log.read_text().split()) == made, "by each of the two workers"


def test_afresh_is_once_for_a_command(node, tmp_path, toys):
    store, one = Store(tmp_path / "s"), node("a", log=str(tmp_path / "log"))
    states = [carry_out(store, Order.of(one, fresh)).state for fresh in ("", "", "first", "first", "", "second")]
    assert states == ["done", "found", "done", "found", "found", "done"]
    assert store.serves(one.key)
    assert store.serves(one.key, "second")
    assert not store.serves(one.key, "first")


def test_workers_that_see_the_store_beside_one_that_does_not(node, options, two, tmp_path, monkeypatch):
    """An artefact that was made out of sight is made again where a cell needs it."""
    log, mark = tmp_path / "log", tmp_path / "mark"
    monkeypatch.setattr(cluster, "marked", lambda store: contextlib.nullcontext(os.fspath(mark)))
    data = node("data", kind="artefact", log=str(log))
    assert work(Plan([data]), options(executor=f"dask://{two.address}")).complete
    assert not Store(tmp_path / "store").has(data.key)
    mark.touch()
    plan = Plan([node("c", needs={"data": data})])
    schedule = Schedule(plan, Store(tmp_path / "store"), lambda *_: None)
    schedule.done.add(data.key)
    del schedule.waiting[data.key]
    cluster.Cluster(schedule, f"dask://{two.address}", 1).run()
    assert not schedule.missing()
    (cell,) = plan.cells
    assert (schedule.store.path(cell.key) / "text").read_text() == "datac"
    assert len(log.read_text().split()) == 2


def same(one, other):
    """Scores of all runs, byte by byte."""
    assert one.complete
    assert other.complete
    assert len(one.runs) == len(other.runs)
    for here, there in zip(one.runs, other.runs, strict=True):
        assert here.manifest["id"] == there.manifest["id"]
        assert (here.path / "scores.json").read_bytes() == (there.path / "scores.json").read_bytes()


@pytest.fixture(scope="module")
def episodes(tmp_path_factory):
    """The annotation of two episodes, without depth and videos."""
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("av")
    from gnomon.suites.episode.simulation.recording import Request, act_out, datasets

    folder = tmp_path_factory.mktemp("episodes")
    for number in range(2):
        place = folder / f"session_{number:03d}" / "ep0"
        place.mkdir(parents=True)
        request = Request(5, number, 240, 16, False)
        with h5py.File(place / "annotation.hdf5", "w") as file:
            for name, values in datasets(request, act_out(request)).items():
                file[name] = values
    return folder


@pytest.mark.slow
def test_episode(episodes, two, unshared, tmp_path):
    """Its runs are put together from annotation and features of every episode."""
    tasks = ("timeline_action", "contact_prediction")
    asked = {"episodes": (str(episodes),), "systems": ("random",), "tasks": tasks}
    here = gnomon.run("episode", **asked, out=str(tmp_path / "here"), executor="inline")
    there = gnomon.run("episode", **asked, out=str(tmp_path / "there"), executor=f"dask://{two.address}")
    same(here, there)
    rows = here.runs[0].table.select(["task", "sample", "prediction"]).rename_columns(["task", "sample", "label"])
    said = tmp_path / "said" / "labels"
    said.mkdir(parents=True)
    for name in ("session_000", "session_001"):
        pq.write_table(rows.filter(pc.starts_with(rows["sample"], name)), said / f"{name}.parquet")
    scored = [
        gnomon.score("episode", str(episodes), {"m": str(said.parent)}, out=str(tmp_path / f"s-{who}"), executor=by)
        for who, by in (("here", "inline"), ("there", f"dask://{two.address}"))
    ]
    same(*scored)


@pytest.fixture(scope="module")
def har(tmp_path_factory):
    """Two datasets of recordings of 25 seconds; walking swings more than sitting."""
    folder = tmp_path_factory.mktemp("har")
    for name, role, phase in (("first", "train", 0.0), ("target", "test", 1.0)):
        lines = ["subject,recording,time,label,acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z"]
        for subject in range(1, 6):
            for label, size in (("sitting", 0.1), ("walking", 3.0)):
                for step in range(500):
                    wave = size * math.sin(step / 3 + phase + subject)
                    values = (wave, wave / 2, 9.8, wave / 9, wave / 8, wave / 7)
                    told = ",".join(f"{value:.4f}" for value in values)
                    lines.append(f"p{subject},{label}{subject},{step / 20:.2f},{label},{told}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        (folder / f"{name}.toml").write_text(MANIFEST.format(name=name, role=role))
    return folder


def test_har(har, two, unshared, tmp_path):
    """Its runs are put together from windows, and record what fits said of themselves."""
    asked = {"data_root": str(har), "systems": ("nearest_mean",), "profile": "smoke", "variant": "strict"}
    here = gnomon.run("har", **asked, out=str(tmp_path / "here"), executor="inline")
    there = gnomon.run("har", **asked, out=str(tmp_path / "there"), executor=f"dask://{two.address}")
    same(here, there)
    told = [run.manifest["facts"]["fitted"] for run in (*here.runs, *there.runs)]
    assert all(one["windows"] == told[0]["windows"] > 0 for one in told)
