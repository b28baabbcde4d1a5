"""JSON documents: parsed within bounds, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.depth import outline
from gnomon.intake.documents import count_pairs, read_bytes, read_json
from gnomon.intake.limits import Limits

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


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


def test_only_files_are_read(tmp_path):
    assert "no such file" in refusal(tmp_path / "absent.json")
    assert "is a folder" in refusal(tmp_path)


def test_depth_is_counted_across_blocks():
    many = b'{"a":[' * 300_000 + b"]}" * 300_000
    assert outline(many) == (600_000, 300_000)
    assert outline(b'["' + b"[" * 1_000_000 + b'"]').depth == 1
