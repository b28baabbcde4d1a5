"""Every leak that a check is for, planted in generated data, is found; the clean twin of each gives no finding.

Then: how often the checks that decide by chance are right over many draws, and what a million samples cost.
``--markdown`` prints the tables as they stand in docs/audit.md.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from acceptance.support import Promise
from gnomon.audit import CHECKS
from gnomon.audit.duplicates import exact_duplicates
from gnomon.audit.near import Vectors, all_pairs, by_cells
from gnomon.audit.people import shared_tags
from gnomon.audit.ranges import read_ranges
from gnomon.core.samples import Samples
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.testing.planted import DRAWN, PLANTED, Outcome, tables

DRAWS, LEAST_FOUND, MOST_ALARMS = 100, 0.98, 0.02
MILLION, MOST_CPU_S = 1_000_000, 8.0
VECTORS, QUERIES, LENGTH = 50_000, 10_000, 120


def plain(rows: Sequence[tables.Row]) -> str:
    """Lay a table out for a terminal."""
    lines = [tuple(text.replace("`", "") for text in line) for line in (tables.CASES, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    laid = ("  ".join(f"{text:{w}}" for text, w in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(f"   {line}".rstrip() for line in laid)


def planted(promise: Promise, outcomes: Sequence[Outcome]) -> None:
    n = len(outcomes)
    found = sum(outcome.found is not None for outcome in outcomes)
    clean = sum(not outcome.clean for outcome in outcomes)
    declared = {(check.id, finding) for check in CHECKS.values() for finding in check.finds}
    there = {(case.check, case.finding) for case in PLANTED}
    promise.figure("planted faults found", f"{found} of {n}", "all", found == n)
    promise.figure("clean twins without a finding", f"{clean} of {n}", "all", clean == n)
    text = f"{len(declared & there)} of {len(declared)}"
    promise.figure("findings of checks that have a planted case", text, "all", declared == there)


def drawn(promise: Promise) -> None:
    for name, make in DRAWN.items():
        found = sum(any(finding.id == name for finding in make(True, seed)) for seed in range(DRAWS))
        alarms = sum(bool(make(False, seed)) for seed in range(DRAWS))
        promise.at_least(f"{name}: found in {DRAWS} draws", found / DRAWS, LEAST_FOUND)
        promise.at_most(f"{name}: false alarms in {DRAWS} clean draws", alarms / DRAWS, MOST_ALARMS)


def million() -> Samples:
    """Windows of two thousand recordings, a fifth of them tests, with a few equal digests."""
    rng = generator(1, "million")
    start = rng.uniform(0, 1e5, MILLION)
    span = np.stack([start, start + 2], axis=1)
    recording = tuple(f"r{code}" for code in rng.integers(0, 2000, MILLION).tolist())
    digests = tuple(f"{value:064x}" for value in rng.integers(0, 10**9, MILLION).tolist())
    parts = tuple(np.where(rng.random(MILLION) < 0.8, "train", "test").tolist())
    ids = tuple(map(str, range(MILLION)))
    return Samples(ids, recording, parts, span, span + 3, digests, {"subject": recording})


def waves(n: int) -> Array:
    """Windows of noisy oscillation, as unit vectors."""
    rng = generator(2, "waves")
    rate, phase = rng.uniform(0.4, 3, (n, 1)), rng.uniform(0, 2 * np.pi, (n, 1))
    rows = np.sin(2 * np.pi * rate * np.arange(LENGTH) / 20 + phase) + 0.1 * rng.standard_normal((n, LENGTH))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = call()
    return time.process_time() - start, made


def speed(promise: Promise) -> None:
    samples = million()
    calls: dict[str, Callable[[], Any]] = {
        "read ranges with an embargo": lambda: read_ranges(samples, embargo=5),
        "equal digests": lambda: exact_duplicates(samples),
        "shared subjects": lambda: shared_tags(samples, ["subject"]),
    }
    for name, call in calls.items():
        promise.at_most(f"{name} over {MILLION:,} samples, CPU seconds", seconds(call)[0], MOST_CPU_S)
    rows = waves(VECTORS + QUERIES)
    rows[:100] = rows[-100:] + 1e-4
    left, right = Vectors(rows[VECTORS:]), Vectors(rows[:VECTORS])
    fast, found = seconds(lambda: by_cells(left, right, 0.1))
    slow, expected = seconds(lambda: all_pairs(left, right, 0.1))
    sizes = f"{QUERIES:,} x {VECTORS:,} vectors of {LENGTH}"
    hits = int((expected[0] >= 0).sum())
    recall = float(np.mean(found[0][expected[0] >= 0] >= 0))
    promise.at_least(f"near duplicates by cells, {sizes}: recall of {hits} that all pairs give", recall, 1.0)
    promise.at_least(f"all pairs {slow:.1f} CPU seconds, by cells {fast:.1f}: ratio", slow / fast, 3.0)


def main() -> None:
    outcomes = [case.outcome() for case in PLANTED]
    rows = tables.cases(outcomes)
    if "--markdown" in sys.argv[1:]:
        print(tables.markdown(tables.CASES, rows), tables.markdown(tables.SAID, tables.said(outcomes)), sep="\n\n")
        return
    print(plain(rows), end="\n\n")
    promise = Promise()
    planted(promise, outcomes)
    drawn(promise)
    speed(promise)
    promise.close()


if __name__ == "__main__":
    main()
