"""Seals against hashes that the test computes itself, and against every kind of damage."""

import hashlib
import os
import shutil
import subprocess

import pytest

from gnomon.runs import seal


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.txt").write_bytes(b"second")
    (tmp_path / "a.txt").write_bytes(b"first")
    (tmp_path / "deep" / "c.bin").write_bytes(bytes(range(256)))
    (tmp_path / seal.NAME).write_bytes(seal.make(tmp_path))
    return tmp_path


def flipped(content, position, bit=0):
    return content[:position] + bytes([content[position] ^ (1 << bit)]) + content[position + 1 :]


def positions(size, samples=12):
    """First and last byte and some between."""
    return sorted({0, size - 1, *(size * i // samples for i in range(samples))})


def test_a_seal_has_one_line_per_file_as_sha256sum_writes_it(folder):
    lines = [
        f"{hashlib.sha256(b'first').hexdigest()}  a.txt",
        f"{hashlib.sha256(b'second').hexdigest()}  b.txt",
        f"{hashlib.sha256(bytes(range(256))).hexdigest()}  deep/c.bin",
    ]
    assert (folder / seal.NAME).read_text() == "\n".join(lines) + "\n"


def test_the_hash_of_a_file_is_its_sha256(folder):
    assert seal.hash_file(folder / "a.txt") == hashlib.sha256(b"first").hexdigest()


def test_an_untouched_folder_agrees_with_its_seal(folder):
    assert seal.problems(folder) == []


def test_an_empty_seal_agrees_with_nothing(folder, tmp_path_factory):
    """Not even with an empty folder: it says nothing of what belongs there."""
    bare = tmp_path_factory.mktemp("bare")
    for one in (folder, bare):
        (one / seal.NAME).write_bytes(b"")
        assert seal.problems(one) == [f"{seal.NAME} is empty: it says nothing of what belongs here"]


def test_the_hashes_of_a_seal_are_read_by_the_whole_name(folder):
    """Names may hold what some take for the end of a line."""
    (folder / "a\u2028b\x0bc").write_bytes(b"third")
    (folder / seal.NAME).write_bytes(seal.make(folder))
    assert seal.read(folder) == {
        "a.txt": hashlib.sha256(b"first").hexdigest(),
        "a\u2028b\x0bc": hashlib.sha256(b"third").hexdigest(),
        "b.txt": hashlib.sha256(b"second").hexdigest(),
        "deep/c.bin": hashlib.sha256(bytes(range(256))).hexdigest(),
    }


def test_sealing_twice_gives_the_same_bytes(folder):
    assert seal.make(folder) == (folder / seal.NAME).read_bytes()


def test_every_flipped_byte_of_every_file_of_a_run_is_found(stored_run):
    files = sorted(path for path in stored_run.path.iterdir() if path.name != seal.NAME)
    assert len(files) == 7
    for path in files:
        content = path.read_bytes()
        for count, position in enumerate(positions(len(content))):
            path.write_bytes(flipped(content, position, count % 8))
            assert seal.problems(stored_run.path) == [f"{path.name}: content differs from the seal"], position
        path.write_bytes(content)
    assert seal.problems(stored_run.path) == []


def test_every_flipped_byte_of_the_seal_is_found(stored_run):
    path = stored_run.path / seal.NAME
    content = path.read_bytes()
    for position in range(len(content)):
        path.write_bytes(flipped(content, position, position % 8))
        assert seal.problems(stored_run.path), position


def test_an_added_file_is_named(folder):
    (folder / "deep" / "new.txt").write_text("x")
    assert seal.problems(folder) == ["deep/new.txt: not in the seal"]


def test_a_file_that_is_called_like_the_seal_is_covered(folder):
    path = folder / "deep" / seal.NAME
    path.write_text("x")
    assert seal.problems(folder) == [f"deep/{seal.NAME}: not in the seal"]
    (folder / seal.NAME).write_bytes(seal.make(folder))
    assert seal.problems(folder) == []
    path.write_text("y")
    assert seal.problems(folder) == [f"deep/{seal.NAME}: content differs from the seal"]
    path.unlink()
    assert seal.problems(folder) == [f"deep/{seal.NAME}: sealed but missing"]


@pytest.mark.parametrize("target", ["a.txt", "nothing", "../elsewhere.txt"], ids=["inside", "dangling", "outside"])
def test_an_added_link_is_named(folder, target):
    (folder.parent / "elsewhere.txt").write_text("x")
    (folder / "deep" / "link").symlink_to(target)
    assert seal.problems(folder) == ["'deep/link': a link, or not a plain file"]


def test_a_link_to_a_folder_is_named_and_not_entered(folder):
    elsewhere = folder.parent / f"{folder.name}-elsewhere"
    elsewhere.mkdir()
    (elsewhere / "new.txt").write_text("x")
    (folder / "link").symlink_to(elsewhere)
    assert seal.problems(folder) == ["'link': a link, or not a plain file"]


def test_a_file_that_became_a_link_to_the_same_content_is_named(folder):
    elsewhere = folder.parent / "elsewhere.txt"
    (folder / "a.txt").rename(elsewhere)
    (folder / "a.txt").symlink_to(elsewhere)
    assert (folder / "a.txt").read_bytes() == b"first"
    assert seal.problems(folder) == ["'a.txt': a link, or not a plain file", "a.txt: sealed but missing"]


def test_a_seal_that_became_a_link_is_named(folder):
    elsewhere = folder.parent / f"{folder.name}.seal"
    (folder / seal.NAME).rename(elsewhere)
    (folder / seal.NAME).symlink_to(elsewhere)
    assert seal.problems(folder) == [f"{seal.NAME!r}: a link, or not a plain file"]


def test_a_new_seal_leaves_links_out_and_they_are_still_named(folder):
    before = (folder / seal.NAME).read_bytes()
    (folder / "link").symlink_to("a.txt")
    assert seal.make(folder) == before
    assert seal.problems(folder) == ["'link': a link, or not a plain file"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_name_of_two_lines_is_named_also_after_a_new_seal(folder, kind):
    # In a seal such a name would read as two entries.
    path = folder / f"new\n{'0' * 64}  a.txt"
    if kind == "file":
        path.write_text("x")
    else:
        path.mkdir()
    (folder / seal.NAME).write_bytes(seal.make(folder))
    assert seal.problems(folder) == [f"{path.name!r}: a link, or not a plain file"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_named_and_not_waited_for(folder):
    os.mkfifo(folder / "pipe")
    assert seal.problems(folder) == ["'pipe': a link, or not a plain file"]


@pytest.fixture
def odd_name(folder):
    """A file whose name is not UTF-8."""
    path = os.path.join(os.fsencode(folder), b"caf\xe9")
    try:
        with open(path, "wb") as file:
            file.write(b"x")
    except OSError:
        pytest.skip("the file system takes no such name")
    return path


def test_a_name_that_is_not_utf8_is_covered(folder, odd_name):
    assert seal.problems(folder) == ["caf\\xe9: not in the seal"]
    (folder / seal.NAME).write_bytes(seal.make(folder))
    assert seal.problems(folder) == []
    os.rename(odd_name, odd_name[:-1] + b"\xe8")
    assert seal.problems(folder) == ["caf\\xe9: sealed but missing", "caf\\xe8: not in the seal"]


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not installed")
def test_a_seal_is_read_by_sha256sum(folder, odd_name):
    (folder / seal.NAME).write_bytes(seal.make(folder))
    command = ["sha256sum", "--check", "--strict", "--quiet", seal.NAME]
    assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 0
    (folder / "a.txt").write_text("other")
    assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 1


def test_a_removed_file_is_named(folder):
    (folder / "a.txt").unlink()
    assert seal.problems(folder) == ["a.txt: sealed but missing"]


def test_a_renamed_file_is_named_twice(folder):
    (folder / "a.txt").rename(folder / "z.txt")
    assert seal.problems(folder) == ["a.txt: sealed but missing", "z.txt: not in the seal"]


def test_files_that_changed_places_are_named(folder):
    (folder / "a.txt").write_bytes(b"second")
    (folder / "b.txt").write_bytes(b"first")
    assert seal.problems(folder) == ["a.txt: content differs from the seal", "b.txt: content differs from the seal"]


def test_a_file_that_is_cut_or_grows_is_named(folder):
    (folder / "a.txt").write_bytes(b"firs")
    (folder / "b.txt").write_bytes(b"second\n")
    assert len(seal.problems(folder)) == 2


def test_a_missing_seal_is_named(folder):
    (folder / seal.NAME).unlink()
    (problem,) = seal.problems(folder)
    assert "seal.sha256 is missing" in problem


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content[:-1],
        lambda content: content + b"\n",
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: b"".join(sorted(content.splitlines(keepends=True), reverse=True)),
        lambda content: b"",
        lambda content: content + b"\xff\xfe",
        lambda content: content.upper(),
        lambda content: content.splitlines(keepends=True)[0] + content,
    ],
    ids=["newline removed", "newline added", "crlf", "reordered", "emptied", "bytes added", "upper case", "doubled"],
)
def test_an_edited_seal_is_found(folder, edit):
    path = folder / seal.NAME
    path.write_bytes(edit(path.read_bytes()))
    assert seal.problems(folder)


def test_a_removed_file_is_found_when_its_line_is_removed_too_and_the_rest_edited(folder):
    (folder / "a.txt").unlink()
    lines = (folder / seal.NAME).read_bytes().splitlines(keepends=True)
    (folder / seal.NAME).write_bytes(lines[1] + lines[2].upper())
    assert seal.problems(folder)


def test_a_file_is_hashed_again_when_it_changed(tmp_path, monkeypatch):
    path, read = tmp_path / "a.bin", []
    monkeypatch.setattr(
        seal, "hash_file", lambda path: read.append(path) or hashlib.sha256(path.read_bytes()).hexdigest()
    )
    for content in (b"first", b"first", b"second one"):
        path.write_bytes(content)
        os.utime(path, ns=(1, len(content)))
        assert seal.hash_file_once(path) == hashlib.sha256(content).hexdigest()
    assert len(read) == 2
