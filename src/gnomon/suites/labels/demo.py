"""The part of ``gnomon demo`` that shows ``labels``."""

from __future__ import annotations

from pathlib import Path

from gnomon.core.suite import Step


def steps(folder: Path, quick: bool) -> list[Step]:
    """Generate data, score two given systems on it, then fit and test three built-in ones."""
    data = folder / "data"
    files = {name: str(data / f"{name}.csv") for name in ("truth", "strong", "weak")}
    score = {
        "truth": files["truth"],
        "predictions": (f"strong={files['strong']}", f"weak={files['weak']}"),
        "slice": ("placement",),
        "out": str(folder / "runs"),
    }
    size = {"groups": 12, "rows": 60} if quick else {"groups": 40, "rows": 500}
    run = {"truth": files["truth"], "folds": 4, "out": str(folder / "built-in")}
    return [Step("simulate", {"directory": str(data), **size}), Step("score", score), Step("run", run)]
