"""Repositories whose own configuration names programs: none is run while provenance is collected.

Each attack names a program that leaves a file behind. Where it says so, the same attack is first carried out on plain
git, so that a change of git that disarms an attack is noticed.
"""

import os
import shutil
import subprocess
import sys
import time

import pytest

from gnomon.runs.provenance import git_state

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *arguments, **options):
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "protocol.file.allow=always"]
    command = ["git", "-C", folder, *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout.strip()


class Repository:
    """A repository with one commit, and a program that writes ``marker`` when it is run."""

    def __init__(self, folder, marker):
        self.folder, self.marker = folder, marker
        self.program = folder.with_suffix(".attack")
        self.program.write_text(f"#!/bin/sh\n: > '{marker}'\n[ $# = 0 ] && cat\n")
        self.program.chmod(0o755)
        folder.mkdir()
        (folder / "code.py").write_text("x = 1\n")
        (folder / "data.txt").write_text("x\n")
        git(folder, "init", "--quiet")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--no-gpg-sign", "-m", "first")

    def age(self):
        """Let files look changed, so that git has to read them again."""
        for number, path in enumerate(sorted(self.folder.glob("*.*"))):
            os.utime(path, (time.time() - 1000 - number,) * 2)

    def executed(self):
        """Say whether the attack was carried out, and forget it."""
        found = self.marker.exists()
        self.marker.unlink(missing_ok=True)
        return found


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "checkout", tmp_path / "marker")


def monitor(repository):
    git(repository.folder, "config", "core.fsmonitor", str(repository.program))


def included(repository):
    (repository.folder / ".git" / "more").write_text(f'[core]\n\tfsmonitor = "{repository.program}"\n')
    git(repository.folder, "config", "include.path", "more")


def of_the_worktree(repository):
    git(repository.folder, "config", "extensions.worktreeConfig", "true")
    git(repository.folder, "config", "--worktree", "core.fsmonitor", str(repository.program))


def hook(repository):
    """``git status`` writes the index where files look changed, which is an event."""
    path = repository.folder / ".git" / "hooks" / "post-index-change"
    path.parent.mkdir(exist_ok=True)
    shutil.copy(repository.program, path)


def hooks_elsewhere(repository):
    (repository.folder.parent / "hooks").mkdir()
    shutil.copy(repository.program, repository.folder.parent / "hooks" / "post-index-change")
    git(repository.folder, "config", "core.hooksPath", str(repository.folder.parent / "hooks"))


def clean_filter(repository):
    (repository.folder / ".git" / "info").mkdir(exist_ok=True)
    (repository.folder / ".git" / "info" / "attributes").write_text("*.txt filter=attack\n")
    git(repository.folder, "config", "filter.attack.clean", str(repository.program))


def required_filter(repository):
    clean_filter(repository)
    git(repository.folder, "config", "filter.attack.required", "true")


def process_filter(repository):
    clean_filter(repository)
    git(repository.folder, "config", "--unset", "filter.attack.clean")
    git(repository.folder, "config", "filter.attack.process", str(repository.program))


def filter_with_an_odd_name(repository):
    (repository.folder / ".git" / "info").mkdir(exist_ok=True)
    (repository.folder / ".git" / "info" / "attributes").write_text("*.txt filter=a=b.c\n")
    git(repository.folder, "config", "filter.a=b.c.clean", str(repository.program))


def filter_with_points_in_its_name(repository):
    (repository.folder / ".git" / "info").mkdir(exist_ok=True)
    (repository.folder / ".git" / "info" / "attributes").write_text("*.txt filter=A.b\n")
    git(repository.folder, "config", "filter.A.b.clean", str(repository.program))


def submodule(repository):
    """A submodule is looked into with its own configuration; what is switched off above is not handed down."""
    inner = repository.folder.parent / "inner"
    Repository(inner, repository.folder.parent / "unused")
    git(repository.folder, "submodule", "--quiet", "add", str(inner), "part")
    git(repository.folder, "commit", "--quiet", "--no-gpg-sign", "-m", "second")
    git(repository.folder / "part", "config", "core.fsmonitor", str(repository.program))


def missing_objects(repository):
    """Objects that a partial clone lacks are fetched when they are needed, by a program that the remote names."""
    git(repository.folder, "config", "remote.origin.url", str(repository.folder.parent))
    git(repository.folder, "config", "remote.origin.promisor", "true")
    git(repository.folder, "config", "remote.origin.uploadpack", str(repository.program))
    git(repository.folder, "config", "extensions.partialClone", "origin")
    git(repository.folder, "config", "core.repositoryFormatVersion", "1")
    (repository.folder / "code.py").write_text("x = 2\n")
    git(repository.folder, "add", "code.py")  # the tree of the commit is not known by the index any more
    tree = git(repository.folder, "rev-parse", "HEAD^{tree}")
    (repository.folder / ".git" / "objects" / tree[:2] / tree[2:]).unlink()


def others(repository):
    """Programs of commands that are not used: they would be found here if that changed."""
    for key in ("core.pager", "pager.status", "core.editor", "diff.external", "core.sshCommand", "alias.status"):
        git(repository.folder, "config", key, str(repository.program))
    for key in ("diff.attack.textconv", "diff.attack.command", "merge.attack.driver"):
        git(repository.folder, "config", key, str(repository.program))
    (repository.folder / ".git" / "info").mkdir(exist_ok=True)
    (repository.folder / ".git" / "info" / "attributes").write_text("*.txt diff=attack merge=attack\n")
    (repository.folder / "data.txt").write_text("changed\n")


ATTACKS = {
    monitor: (True, False),
    included: (True, False),
    of_the_worktree: (True, False),
    hook: (True, False),
    hooks_elsewhere: (True, False),
    clean_filter: (True, False),
    required_filter: (True, False),
    process_filter: (True, False),
    filter_with_an_odd_name: (True, None),
    filter_with_points_in_its_name: (True, False),
    submodule: (True, None),
    missing_objects: (True, None),
    others: (False, True),
}
"""Whether plain ``git status`` carries an attack out, and what is then known of changes."""


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_no_program_of_a_repository_is_run(repository, attack):
    carried_out, dirty = ATTACKS[attack]
    attack(repository)
    repository.age()
    repository.executed()
    state = git_state(repository.folder)
    assert not repository.executed()
    assert state == {"commit": git(repository.folder, "rev-parse", "HEAD"), "dirty": dirty}
    repository.age()
    subprocess.run(["git", "-C", repository.folder, "status", "--porcelain"], capture_output=True, timeout=60)
    assert repository.executed() == carried_out, "what git does by itself"


def test_a_bare_repository_among_the_files_of_another(repository):
    """A folder of a checkout can hold files that make it a repository of its own, with a configuration."""
    inner = repository.folder / "fixtures"
    git(repository.folder, "init", "--quiet", "--bare", str(inner))
    git(inner, "config", "core.fsmonitor", str(repository.program))
    git(inner, "config", "core.bare", "false")
    git(inner, "config", "core.worktree", str(repository.folder))
    git(inner, "fetch", "--quiet", str(repository.folder), "HEAD:refs/heads/main")
    git(inner, "symbolic-ref", "HEAD", "refs/heads/main")
    git(inner, "read-tree", "HEAD", cwd=repository.folder)
    repository.executed()
    git_state(inner)
    assert not repository.executed()


@pytest.mark.parametrize(
    ("change", "dirty"),
    [("code.py", True), ("data.txt", None), ("remove", True), ("stage", True), ("", False)],
)
def test_changes_where_files_have_a_filter(repository, change, dirty):
    """Only of a file with a filter is it unknown: without the filter, it differs either way."""
    clean_filter(repository)
    if change == "remove":
        (repository.folder / "data.txt").unlink()
    elif change == "stage":
        (repository.folder / "code.py").write_text("x = 2\n")
        git(repository.folder, "add", "code.py")
    elif change:
        (repository.folder / change).write_text("changed\n")
    assert git_state(repository.folder)["dirty"] is dirty


def test_paths_that_are_no_text_and_a_folder_below_the_root(repository):
    clean_filter(repository)
    below = repository.folder / "below"
    below.mkdir()
    odd = below / os.fsdecode(b"n\xff\n.txt")
    odd.write_text("x\n")
    git(repository.folder, "-c", "filter.attack.clean=", "add", ".")
    git(repository.folder, "commit", "--quiet", "--no-gpg-sign", "-m", "second")
    assert git_state(below)["dirty"] is False
    odd.write_text("changed\n")
    assert git_state(below)["dirty"] is None
    (repository.folder / "code.py").write_text("x = 2\n")
    assert git_state(below)["dirty"] is True


@pytest.mark.parametrize("path", ["", ".", ":/nowhere"])
def test_a_program_of_the_working_folder_is_not_taken_for_git(repository, monkeypatch, path):
    shutil.copy(repository.program, repository.folder / "git")
    monkeypatch.chdir(repository.folder)
    monkeypatch.setenv("PATH", path)
    assert git_state(repository.folder) is None
    assert not repository.executed()


def test_a_command_in_such_a_repository_records_the_commit(repository):
    monitor(repository)
    hook(repository)
    clean_filter(repository)
    program = "import json; from gnomon.runs.provenance import collect; print(json.dumps(collect()['workspace']))"
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, cwd=repository.folder, capture_output=True, text=True, timeout=60)
    assert git(repository.folder, "rev-parse", "HEAD") in done.stdout
    assert not repository.executed()
