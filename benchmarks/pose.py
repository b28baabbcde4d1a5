"""MPJPE, PA-MPJPE and pelvis-centred MPJPE together, against an SVD per sample and against batched SVDs.

Skeletons are float32, standing, with an error of about 5 cm per axis. Both peers are plain numpy: a loop that aligns
one sample at a time, as evaluation scripts do, and the same in chunks of 4,096 samples through one batched SVD each.
All work in float64 and in one thread. The loop is timed on fewer samples, and ours on the same; its time grows with
them. The three means must agree to a nanometre. ``per_sample_us`` is the time of ours for one sample.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.harness import Context, Row, burst, in_turns

from gnomon.numerics.procrustes import align

JOINTS = (17, 24)
LOOPED, BATCHED = 20_000, 1_000_000


def rows(context: Context) -> Iterator[Row]:
    for joints in JOINTS:
        yield compare(context, "loop", LOOPED // 10 if context.quick else LOOPED, joints)
        yield compare(context, "batched", BATCHED // 20 if context.quick else BATCHED, joints)


def compare(context: Context, peer_name: str, n: int, joints: int) -> Row:
    """Time one peer at one size."""
    truth, prediction = skeletons(n, joints)
    with context.peer(f"pose_{peer_name}", {"truth": truth, "prediction": prediction}) as peer:
        peer.expect(means(truth, prediction))
        best = in_turns(
            3 if context.quick else 5,
            ours=burst(lambda: align(truth, prediction, alignments=("none", "root", "similarity")), 5),
            peer=peer.burst(1),
        )
    extras = {"joints": joints, "per_sample_us": best["ours"] / n * 1e6, "peer_version": peer.version}
    return Row(f"pose-{joints}-{peer_name}", n, best["ours"], peer.name, best["peer"], extras)


def means(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Return the three means in whole nanometres."""
    sums = align(truth, prediction, alignments=("none", "root", "similarity")).sums
    return np.array([round(sums[kind].mean() / truth.shape[1] * 1e9) for kind in ("none", "similarity", "root")])


def skeletons(n: int, joints: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((n, joints, 3), dtype=np.float32) * np.array([0.2, 0.2, 0.5], np.float32)
    return truth, truth + np.float32(0.05) * rng.standard_normal(truth.shape, dtype=np.float32)
