"""Explicit vectors for compiled code: loops over them, and the few instructions that they need.

Vectors are written in LLVM's own terms, so that every processor gets what it has. Whoever uses them hands over
addresses and says how far may be read; nothing is checked here. Machine code is kept on disk by the file of the
function that uses these: who changes this file has to empty that cache (``NUMBA_CACHE_DIR``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba.extending import intrinsic

Function = Callable[..., Any]

I8, I16, I32, I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))


def emit(function: Function) -> Function:
    """Let compiled code call a function that writes its own instructions."""
    return cast(Function, intrinsic(function))


class Loop:
    """A counted loop of at least one round that carries values; opened here, ended by :meth:`close`."""

    def __init__(self, builder: Any, rounds: Any, first: list[Any]) -> None:
        self._builder, self._rounds = builder, rounds
        before = builder.block
        self._body = builder.append_basic_block("body")
        builder.branch(self._body)
        builder.position_at_end(self._body)
        self.index = builder.phi(I64)
        self.index.add_incoming(I64(0), before)
        self.carried = [builder.phi(value.type) for value in first]
        for slot, value in zip(self.carried, first, strict=True):
            slot.add_incoming(value, before)

    def close(self, values: list[Any]) -> list[Any]:
        """Go round again with these values; after the last round they are the result."""
        builder = self._builder
        following = builder.add(self.index, I64(1))
        for slot, value in zip([self.index, *self.carried], [following, *values], strict=True):
            slot.add_incoming(value, self._body)
        after = builder.append_basic_block("after")
        jump = builder.cbranch(builder.icmp_unsigned("<", following, self._rounds), self._body, after)
        jump.set_metadata("llvm.loop", _as_it_is(builder.module))
        builder.position_at_end(after)
        return values


def _as_it_is(module: Any) -> Any:
    """Loop metadata against unrolling, which would push the carried vectors out of the registers."""
    node = module.add_metadata([module.add_metadata(["llvm.loop.unroll.disable"])])
    if node.operands[0] is not node:  # loop metadata must name itself first
        node.operands = (node, *node.operands)
    return node


def splat(vector: Any, value: int) -> Any:
    """Return a constant vector of one value."""
    return ir.Constant(vector, [value] * vector.count)


def spread(builder: Any, value: Any, vector: Any) -> Any:
    """Copy a value that is known at run time to all places of a vector."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, I32(0))
    return builder.shuffle_vector(first, undefined, splat(ir.VectorType(I32, vector.count), 0))


def value_at(builder: Any, pointer: Any, index: Any) -> Any:
    """Load a vector from any address."""
    value = builder.load(builder.gep(pointer, [index]))
    value.align = 1
    return value


def larger(builder: Any, a: Any, b: Any) -> Any:
    """Return the larger of two, taken as unsigned."""
    return builder.select(builder.icmp_unsigned(">", a, b), a, b)


def smaller(builder: Any, a: Any, b: Any) -> Any:
    """Return the smaller of two, taken as unsigned."""
    return builder.select(builder.icmp_unsigned("<", a, b), a, b)


def reduce(builder: Any, operation: str, vector: Any) -> Any:
    """Return the sum or the maximum over a vector: ``add``, ``umax``."""
    count, item = vector.type.count, vector.type.element
    name = f"llvm.vector.reduce.{operation}.v{count}i{item.width}"
    return builder.call(builder.module.declare_intrinsic(name, (), ir.FunctionType(item, [vector.type])), [vector])


def prefetch(builder: Any, pointer: Any) -> None:
    """Ask for data that will be read soon; an address past the end is allowed."""
    byte = I8.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32])
    read, keep, data = I32(0), I32(3), I32(1)
    function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    builder.call(function, [builder.bitcast(pointer, byte), read, keep, data])
