"""Evaluations that are under way, from the files that the engine appends to while it works."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from gnomon.core.canonical import fingerprint
from gnomon.dashboard.library import Library

NAME = "progress.jsonl"
STORES = ("store", "")
TAIL = 1 << 18
"""Bytes at the end of a file that are looked at; further back only the beginning of the last plan is sought."""
QUIET = 300.0
"""Seconds without a word after which work that has not ended counts as stopped."""
RECENT = 3600.0
"""Seconds for which work that has stopped is shown."""
JUST = 300.0
"""Seconds for which work that has ended well is shown."""
PAUSE = 1.0
"""Seconds between looks."""
ALIVE = 15.0
"""Seconds between signs of life where nothing happens."""
LONGEST = 600.0
"""Seconds after which a stream ends; a browser that still looks asks again, one that is gone holds nothing."""


@dataclass(frozen=True)
class Work:
    """One evaluation: how far it is, what it is at, and whether it still goes on."""

    folder: str
    state: str
    """``running``, ``ended``, ``interrupted`` or ``quiet``."""
    done: int
    failed: int
    total: int
    now: tuple[str, ...]
    said: str
    at: float
    """When it was last heard of, in seconds since 1970."""
    begun: float


def under_way(library: Library, now: float | None = None) -> list[Work]:
    """Return what goes on below the folder, and what ended a while ago; the latest first."""
    moment = time.time() if now is None else now
    found = []
    for folder in library.folders():
        for store in STORES:
            path = folder / store / NAME if store else folder / NAME
            work = _read(path, folder.relative_to(library.root).as_posix(), moment)
            if work is not None and not (work.state == "ended" and moment - work.at > JUST):
                found.append(work)
    return sorted(found, key=lambda work: -work.at)


def _read(path: Path, folder: str, now: float) -> Work | None:
    try:
        if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
            return None
        if now - path.stat().st_mtime > RECENT:
            return None
        events = _tail(path)
    except OSError:
        return None
    return _summary(events, "" if folder == "." else folder, now) if events else None


def _tail(path: Path) -> list[Mapping[str, Any]]:
    """Return the events of the last plan that the end of a file holds."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL))
        lines = file.read(TAIL).split(b"\n")
    events: list[Mapping[str, Any]] = []
    for line in lines[1 if size > TAIL else 0 :]:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            event = msgspec.json.decode(line, type=dict[str, Any]) if line else {}
            if event.get("event") == "plan":
                events = []
            if isinstance(event.get("event"), str) and isinstance(event.get("time"), (int, float)):
                events.append(event)
    return events


def _summary(events: list[Mapping[str, Any]], folder: str, now: float) -> Work:
    counts = {"done": 0, "failed": 0, "total": 0}
    running: dict[str, None] = {}
    said, state = "", "running"
    for event in events:
        counts |= {key: event[key] for key in counts if isinstance(event.get(key), int)}
        kind, name = event["event"], str(event.get("name", ""))[:200]
        if kind == "started":
            running[name] = None
        elif kind == "told":
            said = f"{name}: {str(event.get('text', ''))[:200]}"
        elif name:
            running.pop(name, None)
        if kind == "end":
            state = "interrupted" if event.get("interrupted") else "ended"
    last = float(events[-1]["time"])
    if state == "running" and now - last > QUIET:
        state = "quiet"
    shown = tuple(running)[:8] if state == "running" else ()
    return Work(folder, state, **counts, now=shown, said=said if shown else "", at=last, begun=float(events[0]["time"]))


def _state(library: Library) -> tuple[list[Work], str]:
    """Return what goes on, and a mark that changes when the list of runs does."""
    keys = [item.key for item in library.listed()]
    return under_way(library), fingerprint([keys, library.marks()])


async def stream(library: Library) -> AsyncIterator[bytes]:
    """Send what goes on as server-sent events: at first, and whenever it or the list of runs changes; for a while."""
    before: tuple[list[Work], str] | None = None
    silent = 0.0
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        found = await asyncio.to_thread(_state, library)
        if found != before:
            data = msgspec.json.encode({"works": [asdict(work) for work in found[0]], "runs": found[1]})
            yield b"event: work\ndata: " + data + b"\n\n"
            before, silent = found, 0.0
        elif silent >= ALIVE:
            yield b": still here\n\n"
            silent = 0.0
        await asyncio.sleep(PAUSE)
        silent += PAUSE
