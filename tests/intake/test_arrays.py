"""NumPy archives: plain arrays come back equal, everything else is refused before it costs anything."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from gnomon.core.errors import InputError
from gnomon.intake.arrays import read_npz
from gnomon.intake.limits import Limits
from gnomon.intake.npy import blank

DTYPES = st.one_of(
    arrays_of.boolean_dtypes(),
    arrays_of.integer_dtypes(endianness="?"),
    arrays_of.floating_dtypes(endianness="?"),
    arrays_of.complex_number_dtypes(endianness="?"),
    arrays_of.unicode_string_dtypes(endianness="?"),
    arrays_of.byte_string_dtypes(),
    arrays_of.datetime64_dtypes(endianness="?"),
)
SHAPES = arrays_of.array_shapes(min_dims=0, min_side=0, max_side=4)


def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
    """Return the bytes of an array with any header."""
    text = header.encode("utf-8")
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text + data


def plain(descr: str = "<f8", shape: str = "(1,)", order: str = "False") -> str:
    return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n"


def put(folder: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    path = folder / "a.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_npz(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


@settings(max_examples=200, deadline=None)
@given(
    array=arrays_of.arrays(DTYPES, SHAPES), fortran=st.booleans(), save=st.sampled_from([np.savez, np.savez_compressed])
)
def test_what_numpy_saves_is_read_back(tmp_path_factory, array, fortran, save):
    path = tmp_path_factory.getbasetemp() / "numpy.npz"
    array = np.asfortranarray(array) if fortran and array.ndim else array
    save(path, x=array)
    found = read_npz(path)["x"]
    assert found.shape == array.shape
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.dtype.isnative
    assert not found.flags.writeable
    np.testing.assert_array_equal(found, array)


def test_arrays_cannot_be_made_writeable_through_their_base(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3.0))
    found = read_npz(tmp_path / "a.npz")["x"]
    with pytest.raises(ValueError):
        found[0] = 1
    with pytest.raises(ValueError):
        found.setflags(write=True)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
        '{"shape": (1,), "fortran_order": False, "descr": "<f8"}',
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1L,), }          \n",
        "{ 'fortran_order' : True , 'shape':(1,),'descr':'<f8' , }",
    ],
)
def test_headers_of_other_writers_are_read(tmp_path, header):
    for version in (1, 2, 3):
        path = put(tmp_path, {"x.npy": npy(header, np.float64(0.5).tobytes(), version)})
        assert read_npz(path)["x"].tolist() == [0.5]


VALUE = bytes(8)
REFUSED = {
    "object": (npy(plain("|O"), VALUE), "object array and would need pickle; save numbers as an array of numbers"),
    "structured": (npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", VALUE), "structured"),
    "void": (npy(plain("|V8"), VALUE), "expected numbers, booleans or text"),
    "alias": (npy(plain("float64"), VALUE), "expected numbers, booleans or text"),
    "width 0": (npy(plain("<U0", "(9999999999,)")), "width 0"),
    "huge width": (npy(plain("<U999999999"), VALUE), "does not exist here"),
    "huge shape": (npy(plain(shape="(1000000000000,)"), VALUE), "8000000000000 bytes, but holds 8"),
    "overflowing shape": (npy(plain(shape="(4294967296, 4294967296, 2)"), VALUE), "but holds 8"),
    "empty but huge": (npy(plain(shape="(0, 9999999999999999999)")), "cannot be read"),
    "negative shape": (npy(plain(shape="(-1,)"), VALUE), "cannot be parsed"),
    "many axes": (npy(plain(shape="(" + "1, " * 40 + ")"), VALUE), "40 axes"),
    "too little": (npy(plain(), VALUE[:3]), "but holds 3"),
    "too much": (npy(plain(), VALUE * 2), "but holds 16"),
    "code": (npy("{'descr': __import__('os'), 'fortran_order': False, 'shape': (1,), }", VALUE), "cannot be parsed"),
    "repeated key": (npy("{'descr': '<f8', 'descr': '<f8', 'shape': (1,), }", VALUE), "cannot be parsed"),
    "shape as order": (npy("{'descr': '<f8', 'fortran_order': (1,), 'shape': (1,), }", VALUE), "cannot be parsed"),
    "long header": (npy(plain() + " " * 100_000, VALUE, 2), "header of"),
    "blank header": (npy(" " * 60_000, VALUE), "cannot be parsed; save it with numpy.savez"),
    "cut header": (npy(plain())[:20], "ends inside its header"),
    "no magic": (b"x" * 100, "does not start like a NumPy array; save it with numpy.savez"),
    "version": (npy(plain(), VALUE, 9), "does not start like a NumPy array"),
    "code point": (npy(plain("<U1"), (0x110000).to_bytes(4, "little")), "not valid Unicode"),
    "surrogate": (npy(plain(">U1"), (0xD800).to_bytes(4, "big")), "not valid Unicode"),
    "boolean": (npy(plain("|b1"), b"\x02"), "neither 0 nor 1"),
}


@pytest.mark.parametrize(("member", "fragment"), REFUSED.values(), ids=REFUSED)
def test_an_array_is_refused(tmp_path, member, fragment):
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        message = refusal(put(tmp_path, {"x.npy": member}, method))
        assert fragment in message
        assert "'x'" in message


@pytest.mark.parametrize("name", ["../x.npy", "/x.npy", "a/b.npy", "a\\b.npy", "x.txt", ".npy", "x\n.npy", "folder/"])
def test_a_member_name_is_refused(tmp_path, name):
    assert "not a plain array name" in refusal(put(tmp_path, {name: npy(plain(), VALUE)}))


def test_an_archive_is_refused(tmp_path):
    good = npy(plain(), VALUE)
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", good)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("x.npy", good)
    assert "duplicate array 'x'" in refusal(path)
    assert "compression method 14" in refusal(put(tmp_path, {"x.npy": good}, zipfile.ZIP_LZMA))
    assert "0 members" in refusal(put(tmp_path, {}))
    assert "3 members" in refusal(
        put(tmp_path, dict.fromkeys(["a.npy", "b.npy", "c.npy"], good)), limits=Limits(max_columns=2)
    )
    data = bytearray(put(tmp_path, {"x.npy": good}).read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "encrypted" in refusal(path)
    path.write_bytes(put(tmp_path, {"x.npy": good}).read_bytes()[:-30])
    assert "not a readable npz archive" in refusal(path)


def test_a_wrong_checksum_is_refused(tmp_path):
    data = put(tmp_path, {"x.npy": npy(plain(), VALUE)}).read_bytes()
    (tmp_path / "a.npz").write_bytes(data.replace(b"\0" * 8 + b"PK\x01\x02", b"\0" * 7 + b"\x01PK\x01\x02"))
    assert "CRC" in refusal(tmp_path / "a.npz")


def test_bombs_are_refused_by_what_they_declare(tmp_path):
    zeros = np.zeros(40_000_000)
    buffer = io.BytesIO()
    np.save(buffer, zeros)
    path = put(tmp_path, {"x.npy": buffer.getvalue()}, zipfile.ZIP_DEFLATED)
    assert "decompression bomb" in refusal(path)
    assert "content too large" in refusal(path, limits=Limits(max_decoded_bytes=1000))
    assert len(read_npz(path, limits=Limits(max_ratio=2000))["x"]) == len(zeros)


def test_a_large_directory_is_refused_before_it_is_parsed(tmp_path):
    path = put(tmp_path, {f"{'x' * 200}{i}.npy": b"" for i in range(9000)})
    assert "larger than" in refusal(path, limits=Limits(max_columns=1))


@pytest.mark.parametrize("shape", [(0, 3), (5,), (700, 300)])
def test_an_array_of_zeros_that_is_on_the_disk(tmp_path, shape):
    path = tmp_path / "zeros.npy"
    found = blank(path, shape, "<f8")
    assert (found.shape, found.dtype, found.any()) == (shape, np.float64, False)
    assert path.stat().st_blocks * 512 >= found.nbytes  # written, and not a hole
    found[...] = 2.5
    del found
    np.testing.assert_array_equal(np.load(path, allow_pickle=False), np.full(shape, 2.5))
