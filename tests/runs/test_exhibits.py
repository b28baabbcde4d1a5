"""Exhibits: what is packed is read back, worst first, and a damaged file says so."""

import numpy as np
import pytest

from gnomon.core.errors import GnomonError, InputError
from gnomon.runs import exhibits
from gnomon.runs.exhibits import Exhibit


@pytest.fixture
def folder(tmp_path):
    items = [
        Exhibit("tame", {"window": [0, 1]}, {"start": np.arange(5.0)}, 0.1, "F1 0.9"),
        Exhibit("wild", {"window": [0, 2]}, {"start": np.arange(3.0), "points": np.ones((2, 3), "f4")}, 0.9),
    ]
    (tmp_path / exhibits.NAME).write_bytes(exhibits.pack(items, of=7))
    return tmp_path


def test_the_worst_comes_first_and_the_list_knows_of_how_many(folder):
    found = exhibits.listed(folder)
    assert [(entry.case, entry.note) for entry in found.entries] == [("wild", ""), ("tame", "F1 0.9")]
    assert found.of == 7


def test_an_exhibit_is_read_back_as_it_was(folder):
    found = exhibits.read(folder, "wild")
    assert found.data == {"window": [0, 2]}
    np.testing.assert_array_equal(found.arrays["start"], [0, 1, 2])
    assert found.arrays["points"].dtype == np.float32
    assert found.arrays["points"].shape == (2, 3)


def test_the_same_exhibits_give_the_same_bytes_in_any_order():
    one, two = Exhibit("a", {}, {"x": np.arange(2)}), Exhibit("b", {}, {"x": np.arange(3)})
    assert exhibits.pack([one, two], of=2) == exhibits.pack([two, one], of=2)


def test_a_run_without_exhibits_has_an_empty_list(tmp_path):
    assert exhibits.listed(tmp_path).entries == ()
    assert exhibits.listed(None).entries == ()


def test_an_unknown_case_is_refused_by_name(folder):
    with pytest.raises(InputError, match=r"no exhibit of case 'other'.*keeps 2 cases"):
        exhibits.read(folder, "other")


def test_a_truncated_file_is_refused(folder):
    path = folder / exhibits.NAME
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(GnomonError):
        exhibits.listed(folder)
