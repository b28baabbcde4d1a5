"""Hostile run directories: every command ends in time with gnomon's own error, runs nothing and stays below 1 GB.

The directories are those of ``acceptance/hostile.py``. A few of each kind are tried here at once; all of them, and the
server with all of them, in a slow test.
"""

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from acceptance import hostile
from acceptance.hostile_runs import MOST_MB, MOST_SECONDS, attack_server

from gnomon.core.errors import GnomonError
from gnomon.runs.index import Index
from gnomon.runs.run import load
from gnomon.runs.verify import verify

ROOT = Path(__file__).resolve().parents[2]
ATTACKING = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from acceptance import hostile, hostile_runs
hostile_runs.load_everything()
names = sys.argv[2:] or list(hostile.RUNS)
for done in hostile_runs.attack_commands(Path(sys.argv[1]), names=names):
    print(json.dumps(asdict(done)), flush=True)
"""
BOMBS = ("predictions: one long entry", "tallies: several descriptions", "coverage: wide text")


def attack(root: Path, names: tuple[str, ...] = ()) -> list[dict]:
    """Call every command on hostile runs from a small process; return how each ended."""
    command = [sys.executable, "-c", ATTACKING, str(root), *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1_200)
    assert done.returncode == 0, done.stderr[-2_000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(found: list[dict], attacks: int) -> None:
    assert len({item["attack"] for item in found}) == attacks
    bad = [f"{item['attack']}: gnomon {item['command']}: {item['faults']} {item['end']!r}" for item in found]
    assert not [said for said, item in zip(bad, found, strict=True) if item["faults"]]
    assert max(item["megabytes"] for item in found) < MOST_MB
    assert max(item["seconds"] for item in found) < MOST_SECONDS


@pytest.mark.slow
def test_every_command_on_bombs_and_on_directories_that_lie(tmp_path):
    names = (*BOMBS, "files: only an empty seal")
    found = attack(tmp_path, names)
    check(found, len(names) + 1)
    refused = [item for item in found if item["attack"] in BOMBS and item["command"] == "verify"]
    assert len(refused) == len(BOMBS)
    assert all(item["code"] for item in refused)


@pytest.mark.slow
def test_every_command_on_every_hostile_run(tmp_path):
    check(attack(tmp_path), len(hostile.RUNS) + 1)


def test_the_server_frees_what_runs_that_it_refused_took(tmp_path):
    faults, asked, megabytes = attack_server(tmp_path, ["coverage: wide"])
    assert not faults
    assert asked > 10
    assert megabytes < MOST_MB


@pytest.mark.slow
def test_the_server_with_every_hostile_run(tmp_path):
    """Every page answers in :data:`MOST_SECONDS`; the memory is the peak that the kernel reports of the server."""
    faults, asked, megabytes = attack_server(tmp_path)
    assert not faults
    assert asked > 7 * len(hostile.RUNS)
    assert megabytes < MOST_MB


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return hostile.make_good(tmp_path_factory.mktemp("good"))[1]


@pytest.mark.parametrize("name", [name for name in hostile.SMALL if name != "files: names with escapes"])
def test_readers_refuse_or_report_by_name(tmp_path, good, name):
    hostile.make_run(good, tmp_path, name)
    run = hostile.place(tmp_path, name)
    assert not all(item.passed for item in verify(run)), f"{name} passed as whole"
    with contextlib.suppress(GnomonError):  # some are read, and are wrong in what only verify looks at
        load(run)
    assert not (run.parent / "executed").exists()


def test_a_run_of_another_schema_is_not_listed_as_normal(tmp_path, good):
    name = "manifest: another schema"
    hostile.make_run(good, tmp_path, name)
    run = hostile.place(tmp_path, name)
    shutil.copytree(good, run.parent / good.name)
    index = Index(run.parent)
    assert [entry.name for entry in index.find()] == [good.name]
    assert list(index.other_versions) == [run.name]
    assert "another version of gnomon wrote this run" in index.other_versions[run.name]
    assert not index.unreadable
    index.close()
    again = Index(run.parent)  # also when the index is there already
    assert list(again.other_versions) == [run.name]
    again.close()
