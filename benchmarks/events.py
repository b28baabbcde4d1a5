"""Ward's categories of time and events, against ``ward-metrics``, and the growth of ours to a million events.

The peer is quadratic in segments and cubic in events, so it is timed at 1,000 events only, once. Its result is compared
by the durations of the segment categories in whole milliseconds on non-abutting events, where both define the same.
``cpu_s`` is the CPU time of ours; ``peak_mb`` the largest memory of a process that does nothing else.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
from benchmarks.harness import Context, Row, burst

from gnomon.measures.events import evaluate

ORDER = ("TP", "D", "F", "Us", "Ue", "I", "M", "Os", "Oe")
SIZES = ((100_000, 20), (1_000_000, 20), (1_000_000, 1000))


def rows(context: Context) -> Iterator[Row]:
    yield against_peer(context, 100 if context.quick else 1000)
    for n, classes in SIZES[:1] if context.quick else SIZES:
        yield growth(n, classes)


def against_peer(context: Context, n: int) -> Row:
    """Binary events that neither overlap nor abut."""
    rng = np.random.default_rng(0)
    truth, returned = (stretches(n, rng) for _ in range(2))
    window = (0.0, float(max(truth[1].max(), returned[1].max())) + 1.0)
    arrays = {"truth": np.stack(truth, axis=1), "returned": np.stack(returned, axis=1)}
    with context.peer("events", arrays, window=list(window)) as peer:
        durations = evaluate(truth, returned, window=window)["classes"]["event"]["durations"]
        peer.expect(np.array([round(durations[name] * 1000) for name in ORDER]))
        ours = burst(lambda: evaluate(truth, returned, window=window), 30)()
        theirs = peer.burst(1)()
    return Row("ward-binary", n, ours, peer.name, theirs, {"classes": 1, "peer_version": peer.version})


def growth(n: int, classes: int) -> Row:
    """One recording of many classes, from arrays in random order."""
    command = [sys.executable, "-m", "benchmarks.events", str(n), str(classes)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    wall, cpu, peak = (float(word) for word in done.stdout.split())
    return Row(f"ward-{classes}-classes", n, wall, None, None, {"classes": classes, "cpu_s": cpu, "peak_mb": peak})


def stretches(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sorted stretches with gaps, in whole milliseconds."""
    steps = rng.integers(200, 3000, (n, 2))
    edges = np.cumsum(steps.ravel()).reshape(n, 2) / 1000
    return edges[:, 0].copy(), edges[:, 1].copy()


def measure(n: int, classes: int) -> None:
    """Print wall seconds, CPU seconds and peak memory of the second of two evaluations."""
    import resource

    rng = np.random.default_rng(0)
    sides = []
    for _ in range(2):
        starts, ends = stretches(n, rng)
        order = rng.permutation(n)
        sides.append((starts[order], ends[order], rng.integers(0, classes, n)))
    window = (0.0, float(max(side[1].max() for side in sides)))
    for _ in range(2):
        wall, cpu = time.perf_counter(), time.process_time()
        evaluate(*sides, window=window)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)


if __name__ == "__main__":
    measure(int(sys.argv[1]), int(sys.argv[2]))
