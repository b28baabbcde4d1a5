"""``import gnomon`` loads no numerical library; ``gnomon --help`` takes under 0.25 CPU-seconds."""

import resource
import subprocess
import sys
from pathlib import Path

from acceptance.support import Promise

HEAVY = ("numpy", "numba", "scipy", "torch", "pandas", "altair")


def cpu_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    promise = Promise()
    code = f"import gnomon, sys; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    promise.figure("heavy modules after import gnomon", ", ".join(out) or "none", "none", not out)
    command = [str(Path(sys.executable).parent / "gnomon"), "--help"]
    times = sorted(cpu_seconds(command) for _ in range(9))
    promise.at_most("gnomon --help, median CPU-seconds of 9", times[4], 0.25)
    promise.close()


if __name__ == "__main__":
    main()
