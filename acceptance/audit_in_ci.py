"""A leak that was made through the command line fails ``gnomon audit --fail-on error``; its clean twin passes.

Eight generated people; recognisers that learn, trained on files or leaving one person out. Every fault is made with
files and options alone, as a user would make it, and the same command without the fault has to pass.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from acceptance.support import Promise
from gnomon.core.samples import Samples
from gnomon.runs import samples as stored
from gnomon.runs import seal

PEOPLE = 8
MOST_CPU_S = 8.0
ARMS = """
from gnomon.suites.events.systems.hidden_markov import HiddenMarkovWalker

class Full(HiddenMarkovWalker):
    pass

class WithoutSwitch(HiddenMarkovWalker):
    '''An arm whose switch is not connected to anything.'''
    def __init__(self):
        super().__init__()
        self.switch = False

class Slower(HiddenMarkovWalker):
    '''An arm that does something: it never returns what is short.'''
    def detected(self, time_range=None):
        return [r for r in super().detected(time_range) if r["t2"] - r["t1"] > 20]
"""


def gnomon(*words: object) -> tuple[int, str]:
    command = [sys.executable, "-m", "gnomon", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


class Data:
    """Generated recordings, and runs over them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        gnomon("simulate", "events", folder, "--subjects", PEOPLE, "--minutes", 4, "--hours", 1, "--seed", 5)
        self.truth = sorted((folder / "walking").glob("*.json"))
        self.arms = folder / "arms.py"
        self.arms.write_text(ARMS)
        self.count = 0

    def run(self, test: list[Path], *options: object, systems: str = "hmm-walker") -> Path:
        """Run recognisers on test recordings and return the folder of the runs."""
        self.count += 1
        out = self.folder / f"runs{self.count}"
        code, said = gnomon("run", "events", *test, "--recognizers", systems, *options, "--out", out)
        if code:
            raise SystemExit(said)
        return out

    def copy(self, path: Path, name: str, **changes: object) -> Path:
        """Write a truth file for the same raw data under another name."""
        case = json.loads(path.read_text()) | {"id": name} | changes
        target = path.with_name(f"{name}.json")
        target.write_text(json.dumps(case))
        return target

    def others(self, *names: str) -> str:
        """Return arms of the ablation as recognisers."""
        return ",".join(f"{self.arms}:{name}" for name in names)


def faults(data: Data) -> dict[str, tuple[str, Callable[[], Path], Callable[[], Path]]]:
    """Return what goes wrong: the finding, the faulty work and its clean twin."""
    test, train = data.truth[:6], data.truth[6]
    nobody = {"subject": {"id": "nobody"}}
    copied = data.copy(test[0], "copied", **nobody)
    again = data.copy(train, "again", subject=json.loads(test[0].read_text())["subject"])
    return {
        "training on a test recording": (
            "exact-duplicates",
            lambda: data.run(test, "--train", test[0]),
            lambda: data.run(test, "--train", train),
        ),
        "training on a copy under another name and person": (
            "exact-duplicates",
            lambda: data.run(test, "--train", copied),
            lambda: data.run(test, "--train", data.copy(train, "renamed", **nobody)),
        ),
        "training on another recording of a tested person": (
            "shared-tag",
            lambda: data.run(test, "--train", again),
            lambda: data.run(test, "--train", train),
        ),
        "leaving out one person, of whom a copy is somebody else": (
            "exact-duplicates",
            lambda: data.run([*test, copied], "--leave-out", "subject"),
            lambda: data.run([*test, train], "--leave-out", "subject"),
        ),
        "an arm whose switch does nothing": (
            "same-predictions",
            lambda: data.run(test, "--train", train, systems=data.others("Full", "WithoutSwitch")),
            lambda: data.run(test, "--train", train, systems=data.others("Full", "Slower")),
        ),
    }


def judged(folder: Path) -> tuple[int, set[str]]:
    code, said = gnomon("audit", folder, "--fail-on", "error", "--json")
    record = json.loads(said)
    found = {f["id"] for item in (*record["runs"], *record["across"]) for f in item["findings"]}
    return code, found


def tampering(promise: Promise, folder: Path) -> None:
    """Take the findings out of a run: with the old seal it cannot be audited, with a new one they come back."""
    (run,) = folder.glob("events-*")
    path = run / "audit.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"findings": []}))
    code, _ = gnomon("audit", folder)
    promise.figure("exit code for a run whose findings were removed", code, "1", code == 1)
    (run / seal.NAME).write_bytes(seal.make(run))
    code, found = judged(folder)
    text = f"{code}, {', '.join(sorted(found))}"
    promise.figure("the same, sealed again", text, "1, found again", code == 1 and "exact-duplicates" in found)
    shutil.rmtree(folder)


def large(promise: Promise, folder: Path) -> None:
    """Measure what samples of the largest number that is stored cost."""
    n = stored.MOST_STORED
    rng = np.random.default_rng(3)
    span = np.stack([np.arange(n), np.arange(n) + 2.0], axis=1)
    digests = tuple(rng.bytes(32).hex() for _ in range(n))
    people = tuple(f"p{code}" for code in rng.integers(0, 500, n).tolist())
    parts = tuple(np.where(rng.random(n) < 0.8, "train", "test").tolist())
    many = Samples(tuple(map(str, range(n))), people, parts, span, span, digests, {"subject": people})
    start = time.process_time()
    stored.write(many, folder)
    found = stored.read(folder)
    seconds = time.process_time() - start
    size = (folder / stored.NAME).stat().st_size / 1e6
    same = found is not None and found.digests == digests
    promise.figure(f"{n:,} samples written and read back, MB", f"{size:.1f}", "at most 25", same and size <= 25)
    promise.at_most("CPU seconds of it", seconds, MOST_CPU_S)


def main() -> None:
    promise = Promise()
    with tempfile.TemporaryDirectory() as place:
        data = Data(Path(place))
        leak: Path | None = None
        for what, (finding, faulty, clean) in faults(data).items():
            folder = faulty()
            code, found = judged(folder)
            text = f"exit code {code}, {', '.join(sorted(found - {'baseline-missing'}))}"
            promise.figure(what, text, f"1, {finding}", code == 1 and finding in found)
            leak = leak or folder
            code, found = judged(clean())
            text = f"exit code {code}, {', '.join(sorted(found - {'baseline-missing'})) or 'nothing'}"
            promise.figure("   its clean twin", text, "0, nothing", code == 0 and not found - {"baseline-missing"})
        if leak is not None:
            tampering(promise, leak)
        large(promise, data.folder)
    promise.close()


if __name__ == "__main__":
    main()
