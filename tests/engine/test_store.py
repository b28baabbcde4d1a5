"""The store: whole results only, damage found, one builder at a time."""

import errno
import multiprocessing
import os
import time

import pytest

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
