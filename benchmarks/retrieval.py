"""Scores of retrieval against sorting: every similarity by one product, ``argsort`` of each row, ranks looked up in it.

Vectors hold whole numbers from -127 to 127 as float32, so that dot products are exact on both sides and ranks must be
equal. Where a query's own candidate ties with another, the sort puts them in whatever order; such queries are drawn
again. Ours is the whole of ``evaluate``, with tie-aware MRR, top-k and median rank; the peer stops at ranks. Both use
the threads of the product that numpy uses by default. Memory: see ``acceptance/retrieval.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.harness import Context, Row, burst, in_turns

from gnomon.measures.retrieval import evaluate, rankings

SIZES = [(10_000, 256), (2_000, 256)]


def rows(context: Context) -> Iterator[Row]:
    for n, width in SIZES[1:] if context.quick else SIZES:
        yield compare(context, n, width)


def compare(context: Context, n: int, width: int) -> Row:
    """Time one size: as many queries as candidates."""
    queries, candidates = vectors(n, width)
    given = {"queries": queries, "candidates": candidates}
    with context.peer("retrieval", given) as peer:
        peer.expect(rankings(**given, metric="dot").greater + 1)
        best = in_turns(3, ours=burst(lambda: evaluate(**given, metric="dot"), 3), peer=peer.burst(1))
    extras = {"width": width, "peer_version": peer.version}
    return Row(f"retrieval-{n}", n, best["ours"], peer.name, best["peer"], extras)


def vectors(n: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw queries and candidates without ties at a query's own candidate."""
    rng = np.random.default_rng(0)
    queries, candidates = (rng.integers(-127, 128, (n, width)).astype(np.float32) for _ in range(2))
    left = np.arange(n)
    while left.size:
        tied = []
        for part in np.array_split(left, -(-left.size // 500)):
            found = queries[part] @ candidates.T
            tied.append(part[(found == found[np.arange(len(part)), part][:, np.newaxis]).sum(axis=1) > 1])
        left = np.concatenate(tied)
        queries[left] = rng.integers(-127, 128, (left.size, width))
    return queries, candidates
