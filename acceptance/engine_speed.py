"""Two processes against one on 64 equal CPU-bound cells: at least 1.7 times; a no-op cell costs under 5 ms inline."""

import tempfile
import time

from acceptance.support import Promise
from acceptance.toys import plan
from gnomon.engine.job import work
from gnomon.engine.options import EngineOptions

CELLS, ROUNDS, EMPTY = 64, 600_000, 500


def seconds(function: str, cells: int, executor: str, workers: int, **arguments: int) -> float:
    with tempfile.TemporaryDirectory() as temporary:
        options = EngineOptions(out=temporary, executor=executor, workers=workers)
        start = time.perf_counter()
        outcome = work(plan(function, cells, **arguments), options)
        elapsed = time.perf_counter() - start
    assert outcome.complete
    return elapsed


def main() -> None:
    promise = Promise()
    one, two = (min(seconds("spin", CELLS, "processes", n, rounds=ROUNDS) for _ in range(2)) for n in (1, 2))
    print(f"   {CELLS} cells: {one:.2f} s with 1 process, {two:.2f} s with 2")
    promise.at_least("2 processes against 1, times", one / two, 1.7)
    inline = min(seconds("nothing", EMPTY, "inline", 1) for _ in range(3))
    promise.at_most("no-op cell inline, ms", 1000 * inline / EMPTY, 5)
    pooled = min(seconds("nothing", EMPTY, "processes", 2) for _ in range(2))
    print(f"   no-op cell with 2 processes: {1000 * pooled / EMPTY:.2f} ms, starting them included")
    promise.close()


if __name__ == "__main__":
    main()
