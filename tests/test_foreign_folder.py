"""Commands given in a folder that somebody else filled: nothing in it is run that was not asked for by its name.

The folder holds a module of every name that the standard library and the installed packages have. Each writes its name
into a file when it is imported.
"""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import urllib.request
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from gnomon.core import loading
from gnomon.core.code_identity import files_imported_by, graph
from gnomon.core.errors import InputError
from gnomon.core.loading import find_class, path_of_python

SHADOW = """
import os
with open(os.environ["GNOMON_TEST_MARKER"], "a") as file:
    file.write(__name__ + "\\n")
"""
RECOGNISER = """
import colorsys, json, numpy, random, statistics
import helper_beside

class Sound:
    def process(self, recs):
        import wave
    def detected(self, time_range=None):
        return [{"t1": 5, "t2": helper_beside.END, "label": json.loads('"moving"')}]
    def labels(self):
        return ["moving"]
"""
WAYS = {
    "gnomon": [str(Path(sys.executable).with_name("gnomon"))],
    "python -P -m gnomon": [sys.executable, "-P", "-m", "gnomon"],
}
LABELS = ("--truth", "truth.csv", "--folds", "2")
COMMANDS = {
    "score": ("score", "labels", "--truth", "truth.csv", "--predictions", "predictions.csv"),
    "inline": ("run", "labels", *LABELS, "--executor", "inline"),
    "processes": ("run", "labels", *LABELS, "--executor", "processes", "--workers", "1"),
    "dask": ("run", "labels", *LABELS, "--executor", "dask", "--workers", "1"),
    "estimator": ("run", "labels", *LABELS, "--systems", "sklearn.svm:SVC"),
    "file": ("run", "events", "one.json", "--recognizers", "rec.py:Sound"),
    "module": ("run", "events", "one.json", "--recognizers", "rec:Sound", "--executor", "processes"),
    "skeleton": ("score", "skeleton", "--pred-file", "skeleton/predictions.npz"),
    "list": ("list", "suites"),
    "report": ("report", "old", "--format", "markdown"),
    "compare": ("compare", "old"),
    "verify": ("verify", "old"),
    "audit": ("audit", "old"),
    "doctor": ("doctor",),
    "template": ("template", "har", "new"),
}
QUICK = {("gnomon", "processes"), ("gnomon", "file"), ("python -P -m gnomon", "score")}


def names_of_modules():
    own = {"gnomon", "acceptance", "tests", "benchmarks", "docs"}
    return {name for name in {*sys.stdlib_module_names, *packages_distributions()} if name.isidentifier()} - own


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """The data of several suites, results over them, and then all the modules."""
    folder = tmp_path_factory.mktemp("filled")
    rows = [f"{n},{'ab'[n % 2]},g{n % 5},{n}" for n in range(20)]
    (folder / "truth.csv").write_text("\n".join(["id,label,group,x", *rows, ""]))
    (folder / "predictions.csv").write_text("\n".join(["id,label", *(row[: row.index(",") + 2] for row in rows), ""]))
    records = [{"time": t, "type": "accel", "values": [float(t)]} for t in range(20)]
    (folder / "one.raw.json").write_text(json.dumps(records))
    truth = {"t1": 0, "t2": 20, "subject": "one", "data_path": "one.raw.json"}
    (folder / "one.json").write_text(json.dumps(truth | {"labels": [{"t1": 5, "t2": 9, "label": "moving"}]}))
    command = [sys.executable, "-P", "-m", "gnomon"]
    given = ("run", "labels", *LABELS, "--systems", "majority,nearest_mean", "--out", "old", "--executor", "inline")
    for arguments in (given, ("template", "skeleton", "skeleton")):
        subprocess.run([*command, *arguments], cwd=folder, check=True, capture_output=True)
    for name in names_of_modules():
        (folder / f"{name}.py").write_text(SHADOW)
    (folder / "sklearn").mkdir()
    (folder / "sklearn" / "svm.py").write_text(SHADOW)
    (folder / "rec.py").write_text(RECOGNISER)
    (folder / "helper_beside.py").write_text("END = 9\n")
    return folder


@pytest.fixture
def folder(filled, tmp_path, monkeypatch):
    """A copy of the folder; what its modules write goes beside it."""
    copy = tmp_path / "work"
    shutil.copytree(filled, copy)
    monkeypatch.setenv("GNOMON_TEST_MARKER", str(tmp_path / "marker"))
    return copy


def imported(folder):
    marker = folder.parent / "marker"
    return sorted(set(marker.read_text().split())) if marker.exists() else []


@pytest.mark.parametrize(
    ("way", "command"),
    [
        pytest.param(way, command, marks=() if (way, command) in QUICK else pytest.mark.slow)
        for way in WAYS
        for command in COMMANDS
    ],
)
def test_no_module_of_the_folder_is_imported(folder, way, command):
    done = subprocess.run([*WAYS[way], *COMMANDS[command]], cwd=folder, capture_output=True, text=True, timeout=300)
    assert imported(folder) == [], done.stderr
    assert done.returncode == 0, done.stderr
    if command in ("file", "module"):
        (run,) = (folder / "runs").glob("events-*")
        assert json.loads((run / "scores.json").read_text()), "the recogniser was found, and its neighbour"


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_no_module_of_the_folder_is_imported_by_the_dashboard(folder, way):
    command = [*WAYS[way], "serve", "--runs", "old", "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert answer.status == 200
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert imported(folder) == []


def test_python_m_gnomon_takes_the_folder_off_the_path(tmp_path, monkeypatch):
    """What Python itself imports before gnomon runs cannot be helped; these come later."""
    for name in ("json", "random", "numpy", "click", "pickle", "dataclasses", "rich", "msgspec"):
        (tmp_path / f"{name}.py").write_text(SHADOW)
    monkeypatch.setenv("GNOMON_TEST_MARKER", str(tmp_path / "marker"))
    command = [sys.executable, "-m", "gnomon", "list", "suites"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert not (tmp_path / "marker").exists(), (tmp_path / "marker").read_text()
    assert done.returncode == 0, done.stderr


class Attack:
    """What runs when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


PLANT = """
import importlib, sys
for name in ("procrustes", "kinematics", "moments", "rotations", "horn", "rigid"):
    module = importlib.import_module(f"gnomon.numerics.{name}")
    for function in list(vars(module).values()):
        if hasattr(function, "_cache"):
            print(function._cache._cache_file._index_path)
"""


def test_machine_code_of_the_folder_is_not_run(folder, tmp_path):
    """numba reads settings in the working folder; they can name where machine code is kept, with pickles beside it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    cache = folder / "cache"
    command = [sys.executable, "-P", "-c", PLANT]
    options = {"env": environment | {"NUMBA_CACHE_DIR": str(cache)}, "cwd": tmp_path}
    places = subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout.splitlines()
    assert places
    for place in map(Path, places):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(pickle.dumps(Attack(tmp_path / "executed")))
    (folder / ".numba_config.yaml").write_text(f"cache_dir: {cache}\n")
    done = subprocess.run(
        [*WAYS["gnomon"], *COMMANDS["skeleton"]], cwd=folder, capture_output=True, text=True, env=environment
    )
    assert not (tmp_path / "executed").exists()
    assert done.returncode == 2
    assert f"{folder}/.numba_config.yaml: numba takes its settings from here" in done.stderr


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder that is not on the path, in a process whose imports are put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", str(tmp_path))])
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(loading, "_folders", [])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]


def test_what_is_installed_comes_before_neighbours_and_neighbours_before_the_rest(here, monkeypatch):
    for name in ("elsewhere", "below"):
        (here / name).mkdir()
        (here / name / "some_helper.py").write_text(f"PLACE = {name!r}\n")
    for name in ("json", "numpy", "colorsys"):
        (here / "below" / f"{name}.py").write_text("raise RuntimeError\n")
    text = "import colorsys, json, numpy, some_helper\nclass M:\n    found = colorsys, json, numpy, some_helper\n"
    (here / "below" / "model.py").write_text(text)
    monkeypatch.syspath_prepend(here / "elsewhere")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    found = find_class("below/model.py:M", (), "system", {}).found
    assert [Path(module.__file__).is_relative_to(here) for module in found] == [False, False, False, True]
    assert found[3].PLACE == "below"
    assert sys.modules["json"] is json
    assert path_of_python() == sys.path[:-1]
    assert sys.path[-1] == str(here / "below")
    code = graph([here / "below" / "model.py"])
    assert set(code.files) == {"model.py", "some_helper.py"}
    assert set(code.packages) == {"numpy"}
    assert files_imported_by(here / "below" / "model.py") == [here / "below" / "some_helper.py"]


def test_a_name_that_an_installed_package_has_means_that_package(here, capsys):
    (here / "sklearn").mkdir()
    (here / "sklearn" / "svm.py").write_text("class SVC:\n    fit = None\n")
    kind = find_class("sklearn.svm:SVC", ("fit",), "system", {})
    assert not Path(sys.modules[kind.__module__].__file__).is_relative_to(here)
    said = "gnomon: sklearn.svm is the installed module, not sklearn/svm.py; give sklearn/svm.py:NAME for the latter\n"
    assert capsys.readouterr().err == said
    (here / "sklearn" / "mine.py").write_text("class Mine: ...\n")
    assert find_class("sklearn.mine:Mine", (), "system", {}).__name__ == "Mine", "no installed package has it"


def test_packages_in_a_folder_with_their_metadata_count_as_installed(here, monkeypatch):
    """As ``pip install --target`` and the modules of a cluster's environment leave them."""
    (here / "target" / "vendored-1.0.dist-info").mkdir(parents=True)
    (here / "target" / "vendored.py").write_text("PLACE = 'target'\n")
    (here / "below").mkdir()
    (here / "below" / "vendored.py").write_text("PLACE = 'below'\n")
    (here / "below" / "model.py").write_text("import vendored\nclass M:\n    place = vendored.PLACE\n")
    monkeypatch.syspath_prepend(here / "target")
    assert find_class("below/model.py:M", (), "system", {}).place == "target"


def test_modules_of_the_standard_library_that_this_python_lacks_are_not_taken_from_the_folder(here):
    name = "msvcrt" if sys.platform != "win32" else "termios"
    (here / f"{name}.py").write_text("raise RuntimeError\n")
    (here / "model.py").write_text(
        f"try:\n    import {name}\nexcept ImportError as error:\n    why = error\nclass M: ...\n"
    )
    kind = find_class("model:M", (), "system", {})
    with pytest.raises(ModuleNotFoundError, match=name):
        __import__(name)
    assert sys.modules[kind.__module__].why.name == name


def test_a_file_of_the_folder_is_imported_where_it_is_asked_for(here):
    (here / "random.py").write_text("class Mine:\n    def fit(self): ...\n")
    assert find_class("random.py:Mine", ("fit",), "system", {}).__name__ == "Mine"
    with pytest.raises(InputError, match="expected a class with fit in random"):
        find_class("random:Mine", ("fit",), "system", {})
