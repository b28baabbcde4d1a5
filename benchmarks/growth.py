"""Growth of every measure that takes data part by part, from 1e4 to 1e8 units or 1e9: seconds, CPU, peak memory.

There is no peer. The data of :mod:`benchmarks.streams` are written into a folder, scored from there, and deleted. Each
point is a process of its own, which first scores a little of the same, so that loading and compiling are not counted;
``ours_s`` is the mean of its turns, of which there are as many as fill five seconds, 3 to 50 after one that does not
count, and fewer only where they would begin after 30 seconds. Not the best, nor the middle one: a long turn has the
good and the bad moments of a machine in it, and so should what it is compared with. ``cpu_s`` is the mean CPU time of
these turns, all threads counted; ``peak_mb`` the largest memory of the process during a turn (VmHWM). Files were just
written, so that they are read from memory where they fit into it, and not from the caches of the processor, which are
emptied before each turn: into them only the smallest would fit. A point whose units were not all scored is an error,
not a row.

``python -m benchmarks.growth NAME N`` measures one point, of any size; without a size, the whole curve is measured
anew, in place of the one that is stored.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness import FOLDER, BenchmarkError, Context, Row
from benchmarks.sharding import Stream, plural, sizes, written
from benchmarks.storing import RESULTS, load, record, store, stored
from benchmarks.streams import STREAMS

SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
QUICK = 2
"""Sizes that are measured where it has to be quick."""
SMALL = 4_000
"""Units that are scored first."""
TURNS, MOST_TURNS = 3, 50
FILL_S, ENOUGH_S = 5.0, 30.0
"""Seconds that turns fill, and after which none begins."""
CACHES = 1 << 27
"""Bytes that push everything else out of the caches of a processor."""
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


def point(name: str, n: int, folder: Path | None = None) -> dict[str, Any]:
    """Measure one size of one stream, in data of its own that are deleted after it; ``folder`` is where they go."""
    stream = STREAMS[name]
    with tempfile.TemporaryDirectory(dir=folder) as held:
        data = Path(held)
        check_room(stream, n, data)
        made = {part: written(stream, data / part, units) for part, units in (("small", SMALL), ("data", n))}
        os.sync()  # what was written is not still being written while it is scored
        command = [sys.executable, "-m", "benchmarks.growth", "--folder", name, held]
        done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"{name}, {n:,} units: {done.stderr.strip()[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if (scored := found.pop("scored")) != made["data"]:
        raise BenchmarkError(f"{name}: {scored:,} of {made['data']:,} units were scored")
    return found


def check_room(stream: Stream, n: int, folder: Path) -> None:
    """Refuse to begin what does not fit on the disk."""
    free, needed = shutil.disk_usage(folder).free, 1.2 * stream.bytes * n + SPARE
    if free < needed:
        raise BenchmarkError(
            f"{n:,} {plural(stream.unit)} need {needed / 1e9:.1f} GB, but {free / 1e9:.1f} GB are free: "
            "set TMPDIR to a larger disk"
        )


def measured(name: str, folder: Path) -> dict[str, Any]:
    """Score what was written, in turns; this is what the process of a point does."""
    stream = STREAMS[name]
    stream.score(folder / "small")
    turns: list[tuple[float, float]] = []
    peaks = []
    while another(len(turns), sum(wall for wall, _ in turns)):
        empty_caches()
        wall, cpu = time.perf_counter(), time.process_time()
        scored = stream.score(folder / "data")
        turns.append((time.perf_counter() - wall, time.process_time() - cpu))
        peaks.append(peak_mb())
    counted = turns[1:] or turns
    seconds, cpu_s = (sum(part) / len(counted) for part in zip(*counted, strict=True))
    return {"seconds": seconds, "cpu_s": cpu_s, "peak_mb": max(peaks), "turns": len(counted), "scored": scored}


def empty_caches() -> None:
    """Fill the caches of the processor with something else, and begin to measure the peak of memory anew."""
    np.ones(CACHES, np.uint8)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def another(turns: int, elapsed: float) -> bool:
    """Say whether there is another turn after so many that took so long.

    >>> another(0, 0.0), another(3, 9.0), another(4, 9.0), another(9, 1.0), another(51, 1.0), another(1, 60.0)
    (True, True, False, True, False, False)
    """
    if turns <= TURNS:
        return not turns or elapsed < ENOUGH_S
    return turns <= MOST_TURNS and elapsed < FILL_S


def peak_mb() -> float:
    """Return the largest memory of this process, so far or since it was last asked to forget it.

    ``ru_maxrss`` would count that of the one that started it.
    """
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e6


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--folder"]:
        print(json.dumps(measured(arguments[1], Path(arguments[2]))))
        return 0
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
