"""A store on a disk that fills up: earlier results stay valid, the message is clear, work resumes after space is freed.

The disk is a small tmpfs, which needs the right to mount; where that is missing, a small disk can be named in
GNOMON_SMALL_DISK (an empty folder on a file system of about 2 MB).
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from acceptance.support import Promise
from acceptance.toys import plan
from gnomon.engine.job import work
from gnomon.engine.options import EngineOptions
from gnomon.engine.store import StoreFullError
from gnomon.runs import seal

CELLS, BYTES = 30, 80_000


def attempt(folder: Path, executor: str, cell: str) -> tuple[str, int]:
    options = EngineOptions(out=str(folder), executor=executor, workers=2)
    try:
        return "", len(work(plan(cell, CELLS, bytes=BYTES), options).done)
    except StoreFullError as error:
        return str(error), -1


def stored(folder: Path) -> tuple[int, int]:
    found = [path for path in (folder / "store").glob("??/*") if path.is_dir()]
    return len(found), sum(not seal.problems(path) for path in found)


def scenario(disk: Path, executor: str, cell: str, promise: Promise) -> None:
    which, ballast = f"{executor}, {cell}s", disk / "ballast"
    ballast.write_bytes(bytes(800_000))
    message, _ = attempt(disk, executor, cell)
    clear = all(word in message for word in ("full", "free space", "same command", f"of {CELLS} cells are stored"))
    promise.figure(f"{which}: message", message or "none", "says full, free space, how far", clear)
    count, whole = stored(disk)
    promise.figure(f"{which}: earlier results whole", f"{whole} of {count}", "all, some", 0 < whole == count < CELLS)
    ballast.unlink()
    message, done = attempt(disk, executor, cell)
    promise.figure(f"{which}: after space is freed", message or f"{done} of {CELLS} cells", "all", done == CELLS)
    events = (disk / "store" / "progress.jsonl").read_text().splitlines()
    promise.figure(f"{which}: cells found, not done again", count, "all stored ones", f'"found": {count}' in events[-1])


def main() -> None:
    promise = Promise()
    named = os.environ.get("GNOMON_SMALL_DISK")
    for executor, cell in (("inline", "block"), ("inline", "array"), ("processes", "array"), ("dask", "block")):
        with tempfile.TemporaryDirectory() as temporary:
            disk = Path(named or temporary)
            if not named:
                mount = ["mount", "-t", "tmpfs", "-o", "size=2900k", "tmpfs", temporary]
                done = subprocess.run(mount, capture_output=True, text=True, check=False)
                if done.returncode:
                    sys.exit(
                        f"   cannot mount a small tmpfs ({done.stderr.strip()}); name a small disk in GNOMON_SMALL_DISK"
                    )
            try:
                scenario(disk, executor, cell, promise)
            finally:
                if not named:
                    subprocess.run(["umount", temporary], check=True)
    promise.close()


if __name__ == "__main__":
    main()
