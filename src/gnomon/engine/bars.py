"""A progress bar that appears when work takes longer than two seconds: on a terminal (rich), or in a notebook.

In a notebook the bar is an HTML element that is updated in place, by IPython alone: rich needs ipywidgets there, which
many notebooks lack. Nothing is imported before a bar appears.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from html import escape
from typing import IO, Any, Protocol

DELAY_S = 2.0
"""Seconds of work after which a bar appears."""
WIDTH = 24
"""Columns of the bar itself; text stands behind it."""


class Bar(Protocol):
    """What a bar can do."""

    def show(self, done: int, total: int, text: str) -> None:
        """Show how far it is; without a total, that something is being done."""

    def print(self, line: str) -> None:
        """Print a line that stays, above the bar."""

    def close(self, text: str) -> None:
        """Remove the bar; a notebook keeps the text in its place."""


class TerminalBar:
    """A bar in the last line of a terminal; what is printed meanwhile goes above it."""

    def __init__(self, stream: IO[str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
        console = Console(file=stream, force_jupyter=False, highlight=False)
        self._progress = Progress(BarColumn(WIDTH), text, console=console, transient=True)
        self._task = self._progress.add_task("")
        self._progress.start()

    def show(self, done: int, total: int, text: str) -> None:
        """Show how far it is."""
        self._progress.update(self._task, completed=done, total=total or None, description=text)

    def print(self, line: str) -> None:
        """Print a line that stays, above the bar."""
        self._progress.console.print(line, markup=False, soft_wrap=True)

    def close(self, text: str) -> None:
        """Remove the bar."""
        del text
        self._progress.stop()


class NotebookBar:
    """A bar below the cell of a notebook."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html: Callable[[str], Any] = HTML
        self._handle: Any = display(HTML(""), display_id=True)

    def show(self, done: int, total: int, text: str) -> None:
        """Show how far it is."""
        share = f' value="{done}" max="{total}"' if total else ""
        self._handle.update(self._html(f"<progress{share}></progress> {escape(text)}"))

    def print(self, line: str) -> None:
        """Print a line that stays."""
        sys.stderr.write(f"{line}\n")

    def close(self, text: str) -> None:
        """Put the text in the place of the bar."""
        self._handle.update(self._html(escape(text)))


def find_bar(stream: IO[str] | None) -> Callable[[], Bar] | None:
    """Return what makes a bar for a stream, or, without one, for the place where Python runs; None where none fits."""
    if stream is None and in_notebook():
        return NotebookBar
    target = sys.stderr if stream is None else stream
    return (lambda: TerminalBar(target)) if target is not None and target.isatty() else None


def in_notebook() -> bool:
    """Say whether this Python is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")


class DelayedBar:
    """A bar that is made when work has taken :data:`DELAY_S`, even while a single piece of it is being done."""

    def __init__(self, make: Callable[[], Bar], total: int) -> None:
        self._make, self._total = make, total
        self._last = (0, "")
        self._bar: Bar | None = None
        self._closed = False
        self._lock = threading.Lock()
        # The output of a thread belongs to the cell of a notebook by its context.
        self._timer = threading.Timer(DELAY_S, contextvars.copy_context().run, (self._open,))
        self._timer.daemon = True
        self._timer.start()

    def _open(self) -> None:
        with self._lock:
            if not self._closed:
                self._bar = self._make()
                self._bar.show(self._last[0], self._total, self._last[1])

    def show(self, done: int, text: str) -> None:
        """Show how far it is, now or when the bar appears."""
        with self._lock:
            self._last = (done, text)
            if self._bar is not None:
                self._bar.show(done, self._total, text)

    def print(self, line: str, stream: IO[str]) -> None:
        """Print a line that stays: above the bar, or to the stream while there is none."""
        with self._lock:
            if self._bar is not None:
                self._bar.print(line)
                return
        stream.write(f"{line}\n")
        stream.flush()

    def close(self, text: str = "") -> None:
        """Remove the bar; one that has not appeared never will."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._bar is not None:
                self._bar.close(text)
                self._bar = None
