"""Hostile pickles are refused with a clear message, nothing is executed; through the suite as well as by the reader."""

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import gnomon
from acceptance.support import ROOT, Promise
from gnomon.core.errors import InputError

CANARY = "GNOMON_CANARY"


class Trap:
    """Creates a file when it is unpickled by Python."""

    def __init__(self, function: object, *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call


def traps(canary: Path) -> dict[str, Trap]:
    touch = f"open({str(canary)!r}, 'w').close()"
    return {
        "os.system": Trap(os.system, f"touch {canary}"),
        "builtins.eval": Trap(eval, touch),
        "builtins.exec": Trap(exec, touch),
        "subprocess": Trap(subprocess.call, ["touch", str(canary)]),
    }


def main() -> None:
    promise = Promise()
    refused = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        canary = Path(folder) / CANARY
        joints = np.zeros((2, 4, 3))
        for name, trap in traps(canary).items():
            nested = np.empty(2, dtype=object)
            nested[0] = trap
            for where in ({"x": trap}, {"x": [1, [trap]]}, {"x": nested}):
                for protocol in range(6):
                    path = Path(folder) / "trap.pkl"
                    path.write_bytes(
                        pickle.dumps({"pred_keypoints": joints, "gt_keypoints": joints, **where}, protocol)
                    )
                    tried += 1
                    try:
                        gnomon.run("skeleton", pred_file=str(path), out="none")
                    except InputError as error:
                        refused += "pickle" in str(error) or name.rpartition(".")[2] in str(error)
        promise.figure("traps refused through gnomon run skeleton", f"{refused} of {tried}", "all", refused == tried)
        promise.figure("files created by a trap", int(canary.exists()), "0", not canary.exists())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2"]
    tests = ["tests/intake/test_pickles.py", "tests/fuzz/test_pickles_fuzz.py"]
    done = subprocess.run([*command, *tests], cwd=ROOT, capture_output=True, text=True, check=False)
    last = done.stdout.strip().splitlines()[-1]
    promise.figure("names, ways, protocols, truncations, mutations and bombs", last, "all pass", done.returncode == 0)
    promise.close()


if __name__ == "__main__":
    main()
