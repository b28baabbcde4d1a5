"""The store: whole results only, damage found, one builder at a time."""

import errno
import multiprocessing
import os
import shutil
import time
from collections import namedtuple

import pytest

from gnomon.core.errors import InputError, WorkError
from gnomon.engine.store import Store, StoreFullError

KEY = "ab" + "0" * 62


def put(store, text="hello", key=KEY):
    with store.draft(key) as out:
        (out / "text").write_text(text)


def test_what_is_put_is_there(tmp_path):
    store = Store(tmp_path)
    assert not store.has(KEY)
    assert not store.check(KEY)
    put(store)
    assert store.has(KEY)
    assert store.check(KEY)
    assert (store.path(KEY) / "text").read_text() == "hello"


def test_a_failed_draft_leaves_nothing(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(ZeroDivisionError), store.draft(KEY) as out:
        (out / "text").write_text(str(1 // 0))
    assert not store.path(KEY).exists()
    assert list((tmp_path / "drafts").iterdir()) == []


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove", "add", "seal"])
def test_damage_is_found_and_set_aside(tmp_path, damage):
    store = Store(tmp_path)
    put(store)
    path = store.path(KEY)
    if damage == "flip":
        (path / "text").write_text("hellp")
    elif damage == "truncate":
        (path / "text").write_text("")
    elif damage == "remove":
        (path / "text").unlink()
    elif damage == "add":
        (path / "more").write_text("x")
    else:
        (path / "seal.sha256").unlink()
    assert not store.check(KEY)
    assert not path.exists()
    assert len(list((tmp_path / "damaged").iterdir())) == 1
    put(store)
    assert store.check(KEY)


def test_putting_again_replaces(tmp_path):
    store = Store(tmp_path)
    put(store, "old")
    put(store, "new")
    assert (store.path(KEY) / "text").read_text() == "new"
    assert store.check(KEY)


def test_full_disk_is_named(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(StoreFullError, match="free space and give the same command again"), store.draft(KEY):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(PermissionError), store.draft(KEY):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_a_full_disk_is_seen_behind_other_errors(tmp_path, monkeypatch):
    """An error of ours that came from it, and numpy's, which has no number: there the disk is asked."""
    store = Store(tmp_path)
    with pytest.raises(StoreFullError), store.draft(KEY):
        raise InputError("table.parquet: cannot be written") from OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="requested") as found, store.draft(KEY):
        raise OSError("1000 requested and 12 written")
    assert not isinstance(found.value, StoreFullError)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(4096))
    with pytest.raises(StoreFullError), store.draft(KEY):
        raise OSError("1000 requested and 12 written")
    with pytest.raises(InputError, match="another"), store.draft(KEY):
        raise InputError("another")


def test_drafts_of_the_dead_are_swept(tmp_path):
    store = Store(tmp_path)
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    gone = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(0,))
    gone.start()
    gone.join()
    (drafts / f"{KEY}-{gone.pid}-0123abcd").mkdir()
    (drafts / f"{KEY}-{os.getpid()}-0123abcd").mkdir()
    store.sweep()
    assert [path.name for path in drafts.iterdir()] == [f"{KEY}-{os.getpid()}-0123abcd"]


def test_the_draft_of_another_machine_is_left_alone(tmp_path):
    """The number of its process says nothing here; the lock of its key does."""
    store, drafts = Store(tmp_path), tmp_path / "drafts"
    for name in (f"{KEY}-{2**22 + 1}-0123abcd", f"{KEY}-{2**22 + 1}-0123abcd-old", ".nfs0001"):
        (drafts / name).mkdir(parents=True)
    with store.lock(KEY):
        store.sweep()
        assert len(list(drafts.glob(f"{KEY}*"))) == 2
    store.sweep()
    assert not list(drafts.glob(f"{KEY}*"))


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    text = r"locks: its file system gives no locks \(No locks available\), .* give --store a folder on one that does"
    with pytest.raises(WorkError, match=text), Store(tmp_path).lock(KEY):
        pass
    with pytest.raises(WorkError, match="gives no locks"), Store(tmp_path).marked():
        pass
    Store(tmp_path).sweep()


def hold(folder, ready, release):
    with Store(folder).lock(KEY):
        ready.set()
        release.wait(20)


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    context = multiprocessing.get_context("fork")
    ready, release = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(tmp_path, ready, release))
    holder.start()
    assert ready.wait(20)
    holder.kill()
    holder.join()
    start = time.monotonic()
    with Store(tmp_path).lock(KEY):
        assert time.monotonic() - start < 5


def test_failures_are_kept_and_forgiven(tmp_path):
    store = Store(tmp_path)
    assert store.failure(KEY) is None
    store.fail(KEY, {"error": "x"})
    assert store.failure(KEY) == {"error": "x"}
    store.forgive(KEY)
    store.forgive(KEY)
    assert store.failure(KEY) is None
