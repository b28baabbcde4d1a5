"""Pickles of plain data and NumPy arrays, read without Python's unpickler.

A pickle is a program, and :func:`pickle.load` runs it with everything that is installed. Here it is carried out
by hand: ``opcodes`` knows the instructions that data need, ``rebuilding`` the nine names that NumPy arrays need,
and everything else is refused by name. What comes out is looked at once more before it is given away.

Values
------
dict (keys: short text or whole numbers), list, tuple, text, bytes, whole numbers, floats, booleans, None, and NumPy
arrays and scalars of numbers, booleans, text, bytes and objects, the objects being such values again. Arrays are in
native byte order and not writeable; ``bytearray`` comes as bytes. A value may stand in several places but not
in itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gnomon.core.errors import InputError
from gnomon.intake.faults import guarded, shown
from gnomon.intake.limits import DEFAULT, Limits, check_file
from gnomon.intake.machine import Machine
from gnomon.intake.npy import HeaderError
from gnomon.intake.opcodes import REFUSED, STEPS
from gnomon.intake.rebuilding import NPZ, Builder, Name, Pending, PickleFault

__all__ = ["PickleFault", "read_pickle", "unpickle"]

_WORD = 8
_HEAD = 1 << 12
_MARKS_PER_LEVEL = 4
_TORCH_MAGIC = 0x1950A86A20F9469CFC6C
_TORCH = "convert every tensor with .detach().cpu().numpy(), then " + NPZ
_LEAVES = frozenset({str, bytes, int, float, bool, type(None)})
_SCALARS = (np.bool_, np.integer, np.floating, np.str_, np.bytes_)
_HEADS = {
    b"\x93NUMPY": "is a NumPy array file (npy), expected a pickle; save the arrays by name with numpy.savez",
    b"\x1f\x8b": "is compressed with gzip, expected a plain pickle; decompress it",
    b"BZh": "is compressed with bzip2, expected a plain pickle; decompress it",
    b"\xfd7zXZ": "is compressed with xz, expected a plain pickle; decompress it",
    b"\x89HDF": "is an HDF5 file, expected a pickle; save the arrays with numpy.savez",
}


def read_pickle(path: str | os.PathLike[str], *, limits: Limits = DEFAULT) -> Any:
    """Return the value of a pickle that holds nothing but plain data and NumPy arrays.

    Parameters
    ----------
    path
        A file that ``pickle.dump`` wrote, in any protocol from 0 to 5.
    limits
        Its greatest size and nesting, and by how much values that stand in several places may multiply it.

    Raises
    ------
    InputError
        The file is damaged, is no pickle, is too large or too deep, or refers to anything but NumPy arrays.
    """
    limits = limits.raised()
    size = check_file(path, limits)
    with guarded(path, "not a readable pickle"):
        with Path(path).open("rb") as file:
            _check_head(path, file.read(_HEAD))
            file.seek(0)
            data = file.read(size + 1)
        if len(data) != size:
            raise InputError(f"{shown(path)}: changed while it was read; read it again")
        try:
            return unpickle(data, limits)
        except (PickleFault, HeaderError) as error:
            raise InputError(f"{shown(path)}: the pickle {error}") from error


def unpickle(data: bytes, limits: Limits) -> Any:
    """Return the one value of a pickle.

    Raises
    ------
    PickleFault, HeaderError
        Damage, or something that is not plain data; the message continues a sentence.
    ValueError, MemoryError
        Damage that a decoder underneath noticed.
    """
    machine = Machine(data, Builder(len(data), limits), _MARKS_PER_LEVEL * limits.max_json_depth)
    value = machine.run(STEPS, REFUSED)
    rest = len(data) - machine.at
    del machine  # and with it the memo, which the check does not need
    if type(value) is int and value == _TORCH_MAGIC:
        raise PickleFault(f"is a file of torch.save, expected NumPy arrays; {_TORCH}")
    if rest:
        raise PickleFault(f"is followed by {rest} more bytes, expected one value; write one dict with everything in it")
    _check_value(value, len(data), limits)
    return value


def _check_head(path: str | os.PathLike[str], head: bytes) -> None:
    for start, what in _HEADS.items():
        if head.startswith(start):
            raise InputError(f"{shown(path)}: {what}")
    if head.startswith(b"PK\x03\x04"):
        if b"data.pkl" in head:
            raise InputError(f"{shown(path)}: is a PyTorch file (zip), expected a pickle of NumPy arrays; {_TORCH}")
        raise InputError(f"{shown(path)}: is a zip archive, expected a pickle; name it .npz if numpy.savez wrote it")


class _Extent(NamedTuple):
    """How large a value is where every place it stands in is counted, in words, and how deep."""

    words: int
    depth: int


def _check_value(root: Any, size: int, limits: Limits) -> None:
    """Refuse what is not plain data, is part of itself, nests too deep, or multiplies by standing in many places."""
    extent = _measure(root, limits.max_json_depth)
    most = limits.decoded_bytes(size)
    if extent.words * _WORD > most:
        raise PickleFault(
            f"repeats its own parts until {size} bytes stand for more than {most}; write values once, or {NPZ}"
        )


def _measure(root: Any, deepest: int) -> _Extent:
    known: dict[int, _Extent] = {}
    under_way = {id(root)}
    path = [(root, iter(_inner(root)), [_own(root), 0])]
    while True:
        node, rest, sums = path[-1]
        child = _next_unknown(rest, known, sums)
        if len(path) + sums[1] > deepest:
            raise PickleFault(f"nests more than {deepest} deep; {NPZ}")
        if child is not None:
            if id(child) in under_way:
                raise PickleFault(f"holds a {type(child).__name__} that is part of itself; {NPZ}")
            under_way.add(id(child))
            path.append((child, iter(_inner(child)), [_own(child), 0]))
            continue
        path.pop()
        under_way.discard(id(node))
        found = known[id(node)] = _Extent(sums[0], sums[1] + 1)
        if not path:
            return found
        _add(path[-1][2], found)


def _next_unknown(rest: Iterator[Any], known: dict[int, _Extent], sums: list[int]) -> Any:
    for child in rest:
        found = known.get(id(child))
        if found is None:
            if (found := _flat(child)) is None:
                return child
            known[id(child)] = found
        _add(sums, found)
    return None


def _flat(value: Any) -> _Extent | None:
    """Measure the many small things at once: arrays of numbers, and lists of nothing but text and numbers."""
    kind = type(value)
    if kind is np.ndarray and not value.dtype.hasobject:
        return _Extent(_own(value), 0)
    if (kind is list or kind is tuple) and _LEAVES.issuperset(map(type, value)):
        return _Extent(_own(value), 1)
    return None


def _add(sums: list[int], extent: _Extent) -> None:
    words, depth = extent
    sums[0] += words
    if depth > sums[1]:
        sums[1] = depth


def _own(value: Any) -> int:
    """Return the words of a value without what is measured by itself; every entry of a container is one."""
    if isinstance(value, np.ndarray):
        return 1 + value.nbytes // _WORD
    return 1 + len(value) if isinstance(value, (list, tuple, dict)) else 1


def _inner(value: Any) -> Iterable[Any]:
    """Return the values inside that have to be measured themselves."""
    kind = type(value)
    if kind in (list, tuple):
        return _nested(value)
    if kind is dict:
        return _nested(value.values())
    if kind is np.ndarray:
        return _nested(value.ravel(order="K").tolist()) if value.dtype.hasobject else ()
    if kind in _LEAVES or issubclass(kind, _SCALARS):
        return ()
    raise PickleFault(f"holds {_described(value)}, expected arrays, lists, text and numbers; {NPZ}")


def _nested(items: Iterable[Any]) -> Iterable[Any]:
    kinds = set(map(type, items))
    nested = {kind for kind in kinds if kind not in _LEAVES and not issubclass(kind, _SCALARS)}
    return (item for item in items if type(item) in nested) if nested else ()


def _described(value: Any) -> str:
    if isinstance(value, Name):
        return f"the function {value.value!r} itself"
    return "an unfinished array or type" if isinstance(value, Pending) else f"a value of type {type(value).__name__!r}"
