"""The part of ``gnomon demo`` that shows ``skeleton``."""

from __future__ import annotations

from pathlib import Path

from gnomon.core.suite import Step


def steps(folder: Path, quick: bool) -> list[Step]:
    """Generate two systems, score them as published and strictly, then run the published ablation on one."""
    data = folder / "data"
    files = {name: str(data / f"{name}.npz") for name in ("strong", "weak")}
    size = {"subjects": 6, "frames": 40} if quick else {"subjects": 8, "frames": 120}
    both = {"pred_file": tuple(f"{name}={path}" for name, path in files.items()), "variant": "both"}
    ablation = {"pred_file": (files["strong"],), "ablation": True, "out": str(folder / "ablation")}
    return [
        Step("simulate", {"directory": str(data), **size}),
        Step("score", {**both, "fps": 30.0, "out": str(folder / "runs")}),
        Step("run", ablation),
    ]
