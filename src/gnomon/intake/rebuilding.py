"""What a pickle may ask for by name, rebuilt by hand within what its own bytes can pay for.

Names
-----
A pickle builds NumPy values by naming functions and classes. The nine names in use are looked up here, in the
module names of NumPy 1 and of NumPy 2, and stand for the code below. Nothing is imported, no function that a
pickle names is called, and NumPy never sees a state that came from a file.

Cost
----
An honest pickle spells every array, and every value inside, at least once. So the arrays together are no larger
than the pickle, and its containers are fewer than its bytes; a pickle that uses one run of bytes many times to
build ever more is refused when it passes its own size.
"""

from __future__ import annotations

import enum
import math
import re
from typing import Any

import numpy as np

from gnomon.intake.faults import shown
from gnomon.intake.limits import Limits
from gnomon.intake.npy import MOST_AXES, Array, Header, as_array

Dtype = np.dtype[Any]
NPZ = "save plain arrays with numpy.savez and read the npz"
_FREE_CONTAINERS = 500_000
_BYTES_PER_CONTAINER = 8
_PLAIN = re.compile(r"b1|[iu][1248]|f(?:2|4|8|12|16)|[SU]\d{1,9}|O[48]?")
_ADVICE = {
    "torch": "it is a PyTorch tensor: convert every tensor with .detach().cpu().numpy(), then " + NPZ,
    "pandas": "it is a pandas object: convert every column with .to_numpy(), then " + NPZ,
    "jax": "it is a JAX array: convert it with numpy.asarray(...), then " + NPZ,
    "jaxlib": "it is a JAX array: convert it with numpy.asarray(...), then " + NPZ,
    "tensorflow": "it is a TensorFlow tensor: convert it with .numpy(), then " + NPZ,
    "collections": "convert it to a plain dict or list, or " + NPZ,
    "__builtin__": "for empty arrays write the file with protocol=4, or " + NPZ,
}


class PickleFault(ValueError):
    """A pickle is damaged, or asks for something that is not given; the message continues a sentence."""


class Name(enum.Enum):
    """What an allowed name stands for."""

    NDARRAY = "numpy.ndarray"
    DTYPE = "numpy.dtype"
    RECONSTRUCT = "_reconstruct"
    SCALAR = "scalar"
    FROMBUFFER = "_frombuffer"
    ENCODE = "_codecs.encode"


ALLOWED = {
    ("numpy", "ndarray"): Name.NDARRAY,
    ("numpy", "dtype"): Name.DTYPE,
    ("numpy.core.multiarray", "_reconstruct"): Name.RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): Name.RECONSTRUCT,
    ("numpy.core.multiarray", "scalar"): Name.SCALAR,
    ("numpy._core.multiarray", "scalar"): Name.SCALAR,
    ("numpy.core.numeric", "_frombuffer"): Name.FROMBUFFER,
    ("numpy._core.numeric", "_frombuffer"): Name.FROMBUFFER,
    ("_codecs", "encode"): Name.ENCODE,
}


class Pending:
    """An array or a type that was announced and waits for its state; `plan` is the bare type, None for an array."""

    __slots__ = ("plan", "value")

    def __init__(self, plan: Dtype | None) -> None:
        self.plan = plan
        self.value: Array | Dtype | None = None


def find(module: object, name: object) -> Name:
    """Return what a name stands for, or refuse it by name."""
    if type(module) is not str or type(name) is not str:
        raise PickleFault("is damaged: it names a function with something that is not text; write the file again")
    found = ALLOWED.get((module, name))
    if found is None:
        advice = _ADVICE.get(module.partition(".")[0], NPZ)
        asked = shown(f"{module}.{name}", 120)
        raise PickleFault(f"refers to {asked!r}, which could run code, expected nothing but NumPy arrays; {advice}")
    return found


class Builder:
    """Rebuilds the values of one pickle.

    Parameters
    ----------
    size
        Length of the pickle in bytes: what all arrays together, and all bytes that were written as text, may hold.
    limits
        Nesting, and the shape that an array without values may declare.
    """

    def __init__(self, size: int, limits: Limits) -> None:
        self._size = size
        self._deepest = limits.max_json_depth
        self._widest = max(size, limits.ratio_floor_bytes)
        self._containers = _FREE_CONTAINERS + size // _BYTES_PER_CONTAINER
        self._filled = 0
        self._encoded = 0
        self._levels: dict[int, tuple[int, Array]] = {}

    def count(self) -> None:
        """Pay for one container, array or type."""
        self._containers -= 1
        if self._containers < 0:
            raise PickleFault(f"holds more lists, tuples and arrays than its {self._size} bytes warrant; {NPZ}")

    def call(self, name: object, args: object) -> Any:
        """Return what an allowed function returns for the arguments that an honest pickle gives."""
        if not isinstance(name, Name) or type(args) is not tuple:
            raise PickleFault("calls something that is not a function; " + NPZ)
        self.count()
        kinds = tuple(type(arg) for arg in args)
        if name is Name.DTYPE and len(args) == 3 and kinds[0] is str and set(kinds[1:]) <= {bool, int}:
            return Pending(_plain(args[0], args[1:]))
        if name is Name.RECONSTRUCT and kinds[1:] in ((tuple, bytes), (tuple, str)) and args[0] is Name.NDARRAY:
            return _announced(*args[1:])
        if name is Name.SCALAR and len(args) == 2 and isinstance(args[0], np.dtype) and kinds[1] is bytes:
            return self._scalar(*args)
        if name is Name.FROMBUFFER and len(args) in (4, 5) and kinds[0] is bytes and kinds[3] is str:
            return self._from_buffer(*args)
        if name is Name.ENCODE and kinds == (str, str) and args[1] == "latin1":
            return self._encode(args[0])
        raise PickleFault(f"calls {name.value!r} with arguments that NumPy does not write; {NPZ}")

    def build(self, target: object, state: object) -> Array | Dtype:
        """Return what was announced, completed by its state."""
        if not isinstance(target, Pending) or target.value is not None or type(state) is not tuple:
            raise PickleFault("gives a state to something that takes none; " + NPZ)
        value = self._array(*_array_state(state)) if target.plan is None else _ordered(target.plan, state)
        target.value = value
        return value

    def _array(self, shape: object, dtype: object, fortran: bool, data: object) -> Array:
        if not isinstance(dtype, np.dtype):
            raise PickleFault("holds an array without a type; write the file again")
        axes = self._shape(shape, dtype.itemsize)
        if dtype.hasobject:
            return self._objects(axes, data)
        if type(data) is not bytes or len(data) != math.prod(axes) * dtype.itemsize:
            held = f"{len(data)} bytes" if type(data) is bytes else "no bytes"
            raise PickleFault(f"declares an array {shown(str(axes), 80)} of {dtype} but holds {held}; save it again")
        self._fill(len(data))
        return as_array(np.frombuffer(data, np.uint8), Header(dtype, axes, fortran, 0))

    def _objects(self, shape: tuple[int, ...], items: object) -> Array:
        """Return an array of objects, whose list is in the order of C whatever the order of the array was."""
        if type(items) is not list or len(items) != math.prod(shape):
            held = f"{len(items)} values" if type(items) is list else "no list of values"
            raise PickleFault(f"declares an array {shown(str(shape), 80)} of objects but holds {held}; save it again")
        self._fill(len(items))
        level = self._level(items)
        flat: Array = np.fromiter(items, dtype=object, count=len(items))
        array = flat.reshape(shape)
        flat.setflags(write=False)
        array.setflags(write=False)
        self._levels[id(array)] = (level, array)
        return array

    def _level(self, items: list[Any]) -> int:
        """Count how deep arrays of objects lie directly in each other: freeing such a chain is recursive."""
        kinds = set(map(type, items))
        if Pending in kinds:
            raise PickleFault("holds an array that is part of itself; " + NPZ)
        inner = (self._levels.get(id(item), (0,))[0] for item in items) if np.ndarray in kinds else ()
        level = 1 + max(inner, default=0)
        if level > self._deepest:
            raise PickleFault(f"nests arrays more than {self._deepest} deep; {NPZ}")
        return level

    def _from_buffer(self, data: bytes, dtype: object, shape: object, order: str, axes: object = None) -> Array:
        if isinstance(dtype, np.dtype) and dtype.hasobject:
            raise PickleFault("takes objects from bytes; " + NPZ)
        if order in ("C", "F") and axes is None:
            return self._array(shape, dtype, order == "F", data)
        array = self._array(shape, dtype, False, data)
        if order != "K" or type(axes) is not tuple or any(type(axis) is not int for axis in axes):
            raise PickleFault(f"orders the axes of an array by {shown(order, 20)!r}, expected C or F; {NPZ}")
        if sorted(axes) != list(range(array.ndim)):
            raise PickleFault("orders axes that an array does not have; write the file again")
        return array.transpose(axes)

    def _scalar(self, dtype: Dtype, data: bytes) -> Any:
        if dtype.hasobject or len(data) != dtype.itemsize:
            raise PickleFault(f"holds a value of type {dtype} in {len(data)} bytes; write the file again")
        return self._array((), dtype, False, data)[()] if data else dtype.type()

    def _encode(self, text: str) -> bytes:
        self._encoded += len(text)
        if self._encoded > self._size:
            raise PickleFault(f"writes the same bytes again and again, more than its {self._size} in all; {NPZ}")
        return text.encode("latin-1")

    def _fill(self, amount: int) -> None:
        self._filled += amount
        if self._filled > self._size:
            raise PickleFault(f"builds arrays larger than its {self._size} bytes from the same values; {NPZ}")

    def _shape(self, shape: object, width: int) -> tuple[int, ...]:
        if type(shape) is not tuple or any(type(axis) is not int or axis < 0 for axis in shape):
            raise PickleFault("holds an array whose shape is not a row of sizes; write the file again")
        if len(shape) > MOST_AXES:
            raise PickleFault(f"holds an array of {len(shape)} axes, expected at most {MOST_AXES}; reshape it")
        if not width:
            raise PickleFault("holds an array with elements of width 0; save text with at least one character of width")
        if math.prod(max(axis, 1) for axis in shape) * width > self._widest:
            raise PickleFault(f"declares an array {shown(str(shape), 80)} that it cannot hold; write the file again")
        return shape


def _plain(name: str, flags: tuple[int, int]) -> Dtype:
    """Return the type of a plain kind: no structure, no metadata, no time unit."""
    if not _PLAIN.fullmatch(name) or flags != (0, 1):
        raise PickleFault(f"holds an array of type {shown(name, 40)!r}, expected numbers, booleans or text; convert it")
    return np.dtype(object) if name.startswith("O") else np.dtype(name)


def _ordered(plan: Dtype, state: tuple[Any, ...]) -> Dtype:
    """Return a plain type in the byte order of its state, whose other entries have to be those of a plain type."""
    if len(state) != 8 or {type(entry) for entry in state} - {int, str, type(None)}:
        raise PickleFault("holds a type with fields or metadata, expected a plain type; " + NPZ)
    version, order, *structure, width, alignment, flags = state
    sizes = ((-1, -1), (plan.itemsize, plan.alignment))
    whole = flags == plan.flags and (width, alignment) in sizes and structure == [None] * 3
    if version != 3 or not whole or order not in ("<", ">", "|", "="):
        raise PickleFault("holds a type whose description was changed; write the file again")
    return plan.newbyteorder(order)


def _announced(shape: tuple[Any, ...], code: bytes | str) -> Pending:
    if len(shape) != 1 or type(shape[0]) is not int or shape[0] or code not in (b"b", "b"):
        raise PickleFault("announces an array in a way that NumPy does not; " + NPZ)
    return Pending(None)


def _array_state(state: tuple[Any, ...]) -> tuple[object, object, bool, object]:
    if len(state) != 5 or type(state[0]) is not int or state[0] != 1 or type(state[3]) not in (bool, int):
        raise PickleFault("holds an array whose state NumPy did not write; " + NPZ)
    return state[1], state[2], bool(state[3]), state[4]
