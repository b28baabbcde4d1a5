"""Code that runs in a cell is code that its key counts: every file in which a function was called while cells of a
suite were computed is in the graph of the cell's function, or in that of its system."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys, threading
from pathlib import Path

import gnomon
from gnomon.cli.main import main
from gnomon.core import code_identity, loading
from gnomon.engine import work

OWN = Path(gnomon.__file__).parent
missing, ran, systems = {}, set(), set()


def graph_of(module):
    return set(code_identity.graph([OWN.parent.joinpath(*module.split(".")).with_suffix(".py")]).files.values())


def follow(reference):
    known = graph_of(reference.partition(":")[0]) | {Path(found) for found in systems}
    function, called = plain(reference), set()

    def note(frame, event, argument):
        called.add(frame.f_code.co_filename)

    def observed(*arguments):
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            return function(*arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            files = {Path(name) for name in called if Path(name).is_relative_to(OWN)}
            ran.update(files)
            lacking = {path.relative_to(OWN).as_posix() for path in files - known}
            if lacking:
                missing.setdefault(reference, set()).update(lacking)

    return observed


def count(named, **where):
    systems.update(map(str, code_identity._source_of(named.__module__).files.values()))
    return identity(named, **where)


plain, work.load = work.load, follow
identity, loading.identity_of_object = loading.identity_of_object, count
try:
    main(sys.argv[2:])
except SystemExit as ended:
    code = ended.code
Path(sys.argv[1]).write_text(
    json.dumps({"code": code, "ran": len(ran), "missing": {name: sorted(files) for name, files in missing.items()}})
)
"""


def observe(tmp_path, *arguments):
    out = tmp_path / "observed.json"
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        str(out),
        *arguments,
        "--executor",
        "inline",
        "--out",
        str(tmp_path / "o"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert out.is_file(), done.stderr
    found = json.loads(out.read_text())
    assert found["code"] in (0, None), done.stderr
    return found


def simulate(tmp_path, suite, *options):
    command = [sys.executable, "-m", "gnomon", "simulate", suite, str(tmp_path / "data"), *options]
    subprocess.run(command, check=True, capture_output=True)
    return str(tmp_path / "data")


def check(found):
    assert found["missing"] == {}
    assert found["ran"] > 3


def test_labels(tmp_path):
    data = simulate(tmp_path, "labels", "--groups", "6", "--rows", "30")
    check(observe(tmp_path, "run", "labels", "--truth", f"{data}/truth.csv", "--group", "group"))


def test_events(tmp_path):
    data = simulate(tmp_path, "events", "--subjects", "2", "--minutes", "4", "--hours", "1")
    truth = [f"{data}/walking/s01.json", f"{data}/walking/s02.json"]
    names = "threshold-walker,spectral-walker,hmm-walker"
    check(observe(tmp_path, "run", "events", *truth, "--recognizers", names, "--leave-out", "subject"))


@pytest.mark.slow
def test_change(tmp_path):
    data = simulate(tmp_path, "change", "--rooms", "2", "--points", "1500")
    check(observe(tmp_path, "run", "change", "--data-path", data, "--part", "all"))


@pytest.mark.slow
def test_har(tmp_path):
    data = simulate(tmp_path, "har", "--subjects", "2", "--minutes", "1", "--datasets", "uci_har,motionsense")
    check(observe(tmp_path, "run", "har", "--data-root", data, "--tasks", "zs-closed", "--systems", "random_forest"))


@pytest.mark.slow
def test_episode(tmp_path):
    data = simulate(tmp_path, "episode", "--frames", "200")
    check(observe(tmp_path, "run", "episode", data, "--systems", "minimal", "--tasks", "timeline_action"))
