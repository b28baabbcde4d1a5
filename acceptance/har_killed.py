"""Training that is killed again and again ends with the same scores as training that is not.

``gnomon run har`` with trained models on simulated datasets; the whole process group gets SIGKILL in the middle of
pre-training, of fine-tuning, and at random moments. Needs the extra ``models``. GNOMON_ACCEPT_SYSTEMS names the models.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from acceptance.support import Promise

STAGES = ("pre-training", "fine-tuning", "pre-training", "fine-tuning", "")
"""What is waited for before every kill; nothing is any moment."""
SECONDS = (6.0, 16.0)
OFTEN = {**os.environ, "GNOMON_CHECKPOINT_S": "0.05"}
"""These trainings are short, so that they are kept more often than usual."""
MODELS = os.environ.get("GNOMON_ACCEPT_SYSTEMS", "limubert,crosshar,moment,tsfm,lanhar")


def command(root: Path, out: Path) -> list[str]:
    words = ["run", "har", "--data-root", str(root), "--train", "dsads,wisdm", "--test", "motionsense"]
    words += ["--systems", MODELS, "--tasks", "zs-closed,sup-10", "--profile", "smoke", "--out", str(out), "--json"]
    return [sys.executable, "-m", "gnomon", *words]


def scores(text: str) -> dict[str, list]:
    return {run["system"]: run["scores"] for run in json.loads(text)["runs"]}


def killed(words: list[str], rng: random.Random) -> tuple[list[str], str]:
    """Run a command, killing it some times; return what it was doing each time, and what it said in the end."""
    hits: list[str] = []
    store = Path(words[words.index("--out") + 1]) / "store"
    for stage in (*STAGES, None):
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, env=OFTEN
        )
        if stage is None:
            return hits, process.communicate()[0].decode()
        before = begun(store)
        end = time.monotonic() + (600 if stage else rng.uniform(*SECONDS))
        while process.poll() is None and time.monotonic() < end:
            found = {name for name in begun(store) - before if stage and name[1].startswith(stage)}
            if found:
                break
            time.sleep(0.02)
        if process.poll() is not None:
            return hits, process.communicate()[0].decode()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        hits.append(stage or "any moment")
    raise AssertionError("the loop ends with a run that is not killed")


def begun(store: Path) -> set[tuple[str, str]]:
    """Return what is begun: the node, and the name of its loop."""
    return {(path.parent.name, path.name) for path in (store / "begun").glob("*/*") if path.suffix != ".part"}


def main() -> None:
    promise, rng = Promise(), random.Random(7)
    if find_spec("torch") is None:
        sys.exit("   torch is not installed: pip install 'gnomon[models]'")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        words = ["simulate", "har", str(folder / "data"), "--datasets", "dsads,wisdm,motionsense", "--subjects", "4"]
        subprocess.run([sys.executable, "-m", "gnomon", *words], check=True, capture_output=True)
        started = time.perf_counter()
        plain = subprocess.run(command(folder / "data", folder / "plain"), check=True, capture_output=True, text=True)
        print(f"   without a kill: {time.perf_counter() - started:.0f} s", flush=True)
        hits, said = killed(command(folder / "data", folder / "killed"), rng)
        same = scores(plain.stdout) == scores(said)
        promise.figure("scores after kills", "the same" if same else "others", "the same to the last bit", same)
        for stage in dict.fromkeys(STAGES):
            if stage:
                promise.at_least(f"kills in the middle of {stage}", float(hits.count(stage)), 1.0)
    promise.close()


if __name__ == "__main__":
    main()
