"""The hidden-Markov recogniser beats the threshold one on people that it was not trained on, by a paired test.

Twenty-four generated people; every one is tested with a recogniser trained on the others, through the command line.
With twelve people the test told them apart for eight of ten other seeds, the trained one ahead in all of them.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from acceptance.support import Promise

MEASURES = ("event_macro_f1", "time_macro_f1")
PEOPLE = 24
SEED = "21"
"""People that had no part in any choice of settings."""


def gnomon(*words: str) -> str:
    command = [sys.executable, "-m", "gnomon", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    promise = Promise()
    with tempfile.TemporaryDirectory() as folder:
        gnomon("simulate", "events", folder, "--subjects", str(PEOPLE), "--minutes", "10", "--seed", SEED)
        truth = sorted(str(path) for path in (Path(folder) / "walking").glob("*.json"))
        runs = str(Path(folder) / "runs")
        both = ("--recognizers", "threshold-walker,hmm-walker", "--leave-out", "subject", "--out", runs)
        found = json.loads(gnomon("run", "events", *both, *truth, "--json"))
        findings = [
            f["id"]
            for run in found["runs"]
            for f in run["findings"]
            if f["id"].startswith(("exact-duplicates", "read-ranges-overlap", "shared-tag"))
        ]
        promise.figure("people", len(truth), str(PEOPLE), len(truth) == PEOPLE)
        promise.figure("findings of training on test data", len(findings), "0", not findings)
        for measure in MEASURES:
            shown = json.loads(gnomon("compare", runs, "--metrics", measure, "--json"))
            (row,) = shown["tables"][0]["rows"]
            scores = {run["system"]: {s["name"]: s["value"] for s in run["scores"]}[measure] for run in found["runs"]}
            text = f"{measure}: {row['a']['value']} {max(scores.values()):.3f}, other {min(scores.values()):.3f}"
            difference = row["difference"]
            text += f", A - B {difference['value']:.3f} [{difference['low']:.3f}, {difference['high']:.3f}]"
            won = row["a"]["value"] == "hmm-walker" and difference["low"] > 0
            promise.figure(
                text, f"p {row['p']['value']:.4f}", "hmm-walker ahead, p < 0.05", won and row["p"]["value"] < 0.05
            )
    promise.close()


if __name__ == "__main__":
    main()
