"""Folders of shards: names, pairs, and array files that are read in parts. Expected values: by hand."""

import os

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.intake import shards


@pytest.fixture
def folder(tmp_path):
    for name in ("b/10.npy", "b/9.npy", "a.csv.gz", ".hidden.npy", "_draft/x.npy", "notes.txt", "a2.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_shards_are_called_by_their_path_in_natural_order(folder):
    found = shards.listed(folder)
    assert list(found) == ["a", "a2", "b/9", "b/10"]
    assert list(shards.listed(folder, (".npy",))) == ["b/9", "b/10"]


def test_two_files_of_one_name_and_none_at_all(folder, tmp_path):
    (folder / "a.npy").touch()
    with pytest.raises(InputError, match=r"two shards are called 'a': a\.csv\.gz and a\.npy"):
        shards.listed(folder)
    with pytest.raises(InputError, match=r"no shards: expected files that end in \.bin"):
        shards.listed(folder, (".bin",))


def test_pairs(tmp_path):
    truth = {name: tmp_path / name for name in ("a", "b")}
    both = {"a": tmp_path / "x", "c": tmp_path / "y"}
    with pytest.raises(InputError, match="no predictions for shards of the truth: 'b'; add them"):
        shards.paired(truth, both, "mine")
    with pytest.raises(InputError, match="shards that the truth does not have: 'c'"):
        shards.paired(truth, both, "mine", missing="skip")
    asked = {"missing": "skip", "extra": "ignore"}
    assert shards.paired(truth, both, "mine", **asked) == [("a", tmp_path / "a", tmp_path / "x")]
    asked["missing"] = "wrong"
    assert shards.paired(truth, both, "mine", **asked)[1] == ("b", tmp_path / "b", None)
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
    room = np.empty(100, np.uint8)
    with (tmp_path / "a.npy").open("rb") as file:
        assert (held.read(file.fileno(), 7, 12, room) == array[7:12]).all()


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


def test_columns_first_cannot_be_read_in_parts(tmp_path):
    np.save(tmp_path / "a.npy", np.asfortranarray(np.arange(9).reshape(3, 3)))
    with pytest.raises(InputError, match="save it in C order"):
        shards.Plain.open(tmp_path / "a.npy")
