"""Places that files are written to: a file system in memory is one, devices are not."""

import os
import shutil
import uuid
from pathlib import Path

import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.intake import writing
from gnomon.intake.writing import check_replaceable, check_writable, replacing

ROWS = {"id": ["1", "2"], "label": ["a", "b"], "group": ["x", "y"], "speed": [0.5, 1.5]}


@pytest.fixture
def shm():
    """A folder in ``/dev/shm`` that is not there yet."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or not os.access(memory, os.W_OK):
        pytest.skip("there is no /dev/shm that may be written to")
    folder = memory / f"gnomon-test-{uuid.uuid4().hex}"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_runs_and_stored_work_may_lie_in_memory(shm):
    (scored,) = gnomon.score("labels", truth=ROWS, predictions=ROWS, out=str(shm / "scored")).runs
    assert gnomon.verify(scored.path)
    options = {"systems": ("majority",), "folds": 2, "out": str(shm / "runs"), "store": str(shm / "kept")}
    (done,) = gnomon.run("labels", truth=ROWS, **options).runs
    assert done.path.parent == shm / "runs"
    assert (shm / "kept" / "locks").is_dir()


def test_files_may_lie_in_memory(shm):
    check_writable("/dev/shm", folder=True)
    check_writable(shm / "page.md")
    shm.mkdir()
    with replacing(shm / "page.md") as file:
        file.write(b"text")
    assert (shm / "page.md").read_bytes() == b"text"


@pytest.mark.parametrize("place", ["/dev", "/dev/x", "/dev/shm/../x", "/dev/shmx", "/proc", "/proc/x", "/sys/x"])
def test_folders_of_devices_are_no_place_for_files(place):
    with pytest.raises(InputError, match=r"^--out .*: is no place for files; choose another name"):
        check_writable(place, folder=True, said="--out")


@pytest.mark.parametrize("device", ["/dev/null", "/dev/stdout", "/dev/full"])
def test_devices_are_not_replaced(device):
    with pytest.raises(InputError):
        check_replaceable(device)
    with pytest.raises(InputError):
        check_writable(device)


def test_what_is_refused_is_not_made(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "UNUSABLE", (f"{tmp_path}/dev/",))
    with pytest.raises(InputError, match="is no place for files"):
        gnomon.score("labels", truth=ROWS, predictions=ROWS, out=str(tmp_path / "dev" / "runs"))
    assert list(tmp_path.iterdir()) == []
