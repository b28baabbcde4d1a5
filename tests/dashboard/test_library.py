"""The library: runs are found below a folder, and nothing outside of it can be named."""

import os
import shutil
from pathlib import Path

import pytest

from gnomon.core.errors import GnomonError, InputError
from gnomon.dashboard.library import Library, NotHereError, is_too_large
from gnomon.intake.limits import SHOWN


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "runs")
    return tmp_path / "runs"


def test_runs_are_found_in_folders_below(made):
    found = Library(made).listed()
    assert [item.folder for item in found] == ["first", "first", "second"]
    assert [item.entry.system for item in found] == ["good", "poor", "<b>odd</b>"]


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no such folder of runs.*--runs DIR"):
        Library(tmp_path / "none")


@pytest.mark.parametrize(
    "key",
    ["", "..", "../x", "first/../..", "/etc", "first//", "first/.hidden", "first/\0", ".", "first/nothing", "a" * 2000],
)
def test_names_that_lead_elsewhere_name_nothing(folder, key):
    with pytest.raises(NotHereError):
        Library(folder).path(key)


def test_links_are_not_followed(folder, tmp_path, made):
    inside = next((made / "first").iterdir())
    (folder / "first" / "linked").symlink_to(inside, target_is_directory=True)
    (folder / "away").symlink_to(tmp_path, target_is_directory=True)
    library = Library(folder)
    assert all("linked" not in item.key and "away" not in item.key for item in library.listed())
    for key in ("first/linked", "away", "away/runs/first"):
        with pytest.raises(NotHereError):
            library.path(key)


def test_a_run_with_a_link_in_it_is_listed_as_unreadable_and_never_opened(folder, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"token": "secret"}')
    library = Library(folder)
    key = library.listed()[0].key
    manifest = folder / key / "scores.json"
    manifest.unlink()
    manifest.symlink_to(secret)
    found = {item.key: item for item in Library(folder).listed()}
    assert found[key].entry is None
    assert "link" in found[key].why
    assert str(folder) not in found[key].why
    with pytest.raises(InputError, match="is a link, a folder or a device"):
        Library(folder).run(key)


def test_a_device_or_a_pipe_in_a_run_is_never_opened(folder):
    key = Library(folder).listed()[0].key
    os.mkfifo(folder / key / "ledgers2.npz")
    with pytest.raises(InputError, match="a link, a folder or a device"):
        Library(folder).run(key)


@pytest.mark.parametrize("name", ["manifest.json", "scores.json", "coverage.json", "audit.json", "tallies.npz"])
def test_truncated_files_are_an_error_that_says_so(folder, name):
    key = Library(folder).listed()[0].key
    path = folder / key / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    library = Library(folder)
    with pytest.raises(GnomonError):
        library.run(key)


def test_a_huge_manifest_is_not_read(folder):
    key = Library(folder).listed()[0].key
    with (folder / key / "manifest.json").open("ab") as file:
        file.truncate(17 << 20)
    found = {item.key: item for item in Library(folder).listed()}
    assert found[key].entry is None
    assert "too large" in found[key].why


def test_only_what_changed_is_read_again(folder, monkeypatch):
    from gnomon.dashboard import library as module

    own = Library(folder)
    own.listed()
    read = []
    original = module.entry_of
    monkeypatch.setattr(module, "entry_of", lambda name, *more: read.append(name) or original(name, *more))
    own.listed()
    assert read == []
    manifest = folder / own.listed()[0].key / "manifest.json"
    os.utime(manifest, ns=(1, 1))
    own.listed()
    assert len(read) == 1


def test_nothing_is_written_into_the_folder(folder):
    before = sorted(str(path) for path in folder.rglob("*"))
    library = Library(folder)
    library.run(library.listed()[0].key)
    library.foreign(["scores.json"])
    assert sorted(str(path) for path in folder.rglob("*")) == before


def test_results_of_other_tools_are_found_where_no_run_is(folder):
    (folder / "old").mkdir()
    (folder / "old" / "scores.json").write_text("{}")
    assert Library(folder).foreign(["scores.json"]) == [("old", "scores.json")]


def test_files_are_named_within_their_folder(folder):
    (folder / "old").mkdir()
    (folder / "old" / "scores.json").write_text("{}")
    (folder / "old" / "link.json").symlink_to(folder / "old" / "scores.json")
    library = Library(folder)
    assert library.file("old", "scores.json").name == "scores.json"
    for name in ("../old/scores.json", "link.json", ".hidden", "none.json"):
        with pytest.raises(NotHereError):
            library.file("old", name)


def count_loads(monkeypatch):
    from gnomon.runs import run as module

    read = []
    original = module.load
    monkeypatch.setattr(module, "load", lambda path, limits: read.append(limits) or original(path, limits))
    return read


def test_a_run_that_was_refused_is_not_read_again_until_a_file_of_it_changes(folder, monkeypatch):
    library = Library(folder)
    key = library.listed()[0].key
    path = folder / key / "coverage.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    read = count_loads(monkeypatch)
    said = []
    for _ in range(3):
        with pytest.raises(GnomonError) as caught:
            library.run(key)
        said.append((type(caught.value), str(caught.value)))
    assert len(read) == 1
    assert len(set(said)) == 1
    assert "coverage.json: not a JSON document" in said[0][1]
    path.write_bytes(whole)
    assert library.run(key).path == folder / key
    assert len(read) == 2


def test_a_run_that_was_too_large_is_read_again_where_it_has_more_room(folder, monkeypatch):
    """What the run takes is what its reading counts."""
    library = Library(folder)
    key = library.listed()[0].key
    size = Library(folder).run(key).memory
    most = SHOWN.max_decoded_bytes
    read = count_loads(monkeypatch)
    for taken in (most - size + 1, most - size + 1, most - size + 2):
        with pytest.raises(GnomonError) as caught:
            library.run(key, taken)
        assert is_too_large(caught.value)
    assert len(read) == 2, "once with what is kept, and once without"
    assert library.run(key, most - size).memory == size


def test_an_error_that_may_pass_is_not_kept(folder, monkeypatch):
    library = Library(folder)
    key = library.listed()[0].key
    read = count_loads(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *_, **__: (_ for _ in ()).throw(OSError(24, "Too many open files")))
        with pytest.raises(GnomonError, match="Too many open files"):
            library.run(key)
    assert library.run(key).path == folder / key
    assert len(read) == 2
