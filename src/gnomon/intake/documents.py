"""One JSON document, or the bytes of one small file, within bounds.

JSON is UTF-8 (a byte order mark is accepted), nests no deeper than allowed, holds no NaN or infinity, no
unpaired surrogate, and no key twice in one object. What it takes once it is parsed, up to 30 times its bytes, is
known before that from its commas, brackets and pairs, and is bounded too.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import msgspec

from gnomon.core.errors import InputError
from gnomon.intake.depth import check_depth
from gnomon.intake.faults import guarded, reason, shown
from gnomon.intake.limits import DEFAULT, MAX_FILE_BYTES, Limits, check_file

_BOM = b"\xef\xbb\xbf"
_VALUE = 72  # an empty object and its place in a list
_PAIR = 160  # its key and its share of the table
_WIDEST_CHARACTER = 4
_MOST_PER_BYTE = _VALUE + _PAIR + _WIDEST_CHARACTER  # a byte is a bracket, a comma or a colon, or none of them


def read_bytes(path: str | os.PathLike[str], limits: Limits = DEFAULT) -> bytes:
    """Return the content of a file of at most ``limits.max_json_bytes``."""
    limits = limits.raised()
    most = limits.max_json_bytes
    if (size := check_file(path, limits)) > most:
        raise _too_large(path, size, most)
    with guarded(path, "cannot be read", "check that you may read it"), Path(path).open("rb") as file:
        data = file.read(size + 1)
    if len(data) > size:
        raise InputError(f"{shown(path)}: grew beyond {size} bytes while it was read; wait until it is written")
    return data


def read_json(path: str | os.PathLike[str], *, limits: Limits = DEFAULT) -> object:
    """Return the value of a JSON document as plain Python data.

    Parameters
    ----------
    path
        A UTF-8 file with one JSON value.
    limits
        Its greatest size and nesting, and what it may take once it is parsed.

    Raises
    ------
    InputError
        The file cannot be read, is too large or too deep, is not JSON, or repeats a key.
    """
    return parse_json(read_bytes(path, limits), shown(path), limits=limits)[0]


def parse_json(data: bytes, where: str, *, limits: Limits = DEFAULT) -> tuple[object, int]:
    """Return the value of a JSON document, and the bytes that it takes at most; ``where`` opens messages."""
    data = data.removeprefix(_BOM)
    found = check_depth(data, limits.max_json_depth, where)
    memory = count_parsed_bytes(data, found.pairs)
    limits.raised().of_documents().check_decoded(where, memory, len(data))
    try:
        value: object = msgspec.json.decode(data)
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 text ({reason(error)}); save the file as UTF-8") from error
    except (msgspec.MsgspecError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{where}: not a JSON document ({reason(error)}); correct it") from error
    if count_pairs(value) != found.pairs:
        raise InputError(f"{where}: {_repeated(data)}; keep one of them")
    return value, memory


def check_parsed_bytes(data: bytes, where: str, limits: Limits = DEFAULT, pairs: int | None = None) -> None:
    """Refuse a document that would take too much once it is parsed; a small one cannot, and is not counted.

    For readers that parse JSON themselves; ``pairs`` is as in :func:`count_parsed_bytes`.
    """
    limits = limits.raised().of_documents()
    if len(data) * _MOST_PER_BYTE > limits.max_decoded_bytes:
        limits.check_decoded(where, count_parsed_bytes(data, pairs))


def count_parsed_bytes(data: bytes, pairs: int | None = None) -> int:
    """Return what a document takes at most once it is parsed: its values, the tables of its objects, its text.

    Where the number of its pairs is not known, every colon counts as one.
    """
    pairs = data.count(b":") if pairs is None else pairs
    values = 1 + data.count(b",") + data.count(b"[") + data.count(b"{")
    return _VALUE * values + _PAIR * pairs + len(data) * (1 if data.isascii() else _WIDEST_CHARACTER)


def count_pairs(value: object) -> int:
    """Return the number of key-value pairs at every depth of plain data.

    >>> count_pairs({"a": [{"b": 1}], "c": 2})
    3
    """
    total, stack = 0, [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            total += len(node)
            stack.extend(item for item in node.values() if isinstance(item, (dict, list)))
        elif isinstance(node, list):
            stack.extend(item for item in node if isinstance(item, (dict, list)))
    return total


def _repeated(data: bytes) -> str:
    """Say which key is repeated: a second, slower parse that only happens on the way to an error."""
    seen: list[str] = []

    def look(pairs: list[tuple[str, object]]) -> None:
        keys = [key for key, _ in pairs]
        if not seen and len(set(keys)) < len(keys):
            seen.append(Counter(keys).most_common(1)[0][0])

    try:
        json.loads(data, object_pairs_hook=look)
    except (ValueError, RecursionError):
        seen.clear()
    return f"key {shown(seen[0], 80)!r} occurs twice in one object" if seen else "a key occurs twice in one object"


def _too_large(path: str | os.PathLike[str], size: int, most: int) -> InputError:
    return InputError(
        f"{shown(path)}: document too large: {size} bytes or more, expected at most {most}; split it, or raise "
        f"{MAX_FILE_BYTES}"
    )
