"""A day at 100 Hz on 6 channels in one JSON list, plain and packed: recognised and scored in bounded memory.

The day holds walks that a recogniser finds whole, late, in two parts or not at all, and shakes that are no walks, so
that every second of its result is known from how the day was written. The peak is that of the whole process tree, as
seen ten times a second and as the system counts it, from the hashing of the file to the published run.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

import gnomon
from acceptance.support import Promise

SECONDS, RATE, MOST_MB = 24 * 3600, 100, 300
RECORDS, FREE_BYTES = SECONDS * RATE, 3_000_000_000
BANK = 5000
FORKED_NOT_EXECUTED = 0x40

RECOGNIZER = '''
import numpy as np

REST = np.array([0, 0, 9.81, 0, 0, 0])

class Energy:
    """Calls every second "walk" in which the mean square distance from rest is over 1; holds one second at a time."""

    def __init__(self):
        self.results, self.second, self.total, self.count = [], None, 0.0, 0

    def process(self, recs):
        energy = ((np.array([r["values"] for r in recs]) - REST) ** 2).sum(axis=1)
        seconds = np.array([r["time"] for r in recs]).astype(int)
        starts = np.flatnonzero(np.diff(seconds, prepend=seconds[0] - 1))
        counts = np.diff([*starts, len(seconds)])
        for second, total, count in zip(seconds[starts].tolist(), np.add.reduceat(energy, starts), counts):
            if second != self.second:
                self.close()
                self.second, self.total, self.count = second, 0.0, 0
            self.total, self.count = self.total + total, self.count + count

    def close(self):
        if self.count and self.total / self.count > 1:
            if self.results and self.results[-1]["t2"] == self.second:
                self.results[-1]["t2"] = self.second + 1
            else:
                self.results.append({"t1": self.second, "t2": self.second + 1, "label": "walk"})

    def detected(self, time_range=None):
        self.close()
        self.second, self.total, self.count = None, 0.0, 0
        return self.results

    def labels(self):
        return ["walk"]
'''


class Day(NamedTuple):
    """What happens in the day: true walks, seconds in which the sensor moves, and what scoring has to find."""

    walks: list[tuple[int, int]]
    moving: set[int]
    seconds: Counter
    events: Counter


def plan(rng: np.random.Generator) -> Day:
    """Lay out walks of 8 to 300 s; some start late, some pause, some are not felt, and some gaps hold a shake."""
    day, at = Day([], set(), Counter(), Counter()), 0
    while (start := at + int(rng.integers(20, 300))) + 330 < SECONDS:
        end = start + int(rng.integers(8, 300))
        kind = str(rng.choice(["C", "C", "C", "late", "F", "D"]))
        felt = {"late": range(start + 2, end), "D": range(0)}.get(kind, range(start, end))
        pause = range(start + 3, start + 5) if kind == "F" else range(0)
        moving = set(felt) - set(pause)
        shake = range(end + 10, end + 13) if rng.random() < 0.2 else range(0)
        day.walks.append((start, end))
        day.moving.update(moving, shake)
        lost = {"late": "Us", "F": "F", "D": "D"}.get(kind, "D")
        day.seconds.update({"TP": len(moving), lost: end - start - len(moving), "I": len(shake)})
        day.events.update({"C" if kind == "late" else kind: 1, "F'": 2 * (kind == "F"), "I'": bool(shake)})
        at = shake.stop if shake else end
    return day


def bank(rng: np.random.Generator, spread: float) -> list[str]:
    """Readings as text, ready to follow a time: an even hand adds little, a walk much."""
    values = rng.normal((0, 0, 9.81, 0, 0, 0), spread, (BANK, 6))
    return [', "type": "imu", "values": [' + ", ".join(f"{v:.5f}" for v in row) + "]}" for row in values.tolist()]


def write(file: IO[bytes], day: Day, rng: np.random.Generator) -> None:
    """Write the day as one list, a minute at a time."""
    rest, walk = bank(rng, 0.05), bank(rng, 2.0)
    for minute in range(0, SECONDS, 60):
        rows = []
        for second in range(minute, minute + 60):
            tails, first = walk if second in day.moving else rest, int(rng.integers(BANK - RATE))
            rows += [f'{{"time": {second}.{i:02d}{tails[first + i]}' for i in range(RATE)]
        file.write((b"[" if minute == 0 else b",\n") + ",\n".join(rows).encode())
    file.write(b"]\n")


def tree(root: int) -> Iterator[int]:
    """Give a process and those that it started, as far as they still are there."""
    yield root
    try:
        children = Path(f"/proc/{root}/task/{root}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from tree(int(child))


def resident_mb(pid: int) -> float:
    """Return what a process holds; nothing while it is still the double, in the same memory, of who starts it."""
    try:
        flags = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[6])
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return 0.0 if flags & FORKED_NOT_EXECUTED else pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measured(command: list[str]) -> tuple[int, float, float]:
    """Return the exit code, the peak of the process tree in MB and the CPU-seconds of a command."""
    process, peak = subprocess.Popen(command, stdout=subprocess.DEVNULL), 0.0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            peak = max(peak, usage.ru_maxrss * 1024 / 1e6)
            return process.returncode, peak, usage.ru_utime + usage.ru_stime
        peak = max(peak, sum(map(resident_mb, tree(process.pid))))
        time.sleep(0.1)


def check(promise: Promise, folder: Path, day: Day) -> None:
    """Compare the published run with what the day was made of."""
    run = gnomon.load(folder).runs[0]
    positive = sum(day.seconds[name] for name in ("TP", "Us", "F", "D"))
    totals = {"TP": positive, "Us": positive, "F": positive, "D": positive, "I": SECONDS - positive}
    wrong = {}
    for name, total in totals.items():
        score = run.find(f"{name}r[walk]")
        if score is None or score.value is None or abs(score.value - day.seconds[name] / total) > 1e-12:
            wrong[name] = score and score.value
    row = gnomon.api.present([run]).tables["outcomes"].rows[0]
    found = {name: row[name].value for name in ("C", "D", "F", "F'", "I'")}
    wrong |= {name: count for name, count in found.items() if count != day.events[name]}
    shown = ", ".join(f"{name} {count}" for name, count in found.items())
    promise.figure("events, and seconds by category", shown, "as the day was written", not wrong and run.complete)


def main() -> None:
    promise, rng = Promise(), np.random.default_rng(2012)
    if shutil.disk_usage(tempfile.gettempdir()).free < FREE_BYTES:
        sys.exit(f"   needs {FREE_BYTES / 1e9:g} GB in {tempfile.gettempdir()}; free them or set TMPDIR")
    with tempfile.TemporaryDirectory() as temporary:
        folder, day = Path(temporary), plan(rng)
        (folder / "energy.py").write_text(RECOGNIZER)
        labels = [{"t1": start, "t2": end, "label": "walk"} for start, end in day.walks]
        for name in ("day.json", "day.json.gz"):
            raw = folder / "raw" / name
            raw.parent.mkdir(exist_ok=True)
            packed = name.endswith(".gz")
            with gzip.open(raw, "wb", compresslevel=1) if packed else raw.open("wb") as file:
                write(file, day, rng)
            size = raw.stat().st_size / 1e6
            truth = folder / "truth.json"
            truth.write_text(json.dumps({"data_path": f"raw/{name}", "t1": 0, "t2": SECONDS, "labels": labels}))
            command = [sys.executable, "-m", "gnomon", "run", "events", "--recognizers", f"{folder}/energy.py:Energy"]
            code, peak, cpu = measured([*command, "--out", str(folder / f"runs-{name}"), str(truth)])
            what = f"{name}, {RECORDS:,} records in {size:.0f} MB"
            promise.figure(f"{what}: exit code", code, "0", code == 0)
            promise.at_most(f"{what}: peak MB", peak, MOST_MB)
            print(f"   {what}: {cpu:.1f} CPU-seconds, {RECORDS / cpu:,.0f} records per CPU-second", flush=True)
            if code == 0:
                check(promise, folder / f"runs-{name}", day)
            raw.unlink()
    promise.close()


if __name__ == "__main__":
    main()
