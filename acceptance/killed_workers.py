"""Workers killed at random during 100 cells: all cells finish, each is stored once."""

import os
import random
import signal
import tempfile
import threading
import time
from pathlib import Path

from acceptance.support import Promise
from acceptance.toys import plan
from gnomon.engine.job import work
from gnomon.engine.options import EngineOptions
from gnomon.engine.store import Store
from gnomon.runs import seal

CELLS = 100


def children() -> list[int]:
    """Return the worker processes of this one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue
        if int(rest.split()[1]) == os.getpid() and "python" in name:
            command = (path.parent / "cmdline").read_bytes()
            if b"gnomon.engine.workers" in command:
                found.append(int(path.parent.name))
    return found


def assassin(over: threading.Event, dice: random.Random, killed: list[int]) -> None:
    while not over.wait(dice.uniform(0.05, 0.3)):
        victims = children()
        if victims:
            try:
                os.kill(dice.choice(victims), signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed.append(1)


def main() -> None:
    promise, dice, over, killed = Promise(), random.Random(3), threading.Event(), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        work_plan = plan("nap", CELLS, seconds=0.15, log=str(folder / "log"))
        killer = threading.Thread(target=assassin, args=(over, dice, killed))
        start = time.perf_counter()
        killer.start()
        outcome = work(work_plan, EngineOptions(out=temporary, executor="processes", workers=4))
        over.set()
        killer.join()
        seconds = time.perf_counter() - start
        promise.figure("workers killed", f"{len(killed)} in {seconds:.1f} s", "at least 10", len(killed) >= 10)
        promise.figure("cells done", str(outcome), f"{CELLS} of {CELLS} cells", len(outcome.done) == CELLS)
        store = Store(folder / "store")
        stored = [path for path in store.folder.glob("??/*") if path.is_dir()]
        whole = sum(not seal.problems(path) for path in stored)
        right = sum((path / "result").read_text() == name.split()[1] for name, path in outcome.done.items())
        promise.figure(
            "stored results, each whole", f"{whole} of {len(stored)}", str(CELLS), whole == len(stored) == CELLS
        )
        promise.figure("results that belong to their cell", right, str(CELLS), right == CELLS)
        begun = len((folder / "log").read_text().split())
        print(f"   {begun} beginnings for {CELLS} cells")
        events = (store.folder / "progress.jsonl").read_text()
        done = events.count('"event": "done"') + events.count('"event": "found"')
        promise.figure("cells reported done", done, str(CELLS), done == CELLS)
    promise.close()


if __name__ == "__main__":
    main()
