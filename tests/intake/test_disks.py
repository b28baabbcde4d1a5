"""Parts of files: the bytes of ``Path.read_bytes``, whether they come from the cache, past it, or by both ways."""

import errno
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake import disks
from gnomon.intake.disks import BLOCK, Pace, opened, room

SIZE = 5 * BLOCK + 77

pytestmark = pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="this system cannot be told to drop a file")


@pytest.fixture(autouse=True)
def _unknown(monkeypatch):
    """No disk is known, so that how fast that of the tests is does not matter."""
    monkeypatch.setattr(disks, "_paces", {})


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


def read(reader, begin, size):
    with room(size) as held:
        return reader.read(begin, size, held).tobytes()


@pytest.fixture
def direct(file):
    """A file that is not in the cache, on a file system that can be read past it."""
    uncached(file)
    with opened(file) as reader:
        if reader.direct is None or reader.cached(0, SIZE):
            pytest.skip("this file system has no direct reading, or keeps what it is told to drop")
    return file


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, SIZE), st.integers(0, SIZE), st.booleans(), st.booleans())
def test_parts_are_the_bytes_of_the_file(file, begin, size, cached, past):
    size = min(size, SIZE - begin)
    if not cached:
        uncached(file)
    with opened(file, past=past) as reader:
        assert read(reader, begin, size) == file.read_bytes()[begin : begin + size]


def test_what_is_not_cached_is_read_past_the_cache(direct):
    with opened(direct) as reader:
        found = read(reader, 100, 9000)
        assert reader.pace.given == 3 * BLOCK
        assert not reader.cached(0, SIZE)
    assert found == direct.read_bytes()[100:9100]


def test_what_is_cached_comes_from_there(direct):
    direct.read_bytes()
    with opened(direct) as reader:
        assert reader.cached(0, SIZE)
        assert read(reader, 0, SIZE) == direct.read_bytes()
        assert reader.pace.given == 0


def test_who_wants_the_cache_gets_it(direct):
    with opened(direct, past=False) as reader:
        assert reader.direct is None
        assert read(reader, 0, SIZE) == direct.read_bytes()
        assert reader.pace.given == 0


def test_a_slow_disk_is_read_through_the_cache(direct):
    with opened(direct) as reader:
        reader.pace.recent.extend([False] * disks.RECENT)
        found = read(reader, 0, SIZE)
        assert reader.pace.given == 0
        assert reader.cached(0, SIZE)
    assert found == direct.read_bytes()


def paced(*shares):
    """What is known of a disk whose reads had shares of the pace of a fast one."""
    pace = Pace()
    for share in shares:
        pace.add(1000, 1000 / disks.FAST / share)
    return pace


def test_a_disk_is_judged_by_most_of_its_last_reads():
    few, most = disks.RECENT // 2, disks.RECENT // 2 + 1
    assert Pace().fast()
    assert paced(*[0.1] * (disks.RECENT - 1)).fast()
    assert not paced(*[0.99] * disks.RECENT).fast()
    assert paced(*[0.001] * few, *[1.01] * most).fast()
    assert not paced(*[0.99] * most, *[1000.0] * few).fast()
    assert paced(*[0.1] * 1000, *[1.01] * most).fast()


def test_a_slow_disk_is_tried_again_now_and_then():
    pace = paced(*[0.99] * disks.RECENT)
    assert sum(pace.fast() for _ in range(3 * disks.AGAIN)) == 3


def test_one_pace_is_kept_for_all_files_of_a_disk(file, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"x")
    with opened(file) as one, opened(other) as two:
        assert one.pace is two.pace is disks._paces[other.stat().st_dev]


@pytest.mark.parametrize("short", [0, 1, 100, 101, BLOCK, BLOCK + 5])
def test_a_short_answer_is_completed_the_usual_way(direct, monkeypatch, short):
    usual, size = os.preadv, 2 * BLOCK

    def some(file, rooms, at):
        got = usual(file, rooms, at)
        if file != reader.direct:
            return got
        rooms[0][short:] = bytes(len(rooms[0]) - short)
        return short

    with opened(direct) as reader:
        monkeypatch.setattr(os, "preadv", some)
        found = read(reader, 100, size)
        assert reader.pace.given == short
        assert len(reader.pace.recent) == 1
    assert found == direct.read_bytes()[100 : 100 + size]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP, errno.ENOMEM])
def test_a_disk_that_refuses_is_read_the_usual_way(direct, monkeypatch, number):
    usual = os.preadv
    with opened(direct) as reader:
        refused = reader.direct

        def refusing(file, *rest):
            if file == refused:
                raise OSError(number, os.strerror(number))
            return usual(file, *rest)

        monkeypatch.setattr(os, "preadv", refusing)
        assert read(reader, 5, 50) == direct.read_bytes()[5:55]
        assert reader.direct is None


def test_a_disk_that_fails_is_an_error(direct, monkeypatch):
    def failing(*_):
        raise OSError(errno.EIO, "Input/output error")

    with opened(direct) as reader:
        monkeypatch.setattr(os, "preadv", failing)
        with pytest.raises(OSError, match="Input/output error"):
            read(reader, 5, 50)


@pytest.mark.parametrize("cached", [True, False])
def test_a_file_that_ends_too_early_is_named(file, cached):
    if not cached:
        uncached(file)
    with opened(file) as reader, pytest.raises(InputError, match="some: ends 23 bytes too early"):
        read(reader, SIZE - 77, 100)


def test_a_file_that_is_gone_is_named(tmp_path):
    with (
        pytest.raises(InputError, match=r"none: cannot be read \(No such file or directory\)"),
        opened(tmp_path / "none"),
    ):
        pass


def test_a_file_that_is_replaced_meanwhile_is_read_the_usual_way(file, monkeypatch):
    usual, whole = disks._residence, file.read_bytes()

    def replaced(*given):
        other = file.with_name("other")
        other.write_bytes(bytes(SIZE))
        other.replace(file)
        return usual(*given)

    monkeypatch.setattr(disks, "_residence", replaced)
    with opened(file) as reader:
        assert reader.direct is None
        assert read(reader, 0, SIZE) == whole


def test_a_system_that_cannot_tell_is_read_the_usual_way(file, monkeypatch):
    monkeypatch.setattr(disks, "_mincore", lambda: None)
    with opened(file) as reader:
        assert reader.direct is None
        assert read(reader, 3, 9) == file.read_bytes()[3:12]


@pytest.mark.parametrize("error", [OSError(errno.ENODEV, "No such device"), ValueError("too short"), OverflowError()])
def test_a_file_that_cannot_be_mapped_is_read_the_usual_way(file, monkeypatch, error):
    def failing(*_, **__):
        raise error

    with room(9) as held:
        monkeypatch.setattr(disks.mmap, "mmap", failing)
        with opened(file) as reader:
            assert reader.direct is None
            assert reader.read(3, 9, held).tobytes() == file.read_bytes()[3:12]


def test_an_empty_file_has_no_parts(tmp_path):
    (tmp_path / "none").touch()
    with opened(tmp_path / "none") as reader:
        assert read(reader, 0, 0) == b""


def test_rooms_are_used_again_and_not_shared(monkeypatch):
    monkeypatch.setattr(disks, "_spare", {})
    with room(99) as one, room(99) as two:
        assert one.ctypes.data != two.ctypes.data
        assert not one.ctypes.data % BLOCK
        one[:], two[:] = 1, 2
        assert one.max() == 1
    with room(99) as again:
        assert again.ctypes.data in (one.ctypes.data, two.ctypes.data)
    assert len(disks._spare[99]) == 2


def test_no_more_rooms_are_kept_than_are_of_use(monkeypatch):
    monkeypatch.setattr(disks, "_spare", {})
    monkeypatch.setattr(disks, "SPARE", 1)
    with room(5), room(5), room(5):
        pass
    assert len(disks._spare[5]) == 1


def test_nothing_stays_open(file):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not tell what is open")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with opened(file) as reader:
            read(reader, 0, 10)
    assert len(os.listdir("/proc/self/fd")) == before
