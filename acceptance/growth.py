"""A hundred times as many units take at most 110 times as long, for every measure that takes data part by part.

``python -m acceptance.growth [NAME...]``. Each point is that of the benchmark ``growth``: a process of its own that
scores shards of data that lie in memory (where there is room), warm, from 1e6 to 1e8 units, with a peak of memory below
1 GB. The few are scored in the same minutes as the many, which are held meanwhile: machines change their pace.
"""

import argparse
import sys

from benchmarks.growth import FACTOR, point
from benchmarks.harness import BenchmarkError
from benchmarks.sharding import plural
from benchmarks.streams import STREAMS

from acceptance.support import Promise

MOST_TIMES, MOST_MB = 110, 1000


def check(promise: Promise, name: str, largest: int) -> None:
    """Measure the largest size and a hundredth of it."""
    unit, found = plural(STREAMS[name].unit), point(name, largest, compared=largest)
    what = (
        f"{name}: {largest // FACTOR:.0e} {unit} {found['few_s']:.3g} s (mean of {found['few_turns']}), "
        f"{largest:.0e} {found['seconds']:.3g} s (of {found['turns']}): times"
    )
    promise.at_most(what, found["times"], MOST_TIMES)
    promise.at_most(f"{name}: peak memory, MB", found["peak_mb"], MOST_MB)


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
