"""The published figures of the skeleton test file, in both its forms; fusion; the strict variant and why it differs.

Needs the file: GNOMON_REAL_DATA names the folder that holds ``skeleton/small.npz`` and ``small.pkl``.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import gnomon
from acceptance.support import Promise

FIGURES = {"mpjpe": 80.529, "pa_mpjpe": 37.093, "pelvis_mpjpe": 62.271}
"""Millimetres."""


def millimetres(result: gnomon.Result) -> dict[str, float]:
    (scores,) = result.scores.values()
    return {name: 1000 * (scores[name] or 0.0) for name in FIGURES}


def main() -> None:
    folder = Path(os.environ.get("GNOMON_REAL_DATA", "")) / "skeleton"
    if not (folder / "small.npz").is_file():
        print("   untried: GNOMON_REAL_DATA does not name a folder with skeleton/small.npz")
        sys.exit(0)
    promise = Promise()
    for name in ("small.npz", "small.pkl"):
        for mode in ("seq_lidar_ref", "multi_sensor"):
            result = gnomon.run("skeleton", pred_file=str(folder / name), projection_mode=mode, out="none")
            found = millimetres(result)
            off = max(abs(found[key] - FIGURES[key]) for key in FIGURES)
            said = ", ".join(f"{key} {value:.3f}" for key, value in found.items())
            promise.at_most(f"{name} {mode}: {said} mm, off by", off, 0.001)
            samples = result.runs[0].coverage["samples"]
            fine = samples["valid"] == 199 and samples["total"] == 240 and sum(samples["dropped"].values()) == 41
            promise.figure(f"{name} {mode}: dropped {samples['dropped']}", f"{samples['valid']}/240", "199/240", fine)
    many = {"pred_file": str(folder / "small.npz"), "projection_mode": "multi_sensor", "out": "none"}
    published = gnomon.run("skeleton", **many)
    with tempfile.TemporaryDirectory() as place:
        rigs = []
        for shift in (0.0, 0.1):
            path = Path(place) / f"{shift}.json"
            motion = np.eye(4)
            motion[:3, 3] = shift
            path.write_text(json.dumps({"rgb": motion.tolist()}))
            rigs.append(millimetres(gnomon.run("skeleton", **many, rig="file", rig_file=str(path)))["mpjpe"])
    facts = published.runs[0].manifest["facts"]
    promise.figure("published rig, fusion_effective", facts["fusion_effective"], "False", not facts["fusion_effective"])
    promise.at_least("a rig file that is moved by 0.1 m moves MPJPE by, mm", abs(rigs[1] - rigs[0]), 1.0)
    both = gnomon.run("skeleton", pred_file=str(folder / "small.npz"), variant="both", out="none")
    table = both.tables["variants"]
    gap = table.rows[0]["gap"].value
    promise.figure("strict - published, mm", f"{gap:.3f}", "not 0", isinstance(gap, float) and abs(gap) > 0.1)
    promise.figure("the report says why", len(table.notes), "at least 1", len(table.notes) >= 1)
    for note in table.notes:
        print(f"         {note}")
    promise.close()


if __name__ == "__main__":
    main()
