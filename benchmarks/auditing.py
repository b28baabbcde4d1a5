"""Checks of the audit on a million samples, and near duplicates by cells beside all pairs; CPU seconds, one thread.

There is no peer. Samples are windows of two thousand recordings, a fifth of them tests, with a few equal digests;
vectors are noisy oscillations of which a hundred come twice, nearly. A neighbour that all pairs give and cells do not
is an error, not a row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from benchmarks.harness import BenchmarkError, Context, Row

from gnomon.core.samples import Samples
from gnomon.core.seeds import generator

MILLION = 1_000_000
VECTORS, QUERIES, LENGTH, COPIES = 50_000, 10_000, 120, 100
QUICK = 50
"""How many times less where it has to be quick."""
EMBARGO_S, RADIUS = 5.0, 0.1
ROUNDS = 3


def rows(context: Context) -> Iterator[Row]:
    less = QUICK if context.quick else 1
    yield from checks(MILLION // less)
    yield near(QUERIES // less, VECTORS // less)


def checks(n: int) -> Iterator[Row]:
    """Time the checks that read a table of samples."""
    from gnomon.audit.duplicates import exact_duplicates
    from gnomon.audit.people import shared_tags
    from gnomon.audit.ranges import read_ranges

    held = samples(n)
    calls: dict[str, Callable[[], Any]] = {
        "audit-ranges": lambda: read_ranges(held, embargo=EMBARGO_S),
        "audit-digests": lambda: exact_duplicates(held),
        "audit-subjects": lambda: shared_tags(held, ["subject"]),
    }
    for name, call in calls.items():
        yield Row(name, n, min(cpu_s(call)[0] for _ in range(ROUNDS)), None, None, {"unit": "sample"})


def near(queries: int, vectors: int) -> Row:
    """Time the search for near duplicates by cells, and by all pairs."""
    from gnomon.audit.near import Vectors, all_pairs, by_cells

    drawn = waves(vectors + queries)
    drawn[:COPIES] = drawn[-COPIES:] + 1e-4
    left, right = Vectors(drawn[vectors:]), Vectors(drawn[:vectors])
    turns = [cpu_s(lambda: by_cells(left, right, RADIUS)) for _ in range(ROUNDS)]
    slow, expected = cpu_s(lambda: all_pairs(left, right, RADIUS))
    missed = int((turns[0][1][0][expected[0] >= 0] < 0).sum())
    if missed:
        raise BenchmarkError(f"near duplicates: cells miss {missed} of {int((expected[0] >= 0).sum())}")
    extras = {"unit": f"vector of {LENGTH}", "among": vectors, "all_pairs_s": slow}
    return Row("audit-near", queries, min(turn[0] for turn in turns), None, None, extras)


def samples(n: int) -> Samples:
    """Draw windows of recordings."""
    rng = generator(1, "million")
    start = rng.uniform(0, n / 10, n)
    span = np.stack([start, start + 2], axis=1)
    recording = tuple(f"r{code}" for code in rng.integers(0, 2000, n).tolist())
    digests = tuple(f"{value:064x}" for value in rng.integers(0, 1000 * n, n).tolist())
    parts = tuple(np.where(rng.random(n) < 0.8, "train", "test").tolist())
    ids = tuple(map(str, range(n)))
    return Samples(ids, recording, parts, span, span + 3, digests, {"subject": recording})


def waves(n: int) -> np.ndarray:
    """Draw windows of noisy oscillation, as unit vectors."""
    rng = generator(2, "waves")
    rate, phase = rng.uniform(0.4, 3, (n, 1)), rng.uniform(0, 2 * np.pi, (n, 1))
    drawn = np.sin(2 * np.pi * rate * np.arange(LENGTH) / 20 + phase) + 0.1 * rng.standard_normal((n, LENGTH))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def cpu_s(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and what it made."""
    start = time.process_time()
    made = call()
    return time.process_time() - start, made
