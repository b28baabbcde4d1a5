"""A clean clone with an empty pip cache: ``make demo`` and ``make test`` succeed; a second call reinstalls nothing."""

import os
import subprocess
import tempfile
import time
from pathlib import Path

from acceptance.support import ROOT, Promise

MINUTES_DEMO, MINUTES_TEST = 8, 10


def run(target: str, folder: Path, environment: dict[str, str]) -> tuple[int, float, str]:
    start = time.perf_counter()
    done = subprocess.run(
        ["make", target],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout[-4000:])
    return done.returncode, time.perf_counter() - start, done.stdout


def main() -> None:
    promise = Promise()
    with tempfile.TemporaryDirectory() as temporary:
        clone = Path(temporary) / "gnomon"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        dropped = ("VIRTUAL_ENV", "PYTHONPATH", "NUMBA_CACHE_DIR", "MAKEFLAGS", "MAKELEVEL", "GNOMON_REAL_DATA")
        environment = {name: value for name, value in os.environ.items() if name not in dropped}
        environment["PIP_CACHE_DIR"] = str(Path(temporary) / "empty-pip-cache")
        environment["PATH"] = os.pathsep.join(
            part for part in environment["PATH"].split(os.pathsep) if not part.startswith(str(ROOT))
        )
        code, seconds, out = run("demo", clone, environment)
        promise.figure("make demo, exit code", code, "0", code == 0)
        promise.figure("make demo ends by naming what to open", "Open next" in out, "True", "Open next" in out)
        print(f"   with installation: {seconds:.0f} s")
        code, seconds, out = run("demo", clone, environment)
        again = "pip install" in out
        promise.figure("second make demo reinstalls", again, "False", code == 0 and not again)
        promise.at_most("second make demo, minutes", seconds / 60, MINUTES_DEMO)
        code, seconds, out = run("test", clone, environment)
        promise.figure("make test, exit code", code, "0", code == 0)
        print(f"   with installation: {seconds:.0f} s; {out.strip().splitlines()[-1]}")
        code, seconds, out = run("test", clone, environment)
        promise.figure(
            "second make test reinstalls", "pip install" in out, "False", code == 0 and "pip install" not in out
        )
        promise.at_most("second make test, minutes", seconds / 60, MINUTES_TEST)
    promise.close()


if __name__ == "__main__":
    main()
