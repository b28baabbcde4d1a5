"""Text of sensors at 100 MB/s or more on one core: generated files in three native layouts, and an own table.

Files are read from disk through the reader that the loaders use, every cell as a number. What the loaders do (columns
that they do not need are passed over) is printed as well. The own table has eleven columns, four of them text or time;
it is read into recordings, and ``gnomon data check`` reads it in a process of its own, whose peak memory is counted.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from acceptance.support import Promise
from gnomon.intake.numbers import Layout, parse, read
from gnomon.suites.har.datasets import dsads, motionsense, wisdm
from gnomon.suites.har.datasets.tables import load

RNG = np.random.default_rng(11)
SIZE = 52_000_000
BOUND = 100
OWN_SIZE, MOST_MB = 177_000_000, 300
LABELS = ("walking", "sitting", "running", "standing", "lying")
MANIFEST = """[dataset]
name = "office"
files = ["office.csv"]
text_hz = 50
role = "train"
placement = "trouser pocket"
gravity = "present"
time = "s"
acceleration = "m/s^2"
rotation = "rad/s"
"""
CHECK = """
import sys
from pathlib import Path
from gnomon.cli.main import main
try:
    main(["data", "check", sys.argv[1]])
finally:
    print(*(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line), file=sys.stderr)
"""
"""The command, and its own peak: that of a child, as the system counts it, would include its parent's."""
OWN_HEADER = "subject,recording,time,label,acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z,heart_rate\n"


def repeated(path: Path, header: str, row: Callable[[int], str], lead: Callable[[int], str], size: int = SIZE) -> Path:
    """Write a file: random tails of rows, repeated, behind leads that count on."""
    tails = [row(k) for k in range(4000)]
    with path.open("w", encoding="ascii") as file:
        file.write(header)
        k = 0
        while file.tell() < size:
            file.writelines(f"{lead(k + j)}{tail}\n" for j, tail in enumerate(tails))
            k += len(tails)
    return path


def motion_rows(_: int) -> str:
    values = np.round(RNG.normal(size=12), 6)
    return "".join(f",{v * (1 + 2**-52 * int(RNG.integers(3)))!r}" for v in values.tolist())


def wisdm_rows(_: int) -> str:
    return "".join(f",{v!s}" for v in RNG.normal(0, 5, 3).astype(np.float32)) + ";"


def dsads_rows(_: int) -> str:
    return ",".join(f"{v:.5g}" for v in RNG.normal(0, 3, 45))


def own_lead(k: int) -> str:
    """Return whose row this is: recordings of two minutes, five to a person."""
    recording = k // 6000
    return f"u{recording // 5},r{recording % 5},{k % 6000 / 50!r},{LABELS[recording % 5]}"


def own_rows(k: int) -> str:
    values = RNG.normal(size=6) * 0.3 + (0, 0, 9.8, 0, 0, 0)
    return "".join(f",{v!r}" for v in values.tolist()) + f",{60 + k % 40}"


def own_table(base: Path, promise: Promise) -> None:
    """Read an own table, and check it in another process."""
    table = repeated(base / "office.csv", OWN_HEADER, own_rows, own_lead, OWN_SIZE)
    (base / "office.toml").write_text(MANIFEST)
    dataset, best, samples = load(base / "office.toml"), float("inf"), 0
    for _ in range(3):
        start = time.process_time()
        samples = sum(len(recording.times) for recording in dataset.read())
        best = min(best, time.process_time() - start)
    size = table.stat().st_size / 1e6
    promise.at_least(f"own table, {size:.0f} MB, {samples:,} rows: as recordings, MB/s", size / best, BOUND)
    done = subprocess.run([sys.executable, "-c", CHECK, str(base)], capture_output=True, text=True, check=False)
    promise.figure("gnomon data check: exit code", done.returncode, "0", done.returncode == 0)
    promise.at_most("gnomon data check: peak MB", float(done.stderr.split()[-2]) / 1e3, MOST_MB)


def speed(paths: list[Path], layout: Layout, once: Callable[[Path, Layout], object]) -> float:
    """Return MB per second of processor time, the best of three."""
    size, best = sum(path.stat().st_size for path in paths), float("inf")
    for _ in range(3):
        start = time.process_time()
        for path in paths:
            once(path, layout)
        best = min(best, time.process_time() - start)
    return size / 1e6 / best


def main() -> None:
    promise = Promise()
    read_small = lambda path, layout: parse(path.read_bytes(), layout, path)  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        header = ",".join(motionsense.COLUMNS) + "\n"
        motion = [repeated(base / "sub_1.csv", header, motion_rows, str)]
        phone = [repeated(base / "accel.txt", "", wisdm_rows, lambda k: f"1600,A,{252207666810782 + 50354004 * k}")]
        segments = []
        for k in range(SIZE // 43_000):
            segments.append(base / f"s{k:04d}.txt")
            segments[-1].write_text("".join(dsads_rows(j) + "\n" for j in range(125)) if k < 40 else "")
            if k >= 40:
                segments[-1].write_bytes(segments[k % 40].read_bytes())
        size = sum(path.stat().st_size for path in segments) / 1e6
        for what, paths, whole, used, once in (
            ("MotionSense, one file", motion, Layout("i" + "f" * 12, header=1), motionsense.LAYOUT, read),
            (f"DSADS, {len(segments)} files, {size:.0f} MB", segments, Layout("f" * 45), dsads.LAYOUT, read_small),
            ("WISDM, one file", phone, wisdm.LAYOUT, wisdm.LAYOUT, read),
        ):
            once(paths[0], whole)
            promise.at_least(f"{what}: every cell, MB/s", speed(paths, whole, once), BOUND)
            promise.at_least(f"{what}: as the loader reads it, MB/s", speed(paths, used, once), BOUND)
    with tempfile.TemporaryDirectory() as folder:
        own_table(Path(folder), promise)
    promise.close()


if __name__ == "__main__":
    main()
