"""What is seen of work in progress: a bar on a terminal, plain lines in a log, and a file that others can follow.

A bar appears after two seconds (:mod:`gnomon.engine.bars`). Commands name the stream that they show progress on: a
terminal gets a bar and a closing line, a log plain lines. Without a stream, as in Python, there is a bar where somebody
looks on (a terminal, a notebook), and else nothing.

The file holds one JSON object per line, appended as things happen: ``{"time", "event", "done", "failed", "total",
"name", ...}``. Events: ``plan``, ``found``, ``started``, ``told`` (a line of progress from inside a node, without
counts), ``done``, ``lost`` (what was done is damaged or removed, and is made again), ``retried``, ``died``, ``failed``,
``blocked``, ``end``. A reader that meets an unfinished last line waits for the rest.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from gnomon.engine.bars import DelayedBar, find_bar
from gnomon.engine.plan import Node

QUIET = 5.0
"""Seconds between plain lines."""
LOUD = ("lost", "retried", "died", "failed", "blocked")
"""Events that always get a line of their own."""


@dataclass
class Progress:
    """Counts events and shows them."""

    total: int
    stream: IO[str] | None = None
    file: Path | None = None
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    found: int = 0
    failed: int = 0
    running: dict[str, str] = field(default_factory=dict)
    _bar: DelayedBar | None = None
    _handle: IO[str] | None = None
    _begun: float = 0.0
    _shown: float = float("-inf")

    def __enter__(self) -> Progress:
        self._begun = self.clock()
        make = find_bar(self.stream)
        self._bar = None if make is None else DelayedBar(make, self.total)
        _SHOWN.append(self)
        if self.file is not None:
            with contextlib.suppress(OSError):
                self.file.parent.mkdir(parents=True, exist_ok=True)
                self._handle = self.file.open("a", encoding="utf-8")
        self._write("plan", "")
        return self

    def __exit__(self, *error: object) -> None:
        _SHOWN.remove(self)
        if self._bar is not None:
            self._bar.close(self.summary())
        if self.stream is not None:
            self.stream.write(f"{self.summary()}\n")
            self.stream.flush()
        self._write("end", "", interrupted=error[0] is not None)
        if self._handle is not None:
            with contextlib.suppress(OSError):
                self._handle.close()

    def __call__(self, event: str, node: Node, text: str) -> None:
        """Take in an event of a schedule."""
        if event == "started":
            self.running[node.key] = node.name
        else:
            self.running.pop(node.key, None)
        self.done += (event in ("done", "found")) - (event == "lost")
        self.found += event == "found"
        self.failed += event in ("failed", "blocked")
        self._write(event, node.name, text=text, labels=dict(node.labels))
        if event in LOUD:
            self._say(f"{node.name}: {event}: {text}")
        self._show(self.status())

    def rate(self) -> float:
        """Nodes per second since the beginning, without those that were found."""
        spent = self.clock() - self._begun
        return (self.done - self.found) / spent if spent > 0 else 0.0

    def status(self) -> str:
        """Return the line that is shown while work goes on.

        >>> Progress(64, done=12, failed=1, clock=lambda: 0.0).status()
        '12 of 64 done, 1 failed'
        """
        parts = [f"{self.done} of {self.total} done"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        rate = self.rate()
        left = self.total - self.done - self.failed
        if rate > 0 and left:
            parts.append(f"{rate:.3g}/s, {duration(left / rate)} left")
        if self.running:
            names = list(self.running.values())
            parts.append("now: " + ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else ""))
        return ", ".join(parts)

    def summary(self) -> str:
        """Return the closing line."""
        kept = f" ({self.found} found in the store)" if self.found else ""
        bad = f", {self.failed} failed" if self.failed else ""
        return f"{self.done} of {self.total} done{kept}{bad} in {duration(self.clock() - self._begun)}"

    def note(self, text: str) -> bool:
        """Show a line of progress from inside a node in the bar; False where there is no bar."""
        if self._bar is not None:
            self._bar.show(self.done, f"{self.done} of {self.total} done, {text}")
        return self._bar is not None

    def _say(self, line: str) -> None:
        """Print a line that stays."""
        if self.stream is None:
            return
        if self._bar is not None:
            self._bar.print(line, self.stream)
        else:
            self.stream.write(f"{line}\n")
            self.stream.flush()

    def _show(self, status: str) -> None:
        """Show how far it is: in the bar, or now and then as a line."""
        if self._bar is not None:
            self._bar.show(self.done, status)
        elif self.stream is not None and self.clock() - self._shown >= QUIET:
            self._shown = self.clock()
            self._say(status)

    def _write(self, event: str, name: str, **more: Any) -> None:
        if self._handle is None:
            return
        record = {"time": time.time(), "event": event, "name": name, "total": self.total}
        record |= {"done": self.done, "found": self.found, "failed": self.failed, **more}
        try:
            self._handle.write(json.dumps(record, ensure_ascii=False) + "\n")
            self._handle.flush()
        except OSError:  # a full disk must not end work that could still be reported
            self._handle = None


_SHOWN: list[Progress] = []
"""Work that is being done in this process, the innermost last."""


def note(text: str) -> bool:
    """Show a line from inside a node in the bar of the work that it belongs to; False where this process has none."""
    return bool(_SHOWN) and _SHOWN[-1].note(text)


@contextlib.contextmanager
def pulse(text: str) -> Iterator[None]:
    """Show that something is being done of which no number is known, where somebody looks on and it takes long."""
    make = None if _SHOWN else find_bar(None)
    bar = None if make is None else DelayedBar(make, 0)
    try:
        if bar is not None:
            bar.show(0, text)
        yield
    finally:
        if bar is not None:
            bar.close()


def told(parts: Iterable[str], total: int, unit: str, *, first_prepares: bool = False) -> Iterator[str]:
    """Pass on the names of parts as they are done, and show on the error stream how far it is: a bar, or lines.

    Where the first part prepares what the others use, the time that it takes says nothing about theirs.
    """
    begun = said = time.monotonic()
    make = find_bar(None)
    bar = None if make is None else DelayedBar(make, total)
    try:
        for done, part in enumerate(parts, start=1):
            now = time.monotonic()
            if done == first_prepares:
                begun = now
            elif done < total:
                left = duration((now - begun) / (done - first_prepares) * (total - done))
                line = f"{done} of {total} {unit} ({part}), {left} left"
                if bar is not None:
                    bar.show(done, line)
                elif now - said >= QUIET:
                    said = now
                    sys.stderr.write(f"{line}\n")
            yield part
    finally:
        if bar is not None:
            bar.close(f"{total} {unit}")


def duration(seconds: float) -> str:
    """Return a length of time for a person.

    >>> duration(0.4), duration(75), duration(7300)
    ('0.4 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
