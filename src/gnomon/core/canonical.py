"""Canonical JSON and fingerprints: equal values give equal bytes.

Keys are sorted, separators are fixed, floats are written in their shortest round-trip form and
NaN or infinity are refused, so that a fingerprint names a value and a stored file can be compared
byte by byte.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from gnomon.core.errors import GnomonError


def encode(value: object) -> bytes:
    """Return the canonical JSON of plain data on one line.

    >>> encode({"b": 1, "a": [0.5, None]})
    b'{"a":[0.5,null],"b":1}'
    """
    return _dump(value, separators=(",", ":"))


def encode_pretty(value: object) -> bytes:
    """Return canonical JSON that a person can read: indented, with a final newline."""
    return _dump(value, indent=1) + b"\n"


def _dump(value: object, *, indent: int | None = None, separators: tuple[str, str] | None = None) -> bytes:
    try:
        _check_keys(value)
        return json.dumps(
            value, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators
        ).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise GnomonError(f"not plain finite data, so it has no canonical JSON: {error}") from error


def _check_keys(value: object) -> None:
    """Refuse keys that are not text: JSON would turn 1 into "1", and two values would share a fingerprint."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not text")
            _check_keys(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, (dict, list, tuple)):
                _check_keys(item)


def fingerprint(value: object) -> str:
    """Return the SHA-256 of the canonical JSON of a value.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(encode(value)).hexdigest()


def digest(parts: Iterable[bytes | memoryview]) -> str:
    """Return the SHA-256 over byte strings, each preceded by its length so that boundaries count."""
    state = hashlib.sha256()
    for part in parts:
        view = memoryview(part).cast("B")
        state.update(len(view).to_bytes(8, "little"))
        state.update(view)
    return state.hexdigest()
