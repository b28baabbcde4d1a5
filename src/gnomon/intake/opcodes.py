"""The instructions of a pickle, as steps of :class:`gnomon.intake.machine.Machine`.

A pickle is a program for a machine with a stack, a memo and about seventy instructions (protocols 0 to 5;
Python's :mod:`pickletools` lists them). Here are those that plain data and NumPy arrays need. Python's own
machine is not involved, so what is not written here cannot happen.

No instruction here makes more of a value than a reference to it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from gnomon.intake.faults import shown
from gnomon.intake.machine import AGAIN, Machine, Step
from gnomon.intake.rebuilding import NPZ, Name, PickleFault, find

_NEWEST = 5
_MOST_DIGITS = 640
_MOST_INT_BYTES = 255
_MOST_KEY = 1000
_KEY_BITS = 63
_BIG = struct.Struct(">d")


def _proto(machine: Machine) -> None:
    if (version := machine.byte()) > _NEWEST:
        raise PickleFault(f"is of protocol {version}, expected 0 to {_NEWEST}; {AGAIN} with protocol=4")


def _frame(machine: Machine) -> None:
    size = machine.number(8)
    if size > (left := len(machine.data) - machine.at):
        raise PickleFault(f"declares a frame of {size} bytes but {left} are left; {AGAIN}")


def _value(value: Any) -> Step:
    return lambda machine: machine.stack.append(value)


def _fixed(width: int, make: Callable[[bytes], Any]) -> Step:
    return lambda machine: machine.stack.append(make(machine.take(width)))


def _sized(width: int, make: Callable[[bytes], Any]) -> Step:
    return lambda machine: machine.stack.append(make(machine.take(machine.number(width))))


def _short(make: Callable[[bytes], Any]) -> Step:
    return lambda machine: machine.stack.append(make(machine.take(machine.byte())))


def _lined(make: Callable[[bytes], Any]) -> Step:
    return lambda machine: machine.stack.append(make(machine.line()))


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def _unsigned(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _long4(machine: Machine) -> None:
    if (size := machine.number(4)) > _MOST_INT_BYTES:
        raise PickleFault(f"holds an integer of {size} bytes, expected at most {_MOST_INT_BYTES}; store it as text")
    machine.stack.append(_signed(machine.take(size)))


def _decimal(text: bytes) -> int:
    if len(text) > _MOST_DIGITS or not text.removeprefix(b"-").isdigit():
        raise PickleFault(f"is damaged: {shown(text[:40].decode('latin-1'))!r} is no whole number; {AGAIN}")
    return int(text)


def _int(text: bytes) -> int:
    return text == b"01" if text in (b"00", b"01") else _decimal(text)


def _float(text: bytes) -> float:
    if len(text) > _MOST_DIGITS:
        raise PickleFault(f"is damaged: a number of {len(text)} characters; {AGAIN}")
    return float(text)


def _escaped(text: bytes) -> str:
    found = text.decode("raw_unicode_escape")
    if not found.isascii():
        found.encode()  # raises where half of a surrogate pair stands alone
    return found


def _index(machine: Machine) -> int:
    index = _decimal(machine.line())
    if index < 0:
        raise PickleFault(f"is damaged: it remembers a value under {index}; {AGAIN}")
    return index


def _list(machine: Machine) -> None:
    machine.make(machine.since_mark())


def _tuple(machine: Machine) -> None:
    machine.make(tuple(machine.since_mark()))


def _short_tuple(size: int) -> Step:
    def step(machine: Machine) -> None:
        if len(machine.stack) < size:
            raise IndexError(size)
        items = tuple(machine.stack[-size:])
        del machine.stack[-size:]
        machine.make(items)

    return step


def _append(machine: Machine) -> None:
    item = machine.stack.pop()
    _target(machine, list).append(item)


def _appends(machine: Machine) -> None:
    items = machine.since_mark()
    _target(machine, list).extend(items)


def _dict(machine: Machine) -> None:
    items = machine.since_mark()
    machine.make({})
    _set(machine, items)


def _set_item(machine: Machine) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    _set(machine, [key, value])


def _set_items(machine: Machine) -> None:
    _set(machine, machine.since_mark())


def _set(machine: Machine, items: list[Any]) -> None:
    target = _target(machine, dict)
    if len(items) % 2:
        raise PickleFault(f"is damaged: a dict ends after a key; {AGAIN}")
    for key, value in zip(items[::2], items[1::2], strict=True):
        target[_key(key)] = value


def _key(key: Any) -> Any:
    """Return a key that costs little: the hash of a number is no secret, and long texts are slow to compare."""
    if type(key) is int and key.bit_length() <= _KEY_BITS:
        return key
    if isinstance(key, np.integer) or (isinstance(key, str) and len(key) <= _MOST_KEY):
        return key
    kind = "a long text or number" if isinstance(key, (str, int)) else type(key).__name__
    raise PickleFault(f"has a dict with {kind} as a key, expected short text or whole numbers; {NPZ}")


def _target(machine: Machine, kind: type) -> Any:
    target = machine.stack[-1]
    if type(target) is not kind:
        raise PickleFault(f"is damaged: it adds to a {kind.__name__} that is none; {AGAIN}")
    return target


def _global(machine: Machine) -> None:
    module, name = machine.line(), machine.line()
    machine.stack.append(_named(module, name))


def _named(module: bytes, name: bytes) -> Name:
    return find(module.decode("utf-8", "replace"), name.decode("utf-8", "replace"))


def _stack_global(machine: Machine) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(find(module, name))


def _inst(machine: Machine) -> None:
    name = _named(machine.line(), machine.line())
    raise PickleFault(f"makes an object of class {name.value!r} in a way that NumPy does not; {NPZ}")


def _reduce(machine: Machine) -> None:
    args, name = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(machine.builder.call(name, args))


def _build(machine: Machine) -> None:
    state, target = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(machine.builder.build(target, state))


def _by_code(table: dict[bytes, Any]) -> dict[int, Any]:
    return {code: what for codes, what in table.items() for code in codes}


STEPS: dict[int, Step] = _by_code(
    {
        b"\x80": _proto,
        b"\x95": _frame,
        b"N": _value(None),
        b"\x88": _value(True),
        b"\x89": _value(False),
        b"I": _lined(_int),
        b"L": _lined(lambda text: _decimal(text.removesuffix(b"L"))),
        b"J": _fixed(4, _signed),
        b"K": lambda machine: machine.stack.append(machine.byte()),
        b"M": _fixed(2, _unsigned),
        b"\x8a": _sized(1, _signed),
        b"\x8b": _long4,
        b"F": _lined(_float),
        b"G": _fixed(8, lambda data: _BIG.unpack(data)[0]),
        b"V": _lined(_escaped),
        b"\x8c": _short(bytes.decode),
        b"X": _sized(4, bytes.decode),
        b"\x8d": _sized(8, bytes.decode),
        b"C": _short(bytes),
        b"B": _sized(4, bytes),
        b"\x8e\x96": _sized(8, bytes),
        b"(": Machine.mark,
        b"]": lambda machine: machine.make([]),
        b"a": _append,
        b"e": _appends,
        b"l": _list,
        b")": _value(()),
        b"t": _tuple,
        b"\x85": _short_tuple(1),
        b"\x86": _short_tuple(2),
        b"\x87": _short_tuple(3),
        b"}": lambda machine: machine.make({}),
        b"d": _dict,
        b"s": _set_item,
        b"u": _set_items,
        b"p": lambda machine: machine.put(_index(machine)),
        b"q": lambda machine: machine.put(machine.byte()),
        b"r": lambda machine: machine.put(machine.number(4)),
        b"\x94": lambda machine: machine.put(len(machine.memo)),
        b"g": lambda machine: machine.get(_index(machine)),
        b"h": lambda machine: machine.get(machine.byte()),
        b"j": lambda machine: machine.get(machine.number(4)),
        b"c": _global,
        b"\x93": _stack_global,
        b"i": _inst,
        b"R": _reduce,
        b"b": _build,
    }
)

REFUSED: dict[int, str] = _by_code(
    {
        b"PQ": "refers to an object outside the file (a persistent id), as PyTorch writes tensors; convert them with "
        f".detach().cpu().numpy(), then {NPZ}",
        b"\x82\x83\x84": f"refers to a registered extension, expected nothing but NumPy arrays; {NPZ}",
        b"o\x81\x92": f"makes an object of a class in a way that NumPy arrays do not; {NPZ}",
        b"\x97\x98": f"keeps its arrays outside the file (buffers of protocol 5); {AGAIN} without buffer_callback",
        b"\x8f\x90\x91": f"holds a set, expected lists; convert it with sorted(...) and {AGAIN}",
        b"STU": f"holds byte text as Python 2 writes it, expected a pickle of Python 3; {NPZ}",
        b"012": f"holds a value that is part of itself; {NPZ}",
    }
)
