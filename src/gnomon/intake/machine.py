"""The machine that a pickle is a program for: a stack, a memo, and a position in the bytes.

Every length is held against the bytes that are left before a byte is copied, and memo entries come in order, so
neither costs more than the pickle has bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gnomon.intake.rebuilding import NPZ, Builder, Pending, PickleFault

AGAIN = "write the file again"
_STOP = ord(".")


class Machine:
    """Runs one pickle.

    Parameters
    ----------
    data
        The pickle.
    builder
        Makes what the pickle asks for by name, and pays for containers.
    open_marks
        How many lists, tuples and dicts may be under way at once.
    """

    __slots__ = ("_open_marks", "_outer", "at", "builder", "data", "memo", "stack")

    def __init__(self, data: bytes, builder: Builder, open_marks: int) -> None:
        self.data = data
        self.at = 0
        self.builder = builder
        self.stack: list[Any] = []
        self.memo: list[Any] = []
        self._outer: list[list[Any]] = []
        self._open_marks = open_marks

    def run(self, steps: Mapping[int, Step], refused: Mapping[int, str]) -> Any:
        """Return the one value of the pickle, carried out by the steps of its instructions."""
        data, size, find = self.data, len(self.data), steps.get
        try:
            while self.at < size:
                code = data[self.at]
                self.at += 1
                if (step := find(code)) is not None:
                    step(self)
                elif code == _STOP:
                    return self._finish()
                else:
                    raise PickleFault(refused.get(code) or f"is no pickle: byte {self.at - 1} is {code:#04x}; {NPZ}")
        except IndexError as error:
            raise PickleFault(f"is damaged before byte {self.at}: a value is missing; {AGAIN}") from error
        raise PickleFault(f"ends after {size} bytes without its end mark; {AGAIN}")

    def _finish(self) -> Any:
        if self._outer or len(self.stack) != 1:
            raise PickleFault(f"is damaged: it ends with {len(self.stack)} values, expected 1; {AGAIN}")
        return self.stack.pop()

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        start, end = self.at, self.at + size
        if end > len(self.data):
            left = len(self.data) - start
            raise PickleFault(f"declares {size} bytes at byte {start} but {left} are left; {AGAIN}")
        self.at = end
        return self.data[start:end]

    def byte(self) -> int:
        """Return the next byte as a number."""
        value = self.data[self.at]
        self.at += 1
        return value

    def number(self, width: int) -> int:
        """Return the next bytes as a number without sign."""
        return int.from_bytes(self.take(width), "little")

    def line(self) -> bytes:
        """Return the bytes up to the end of the line."""
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise PickleFault(f"ends inside a line that begins at byte {self.at}; {AGAIN}")
        start, self.at = self.at, end + 1
        return self.data[start:end]

    def mark(self) -> None:
        """Begin a list, tuple or dict."""
        if len(self._outer) == self._open_marks:
            raise PickleFault(f"has more than {self._open_marks} lists, tuples and dicts under way; nest it less deep")
        self._outer.append(self.stack)
        self.stack = []

    def since_mark(self) -> list[Any]:
        """Return the values since the last beginning."""
        items, self.stack = self.stack, self._outer.pop()
        return items

    def make(self, value: Any) -> None:
        """Push a new container."""
        self.builder.count()
        self.stack.append(value)

    def put(self, index: int) -> None:
        """Remember the last value."""
        if index == len(self.memo):
            self.memo.append(self.stack[-1])
        elif index < len(self.memo):
            self.memo[index] = self.stack[-1]
        else:
            raise PickleFault(f"remembers value {index} before value {len(self.memo)}; {AGAIN}")

    def get(self, index: int) -> None:
        """Push a remembered value, in its complete form where it has one by now."""
        value = self.memo[index]
        if type(value) is Pending and value.value is not None:
            value = value.value
        self.stack.append(value)


Step = Callable[[Machine], None]
