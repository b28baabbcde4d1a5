"""Real people: DSADS and WISDM to MotionSense, four classical systems, four metrics, published and strict.

Needs GNOMON_REAL_DATA (samples of the original distributions); without it, it says so and makes no promise.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from acceptance.support import Promise

SYSTEMS = ("majority", "nearest_mean", "random_forest", "svm_rbf")
METRICS = ("zs-open", "zs-closed", "sup-1", "sup-10")
PLANNED = ("read-ranges-overlap", "shared-tag", "window-of-pieces", "tags-mixed")
"""What the audit must find in the published variant by itself."""
CLEAN = ("read-ranges-overlap", "shared-tag", "window-of-pieces", "exact-duplicates")
"""What it must not find in the strict one."""
LEARNERS = ("nearest_mean", "random_forest")


def gnomon(*words: str) -> str:
    command = [sys.executable, "-m", "gnomon", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    data = os.environ.get("GNOMON_REAL_DATA")
    if not data:
        print("   GNOMON_REAL_DATA is not set: nothing was checked")
        return
    promise = Promise()
    with tempfile.TemporaryDirectory() as folder:
        names = ("--data-root", str(Path(data) / "har"), "--train", "dsads,wisdm", "--test", "motionsense")
        begun = time.perf_counter()
        given = ("--profile", "cpu", "--variant", "both", "--folds", "5", "--out", folder)
        found = json.loads(gnomon("run", "har", *names, *given, "--json"))
        promise.at_most("minutes for four systems, four metrics, both variants", (time.perf_counter() - begun) / 60, 5)
        runs = {
            (run["system"].partition(" [")[0], run["system"].partition(" [")[2].rstrip("]")): run
            for run in found["runs"]
        }
        _table(runs)
        for system in LEARNERS:
            for metric in METRICS[1:]:
                own, floor = (_score(runs[name, "strict"], f"accuracy[{metric}]") for name in (system, "majority"))
                text = f"strict {metric}: accuracy of {system} {own['value']:.3f} [{own['low']:.3f}, {own['high']:.3f}]"
                promise.figure(text, own["low"], f"over majority's {floor['high']:.3f}", own["low"] > floor["high"])
        for ids, variant, wanted in ((PLANNED, "published", True), (CLEAN, "strict", False)):
            there = {finding["id"] for finding in runs["svm_rbf", variant]["findings"]}
            hits = [name for name in ids if name in there]
            bound = "all of them" if wanted else "none"
            promise.figure(
                f"{variant}: the audit names {', '.join(ids)}", len(hits), bound, len(hits) == len(ids) * wanted
            )
    promise.close()


def _score(run: dict, name: str) -> dict:
    return next(score for score in run["scores"] if score["name"] == name and score["slice"] == "all")


def _table(runs: dict) -> None:
    for variant in ("published", "strict"):
        for system in SYSTEMS:
            cells = []
            for metric in METRICS:
                accuracy, f1 = (_score(runs[system, variant], f"{kind}[{metric}]") for kind in ("accuracy", "macro_f1"))
                cells.append(f"{metric} {100 * accuracy['value']:.1f} / {100 * f1['value']:.1f}")
            print(f"   {variant:<9} {system:<13} accuracy / macro-F1: {', '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
