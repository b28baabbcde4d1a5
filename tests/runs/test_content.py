"""Fingerprints of tables are compared with each other, and once with bytes that the test puts together itself."""

import hashlib
import itertools
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import GnomonError
from gnomon.runs.content import column_digest, table_digest

ODD = ["", None, "a", "ab", "nul\0inside", "ümlaut", "漢字", "🏠", " ", "new\nline", None, "a"]


def table(**columns):
    return pa.table(columns)


def text(values, kind=None):
    return pa.array(values, kind or pa.string())


def same(one, other):
    return column_digest(one) == column_digest(other)


def in_chunks(array, *cuts):
    edges = [0, *cuts, len(array)]
    return pa.chunked_array([array[a:b] for a, b in itertools.pairwise(edges)], array.type)


def digest_of(*parts):
    """Hash parts, each after its length."""
    return hashlib.sha256(b"".join(struct.pack("<q", len(part)) + part for part in parts)).hexdigest()


def test_the_digest_hashes_names_kind_validity_lengths_and_text_each_after_its_length():
    parts = [b'["id"]', b"text", bytes([0b10100000]), struct.pack("<3q", 2, 0, 1), b"abc"]
    assert table_digest(table(id=["ab", None, "c"])) == digest_of(*parts)


@pytest.mark.parametrize(
    ("values", "kind", "numbers"),
    [
        ([-5, None], b"integer", struct.pack("<2q", -5, 0)),
        ([True, None], b"boolean", struct.pack("<2q", 1, 0)),
        ([0.5, None], b"float", struct.pack("<2d", 0.5, 0.0)),
    ],
    ids=["integers", "booleans", "floats"],
)
def test_the_digest_of_numbers_hashes_eight_bytes_each(values, kind, numbers):
    assert column_digest(pa.array(values)) == digest_of(kind, bytes([0b10000000]), numbers)


def test_the_digest_of_lists_hashes_their_lengths_and_then_their_items():
    items = [b"text", bytes([0b10100000]), struct.pack("<3q", 2, 0, 1), b"abc"]
    parts = [b"list", bytes([0b10100000]), struct.pack("<3q", 2, 0, 1), *items]
    assert column_digest(pa.array([["ab", None], None, ["c"]])) == digest_of(*parts)


@pytest.mark.parametrize(
    "array",
    [
        text(ODD),
        pa.array([1, None, -(2**63), 2**63 - 1, 0, 0, 7]),
        pa.array([0.1, None, float("inf"), float("nan"), -0.0, 0.0, 1e300]),
        pa.array([True, None, False, True, True, False, True]),
        pa.array([["a", ""], None, [], ["漢"], ["a"], ["b", "c"], ["x"]], pa.list_(pa.string())),
        pa.array([[1, 2], None, [], [3], [4], [5, 6], [7]], pa.list_(pa.int64())),
    ],
    ids=["text", "integers", "floats", "booleans", "lists of text", "lists of numbers"],
)
def test_chunks_and_slices_do_not_count(array):
    assert same(in_chunks(array, 1, 3, 3), array)
    assert same(in_chunks(array), array)
    around = pa.concat_arrays([array[2:5], array, array[:2]])
    assert same(around[3 : 3 + len(array)], array)
    assert same(array[1:5], pa.array(array.to_pylist()[1:5], array.type))
    assert same(in_chunks(around[3 : 3 + len(array)], 2), array)


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        (ODD, [pa.string(), pa.large_string()]),
        ([["a", ""], None, []], [pa.list_(pa.string()), pa.large_list(pa.string()), pa.list_(pa.large_string())]),
        ([1, None, 100], [pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.int64()]),
        ([0.5, None, -2.0], [pa.float32(), pa.float64()]),
    ],
    ids=["text", "lists", "integers", "floats"],
)
def test_the_width_of_a_type_does_not_count(values, kinds):
    assert len({column_digest(pa.array(values, kind)) for kind in kinds}) == 1


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=12), st.data())
def test_any_cut_of_any_text_gives_the_same_digest(values, data):
    array = text(values)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=3)))
    assert same(in_chunks(array.cast(pa.large_string()), *cuts), array)
    start = cuts[0] if cuts else 0
    assert same(array[start:], text(values[start:]))


@given(*[st.lists(st.none() | st.text(alphabet="ab", max_size=2), max_size=4)] * 2)
def test_texts_are_equal_only_if_every_cell_is(one, other):
    assert same(text(one), text(other)) == (one == other)


@given(*[st.lists(st.none() | st.lists(st.sampled_from([None, "", "a"]), max_size=2), max_size=3)] * 2)
def test_lists_are_equal_only_if_every_item_is(one, other):
    kind = pa.list_(pa.string())
    assert same(pa.array(one, kind), pa.array(other, kind)) == (one == other)


@given(*[st.lists(st.none() | st.integers(-1, 1), max_size=4)] * 2)
def test_integers_are_equal_only_if_every_cell_is(one, other):
    assert same(pa.array(one, pa.int16()), pa.array(other, pa.int64())) == (one == other)


BASE = {"id": ["1", "2", "3"], "label": ["a", None, "b"]}


@pytest.mark.parametrize(
    "other",
    [
        {"id": ["1", "2", "4"], "label": ["a", None, "b"]},
        {"id": ["1", "2", "3"], "label": ["a", None, "B"]},
        {"id": ["1", "2", "3"], "label": ["a", "", "b"]},
        {"id": ["1", "2", "3"], "label": ["", None, "ab"]},
        {"id": ["1", "2", "3"], "label": [None, "a", "b"]},
        {"id": ["12", "", "3"], "label": ["a", None, "b"]},
        {"id": ["2", "1", "3"], "label": [None, "a", "b"]},
        {"id": ["1", "2"], "label": ["a", None]},
        {"id": ["1", "2", "3", "4"], "label": ["a", None, "b", None]},
        {"ids": ["1", "2", "3"], "label": ["a", None, "b"]},
        {"label": ["1", "2", "3"], "id": ["a", None, "b"]},
        {"label": ["a", None, "b"], "id": ["1", "2", "3"]},
        {"id": ["1", "2", "3"]},
        {"id": ["1", "2", "3"], "label": ["a", None, "b"], "score": [1.0, 2.0, 3.0]},
        {"id": [1, 2, 3], "label": ["a", None, "b"]},
        {"id": ["1", "2", "3"], "label": [["a"], None, ["b"]]},
    ],
    ids=str,
)
def test_any_change_of_the_content_gives_another_digest(other):
    assert table_digest(table(**other)) != table_digest(table(**BASE))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([0, 1]), pa.array([None, 1])),
        (pa.array([1, 2]), pa.array([2, 1])),
        (pa.array([1, 2]), pa.array([1.0, 2.0])),
        (pa.array([0.0]), pa.array([-0.0])),
        (pa.array([0.0]), pa.array([None], pa.float64())),
        (pa.array([float("nan")]), pa.array([None], pa.float64())),
        (pa.array([0.1]), pa.array([0.1 + 2**-56])),
        (pa.array([2**53]), pa.array([2**53 + 1])),
        (pa.array([2**53, None]), pa.array([2**53 + 1, None])),
        (pa.array([True, False]), pa.array([False, True])),
        (pa.array([False]), pa.array([None], pa.bool_())),
        (pa.array([True, False]), pa.array([1, 0])),
        (pa.array([[True]]), pa.array([[1]])),
        (pa.array([0], pa.int64()), pa.array([0.0])),
        (pa.array([[None]], pa.list_(pa.string())), pa.array([[""]])),
        (pa.array([[None, 0]]), pa.array([[0, None]])),
        (pa.array([[["a"], []]]), pa.array([[["a"]], []], pa.list_(pa.list_(pa.string())))),
        (pa.array([[["a", "b"]]]), pa.array([[["a"], ["b"]]])),
        (pa.array([[1, 2], [3]]), pa.array([[1], [2, 3]])),
        (pa.array([[2**53], None]), pa.array([[2**53 + 1], None])),
        (pa.array([["a", "b"], []]), pa.array([["a"], ["b"]])),
        (pa.array([["ab"]]), pa.array([["a", "b"]])),
        (pa.array([["ab", "c"]]), pa.array([["a", "bc"]])),
        (pa.array([[]], pa.list_(pa.string())), pa.array([None], pa.list_(pa.string()))),
        (pa.array([[""]]), pa.array([[]], pa.list_(pa.string()))),
        (pa.array([], pa.int64()), pa.array([], pa.string())),
    ],
    ids=str,
)
def test_columns_that_differ_have_different_digests(one, other):
    assert not same(one, other)


def test_what_lies_under_a_null_does_not_count():
    hidden = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(struct.pack("<2q", 1, 99))])
    assert hidden.to_pylist() == [1, None]
    assert same(hidden, pa.array([1, None]))


def test_texts_under_nulls_do_not_count():
    buffers = [pa.py_buffer(b"\x01"), pa.py_buffer(struct.pack("<3i", 0, 1, 4)), pa.py_buffer(b"axyz")]
    hidden = pa.Array.from_buffers(pa.string(), 2, buffers)
    assert hidden.to_pylist() == ["a", None]
    assert same(hidden, text(["a", None]))


def test_the_order_and_the_borders_of_columns_count():
    one, two = text(["a"]), text(["b"])
    made = {column_digest(one, two), column_digest(two, one), column_digest(one), column_digest(text(["a", "b"]))}
    assert len(made) == 4


def test_metadata_does_not_count():
    plain = table(**BASE)
    assert table_digest(plain.replace_schema_metadata({"made": "by hand"})) == table_digest(plain)


def test_a_table_has_the_same_digest_after_it_was_stored(tmp_path):
    given = table(id=["1", "2", "3"], label=text(["a", None, "漢"], pa.large_string()), score=[0.1, None, 2.5])
    for size in (1, 100):
        pq.write_table(given, tmp_path / "t.parquet", row_group_size=size)
        assert table_digest(pq.read_table(tmp_path / "t.parquet")) == table_digest(given)


def test_tables_without_rows_or_columns_have_digests():
    empty = [table(), table(a=text([])), table(b=text([])), table(a=pa.array([], pa.int64()))]
    assert len({table_digest(one) for one in empty}) == 4
    assert table_digest(table(a=pa.chunked_array([], pa.string()))) == table_digest(table(a=text([])))


@pytest.mark.parametrize(
    "array",
    [
        pa.array([None]),
        pa.array([b"bytes"]),
        pa.array([{"a": 1}]),
        pa.array([b"a"]).dictionary_encode(),
        pa.array([0], pa.timestamp("s")),
        pa.array([1], pa.uint64()),
        pa.array([[2**64 - 1]], pa.list_(pa.uint64())),
        pa.array([[b"x"]]),
    ],
    ids=lambda array: str(array.type),
)
def test_a_type_without_a_rule_is_named(array):
    with pytest.raises(GnomonError, match="no fingerprint for a column of type"):
        column_digest(array)


def test_codes_stand_for_their_texts():
    texts = pa.chunked_array([["b", None], ["a", "b", ""]])
    assert column_digest(texts.dictionary_encode()) == column_digest(texts.combine_chunks())
    apart = pa.chunked_array([chunk.dictionary_encode() for chunk in texts.chunks])
    assert column_digest(apart) == column_digest(texts.combine_chunks()), "each chunk with texts of its own"
