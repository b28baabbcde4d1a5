"""A hundred times as many units take at most 110 times as long, for every measure that takes data part by part.

``python -m acceptance.growth [NAME...]``. Each point is that of the benchmark ``growth``: a process of its own that
scores shards on disk, warm, from 1e6 to 1e8 units, with a peak of memory below 1 GB. The few are measured before and
after the many, and their mean counts: machines change their pace.
"""

import argparse
import sys

from benchmarks.growth import point
from benchmarks.harness import BenchmarkError
from benchmarks.sharding import plural
from benchmarks.streams import STREAMS

from acceptance.support import Promise

FACTOR, MOST_TIMES, MOST_MB = 100, 110, 1000


def check(promise: Promise, name: str, largest: int) -> None:
    """Measure the largest size and a hundredth of it."""
    stream = STREAMS[name]
    before, many, after = (point(name, n) for n in (largest // FACTOR, largest, largest // FACTOR))
    few = {key: (before[key] + after[key]) / 2 for key in ("seconds", "cpu_s", "peak_mb")}
    what = (
        f"{name}: {largest // FACTOR:.0e} {plural(stream.unit)} {before['seconds']:.3g} and {after['seconds']:.3g} s, "
        f"{largest:.0e} {many['seconds']:.3g} s ({few['cpu_s']:.3g} and {many['cpu_s']:.3g} CPU-s): times"
    )
    promise.at_most(what, many["seconds"] / few["seconds"], MOST_TIMES)
    promise.at_most(f"{name}: peak memory, MB ({few['peak_mb']:.0f} for few)", many["peak_mb"], MOST_MB)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m acceptance.growth", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(STREAMS)} (all)")
    parser.add_argument("--most", type=float, default=1e8, metavar="N", help="largest size, to try it out")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in STREAMS]:
        parser.error(f"no measure {unknown[0]!r}; there are {', '.join(STREAMS)}")
    promise = Promise()
    for name in given.names or STREAMS:
        try:
            check(promise, name, min(int(given.most), STREAMS[name].most))
        except BenchmarkError as error:
            promise.figure(f"{name}: measured", str(error), "yes", holds=False)
    promise.close()


if __name__ == "__main__":
    sys.exit(main())
