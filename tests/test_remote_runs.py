"""Runs on data by address: the same run as by path, and a record that names the address and nothing secret.

What is expected is what the same files give by their paths.
"""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import gnomon
from gnomon.cli.main import main
from gnomon.core import registry
from gnomon.core.errors import InputError
from gnomon.core.options import parameters

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed (extra cluster)")

# By hand, from what the options say of themselves.
READ = {
    "change score": {"truth", "predictions"},
    "change run": {"data_path"},
    "episode score": {"truth", "predictions"},
    "episode run": {"episodes"},
    "events score": {"truth", "predictions"},
    "events run": {"truth", "train"},
    "har score": {"truth", "predictions", "table"},
    "har run": {"data_root"},
    "labels score": {"truth", "predictions", "table"},
    "labels run": {"truth"},
    "skeleton score": {"truth", "predictions", "ids", "pred_file", "rig_file"},
    "skeleton run": {"truth", "predictions", "ids", "pred_file", "rig_file"},
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path / "copies"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "copies"


@pytest.fixture
def memory():
    """Put a folder into fsspec's memory; return its address."""
    system = fsspec.filesystem("memory")

    def put(folder, name):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                system.pipe_file(f"/{name}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"memory://{name}"

    yield put
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture
def template(tmp_path):
    """Write the template of a suite into a folder."""

    def make(suite):
        folder = tmp_path / "template"
        registry.suite(suite).verb("template").load()(SimpleNamespace(directory=str(folder), format="csv", wide=False))
        return folder

    return make


def same(by_path, by_url, cache, *addresses):
    """Check that runs agree, and that those by address name it and no copy."""
    assert [run.manifest["id"] for run in by_url.runs] == [run.manifest["id"] for run in by_path.runs]
    for one, other in zip(by_path.runs, by_url.runs, strict=True):
        assert (one.path / "scores.json").read_bytes() == (other.path / "scores.json").read_bytes()
        for file in other.path.rglob("*"):
            assert not file.is_file() or str(cache).encode() not in file.read_bytes(), file
        text = (other.path / "manifest.json").read_text()
        for address in addresses:
            assert address in text


@pytest.mark.parametrize("suite", sorted(registry.suites()))
def test_options_that_read_data(suite):
    for name, verb in registry.suite(suite).verbs.items():
        found = {item.name for item in parameters(verb.options) if item.reads}
        assert found == READ.get(f"{suite} {name}", set())
        assert not found & {item.name for item in parameters(verb.options) if item.writes}


def test_score_labels(template, web, cache, tmp_path):
    folder = template("labels")
    for name in ("truth", "predictions"):
        web.put(f"/{name}.csv", (folder / f"{name}.csv").read_bytes(), "1")
    by_path = gnomon.score(
        "labels", str(folder / "truth.csv"), [f"mine={folder}/predictions.csv"], out=str(tmp_path / "a")
    )
    secret = web.url.replace("http://", "http://me:hunter2@")
    truth, mine = f"{secret}/truth.csv", f"{web.url}/predictions.csv?part=1&sig=f00dcafe"
    by_url = gnomon.score("labels", truth, [f"mine={mine}"], out=str(tmp_path / "b"))
    same(by_path, by_url, cache, f'"{web.url}/truth.csv"', f"{web.url}/predictions.csv?part=1&sig=***")
    (run,) = by_url.runs
    assert [item["path"] for item in run.manifest["inputs"]] == [
        f"{web.url}/truth.csv",
        f"{web.url}/predictions.csv?part=1&sig=***",
    ]
    assert [item["sha256"] for item in run.manifest["inputs"]] == [
        item["sha256"] for item in by_path.runs[0].manifest["inputs"]
    ]
    for file in (tmp_path / "b").rglob("*"):
        assert not file.is_file() or not any(word in file.read_bytes() for word in (b"hunter2", b"f00dcafe")), file
    named = gnomon.score("labels", truth, {"mine": mine}, out=str(tmp_path / "c"))
    same(by_path, named, cache)
    unnamed = gnomon.score("labels", truth, mine)
    assert unnamed.runs[0].system == "predictions"


def test_the_command_line_and_its_command_in_the_record(template, web, cache, tmp_path, capsys, monkeypatch):
    folder = template("labels")
    words = ["score", "labels", "--out", str(tmp_path / "runs")]
    for name in ("truth", "predictions"):
        url = web.put(f"/{name}.csv", (folder / f"{name}.csv").read_bytes(), "1")
        words += [f"--{name}", url.replace("http://", "http://me:hunter2@")]
    monkeypatch.setattr("sys.argv", ["gnomon", *words])
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 0
    (manifest,) = (tmp_path / "runs").glob("*/manifest.json")
    assert f"{web.url}/truth.csv" in json.loads(manifest.read_text())["provenance"]["command"]
    captured = capsys.readouterr()
    assert "hunter2" not in manifest.read_text() + captured.out + captured.err


def test_messages_name_the_address(template, web, capsys):
    folder = template("labels")
    url = web.put("/truth.csv", (folder / "predictions.csv").read_bytes(), "1")
    with pytest.raises(InputError, match=rf"^{url}: no column 'room'"):
        gnomon.score("labels", url, str(folder / "predictions.csv"), slice="room")
    with pytest.raises(SystemExit) as left:
        main(["score", "labels", "--truth", f"{web.url}/none.csv", "--predictions", url, "--out", "none"])
    assert left.value.code == 2
    assert capsys.readouterr().err == f"gnomon: {web.url}/none.csv: nothing there (HTTP 404); check the address\n"


@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_run_labels(web, cache, tmp_path, executor):
    truth = tmp_path / "truth.csv"
    rows = [f"{i},{'ab'[i % 2]},g{i % 6},{i % 2 + i / 100},{i % 5}" for i in range(60)]
    truth.write_text("\n".join(["id,label,group,x,y", *rows]) + "\n")
    url = web.put("/data/truth.csv", truth.read_bytes(), "1")
    asked = {"systems": "nearest_mean,majority", "folds": 3, "executor": executor, "workers": 1}
    by_path = gnomon.run("labels", truth=str(truth), out=str(tmp_path / "a"), **asked)
    by_url = gnomon.run("labels", truth=url, out=str(tmp_path / "b"), **asked)
    assert by_url.complete
    same(by_path, by_url, cache, url)
    keys = [{p.name for p in (tmp_path / out / "store").glob("??/*")} for out in "ab"]
    assert keys[0] == keys[1], "stored work does not depend on where data came from"


def test_a_cell_that_fails_names_the_address(web, tmp_path):
    system = tmp_path / "odd.py"
    system.write_text(
        "from gnomon.core.errors import InputError\n"
        "class Odd:\n"
        "    def fit(self, features, labels):\n        raise InputError('no good')\n"
        "    def predict(self, features):\n        return []\n"
    )
    rows = [f"{i},{'ab'[i % 2]},g{i % 6},{i}" for i in range(12)]
    url = web.put("/truth.csv", "\n".join(["id,label,group,x", *rows]).encode(), "1")
    found = gnomon.run("labels", truth=url, systems=f"{system}:Odd,majority", folds=2, out=str(tmp_path / "runs"))
    assert not found.complete
    same(found, found, tmp_path / "copies", url)


def test_run_change_on_a_folder(memory, cache, tmp_path):
    folder = tmp_path / "rooms"
    simulate = registry.suite("change").verb("simulate").load()
    simulate(SimpleNamespace(directory=str(folder), rooms=2, seed=3, points=1500, format="npz", encoding="binary"))
    url = memory(folder, "data/rooms")
    asked = {"systems": "distance", "part": "all", "executor": "inline"}
    by_path = gnomon.run("change", data_path=str(folder), out=str(tmp_path / "a"), **asked)
    by_url = gnomon.run("change", data_path=f"{url}/", out=str(tmp_path / "b"), **asked)
    same(by_path, by_url, cache, "memory://data/rooms/Label/001-2.json", '"memory://data/rooms"')


def test_run_har_on_an_archive(web, cache, tmp_path):
    folder = tmp_path / "har"
    simulate = registry.suite("har").verb("simulate").load()
    simulate(SimpleNamespace(directory=str(folder), subjects=2, minutes=1.0, datasets=("uci_har,motionsense",), seed=0))
    archive = Path(shutil.make_archive(str(tmp_path / "har"), "zip", folder))
    url = web.put("/har.zip", archive.read_bytes(), "1")
    asked = {"systems": "majority", "tasks": "zs-open", "profile": "smoke", "executor": "inline"}
    by_path = gnomon.run("har", data_root=str(archive), out=str(tmp_path / "a"), **asked)
    by_url = gnomon.run("har", data_root=url, out=str(tmp_path / "b"), **asked)
    same(by_path, by_url, cache, url)


def test_run_events_on_files_with_others_beside_them(memory, cache, tmp_path):
    folder = tmp_path / "day"
    folder.mkdir()
    for name in ("one", "two"):
        records = [{"time": t, "type": "accel", "values": [2.0 if 5 <= t < 9 else 0.0]} for t in range(20)]
        (folder / f"{name}.raw.json").write_text(json.dumps(records))
        labels = [{"t1": 5, "t2": 9, "label": "moving"}]
        case = {"data_path": f"{name}.raw.json", "t1": 0, "t2": 20, "labels": labels}
        (folder / f"{name}.json").write_text(json.dumps(case))
    url = memory(folder, "day")
    asked = {"recognizers": "always", "executor": "inline"}
    truth = [str(folder / f"{name}.json") for name in ("one", "two")]
    by_path = gnomon.run("events", truth=truth, out=str(tmp_path / "a"), **asked)
    by_url = gnomon.run(
        "events", truth=[f"{url}/./{name}.json" for name in ("one", "two")], out=str(tmp_path / "b"), **asked
    )
    same(by_path, by_url, cache, "memory://day/one.json", "memory://day/./one.json")
    with pytest.raises(InputError, match=r"^memory://day/one\.json: data_path: 0 files match"):
        gnomon.run("events", truth=f"{url}/one.json", out="none", **asked)


@pytest.mark.parametrize(
    ("suite", "given"),
    [
        ("events", {"truth": ["morning.json", "noon.json"], "predictions": ["results.csv"]}),
        ("har", {"truth": "truth.csv", "predictions": ["m=predictions.csv"]}),
        ("change", {"truth": "dataset/", "predictions": ["m=./predictions.json"]}),
        ("skeleton", {"pred_file": ["predictions.npz"]}),
    ],
)
def test_score_every_suite(template, memory, cache, tmp_path, suite, given):
    folder = template(suite)
    url = memory(folder, "t")

    def at(where, value):
        if isinstance(value, list):
            return [at(where, item) for item in value]
        name, equals, path = value.rpartition("=")
        return f"{name}{equals}{where}/{path}"

    results = []
    for out, where in (("a", folder), ("b", url)):
        options = {name: at(where, value) for name, value in given.items()}
        results.append(gnomon.score(suite, out=str(tmp_path / out), **options))
    same(*results, cache, "memory://t/")


def test_texts_of_tables_in_memory_are_no_addresses():
    truth = {"id": ["http://127.0.0.1:1/a", "http://127.0.0.1:1/b"], "label": ["x", "y"], "group": ["g", "h"]}
    found = gnomon.score("labels", truth, {"id": truth["id"], "label": ["x", "y"]})
    assert found.scores["predictions"]["accuracy"] == 1


@pytest.mark.parametrize(
    ("suite", "verb", "option"),
    [
        ("labels", "score", "out"),
        ("labels", "run", "store"),
        ("events", "score", "export_perfboard"),
        ("har", "score", "export_baseline"),
    ],
)
def test_nothing_is_written_to_an_address(tmp_path, monkeypatch, suite, verb, option):
    monkeypatch.chdir(tmp_path)
    given = {"truth": "t.csv", **({"predictions": "p.csv"} if verb == "score" else {}), option: "s3://k:hunter2@b/runs"}
    with pytest.raises(InputError, match=rf"option '{option}': expected a path of this machine, .*\(s3://\.\.\.\)$"):
        getattr(gnomon, verb)(suite, **given)
    assert not list(tmp_path.iterdir())
