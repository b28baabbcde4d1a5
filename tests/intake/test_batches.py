"""Reading in batches: the same rows and the same refusals as reading at once."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.columnar import read_batches, read_parquet
from gnomon.intake.limits import DEFAULT, Limits
from gnomon.intake.streams import Stream, whole_lines


def batches(path, *, rows=7, needed=(), limits=DEFAULT):
    return list(read_batches(path, rows=rows, needed=needed, limits=limits))


@pytest.mark.parametrize("group", [1, 10, 1000])
def test_batches_are_the_table_in_pieces(tmp_path, group):
    path = tmp_path / "t.parquet"
    columns = {"time": np.arange(100) / 8, "kind": ["a", "b"] * 50, "n": range(100)}
    pq.write_table(pa.table(columns), path, row_group_size=group)
    found = batches(path, needed=["n", "time"])
    assert max(batch.num_rows for batch in found) <= 7
    assert [row for batch in found for row in batch.to_pylist()] == read_parquet(
        path, columns=None, limits=DEFAULT
    ).to_pylist()
    assert pa.types.is_dictionary(found[0].schema.field("kind").type), "text stays in codes"


def test_a_table_of_no_rows(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"time": pa.array([], pa.float64())}), path)
    assert sum(batch.num_rows for batch in batches(path)) == 0
    with pytest.raises(InputError, match=r"t\.parquet: no column 'x'"):
        batches(path, needed=["x"])


def test_what_is_refused_at_once_is_refused_in_batches(tmp_path):
    path = tmp_path / "t.parquet"

    def refused(words, data=None, **options):
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(InputError, match=rf"t\.parquet: .*{words}"):
            batches(path, **options)

    pq.write_table(pa.table({"s": [{"x": 1}]}), path)
    refused("column 's' has type struct")
    pq.write_table(pa.table({"s": [["x"]]}), path)
    refused("column 's' holds lists")
    pq.write_table(pa.table([["x"], ["y"]], names=["a", "a"]), path)
    refused("duplicate column 'a'")
    pq.write_table(pa.table({"a": pa.array([b"\xff"]).view(pa.string())}), path)
    refused("UTF8")
    pq.write_table(pa.table({"a": np.zeros(4_000_000)}), path, compression="zstd", use_dictionary=False)
    refused("decompression bomb", limits=Limits(ratio_floor_bytes=1 << 20, column_floor_bytes=20 << 20))
    refused("content too large", limits=Limits(max_decoded_bytes=1_000_000))
    refused("file too large", limits=Limits(max_file_bytes=100))
    pq.write_table(pa.table({"a": np.arange(1000)}), path, write_page_checksum=True, compression="none")
    good = path.read_bytes()
    refused("cut off", good[:-9])
    refused("CRC", good[:200] + bytes([good[200] ^ 1]) + good[201:])
    wide = pa.array([b"x" * 100_000] * 200, pa.binary(100_000))
    pq.write_table(pa.table({"a": wide}), path)
    refused("decompression bomb", rows=100, limits=Limits(ratio_floor_bytes=0, column_floor_bytes=8 << 20))
    assert sum(map(len, batches(path, rows=50, limits=Limits(ratio_floor_bytes=0, column_floor_bytes=8 << 20)))) == 200
    pq.write_table(pa.table({"a": np.zeros(100_000)}), path)
    refused("decode to 800000 bytes", limits=Limits(max_decoded_bytes=500_000, max_ratio=1))


def test_a_reader_that_is_left_early_lets_the_file_go(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.arange(1000)}), path)
    reader = read_batches(path, rows=10, needed=(), limits=DEFAULT)
    assert next(reader).num_rows == 10
    reader.close()
    assert next(reader, None) is None


TEXTS = st.binary(max_size=60) | st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"bc"]), max_size=40).map(b"".join)


@given(text=TEXTS.filter(bool), size=st.integers(1, 20), packed=st.booleans())
def test_blocks_end_with_lines_and_nothing_is_lost(tmp_path_factory, text, size, packed):
    path = tmp_path_factory.getbasetemp() / ("lines.gz" if packed else "lines")
    path.write_bytes(gzip.compress(text) if packed else text)
    with Stream(path, DEFAULT) as stream:
        found = list(whole_lines(stream, size, longest=1000, start=5))
    assert b"".join(block for _, block in found) == text
    assert all(block.endswith(b"\n") for _, block in found[:-1])
    assert [start for start, _ in found] == [5 + sum(len(b) for _, b in found[:i]) for i in range(len(found))]


def test_a_line_without_end(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"a\n" + b"x" * 200)
    with Stream(path, DEFAULT) as stream, pytest.raises(InputError, match="byte 2: a line of more than 100 bytes"):
        list(whole_lines(stream, 10, longest=100))
