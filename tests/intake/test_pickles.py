"""Pickles: what NumPy and Python write comes back as Python's own unpickler gives it, everything else is refused.

Expected values come from ``pickle.loads`` on the same bytes, or were written by hand next to the instructions
that spell them.
"""

from __future__ import annotations

import builtins
import collections
import decimal
import functools
import io
import operator
import os
import pickle
import pickletools
import struct
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import numpy.testing
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from gnomon.core.errors import InputError
from gnomon.intake.arrays import read_npz
from gnomon.intake.limits import Limits
from gnomon.intake.pickles import read_pickle
from gnomon.intake.rebuilding import ALLOWED

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
DTYPES = st.one_of(
    arrays_of.boolean_dtypes(),
    arrays_of.integer_dtypes(endianness="?"),
    arrays_of.floating_dtypes(endianness="?"),
    arrays_of.unicode_string_dtypes(endianness="?"),
    arrays_of.byte_string_dtypes(),
)
ARRAYS = arrays_of.arrays(DTYPES, arrays_of.array_shapes(min_dims=0, max_side=4))
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**80), 2**80),
    st.floats(),
    st.text(),
    st.binary(min_size=1),
    arrays_of.arrays(DTYPES, ()).map(lambda array: array[()]),
    ARRAYS,
)


def ragged(items: list[object]) -> np.ndarray:
    return np.fromiter(items, dtype=object, count=len(items))


VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.lists(inner, max_size=4).map(ragged),
        st.dictionaries(st.text(max_size=9) | st.integers(-(2**63) + 1, 2**63 - 1), inner, max_size=4),
    ),
    max_leaves=12,
)


def put(folder: Path, data: bytes) -> Path:
    path = folder / "p.pkl"
    path.write_bytes(data)
    return path


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_pickle(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


def same(found: object, expected: object) -> bool:
    """Compare type by type and value by value; byte order is native in what was found, NaN equals NaN."""
    if isinstance(expected, np.ndarray):
        if type(found) is not np.ndarray or found.shape != expected.shape or found.flags.writeable:
            return False
        if expected.dtype.hasobject:
            return found.dtype == object and same(found.ravel().tolist(), expected.ravel().tolist())
        native = expected.astype(expected.dtype.newbyteorder("="))
        return found.dtype == native.dtype and found.tobytes() == native.tobytes()
    if type(found) is not type(expected):
        return False
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(same, found, expected))
    return bool(found == expected) or (found != found and expected != expected)


@settings(max_examples=250, deadline=None)
@given(value=VALUES, protocol=st.sampled_from(PROTOCOLS), optimised=st.booleans())
def test_what_python_pickles_is_read_back(tmp_path_factory, value, protocol, optimised):
    data = pickle.dumps(value, protocol)
    assume(b"__builtin__\nbytes" not in data)  # empty bytes before protocol 3: a test of their own
    data = pickletools.optimize(data) if optimised else data
    assert same(read_pickle(put(tmp_path_factory.getbasetemp(), data)), pickle.loads(data))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_order_of_axes_is_read(tmp_path, protocol):
    block = np.arange(24.0).reshape(2, 3, 4)
    for array in (block, np.asfortranarray(block), block.transpose(1, 0, 2), block[:, ::2], block.astype(">f4")):
        found = read_pickle(put(tmp_path, pickle.dumps(array, protocol)))
        np.testing.assert_array_equal(found, array)
        assert found.dtype.isnative
        assert found.flags.aligned
        with pytest.raises(ValueError):
            found.setflags(write=True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ragged_and_partly_missing_fields_are_read(tmp_path, protocol):
    inner = ragged([np.zeros((2, 9), "f4"), None, "text", ["rgb", None], np.array(5), ragged([None, np.arange(3)])])
    grid = np.asfortranarray(ragged([None, 1, "a", 2.5, (1, 2), b"x"]).reshape(2, 3))
    for array in (inner, grid, np.array(None, dtype=object), np.empty((1, 3), dtype=object)):
        assert same(read_pickle(put(tmp_path, pickle.dumps({"x": array}, protocol))), {"x": array})


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_arrays_without_values_are_read(tmp_path, protocol):
    value = [np.zeros((0, 24, 3), "f4"), np.zeros(0, "U5"), b"", np.str_(""), np.empty(0, dtype=object)]
    assert same(read_pickle(put(tmp_path, pickle.dumps(value, protocol))), value)


def test_empty_bytes_of_old_protocols_need_a_name_that_is_not_allowed(tmp_path):
    message = refusal(put(tmp_path, pickle.dumps(np.zeros((0, 3)), 2)))
    assert "refers to '__builtin__.bytes'" in message
    assert "protocol=4" in message


@pytest.mark.parametrize("protocol", range(4))
def test_module_names_of_both_numpys_are_read(tmp_path, protocol):
    value = {"a": np.arange(6.0).reshape(2, 3), "s": np.float32(0.5), "t": np.str_("ab")}
    data = pickle.dumps(value, protocol)
    new, old = b"numpy._core.multiarray", b"numpy.core.multiarray"
    for spelled in (data.replace(old, new), data.replace(new, old)):
        assert spelled.count(new) + spelled.count(old) >= 2
        assert same(read_pickle(put(tmp_path, spelled)), value)


def test_a_bytearray_comes_as_bytes(tmp_path):
    assert read_pickle(put(tmp_path, pickle.dumps([bytearray(b"ab")], 5))) == [b"ab"]


def test_values_may_stand_in_several_places(tmp_path):
    row, array = ["rgb", "lidar"], np.arange(4)
    found = read_pickle(put(tmp_path, pickle.dumps({"a": [row, row], "b": (row, array), "c": ragged([array, row])})))
    assert found["a"][0] is found["a"][1] is found["b"][0] is found["c"][1]
    assert found["b"][1] is found["c"][0]


# Instructions by hand. Python's documentation of them is `pickletools`.


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + len(data).to_bytes(4, "little") + data


def short(value: str) -> bytes:
    return b"\x8c" + bytes([len(value.encode())]) + value.encode()


def whole(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


ONE_TUPLE = b"K\x01\x85"
BARE = b"NNN" + whole(-1) + whole(-1) + b"K\x00"
NDARRAY = b"cnumpy\nndarray\n"
RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n"


def dtype(name: str = "f4", flags: bytes = b"\x89\x88", state: bytes = b"(K\x03" + text("<") + BARE + b"t") -> bytes:
    return b"cnumpy\ndtype\n" + text(name) + flags + b"\x87R" + state + b"b"


def announced(kind: bytes = NDARRAY, shape: bytes = b"K\x00\x85", code: bytes = b"C\x01b") -> bytes:
    return RECONSTRUCT + kind + shape + code + b"\x87R"


def array(
    shape: bytes = ONE_TUPLE, kind: bytes = dtype(), fortran: bytes = b"\x89", data: bytes = b"C\x04\0\0\0\0"
) -> bytes:
    return announced() + b"(K\x01" + shape + kind + fortran + data + b"tb"


OBJECTS = dtype("O8", state=b"(K\x03" + text("|") + BARE[:-2] + b"K?t")


def test_the_instructions_of_these_tests_are_right(tmp_path):
    for data, expected in (
        (array(), np.zeros(1, "f4")),
        (array(b"K\x02\x85", OBJECTS, data=b"](NK\x05e"), ragged([None, 5])),
        (array(b"K\x00K\x03\x86", data=b"C\0"), np.zeros((0, 3), "f4")),
    ):
        assert same(pickle.loads(data + b".")[...], expected) is False, "Python's own arrays are writeable"
        np.testing.assert_array_equal(pickle.loads(data + b"."), expected)
        expected.setflags(write=False)
        assert same(read_pickle(put(tmp_path, data + b".")), expected)


HOSTILE_NAMES = [
    ("os", "system"),
    ("posix", "system"),
    ("nt", "system"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("builtins", "getattr"),
    ("builtins", "__import__"),
    ("builtins", "open"),
    ("__builtin__", "eval"),
    ("subprocess", "Popen"),
    ("numpy.f2py", "compile"),
    ("numpy.f2py.crackfortran", "myeval"),
    ("numpy.f2py.capi_maps", "eval"),
    ("numpy.testing._private.utils", "runstring"),
    ("numpy", "load"),
    ("numpy", "fromfile"),
    ("numpy", "memmap"),
    ("numpy", "matrix"),
    ("numpy", "recarray"),
    ("numpy", "void"),
    ("numpy.lib.npyio", "load"),
    ("numpy.core.records", "recarray"),
    ("numpy.ma.core", "_mareconstruct"),
    ("numpy.core.multiarray", "fromfile"),
    ("numpy.core.multiarray", "frombuffer"),
    ("numpy._core._internal", "_reconstruct"),
    ("operator", "attrgetter"),
    ("operator", "methodcaller"),
    ("functools", "partial"),
    ("functools", "reduce"),
    ("copyreg", "_reconstructor"),
    ("copyreg", "__newobj__"),
    ("_codecs", "decode"),
    ("_codecs", "lookup"),
    ("codecs", "encode"),
    ("pickle", "loads"),
    ("_pickle", "loads"),
    ("shutil", "rmtree"),
    ("importlib", "import_module"),
    ("numpy", "ndarray.tofile"),
    ("numpy", "dtype.__class__"),
    ("numpy", "core.multiarray._reconstruct"),
    ("numpy", "f2py.compile"),
    ("numpy.core", "multiarray._reconstruct"),
    ("numpy.core.multiarray", "_reconstruct.__self__"),
    ("numpy ", "ndarray"),
    ("numpy", "ndarray "),
    ("NUMPY", "ndarray"),
    ("", "numpy.ndarray"),
    ("numpy.ndarray", ""),
    ("numpy\u200b", "ndarray"),
]


def ways(module: str, name: str, args: bytes) -> dict[str, bytes]:
    """Return pickles that use a name, one for every way there is."""
    lines = module.encode() + b"\n" + name.encode() + b"\n"
    listed = b"}" + text("a") + b"]q\x00(" + text(module) + b"q\x01" + text(name) + b"q\x02es" + text("b")
    return {
        "GLOBAL": b"c" + lines + args + b"\x85R.",
        "GLOBAL alone": b"c" + lines + b".",
        "INST": b"(" + args + b"i" + lines + b".",
        "OBJ": b"(c" + lines + args + b"o.",
        "NEWOBJ": b"\x80\x02c" + lines + args + b"\x85\x81.",
        "NEWOBJ_EX": b"\x80\x04" + short(module) + short(name) + b"\x93" + args + b"\x85}\x92.",
        "STACK_GLOBAL": b"\x80\x04" + short(module) + short(name) + b"\x93" + args + b"\x85R.",
        "memoised STACK_GLOBAL": b"\x80\x04" + listed + b"h\x01h\x02\x93" + args + b"\x85Rs.",
        "BUILD": b"c" + lines + b"N}" + text("x") + args + b"s\x86b.",
        "in a dict": b"}" + text("a") + b"c" + lines + args + b"\x85Rs.",
        "in an object array": array(ONE_TUPLE, OBJECTS, data=b"]c" + lines + args + b"\x85Ra") + b".",
        "as a class": announced(b"c" + lines) + b".",
        "as metadata": array(kind=dtype(state=b"(K\x04" + text("<") + BARE + b"}" + text("m") + b"c" + lines + b"st"))
        + b".",
        "as a dtype": array(kind=b"c" + lines) + b".",
    }


@pytest.mark.parametrize(("module", "name"), HOSTILE_NAMES, ids=[f"{m}.{n}" for m, n in HOSTILE_NAMES])
def test_a_name_is_refused_by_name_in_every_way_it_can_be_used(tmp_path, module, name):
    for data in ways(module, name, text("1")).values():
        message = refusal(put(tmp_path, data))
        assert f"refers to '{module}.{name}'".replace("\u200b", "\\\\u200b") in message
        assert "numpy.savez" in message


def test_the_allowed_names_are_these_nine():
    assert sorted(".".join(pair) for pair in ALLOWED) == [
        "_codecs.encode",
        "numpy._core.multiarray._reconstruct",
        "numpy._core.multiarray.scalar",
        "numpy._core.numeric._frombuffer",
        "numpy.core.multiarray._reconstruct",
        "numpy.core.multiarray.scalar",
        "numpy.core.numeric._frombuffer",
        "numpy.dtype",
        "numpy.ndarray",
    ]


@pytest.mark.parametrize(("module", "name"), ALLOWED)
def test_allowed_names_are_refused_with_other_arguments_and_as_values(tmp_path, module, name):
    for way, data in ways(module, name, text("1")).items():
        if (way, name) != ("as a class", "ndarray"):
            assert "refers to" not in refusal(put(tmp_path, data)), way


class Trap:
    """Unpickling this calls a function."""

    def __init__(self, function: object, *args: object) -> None:
        self.call = (function, args)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call


def traps(canary: Path) -> dict[str, Trap]:
    code = f"import pathlib; pathlib.Path({str(canary)!r}).touch()"
    return {
        "system": Trap(os.system, f"touch '{canary}'"),
        "eval": Trap(builtins.eval, f"__import__('pathlib').Path({str(canary)!r}).touch()"),
        "exec": Trap(builtins.exec, code),
        "import": Trap(builtins.__import__, "antigravity"),
        "getattr": Trap(getattr, canary, "touch"),
        "popen": Trap(subprocess.Popen, ["touch", str(canary)]),
        "runstring": Trap(numpy.testing.runstring, code, {}),
        "load": Trap(np.load, str(canary)),
        "attrgetter": Trap(operator.attrgetter, "touch"),
        "partial": Trap(functools.partial, os.system, f"touch '{canary}'"),
        "touch": Trap(Path.touch, canary),
    }


TRAPS = list(traps(Path("unused")))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", TRAPS)
def test_nothing_is_executed(tmp_path, kind, protocol):
    canary = tmp_path / "canary"
    trap = traps(canary)[kind]
    for value in (
        trap,
        {"a": np.zeros(3), "b": [trap]},
        {"a": ragged([None, np.zeros(2), trap])},
        ragged([ragged([[(trap,)]])]),
        np.zeros(2, np.dtype("f4", metadata={"m": trap})),
    ):
        message = refusal(put(tmp_path, pickle.dumps(value, protocol)))
        assert "refers to" in message
        assert not canary.exists()


def test_the_traps_themselves_work(tmp_path):
    for kind in ("system", "eval", "exec", "runstring", "touch"):
        canary = tmp_path / kind
        pickle.loads(pickle.dumps({"b": [traps(canary)[kind]]}))
        assert canary.exists(), "otherwise the test before this one shows nothing"


TAMPERED = {
    "another class": (announced(b"cnumpy\ndtype\n"), "'_reconstruct' with arguments"),
    "a shape in the announcement": (announced(shape=b"J\xff\xff\xff\x7f\x85"), "announces an array"),
    "another code": (announced(code=b"C\x01O"), "announces an array"),
    "array without state": (b"]" + announced() + b"a", "an unfinished array or type"),
    "type without state": (array(kind=b"cnumpy\ndtype\n" + text("f4") + b"\x89\x88\x87R"), "without a type"),
    "bare type": (dtype(), "a value of type 'Float32DType'"),
    "bare function": (b"]" + RECONSTRUCT + b"a", "the function '_reconstruct' itself"),
    "structured": (dtype("V8"), "type 'V8', expected numbers, booleans or text"),
    "structured by list": (b"cnumpy\ndtype\n](" + text("f4") + b"e\x89\x88\x87R", "'numpy.dtype' with arguments"),
    "fields": (
        dtype(state=b"(K\x03" + text("<") + b"N" + text("f") + b"\x85}" + BARE[3:] + b"t"),
        "fields or metadata",
    ),
    "subarray": (dtype(state=b"(K\x03" + text("<") + ONE_TUPLE + b"NN" + BARE[3:] + b"t"), "fields or metadata"),
    "metadata": (dtype(state=b"(K\x04" + text("<") + BARE + b"}t"), "fields or metadata"),
    "time": (dtype("M8"), "type 'M8'"),
    "complex": (dtype("c8"), "type 'c8'"),
    "comma type": (dtype("f4,f4"), "type 'f4,f4'"),
    "repeated type": (dtype("999999f4"), "type '999999f4'"),
    "type by code": (dtype("__import__('os')"), "type \"__import__('os')\""),
    "copied type": (dtype(flags=b"\x88\x88"), "type 'f4'"),
    "order of bytes": (dtype(state=b"(K\x03" + text("?") + BARE + b"t"), "description was changed"),
    "version of a type": (dtype(state=b"(K\x01" + text("<") + BARE + b"t"), "description was changed"),
    "width of a type": (
        dtype("U2", state=b"(K\x03" + text("<") + b"NNN" + whole(2**31 - 1) + whole(4) + b"K\x08t"),
        "description was changed",
    ),
    "alignment of a type": (
        dtype(state=b"(K\x03" + text("<") + b"NNN" + whole(-1) + whole(-5) + b"K\x00t"),
        "description was changed",
    ),
    "flags of a type": (array(kind=OBJECTS.replace(b"K?", b"K\0"), data=b"]Na"), "description was changed"),
    "state of a type twice": (dtype() + b"(K\x03" + text(">") + BARE + b"tb", "takes none"),
    "state of an array twice": (array() + b"(K\x01" + ONE_TUPLE + dtype() + b"\x89C\x04abcdtb", "takes none"),
    "state of a list": (b"]}b", "takes none"),
    "state of a function": (RECONSTRUCT + b"N}" + text("__doc__") + text("x") + b"s\x86b", "takes none"),
    "huge shape": (array(b"\x8a\x05\0\0\0\0\x10\x85"), "that it cannot hold"),
    "overflowing shape": (array(b"\x8a\x09\0\0\0\0\0\0\0\x80\0" * 2 + b"\x86"), "that it cannot hold"),
    "empty but huge": (array(b"K\x00" + whole(2**31 - 1) + b"\x86", data=b"C\0"), "that it cannot hold"),
    "huge width": (array(b"K\x00\x85", dtype("S999999999"), data=b"C\0"), "that it cannot hold"),
    "negative shape": (array(whole(-1) + b"\x85"), "not a row of sizes"),
    "shape of a truth": (array(b"\x88\x85"), "not a row of sizes"),
    "shape of a float": (array(b"G" + struct.pack(">d", 1.0) + b"\x85"), "not a row of sizes"),
    "shape of a list": (array(b"]K\x01a"), "not a row of sizes"),
    "many axes": (array(b"(" + b"K\x01" * 33 + b"t"), "33 axes"),
    "too little": (array(b"K\x02\x85"), "(2,) of float32 but holds 4 bytes"),
    "too much": (array(b")", data=b"C\x08abcdefgh"), "() of float32 but holds 8 bytes"),
    "text as data": (array(data=text("abcd")), "but holds no bytes"),
    "no type": (array(kind=b"N"), "without a type"),
    "strides": (array(fortran=b"(K\x04t"), "state NumPy did not write"),
    "longer state": (announced() + b"(K\x01" + ONE_TUPLE + dtype() + b"\x89C\x04abcdNtb", "state NumPy did not write"),
    "version of an array": (announced() + b"(K\x02" + ONE_TUPLE + dtype() + b"\x89C\x04abcdtb", "state NumPy did not"),
    "objects from bytes": (array(kind=OBJECTS, data=b"C\x08abcdefgh"), "no list of values"),
    "objects, huge shape": (array(b"\x8a\x05\0\0\0\0\x10\x85", OBJECTS, data=b"]"), "that it cannot hold"),
    "objects, too many": (array(ONE_TUPLE, OBJECTS, data=b"](NNe"), "holds 2 values"),
    "objects in a buffer": (
        b"cnumpy.core.numeric\n_frombuffer\n(C\x08abcdefgh" + OBJECTS + ONE_TUPLE + text("C") + b"tR",
        "takes objects from bytes",
    ),
    "buffer, strange order": (
        b"cnumpy.core.numeric\n_frombuffer\n(C\x04abcd" + dtype() + ONE_TUPLE + text("A") + b"tR",
        "by 'A', expected C or F",
    ),
    "buffer, axes it lacks": (
        b"cnumpy.core.numeric\n_frombuffer\n(C\x04abcd" + dtype() + ONE_TUPLE + text("K") + b"K\x07\x85tR",
        "axes that an array does not have",
    ),
    "scalar of an object": (
        b"cnumpy.core.multiarray\nscalar\n" + OBJECTS + b"C\x08abcdefgh\x86R",
        "value of type object",
    ),
    "scalar too short": (b"cnumpy.core.multiarray\nscalar\n" + dtype() + b"C\x02ab\x86R", "in 2 bytes"),
    "booleans": (array(kind=dtype("b1"), data=b"C\x01\x02"), "neither 0 nor 1"),
    "not Unicode": (
        array(kind=dtype("U1"), data=b"C\x04\xff\xff\xff\xff").replace(BARE, b"NNN" + whole(4) * 2 + b"K\x08"),
        "not valid Unicode",
    ),
    "zero width": (
        array(b"J\0\0\0\x7f\x85", dtype("U0"), data=b"C\0").replace(BARE, b"NNN" + whole(0) + whole(4) + b"K\x08"),
        "width 0",
    ),
    "codec": (b"c_codecs\nencode\n" + text("x") + text("zip") + b"\x86R", "'_codecs.encode' with arguments"),
    "codec of escapes": (b"c_codecs\nencode\n" + text("x") + text("unicode_escape") + b"\x86R", "with arguments"),
    "codec, third argument": (
        b"c_codecs\nencode\n" + text("x") + text("latin1") + text("ignore") + b"\x87R",
        "with arg",
    ),
    "codec, not latin": (b"c_codecs\nencode\n" + text("\u20ac") + text("latin1") + b"\x86R", "not a readable pickle"),
    "call of a list": (b"])R", "not a function"),
    "call with a list": (RECONSTRUCT + b"]R", "not a function"),
    "name from a number": (text("numpy") + b"K\x01\x93", "something that is not text"),
    "persistent id": (b"Pabc\n", "persistent id"),
    "binary persistent id": (text("abc") + b"Q", "persistent id"),
    "extension 1": (b"\x82\x01", "registered extension"),
    "extension 2": (b"\x83\x01\x01", "registered extension"),
    "extension 4": (b"\x84\x01\x01\x01\x01", "registered extension"),
    "buffer outside": (b"\x80\x05\x97", "outside the file"),
    "read-only buffer": (b"\x80\x05C\x01a\x98", "outside the file"),
    "set": (b"\x80\x04\x8f", "holds a set"),
    "Python 2": (b"U\x01a", "as Python 2 writes it"),
    "duplicate": (b"N2\x86", "part of itself"),
    "list in itself": (b"]q\0h\0a", "a list that is part of itself"),
    "tuple in itself": (b"]q\0h\0\x85a", "part of itself"),
    "dict in itself": (b"}q\0" + text("a") + b"h\0s", "a dict that is part of itself"),
    "array in itself": (
        announced() + b"q\0(K\x01" + ONE_TUPLE + OBJECTS + b"\x89]h\0atb",
        "an array that is part of itself",
    ),
    "list as a key": (b"}]Ns", "with list as a key"),
    "tuple as a key": (b"})Ns", "with tuple as a key"),
    "array as a key": (b"}" + array() + b"Ns", "with ndarray as a key"),
    "long text as a key": (b"}" + text("x" * 1001) + b"Ns", "a long text or number as a key"),
    "long number as a key": (b"}\x8a\x09" + bytes(8) + b"\x01Ns", "a long text or number as a key"),
    "key without a value": (b"}(" + text("a") + b"u", "ends after a key"),
    "long integer": (b"\x8b" + (1000).to_bytes(4, "little") + bytes(1000), "an integer of 1000 bytes"),
    "long decimal": (b"L" + b"9" * 5000 + b"L\n", "no whole number"),
    "decimal with a gap": (b"I1_0\n", "no whole number"),
    "long float": (b"F" + b"9" * 5000 + b"\n", "a number of 5000 characters"),
    "not a float": (b"Fx\n", "not a readable pickle"),
    "not UTF-8": (b"X\x01\0\0\0\xff", "not a readable pickle"),
    "half a pair": (b"V\\ud800\n", "not a readable pickle"),
    "protocol": (b"\x80\x06N", "protocol 6, expected 0 to 5"),
    "append to None": (b"NNa", "adds to a list that is none"),
    "append to an array": (array() + b"Na", "adds to a list that is none"),
    "set in a list": (b"]" + text("a") + b"Ns", "adds to a dict that is none"),
    "memo ahead": (b"Nr\xff\xff\xff\xff", "remembers value 4294967295 before value 0"),
    "decimal memo ahead": (b"Np99999999999999999999\n", "before value 0"),
    "memo below": (b"Np-1\n", "under -1"),
    "memo unknown": (b"h\x05", "a value is missing"),
    "memo of nothing": (b"q\0", "a value is missing"),
    "no mark": (b"Nt", "a value is missing"),
    "short tuple": (b"N\x87", "a value is missing"),
    "nothing": (b"", "ends with 0 values"),
    "two values": (b"NN", "ends with 2 values"),
    "open mark": (b"(N", "ends with"),
}


@pytest.mark.parametrize(("data", "fragment"), TAMPERED.values(), ids=TAMPERED)
def test_tampered_values_are_refused(tmp_path, data, fragment):
    assert fragment in refusal(put(tmp_path, data + b"."))


LENGTHS = {
    "FRAME": b"\x80\x04\x95" + b"\xff" * 8 + b"N.",
    "SHORT_BINBYTES": b"C\xffa.",
    "BINBYTES": b"B\xff\xff\xff\xffa.",
    "BINBYTES8": b"\x8e" + b"\xff" * 8 + b"a.",
    "BYTEARRAY8": b"\x96" + b"\xff" * 7 + b"\x7fa.",
    "BINUNICODE": b"X\xff\xff\xff\x7fa.",
    "BINUNICODE8": b"\x8d" + b"\0" * 5 + b"\x01\0\0a.",
    "SHORT_BINUNICODE": b"\x8c\xffa.",
    "LONG1": b"\x8a\xffa.",
    "LONG4": b"\x8b\xff\0\0\0a.",
}


@pytest.mark.parametrize("data", LENGTHS.values(), ids=LENGTHS)
def test_a_length_beyond_the_end_is_refused(tmp_path, data):
    assert "are left" in refusal(put(tmp_path, data))


def test_what_other_programs_write_is_refused_with_advice(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    assert ".to_numpy()" in refusal(put(tmp_path, pickle.dumps({"a": frame})))
    assert ".to_numpy()" in refusal(put(tmp_path, pickle.dumps({"a": frame["a"]}, 2)))
    assert "plain dict" in refusal(put(tmp_path, pickle.dumps(collections.OrderedDict(a=1))))
    assert "refers to 'decimal.Decimal'" in refusal(put(tmp_path, pickle.dumps(decimal.Decimal(1))))
    assert "refers to 'builtins.complex'" in refusal(put(tmp_path, pickle.dumps(1j, 4)))
    assert "holds a set" in refusal(put(tmp_path, pickle.dumps({1}, 4)))
    assert "matrix', which could run code" in refusal(put(tmp_path, pickle.dumps(np.array([[1]]).view(np.matrix))))
    masked = refusal(put(tmp_path, pickle.dumps(np.ma.masked_array([1.0], [True]))))
    assert "refers to 'numpy.ma" in masked
    record = np.zeros(2, [("a", "f4"), ("b", "i2")])
    assert "type 'V6', expected numbers" in refusal(put(tmp_path, pickle.dumps(record)))


def test_tensors_are_refused_with_the_way_to_convert_them(tmp_path):
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x01tQ"
    for data in (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\0K\x01\x85K\x01\x85\x89tR.",
        b"\x80\x04}" + text("x") + short("torch.storage") + short("_load_from_bytes") + b"\x93C\x01a\x85Rs.",
        b"ctorch\nSize\n.",
        storage + b".",
        pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2),
    ):
        assert ".detach().cpu().numpy()" in refusal(put(tmp_path, data))
    with zipfile.ZipFile(tmp_path / "p.pkl", "w") as archive:
        archive.writestr("archive/data.pkl", b"N.")
        archive.writestr("archive/data/0", bytes(64))
    message = refusal(tmp_path / "p.pkl")
    assert "PyTorch file" in message
    assert ".detach().cpu().numpy()" in message


def test_other_files_are_told_apart(tmp_path):
    sink = io.BytesIO()
    np.savez(sink, x=np.zeros(3))
    assert "name it .npz" in refusal(put(tmp_path, sink.getvalue()))
    sink = io.BytesIO()
    np.save(sink, np.zeros(3))
    assert "npy" in refusal(put(tmp_path, sink.getvalue()))
    assert "gzip" in refusal(put(tmp_path, b"\x1f\x8b\x08" + bytes(20)))
    assert "is no pickle: byte 0 is 0x7b" in refusal(put(tmp_path, b'{"a": 1}'))
    assert "followed by 4 more bytes" in refusal(put(tmp_path, pickle.dumps(1, 2)[:-1] + b"." + pickle.dumps(None, 2)))
    assert "no such file" in refusal(tmp_path / "absent.pkl")
    assert "is a folder" in refusal(tmp_path)
    assert "is empty" in refusal(put(tmp_path, b""))


def test_size_and_depth_are_bounded(tmp_path):
    path = put(tmp_path, pickle.dumps({"a": np.zeros(100)}))
    assert "file too large" in refusal(path, limits=Limits(max_file_bytes=100))
    value: object = "x"
    for _ in range(64):
        value = [value]
    assert read_pickle(put(tmp_path, pickle.dumps(value))) == value
    assert "nests more than 64 deep" in refusal(put(tmp_path, pickle.dumps([value])))
    assert "nests more than 3 deep" in refusal(
        put(tmp_path, pickle.dumps({"a": ([ragged([1])],)})), limits=Limits(max_json_depth=3)
    )


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_objects_of_an_archive_are_read_on_request(tmp_path, save):
    path = tmp_path / "a.npz"
    fields = {
        "ids": np.array(["a", "b"]),
        "cameras": ragged([None, np.ones((2, 9), "f4")]),
        "names": ragged([["rgb", "lidar"], None]),
        "none": np.array(None, dtype=object),
        "grid": np.asfortranarray(ragged([1, None, "x", 2.5]).reshape(2, 2)),
    }
    save(path, **fields)
    with pytest.raises(InputError, match="object array and would need pickle"):
        read_npz(path)
    found = read_npz(path, objects=True)
    assert list(found) == list(fields)
    assert all(same(found[name], fields[name]) for name in fields)


def member(shape: str, data: bytes) -> bytes:
    header = f"{{'descr': '|O', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize(
    ("shape", "value", "fragment"),
    [
        ("(2,)", ragged([1]), "is not an array of (2,) objects"),
        ("(1,)", np.zeros(1), "is not an array of (1,) objects"),
        ("(1,)", [1], "is not an array of (1,) objects"),
        ("(99999999999999,)", ragged([1]), "is not an array of (99999999999999,) objects"),
        ("(1,)", ragged([Trap(Path.touch, Path("never"))]), "refers to 'pathlib"),
    ],
)
def test_objects_of_an_archive_are_refused(tmp_path, shape, value, fragment):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", member(shape, pickle.dumps(value)))
    with pytest.raises(InputError) as caught:
        read_npz(path, objects=True)
    assert fragment in str(caught.value)
    assert "a.npz: array 'x'" in str(caught.value)


def test_objects_of_an_archive_may_not_be_compressed_much(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.empty(17 << 20, dtype=object))
    with pytest.raises(InputError, match=r"decompression bomb: .* expected at most 16777216"):
        read_npz(path, objects=True)


@pytest.fixture(scope="module")
def skeleton():
    root = os.environ.get("GNOMON_REAL_DATA")
    if not root:
        pytest.skip("needs GNOMON_REAL_DATA")
    return Path(root) / "skeleton"


@pytest.mark.real
def test_the_skeleton_file_reads_as_python_reads_it(skeleton):
    found = read_pickle(skeleton / "small.pkl")
    assert same(found, pickle.loads((skeleton / "small.pkl").read_bytes()))
    arrays = read_npz(skeleton / "small.npz")
    shared = found.keys() & arrays.keys()
    assert len(shared) == 7
    for name in shared:
        np.testing.assert_array_equal(np.asarray(found[name]), arrays[name])
