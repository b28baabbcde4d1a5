"""What long work may do while it is being done: keep what it has begun, and say how far it is.

A node's function runs inside :func:`doing`. There :func:`begun` is a folder that outlives the process: whoever does the
same node after a death or an interruption finds in it what was kept, and goes on from there. It goes when the node is
done, and when it fails by an error, since an error may come from what was kept. :func:`tell` shows a line of progress,
now and then. :func:`stopping` is an event at which it should end: an interruption reaches the main thread alone.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from gnomon.engine.progress import QUIET, note

FOLDER = "begun"


@dataclass
class _Doing:
    name: str
    store: Path
    key: str
    told: float = float("-inf")


_NOW: ContextVar[_Doing | None] = ContextVar("doing", default=None)
_STOP: ContextVar[Event | None] = ContextVar("stop", default=None)


@contextlib.contextmanager
def doing(store: Path, key: str, name: str) -> Iterator[None]:
    """Do a node: what it keeps is there until the block ends, unless the process dies or is interrupted."""
    token = _NOW.set(_Doing(name, store, key))
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException:
        shutil.rmtree(store / FOLDER / key, ignore_errors=True)
        raise
    else:
        shutil.rmtree(store / FOLDER / key, ignore_errors=True)
    finally:
        _NOW.reset(token)


def begun() -> Path | None:
    """Return the folder in which the node that is being done keeps what it has begun; None outside of one."""
    now = _NOW.get()
    if now is None:
        return None
    folder = now.store / FOLDER / now.key
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def stoppable(stop: Event) -> None:
    """Let what is done in this context be stopped by an event."""
    _STOP.set(stop)


def stopping() -> Event:
    """Return the event at which the node that is being done should end, by raising ``KeyboardInterrupt``."""
    return _STOP.get() or Event()


def tell(text: str) -> None:
    """Say how far the node is that is being done: on the terminal, and in the file that others follow."""
    now = _NOW.get()
    if now is None:
        return
    clock = time.monotonic()
    line = f"{now.name}: {text}"
    shown = note(line)
    if clock - now.told < QUIET:
        return
    now.told = clock
    if not shown:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    record = {"time": time.time(), "event": "told", "name": now.name, "text": text}
    with contextlib.suppress(OSError), (now.store / "progress.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")
