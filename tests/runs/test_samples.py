"""Samples in a file: what is written is read back; damaged files are named."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import GnomonError
from gnomon.core.samples import Samples
from gnomon.runs import samples as stored

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def build(rows, digests=True, tags=("subject",)):
    columns = list(zip(*rows, strict=True)) or [(), (), (), (), (), ()]
    ids, cases, parts, hashes, starts, lengths = columns
    ranges = np.array([(s, s + n) for s, n in zip(starts, lengths, strict=True)]).reshape(-1, 2)
    found = {name: tuple(cases) for name in tags}
    return Samples(tuple(ids), tuple(cases), tuple(parts), ranges, ranges + 1, tuple(hashes) if digests else (), found)


def same(a, b):
    assert (a.ids, a.cases, a.parts, dict(a.tags)) == (b.ids, b.cases, b.parts, dict(b.tags))
    assert np.array_equal(a.input_range, b.input_range)
    assert np.array_equal(a.target_range, b.target_range)


@given(
    st.lists(
        st.tuples(TEXT, TEXT, TEXT, st.text("0f", min_size=1, max_size=4), st.floats(-1e9, 1e9), st.floats(0, 1e6)),
        max_size=8,
    )
)
def test_reading_what_was_written_is_the_identity(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("samples")
    given_ = build(rows)
    stored.write(given_, folder)
    found = stored.read(folder)
    same(found, given_)
    assert found.digests == given_.digests


def test_samples_without_digests_have_none_again(tmp_path):
    stored.write(build([("a", "r", "train", "", 0.0, 1.0)], digests=False), tmp_path)
    assert stored.read(tmp_path).digests == ()


def test_a_folder_without_samples_has_none(tmp_path):
    assert stored.read(tmp_path) is None


def test_too_many_are_not_stored_and_said_to_be_so(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "MOST_STORED", 1)
    many = build([("a", "r", "train", "", 0.0, 1.0), ("b", "r", "test", "", 1.0, 1.0)])
    stored.write(many, tmp_path)
    assert stored.read(tmp_path) is None
    assert stored.counts(many) == {"parts": {"test": 1, "train": 1}, "stored": False}


@pytest.mark.parametrize("content", [b"", b"PAR1", b"nonsense", b"PAR1" + b"\0" * 40 + b"PAR1"])
def test_a_damaged_file_is_named(tmp_path, content):
    (tmp_path / stored.NAME).write_bytes(content)
    with pytest.raises(GnomonError, match=r"samples\.parquet"):
        stored.read(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.drop_columns(["digest"]),
        lambda table: table.drop_columns(["input_start"]),
        lambda table: table.set_column(5, "input_end", pa.array([-5.0])),
        lambda table: table.set_column(5, "input_end", pa.array(["late"])),
        lambda table: table.set_column(5, "input_end", pa.array([None], pa.float64())),
    ],
    ids=["no digest", "no start", "ends before it starts", "text", "missing"],
)
def test_another_table_is_refused(tmp_path, change):
    table = stored.table(build([("a", "r", "train", "ff", 0.0, 1.0)]))
    pq.write_table(change(table), tmp_path / stored.NAME)
    with pytest.raises(GnomonError, match="does not hold samples"):
        stored.read(tmp_path)
