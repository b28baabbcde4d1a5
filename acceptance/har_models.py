"""Trained models on the fourteen simulated datasets: both variants, one seed, profile cpu; time, and over majority.

Which systems is said by GNOMON_ACCEPT_SYSTEMS (with commas); without it, all models that are built in. Needs the extra
``models``.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from acceptance.support import Promise

CLASSICAL = ("majority", "nearest_mean", "random_forest", "svm_rbf")
CLASSIFIERS = ("limubert", "crosshar", "moment")
ALIGNED = ("tsfm", "lanhar")
MAIN = ("motionsense", "realworld", "mobiact")
MOST_MINUTES = {len(CLASSIFIERS): 8.0, len(CLASSIFIERS) + len(ALIGNED): 15.0}
SIZE = ("--subjects", "14", "--minutes", "8")
"""So that a tenth of the labels is about a hundred windows, as little as in the smallest published set."""
EXPLAINED = {("crosshar", "published", "zs-closed"): "realworld"}
"""No gyroscope is in the published RealWorld, and CrossHAR is at chance without one; strict has both sensors."""


def gnomon(*words: str) -> str:
    command = [sys.executable, "-m", "gnomon", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    promise = Promise()
    if find_spec("torch") is None:
        sys.exit("   torch is not installed: pip install 'gnomon[models]'")
    given = os.environ.get("GNOMON_ACCEPT_SYSTEMS", ",".join((*CLASSIFIERS, *ALIGNED)))
    models = [name for name in given.split(",") if name]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        gnomon("simulate", "har", str(folder / "data"), *SIZE)
        begun = time.perf_counter()
        systems = ("--systems", ",".join((*CLASSICAL, *models)))
        where = ("--data-root", str(folder / "data"), "--out", str(folder / "runs"))
        found = json.loads(gnomon("run", "har", *where, *systems, "--variant", "both", "--profile", "cpu", "--json"))
        minutes = (time.perf_counter() - begun) / 60
        bound = MOST_MINUTES.get(len(models), 15.0)
        promise.at_most(f"minutes for {len(models)} models and {len(CLASSICAL)} classical systems", minutes, bound)
        runs = {(run["system"].partition(" [")[0], variant(run)): run for run in found["runs"]}
        promise.figure("runs that are whole", len(runs), "all", all(run["complete"] for run in found["runs"]))
        for name in models:
            for which in ("published", "strict"):
                judge(promise, runs, name, which)
    promise.close()


def judge(promise: Promise, runs: dict, name: str, which: str) -> None:
    """Compare a model with majority on every main dataset."""
    for metric in ("zs-closed", "sup-10"):
        if name in ALIGNED and metric != "zs-closed":
            continue
        pairs = {dataset: beside(runs, name, which, metric, dataset) for dataset in MAIN}
        apart = EXPLAINED.get((name, which, metric), "")
        judged = {dataset: pair for dataset, pair in pairs.items() if dataset != apart}
        shown = ", ".join(f"{dataset} {100 * a:.1f} / {100 * b:.1f}" for dataset, (a, b) in judged.items())
        won = sum(a > b for a, b in judged.values())
        what = f"{name} {which} {metric} over majority: {shown}"
        promise.figure(what, won, f"all {len(judged)}", won == len(judged))
        if apart:
            (a, b), (c, d) = pairs[apart], beside(runs, name, "strict", metric, apart)
            said = f"{name} {which} {metric} {apart}, without a gyroscope: {100 * a:.1f} / {100 * b:.1f}; with (strict)"
            promise.figure(said, f"{100 * c:.1f} / {100 * d:.1f}", "over majority with one", c > d)


def beside(runs: dict, name: str, which: str, metric: str, dataset: str) -> tuple[float, float]:
    """Return the accuracy of a model and of majority."""
    key = f"accuracy[{metric} {dataset}]"
    model, usual = (score(runs[system, which], key)["value"] for system in (name, "majority"))
    return model, usual


def variant(run: dict) -> str:
    return run["system"].partition(" [")[2].rstrip("]")


def score(run: dict, name: str) -> dict:
    return next(item for item in run["scores"] if item["name"] == name and item["slice"] == "all")


if __name__ == "__main__":
    main()
