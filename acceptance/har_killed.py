"""Training that is killed again and again ends with the same scores as training that is not.

``gnomon run har`` with trained models on simulated datasets; the whole process group gets SIGKILL at random moments, in
pre-training, fitting and fine-tuning alike. Needs the extra ``models``. GNOMON_ACCEPT_SYSTEMS names the models.
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

KILLS = 12
SECONDS = (6.0, 16.0)
OFTEN = {**os.environ, "GNOMON_CHECKPOINT_S": "0.1"}
"""These trainings are short, so that they are kept more often than usual."""
MODELS = os.environ.get("GNOMON_ACCEPT_SYSTEMS", "limubert,crosshar,moment")


def command(root: Path, out: Path) -> list[str]:
    words = ["run", "har", "--data-root", str(root), "--train", "dsads,wisdm", "--test", "motionsense"]
    words += ["--systems", MODELS, "--metrics", "zs-closed,sup-10", "--profile", "smoke", "--out", str(out), "--json"]
    return [sys.executable, "-m", "gnomon", *words]


def scores(text: str) -> dict[str, list]:
    return {run["system"]: run["scores"] for run in json.loads(text)["runs"]}


def killed(words: list[str], rng: random.Random) -> tuple[int, str, set[str]]:
    """Run a command, killing it some times; return how often, what it said in the end, and what it was doing."""
    kills, doing = 0, set()
    while True:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, env=OFTEN
        )
        try:
            wait = rng.uniform(*SECONDS) if kills < KILLS else None
            said, _ = process.communicate(timeout=wait)
            return kills, said.decode(), doing
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            kills += 1
            store = Path(words[words.index("--out") + 1]) / "store"
            begun = [path for path in (store / "begun").glob("*/*") if path.suffix != ".part"]
            doing |= {path.name for path in begun}


def main() -> None:
    promise, rng = Promise(), random.Random(7)
    if find_spec("torch") is None:
        sys.exit("   torch is not installed: pip install 'gnomon[models]'")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        words = ["simulate", "har", str(folder / "data"), "--datasets", "dsads,wisdm,motionsense", "--subjects", "4"]
        subprocess.run([sys.executable, "-m", "gnomon", *words], check=True, capture_output=True)
        begun = time.perf_counter()
        plain = subprocess.run(command(folder / "data", folder / "plain"), check=True, capture_output=True, text=True)
        print(f"   without a kill: {time.perf_counter() - begun:.0f} s", flush=True)
        kills, said, doing = killed(command(folder / "data", folder / "killed"), rng)
        print(f"   {kills} kills; what was begun and found again: {', '.join(sorted(doing)) or 'nothing'}", flush=True)
        same = scores(plain.stdout) == scores(said)
        promise.figure("scores after kills", "the same" if same else "others", "the same to the last bit", same)
        promise.at_least("kills while something was begun", float(len(doing)), 1.0)
    promise.close()


if __name__ == "__main__":
    main()
