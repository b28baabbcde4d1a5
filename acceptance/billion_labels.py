"""A thousand million point labels in shards on disk: scored in bounded memory at the speed of memory, or of the disk.

Truth and prediction are ``uint8``, so that 1e9 labels are 2 GB, all of which are counted. Rates are those of
``gnomon.score`` in a process that has scored something before; what starting Python and loading kernels costs is shown
beside it. Not cached means that the files were dropped from the page cache; how much the process then really read from
the disk is asked of the system. A plain read goes through the same files in the same order and does nothing with them.
The process may use two cores, and the middle one of several turns counts.

Memory that is free may belong to the host of a virtual machine, and getting it back may take far longer than reading.
So a plain read that is timed comes right after another one that is not: what that one had in the cache was dropped a
moment ago, and is at hand. A plain read past the cache is shown too, where there can be one; it has no bound.
"""

import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from acceptance.support import Promise

LABELS, SHARDS, CLASSES = 1_000_000_000, 20, 13
TURNS, GB = 8, 1e9
BLOCK, PAGE = 1 << 23, 4096
CHILD = """
import json, os, sys, time
begun = time.perf_counter()
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
import gnomon
from acceptance.billion_labels import TURNS, direct_read, dropped, plain_read
from benchmarks.turns import from_disks, peak_mb
folder = sys.argv[1]
def score(name=""):
    sides = f"{folder}/{name}truth", {"mine": f"{folder}/{name}said"}
    return gnomon.score("labels", *sides, out="none", executor="inline")
score("small-")
loaded = time.perf_counter() - begun
found = {"loaded": loaded}
def timed(key, work):
    before, begun = from_disks(), time.perf_counter()
    result = work()
    found[key] = time.perf_counter() - begun
    found[key + " from disk"] = from_disks() - before
    return result
result = score()
plain_read(folder)
for turn in range(TURNS):
    timed(f"cached {turn}", score)
works = {"plain": lambda: plain_read(folder), "uncached": score, "direct": lambda: direct_read(folder)}
try:
    direct_read(folder)
except (OSError, AttributeError):
    del works["direct"]
for turn in range(TURNS):
    for key, work in works.items():
        if key == "plain":
            plain_read(folder)
        dropped(folder)
        timed(f"{key} {turn}", work)
run = result.runs[0]
found["scored"] = run.coverage["rows"]["scored"]
found["accuracy"] = run.find("accuracy").value
found["memory"] = peak_mb()
print(json.dumps(found))
"""


def files(folder: str) -> list[Path]:
    """Return the shards of both sides, in the order in which they are read."""
    names = sorted(path.relative_to(Path(folder) / "truth") for path in (Path(folder) / "truth").rglob("*.npy"))
    return [Path(folder) / side / name for name in names for side in ("truth", "said")]


def dropped(folder: str) -> None:
    """Drop the files from the page cache."""
    for path in files(folder):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def plain_read(folder: str) -> int:
    """Read all files from beginning to end."""
    room, total = bytearray(BLOCK), 0
    for path in files(folder):
        with path.open("rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
            while got := file.readinto(room):
                total += got
    check(folder, total)
    return total


def direct_read(folder: str) -> int:
    """Read all files from beginning to end, past the page cache."""
    room, total = mmap.mmap(-1, BLOCK), 0
    for path in files(folder):
        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        while got := os.readv(file, [room]):
            total += got
            if got % PAGE:
                break  # the end of the file, from which no direct read can go on
        os.close(file)
    check(folder, total)
    return total


def check(folder: str, total: int) -> None:
    """Refuse a read that was not of everything."""
    if total != (wanted := sum(path.stat().st_size for path in files(folder))):
        raise ValueError(f"{total:,} of {wanted:,} bytes were read")


def made(folder: Path, labels: int, shards: int, prefix: str = "") -> float:
    """Write shards of both sides, two in a group; return the accuracy, counted while they are made."""
    rng, right, size = np.random.default_rng(1), 0, labels // shards
    for shard in range(shards):
        truth = rng.integers(0, CLASSES, size, dtype=np.uint8)
        said = np.where(
            rng.integers(0, 256, size, dtype=np.uint8) < 200, truth, rng.integers(0, CLASSES, size, np.uint8)
        )
        right += int((truth == said).sum())
        for side, array in (("truth", truth), ("said", said)):
            path = folder / f"{prefix}{side}" / f"room{shard // 2}" / f"{shard}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, array)
    return right / (size * shards)


def main() -> None:
    promise = Promise()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        begun = time.perf_counter()
        made(folder, 1_000_000, 4, "small-")
        accuracy = made(folder, LABELS, SHARDS)
        print(f"   {LABELS:.0e} labels in {SHARDS} shards written in {time.perf_counter() - begun:.0f} s")
        command = [sys.executable, "-c", CHILD, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr[-3000:])
            sys.exit(1)
        found = json.loads(done.stdout.splitlines()[-1])
    size = 2 * LABELS
    promise.figure("labels scored", f"{found['scored']:,}", f"{LABELS:,}", found["scored"] == LABELS)
    same = abs(found["accuracy"] - accuracy) < 1e-12
    promise.figure("accuracy", found["accuracy"], f"{accuracy:.12g}, counted while writing", same)
    promise.at_most("memory, MB", found["memory"], 1000)
    cached = median(found[f"cached {turn}"] for turn in range(TURNS))
    promise.at_least("cached, GB/s of both arrays", size / cached / GB, 2)
    print(f"   loading Python, gnomon and kernels, and a million labels: {found['loaded']:.2f} s")
    from_there = max(found[f"cached {turn} from disk"] for turn in range(TURNS)) / size
    promise.at_most("cached, share that came from the disk all the same", from_there, 0.01)
    rates = {
        key: [size / found[f"{key} {turn}"] / GB for turn in range(TURNS)]
        for key in ("plain", "uncached", "direct")
        if f"{key} 0" in found
    }
    for key, own in rates.items():
        print(f"   {key}, GB/s: {', '.join(f'{rate:.2f}' for rate in own)}; middle {median(own):.2f}")
    ours = median(rates["uncached"])
    promise.at_least("not cached, share of the rate of a plain read", ours / median(rates["plain"]), 0.8)
    if "direct" in rates:
        print(f"   not cached, share of the rate of a plain read past the cache: {ours / median(rates['direct']):.2f}")
    share = min(read for key, read in found.items() if key.startswith(tuple(rates)) and "disk" in key) / size
    promise.at_least("not cached, share that came from the disk", share, 0.9)
    promise.close()


if __name__ == "__main__":
    main()
