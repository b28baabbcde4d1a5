"""The demonstration of ``change``: rooms are generated, detectors run over them, one of them is taken apart."""

from __future__ import annotations

from pathlib import Path

from gnomon.core.suite import Step


def steps(folder: Path, quick: bool) -> list[Step]:
    """Return the commands: simulate, run."""
    rooms = {"rooms": 3, "points": 12_000} if quick else {"rooms": 8}
    data = str(folder / "rooms")
    tested = {"data_path": data, "part": "all", "out": str(folder / "runs")}
    return [Step("simulate", {"directory": data, **rooms}), Step("run", tested)]
