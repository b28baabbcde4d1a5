"""Drafts: nobody's but a dead owner's is removed, and nothing is replaced that was not looked at.

A process that holds a lock is another open file here: flock keeps those apart within one process, too.
"""

import errno
import fcntl
import os
import shutil
import subprocess
import sys

import pytest

from gnomon.intake import drafts
from gnomon.intake.drafts import new_draft, publish_draft, sweep_drafts

OWNER = """
import sys, time
from pathlib import Path
from gnomon.intake.drafts import new_draft
with new_draft(Path(sys.argv[1]), "d-") as draft:
    (draft / "text").write_text("half")
    print(draft, flush=True)
    time.sleep(60)
"""


def never(_):
    return False


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def leave(folder, *parts, lock=True):
    """Leave in a folder what a dead process of this kernel leaves."""
    draft = folder / f"d-{drafts._kernel()}-{'0' * 32}"
    folder.mkdir(exist_ok=True)
    for part in parts:
        path = folder / f"{draft.name}{part}"
        path.mkdir(parents=True)
        (path / "text").write_text(part)
    if lock:
        (folder / f"{draft.name}.lock").touch()
    return draft


@pytest.fixture
def no_exchange(monkeypatch):
    """A system that cannot swap two folders."""
    monkeypatch.setattr(drafts, "_exchange", lambda a, b: False)


def test_a_draft_appears_under_its_name_and_leaves_nothing(tmp_path):
    with new_draft(tmp_path / "deep", "d-") as draft:
        (draft / "text").write_text("whole")
        assert publish_draft(draft, tmp_path / "deep" / "x", never)
    assert names(tmp_path / "deep") == ["x"]
    assert names(tmp_path / "deep" / "x") == ["text"]


def test_a_draft_that_is_not_published_goes(tmp_path):
    with pytest.raises(FileExistsError), new_draft(tmp_path, "d-") as draft:
        draft.mkdir()
    assert names(tmp_path) == []


def test_names_are_never_the_same(tmp_path):
    with new_draft(tmp_path, "d-") as one, new_draft(tmp_path, "d-") as other:
        assert one != other


@pytest.mark.kill
def test_the_draft_of_a_process_is_swept_when_it_is_dead_and_not_before(tmp_path):
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        draft = owner.stdout.readline().strip()
        sweep_drafts(tmp_path, "d-")
        assert os.path.isfile(f"{draft}/text"), "its owner lives"
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    assert os.path.isfile(f"{draft}/text")
    sweep_drafts(tmp_path, "other-")
    assert os.path.isfile(f"{draft}/text")
    sweep_drafts(tmp_path, "d-")
    assert names(tmp_path) == []


SAME = f".old/d-{drafts._kernel()}-{'0' * 32}"
"""What had to make room and is being deleted."""


@pytest.mark.parametrize("parts", [(), ("",), (".swept",), ("", SAME), (".old/x", "")])
def test_whatever_a_dead_owner_left_is_removed(tmp_path, parts):
    leave(tmp_path, *parts)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "text").write_text("new")
    sweep_drafts(tmp_path, "d-")
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x" / "text").read_text() == "new"


def test_what_cannot_be_told_is_left_alone(tmp_path):
    """A draft without a lock, of another kernel, of a former version, and files of others."""
    mine = leave(tmp_path, "", ".swept", lock=False).name
    theirs = [f"d-{'f' * 12}-{'1' * 32}", "d-4711-0123abcd", f"d-unknown-{'2' * 32}", f"e-{mine}"]
    for name in theirs:
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.lock").touch()
    before = names(tmp_path)
    sweep_drafts(tmp_path, "d-")
    assert names(tmp_path) == before
    assert names(tmp_path / mine) == ["text"]


def test_where_the_kernel_is_not_known_nothing_is_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(drafts, "BOOT_ID", tmp_path / "nowhere")
    monkeypatch.setattr(drafts, "_kernel", drafts._kernel.__wrapped__)
    left = leave(tmp_path, "").name
    assert "unknown" in left
    sweep_drafts(tmp_path, "d-")
    assert names(tmp_path) == [left, f"{left}.lock"]


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    """Drafts are published there, and never swept."""

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    left = leave(tmp_path, "").name
    monkeypatch.setattr(fcntl, "flock", refuse)
    with new_draft(tmp_path, "d-") as draft:
        assert sorted([left, f"{left}.lock", draft.name]) == names(tmp_path), "it has no lock file"
        sweep_drafts(tmp_path, "d-")
        publish_draft(draft, tmp_path / "x", never)
    assert names(tmp_path) == [left, f"{left}.lock", "x"]


def test_a_sweep_that_comes_before_the_lock_costs_the_owner_nothing(tmp_path, monkeypatch):
    """It sees a lock file that nobody holds yet, and removes it; another draft is made."""
    plain, swept = fcntl.flock, []

    def lock_late(handle, how):
        if how == fcntl.LOCK_EX and not swept:
            swept.extend(names(tmp_path))
            sweep_drafts(tmp_path, "d-")
            assert names(tmp_path) == []
        return plain(handle, how)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    with new_draft(tmp_path, "d-") as draft:
        (draft / "text").write_text("whole")
        assert [name for name in swept if name.endswith(".lock")]
        assert not {*swept} & {*names(tmp_path)}
        sweep_drafts(tmp_path, "d-")
        publish_draft(draft, tmp_path / "x", never)
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x" / "text").read_text() == "whole"


def test_a_sweep_that_waits_while_the_owner_finishes_removes_nothing(tmp_path, monkeypatch):
    """It has opened the lock file already, and gets the lock when the owner lets go of it."""
    plain, target = fcntl.flock, tmp_path / "x"
    owner = new_draft(tmp_path, "d-")
    draft = owner.__enter__()
    (draft / "text").write_text("whole")

    def lock_late(handle, how):
        monkeypatch.setattr(fcntl, "flock", plain)
        publish_draft(draft, target, never)
        owner.__exit__(None, None, None)
        return plain(handle, how)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    sweep_drafts(tmp_path, "d-")
    assert names(tmp_path) == ["x"]
    assert names(target) == ["text"]


@pytest.mark.parametrize("first", ["owner", "sweep"])
def test_a_sweep_by_mistake_damages_nothing_that_is_published(tmp_path, monkeypatch, first):
    """Locks that do not work let a sweep take the draft of an owner that lives: one of two renames comes first."""
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    target = tmp_path / "x"
    with new_draft(tmp_path, "d-") as draft:
        (draft / "text").write_text("whole")
        if first == "owner":
            publish_draft(draft, target, never)
            sweep_drafts(tmp_path, "d-")
        else:
            sweep_drafts(tmp_path, "d-")
            with pytest.raises(FileNotFoundError):
                publish_draft(draft, target, never)
    assert names(tmp_path) == (["x"] if first == "owner" else [])
    assert not target.exists() or names(target) == ["text"]


@pytest.mark.parametrize("end", ["", ".swept", ".old", ".lock"])
def test_a_link_is_not_followed(tmp_path, end):
    """Somebody who may write into the folder has no other folder emptied, or moved."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").mkdir()
    (elsewhere / "lock").touch()
    left = leave(tmp_path / "runs", lock=end != ".lock")
    (tmp_path / "runs" / f"{left.name}{end}").symlink_to(elsewhere / "lock" if end == ".lock" else elsewhere)
    sweep_drafts(tmp_path / "runs", "d-")
    assert names(elsewhere) == ["lock", "x"]
    assert "x" not in names(tmp_path / "runs")


def publish_text(folder, text, keep=never):
    with new_draft(folder, "d-") as draft:
        (draft / "text").write_text(text)
        return publish_draft(draft, folder / "x", keep)


@pytest.mark.parametrize("exchange", [True, False])
def test_what_is_there_is_looked_at_and_kept_or_replaced(tmp_path, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(drafts, "_exchange", lambda a, b: False)
    assert publish_text(tmp_path, "one")
    looked = []
    assert not publish_text(tmp_path, "two", lambda there: looked.append(there) or True)
    assert looked == [tmp_path / "x"]
    assert (tmp_path / "x" / "text").read_text() == "one"
    assert publish_text(tmp_path, "two")
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x" / "text").read_text() == "two"


def test_an_empty_folder_makes_room_and_a_file_does_not(tmp_path):
    (tmp_path / "x").mkdir()
    assert publish_text(tmp_path, "one")
    shutil.rmtree(tmp_path / "x")
    (tmp_path / "x").write_text("a file")
    with pytest.raises(NotADirectoryError):
        publish_text(tmp_path, "two")
    assert (tmp_path / "x").read_text() == "a file"
    assert names(tmp_path) == ["x"]


def test_a_publisher_that_comes_between_is_looked_at(tmp_path, monkeypatch, no_exchange):
    """While the old folder is out of the way, another publisher takes the name."""
    publish_text(tmp_path, "old")
    plain, looked = os.rename, []

    def rename(source, target, **options):
        plain(source, target, **options)
        if os.fspath(target).endswith(".old/x"):
            monkeypatch.setattr(os, "rename", plain)
            publish_text(tmp_path, "theirs")

    def keep(there):
        looked.append((there / "text").read_text())
        return looked[-1] == "theirs"

    monkeypatch.setattr(os, "rename", rename)
    assert not publish_text(tmp_path, "mine", keep)
    assert looked == ["old", "theirs"]
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x" / "text").read_text() == "theirs"


def test_a_folder_that_somebody_else_moves_away_is_no_hindrance(tmp_path, no_exchange):
    publish_text(tmp_path, "old")
    assert publish_text(tmp_path, "new", lambda there: shutil.rmtree(there))
    assert (tmp_path / "x" / "text").read_text() == "new"


def test_an_owner_that_dies_between_two_renames_loses_nothing(tmp_path):
    """The next sweep puts back what had made room."""
    leave(tmp_path, ".old/x", "")
    sweep_drafts(tmp_path, "d-")
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x" / "text").read_text() == ".old/x"


def test_what_is_being_deleted_is_not_put_back(tmp_path):
    """Its owner died while it deleted what its run had replaced; another publisher has just moved that run away."""
    leave(tmp_path, SAME)
    sweep_drafts(tmp_path, "d-")
    assert names(tmp_path) == []


def test_what_had_to_make_room_in_another_folder_is_not_put_beside_the_draft(tmp_path, no_exchange):
    """As in the store, where drafts lie in a folder of their own."""
    for text in ("one", "two"):
        with new_draft(tmp_path / "drafts", "d-") as draft:
            (draft / "text").write_text(text)
            publish_draft(draft, tmp_path / "x", never)
    assert names(tmp_path) == ["drafts", "x"]
    assert names(tmp_path / "drafts") == []
    assert (tmp_path / "x" / "text").read_text() == "two"
