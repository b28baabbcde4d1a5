"""Benchmarks ``counting`` and ``intervals`` keep their promised ratios."""

import json
import subprocess
import sys

from acceptance.support import ROOT, Promise

COUNTING = {"confusion-3": (100, 4), "confusion-87": (40, 12)}
"""Least ratio to the peer, and most multiples of one read of both arrays."""


def rows(name: str) -> list[dict]:
    peers = ROOT / ".venv-peers" / "bin" / "python"
    command = [sys.executable, "-m", "benchmarks", name, "--json", "--peers", str(peers)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"   {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    promise = Promise()
    for row in rows("counting"):
        if row["name"] in COUNTING and row["n"] == 10_000_000:
            ratio, reads = COUNTING[row["name"]]
            what = f"{row['name']}, 1e7 uint8 labels, {1e3 * row['ours_s']:.2f} ms"
            promise.at_least(f"{what}: times {row['peer']} {row['peer_version']}", row["ratio"], ratio)
            promise.at_most(f"{what}: multiples of one read", row["reads"], reads)
    (row,) = rows("intervals")
    promise.at_most("10,000 resamples, 87 classes, 40 groups: CPU-seconds", row["cpu_s"], 0.2)
    promise.at_least(f"times {row['peer']} {row['peer_version']}", row["ratio"], 3)
    promise.close()


if __name__ == "__main__":
    main()
