"""Hostile files of poses: joints, or an InputError of one line that names the file; time and memory stay bounded."""

from __future__ import annotations

import io
import json
import re
import resource
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.formats.joints import Joints, read_joints

SECONDS = 10.0
MEMORY_MIB = 1000
EFFORT = {"deadline": None, "suppress_health_check": list(HealthCheck), "max_examples": 150}
POSITION = st.floats(0, 1, exclude_max=True)
DAMAGE = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), POSITION, st.integers(0, 7)),
        st.tuples(st.just("set"), POSITION, st.sampled_from([0, 0x0A, 0x20, 0x39, 0x7B, 0x7D, 0x80, 0xFF])),
        st.tuples(st.just("cut"), POSITION, st.integers(1, 60)),
        st.tuples(st.just("truncate"), POSITION, st.none()),
        st.tuples(st.just("insert"), POSITION, st.binary(min_size=1, max_size=12)),
        st.tuples(st.just("repeat"), POSITION, st.integers(1, 200)),
    ),
    min_size=1,
    max_size=4,
)
NUMBERS = st.sampled_from([b"0", b"-1", b"7", b"65536", b"99999999999999", b"9" * 40, b"1e999", b"nan", b"", b"[[["])
BVH = b"""HIERARCHY
ROOT Hips
{
OFFSET 0 0 0
CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
JOINT Spine
{
OFFSET 0 50 0
CHANNELS 3 Zrotation Xrotation Yrotation
End Site
{
OFFSET 0 10 0
}
}
}
MOTION
Frames: 2
Frame Time: 0.04
1 90 3 0 0 0 0 0 0
2 91 4 90 0 0 0 0 0
"""


def make_samples() -> dict[str, bytes]:
    """Valid files by suffix."""
    joints = np.arange(24.0).reshape(4, 2, 3)
    npy, npz, parquet = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(npy, joints)
    np.savez(npz, joints=joints, sample_ids=["a", "a", "b", "b"], valid=np.ones((4, 2), bool), fps=30.0)
    columns = {f"{joint}_{axis}": joints[:, j, k] for j, joint in enumerate("ab") for k, axis in enumerate("xyz")}
    pq.write_table(pa.table({"id": list("wxyz"), **columns}), parquet)
    rows = json.dumps({"joints": joints.tolist(), "names": ["a", "b"], "ids": list("wxyz")}).encode()
    found = {".npy": npy.getvalue(), ".npz": npz.getvalue(), ".parquet": parquet.getvalue(), ".json": rows, ".bvh": BVH}
    return {**found, ".csv": pa_csv(columns)}


def pa_csv(columns: dict[str, np.ndarray]) -> bytes:
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines).encode()


SAMPLES = make_samples()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("poses")


@pytest.fixture(scope="module", autouse=True)
def bounded_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEMORY_MIB, f"the peak grew by {grown:.0f} MiB"


def spoil(data: bytes, damage: list[tuple[str, float, object]]) -> bytes:
    for kind, position, value in damage:
        at = int(position * len(data))
        if kind == "flip" and data:
            data = data[:at] + bytes([data[at] ^ (1 << value)]) + data[at + 1 :]
        elif kind == "set":
            data = data[:at] + bytes([value]) + data[at + 1 :]
        elif kind == "cut":
            data = data[:at] + data[at + value :]
        elif kind == "truncate":
            data = data[:at]
        elif kind == "insert":
            data = data[:at] + value + data[at:]
        else:
            data = data[:at] + data[at : at + value] * 3 + data[at:]
    return data


def read_or_refuse(folder, suffix: str, data: bytes) -> None:
    path = folder / f"file{suffix}"
    path.write_bytes(data)
    begun = time.perf_counter()
    try:
        found = read_joints(path, "truth")
        assert isinstance(found, Joints)
        assert found.joints.shape[-1] == 3
    except InputError as error:
        text = str(error)
        assert "\n" not in text
        assert "file" in text
    assert time.perf_counter() - begun < SECONDS


@pytest.mark.parametrize("suffix", SAMPLES)
@settings(**EFFORT)
@given(damage=DAMAGE)
def test_damaged_files(folder, suffix, damage):
    read_or_refuse(folder, suffix, spoil(SAMPLES[suffix], damage))


@pytest.mark.parametrize("suffix", [".bvh", ".json", ".csv", ".npy"])
@settings(**EFFORT)
@given(which=st.integers(0, 200), number=NUMBERS)
def test_numbers_that_lie(folder, suffix, which, number):
    found = list(re.finditer(rb"\d+(\.\d+)?", SAMPLES[suffix]))
    match = found[which % len(found)]
    read_or_refuse(folder, suffix, SAMPLES[suffix][: match.start()] + number + SAMPLES[suffix][match.end() :])


@pytest.mark.parametrize("suffix", SAMPLES)
@pytest.mark.parametrize("kind", SAMPLES)
def test_files_under_another_name(folder, suffix, kind):
    """A file that is not what its name says is refused, or read for what it is (BVH)."""
    read_or_refuse(folder, suffix, SAMPLES[kind])


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_documents(folder, depth):
    read_or_refuse(folder, ".json", b"[" * depth + b"]" * depth)


def test_a_deep_hierarchy(folder):
    joints = b"".join(b"JOINT j%d\n{\nOFFSET 0 1 0\nCHANNELS 0\n" % i for i in range(20_000))
    text = b"HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 0\n" + joints + b"}\n" * 20_001 + b"MOTION\nFrames: 1\n"
    read_or_refuse(folder, ".bvh", text + b"Frame Time: 1\n\n")
