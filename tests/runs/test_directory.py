"""Publishing: what is written, what is replaced, and what is left behind when writing fails."""

import ctypes
import dataclasses
import errno
import io
import json
import os
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnomon.core.errors import InputError, WorkError
from gnomon.inference.intervals import Plan
from gnomon.intake import drafts
from gnomon.runs import directory, packing, seal
from gnomon.runs.directory import publish
from gnomon.runs.provenance import Clock
from gnomon.runs.run import load, make

FILES = {
    "manifest.json",
    "coverage.json",
    "scores.json",
    "audit.json",
    "tallies.npz",
    "ledgers.npz",
    "predictions.parquet",
    "seal.sha256",
}


def full_disk(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def can_exchange(folder):
    """Say whether the system swaps two folders in one step."""
    one, other = folder / "exchange-1", folder / "exchange-2"
    one.mkdir()
    other.mkdir()
    done = drafts._exchange(one, other)
    one.rmdir()
    other.rmdir()
    return done


def test_a_run_is_published_under_its_id_with_all_its_files(small_run, tmp_path):
    run = publish(small_run, tmp_path / "deep" / "runs")
    assert run.path == tmp_path / "deep" / "runs" / small_run.manifest["id"]
    assert set(contents(run.path)) == FILES
    assert run == dataclasses.replace(small_run, path=run.path)


def test_nothing_else_is_left_in_the_folder_of_runs(published_run):
    assert list(published_run.path.parent.iterdir()) == [published_run.path]


def test_a_published_run_agrees_with_its_seal(published_run):
    assert seal.problems(published_run.path) == []


def test_the_predictions_are_kept(published_run):
    assert pq.read_table(published_run.path / "predictions.parquet").to_pydict() == published_run.table.to_pydict()


def test_scores_are_stored_with_the_headline(published_run):
    stored = json.loads((published_run.path / "scores.json").read_text())
    assert stored["schema"] == "gnomon.scores/1"
    assert stored["headline"] == "macro_f1"
    assert stored["scores"] == [score.record() for score in published_run.scores]


def test_an_undefined_score_is_stored_as_null_with_its_reason(count_cases, evaluation, tmp_path):
    empty = {"classification": count_cases([], [], [], [], classes=("a",))}
    run = publish(make(dataclasses.replace(evaluation, tallies=empty), Plan(), Clock()), tmp_path)
    first = json.loads((run.path / "scores.json").read_text())["scores"][0]
    assert (first["value"], first["why"]) == (None, "no samples")
    assert load(run.path).scores == run.scores


def by_command(run, command):
    """A run as another command would have made it."""
    provenance = {**run.manifest["provenance"], "command": [command]}
    return dataclasses.replace(run, manifest={**run.manifest, "provenance": provenance})


def test_a_whole_run_that_differs_in_time_alone_stays(evaluation, stored_run):
    before = contents(stored_run.path)
    clock = Clock(started="2001-01-01T00:00:00+00:00")
    again = publish(make(evaluation, Plan(), clock, {"asked": {"out": "runs"}}), stored_run.path.parent)
    assert again.path == stored_run.path
    assert again.manifest["time"] != stored_run.manifest["time"]
    assert contents(stored_run.path) == before
    assert list(stored_run.path.parent.iterdir()) == [stored_run.path]


def change_scores(path):
    (path / "scores.json").write_text("damaged")


def reseal_without_predictions(path):
    (path / "predictions.parquet").unlink()
    (path / seal.NAME).write_bytes(seal.make(path))


def reseal_another_manifest(path):
    (path / "manifest.json").write_text("[]")
    (path / seal.NAME).write_bytes(seal.make(path))


def reseal_nothing(path):
    for file in path.iterdir():
        file.unlink()
    (path / seal.NAME).touch()


@pytest.mark.parametrize(
    "harm", [change_scores, reseal_without_predictions, reseal_another_manifest, reseal_nothing, lambda path: None]
)
def test_a_run_that_is_damaged_or_of_another_command_is_replaced(small_run, stored_run, harm):
    harm(stored_run.path)
    publish(by_command(small_run, "again"), stored_run.path.parent)
    assert set(contents(stored_run.path)) == FILES
    assert seal.problems(stored_run.path) == []
    assert load(stored_run.path).manifest["provenance"]["command"] == ["again"]
    assert list(stored_run.path.parent.iterdir()) == [stored_run.path]


def test_equal_work_gives_equal_bytes(evaluation, tmp_path):
    first, second = (publish(make(evaluation, Plan(), Clock()), tmp_path / name) for name in "ab")
    one, two = contents(first.path), contents(second.path)
    differing = {name for name in FILES if one[name] != two[name]}
    assert differing <= {"manifest.json", "seal.sha256"}


def test_a_run_of_the_same_name_is_replaced(evaluation, stored_run):
    (stored_run.path / "scores.json").write_text("damaged")
    (stored_run.path / "stray.txt").write_text("old")
    again = publish(make(evaluation, Plan(), Clock()), stored_run.path.parent)
    assert again.path == stored_run.path
    assert set(contents(again.path)) == FILES
    assert load(again.path).scores == stored_run.scores
    assert list(again.path.parent.iterdir()) == [again.path]


def test_runs_of_different_names_stand_side_by_side(evaluation, stored_run):
    other = make(dataclasses.replace(evaluation, system="other"), Plan(), Clock())
    publish(other, stored_run.path.parent)
    assert len(list(stored_run.path.parent.iterdir())) == 2


def test_a_file_is_no_folder_for_runs(small_run, tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(InputError, match="expected a folder for runs, but it is a file"):
        publish(small_run, tmp_path / "runs")


@pytest.mark.parametrize("kind", ["file", "link to a folder", "dangling link"])
def test_a_run_takes_the_place_of_no_file_and_no_link(small_run, tmp_path, kind):
    elsewhere, target = tmp_path / "elsewhere", tmp_path / "runs" / small_run.manifest["id"]
    target.parent.mkdir()
    if kind == "file":
        target.write_text("mine")
    else:
        target.symlink_to(elsewhere)
    if kind == "link to a folder":
        elsewhere.mkdir()
        (elsewhere / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="expected a run directory or nothing, but it is a file or a link: remove it"):
        publish(small_run, target.parent)
    assert list(target.parent.iterdir()) == [target]
    assert target.is_symlink() == (kind != "file")
    assert target.read_text() == "mine" if kind == "file" else elsewhere.exists() == (kind == "link to a folder")


@pytest.mark.parametrize("name", ["x" * 300, "deep/" * 2000], ids=["long", "deep"])
def test_a_name_that_no_folder_can_have_is_refused(small_run, tmp_path, name):
    with pytest.raises(InputError, match="cannot be used as a folder"):
        publish(small_run, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_name_with_a_nul_is_refused(small_run, tmp_path):
    with pytest.raises(InputError, match="cannot be used as a folder"):
        publish(small_run, f"{tmp_path}/a\0b")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_runs_inside_a_file_cannot_be_made(small_run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be used as a folder"):
        publish(small_run, tmp_path / "file" / "runs")


@pytest.mark.parametrize(
    ("owner", "name"),
    [(packing, "write_npz"), (directory, "encode_pretty"), (seal, "make"), (directory.os, "fsync")],
    ids=["npz", "json", "seal", "sync"],
)
def test_a_failed_write_publishes_nothing(small_run, tmp_path, monkeypatch, owner, name):
    monkeypatch.setattr(owner, name, full_disk)
    with pytest.raises(WorkError, match=r"could not write the run .*No space left on device; it was not published"):
        publish(small_run, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("name", sorted(FILES))
def test_a_disk_that_is_full_at_any_file_publishes_nothing(small_run, tmp_path, monkeypatch, name):
    plain, hit = io.open, []

    def open_full(file, mode="r", *arguments, **options):
        if name in os.path.basename(str(file)) and mode != "r" and mode != "rb":
            hit.append(file)
            return plain("/dev/full", "wb")
        return plain(file, mode, *arguments, **options)

    monkeypatch.setattr(io, "open", open_full)
    with pytest.raises(WorkError, match="No space left on device; it was not published") as caught:
        publish(small_run, tmp_path)
    assert len(hit) == 1
    assert caught.value.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_cannot_be_stored_is_an_input_error(small_run, tmp_path):
    twice = pa.table([pa.array(["a"]), pa.array(["b"])], names=["id", "id"])
    with pytest.raises(InputError, match="columns with different names"):
        publish(dataclasses.replace(small_run, table=twice), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["write_npz", "pack_tallies"])
def test_a_failed_write_leaves_the_old_run_alone(small_run, stored_run, monkeypatch, name):
    before = contents(stored_run.path)
    monkeypatch.setattr(packing, name, full_disk)
    with pytest.raises(WorkError, match="it was not published"):
        publish(small_run, stored_run.path.parent)
    assert contents(stored_run.path) == before
    assert list(stored_run.path.parent.iterdir()) == [stored_run.path]


def test_a_failed_rename_publishes_nothing(small_run, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "rename", full_disk)
    with pytest.raises(WorkError, match="it was not published"):
        publish(small_run, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_run_is_exchanged_without_being_moved_away(small_run, stored_run, monkeypatch):
    if not can_exchange(stored_run.path.parent):
        pytest.skip("the system cannot swap two folders")
    (stored_run.path / "stray.txt").write_text("old")
    plain, renamed = os.rename, []

    def rename(source, target, **options):
        plain(source, target, **options)
        renamed.append(os.fspath(source))

    monkeypatch.setattr(os, "rename", rename)
    publish(small_run, stored_run.path.parent)
    assert os.fspath(stored_run.path) not in renamed
    assert set(contents(stored_run.path)) == FILES
    assert list(stored_run.path.parent.iterdir()) == [stored_run.path]


def test_a_reader_never_finds_an_existing_run_missing(small_run, stored_run, monkeypatch):
    if not can_exchange(stored_run.path.parent):
        pytest.skip("the system cannot swap two folders")
    monkeypatch.setattr(directory, "sync", lambda path: None)
    done, looks, missing = threading.Event(), [], []

    def watch():
        while not done.is_set():
            looks.append(1)
            if not (stored_run.path / "manifest.json").is_file():
                missing.append(1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for number in range(10):
        publish(by_command(small_run, str(number)), stored_run.path.parent)
    done.set()
    watcher.join()
    assert looks
    assert not missing
    assert seal.problems(stored_run.path) == []


def no_library(*arguments, **options):
    raise OSError("no such library")


@pytest.mark.parametrize(
    "library", [no_library, lambda *arguments, **options: object()], ids=["no library", "no such call"]
)
def test_where_folders_cannot_be_swapped_the_old_run_makes_room(small_run, stored_run, monkeypatch, library):
    monkeypatch.setattr(ctypes, "CDLL", library)
    (stored_run.path / "stray.txt").write_text("old")
    again = publish(small_run, stored_run.path.parent)
    assert set(contents(again.path)) == FILES
    assert seal.problems(again.path) == []
    assert list(again.path.parent.iterdir()) == [again.path]


def test_where_folders_cannot_be_swapped_a_failed_rename_brings_the_old_run_back(small_run, stored_run, monkeypatch):
    before, plain, hit = contents(stored_run.path), os.rename, []

    def rename(path, target, **options):
        if os.path.basename(path).startswith(".publishing-") and not stored_run.path.exists():
            hit.append(path)
            full_disk()
        return plain(path, target, **options)

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(WorkError, match="No space left on device; it was not published"):
        publish(by_command(small_run, "again"), stored_run.path.parent)
    assert len(hit) == 1
    assert contents(stored_run.path) == before
    assert list(stored_run.path.parent.iterdir()) == [stored_run.path]


def test_publishers_of_one_run_do_not_disturb_each_other(small_run, tmp_path):
    failed = []

    def work():
        try:
            publish(small_run, tmp_path)
        except Exception as error:
            failed.append(error)

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failed == []
    (run,) = tmp_path.iterdir()
    assert set(contents(run)) == FILES
    assert seal.problems(run) == []


def test_drafts_that_may_be_anybodys_are_kept(small_run, tmp_path):
    """Those of another machine or a former version, whatever process id they name."""
    names = {f".publishing-{'f' * 12}-{'0' * 32}", ".draft-4711-0123abcd", ".replaced-x-0123abcd", ".hidden"}
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.lock").touch()
    run = publish(small_run, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*names, *(f"{name}.lock" for name in names), run.path.name}


def test_a_killed_publisher_leaves_a_draft_that_the_next_one_sweeps(small_run, tmp_path):
    # What a kill leaves: a draft whose lock nobody holds.
    draft = tmp_path / f".publishing-{drafts._kernel()}-{'0' * 32}"
    draft.mkdir()
    (draft / "manifest.json").write_text("{}")
    draft.with_name(f"{draft.name}.lock").touch()
    run = publish(small_run, tmp_path)
    assert list(tmp_path.iterdir()) == [run.path]


def test_the_draft_of_a_publisher_at_work_is_kept(small_run, evaluation, tmp_path, monkeypatch):
    """Another one publishes, and sweeps, between any two files that this one writes."""
    other, plain = make(dataclasses.replace(evaluation, system="other"), Plan(), Clock()), packing.write_npz

    def write(*arguments):
        monkeypatch.setattr(packing, "write_npz", plain)
        publish(other, tmp_path)
        monkeypatch.setattr(packing, "write_npz", write)
        return plain(*arguments)

    monkeypatch.setattr(packing, "write_npz", write)
    run = publish(small_run, tmp_path)
    assert seal.problems(run.path) == []
    assert len(list(tmp_path.iterdir())) == 2


def test_success_is_reported_when_the_name_is_on_the_disk(small_run, tmp_path, monkeypatch):
    """Files, their folder, the rename, the folder of runs: in this order."""
    plain_sync, plain_rename, done = os.fsync, os.rename, []
    target = tmp_path / "deep" / "runs" / small_run.manifest["id"]

    def fsync(handle):
        plain_sync(handle)
        done.append(os.readlink(f"/proc/self/fd/{handle}"))

    def rename(source, target, **options):
        plain_rename(source, target, **options)
        done.append(("rename", os.fspath(target)))

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    publish(small_run, target.parent)
    at = done.index(("rename", os.fspath(target)))
    (draft,) = {os.path.dirname(path) for path in done[:at] if os.path.basename(path) == seal.NAME}
    assert {f"{draft}/{name}" for name in FILES} < {*done[:at]}
    assert done[at - 1] == draft
    assert done[at + 1 :] == [os.fspath(target.parent)]
    assert {os.fspath(tmp_path), os.fspath(tmp_path / "deep")} < {*done[:at]}, "folders that were made for it"


def test_a_name_that_cannot_be_forced_to_the_disk_is_no_success(small_run, tmp_path, monkeypatch):
    plain = os.fsync

    def fsync(handle):
        if os.readlink(f"/proc/self/fd/{handle}") == os.fspath(tmp_path):
            raise OSError(errno.EIO, "Input/output error")
        plain(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(WorkError, match=r"could not be forced to the disk \(Input/output error\): .* publish it again"):
        publish(small_run, tmp_path)


def test_a_file_system_that_cannot_sync_folders_does_without(small_run, tmp_path, monkeypatch):
    plain = os.fsync

    def fsync(handle):
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(errno.EINVAL, "Invalid argument")
        plain(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    assert seal.problems(publish(small_run, tmp_path).path) == []


def test_an_interrupted_write_leaves_no_draft(small_run, tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(packing, "write_npz", interrupt)
    with pytest.raises(KeyboardInterrupt):
        publish(small_run, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_of_the_predictions_publishes_nothing(small_run, tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "write_table", full_disk)
    with pytest.raises(WorkError, match="it was not published"):
        publish(small_run, tmp_path)
    assert list(tmp_path.iterdir()) == []
