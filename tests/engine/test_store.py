"""The store: whole results only, damage found, one builder at a time."""

import errno
import multiprocessing
import os
import shutil
import time
from collections import namedtuple

import pytest

from gnomon.core.errors import GnomonError, InputError, WorkError
from gnomon.engine.store import RECORD, Store, StoreFullError
from gnomon.intake import drafts
from gnomon.runs import seal

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


def empty(path):
    for file in path.iterdir():
        file.unlink()


def seal_nothing(path):
    empty(path)
    (path / seal.NAME).touch()


def seal_another_file(path):
    empty(path)
    (path / "stray").write_text("x")
    (path / seal.NAME).write_bytes(seal.make(path))


def seal_the_record_alone(path):
    (path / "text").unlink()
    (path / seal.NAME).write_bytes(seal.make(path))


def seal_without_a_record(path):
    (path / RECORD).unlink()
    (path / seal.NAME).write_bytes(seal.make(path))


def seal_one_file_more(path):
    (path / "stray").write_text("x")
    (path / seal.NAME).write_bytes(seal.make(path))


def seal_a_record_of_something_else(path):
    (path / RECORD).write_text("[]")
    (path / seal.NAME).write_bytes(seal.make(path))


def link_to_nothing(path):
    shutil.rmtree(path)
    path.symlink_to("nowhere")


def put_a_file_there(path):
    shutil.rmtree(path)
    path.write_text("x")


def put_a_pipe_for_the_record(path):
    (path / "result.json").unlink()
    os.mkfifo(path / "result.json")


def put_a_hole_for_the_record(path):
    with (path / "result.json").open("wb") as file:
        file.truncate(1 << 40)


HARMS = [
    put_a_pipe_for_the_record,
    put_a_hole_for_the_record,
    empty,
    seal_nothing,
    seal_another_file,
    seal_the_record_alone,
    seal_without_a_record,
    seal_one_file_more,
    seal_a_record_of_something_else,
    link_to_nothing,
    put_a_file_there,
]


@pytest.mark.parametrize("harm", HARMS)
def test_a_seal_that_agrees_with_what_is_there_is_not_enough(tmp_path, harm):
    """What was written must be there: a result is set aside, and can be put again, whatever became of it."""
    store = Store(tmp_path)
    put(store)
    harm(store.path(KEY))
    assert store.has(KEY) == (harm is seal_one_file_more), "which costs nothing where content is not read"
    assert not store.check(KEY)
    assert not store.has(KEY)
    assert len(list((tmp_path / "damaged").iterdir())) == 1
    put(store, "again")
    assert store.check(KEY)
    assert (store.path(KEY) / "text").read_text() == "again"


def test_the_result_of_another_key_is_none(tmp_path):
    store, other = Store(tmp_path), "ac" + "0" * 62
    put(store)
    shutil.copytree(store.path(KEY), store.path(other))
    assert not store.has(other)
    assert not store.check(other)
    assert store.check(KEY)


def test_a_result_without_files_is_one(tmp_path):
    store = Store(tmp_path)
    with store.draft(KEY):
        pass
    assert store.has(KEY)
    assert store.check(KEY)


def test_a_result_has_no_file_of_the_name_of_the_record(tmp_path):
    store, text = Store(tmp_path), r"a result cannot have a file 'result\.json': the store writes one of that name"
    with pytest.raises(GnomonError, match=text), store.draft(KEY) as out:
        (out / RECORD).touch()


def test_a_result_that_is_replaced_while_it_is_read_is_not_set_aside(tmp_path, monkeypatch):
    store, plain = Store(tmp_path), seal._seal_files
    put(store, "old")

    def seal_files(directory, files):
        monkeypatch.setattr(seal, "_seal_files", plain)
        put(store, "new")
        return plain(directory, files)

    monkeypatch.setattr(seal, "_seal_files", seal_files)
    assert store.check(KEY)
    assert (store.path(KEY) / "text").read_text() == "new"
    assert not (tmp_path / "damaged").exists()


def test_a_damaged_result_that_cannot_be_moved_is_named(tmp_path):
    store = Store(tmp_path)
    put(store)
    (store.path(KEY) / "text").unlink()
    (tmp_path / "damaged").write_text("a file is in the way")
    with pytest.raises(WorkError, match="this result must not be used, and cannot be moved out of the way"):
        store.check(KEY)


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
    """In both stores; those that may be of another machine, or of a former version, are left alone."""
    store, kernel = Store(tmp_path), drafts._kernel()
    others = [f"{KEY}-{'f' * 12}-{'0' * 32}", f"{KEY}-{2**22 + 1}-0123abcd", ".nfs0001"]
    for folder in (tmp_path / "drafts", store.extracts.folder / "drafts"):
        for name in (f"{KEY}-{kernel}-{'0' * 32}", *others):
            (folder / name).mkdir(parents=True)
            (folder / f"{name}.lock").touch()
    with store.draft(KEY) as out:
        store.sweep()
        kept = {name for other in others for name in (other, f"{other}.lock")}
        assert {path.name for path in (tmp_path / "drafts").iterdir()} == {out.name, f"{out.name}.lock", *kept}
        assert {path.name for path in (store.extracts.folder / "drafts").iterdir()} == kept
    assert store.check(KEY)


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    text = r"locks: its file system gives no locks \(No locks available\), .* give --store a folder on one that does"
    with pytest.raises(WorkError, match=text), Store(tmp_path).lock(KEY):
        pass
    with Store(tmp_path).marked() as mark:
        Store(tmp_path).sweep()
        assert mark.exists()


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


def test_a_pipe_in_the_place_of_a_lock_file_is_not_waited_for(tmp_path):
    store = Store(tmp_path)
    put(store)
    (tmp_path / "locks").mkdir(exist_ok=True)
    (tmp_path / "locks" / KEY).unlink(missing_ok=True)
    os.mkfifo(tmp_path / "locks" / KEY)
    assert store.made_by(KEY) == ""
    assert not store.serves(KEY, fresh="a command")
