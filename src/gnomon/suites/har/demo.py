"""The demonstration of ``har``: a small truth table and predictions for it are written and scored."""

from __future__ import annotations

from pathlib import Path

from gnomon.core.suite import Step


def steps(folder: Path, quick: bool) -> list[Step]:
    """Return the commands: template, score."""
    del quick
    data = folder / "windows"
    given = {"truth": str(data / "truth.csv"), "predictions": (f"example={data / 'predictions.csv'}",)}
    return [Step("template", {"directory": str(data)}), Step("score", {**given, "out": str(folder / "runs")})]
