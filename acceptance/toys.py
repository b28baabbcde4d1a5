"""Work for the engine's acceptance scripts; workers import it by name."""

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.engine.plan import Limits, Node, Plan


def nothing(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Do nothing."""


def nap(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Sleep, then write; every beginning is logged by one atomic append."""
    handle = os.open(arguments["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{arguments['index']}\n".encode())
    os.close(handle)
    time.sleep(arguments["seconds"])
    (out / "result").write_text(str(arguments["index"]))


def spin(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Use a fixed amount of CPU."""
    digest = b""
    for _ in range(arguments["rounds"]):
        digest = hashlib.sha256(digest).digest()
    (out / "result").write_bytes(digest)


def block(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Write some bytes."""
    (out / "result").write_bytes(arguments["index"].to_bytes(8, "little") * (arguments["bytes"] // 8))


def array(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Write an array by numpy, whose error on a full disk has no number."""
    np.save(out / "result.npy", np.full(arguments["bytes"] // 8, arguments["index"]))


def plan(function: str, count: int, **arguments: Any) -> Plan:
    """Return a plan of equal cells."""
    limits = Limits(retries=0)
    return Plan(
        Node(f"cell {i}", f"acceptance.toys:{function}", {"index": i, **arguments}, limits=limits) for i in range(count)
    )
