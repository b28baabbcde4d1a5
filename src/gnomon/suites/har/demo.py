"""The demonstration of ``har``: fourteen datasets are simulated; systems learn from ten and are tested on four."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gnomon.core.suite import Step


def steps(folder: Path, quick: bool) -> list[Step]:
    """Return the commands: simulate, run; then windows predicted elsewhere: template, score."""
    size = {"subjects": 3, "minutes": 1.0} if quick else {"subjects": 6, "minutes": 3.0}
    data, windows = str(folder / "data"), folder / "windows"
    tested: dict[str, Any] = {"data_root": data, "variant": "both", "profile": "smoke" if quick else "cpu"}
    tested["out"] = str(folder / "runs")
    if find_spec("sklearn") is None:  # the extra `classical`: without it, those that need nothing
        tested["systems"] = ("majority,nearest_mean",)
    given = {"truth": str(windows / "truth.csv"), "predictions": (f"example={windows / 'predictions.csv'}",)}
    return [
        Step("simulate", {"directory": data, **size}),
        Step("run", tested),
        Step("template", {"directory": str(windows)}),
        Step("score", {**given, "out": str(folder / "scored")}),
    ]
