"""Retrieval: several times faster than sorting, in bounded memory, and exact under ties.

Speed is the benchmark ``retrieval``. Memory is what the system counted in a process of its own: the highest, less what
the process held before the call. Ties are compared with a count over all pairs in float64, on vectors of few whole
numbers that repeat; the score itself with a sum over the places of every block.
"""

import json
import subprocess
import sys

import numpy as np

from acceptance.speed_of_counting_and_intervals import rows
from acceptance.support import ROOT, Promise
from gnomon.measures.retrieval import evaluate, rankings

LEAST_RATIO, MOST_EXTRA_MB, MOST_MB = 4, 300, 2000
N, MANY, WIDTH = 10_000, 100_000, 256
TIED = 4_000

CALL = """
import json, resource, sys, time
import numpy as np
from gnomon.measures.retrieval import evaluate

n, width = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
queries, candidates = (rng.standard_normal((n, width), dtype=np.float32) for _ in range(2))
evaluate(queries=queries[:9], candidates=candidates[:9])
with open("/proc/self/statm") as file:
    before = int(file.read().split()[1]) * resource.getpagesize() / 2**20
start = time.perf_counter()
result = evaluate(queries=queries, candidates=candidates)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"before_mb": before, "peak_mb": peak, "seconds": seconds, "mrr": result["mrr"]}))
"""


def call(n: int) -> dict:
    """Score ``n`` random queries among as many candidates in a process of its own."""
    command = [sys.executable, "-c", CALL, str(n), str(WIDTH)]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def tied() -> tuple[int, float, int]:
    """Return how many queries are counted wrongly, how far MRR is off, and how many queries are tied."""
    rng = np.random.default_rng(1)
    pool = rng.integers(-1, 2, (TIED // 4, 24))
    candidates, queries = pool[rng.integers(0, len(pool), TIED)], rng.integers(-1, 2, (TIED, 24))
    given = {"queries": queries.astype(np.float32), "candidates": candidates.astype(np.float32), "metric": "dot"}
    similarity = queries.astype(np.float64) @ candidates.T.astype(np.float64)
    own = np.diagonal(similarity)[:, np.newaxis]
    greater, equal = (similarity > own).sum(axis=1), (similarity == own).sum(axis=1)
    found, result = rankings(**given), evaluate(**given)
    want = np.mean([(1 / np.arange(g + 1, g + e + 1)).mean() for g, e in zip(greater, equal, strict=True)])
    wrong = int(((found.greater != greater) | (found.equal != equal)).sum())
    return wrong, abs(result["mrr"] - want), int((equal > 1).sum())


def main() -> None:
    promise = Promise()
    for row in rows("retrieval"):
        what = f"{row['n']:,} x {row['n']:,}, {row['width']}-d, {row['ours_s']:.2f} s, equal ranks: times {row['peer']}"
        if row["n"] == N:
            promise.at_least(f"{what} ({row['peer_s']:.1f} s)", row["ratio"], LEAST_RATIO)
        else:
            print(f"         {what} ({row['peer_s']:.2f} s): {row['ratio']:.1f}")
    small = call(N)
    extra = small["peak_mb"] - small["before_mb"]
    promise.at_most(f"{N:,} x {N:,} by cosine, {small['seconds']:.2f} s: extra memory in MB", extra, MOST_EXTRA_MB)
    wrong, off, ties = tied()
    promise.at_most(f"{TIED:,} queries, {ties:,} of them tied: counted otherwise than in float64", wrong, 0)
    promise.at_most("the same: MRR off by", off, 1e-12)
    large = call(MANY)
    what = f"{MANY:,} x {MANY:,}, {WIDTH}-d, {large['seconds']:.0f} s: peak memory of the process in MB"
    promise.at_most(what, large["peak_mb"], MOST_MB)
    promise.close()


if __name__ == "__main__":
    main()
