"""A user's own metric from one file (Matthews correlation) appears in the printed table, JSON, compare and LaTeX.

The file is written into an empty folder and given to ``gnomon score labels --metrics``; nothing below ``src`` is
edited. The value is compared with that of scikit-learn.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.csv
from sklearn.metrics import matthews_corrcoef

from acceptance.support import Promise

CLOSEST = 1e-12
"""Largest difference to scikit-learn's value."""
CLASS = """
import numpy as np
from gnomon.core.measure import Scored
from gnomon.measures.classification import ClassCounts


class Mcc(ClassCounts):
    bounds = (-1.0, 1.0)

    def score(self, totals, frozen=None):
        true, said, n = (np.asarray(totals[field], dtype=np.float64) for field in ("truth", "predicted", "n"))
        together = n * totals["tp"].sum(axis=-1) - (true * said).sum(axis=-1)
        spread = (n**2 - (true**2).sum(axis=-1)) * (n**2 - (said**2).sum(axis=-1))
        return Scored.ratio(together, np.sqrt(spread))
"""
SYSTEMS = ("strong", "weak")


def gnomon(folder: Path, *words: str) -> str:
    """Return what a command prints in a folder."""
    command = [sys.executable, "-m", "gnomon", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout


def expected(folder: Path) -> dict[str, float]:
    """Return scikit-learn's value of every system."""
    tables = {name: pyarrow.csv.read_csv(folder / f"data/{name}.csv").to_pylist() for name in ("truth", *SYSTEMS)}
    by_id = {name: {row["id"]: row["label"] for row in rows} for name, rows in tables.items()}
    truth = by_id["truth"]
    return {
        name: float(matthews_corrcoef(list(truth.values()), [by_id[name][key] for key in truth])) for name in SYSTEMS
    }


def main() -> None:
    """Show every figure; exit with 1 where one falls short."""
    promise = Promise()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mcc.py").write_text(CLASS)
        gnomon(folder, "simulate", "labels", "data", "--groups", "20", "--rows", "60")
        given = [word for name in SYSTEMS for word in ("--predictions", f"{name}=data/{name}.csv")]
        scoring = ("score", "labels", "--metrics", "mcc.py:Mcc,macro_f1", "--truth", "data/truth.csv", *given)
        right = expected(folder)

        printed = gnomon(folder, *scoring, "--out", "runs")
        heading = next(line for line in printed.splitlines() if line.lstrip().startswith("system")).split()
        shown = heading[heading.index("groups") + 1 :]
        promise.figure("printed columns", " ".join(shown), "mcc ↑ macro f1 ↑", " ".join(shown) == "mcc ↑ macro f1 ↑")

        record = json.loads(gnomon(folder, *scoring, "--out", "none", "--json"))
        values = {run["system"]: {s["name"]: s["value"] for s in run["scores"]}["mcc"] for run in record["runs"]}
        (first, *_) = record["tables"]
        columns = [column["key"] for column in first["columns"]][3:]
        promise.figure("columns in JSON", " ".join(columns), "mcc macro_f1", columns == ["mcc", "macro_f1"])
        for system in SYSTEMS:
            apart = abs(values[system] - right[system])
            text = f"{system}: {values[system]:.6f}, difference to scikit-learn"
            promise.figure(text, f"{apart:.1e}", f"{CLOSEST:g}", apart <= CLOSEST)

        compared = json.loads(gnomon(folder, "compare", "runs", "--metrics", "mcc.py:Mcc", "--json"))["tables"][0][
            "rows"
        ]
        difference = compared[0]["difference"]
        apart = abs(difference["value"] - (right["strong"] - right["weak"]))
        text = f"compare: A - B {difference['value']:.3f} [{difference['low']:.3f}, {difference['high']:.3f}], apart by"
        promise.figure(
            text, f"{apart:.1e}", f"{CLOSEST:g}", compared[0]["measure"]["value"] == "mcc" and apart <= CLOSEST
        )

        latex = gnomon(folder, "report", "runs", "--format", "latex")
        promise.figure("LaTeX names the metric", latex.count("mcc"), "at least 1", "mcc" in latex)
        promise.figure(
            "LaTeX shows the value", f"{right['strong']:.3f}", "in the table", f"{right['strong']:.3f}" in latex
        )

        (folder / "mcc.py").unlink()
        again = gnomon(folder, "report", "runs")
        promise.figure(
            "stored value without the file",
            f"{right['strong']:.3f}",
            "in the report",
            f"{right['strong']:.3f}" in again,
        )
    promise.close()


if __name__ == "__main__":
    main()
