"""A run killed with SIGKILL at random moments and restarted ends with the bytes of an undisturbed one.

So do runs with 1, 2 and 4 processes, and runs whose cells are worked on in any order.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from acceptance.support import Promise

KILLS = 60
FOLDS = 32


def command(data: Path, out: Path, *more: str) -> list[str]:
    base = [sys.executable, "-m", "gnomon", "run", "labels", "--truth", str(data / "truth.csv"), "--out", str(out)]
    return [*base, "--folds", str(FOLDS), "--slice", "placement", *more]


def finish(arguments: list[str]) -> None:
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def scores(out: Path) -> dict[str, bytes]:
    found = {path.parent.name: path.read_bytes() for path in sorted(out.glob("labels-*/scores.json"))}
    assert len(found) == 3, sorted(found)
    return found


def kill_once(arguments: list[str], dice: random.Random, longest: float) -> bool:
    """Start, wait a random time, kill the process; say whether it was killed before it ended by itself."""
    process = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=dice.random() < 0.5
    )
    try:
        process.wait(timeout=dice.uniform(0.3, longest))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    return False


def disturbed(data: Path, folder: Path, dice: random.Random, longest: float) -> tuple[int, dict[str, bytes]]:
    """Kill and restart until a run ends by itself."""
    kills = 0
    more = dice.choice([(), ("--executor", "processes", "--workers", "2")])
    while kill_once(command(data, folder, *more), dice, longest):
        kills += 1
    finish(command(data, folder, *more))
    return kills, scores(folder)


def shuffled(data: Path, folder: Path, seed: int) -> dict[str, bytes]:
    """Run with cells in random order, through Python."""
    code = (
        "import random, gnomon, gnomon.engine.job as job; from functools import partial; import gnomon.api;"
        f"order = lambda nodes: random.Random({seed}).sample(nodes, len(nodes));"
        "job.work = partial(job.work, order=order);"
        f"gnomon.run('labels', truth={str(data / 'truth.csv')!r}, out={str(folder)!r}, folds={FOLDS}, "
        "slice=('placement',))"
    )
    finish([sys.executable, "-c", code])
    return scores(folder)


def main() -> None:
    promise, dice = Promise(), random.Random(int(os.environ.get("GNOMON_SEED", "11")))
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        data = base / "data"
        simulate = [sys.executable, "-m", "gnomon", "simulate", "labels", str(data), "--groups", "40", "--rows", "60"]
        finish(simulate)
        start = time.perf_counter()
        finish(command(data, base / "quiet"))
        quiet, longest = scores(base / "quiet"), 1.2 * (time.perf_counter() - start)
        kills, trials, different = 0, 0, 0
        while kills < KILLS:
            killed, found = disturbed(data, base / f"trial{trials}", dice, longest)
            kills, trials, different = kills + killed, trials + 1, different + (found != quiet)
        promise.figure("kills", f"{kills} over {trials} runs", "at least 50", kills >= 50)
        promise.figure("disturbed runs with other bytes", different, "0", different == 0)
        for workers in ("1", "2", "4"):
            out = base / f"workers{workers}"
            finish(command(data, out, "--executor", "processes", "--workers", workers))
            promise.figure(
                f"{workers} processes give the same bytes", scores(out) == quiet, "True", scores(out) == quiet
            )
        same = [shuffled(data, base / f"order{seed}", seed) == quiet for seed in range(3)]
        promise.figure("random orders of cells give the same bytes", f"{sum(same)} of {len(same)}", "all", all(same))
    promise.close()


if __name__ == "__main__":
    main()
