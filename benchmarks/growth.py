"""Growth of every measure that takes data part by part, from 1e4 to 1e8 units or 1e9: seconds, CPU, peak memory.

There is no peer. The data of :mod:`benchmarks.streams` are written into a folder, scored from there, and deleted. They
lie in memory (``/dev/shm``) where there is room and ``TMPDIR`` does not say otherwise: a system may drop files from its
cache at any time, and some drop what was not read for a minute, which slows down a long turn and never a short one.
``data_in`` says where they were, and ``disk_mb`` how much a turn read from a disk.

Each point is a process of its own, which first scores a little of the same, so that loading and compiling are not
counted; ``ours_s`` is the mean of its turns, of which there are as many as fill five seconds, 3 to 50 after one that
does not count, and fewer only where they would begin after 30 seconds. Not the best, nor the middle one: a long turn
has the good and the bad moments of a machine in it, and so should what it is compared with. From 1e8 on a hundredth of
the data is scored in the same minutes (:mod:`benchmarks.turns`), and ``times`` says how many times as long all of it
takes. ``cpu_s`` is the mean CPU time of these turns, all threads counted; ``peak_mb`` the largest memory of the process
during a turn (VmHWM). The caches of the processor are emptied before each turn: into them only the smallest data would
fit. A point whose units were not all scored is an error, not a row.

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
from benchmarks.storing import MEASURED, RESULTS, load, record, store, stored
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
"""Bytes that stay free where data go."""
MEMORY = Path("/dev/shm")
"""A file system that lies in memory."""
WORKING = 3e9
"""Bytes of memory that those who score have for themselves."""


def rows(context: Context) -> Iterator[Row]:
    for name in STREAMS:
        yield from curve(name, SIZES[:QUICK] if context.quick else SIZES)


def curve(name: str, sizes: Sequence[int] = SIZES) -> Iterator[Row]:
    """Measure one stream at every size that it is for."""
    for n in sizes:
        if STREAMS[name].least <= n <= STREAMS[name].most:
            yield row(name, n, point(name, n))


def again(name: str, folder: Path = RESULTS) -> None:
    """Measure a curve anew, in place of the one that is stored; the others say on which source they were measured."""
    before = load()
    new = [found.as_dict() for found in curve(name)]
    old = stored(folder)["growth"]
    when = {MEASURED: {key: old[key] for key in ("when", "commit", "changed")}}
    kept = [{**when, **held} for held in old["rows"] if held["measure"] != name]
    order = list(STREAMS)
    merged = sorted([*kept, *new], key=lambda held: order.index(held["measure"]))
    store(record("growth", merged, before, quick=False), folder)


def row(name: str, n: int, found: dict[str, Any]) -> Row:
    stream = STREAMS[name]
    extras = {"measure": name, "unit": stream.unit, "shards": len(sizes(n, stream.shard))}
    return Row(f"growth-{name}", n, found.pop("seconds"), None, None, {**extras, **found})


def point(name: str, n: int, folder: Path | None = None, compared: int = COMPARED) -> dict[str, Any]:
    """Measure one size of one stream, in data of its own, in ``folder`` if given, that are deleted after it."""
    stream = STREAMS[name]
    memory = None if folder else in_memory(stream, n)
    with tempfile.TemporaryDirectory(dir=folder or memory) as held:
        data = Path(held)
        check_room(stream, n, data)
        parts = {"small": SMALL, "many": n, **({"few": n // FACTOR} if n >= compared else {})}
        made = {part: written(stream, data / part, units) for part, units in parts.items()}
        os.sync()  # what was written is not still being written while it is scored
        with Scorer(name, data / "small", data / "many") as many:
            if "few" not in made:
                return {**mean(name, alone(many), made["many"]), "data_in": "memory" if memory else "temporary files"}
            with Scorer(name, data / "small", data / "few") as few:
                long, short = in_the_same_minutes(many, few)
    found, beside = mean(name, long, made["many"]), mean(name, short, made["few"])
    return {
        **found,
        "times": found["seconds"] / beside["seconds"],
        "few_s": beside["seconds"],
        "few_turns": beside["turns"],
        "data_in": "memory" if memory else "temporary files",
    }


def mean(name: str, turns: Sequence[Turn], units: int) -> dict[str, Any]:
    """Return what turns took on average, and the most memory of them."""
    if wrong := [turn.scored for turn in turns if turn.scored != units]:
        raise BenchmarkError(f"{name}: {wrong[0]:,} of {units:,} units were scored")
    return {
        "seconds": statistics.fmean(turn.seconds for turn in turns),
        "cpu_s": statistics.fmean(turn.cpu_s for turn in turns),
        "peak_mb": max(turn.peak_mb for turn in turns),
        "disk_mb": statistics.fmean(turn.disk_mb for turn in turns),
        "turns": len(turns),
    }


def in_memory(stream: Stream, n: int) -> Path | None:
    """Return the file system that lies in memory, where the data fit into it and leave room for who scores them."""
    if os.environ.get("TMPDIR"):
        return None
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")) * 1024
        free = min(shutil.disk_usage(MEMORY).free, available)
    except (OSError, StopIteration):
        return None
    return MEMORY if needed(stream, n) + WORKING <= free else None


def needed(stream: Stream, n: int) -> float:
    """Return the bytes of data, and what stays free."""
    return 1.2 * stream.bytes * n + SPARE


def check_room(stream: Stream, n: int, folder: Path) -> None:
    """Refuse to begin what does not fit on the disk."""
    free, wanted = shutil.disk_usage(folder).free, needed(stream, n)
    if free < wanted:
        raise BenchmarkError(
            f"{n:,} {plural(stream.unit)} need {wanted / 1e9:.1f} GB, but {free / 1e9:.1f} GB are free: "
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
