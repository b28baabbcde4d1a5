"""Just enough of the Thrift compact protocol to look at a parquet file before trusting it.

A reader walks the fields it knows and skips the rest without building anything, so the cost of hostile bytes
is bounded by their number.
"""

from __future__ import annotations

from collections.abc import Iterator

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, STRUCT = range(13)
_INTEGERS = (_I16, _I32, _I64)
_DEEPEST = 16


class DamagedError(ValueError):
    """The bytes are not what a writer of the format produces."""


class CutOffError(DamagedError):
    """The bytes end too early."""


class Compact:
    """A position in bytes of the compact protocol.

    Parameters
    ----------
    data
        The bytes; reading past them is a :class:`CutOffError`.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield number and kind of every field of a struct; the caller consumes its value.

        A number that repeats is refused: readers disagree about what it means.
        """
        seen: set[int] = set()
        number = 0
        while (head := self._byte()) != _STOP:
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            if number in seen:
                raise DamagedError(f"field {number} occurs twice in one struct")
            seen.add(number)
            yield number, head & 15

    def structs(self, kind: int) -> Iterator[None]:
        """Yield once per struct of a list of structs; the caller consumes each."""
        if kind != _LIST:
            raise DamagedError(f"a value of kind {kind}, expected a list")
        inner, count = self._list_head()
        if count and inner != STRUCT:
            raise DamagedError(f"a list of kind {inner}, expected structs")
        yield from (None for _ in range(count))

    def integer(self, kind: int) -> int:
        """Return the integer value of a field."""
        if kind not in _INTEGERS:
            raise DamagedError(f"a value of kind {kind}, expected an integer")
        return self._zigzag()

    def skip(self, kind: int, depth: int = 0) -> None:
        """Pass over the value of a field."""
        if depth > _DEEPEST:
            raise DamagedError("nested too deep")
        if kind in _INTEGERS:
            self._varint()
        elif kind in (_BYTE, _DOUBLE):
            self._advance(1 if kind == _BYTE else 8)
        elif kind == _BINARY:
            self._advance(self._varint())
        elif kind == STRUCT:
            self._skip_struct(depth)
        elif kind in (_LIST, _SET):
            inner, count = self._list_head()
            for _ in range(count):
                self._skip_item(inner, depth)
        elif kind not in (_TRUE, _FALSE):
            raise DamagedError(f"a value of unknown kind {kind}")

    def _skip_struct(self, depth: int) -> None:
        while (head := self._byte()) != _STOP:
            if not head >> 4:
                self._varint()
            self.skip(head & 15, depth + 1)

    def _skip_item(self, kind: int, depth: int) -> None:
        if kind in (_TRUE, _FALSE):
            self._advance(1)
        else:
            self.skip(kind, depth + 1)

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._varint()
        if count > len(self.data) - self.position:  # every item takes a byte at least
            raise CutOffError(f"a list of {count} items in {len(self.data) - self.position} bytes")
        return head & 15, count

    def _advance(self, size: int) -> None:
        self.position += size
        if self.position > len(self.data):
            raise CutOffError("the bytes end inside a value")

    def _byte(self) -> int:
        self._advance(1)
        return self.data[self.position - 1]

    def _varint(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise DamagedError("a number of more than ten bytes")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
