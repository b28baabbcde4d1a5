"""The mark of simulated data: what it says while parts are written, and which folders are refused.

Expected marks are written out by hand.
"""

import json

import pytest

from gnomon.core.errors import InputError
from gnomon.engine.simulated import MARK, UNFINISHED, begin, listed

RECORD = {"by": "test", "seed": 5}


def said(folder):
    return json.loads((folder / MARK).read_text())


def test_parts_are_unfinished_until_they_are_whole(tmp_path):
    folder = tmp_path / "new" / "folder"
    made = begin(folder, RECORD, "things", ["b/1", "a/1"])
    assert said(folder) == {**RECORD, "things": [], "unfinished": ["a/1", "b/1"]}
    made.finish("b/1")
    assert said(folder) == {**RECORD, "things": ["b/1"], "unfinished": ["a/1"]}
    made.finish("a/1")
    assert said(folder) == {**RECORD, "things": ["a/1", "b/1"]}
    assert [path.name for path in folder.iterdir()] == [MARK]


def test_parts_of_before_stay_and_those_asked_for_again_are_unfinished_again(tmp_path):
    begin(tmp_path, RECORD, "things", ["a", "b", "c"]).finish("b")
    begin(tmp_path, RECORD, "things", ["c", "d"]).finish("c")
    assert said(tmp_path) == {**RECORD, "things": ["b", "c"], "unfinished": ["a", "d"]}
    begin(tmp_path, RECORD, "things", ["b"])
    assert said(tmp_path) == {**RECORD, "things": ["c"], "unfinished": ["a", "b", "d"]}


def test_parts_are_listed_in_an_order_that_is_given_then_by_name(tmp_path):
    made = begin(tmp_path, RECORD, "things", ["a", "b", "c", "d"], order=["z", "d", "b"])
    assert said(tmp_path)["unfinished"] == ["d", "b", "a", "c"]
    for part in "abcd":
        made.finish(part)
    assert said(tmp_path)["things"] == ["d", "b", "a", "c"]


def test_what_would_not_be_replaced_is_refused_and_left_alone(tmp_path):
    begin(tmp_path, RECORD, "things", ["a/1", "b"])
    before = (tmp_path / MARK).read_bytes()
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=r"holds 'c', which would not be replaced; choose an empty folder"):
        begin(tmp_path, RECORD, "things", ["a/1"])
    (tmp_path / "c").rmdir()
    with pytest.raises(InputError, match=r"was simulated with seed 5 instead of 6; choose an empty folder"):
        begin(tmp_path, {**RECORD, "seed": 6}, "things", ["a/1"])
    with pytest.raises(InputError, match=r"simulated\.json: is no folder"):
        begin(tmp_path / MARK, RECORD, "things", ["a/1"])
    assert (tmp_path / MARK).read_bytes() == before
    (tmp_path / MARK).write_text("{")
    with pytest.raises(InputError, match=r"simulated\.json: not what this verb writes"):
        begin(tmp_path, RECORD, "things", ["a/1"])


@pytest.mark.parametrize("text", ["[]", '{"things": "a"}', '{"things": [["a"]]}', '{"unfinished": [1]}'])
def test_a_mark_that_lists_no_names_makes_nothing_ours(tmp_path, text):
    (tmp_path / MARK).write_text(text)
    (tmp_path / "a").mkdir()
    with pytest.raises(InputError, match="holds 'a', which would not be replaced"):
        begin(tmp_path, RECORD, "things", ["a"])


def test_what_is_listed_is_read_and_what_is_somebody_elses_lists_nothing(tmp_path):
    begin(tmp_path, RECORD, "things", ["a", "b"]).finish("a")
    mark = tmp_path / MARK
    assert [listed(mark, state) for state in ("things", UNFINISHED, "others")] == [["a"], ["b"], []]
    for text in ("{", "[]", '{"things": "a"}'):
        mark.write_text(text)
        assert listed(mark, "things") == []
    mark.unlink()
    assert listed(mark, "things") == []
