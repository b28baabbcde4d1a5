"""On held-out simulated rooms, every detector has a score with an interval by room, beside the trivial ones.

Twenty rooms are simulated; dgcnn is trained on the train part; all are tested on rooms that it has not seen. Whatever
the order is, it is printed; the promise is that the table is whole, that nothing leaked, and that the multi-stage
detector is told apart from doing nothing. ``--rooms N`` tries it on fewer.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from acceptance.support import ROOT, Promise

SYSTEMS = ("multi_stage", "distance", "icp", "dgcnn", "nothing", "everything")
SPLIT = "50/10/40"


def gnomon(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "gnomon", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"   gnomon {' '.join(arguments)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rooms", type=int, default=20)
    rooms = parser.parse_args([item for item in sys.argv[1:] if item != "detectors_on_rooms"]).rooms
    promise = Promise()
    there = importlib.util.find_spec("torch") is not None
    promise.figure("torch for dgcnn (pip install 'gnomon[models]')", "there" if there else "missing", "there", there)
    chosen = [name for name in SYSTEMS if there or name != "dgcnn"]
    with tempfile.TemporaryDirectory() as folder:
        data, runs = str(Path(folder) / "rooms"), str(Path(folder) / "runs")
        gnomon("simulate", "change", data, "--rooms", str(rooms))
        options = ("--data-path", data, "--split", SPLIT, "--systems", ",".join(chosen), "--out", runs)
        result = json.loads(gnomon("run", "change", *options, "--json"))
        print("\n".join(f"   {line}" for line in gnomon("report", runs, "--format", "markdown").splitlines()[:40]))
        for run in result["runs"]:
            score = run["scores"][0]
            low, high = score["low"], score["high"]
            span = "undefined" if low is None else f"[{low:.3f}, {high:.3f}]"
            what = f"{run['system']}: {score['name']} over {score['groups']} rooms, {score['n']} true boxes"
            promise.figure(what, f"{score['value']:.3f} {span}", "a value", score["value"] is not None)
            wrong = [finding["id"] for finding in run["findings"] if finding["severity"] == "error"]
            promise.figure(f"{run['system']}: findings that are errors", len(wrong), "0", not wrong)
        shown = json.loads(gnomon("compare", runs, "--against", "nothing", "--json"))
        row = next(row for row in shown["tables"][0]["rows"] if row["a"]["value"] == "multi_stage")
        low = row["difference"]["low"]
        promise.figure("multi_stage - nothing: lower end of the interval", f"{low:.3f}", "above 0", low > 0)
    promise.close()


if __name__ == "__main__":
    main()
