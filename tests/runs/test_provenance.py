"""Provenance against a repository that the test makes, and against what Python knows of itself."""

import json
import os
import platform
import shutil
import subprocess
import time
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from gnomon.core.canonical import encode
from gnomon.runs import provenance
from gnomon.runs.provenance import Clock, collect, cpu_name, git_state, peak_memory_bytes

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def checkout(tmp_path):
    """A repository with one commit of one file."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "code.py").write_text("x = 1\n")
    git(folder, "init", "--quiet")
    git(folder, "add", "code.py")
    git(folder, "commit", "--quiet", "--no-gpg-sign", "-m", "first")
    return folder


def git(folder, *arguments):
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    done = subprocess.run(["git", "-C", folder, *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_what_is_collected_is_plain_data():
    found = collect()
    assert json.loads(encode(found)) == found


def test_what_is_collected_names_code_and_machine():
    found = collect()
    assert found["gnomon"] == version("gnomon")
    assert found["python"] == platform.python_version()
    assert found["cores"] == os.cpu_count()
    assert found["dependencies"]["numpy"] == np.__version__
    assert found["cpu"]


def test_packages_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr(provenance, "DEPENDENCIES", ("numpy", "no-such-package-anywhere"))
    assert list(collect()["dependencies"]) == ["numpy"]


def test_the_command_names_the_program_without_its_folder(monkeypatch):
    monkeypatch.setattr("sys.argv", [str(Path("some") / "folder" / "gnomon"), "score", "labels"])
    assert collect()["command"] == ["gnomon", "score", "labels"]


@needs_git
def test_the_commit_of_a_checkout_is_found(checkout):
    assert git_state(checkout) == {"commit": git(checkout, "rev-parse", "HEAD"), "dirty": False}


@needs_git
def test_changed_files_make_a_checkout_dirty(checkout):
    (checkout / "code.py").write_text("x = 2\n")
    assert git_state(checkout)["dirty"] is True


@needs_git
def test_new_files_do_not_make_a_checkout_dirty(checkout):
    (checkout / "notes.txt").write_text("mine")
    assert git_state(checkout)["dirty"] is False


@needs_git
def test_a_folder_that_the_checkout_does_not_track_is_no_part_of_it(checkout):
    (checkout / "environment").mkdir()
    (checkout / "environment" / "package.py").write_text("")
    assert git_state(checkout / "environment") is None


@needs_git
def test_a_repository_without_a_commit_has_no_state(tmp_path):
    git(tmp_path, "init", "--quiet")
    assert git_state(tmp_path) is None


def test_a_folder_outside_any_checkout_has_no_state(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_state(tmp_path) is None
    assert git_state(tmp_path / "missing") is None


def test_without_git_there_is_no_state(checkout, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", _no_program)
    assert git_state(checkout) is None


def _no_program(*arguments, **options):
    raise FileNotFoundError("git")


@needs_git
@pytest.mark.parametrize(("slow", "found"), [("rev-parse", None), ("status", {"dirty": None})])
def test_a_git_that_hangs_is_not_waited_for(checkout, tmp_path, monkeypatch, slow, found):
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncase "$*" in *{slow}*) exec sleep 60;; esac\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setattr(provenance, "PATIENCE", 0.5)
    commit = git(checkout, "rev-parse", "HEAD") if found else ""
    begun = time.monotonic()
    assert git_state(checkout) == (found and {"commit": commit, **found})
    assert time.monotonic() - begun < 30


@pytest.fixture
def nothing_known():
    provenance._source.cache_clear()
    yield
    provenance._source.cache_clear()


def test_the_state_of_what_is_loaded_is_asked_for_once(monkeypatch, nothing_known):
    asked = []
    monkeypatch.setattr(provenance, "git_state", lambda folder: asked.append(folder))
    collect()
    collect()
    assert asked == [Path(provenance.__file__).parent, Path.cwd(), Path.cwd()]


@needs_git
def test_what_is_not_waited_for_is_ended(checkout, tmp_path, monkeypatch):
    """A folder that is not tracked has no state, whatever the state of the rest, which may take long to find."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncase "$*" in *status*) exec sleep 60;; esac\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    (checkout / "environment").mkdir()
    begun = time.monotonic()
    assert git_state(checkout / "environment") is None
    assert time.monotonic() - begun < 5


def test_the_processor_has_a_name_where_the_system_does_not_list_it(monkeypatch):
    def missing(self, *arguments, **options):
        raise FileNotFoundError(self)

    monkeypatch.setattr(Path, "read_text", missing)
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert cpu_name() == platform.machine()


def test_peak_memory_is_in_bytes():
    # A Python with numpy holds more than 10 MB and less than 1 TB.
    assert 10e6 < peak_memory_bytes() < 1e12


def test_a_clock_counts_up():
    clock = Clock()
    first, second = clock.read(), clock.read()
    assert 0 <= first["wall_s"] <= second["wall_s"]
    assert 0 <= first["cpu_s"] <= second["cpu_s"]
    assert first["started"] == second["started"]
    assert datetime.fromisoformat(first["started"]).utcoffset().total_seconds() == 0
