"""Growth of every measure that takes data part by part, from 1e4 to 1e8 units or 1e9: seconds, CPU, peak memory.

There is no peer. The data of :mod:`benchmarks.streams` are written into a folder, scored from there, and deleted. Each
point is a process of its own, which first scores a little of the same, so that loading and compiling are not counted;
``ours_s`` is the mean of its turns, of which there are as many as fill five seconds, 3 to 50 after one that does not
count, and fewer only where they would begin after 30 seconds. Not the best, nor the middle one: a long turn has the
good and the bad moments of a machine in it, and so should what it is compared with. From 1e8 on a hundredth of the data
is scored in the same minutes (:mod:`benchmarks.turns`), and ``times`` says how many times as long all of it takes.
``cpu_s`` is the mean CPU time of these turns, all threads counted; ``peak_mb`` the largest memory of the process during
a turn (VmHWM). Files were just written, so that they are read from memory where they fit into it, and not from the
caches of the processor, which are emptied before each turn: into them only the smallest would fit. A point whose units
were not all scored is an error, not a row.

``python -m benchmarks.growth NAME N`` measures one point, of any size; without a size, the whole curve is measured
anew, in place of the one that is stored.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import BenchmarkError, Context, Row
from benchmarks.sharding import Stream, plural, sizes, written
from benchmarks.storing import RESULTS, load, record, store, stored
from benchmarks.streams import STREAMS
from benchmarks.turns import Scorer, Turn, alone, in_the_same_minutes

SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
QUICK = 2
"""Sizes that are measured where it has to be quick."""
SMALL = 4_000
"""Units that are scored first."""
FACTOR, COMPARED = 100, 100_000_000
"""From how many units on a point is compared with so many times fewer."""
SPARE = 1e9
"""Bytes that stay free on the disk."""


def rows(context: Context) -> Iterator[Row]:
    for name in STREAMS:
        yield from curve(name, SIZES[:QUICK] if context.quick else SIZES, context.folder)


def curve(name: str, sizes: Sequence[int] = SIZES, folder: Path | None = None) -> Iterator[Row]:
    """Measure one stream at every size that it is for."""
    for n in sizes:
        if n <= STREAMS[name].most:
            yield row(name, n, point(name, n, folder))


def again(name: str, folder: Path = RESULTS) -> None:
    """Measure a curve anew, in place of the one that is stored."""
    before = load()
    new = [found.as_dict() for found in curve(name)]
    kept = [held for held in stored(folder)["growth"]["rows"] if held["measure"] != name]
    order = list(STREAMS)
    merged = sorted([*kept, *new], key=lambda held: order.index(held["measure"]))
    store(record("growth", merged, before, quick=False), folder)


def row(name: str, n: int, found: dict[str, Any]) -> Row:
    stream = STREAMS[name]
    extras = {"measure": name, "unit": stream.unit, "shards": len(sizes(n, stream.shard))}
    return Row(f"growth-{name}", n, found.pop("seconds"), None, None, {**extras, **found})


def point(name: str, n: int, folder: Path | None = None, compared: int = COMPARED) -> dict[str, Any]:
    """Measure one size of one stream, in data of its own that are deleted after it; ``folder`` is where they go."""
    stream = STREAMS[name]
    with tempfile.TemporaryDirectory(dir=folder) as held:
        data = Path(held)
        check_room(stream, n, data)
        parts = {"small": SMALL, "many": n, **({"few": n // FACTOR} if n >= compared else {})}
        made = {part: written(stream, data / part, units) for part, units in parts.items()}
        os.sync()  # what was written is not still being written while it is scored
        with Scorer(name, data / "small", data / "many") as many:
            if "few" not in made:
                return mean(name, alone(many), made["many"])
            with Scorer(name, data / "small", data / "few") as few:
                long, short = in_the_same_minutes(many, few)
    found, beside = mean(name, long, made["many"]), mean(name, short, made["few"])
    return {
        **found,
        "times": found["seconds"] / beside["seconds"],
        "few_s": beside["seconds"],
        "few_turns": beside["turns"],
    }


def mean(name: str, turns: Sequence[Turn], units: int) -> dict[str, Any]:
    """Return what turns took on average, and the most memory of them."""
    if wrong := [turn.scored for turn in turns if turn.scored != units]:
        raise BenchmarkError(f"{name}: {wrong[0]:,} of {units:,} units were scored")
    return {
        "seconds": statistics.fmean(turn.seconds for turn in turns),
        "cpu_s": statistics.fmean(turn.cpu_s for turn in turns),
        "peak_mb": max(turn.peak_mb for turn in turns),
        "turns": len(turns),
    }


def check_room(stream: Stream, n: int, folder: Path) -> None:
    """Refuse to begin what does not fit on the disk."""
    free, needed = shutil.disk_usage(folder).free, 1.2 * stream.bytes * n + SPARE
    if free < needed:
        raise BenchmarkError(
            f"{n:,} {plural(stream.unit)} need {needed / 1e9:.1f} GB, but {free / 1e9:.1f} GB are free: "
            "set TMPDIR to a larger disk"
        )


def main(arguments: list[str]) -> int:
    if len(arguments) == 1 and arguments[0] in STREAMS:
        again(arguments[0])
        return 0
    if len(arguments) != 2 or arguments[0] not in STREAMS:
        print(
            f"usage: python -m benchmarks.growth NAME [N], where NAME is one of {', '.join(STREAMS)}", file=sys.stderr
        )
        return 2
    print(json.dumps(row(arguments[0], n := int(float(arguments[1])), point(arguments[0], n)).as_dict()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
