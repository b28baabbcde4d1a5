"""The laws hold for every registered measure; fuzzed files raise only the project's own errors."""

import re
import subprocess
import sys

from acceptance.support import ROOT, Promise
from gnomon.core import registry
from gnomon.testing import LAWS, check

SEEDS = 500


def main() -> None:
    promise = Promise()
    measures = registry.measures()
    broken = [text for measure in measures for seed in range(SEEDS) for text in check(measure, seed)]
    for text in broken[:5]:
        print(f"   {text}")
    what = f"broken laws ({len(measures)} measures x {len(LAWS)} laws x {SEEDS} drawn inputs)"
    promise.figure(what, len(broken), "0", not broken)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/fuzz"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    last = done.stdout.strip().splitlines()[-1]
    passed = re.search(r"(\d+) passed", last)
    promise.figure(
        "fuzz tests of csv, tsv, jsonl, parquet, npz, json", last, "all pass", done.returncode == 0 and bool(passed)
    )
    promise.close()


if __name__ == "__main__":
    main()
