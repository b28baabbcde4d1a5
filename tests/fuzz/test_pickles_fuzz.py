"""Hostile pickles: a plain value or an InputError of one line that names the file, and nothing else.

Honest pickles that were cut or damaged in random ways, random instructions, and bombs built by hand. Neither time
nor memory follows what a file claims, and no depth of nesting reaches the interpreter's own stack.
"""

from __future__ import annotations

import io
import json
import pickle
import random
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.arrays import read_npz
from gnomon.intake.opcodes import REFUSED, STEPS
from gnomon.intake.pickles import read_pickle

EFFORT = {"deadline": None, "suppress_health_check": list(HealthCheck)}
PLAIN = (dict, list, tuple, str, bytes, int, float, bool, type(None), np.ndarray)
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pickles")


def check_plain(value: object) -> None:
    """Walk a value that was read: nothing but plain data in it."""
    stack = [value]
    while stack:
        node = stack.pop()
        assert type(node) in PLAIN or isinstance(node, np.generic), type(node)
        if isinstance(node, dict):
            stack.extend(node.values())
        elif isinstance(node, (list, tuple)):
            stack.extend(node)
        elif isinstance(node, np.ndarray):
            assert type(node) is np.ndarray
            assert node.dtype.kind in "biufSUO"
            assert not node.flags.writeable
            stack.extend(node.ravel().tolist() if node.dtype.hasobject else ())


def attempt(path: Path, data: bytes | None, read: Callable[[Path], object] = read_pickle) -> bool:
    """Read hostile bytes, or a file that is there; return whether they were taken."""
    if data is not None:
        path.write_bytes(data)
    try:
        value = read(path)
    except InputError as error:
        message = str(error)
        assert "\n" not in message
        assert "\r" not in message
        assert path.name in message
        return False
    check_plain(value)
    return True


def sample() -> dict[str, object]:
    ragged = np.empty(3, dtype=object)
    ragged[:] = [None, "x", 2.5]
    ragged[0] = np.ones((2, 2), ">f4")
    return {
        "sample_ids": ["p0_a1_7", "p0_a1_8", "\u00e9"],
        "keypoints": np.arange(6, dtype="f4").reshape(1, 2, 3),
        "fortran": np.asfortranarray(np.arange(4).reshape(2, 2)),
        "text": np.array(["rgb", "lidar"]),
        "ragged": ragged,
        "scalars": (np.float32(0.5), np.bool_(True), np.str_("a"), 2**70, -1, 0.1, b"\xff", None, True),
    }


SAMPLES = [pickle.dumps(sample(), protocol) for protocol in PROTOCOLS]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_beginning_of_a_pickle_is_taken_for_a_whole(folder, protocol):
    data = SAMPLES[protocol]
    assert attempt(folder / "whole.pkl", data)
    for end in range(1, len(data)):
        assert not attempt(folder / "cut.pkl", data[:end])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_single_bytes_are_changed(folder, protocol):
    data, chance = SAMPLES[protocol], random.Random(protocol)
    for _ in range(400):
        changed = bytearray(data)
        changed[chance.randrange(len(data))] = chance.choice([chance.randrange(256), *STEPS, *REFUSED])
        attempt(folder / "changed.pkl", bytes(changed))


@settings(max_examples=300, **EFFORT)
@given(
    protocol=st.sampled_from(PROTOCOLS),
    cuts=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 40)), min_size=1, max_size=4),
)
def test_pieces_are_moved_and_repeated(folder, protocol, cuts):
    data = SAMPLES[protocol]
    for source, target, size in cuts:
        start, at = int(source * len(data)), int(target * len(data))
        data = data[:at] + data[start : start + size] + data[at:]
    attempt(folder / "moved.pkl", data)


@settings(max_examples=300, **EFFORT)
@given(data=st.binary(max_size=200))
def test_random_bytes(folder, data):
    attempt(folder / "random.pkl", data + b".")
    attempt(folder / "random.pkl", b"\x80\x04" + data + b".")


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + len(data).to_bytes(4, "little") + data


MINUS = b"J\xff\xff\xff\xff"
NAMES = [
    b"cnumpy\nndarray\n",
    b"cnumpy\ndtype\n",
    b"cnumpy.core.multiarray\n_reconstruct\n",
    b"cnumpy._core.multiarray\nscalar\n",
    b"cnumpy._core.numeric\n_frombuffer\n",
    b"c_codecs\nencode\n",
]
F4 = NAMES[1] + text("f4") + b"\x89\x88\x87R(K\x03" + text("<") + b"NNN" + MINUS * 2 + b"K\x00tb"
OBJECT = NAMES[1] + text("O8") + b"\x89\x88\x87R(K\x03" + text("|") + b"NNN" + MINUS * 2 + b"K?tb"
UNICODE = NAMES[1] + text("U1") + b"\x89\x88\x87R(K\x03" + text(">") + b"NNNK\x04K\x04K\x08tb"
ANNOUNCED = NAMES[2] + NAMES[0] + b"K\x00\x85C\x01b\x87R"
PIECES = st.sampled_from(
    [bytes([code]) for code in (*STEPS, *REFUSED)]
    + NAMES * 3
    + [F4, OBJECT, UNICODE, ANNOUNCED] * 4
    + [b"K\x01\x85", b"K\x00\x85", b"K\x02K\x03\x86", b"C\x04abcd", b"C\0", b"]", b"](NNe", b"\x89", b"K\x01", MINUS]
    + [text("f4"), text("U3"), text("C"), text("K"), text("latin1"), text("<"), text("b"), b"q\0", b"h\0", b"h\x01"]
)


@settings(max_examples=600, **EFFORT)
@given(pieces=st.lists(PIECES, max_size=25))
def test_random_instructions(folder, pieces):
    attempt(folder / "steps.pkl", b"".join(pieces) + b".")


@settings(max_examples=150, **EFFORT)
@given(start=st.floats(0, 1), value=st.integers(0, 255), cut=st.booleans())
def test_damaged_objects_in_archives(folder, start, value, cut):
    sink = io.BytesIO()
    np.save(sink, sample()["ragged"], allow_pickle=True)
    data = bytearray(sink.getvalue())
    at = min(int(start * len(data)), len(data) - 1)
    data[at] = value
    path = folder / "objects.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", bytes(data[:at] if cut else data))
    attempt(path, None, lambda p: read_npz(p, objects=True)["x"])


MIB = 1 << 20
SECONDS = 60  # of a processor, for at most 10 MiB; about 5 are used


def laughs(begin: bytes, one: bytes, end: bytes, levels: int = 40, times: int = 10) -> bytes:
    """Return values that hold the one before them many times over."""
    parts = [begin + one * 10 + end + b"q\0"]
    for level in range(1, levels):
        parts.append(begin + (b"h" + bytes([level - 1])) * times + end + b"q" + bytes([level]))
    return b"(" + b"".join(parts) + b"l."


def inward(depth: int) -> bytes:
    """Return arrays of one object inside each other, all of them begun before one is complete."""
    level = ANNOUNCED + b"(K\x01K\x01\x85" + OBJECT + b"\x89]"
    return level * depth + b"N" + b"atb" * depth + b"."


def outward(depth: int, wrap: bytes = b"") -> bytes:
    """Return the same built from the inside, which needs no nesting of instructions."""
    first = NAMES[2] + b"q\0" + NAMES[0] + b"q\x01K\0\x85C\x01b\x87R(K\x01K\x01\x85" + OBJECT + b"q\x02\x89]Natb"
    level = b"q\x03h\0h\x01K\0\x85C\x01b\x87R(K\x01K\x01\x85h\x02\x89]h\x03atb" + wrap
    return b"(" + first + level * depth + b"l."


def keys(count: int, step: int) -> bytes:
    pairs = b"".join(b"\x8a\x08" + struct.pack("<q", (i * step) & (2**62 - 1)) + b"N" for i in range(count))
    return b"}(" + pairs + b"u."


LONG = text("\u00ff" * MIB)
LATIN = NAMES[5] + b"q\0(" + LONG + b"q\x01" + text("latin1") + b"q\x02"
BYTES = b"B" + (4 * MIB).to_bytes(4, "little") + bytes(4 * MIB)
FROMBUFFER = NAMES[4] + b"q\0" + BYTES + b"q\x01" + F4 + b"q\x02" + b"J" + struct.pack("<i", MIB) + b"\x85q\x03"
WIDE = NAMES[4] + b"q\0" + BYTES + b"q\x01" + UNICODE + b"q\x02" + b"J" + struct.pack("<i", MIB) + b"\x85q\x03"
AGAIN = b"h\0(h\x01h\x02h\x03" + text("C") + b"tR"
BOMBS = {
    "laughing lists": laughs(b"](", b"N", b"e"),
    "laughing tuples": laughs(b"(", b"N", b"t"),
    "laughing dicts": b"(}q\0"
    + b"".join(
        b"}q%b(" % bytes([i]) + b"".join(b"K%bh%b" % (bytes([k]), bytes([i - 1])) for k in range(9)) + b"u"
        for i in range(1, 40)
    )
    + b"l.",
    "shared list": b"](](" + b"N" * MIB + b"eq\0" + b"h\0" * MIB + b"e.",
    "shared array": b"]("
    + NAMES[4]
    + b"("
    + BYTES
    + F4
    + b"J"
    + struct.pack("<i", MIB)
    + b"\x85"
    + text("C")
    + b"tRq\0"
    + b"h\0" * MIB
    + b"e.",
    "lists": b"(" + b"]" * 4 * MIB + b"l.",
    "lists, just allowed": b"(" + b"]" * 560_000 + b"l.",
    "dicts": b"(" + b"}" * 4 * MIB + b"l.",
    "deep lists": b"]" * 4 * MIB + b"a" * (4 * MIB - 1) + b".",
    "deep tuples": b")" + b"\x85" * 4 * MIB + b".",
    "deep tuples, just allowed": b")" + b"\x85" * 400_000 + b".",
    "marks": b"(" * 4 * MIB + b".",
    "memo": b"N" + b"\x94" * 4 * MIB + b".",
    "memo index": b"Nr\xff\xff\xff\x7f.",
    "nothing": b"(" + b"N" * 4 * MIB + b"l.",
    "announced types": b"(" + NAMES[1] + b"q\0" + text("f4") + b"\x89\x88\x87q\x01R" + b"h\0h\x01R" * MIB + b"l.",
    "announced arrays": b"(" + NAMES[2] + b"q\0" + NAMES[0] + b"K\0\x85C\x01b\x87q\x01R" + b"h\0h\x01R" * MIB + b"l.",
    "encoded again": b"(" + LATIN + b"\x86q\x03" + b"h\0h\x03R" * MIB + b"l.",
    "array again": b"(" + FROMBUFFER + AGAIN * 200_000 + b"l.",
    "text array again": b"(" + WIDE + AGAIN * 200_000 + b"l.",
    "deep arrays": outward(100_000),
    "deep arrays in tuples": outward(100_000, b"\x85"),
    "deep arrays in lists": outward(100_000, b"q\x03]h\x03a"),
    "arrays under way": inward(20_000),
    "equal hashes": keys(200_000, 2**61 - 1),
    "equal low bits": keys(200_000, 2**40),
    "long equal keys": b"}"
    + text("x" * 1000)
    + b"q\0Ns"
    + text("x" * 1000)
    + b"q\x01Ns"
    + b"h\0Nsh\x01Ns" * 300_000
    + b".",
    "longer keys": b"}" + (text("x" * MIB) + b"Ns") * 2 + b".",
    "long line": b"V" + b"x" * 4 * MIB,
    "long number": b"L" + b"9" * 4 * MIB + b"L\n.",
    "long memo number": b"Np" + b"9" * 4 * MIB + b"\n.",
    "frame": b"\x80\x04\x95" + b"\xff" * 8 + b"N.",
    "bytes": b"\x8e" + b"\xff" * 7 + b"\x7f" + b"a" * 100 + b".",
    "array": ANNOUNCED + b"(K\x01\x8a\x06\0\0\0\0\0\x01\x85" + F4 + b"\x89C\0tb.",
}
TAKEN = {"lists, just allowed", "memo", "nothing", "equal hashes", "equal low bits", "long equal keys"}

CHILD = """
import json, resource, sys, time
from gnomon.core.errors import InputError
from gnomon.intake.pickles import read_pickle
def peak():
    try:  # of this process alone; the other figure may begin with the peak of the parent
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, start = peak(), time.process_time()
try:
    read_pickle(sys.argv[1])
    said = ""
except InputError as error:
    said = str(error)
print(json.dumps([said, peak() - before, time.process_time() - start]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_cost_little(folder, name):
    """Read in a process of its own: a broken stack would end it, and its memory is its own."""
    path = folder / "bomb.pkl"
    path.write_bytes(BOMBS[name])
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said, grown, seconds = json.loads(done.stdout)
    assert (not said) == (name in TAKEN), said
    assert "\n" not in said
    assert grown < 100 + 40 * len(BOMBS[name]) / MIB
    assert seconds < SECONDS
