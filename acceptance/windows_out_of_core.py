"""``gnomon run har`` on a million windows: an own dataset in forty tables, prepared, scored, audited, out of core.

The windows take 2.9 GB on disk at 20 Hz, and their scores 0.7 GB for each system; neither is ever in memory as a whole.
What is in memory is a name, a hash and an answer for each of them, and what the audit makes of these. Counted is what
the process cannot give back (``RssAnon``, with all its children); pages of files that are mapped are not, since the
system drops them when it wants.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gnomon
from acceptance.day_in_one_list import tree
from acceptance.support import Promise

WINDOWS = int(os.environ.get("GNOMON_ACCEPT_WINDOWS", "1000000"))
FILES, HZ, WINDOW_S, PER_RECORDING = 40, 5, 6, 50
MOST_MB, FREE_BYTES = 2500, 12e9
LABELS = ("walking", "jogging", "sitting")
MANIFEST = """[dataset]
name = "{name}"
files = [{files}]
text_hz = {hz}
role = "{role}"
placement = "trouser pocket"
gravity = "present"
time = "s"
acceleration = "m/s^2"
rotation = "rad/s"
"""


def table(rng: np.random.Generator, windows: int, first: int) -> pa.Table:
    """Return recordings of several people: at rest gravity, walking and jogging a wave on it."""
    recordings, rows = windows // PER_RECORDING, PER_RECORDING * WINDOW_S * HZ
    number = np.repeat(np.arange(recordings), rows)
    seconds = np.tile(np.arange(rows) / HZ, recordings)
    kind = number % len(LABELS)
    wave = np.array([1.0, 6.0, 0.0])[kind] * np.sin(2 * np.pi * np.array([0.9, 1.3, 0.0])[kind] * seconds)
    noise = rng.normal(scale=0.1, size=(6, len(seconds))).astype(np.float32)
    columns = {
        "subject": pa.array(np.array([f"s{first + k // 3:05d}" for k in range(recordings)])[number]),
        "recording": pa.array(np.array([f"r{k % 3}" for k in range(recordings)])[number]),
        "time": seconds,
        "label": pa.array(np.array(LABELS)[kind]),
        "acc_x": noise[0],
        "acc_y": noise[1] + wave.astype(np.float32),
        "acc_z": noise[2] + np.float32(9.81),
        **{f"gyro_{axis}": noise[k] for k, axis in enumerate("xyz", start=3)},
    }
    return pa.table(columns)


def write(root: Path, name: str, role: str, windows: int, files: int, rng: np.random.Generator) -> None:
    """Write a dataset of so many windows in so many files."""
    folder = root / name
    folder.mkdir(parents=True)
    names = [f"part{k:02d}.parquet" for k in range(files)]
    for k, file in enumerate(names):
        pq.write_table(table(rng, windows // files, k * windows // files), folder / file)
    listed = ", ".join(f'"{file}"' for file in names)
    (folder / f"{name}.toml").write_text(MANIFEST.format(name=name, files=listed, hz=HZ, role=role))


def anonymous_mb(pid: int) -> float:
    """Return what a process holds that is not a file."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) / 1e3 for line in lines if line.startswith("RssAnon:"))


def measured(command: list[str], folder: Path) -> tuple[int, float, float]:
    """Return exit code, peak MB and minutes of a command."""
    begun, peak = time.monotonic(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder)
    while process.poll() is None:
        peak = max(peak, sum(map(anonymous_mb, tree(process.pid))))
        time.sleep(0.1)
    return process.returncode, peak, (time.monotonic() - begun) / 60


def main() -> None:
    promise, rng = Promise(), np.random.default_rng(87)
    if shutil.disk_usage(tempfile.gettempdir()).free < FREE_BYTES * WINDOWS / 1e6:
        sys.exit(f"   needs {FREE_BYTES * WINDOWS / 1e15:g} GB in {tempfile.gettempdir()}; free them or set TMPDIR")
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "data"
        write(root, "few", "train", 3000, 1, rng)
        write(root, "many", "test", WINDOWS, FILES, rng)
        options = ["--systems", "majority,nearest_mean", "--tasks", "zs-closed", "--variant", "strict"]
        options += ["--profile", "paper", "--seeds", "1", "--train", "few", "--test", "many", "--executor", "inline"]
        command = [sys.executable, "-m", "gnomon", "run", "har", "--data-root", str(root), *options, "--out", "runs"]
        code, peak, minutes = measured(command, Path(temporary))
        promise.figure("exit code", code, "0", code == 0)
        promise.at_most(f"{WINDOWS:,} windows: peak MB that cannot be given back", peak, MOST_MB)
        print(f"   {minutes:.1f} minutes, reading, cutting, two systems, audit and intervals included")
        if code == 0:
            for run in gnomon.load(Path(temporary) / "runs").runs:
                print(f"   {run.system}: {[f'{score.measure} {score.value}' for score in run.scores[:2]]}")
    promise.close()


if __name__ == "__main__":
    main()
