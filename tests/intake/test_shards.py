"""Folders of shards: names, pairs, and array files that are read in parts. Expected values: by hand."""

import os

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.intake import shards

SUFFIXES = (".npy", ".csv", ".csv.gz", ".parquet")


@pytest.fixture
def folder(tmp_path):
    for name in ("b/10.npy", "b/9.npy", "a.csv.gz", ".hidden.npy", "_draft/x.npy", "notes.txt", "a2.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_shards_are_called_by_their_path_in_natural_order(folder):
    found = shards.listed(folder, SUFFIXES)
    assert list(found) == ["a", "a2", "b/9", "b/10"]
    assert list(shards.listed(folder, (".npy",))) == ["b/9", "b/10"]


def test_suffixes_are_known_in_any_case(folder):
    (folder / "A3.CSV.Gz").touch()
    (folder / "b" / "11.NPY").touch()
    assert list(shards.listed(folder, SUFFIXES)) == ["A3", "a", "a2", "b/9", "b/10", "b/11"]


def test_files_that_are_no_shards_are_told_from_others(folder):
    (folder / "b" / "12.pickle").touch()
    (folder / "classes.json").touch()
    assert shards.others(folder, SUFFIXES, ("classes.json",)) == [folder / "notes.txt", folder / "b" / "12.pickle"]
    assert [path.name for path in shards.others(folder, (".npy",))] == [
        "a.csv.gz",
        "a2.parquet",
        "classes.json",
        "notes.txt",
        "12.pickle",
    ]


def test_two_files_of_one_name_and_none_at_all(folder, tmp_path):
    (folder / "a.npy").touch()
    with pytest.raises(InputError, match=r"two shards are called 'a': a\.csv\.gz and a\.npy"):
        shards.listed(folder, SUFFIXES)
    with pytest.raises(InputError, match=r"no shards: expected files that end in \.bin"):
        shards.listed(folder, (".bin",))


def test_links_are_followed(folder, tmp_path_factory):
    """Rooms that lie on another disk count, also two by the same one, and a shard that is a link itself."""
    rooms = tmp_path_factory.mktemp("rooms")
    for name in ("far/1.npy", "far/deep/2.npy", "lone.npy"):
        (rooms / name).parent.mkdir(parents=True, exist_ok=True)
        (rooms / name).touch()
    (folder / "c").symlink_to(rooms / "far")
    (folder / "b2").symlink_to(rooms / "far")
    (folder / "b" / "11.npy").symlink_to(rooms / "lone.npy")
    (folder / "_old").symlink_to(rooms / "far")
    found = shards.listed(folder, SUFFIXES)
    assert list(found) == ["a", "a2", "b/9", "b/10", "b/11", "b2/1", "b2/deep/2", "c/1", "c/deep/2"]
    assert found["c/deep/2"] == folder / "c/deep/2.npy"


@pytest.mark.parametrize(
    ("link", "target", "said"),
    [
        ("room", "gone", r": links that lead nowhere: 'room'; mend or remove them$"),
        ("b/7.npy", "gone.npy", r"/b: links that lead nowhere: '7\.npy'; mend or remove them$"),
        ("self", "self", r": links that lead nowhere: 'self'"),
        ("b/up", "..", r"/b/up: by a link the same folder as one that it lies in, without end; remove the link$"),
        ("b/here", ".", r"/b/here: by a link the same folder"),
        ("above", "../..", r"/above/.*: by a link the same folder"),
    ],
)
def test_links_that_lead_nowhere_or_round(tmp_path, link, target, said):
    (tmp_path / "in" / "root" / "b").mkdir(parents=True)
    root = tmp_path / "in" / "root"
    (root / "b" / "1.npy").touch()
    (root / ".#edited").symlink_to("nowhere")
    assert list(shards.listed(root, SUFFIXES)) == ["b/1"], "what begins with a dot is left alone"
    (root / link).symlink_to(target)
    with pytest.raises(InputError, match=said):
        shards.listed(root, SUFFIXES)


def test_a_folder_that_cannot_be_read_is_an_error(folder, monkeypatch):
    def scandir(path, *, real=os.scandir):
        if os.fspath(path).endswith("/b"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match=r"/b: cannot be read \(Permission denied\); check path and rights$"):
        shards.listed(folder, SUFFIXES)


def test_pairs(tmp_path):
    truth = {name: tmp_path / name for name in ("a", "b")}
    both = {"a": tmp_path / "x", "c": tmp_path / "y"}
    named = r"shards of the truth: 'b' \(there are 'c' instead: shards of one name belong together\); add them, or"
    with pytest.raises(InputError, match=named):
        shards.paired(truth, both, "mine")
    with pytest.raises(InputError, match="no predictions for shards of the truth: 'b'; add them"):
        shards.paired(truth, {"a": tmp_path}, "mine")
    with pytest.raises(InputError, match="shards that the truth does not have: 'c'"):
        shards.paired(truth, both, "mine", missing="skip")
    asked = {"missing": "skip", "extra": "ignore"}
    pairs = [("a", tmp_path / "a", tmp_path / "x"), ("b", tmp_path / "b", None)]
    assert shards.paired(truth, both, "mine", **asked) == pairs
    assert shards.paired(truth, both, "mine", **asked | {"missing": "wrong"}) == pairs
    with pytest.raises(InputError, match="no shard of the truth has predictions"):
        shards.paired(truth, {"c": tmp_path}, "mine", **asked)


def test_a_changed_file_is_noticed(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"one")
    before = shards.identity(path)
    os.utime(path, ns=(1, 1))
    assert shards.identity(path) != before
    assert shards.identity(None) is None
    with pytest.raises(InputError, match="cannot be read"):
        shards.identity(tmp_path / "none")


def test_an_array_is_read_in_parts(tmp_path):
    array = np.arange(60, dtype=np.int16).reshape(20, 3)
    np.save(tmp_path / "a.npy", array)
    held = shards.Plain.open(tmp_path / "a.npy")
    assert (len(held), held.row_bytes, held.shape) == (20, 6, (20, 3))
    with held.reading(5) as read:
        assert (read(7, 12) == array[7:12]).all()
        assert (read(0, 3) == array[:3]).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data[:-1], "bytes of values, expected"),
        (lambda data: data + b"x", "bytes of values, expected"),
        (lambda data: b"nothing", "does not start like a NumPy array"),
    ],
)
def test_damaged_arrays_are_refused(tmp_path, change, said):
    np.save(tmp_path / "a.npy", np.arange(9))
    (tmp_path / "a.npy").write_bytes(change((tmp_path / "a.npy").read_bytes()))
    with pytest.raises(InputError, match=said):
        shards.Plain.open(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"nothing", r"a\.npy: does not start like a NumPy array; save it with numpy\.save$"),
        (b"\x93NUMPY\x01\x00\x02\x00{}", r"a\.npy: has a header that cannot be parsed; save it with numpy\.save$"),
        (
            None,
            r"is an object array and would need pickle; save numbers as .*astype\(int\).*, text as .*astype\(str\)\)$",
        ),
    ],
)
def test_advice_fits_a_file_of_one_array(tmp_path, data, said):
    np.save(tmp_path / "a.npy", np.array([1, None], dtype=object), allow_pickle=True)
    if data is not None:
        (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(InputError, match=said):
        shards.Plain.open(tmp_path / "a.npy")


def test_columns_first_cannot_be_read_in_parts(tmp_path):
    np.save(tmp_path / "a.npy", np.asfortranarray(np.arange(9).reshape(3, 3)))
    with pytest.raises(InputError, match="save it in C order"):
        shards.Plain.open(tmp_path / "a.npy")
