"""Data by address. Servers are on loopback; what they send is what is expected back."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from gnomon.core.errors import GnomonError, InputError, MissingExtraError, WorkError
from gnomon.intake import addresses, fetching, remote

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed (extra cluster)")

SECONDS = 60
FETCH = "import sys; from gnomon.intake.remote import local; print(local(sys.argv[1]), flush=True); sys.stdin.read()"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "cache"


@pytest.fixture
def memory():
    """Files of fsspec's memory, by path."""
    system = fsspec.filesystem("memory")

    def put(path, body):
        system.pipe_file(path, body)
        return f"memory://{path.lstrip('/')}"

    yield put
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def published(cache):
    """Everything under a final name, but for records and locks."""
    return sorted(p for p in cache.glob("*/*/**/*") if p.is_file() and "draft-" not in str(p.relative_to(cache)))


def test_a_path_is_a_path(tmp_path):
    for path in ("a.csv", "C:\\a.csv", "c://a", "data:a", tmp_path):
        assert remote.local(path) == Path(path)


def test_what_lies_on_this_machine_is_not_copied(tmp_path, cache):
    (tmp_path / "a b.csv").write_text("x")
    for url in (f"file://{tmp_path}/a b.csv", f"local://{tmp_path}/a b.csv", f"file://localhost{tmp_path}/a%20b.csv"):
        assert remote.local(url) == tmp_path / "a b.csv"
    assert not cache.exists()


def test_a_file_is_fetched_once_and_again_when_it_changed(web, cache):
    url = web.put("/deep/a%20b.csv.gz".replace("%20", " "), b"one", "1").replace(" ", "%20")
    said = io.StringIO()
    first = remote.local(url, stream=said)
    assert first.read_bytes() == b"one"
    assert first.name == "a b.csv.gz"
    assert said.getvalue() == f"fetching {url} (0.0 MB)\n"
    assert remote.local(url) == first
    assert web.fetched("/deep/a b.csv.gz") == 1
    web.put("/deep/a b.csv.gz", b"two", "2")
    second = remote.local(url)
    assert second.read_bytes() == b"two"
    assert first.read_bytes() == b"one", "this process may still read it"
    record = json.loads(second.parent.with_suffix(".json").read_text())
    assert record["facts"] == {"etag": '"2"'}
    assert (record["url"], record["bytes"], record["name"]) == (url, 3, "a b.csv.gz")


def test_the_same_bytes_under_another_tag_are_the_same_copy(web):
    url = web.put("/a.csv", b"same", "1")
    first = remote.local(url)
    web.put("/a.csv", b"same", "2")
    assert remote.local(url) == first
    assert remote.local(url) == first
    assert web.fetched("/a.csv") == 2, "by its new tag it is known the third time"


def test_a_server_that_tells_nothing_is_asked_each_time(web):
    url = web.put("/a.csv", b"one")
    assert remote.local(url).read_bytes() == b"one"
    web.put("/a.csv", b"two")
    assert remote.local(url).read_bytes() == b"two"


def test_a_date_in_seconds_is_believed_when_it_is_old_enough(web):
    for age, fetched in ((0, 2), (3600, 1)):
        path = f"/{age}.csv"
        stamp = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() - age))
        url = web.put(path, b"dated")
        web.answers[path].headers["Last-Modified"] = stamp
        remote.local(url)
        remote.local(url)
        assert web.fetched(path) == fetched


def test_stamps_follow_content(web):
    stamps = {}
    for path, body in (("/a", b"one"), ("/b", b"one"), ("/c", b"two")):
        stamps[path] = remote.local(web.put(path, body, "1")).stat().st_mtime_ns
    assert stamps["/a"] == stamps["/b"] != stamps["/c"]


def test_bytes_are_stored_as_they_are_sent(web):
    """A gzipped file that a server declares as an encoding stays gzipped, as its name says."""
    import gzip

    body = gzip.compress(b"id,label\n")
    url = web.put("/a.csv.gz", body, "1")
    web.answers["/a.csv.gz"].headers["Content-Encoding"] = "gzip"
    assert remote.local(url).read_bytes() == body


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (404, InputError, r"nothing there \(HTTP 404\); check the address"),
        (403, InputError, r"without rights \(HTTP 403\); check the credentials"),
        (503, WorkError, r"cannot answer \(HTTP 503\); give the same command again later"),
    ],
)
def test_answers_that_are_no_file(web, cache, status, kind, said):
    url = web.put("/a.csv", b"", status=status)
    with pytest.raises(kind, match=said) as caught:
        remote.local(url)
    assert str(caught.value).startswith(f"{url}: ")
    assert not published(cache)


def test_a_transfer_that_is_cut_off(web, cache):
    url = web.put("/a.csv", b"half of it", "1", length=1000)
    said = (
        r"a\.csv: the transfer was cut off \(the answer ended after 10 of 1,000 bytes\); give the same command again$"
    )
    with pytest.raises(WorkError, match=said):
        remote.local(url)
    assert not published(cache)
    web.put("/a.csv", b"all of it", "1")
    assert remote.local(url).read_bytes() == b"all of it"
    assert not list(cache.glob("*/draft-*"))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"12", r"the transfer was cut off \(the answer ended after 2 of 3 bytes\)"),
        (b"12345", r"a\.csv: 5 bytes came, expected 3; give the same command again$"),
    ],
)
def test_more_or_less_than_was_announced(memory, cache, monkeypatch, body, said):
    url = memory("/a.csv", b"123")
    monkeypatch.setattr(
        type(fsspec.filesystem("memory")), "get_file", lambda _, path, target, **more: Path(target).write_bytes(body)
    )
    with pytest.raises(WorkError, match=said):
        remote.local(url)
    assert not published(cache)


def test_a_body_that_never_comes(web, cache, monkeypatch):
    monkeypatch.setattr(fetching, "SILENCE", 0.3)
    url = web.put("/a.csv", b"late", "1", delay=3.0)
    with pytest.raises(WorkError, match="no answer in time"):
        remote.local(url)
    assert not published(cache)


def test_nobody_at_the_address(cache):
    pytest.importorskip("aiohttp", reason="aiohttp is not installed (extra cluster)")
    with pytest.raises(
        WorkError, match=r"^http://127\.0\.0\.1:1/a\.csv: no connection \(.*\); check address and network"
    ):
        remote.local("http://127.0.0.1:1/a.csv")


@pytest.mark.parametrize("announced", [True, False])
def test_limits_hold(web, cache, monkeypatch, announced):
    monkeypatch.setattr(fetching, "DEFAULT", fetching.DEFAULT.__class__(max_file_bytes=100))
    url = web.put("/a.csv", b"x" * 101, "1", **({} if announced else {"length": None}))
    with pytest.raises(InputError, match=r"101 bytes or more, expected at most 100; raise GNOMON_MAX_FILE_BYTES"):
        remote.local(url)
    assert not published(cache)
    monkeypatch.setenv("GNOMON_MAX_FILE_BYTES", "101")
    assert remote.local(url).stat().st_size == 101


def test_a_full_disk(memory, cache, monkeypatch):
    url = memory("/a.csv", b"x" * 1000)
    with monkeypatch.context() as patch:
        patch.setattr(fetching.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
        with pytest.raises(
            WorkError, match=r"is full \(1,000 bytes are wanted and 10 free\); free space, or set GNOMON"
        ):
            remote.local(url)

    def no_space(self, path, target, **more):
        Path(target).write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "get_file", no_space)
    with pytest.raises(WorkError, match="the disk of fetched data is full"):
        remote.local(url)
    assert not published(cache)


def test_a_cache_that_cannot_be_written(memory, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path / "file"))
    with pytest.raises(WorkError, match=r"no copy can be kept in .*file \(.*\); set GNOMON_CACHE"):
        remote.local(memory("/a.csv", b"x"))


def test_where_copies_lie(monkeypatch, tmp_path):
    assert remote.cache() == tmp_path / "cache"
    monkeypatch.delenv("GNOMON_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert remote.cache() == tmp_path / "gnomon" / "remote"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert remote.cache() == tmp_path / ".cache" / "gnomon" / "remote"


def test_folders(memory):
    for path, body in {"a.csv": b"a", "sub/b.csv": b"b", "sub/deep/c.csv": b"c"}.items():
        memory(f"/day/{path}", body)
    memory("/daylight/d.csv", b"d")
    for url in ("memory://day/", "memory://day"):
        folder = remote.local(url)
        found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert found == {"a.csv": b"a", "sub/b.csv": b"b", "sub/deep/c.csv": b"c"}
        assert folder.name == "day"
    before = remote.local("memory://day/")
    memory("/day/sub/b.csv", b"B")
    after = remote.local("memory://day/")
    assert before != after
    assert (after / "sub/b.csv").read_bytes() == b"B"
    with pytest.raises(InputError, match=r"nothing there|no files there"):
        remote.local("memory://night/")


def test_a_file_in_a_folder_that_is_fetched_whole(memory):
    memory("/day/truth/a.json", b"{}")
    memory("/day/truth/raw/a.csv", b"raw")
    path = remote.local("memory://day/./truth/a.json")
    assert path.read_bytes() == b"{}"
    assert (path.parent / "raw/a.csv").read_bytes() == b"raw"
    for inner in ("truth/b.json", "../../a.json"):
        with pytest.raises(InputError, match="holds no"):
            remote.local(f"memory://day/./{inner}")


def test_a_folder_of_a_web_server_by_its_list(web):
    web.put("/day/", b'<a href="?C=N">Name</a><a href="../">Up</a><a href="a.csv">a</a><a href="x%20y/">x y</a>')
    web.put("/day/x y/", b'<a href="/day/x%20y/b.csv">b</a> see http://127.0.0.1/day/c.csv')
    for path in ("/day/", "/day/x y/"):
        web.answers[path].headers["Content-Type"] = "text/html"
    web.put("/day/a.csv", b"a", "1")
    web.put("/day/x y/b.csv", b"b", "1")
    folder = remote.local(f"{web.url}/day/")
    assert (folder / "a.csv").read_bytes() == b"a"
    assert (folder / "x y/b.csv").read_bytes() == b"b"
    assert sum(path.is_file() for path in folder.rglob("*")) == 2
    assert remote.local(f"{web.url}/day/") == folder
    assert web.fetched("/day/a.csv") == 1


@pytest.fixture
def said(web):
    """A folder of a web server with four shards of known versions; gives its address."""
    names = ("a.npy", "b.npy", "c.npy", "x y/d.npy")
    pages = {"/said/": ("a.npy", "b.npy", "c.npy", "x%20y/"), "/said/x y/": ("d.npy",)}
    for path, links in pages.items():
        web.put(path, "".join(f'<a href="{link}">.</a>' for link in links).encode())
        web.answers[path].headers["Content-Type"] = "text/html"
    for name in names:
        web.put(f"/said/{name}", name.encode(), "1")
    return f"{web.url}/said/"


FAULTS = {
    "404": (
        {"status": 404},
        InputError,
        "nothing there (HTTP 404); put it there, or take it out of what the folder lists",
    ),
    "403": ({"status": 403}, InputError, "the server lets nobody in without rights (HTTP 403); check the credentials"),
    "503": ({"status": 503}, WorkError, "the server cannot answer (HTTP 503); give the same command again later"),
    "cut": (
        {"length": 99},
        WorkError,
        "the transfer was cut off (the answer ended after 4 of 99 bytes); give the same command again",
    ),
}


@pytest.mark.parametrize("name", ["b.npy", "x y/d.npy"])
@pytest.mark.parametrize(("how", "kind", "words"), FAULTS.values(), ids=FAULTS)
def test_a_file_of_a_folder_that_fails_is_named(web, said, cache, how, kind, words, name):
    web.put(f"/said/{name}", b"half", "2", **how)
    with pytest.raises(kind) as caught:
        remote.local(said)
    assert str(caught.value) == f"{said}: {name}: {words}"
    assert not list(cache.glob("*/*.json")), "a folder is there whole or not at all"


def test_a_folder_in_a_folder_that_fails_is_named(web, said):
    web.answers["/said/x y/"].length = 1000
    with pytest.raises(WorkError) as caught:
        remote.local(said)
    assert str(caught.value) == (
        f"{said}: x y/: the transfer was cut off (the answer ended too early); give the same command again"
    )


def test_several_files_that_fail_are_named_together(web, said):
    for name in ("c.npy", "a.npy", "x y/d.npy"):
        web.answers[f"/said/{name}"].status = 404
    with pytest.raises(InputError) as caught:
        remote.local(said)
    assert str(caught.value) == f"{said}: a.npy: {FAULTS['404'][2]}; 2 more failed: 'c.npy', 'x y/d.npy'"


def test_what_came_of_a_folder_is_not_fetched_again(web, said, cache):
    web.put("/said/b.npy", b"half", "1", length=99)
    for _ in range(2):
        with pytest.raises(WorkError, match=r"/said/: b\.npy: the transfer was cut off"):
            remote.local(said)
    web.put("/said/b.npy", b"b.npy", "1")
    web.put("/said/c.npy", b"new", "2")
    folder = remote.local(said)
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == {"a.npy": b"a.npy", "b.npy": b"b.npy", "c.npy": b"new", "x y/d.npy": b"x y/d.npy"}
    counts = {name: web.fetched(f"/said/{name}") for name in found}
    assert counts == {"a.npy": 1, "b.npy": 3, "c.npy": 2, "x y/d.npy": 1}, "what changed in between comes again"
    assert not list(cache.glob("*/begun"))


def test_what_came_of_a_folder_in_no_known_version_is_fetched_again(web, said):
    web.put("/said/a.npy", b"one")
    web.put("/said/b.npy", b"half", "1", length=99)
    with pytest.raises(WorkError, match="b\\.npy"):
        remote.local(said)
    web.put("/said/a.npy", b"two")
    web.put("/said/b.npy", b"whole", "1")
    folder = remote.local(said)
    assert ((folder / "a.npy").read_bytes(), (folder / "b.npy").read_bytes()) == (b"two", b"whole")


def test_a_folder_of_a_server_that_is_down_is_given_up(web, said):
    """Every body is refused: only so many are asked for that a large folder does not keep one waiting."""
    names = [f"{number:03}.npy" for number in range(100)]
    web.put("/said/", "".join(f'<a href="{name}">.</a>' for name in names).encode())
    web.answers["/said/"].headers["Content-Type"] = "text/html"
    for name in names:
        web.put(f"/said/{name}", b"x", "1", status=503)
    with pytest.raises(WorkError, match=r"HTTP 503.* more failed"):
        remote.local(said)
    asked = sum(web.asked["HEAD", f"/said/{name}"] for name in names)
    assert fetching.MOST_FAULTS <= asked <= fetching.MOST_FAULTS + fetching.AT_ONCE


class Listing:
    """A file system that says what it is told to say."""

    def __init__(self, *names):
        self.names = names

    def ls(self, path, **_):
        kinds = {name: "directory" if name.endswith("/") else "file" for name in self.names}
        return [{"name": name, "size": 1, "mtime": 1, "type": kind} for name, kind in kinds.items()]


@pytest.mark.parametrize("name", ["root/../a", "root//etc/passwd", "root/./a", "root/a/../../b", "root/a\0b"])
def test_names_that_climb_are_refused(name):
    with pytest.raises(InputError, match="is no name of a file below it"):
        fetching._listed("s3://root/", Listing(name), "root")


def test_too_many_files(monkeypatch):
    monkeypatch.setattr(fetching, "MOST_FILES", 1)
    with pytest.raises(InputError, match="too many files, expected at most 1 files"):
        fetching._listed("s3://root/", Listing("root/a", "root/b"), "root")
    with pytest.raises(InputError, match="too many files"):
        fetching._listed("s3://root/", Listing("root/" + "a/" * 40), "root")


def test_packages_that_are_missing(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "s3fs", None)
        with pytest.raises(InputError, match=r"^s3://b/a\.csv: s3:// needs the package s3fs, .*: pip install s3fs$"):
            remote.local("s3://b/a.csv")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "aiohttp", None)
        with pytest.raises(InputError, match=r"https:// needs the package aiohttp, .*: pip install aiohttp$"):
            remote.local("https://127.0.0.1/a.csv")
    with pytest.raises(InputError, match=r"the protocol qq:// is not known"):
        remote.local("qq://b/a.csv")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gnomon\[cluster\]'"):
        remote.local("memory://a.csv")


# Expected by hand.
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:pw@h/a.csv", "https://h/a.csv"),
        ("https://token@h:80/a@b.csv", "https://h:80/a@b.csv"),
        ("s3://KEY:SEC/RET@bucket/a", "s3://KEY:SEC/RET@bucket/a"),
        ("s3://KEY:SECRET@bucket/a", "s3://bucket/a"),
        ("abfss://c@acc/a", "abfss://c@acc/a"),
        ("abfss://c:pw@acc/a", "abfss://acc/a"),
        ("zip://a.csv::https://me:pw@h/a.zip", "zip://a.csv::https://h/a.zip"),
        ("https://h/a?sv=2024&se=x&sig=ab%2Fc%3D", "https://h/a?sv=2024&se=x&sig=***"),
        ("https://h/a?X-Amz-Credential=A/b&X-Amz-Expires=60", "https://h/a?X-Amz-Credential=***&X-Amz-Expires=60"),
        ("https://h/a?download=1&author=me", "https://h/a?download=1&author=me"),
        ("https://h/a?q=0123456789abcdef0123456789abcdef", "https://h/a?q=***"),
        ("https://h/a?0123456789abcdef0123456789abcdef", "https://h/a?***"),
        ("https://h/a#access_token=x", "https://h/a#access_token=***"),
        ("m=https://a:b@h/c (https://h/d?key=e): f", "m=https://h/c (https://h/d?key=***): f"),
        ("dask://127.0.0.1:8786", "dask://127.0.0.1:8786"),
        ("mail a@b.c: no address", "mail a@b.c: no address"),
    ],
)
def test_what_is_secret_is_not_shown(text, shown):
    assert addresses.cleaned(text) == shown
    assert addresses.cleaned(shown) == shown


def test_credentials_are_in_no_message_record_or_traceback(web, cache, monkeypatch):
    import traceback

    secret = ("hunter2", "f00dcafe")
    base = web.url.replace("http://", "http://me:hunter2@")
    faults = {
        "/gone.csv": {"status": 404},
        "/bad.csv": {"status": 500},
        "/cut.csv": {"length": 99},
        "/late": {"delay": 2},
    }
    monkeypatch.setattr(fetching, "SILENCE", 0.3)
    for path, how in faults.items():
        web.put(path, b"x", **how)
        url = f"{base}{path}?sig={secret[1]}"
        with pytest.raises(GnomonError) as caught:
            remote.local(url)
        text = "".join(traceback.format_exception(caught.value))
        assert "127.0.0.1" in str(caught.value)
        assert not any(word in text for word in secret), text
    web.put("/a.csv", b"x", "1")
    said = io.StringIO()
    path = remote.local(f"{base}/a.csv?sig=f00dcafe", stream=said)
    kept = [file.read_text() for file in cache.rglob("*") if file.is_file()]
    shown = remote.recorded({"a": [f"{path}: no rows"]})
    assert shown == {"a": [f"{web.url}/a.csv?sig=***: no rows"]}
    assert not any(word in text for word in secret for text in [*kept, said.getvalue(), os.fspath(path)])


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("s3://b/a?b#c.csv", "a?b#c.csv"),
        ("https://h/..%2f..%2f.bashrc", ".bashrc"),
        ("https://h/%2e%2e", "data"),
        ("https://h/a%00b.csv", "a_b.csv"),
        ("memory://", "data"),
        ("https://h/" + "ä" * 300 + ".csv.gz", None),
    ],
)
def test_names_of_copies(url, name):
    found = addresses.name_of(url)
    assert found == name or (name is None and len(found.encode()) <= 200 and found.endswith("ä.csv.gz"))


def test_two_processes_fetch_once(web, cache):
    url = web.put("/a.csv", b"slow enough for both", "1", delay=0.5)
    both = [subprocess.Popen([sys.executable, "-c", FETCH, url], **_piped()) for _ in range(2)]
    told = [process.communicate(timeout=SECONDS)[0].strip() for process in both]
    assert told[0] == told[1]
    assert Path(told[0]).read_bytes() == b"slow enough for both"
    assert web.fetched("/a.csv") == 1


def _piped():
    return {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}


def test_a_draft_of_another_machine_stays(web, cache):
    """It may be fetching what lies at the same address, where locks are not seen by both."""
    url = web.put("/a.csv", b"one", "1")
    home = remote.local(url).parent.parent
    theirs = home / f"draft-{'f' * 12}-{'0' * 32}"
    theirs.mkdir()
    theirs.with_name(f"{theirs.name}.lock").touch()
    web.put("/a.csv", b"two", "2")
    assert remote.local(url).read_bytes() == b"two"
    assert theirs.is_dir()


@pytest.mark.kill
def test_a_process_that_is_killed_leaves_nothing_half(web, cache):
    url = web.put("/a.csv", b"killed" * 100, "1", delay=2.0)
    process = subprocess.Popen([sys.executable, "-c", FETCH, url], **_piped())
    until = time.monotonic() + SECONDS
    while not list(cache.glob("*/draft-*/*")):
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not published(cache)
    web.answers["/a.csv"].delay = 0
    assert remote.local(url).read_bytes() == b"killed" * 100
    assert not list(cache.glob("*/draft-*"))


@pytest.mark.kill
def test_a_process_that_is_killed_leaves_whole_files_of_a_folder(web, said, cache):
    web.answers["/said/b.npy"].delay = 30.0
    process = subprocess.Popen([sys.executable, "-c", FETCH, said], **_piped())
    until = time.monotonic() + SECONDS
    while len([path for path in cache.glob("*/begun/*") if path.suffix != ".half"]) < 3:
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not list(cache.glob("*/*.json"))
    web.answers["/said/b.npy"].delay = 0
    folder = remote.local(said)
    assert (folder / "b.npy").read_bytes() == b"b.npy"
    assert [web.fetched(f"/said/{name}") for name in ("a.npy", "b.npy", "c.npy", "x y/d.npy")] == [1, 2, 1, 1]


def test_a_copy_stays_while_anybody_uses_it(web, cache):
    url = web.put("/a.csv", b"one", "1")
    other = subprocess.Popen([sys.executable, "-c", FETCH, url], **_piped())
    first = Path(other.stdout.readline().strip())
    assert first.read_bytes() == b"one"
    web.put("/a.csv", b"two", "2")
    remote.local(url)
    assert first.read_bytes() == b"one"
    other.communicate(timeout=SECONDS)
    web.put("/a.csv", b"three", "3")
    assert remote.local(url).read_bytes() == b"three"
    assert not first.exists()
    assert len(list(cache.glob("*/*.json"))) == 2, "that of this process, and the newest"


@pytest.mark.parametrize("how", ["gone", "shorter", "record"])
def test_a_damaged_copy_is_fetched_again(web, how):
    url = web.put("/a.csv", b"whole", "1")
    path = remote.local(url)
    if how == "gone":
        path.unlink()
    elif how == "shorter":
        path.write_bytes(b"who")
    else:
        path.parent.with_suffix(".json").write_text("[")
    assert remote.local(url).read_bytes() == b"whole"
    assert web.fetched("/a.csv") == 2


def test_what_another_machine_needs(memory, cache, monkeypatch, tmp_path):
    memory("/day/a.csv", b"a")
    memory("/b.csv", b"b")
    day, one = remote.local("memory://day/"), remote.local("memory://b.csv")
    context = {"cases": [{"truth": f"{day}/a.csv"}], "n": 3, "pair": (f"{one}", "memory"), "other": f"{one}.old"}
    needed = remote.sources(context)
    assert needed == {str(day): "memory://day/", str(one): "memory://b.csv"}
    assert remote.sources({"truth": f"{one}"}) == {str(one): "memory://b.csv"}
    assert remote.brought(context, needed) is context, "copies that are seen are used"

    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path / "far"))
    found = remote.brought(context, needed)
    assert Path(found["cases"][0]["truth"]).read_bytes() == b"a"
    assert Path(found["pair"][0]).read_bytes() == b"b"
    assert all(str(tmp_path / "far") in text for text in (found["cases"][0]["truth"], found["pair"][0]))
    assert (found["n"], found["pair"][1], found["other"]) == (3, "memory", f"{one}.old")

    memory("/b.csv", b"c")
    fsspec.filesystem("memory").rm("/day", recursive=True)
    assert remote.brought(context, needed) == found, "what is there already is not asked for"
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path / "farther"))
    with pytest.raises(InputError, match=r"memory://b\.csv: changed since this work began"):
        remote.brought(context["pair"], needed)


def test_errors_speak_of_addresses(memory):
    path = remote.local(memory("/a.csv", b"x"))
    with pytest.raises(InputError, match=r"^memory://a\.csv: no rows$"), remote.named():
        raise InputError(f"{path}: no rows")
