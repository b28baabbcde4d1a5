"""Fourteen simulated datasets in their native files: read back, audited and learned from; then simulated to real.

The last part needs GNOMON_REAL_DATA (the sample of MotionSense); without it, it says so.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from acceptance.support import Promise
from gnomon.suites.har.datasets import REGISTRY
from gnomon.suites.har.distributions import DISTRIBUTIONS
from gnomon.suites.har.vocabulary import TEST_LABELS, TRAIN_LABELS

SUBJECTS = 4
RATES = ("hhar", "mobiact", "vtt_coniot")


def gnomon(*words: str) -> str:
    command = [sys.executable, "-m", "gnomon", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read_back(promise: Promise, root: Path) -> None:
    """Check people, labels, rates and resting acceleration of every dataset as its loader reads it."""
    labels = {**TRAIN_LABELS, **TEST_LABELS}
    for name in DISTRIBUTIONS:
        for variant in ("published", "strict"):
            report = REGISTRY[name].check(root / name, variant)
            whole = set(report.labels) == set(labels[name]) and len(report.subjects) == SUBJECTS and not report.error
            rest = "nobody rests" if report.resting_ms2 is None else f"|a| {report.resting_ms2:.2f} m/s^2 at rest"
            rate = f"{report.rates_hz[1]:.4g} Hz" if report.rates_hz else "no recording"
            what = f"{name}, {variant}: {len(report.subjects)} people, {len(report.labels)} labels, {rate}, {rest}"
            promise.figure(what, report.recordings, "all labels, all people, no error", whole)


def audited(promise: Promise, runs: list) -> None:
    """Check that the audit says what is wrong with the datasets themselves."""
    published = {(f["id"], f["where"]) for run in runs if "published" in run["system"] for f in run["findings"]}
    for wanted in (("mixed-placements", "mhealth"), *(("stated-rate", name) for name in RATES)):
        promise.figure(f"the audit says {wanted[0]} of {wanted[1]}", int(wanted in published), "1", wanted in published)
    people = [f["evidence"] for run in runs for f in run["findings"] if f["id"] == "same-cohort"]
    found = bool(people) and all("uci_har" in text and "hapt" in text for text in people)
    promise.figure("the audit says that UCI HAR and HAPT are of the same people", len(people), "over 0", found)


def learned(promise: Promise, runs: list) -> None:
    """Compare learners with majority on the means of the main datasets."""
    for variant in ("published", "strict"):
        own = {run["system"].partition(" [")[0]: run for run in runs if variant in run["system"]}
        for metric in ("zs-closed", "sup-10"):
            values = {name: _score(run, f"accuracy[{metric}]")["value"] for name, run in own.items()}
            best = max(values, key=lambda name: values[name])
            text = f"{variant} {metric}: accuracy of {best} {100 * values[best]:.1f}"
            floor = values["majority"]
            promise.figure(text, values[best], f"over majority's {100 * floor:.1f}", values[best] > floor)


def for_real(promise: Promise, folder: Path) -> None:
    """Train on simulated DSADS and WISDM, test on real people."""
    data = os.environ.get("GNOMON_REAL_DATA")
    if not data:
        print("   GNOMON_REAL_DATA is not set: simulated to real was not checked")
        return
    root = folder / "mixed"
    gnomon("simulate", "har", str(root), "--datasets", "dsads,wisdm", "--subjects", "8", "--minutes", "6")
    (root / "motionsense.zip").symlink_to(Path(data) / "har" / "motionsense-subjects-01-10.zip")
    names = ("--data-root", str(root), "--train", "dsads,wisdm", "--test", "motionsense")
    given = ("--systems", "majority,random_forest", "--tasks", "zs-open,zs-closed", "--out", str(folder / "real"))
    runs = json.loads(gnomon("run", "har", *names, *given, "--json"))["runs"]
    for metric in ("zs-open", "zs-closed"):
        floor, own = (
            next(_score(run, f"accuracy[{metric}]") for run in runs if run["system"].startswith(name))
            for name in ("majority", "random_forest")
        )
        text = f"simulated to real, {metric}: random_forest {own['value']:.3f} [{own['low']:.3f}, {own['high']:.3f}]"
        promise.figure(text, own["low"], f"over majority's {floor['high']:.3f}", own["low"] > floor["high"])


def _score(run: dict, name: str) -> dict:
    return next(score for score in run["scores"] if score["name"] == name and score["slice"] == "all")


def main() -> None:
    promise = Promise()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        root, begun = folder / "data", time.perf_counter()
        gnomon("simulate", "har", str(root), "--subjects", str(SUBJECTS), "--minutes", "3")
        print(f"   fourteen datasets of {SUBJECTS} people written in {time.perf_counter() - begun:.0f} s", flush=True)
        read_back(promise, root)
        begun = time.perf_counter()
        given = ("--variant", "both", "--out", str(folder / "runs"), "--json")
        runs = json.loads(gnomon("run", "har", "--data-root", str(root), *given))["runs"]
        print(f"   four systems, four metrics, both variants in {time.perf_counter() - begun:.0f} s", flush=True)
        audited(promise, runs)
        learned(promise, runs)
        for_real(promise, folder)
    promise.close()


if __name__ == "__main__":
    main()
