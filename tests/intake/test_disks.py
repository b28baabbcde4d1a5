"""Parts of files: the bytes of ``Path.read_bytes``, whether they come from the cache, past it, or by both ways."""

import errno
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake import disks

SIZE = 5 * disks.BLOCK + 77


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "some"
    path.write_bytes(np.random.default_rng(1).bytes(SIZE))
    return path


def uncached(path):
    """Write a file out and drop it from the cache."""
    with path.open("rb") as held:
        os.fsync(held.fileno())
        os.posix_fadvise(held.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.fixture
def direct(file):
    """A file that is not in the cache, on a file system that can be read past it."""
    if not hasattr(os, "O_DIRECT"):
        pytest.skip("this system has no direct reading")
    uncached(file)
    with disks.opened(file) as reader:
        if reader.direct is None or reader.cached(0, SIZE):
            pytest.skip("this file system has no direct reading, or keeps what it is told to drop")
    return file


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, SIZE), st.integers(0, SIZE), st.booleans())
def test_parts_are_the_bytes_of_the_file(file, begin, size, cached):
    size = min(size, SIZE - begin)
    if not cached:
        uncached(file)
    with disks.opened(file) as reader:
        found = reader.read(begin, size, disks.room(size))
    assert found.tobytes() == file.read_bytes()[begin : begin + size]


def test_what_is_not_cached_is_read_past_the_cache(direct):
    with disks.opened(direct) as reader:
        reader.pace = disks.Pace()
        assert reader.read(100, 9000, disks.room(9000)).tobytes() == direct.read_bytes()[100:9100]
        assert reader.pace.bytes == 3 * disks.BLOCK
    uncached(direct)
    with disks.opened(direct) as reader:
        reader.read(0, SIZE, disks.room(SIZE))
        assert not reader.cached(0, SIZE)


def test_what_is_cached_comes_from_there(direct):
    direct.read_bytes()
    with disks.opened(direct) as reader:
        reader.pace = disks.Pace()
        assert reader.cached(0, SIZE)
        assert reader.read(0, SIZE, disks.room(SIZE)).tobytes() == direct.read_bytes()
        assert reader.pace.bytes == 0


def test_a_slow_disk_is_read_through_the_cache(direct):
    with disks.opened(direct) as reader:
        reader.pace = disks.Pace(disks.TRIED, disks.TRIED / disks.FAST * 1.01)
        assert reader.read(0, SIZE, disks.room(SIZE)).tobytes() == direct.read_bytes()
        assert reader.pace.bytes == disks.TRIED
        assert reader.cached(0, SIZE)


def test_a_disk_is_judged_by_what_it_gave():
    assert disks.Pace().fast
    assert disks.Pace(disks.TRIED - 1, 1e9).fast
    assert disks.Pace(disks.TRIED, disks.TRIED / disks.FAST * 0.99).fast
    assert not disks.Pace(disks.TRIED, disks.TRIED / disks.FAST * 1.01).fast
    assert disks.pace(7) is disks.pace(7)
    assert disks.pace(7) is not disks.pace(8)


def test_one_pace_is_kept_for_all_files_of_a_disk(direct, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"x")
    with disks.opened(direct) as one, disks.opened(other) as two:
        assert one.pace is two.pace is disks.pace(other.stat().st_dev)


@pytest.mark.parametrize("given", [0, 1, 100, 101, disks.BLOCK, disks.BLOCK + 5])
def test_a_short_answer_is_completed_the_usual_way(direct, monkeypatch, given):
    usual, size = os.preadv, 2 * disks.BLOCK

    def short(file, rooms, at):
        got = usual(file, rooms, at)
        if file != reader.direct:
            return got
        rooms[0][given:] = bytes(len(rooms[0]) - given)
        return given

    with disks.opened(direct) as reader:
        monkeypatch.setattr(os, "preadv", short)
        found = reader.read(100, size, disks.room(size)).tobytes()
        assert reader.pace.bytes >= given
    assert found == direct.read_bytes()[100 : 100 + size]


def test_a_disk_that_refuses_is_read_the_usual_way(direct, monkeypatch):
    usual = os.preadv
    with disks.opened(direct) as reader:
        refused = reader.direct

        def refusing(file, *rest):
            if file == refused:
                raise OSError(errno.EINVAL, "Invalid argument")
            return usual(file, *rest)

        monkeypatch.setattr(os, "preadv", refusing)
        assert reader.read(5, 50, disks.room(50)).tobytes() == direct.read_bytes()[5:55]
        assert reader.direct is None


def test_a_disk_that_fails_is_an_error(direct, monkeypatch):
    def failing(*_):
        raise OSError(errno.EIO, "Input/output error")

    with disks.opened(direct) as reader:
        monkeypatch.setattr(os, "preadv", failing)
        with pytest.raises(OSError, match="Input/output error"):
            reader.read(5, 50, disks.room(50))


@pytest.mark.parametrize("cached", [True, False])
def test_a_file_that_ends_too_early_is_named(file, cached):
    if not cached:
        uncached(file)
    with disks.opened(file) as reader, pytest.raises(InputError, match="some: ends 23 bytes too early"):
        reader.read(SIZE - 77, 100, disks.room(100))


def test_a_system_that_cannot_tell_is_read_the_usual_way(file, monkeypatch):
    monkeypatch.setattr(disks, "_mincore", lambda: None)
    with disks.opened(file) as reader:
        assert reader.direct is None
        assert reader.read(3, 9, disks.room(9)).tobytes() == file.read_bytes()[3:12]


def test_an_empty_file_has_no_parts(tmp_path):
    (tmp_path / "none").touch()
    with disks.opened(tmp_path / "none") as reader:
        assert reader.read(0, 0, disks.room(0)).size == 0


def test_nothing_stays_open(file):
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    if before is None:
        pytest.skip("this system does not tell what is open")
    for _ in range(3):
        with disks.opened(file) as reader:
            reader.read(0, 10, disks.room(10))
    assert len(os.listdir("/proc/self/fd")) == before
