"""Hostile point clouds, labels and predictions: a value or an InputError of one line that names the file.

Valid files of every kind and encoding are damaged in random ways: bits flipped, bytes set, cut, inserted and repeated,
files truncated, and numbers of the header replaced. Neither time nor memory follows what a file claims.
"""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.clouds import Cloud, read_cloud, write_cloud
from gnomon.suites.change.labels import read_boxes, read_points, write_points
from gnomon.suites.change.predictions import read_predictions

SECONDS = 10.0
MEMORY_MIB = 1500
EFFORT = {"deadline": None, "suppress_health_check": list(HealthCheck)}
POSITION = st.floats(0, 1, exclude_max=True)
DAMAGE = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), POSITION, st.integers(0, 7)),
        st.tuples(st.just("set"), POSITION, st.sampled_from([0, 1, 0x1F, 0x20, 0x39, 0x7F, 0x80, 0xE0, 0xFF])),
        st.tuples(st.just("cut"), POSITION, st.integers(1, 60)),
        st.tuples(st.just("truncate"), POSITION, st.none()),
        st.tuples(st.just("insert"), POSITION, st.binary(min_size=1, max_size=12)),
        st.tuples(st.just("repeat"), POSITION, st.integers(1, 200)),
    ),
    min_size=1,
    max_size=4,
)
NUMBERS = st.sampled_from(
    [b"0", b"1", b"2", b"7", b"-1", b"255", b"65536", b"4294967295", b"99999999999999", b"9" * 40, b"1e9", b"nan", b""]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clouds")


@pytest.fixture(scope="module", autouse=True)
def bounded_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEMORY_MIB, f"the peak grew by {grown:.0f} MiB"


@pytest.fixture(scope="module")
def samples(folder):
    """Valid files by suffix, in every encoding, with several fields and without."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3)).astype(np.float32).round(2)
    fields = {"normal_x": points[:, 0], "rgb": np.arange(40, dtype=np.uint32), "k": np.arange(40, dtype=np.int8)}
    found: dict[str, list[bytes]] = {".pcd": [], ".ply": [], ".npz": []}
    for cloud in (Cloud(points), Cloud(points.astype(np.float64), fields)):
        for suffix in found:
            for encoding in ("ascii", "binary", "binary_compressed"):
                if (suffix, encoding) != (".npz", "ascii"):
                    write_cloud(folder / f"sample{suffix}", cloud, encoding=encoding)
                    found[suffix].append((folder / f"sample{suffix}").read_bytes())
    head = b"ply\nformat %s 1.0\nelement edge 2\nproperty list uchar short ids\nelement vertex 3\nproperty float x\n"
    head += b"property list int uchar t\nproperty float y\nproperty float z\nend_header\n"
    row = b"\0\0\x80\x3f" + b"\1\0\0\0\7" + b"\0\0\x80\x3f" * 2
    found[".ply"].append(head % b"binary_little_endian" + b"\1\2\0" + b"\0" + row * 3)
    found[".ply"].append(head % b"ascii" + b"1 2\n0\n" + b"1 1 7 1 1\n" * 3)
    return found


def attempt(path: Path, data: bytes, read: Callable[[Path], object]) -> object:
    """Read hostile bytes; return the value, or None where they were refused as they should be."""
    path.write_bytes(data)
    start = time.monotonic()
    try:
        value = read(path)
    except InputError as error:
        message = str(error)
        assert "\n" not in message
        assert "\r" not in message
        assert path.name in message
        value = None
    assert time.monotonic() - start < SECONDS
    return value


def attempt_cloud(path: Path, data: bytes) -> None:
    for invalid in ("error", "drop"):
        cloud = attempt(path, data, lambda p, invalid=invalid: read_cloud(p, invalid=invalid))
        if cloud is not None:
            assert isinstance(cloud, Cloud)
            assert cloud.points.shape == (len(cloud), 3)
            assert len(cloud)
            assert np.isfinite(cloud.points).all()
            assert all(len(values) == len(cloud) for values in cloud.fields.values())


def damaged(data: bytes, damage: list[tuple[str, float, object]]) -> bytes:
    out = bytearray(data)
    for kind, position, detail in damage:
        at = int(position * len(out))
        if kind == "flip" and out:
            out[at] ^= 1 << detail
        elif kind == "set" and out:
            out[at] = detail
        elif kind == "cut":
            del out[at : at + detail]
        elif kind == "truncate":
            del out[at:]
        elif kind == "insert":
            out[at:at] = detail
        elif kind == "repeat":
            out[at:at] = out[at : at + detail]
    return bytes(out)


def test_samples_are_valid(folder, samples):
    for suffix, sizes in (".pcd", 6), (".ply", 8), (".npz", 4):
        assert len(samples[suffix]) == sizes
        for data in samples[suffix]:
            assert attempt(folder / f"valid{suffix}", data, read_cloud) is not None


@pytest.mark.parametrize("suffix", [".pcd", ".ply", ".npz"])
@settings(max_examples=300, **EFFORT)
@given(damage=DAMAGE, choice=st.integers(0, 100))
def test_damaged_clouds(folder, samples, suffix, damage, choice):
    data = samples[suffix][choice % len(samples[suffix])]
    attempt_cloud(folder / f"damaged{suffix}", damaged(data, damage))


@pytest.mark.parametrize("suffix", [".pcd", ".ply"])
@settings(max_examples=300, **EFFORT)
@given(choice=st.integers(0, 100), which=st.lists(st.integers(0, 60), min_size=1, max_size=3), number=NUMBERS)
def test_lying_headers(folder, samples, suffix, choice, which, number):
    """Numbers of the header replaced by others."""
    data = samples[suffix][choice % len(samples[suffix])]
    end = re.search(rb"DATA \w+\n|end_header\n", data).end()
    top, body = data[:end], data[end:]
    for index in which:
        places = list(re.finditer(rb"\b\d+\b", top))
        place = places[index % len(places)]
        top = top[: place.start()] + number + top[place.end() :]
    attempt_cloud(folder / f"lying{suffix}", top + body)


@pytest.mark.parametrize("suffix", [".pcd", ".ply", ".npz"])
@settings(max_examples=150, **EFFORT)
@given(data=st.binary(max_size=300), begin=st.sampled_from([b"", b"VERSION 0.7\n", b"ply\nformat ascii 1.0\n", b"PK"]))
def test_random_bytes(folder, suffix, data, begin):
    attempt_cloud(folder / f"random{suffix}", begin + data)


@pytest.mark.parametrize("suffix", [".pcd", ".ply"])
@settings(max_examples=200, **EFFORT)
@given(
    cells=st.lists(
        st.sampled_from(
            [b"1", b"-0.5", b"nan", b"inf", b"1e400", b"x", b"\n", b" ", b"\t", b"\r\n", b"\0", b"1_0", b"\xff"]
        ),
        max_size=40,
    )
)
def test_random_rows_of_text(folder, suffix, cells):
    if suffix == ".pcd":
        top = b"FIELDS x y z\nSIZE 4 8 4\nTYPE F F I\nCOUNT 1 1 1\nPOINTS 3\nDATA ascii\n"
    else:
        top = b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty double y\nproperty int z\n"
        top += b"end_header\n"
    attempt_cloud(folder / f"rows{suffix}", top + b" ".join(cells))


LABELS = [
    b'{"filename": "001-3.pcd", "objects": [{"name": "Add", "vertices": [[0,0,0],[1,0,0],[0,2,0],[1,2,0],[0,0,3],'
    b"[1,0,3],[0,2,3],[1,2,3]]}]}",
    b'{"boxes": [{"label": "Remove", "min": [0, 0, 0], "max": [1, 1.5, 2]}]}',
    b'[{"label": "Add", "min": [0, 0, 0], "max": [1, 1.5, 2]}, {"name": "add", "center": [0, 0, 0], "size": [1, 1, 1],'
    b'"yaw": 0.3}]',
]
PREDICTIONS = {
    ".json": b'{"scenes": [{"scene": "001-3", "boxes": [{"class": "Add", "min": [0, 0, 0], "max": [1, 1, 1],'
    b'"score": 0.5}], "points": "001-3.points.npz", "seconds": 0.8}, {"scene": "001-6", "boxes": []}]}',
    ".csv": b"scene,class,xmin,ymin,zmin,xmax,ymax,zmax,score,seconds\n001-3,Add,0,0,0,1,1,1,0.5,0.8\n001-6,,,,,,,,,\n",
}


@settings(max_examples=300, **EFFORT)
@given(damage=DAMAGE, choice=st.integers(0, 2), number=NUMBERS, place=st.integers(0, 60))
def test_damaged_labels(folder, damage, choice, number, place):
    data = LABELS[choice]
    for hostile in (damaged(data, damage), _replaced(data, place, number)):
        boxes = attempt(folder / "001-3.json", hostile, read_boxes)
        if boxes is not None:
            assert np.isfinite(boxes.geometry).all()


@pytest.mark.parametrize("suffix", PREDICTIONS)
@settings(max_examples=250, **EFFORT)
@given(damage=DAMAGE, number=NUMBERS, place=st.integers(0, 60))
def test_damaged_predictions(folder, suffix, damage, number, place):
    data = PREDICTIONS[suffix]
    for hostile in (damaged(data, damage), _replaced(data, place, number)):
        found = attempt(folder / f"predictions{suffix}", hostile, read_predictions)
        for item in (found or {}).values():
            assert np.isfinite(item.boxes.geometry).all()
            assert item.points is None or item.points.resolve().is_relative_to(folder.resolve())


@settings(max_examples=150, **EFFORT)
@given(damage=DAMAGE)
def test_damaged_classes_of_points(folder, damage):
    write_points(folder / "valid.points.npz", np.array([0, 2] * 20), np.array([0, 1] * 30))
    found = attempt(folder / "bad.points.npz", damaged((folder / "valid.points.npz").read_bytes(), damage), read_points)
    if found is not None:
        assert set(np.unique(found["reference"])) <= {0, 2}
        assert set(np.unique(found["comparison"])) <= {0, 1}


def _replaced(data: bytes, index: int, number: bytes) -> bytes:
    places = list(re.finditer(rb"\b\d+\b", data))
    place = places[index % len(places)]
    return data[: place.start()] + number + data[place.end() :]
