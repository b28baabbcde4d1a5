"""Point clouds from files written here byte by byte, and back. The expected bytes, numbers and counts were worked by
hand or come from the plain LZF decoder below, which was written from the description of the format for this test."""

import os
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake import pcd
from gnomon.intake.clouds import ENCODINGS, Cloud, read_cloud, write_cloud
from gnomon.intake.lzf import LzfError, compress, decompress

REAL = Path(os.environ.get("GNOMON_REAL_DATA", "")) / "change"
POINTS = np.array([[0.5, -1.25, 2.0], [1e-3, 3.75, -0.0], [7.0, 8.5, 9.25]], dtype=np.float32)


def unpack(data: bytes) -> bytes:
    """Decode LZF one byte at a time."""
    out, i = bytearray(), 0
    while i < len(data):
        control, i = data[i], i + 1
        if control < 32:
            out += data[i : i + control + 1]
            i += control + 1
            continue
        length = control >> 5
        if length == 7:
            length, i = length + data[i], i + 1
        distance, i = ((control & 31) << 8) + data[i] + 1, i + 1
        for _ in range(length + 2):
            out.append(out[-distance])
    return bytes(out)


def header(fields="x y z", size="4 4 4", kind="F F F", count="1 1 1", points="3", data="binary", **more):
    lines = {
        "VERSION": "0.7",
        "FIELDS": fields,
        "SIZE": size,
        "TYPE": kind,
        "COUNT": count,
        "WIDTH": points,
        "HEIGHT": "1",
        "VIEWPOINT": "0 0 0 1 0 0 0",
        "POINTS": points,
        "DATA": data,
    } | more
    text = "".join(f"{key} {value}\n" for key, value in lines.items() if value is not None)
    return ("# .PCD v0.7 - Point Cloud Data file format\n" + text).encode()


@pytest.fixture
def save(tmp_path):
    def write(data, name="a.pcd"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def test_pcd_binary_by_hand(save):
    cloud = read_cloud(save(header() + struct.pack("<9f", *POINTS.ravel())))
    assert cloud.points.dtype == np.float32
    assert np.array_equal(cloud.points, POINTS)
    assert cloud.points.flags.c_contiguous
    assert not cloud.points.flags.writeable
    assert cloud.fields == {}
    assert cloud.dropped == 0
    assert cloud.source.endswith("a.pcd")


def test_pcd_binary_with_other_fields_of_every_size(save):
    """x, padding of 3 bytes, y as a double, z as a signed byte, a count of 2, and 64 bits."""
    top = header("x _ y z pair big", "4 1 8 1 2 8", "F U F I U U", "1 3 1 1 2 1", "2")
    rows = [(1.5, 2.25, -3, (7, 65535), 2**63 + 5), (-0.5, 1e-9, 127, (0, 1), 0)]
    body = b"".join(struct.pack("<f3xdb2HQ", x, y, z, *pair, big) for x, y, z, pair, big in rows)
    cloud = read_cloud(save(top + body))
    assert cloud.points.dtype == np.float64
    assert cloud.points.tolist() == [[1.5, 2.25, -3.0], [-0.5, 1e-9, 127.0]]
    assert cloud.fields["pair"].tolist() == [[7, 65535], [0, 1]]
    assert cloud.fields["big"].tolist() == [2**63 + 5, 0]
    assert set(cloud.fields) == {"pair", "big"}
    assert set(read_cloud(save(top + body), fields=("big",)).fields) == {"big"}


@pytest.mark.parametrize("order", ["x y z normal_x normal_y normal_z rgb", "rgb normal_x normal_y normal_z x y z"])
def test_pcd_with_normals_and_colours_in_both_binary_forms(save, order):
    names = order.split()
    values = {name: np.arange(3, dtype="<f4") * 10 + i for i, name in enumerate(names)}
    values["rgb"] = np.array([0x00FF8000, 1, 2], dtype="<u4").view("<f4")
    top = {
        mode: header(order, "4 " * 7, "F " * 7, "1 " * 7, "3", mode).replace(b" \n", b"\n")
        for mode in ("binary", "binary_compressed")
    }
    rows = np.stack([values[name] for name in names], axis=1).tobytes()
    blocks = b"".join(values[name].tobytes() for name in names)
    literal = b"".join(bytes([len(p) - 1]) + p for p in (blocks[i : i + 32] for i in range(0, len(blocks), 32)))
    packed = struct.pack("<2I", len(literal), len(blocks)) + literal
    for data in (top["binary"] + rows, top["binary_compressed"] + packed):
        cloud = read_cloud(save(data))
        assert np.array_equal(cloud.points, np.stack([values[a] for a in "xyz"], axis=1))
        assert cloud.fields["rgb"].view("<u4").tolist() == [0x00FF8000, 1, 2]
        assert np.array_equal(cloud.fields["normal_y"], values["normal_y"])


def test_pcd_text_in_several_spellings(save):
    top = header("x y z label", "4 4 8 1", "F F F U", "1 1 1 1", "3", "ascii")
    body = b"0.5 -1.25 2 0\r\n  +1e-3\t3.75   -0.0 255 \n\n7 8.5 9.25 3"
    cloud = read_cloud(save(top + body))
    assert cloud.points.dtype == np.float64
    assert np.array_equal(cloud.points.astype(np.float32), POINTS)
    assert cloud.fields["label"].tolist() == [0, 255, 3]


@pytest.mark.parametrize("version", ["0.7", ".7", "0.6", ".6", "0.5", ".5"])
def test_pcd_versions(save, version):
    assert len(read_cloud(save(header(VERSION=version, data="ascii") + b"1 2 3\n" * 3))) == 3


def test_pcd_of_the_first_kind_has_few_lines(save):
    cloud = read_cloud(save(b"# .PCD v.5\nCOLUMNS x y z\nPOINTS 2\nDATA ascii\n1 2 3\n4 5 6\n"))
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_organised_clouds_have_invalid_points(save):
    rows = POINTS.copy()
    rows[1] = np.nan
    path = save(
        header("x y z i", "4 4 4 2", "F F F I", "1 1 1 1", "3", WIDTH="1", HEIGHT="3")
        + b"".join(struct.pack("<3fh", *row, i) for i, row in enumerate(rows))
    )
    with pytest.raises(InputError, match=r"1 of 3 points have a coordinate that is NaN.*first is point 1.*'drop'"):
        read_cloud(path)
    cloud = read_cloud(path, invalid="drop")
    assert np.array_equal(cloud.points, POINTS[[0, 2]])
    assert cloud.fields["i"].tolist() == [0, 2]
    assert cloud.dropped == 1
    assert cloud.kept.tolist() == [True, False, True]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_finite_point_at_all(save, value):
    path = save(header() + struct.pack("<9f", *[value] * 9))
    with pytest.raises(InputError, match="3 of 3 points"):
        read_cloud(path)
    with pytest.raises(InputError, match="not one of 3 points is finite"):
        read_cloud(path, invalid="drop")


def test_large_coordinates_are_no_infinite_ones(save):
    path = save(header(size="8 8 8") + struct.pack("<9d", *[1e308] * 9))
    assert read_cloud(path).points.tolist() == [[1e308] * 3] * 3


BODY = struct.pack("<9f", *POINTS.ravel())
WRONG = {
    "empty": (b"", "empty"),
    "no header": (b"hello\nworld\n", "'hello' is no entry of a PCD header"),
    "no DATA": (b"VERSION 0.7\nFIELDS x y z\n", "no line DATA"),
    "ply": (b"ply\nformat ascii 1.0\n", "looks like PLY"),
    "version": (header(VERSION="0.8") + BODY, "VERSION 0.8, expected one of"),
    "mode": (header(data="zipped") + BODY, "DATA zipped, expected one of 'ascii', 'binary', 'binary_compressed'"),
    "twice": (header(DATA="binary\nDATA ascii").replace(b"HEIGHT 1", b"WIDTH 3") + BODY, "line 8: WIDTH occurs twice"),
    "no value": (header(WIDTH="") + BODY, "WIDTH has no value"),
    "no fields": (header(FIELDS=None) + BODY, "no line FIELDS"),
    "no z": (header("x y w") + BODY, "no field 'z', got x y w"),
    "x twice": (header("x y x") + BODY, "field 'x' occurs 2 times"),
    "count of x": (header(count="2 1 1") + BODY, "field 'x' has 2 values per point"),
    "count 0": (header("x y z a", "4 4 4 4", "F F F F", "1 1 1 0") + BODY, "field 'a': COUNT 0"),
    "huge count": (header("x y z a", "4 4 4 4", "F F F F", "1 1 1 99999999") + BODY, "'a': COUNT is 99999999"),
    "short SIZE": (header(size="4 4") + BODY, "SIZE has 2 values for 3 fields"),
    "no TYPE": (header(TYPE=None) + BODY, "no line TYPE"),
    "bad type": (header(kind="F F Q") + BODY, "field 'z': TYPE Q SIZE 4"),
    "half floats": (header(size="4 4 2") + BODY, "field 'z': TYPE F SIZE 2"),
    "more points": (header(points="4") + BODY, "4 points as binary need at least 48 bytes, but 36 follow"),
    "absurd points": (header(points="999999999999999") + BODY, "but 36 follow the header"),
    "negative": (header(points="-3") + BODY, "WIDTH is -3, expected a whole number"),
    "area": (header(HEIGHT="2") + BODY, "POINTS 3, but WIDTH 3 times HEIGHT 2 is 6"),
    "no points": (header(points="0"), "holds no points"),
    "no size": (header(WIDTH=None, POINTS=None) + BODY, "neither POINTS nor WIDTH"),
    "trailing": (header() + BODY + b"\0\0\1", "3 bytes after the last value, not all of them zero"),
    "text for x": (header(data="ascii") + b"1 2 3\n4 hello 6\n7 8 9\n", "line 13: field 'y' is 'hello'"),
    "short row": (header(data="ascii") + b"1 2 3\n\n4 5\n7 8 9\n", "line 14: 2 values, expected 3"),
    "rows missing": (
        header(data="ascii") + b"1.5 2.5 3.5\n4.5 5.5 6.5\n",
        "2 rows of values, but the header declares 3",
    ),
    "rows too many": (header(data="ascii") + b"1 2 3\n" * 4, "4 rows of values"),
    "too large a byte": (
        header("x y z a", "4 4 4 1", "F F F U", "1 1 1 1", "2", "ascii") + b"1 2 3 4\n1 2 3 256\n",
        "line 13: field 'a' is '256', expected a whole number that uint8 holds",
    ),
    "packed cut": (header(data="binary_compressed") + struct.pack("<2I", 50, 36) + b"\x1f" * 9, "50 compressed bytes"),
    "no sizes": (header(data="binary_compressed") + b"\0\0", "need at least 8 bytes, but 2 follow"),
    "wrong size": (header(data="binary_compressed") + struct.pack("<2I", 2, 40) + b"\0a", "40 bytes, expected 36"),
    "bomb": (
        header(points="99999999", data="binary_compressed") + struct.pack("<2I", 2, 99999999 * 12) + b"\0a",
        "2 compressed bytes cannot hold 1199999988",
    ),
    "damaged": (
        header(data="binary_compressed") + struct.pack("<2I", 3, 36) + b"\xff\xff\xff",
        "damaged before byte 3",
    ),
    "short": (header(data="binary_compressed") + struct.pack("<2I", 2, 36) + b"\0a", "hold 1 bytes, expected 36"),
}


@pytest.mark.parametrize(("data", "message"), WRONG.values(), ids=WRONG)
def test_wrong_pcd(save, data, message):
    with pytest.raises(InputError) as caught:
        read_cloud(save(data))
    assert message in str(caught.value)
    assert "a.pcd" in str(caught.value)
    assert "\n" not in str(caught.value)


PLY = b"ply\nformat %s 1.0\ncomment made by hand\nobj_info none\n"


def test_ply_text_with_faces_and_a_camera_before(save):
    data = PLY % b"ascii" + (
        b"element camera 1\nproperty float f\nproperty list uchar int ids\nelement vertex 2\nproperty float x\n"
        b"property double y\nproperty short z\nproperty uchar red\nelement face 2\n"
        b"property list uchar int vertex_indices\nend_header\n"
        b"0.5 3 1 2 3\n1.5 2.25 -3 255\n4 5 6 0\n3 0 1 1\n4 0 1 1 0\n"
    )
    cloud = read_cloud(save(data, "a.ply"))
    assert cloud.points.tolist() == [[1.5, 2.25, -3.0], [4.0, 5.0, 6.0]]
    assert cloud.fields["red"].tolist() == [255, 0]


@pytest.mark.parametrize(("kind", "order"), [(b"binary_little_endian", "<"), (b"binary_big_endian", ">")])
def test_ply_bytes_with_lists_before_among_and_after_the_vertices(save, kind, order):
    head = (
        b"element strip 2\nproperty list ushort short ids\nproperty float w\nelement vertex 2\nproperty float x\n"
        b"property list int uchar tags\nproperty float y\nproperty float z\nproperty uint16 k\nelement face 1\n"
        b"property list uchar int vertex_indices\nend_header\n"
    )
    body = struct.pack(order + "H2hfHf", 2, 5, 6, 0.5, 0, 0.25)
    body += struct.pack(order + "fi3B2fH", 1.5, 3, 1, 2, 3, 2.5, 3.5, 700) + struct.pack(order + "fi2fH", 4, 0, 5, 6, 9)
    body += struct.pack(order + "B3i", 3, 0, 1, 1)
    cloud = read_cloud(save(PLY % kind + head + body, "a.ply"))
    assert cloud.points.dtype == np.float32
    assert cloud.points.tolist() == [[1.5, 2.5, 3.5], [4.0, 5.0, 6.0]]
    assert cloud.fields["k"].tolist() == [700, 9]
    assert cloud.fields["k"].dtype.isnative
    with pytest.raises(InputError, match="row 0 of element 'face' has a list"):
        read_cloud(save(PLY % kind + head + body[:-1], "a.ply"))
    with pytest.raises(InputError, match="1 byte after the last value"):
        read_cloud(save(PLY % kind + head + body + b"x", "a.ply"))


def test_ply_text_with_lists_among_the_vertices(save):
    top = PLY % b"ascii" + (
        b"element vertex 2\nproperty float x\nproperty list uchar int tags\nproperty float y\nproperty float z\n"
        b"end_header\n"
    )
    assert read_cloud(save(top + b"1 2 8 9 2 3\n4 0 5 6\n", "a.ply")).points.tolist() == [[1, 2, 3], [4, 5, 6]]
    for body, message in (
        (b"1 2 8 9 2 3\n4 0 5\n", "line 12: property 'z' is ''"),
        (b"1 2 8 9 2 3\n4 0 5 6 7\n", "line 12: 5 values, expected 4"),
        (b"1 2 8 9 2 3\n4 a 5 6 7\n", "line 12: property 'tags' is 'a'"),
    ):
        with pytest.raises(InputError, match=message):
            read_cloud(save(top + body, "a.ply"))


XYZ = b"property float x\nproperty float y\nproperty float z\n"
WRONG_PLY = {
    "empty": (b"", "empty"),
    "magic": (b"plyer\n", "does not begin with the line 'ply'"),
    "no end": (PLY % b"ascii", "no line 'end_header'"),
    "format": (PLY % b"binary", "line 2: format binary 1.0"),
    "no format": (b"ply\nelement vertex 1\n" + XYZ + b"end_header\n1 2 3\n", "no line 'format'"),
    "no vertex": (PLY % b"ascii" + b"element face 0\nend_header\n", "no element 'vertex'"),
    "none": (PLY % b"ascii" + b"element vertex 0\n" + XYZ + b"end_header\n", "holds no points"),
    "loose": (PLY % b"ascii" + b"property float x\nend_header\n", "line 5: a property before any element"),
    "type": (PLY % b"ascii" + b"element vertex 1\nproperty real x\nend_header\n", "line 6: 'property real x'"),
    "float count": (
        PLY % b"ascii" + b"element vertex 1\nproperty list float int x\nend_header\n",
        "line 6: 'property list float int x'",
    ),
    "no z": (
        PLY % b"ascii" + b"element vertex 1\nproperty float x\nproperty float y\nend_header\n1 2\n",
        "no field 'z', got x y",
    ),
    "x twice": (
        PLY % b"ascii" + b"element vertex 1\nproperty int x\n" + XYZ + b"end_header\n1 1 2 3\n",
        "'x' occurs 2",
    ),
    "element twice": (PLY % b"ascii" + b"element a 1\nelement a 1\n", "line 6: element 'a' occurs twice"),
    "count": (PLY % b"ascii" + b"element vertex -1\n", "line 5: 'element vertex -1'"),
    "word": (PLY % b"ascii" + b"vertices 1\n", "line 5: 'vertices' is no entry"),
    "bare": (PLY % b"ascii" + b"element a 9\nelement vertex 1\n" + XYZ + b"end_header\n", "has rows and no properties"),
    "cut": (
        PLY % b"binary_little_endian" + b"element vertex 2\n" + XYZ + b"end_header\n" + BODY[:23],
        "2 vertex need at least 24 bytes, but 23 follow",
    ),
    "absurd": (
        PLY % b"binary_big_endian" + b"element vertex 999999999999999\n" + XYZ + b"end_header\n" + BODY,
        "but 36 follow",
    ),
    "rows": (PLY % b"ascii" + b"element vertex 2\n" + XYZ + b"end_header\n1.00 2.00 3.00\n", "1 row left for 2"),
    "rest": (PLY % b"ascii" + b"element vertex 1\n" + XYZ + b"end_header\n1 2 3\n4 5 6\n", "1 row after the last"),
    "negative list": (
        PLY % b"binary_little_endian"
        + b"element a 1\nproperty list char int i\nelement vertex 1\n"
        + XYZ
        + b"end_header\n\xff"
        + BODY[:12],
        "row 0 of element 'a' has a list that is negative",
    ),
}


@pytest.mark.parametrize(("data", "message"), WRONG_PLY.values(), ids=WRONG_PLY)
def test_wrong_ply(save, data, message):
    with pytest.raises(InputError) as caught:
        read_cloud(save(data, "a.ply"))
    assert message in str(caught.value)
    assert "a.ply" in str(caught.value)


def test_arrays(tmp_path):
    path = tmp_path / "a.npz"
    colours = np.array([[1, 2, 3]] * 3, dtype=np.uint8)
    np.savez(path, points=POINTS, rgb=colours, normals=-POINTS, pose=np.eye(4), weight=np.arange(3))
    cloud = read_cloud(path)
    assert np.array_equal(cloud.points, POINTS)
    assert set(cloud.fields) == {"rgb", "normals", "weight"}
    assert np.array_equal(cloud.fields["rgb"], colours)
    np.savez(path, points=[[1, 2, 3]])
    assert read_cloud(path).points.dtype == np.float64
    for arrays, message in (
        ({"xyz": POINTS}, "no array 'points', got 'xyz'"),
        ({"points": POINTS[:, :2]}, r"\(3, 2\), expected numbers \(N, 3\)"),
        ({"points": POINTS, "rgb": colours[:2]}, r"'rgb' has shape \(2, 3\), expected one row for each of 3 points"),
        ({"points": np.zeros((0, 3))}, "holds no points"),
        ({"points": np.full((1, 3), "x")}, "expected numbers"),
    ):
        np.savez(path, **arrays)
        with pytest.raises(InputError, match=message):
            read_cloud(path)


def test_names_and_options(tmp_path):
    with pytest.raises(InputError, match=r"unknown kind of point cloud.*\.pcd"):
        read_cloud(tmp_path / "a.las")
    with pytest.raises(InputError, match="no such file"):
        read_cloud(tmp_path / "a.pcd")
    with pytest.raises(InputError, match="expected one of 'error', 'drop'"):
        read_cloud(tmp_path / "a.pcd", invalid="ignore")
    with pytest.raises(InputError, match="of no points is not written"):
        write_cloud(tmp_path / "a.pcd", np.zeros((0, 3)))
    with pytest.raises(InputError, match="encoding 'ascii', expected one of 'binary', 'binary_compressed'"):
        write_cloud(tmp_path / "a.npz", POINTS, encoding="ascii")
    with pytest.raises(InputError, match=r"is float16, which PCD does not hold"):
        write_cloud(tmp_path / "a.pcd", Cloud(POINTS, {"a": np.zeros(3, np.float16)}))
    with pytest.raises(InputError, match="PLY holds one number"):
        write_cloud(tmp_path / "a.ply", Cloud(POINTS, {"rgb": np.zeros((3, 3), np.uint8)}))
    for name, bad in (("a.pcd", "two words"), ("a.ply", "ä"), ("a.pcd", "_")):
        with pytest.raises(InputError, match="cannot name"):
            write_cloud(tmp_path / name, Cloud(POINTS, {bad: np.zeros(3)}))
    with pytest.raises(InputError, match=r"field 'a' has shape \(2,\)"):
        Cloud(POINTS, {"a": np.zeros(2)})
    assert not list(tmp_path.iterdir())


def clouds():
    """Clouds of several types, with one field of every integer type and one of two values."""
    kinds = st.sampled_from([np.float32, np.float64])
    return st.tuples(st.integers(1, 300), kinds, st.integers(0, 2**32 - 1)).map(lambda given: _cloud(*given))


def _cloud(count, dtype, seed):
    rng = np.random.default_rng(seed)
    points = (rng.normal(size=(count, 3)) * 10.0 ** rng.integers(-30, 30, (count, 3))).astype(dtype)
    points[rng.random(count) < 0.3] = 0
    whole = {f"f{k}{n}": _whole(rng, f"{k}{n}", count) for k in "iu" for n in (1, 2, 4, 8)}
    return Cloud(points, {**whole, "double": rng.normal(size=count), "pair": rng.normal(size=(count, 2)).astype("f4")})


def _whole(rng, kind, count):
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, count, dtype=kind, endpoint=True)


@settings(max_examples=60, deadline=None)
@given(cloud=clouds(), suffix=st.sampled_from(["pcd", "ply", "npz"]), encoding=st.sampled_from(ENCODINGS))
def test_reading_what_was_written_is_the_identity(tmp_path_factory, cloud, suffix, encoding):
    if (suffix, encoding) == ("npz", "ascii"):
        encoding = "binary"
    if suffix == "ply":
        cloud = Cloud(cloud.points, {k: v for k, v in cloud.fields.items() if k not in ("fi8", "fu8", "pair")})
    path = tmp_path_factory.mktemp("clouds") / f"a.{suffix}"
    write_cloud(path, cloud, encoding=encoding)
    back = read_cloud(path)
    assert back.points.dtype == cloud.points.dtype
    assert np.array_equal(back.points, cloud.points)
    assert set(back.fields) == set(cloud.fields)
    for name, values in cloud.fields.items():
        assert back.fields[name].dtype == values.dtype
        assert np.array_equal(back.fields[name], values)


def test_written_bytes_of_pcd(tmp_path):
    write_cloud(tmp_path / "a.pcd", POINTS, encoding="binary")
    assert (tmp_path / "a.pcd").read_bytes() == header() + BODY
    write_cloud(tmp_path / "a.pcd", POINTS)
    _, _, body = (tmp_path / "a.pcd").read_bytes().partition(b"DATA binary_compressed\n")
    assert struct.unpack("<2I", body[:8]) == (len(body) - 8, 36)
    assert unpack(body[8:]) == POINTS.T.tobytes()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=12) | st.integers(1, 700).map(lambda n: b"a" * n), max_size=60).map(b"".join))
def test_lzf_round_trip(data):
    array = np.frombuffer(data, np.uint8)
    packed = compress(array)
    assert packed.size <= len(data) + -(-len(data) // 32)
    assert unpack(packed.tobytes()) == data
    assert decompress(packed, len(data)).tobytes() == data


@settings(max_examples=300, deadline=None)
@given(st.binary(min_size=1, max_size=200), st.integers(0, 600))
def test_lzf_of_any_bytes(data, size):
    """What the plain decoder reads as `size` bytes is read, everything else refused."""
    try:
        expected = unpack(data)
    except IndexError:
        expected = None
    try:
        found = decompress(np.frombuffer(data, np.uint8), size).tobytes()
    except LzfError:
        assert expected is None or len(expected) != size or _runs_over(data)
    else:
        assert found == expected


def _runs_over(data):
    """Whether the last literal run is cut short, which slicing in the plain decoder does not notice."""
    i = 0
    while i < len(data):
        control, i = data[i], i + 1
        i += control + 1 if control < 32 else 2 if control >> 5 == 7 else 1
    return i > len(data)


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_dir(), reason="needs GNOMON_REAL_DATA")
@pytest.mark.parametrize(
    ("name", "count", "low", "high"),
    [
        ("room_scan1.pcd", 112586, [-13.79978, -6.49282, -1.3517], [15.44711, 7.97957, 1.70909]),
        ("room_scan2.pcd", 112624, [-12.55204, -10.91937, -1.71835], [12.29949, 10.05044, 1.88213]),
    ],
)
def test_real_scans(name, count, low, high):
    """The bounds were printed once from the plain decoder above; counts are those of the headers."""
    data = (REAL / name).read_bytes()
    body = data.partition(b"DATA binary_compressed\n")[2]
    packed, size = struct.unpack("<2I", body[:8])
    expected = np.frombuffer(unpack(body[8 : 8 + packed]), "<f4").reshape(3, -1).T
    assert size == 12 * count
    cloud = read_cloud(REAL / name)
    assert len(cloud) == count
    assert np.array_equal(cloud.points, expected)
    assert np.isfinite(cloud.points).all()
    assert cloud.points.min(axis=0) == pytest.approx(low, abs=1e-5)
    assert cloud.points.max(axis=0) == pytest.approx(high, abs=1e-5)


@pytest.mark.slow
def test_five_million_points_need_little_memory(tmp_path):
    """The peak of a process that reads 140 MB of records with normals and colours grows by at most twice that."""
    path = tmp_path / "large.pcd"
    count, record = 5_000_000, 28
    top = header("x y z normal_x normal_y normal_z rgb", "4 " * 7, "F " * 7, "1 " * 7, str(count)).replace(
        b" \n", b"\n"
    )
    with path.open("wb") as file:
        file.write(top)
        for _ in range(50):
            file.write(np.random.default_rng(0).random((count // 50, 7), dtype=np.float32).data)
    code = """
        import resource, sys
        from gnomon.intake.clouds import read_cloud
        import gnomon.intake.pcd
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        cloud = read_cloud(sys.argv[1])
        assert len(cloud) == 5_000_000 and len(cloud.fields) == 4
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(path)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 2 * count * record


def test_files_with_the_same_header_and_errors_that_name_their_own_file(save):
    first, again = (save(header() + POINTS.tobytes(), f"{n}.pcd") for n in "ab")
    assert np.array_equal(read_cloud(first).points, read_cloud(again).points)
    short = save(header() + POINTS.tobytes()[:-1], "short.pcd")
    with pytest.raises(InputError, match=r"short\.pcd: cut short"):
        read_cloud(short)
    for name in ("c", "d"):
        with pytest.raises(InputError, match=rf"{name}\.pcd: field 'x': TYPE Q SIZE 4"):
            read_cloud(save(header(kind="Q F F") + POINTS.tobytes(), f"{name}.pcd"))


HELD = POINTS.tobytes()


@pytest.mark.parametrize(
    "data",
    [
        header().replace(b"\n", b"\r\n") + HELD,
        header().replace(b"DATA binary", b"  DATA binary") + HELD,
        header().replace(b"DATA binary", b"DATA\tbinary") + HELD,
        header().replace(b"DATA", b"# DATA ascii\n#\nDATA") + HELD,
        header().replace(b"DATA binary", b" DATA binary") + HELD[:24] + b"\nDATA ascii\n",
        header().replace(b"# .PCD", b"#" + b"x" * 60_000) + HELD,
    ],
)
def test_headers_are_read_the_same_before_and_after_they_were_met(save, data):
    """The header is the plain reading of the whole beginning of the file, also when its text ends somewhere else."""
    path = save(data)
    expected = pcd.read_header(data, path)
    for _ in range(2):
        found = read_cloud(path)
        assert len(found) == expected.points
        assert found.points.tobytes() == data[expected.length :][: len(HELD)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (header().replace(b"DATA binary\n", b"DATA binary"), "no line DATA in the first"),
        (header().replace(b"DATA binary\n", b"") + HELD, "is no entry of a PCD header|no line DATA in the first"),
        (header(data="binary ascii") + HELD, "DATA binary ascii, expected one of"),
        (header().replace(b"# .PCD", b"#" + b"x" * (1 << 16)) + HELD, "no line DATA in the first 65536 bytes"),
        (b"DATA binary\n" + HELD, "no line FIELDS"),
    ],
)
def test_a_broken_header_is_named_each_time(save, data, message):
    for name in ("a.pcd", "b.pcd"):
        with pytest.raises(InputError, match=rf"{name}: .*({message})"):
            read_cloud(save(data, name))
