"""JSON documents: parsed within bounds, or refused in one line."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from unittest import mock

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake import depth as depth_module
from gnomon.intake.depth import outline
from gnomon.intake.documents import check_parsed_bytes, count_pairs, count_parsed_bytes, read_bytes, read_json
from gnomon.intake.limits import GIB, MAX_FILE_BYTES, MIB, Limits

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


READING = """
import sys
from pathlib import Path
from gnomon.core.errors import InputError
from gnomon.intake.documents import read_json
try:
    read_json(sys.argv[1])
except InputError as error:
    print(error)
# The resource usage of a process begins with that of the one that forked it; its memory map does not.
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


def put(folder: Path, data: bytes) -> Path:
    path = folder / "d.json"
    path.write_bytes(data)
    return path


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_json(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


def depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@settings(max_examples=150, deadline=None)
@given(value=VALUES, ascii_only=st.booleans(), indent=st.sampled_from([None, 2]))
def test_json_is_read_and_outlined(tmp_path_factory, value, ascii_only, indent):
    data = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    assert outline(data) == (depth(value), count_pairs(value))
    assert read_json(put(tmp_path_factory.getbasetemp(), data)) == value


@settings(max_examples=50, deadline=None)
@given(value=st.recursive(st.text('\\"[{:'), lambda inner: st.lists(inner) | st.dictionaries(st.text('\\"]'), inner)))
def test_the_outline_does_not_depend_on_blocks(value):
    data = json.dumps(value).encode()
    for size in (1, 2, 3, 7):
        with mock.patch.object(depth_module, "_BLOCK", size):
            assert outline(data) == (depth(value), count_pairs(value))


def test_a_byte_order_mark_is_accepted(tmp_path):
    assert read_json(put(tmp_path, b'\xef\xbb\xbf{"a": 1}')) == {"a": 1}


def test_strings_do_not_nest(tmp_path):
    text = '\\"[[[{{{' * 50 + "\\\\"
    assert read_json(put(tmp_path, f'{{"{text}": ["{text}"]}}'.encode())) == {
        json.loads(f'"{text}"'): [json.loads(f'"{text}"')]
    }


BAD = {
    "empty": (b"", "the file is empty"),
    "blank": (b"  \n", "not a JSON document"),
    "deep list": (b"[" * 65 + b"]" * 65, "nested 65 deep, expected at most 64"),
    "deep object": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested 100000 deep"),
    "deep and open": (b"[" * 1_000_000, "nested 1000000 deep"),
    "NaN": (b'{"a": NaN}', "not a JSON document"),
    "infinity": (b"[-Infinity]", "not a JSON document"),
    "overflow": (b"[1e999]", "not a JSON document"),
    "long number": (b"1" * 100_000, "not a JSON document"),
    "lone surrogate": (b'["\\ud800"]', "not a JSON document"),
    "not UTF-8": (b'["\xff"]', "not UTF-8 text"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "not a JSON document"),
    "NUL": (b'["a\0b"]', "not a JSON document"),
    "two values": (b"{} {}", "not a JSON document"),
    "repeated key": (b'{"a": 1, "b": {"c": 1, "d": 2, "\\u0063": 3}}', "key 'c' occurs twice in one object"),
    "stray backslash": (b'\\"[[[[', "not a JSON document"),
}


@pytest.mark.parametrize(("data", "fragment"), BAD.values(), ids=BAD)
def test_json_is_refused(tmp_path, data, fragment):
    assert fragment in refusal(put(tmp_path, data))


def test_size_is_bounded(tmp_path):
    path = put(tmp_path, b'["' + b"x" * 100 + b'"]')
    assert "104 bytes or more, expected at most 100" in refusal(path, limits=Limits(max_json_bytes=100))
    with pytest.raises(InputError, match=r"d\.json: document too large"):
        read_bytes(path, Limits(max_json_bytes=100))
    assert read_bytes(path) == path.read_bytes()


DENSE = {
    "empty objects": b"{},",
    "empty lists": b"[],",
    "objects of one pair": b'{"a":0},',
    "objects of long pairs": b'{"abcdefgh":"abcdefgh"},',
    "texts": b'"ab",',
    "numbers": b"1234.5,",
    "pairs of numbers": b"[1234,5678],",
    "detections": b'{"t1":5.25,"t2":20.5,"label":"walk"},',
}


@pytest.mark.parametrize("unit", DENSE.values(), ids=DENSE)
def test_what_a_document_takes_is_known_before_it_is_parsed(unit):
    """Expected: what the interpreter allocates for the values, as tracemalloc counts it."""
    data = b"[" + unit * 20_000 + b"0]"
    tracemalloc.start()
    try:
        value = msgspec.json.decode(data)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(value) == 20_001
    assert taken <= count_parsed_bytes(data)


def test_what_a_document_may_take_is_bounded(tmp_path):
    data = b"[" + b"{}," * 1_000 + b"0]"
    assert "content too large" in refusal(put(tmp_path, data), limits=Limits(max_parsed_bytes=100_000))
    assert len(read_json(put(tmp_path, data), limits=Limits(max_parsed_bytes=200_000))) == 1_001
    with pytest.raises(InputError, match="here: content too large"):
        check_parsed_bytes(data, "here", Limits(max_parsed_bytes=100_000))
    check_parsed_bytes(data, "here", Limits(max_parsed_bytes=200_000))


@pytest.mark.slow
def test_a_large_document_of_empty_objects_is_refused_before_it_is_parsed(tmp_path):
    """Once parsed it would take 3.3 GB: 25 times its bytes, as the resident size of a process grows by it."""
    path = tmp_path / "d.json"
    with path.open("wb") as file:
        file.write(b"[")
        for _ in range(128):
            file.write(b"{}," * (MIB // 3))
        file.write(b"0]")
    done = subprocess.run([sys.executable, "-c", READING, str(path)], capture_output=True, text=True, check=True)
    message, peak = done.stdout.splitlines()
    assert "d.json: content too large" in message
    assert f"expected at most {4 * GIB}; split the file, or raise {MAX_FILE_BYTES}" in message
    assert int(peak) / 1000 < 700  # MB; Linux counts in kB


def test_only_files_are_read(tmp_path):
    assert "no such file" in refusal(tmp_path / "absent.json")
    assert "is a folder" in refusal(tmp_path)


def test_depth_is_counted_across_blocks():
    many = b'{"a":[' * 300_000 + b"]}" * 300_000
    assert outline(many) == (600_000, 300_000)
    assert outline(b'["' + b"[" * 1_000_000 + b'"]').depth == 1
