"""Several containers publish runs into one folder: every run is there and whole, and no draft is left.

Containers that share a folder have PID namespaces of their own, so the same process id is another process in each, and
a process that lives in one is not seen in the others. Four namespaces with two publishers each publish 200 different
runs at once, then 20 runs that all of them publish under the same names. Needs the right to make PID namespaces.

Then publishers that put one run in the place of another are killed with SIGKILL at random moments: whatever is under
the name of a run is whole after every kill, and the next publisher removes the drafts.
"""

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import gnomon
from acceptance.support import ROOT, Promise
from gnomon.core.errors import GnomonError
from gnomon.runs import seal
from gnomon.runs.directory import publish
from gnomon.runs.run import Run, run_id

NAMESPACES, PUBLISHERS, EACH, COMMON = 4, 2, 25, 20
RUNS = NAMESPACES * PUBLISHERS * EACH
ISOLATED = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
KILLS, REPLACED = 60, 5
PATIENCE = 300
"""Seconds that all publishers have."""


def why_not() -> str:
    """Say why no PID namespaces can be made here; empty where they can."""
    if shutil.which(ISOLATED[0]) is None:
        return "there is no program 'unshare'"
    done = subprocess.run([*ISOLATED, "true"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"PID namespaces are not permitted: {done.stderr.strip()[:200]}"


def make_run() -> Run:
    """Score two rows, so that there is a small run to publish under many names."""
    rows = {"id": ["1", "2"], "label": ["sit", "walk"]}
    return gnomon.score("labels", truth=rows, predictions=rows, out="none").runs[0]


def under_name(run: Run, name: str) -> Run:
    """Return a run of another system, with the id that follows from it."""
    manifest = {**run.manifest, "system": name}
    return replace(run, manifest={**manifest, "id": run_id(manifest)})


def publish_all(run: Run, out: Path, names: list[str]) -> None:
    """Publish runs one after another; print the name of each that was reported as published."""
    for name in names:
        try:
            path = publish(under_name(run, name), out).path
        except GnomonError as error:
            sys.stderr.write(f"{name}: {error}\n")
        else:
            os.write(1, f"{path.name}\n".encode())


def names_of(namespace: int, publisher: int, common: bool) -> list[str]:
    if common:
        return [f"common{index}" for index in range(COMMON)]
    return [f"system{namespace}-{publisher}-{index}" for index in range(EACH)]


def work_in_namespace(out: Path, namespace: int, common: bool) -> None:
    """Publish from several processes whose ids no other namespace has."""
    run = make_run()
    for _ in range(20 * namespace):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    for publisher in range(PUBLISHERS):
        if os.fork() == 0:
            publish_all(run, out, names_of(namespace, publisher, common))
            os._exit(0)
    for _ in range(PUBLISHERS):
        os.wait()


def publish_and_replace(run: Run, out: Path, first: int) -> None:
    """Publish a few names again and again, each time as another command would, so that the run there is replaced."""
    owner = os.getppid()
    for turn in itertools.takewhile(lambda _: os.getppid() == owner, itertools.count(first)):
        again = under_name(run, f"killed{turn % REPLACED}")
        provenance = {**again.manifest["provenance"], "command": [f"turn {turn} of {os.getpid()}"]}
        publish(replace(again, manifest={**again.manifest, "provenance": provenance}), out)


def kill_publishers(out: Path) -> None:
    """Kill two publishers at a time; print how many times that left a draft, and how many runs it damaged or lost."""
    run, dice, left, harmed = make_run(), random.Random(7), 0, 0
    start = time.perf_counter()
    runs = [publish(under_name(run, f"killed{number}"), out).path for number in range(REPLACED)]
    longest = 3 * (time.perf_counter() - start) / REPLACED
    for turn in range(KILLS // 2):
        children = []
        for _ in range(2):
            children.append(os.fork())
            if children[-1] == 0:
                publish_and_replace(run, out, turn)
                os._exit(1)
        time.sleep(dice.uniform(0, longest))
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)
        left += any(path.name.startswith(".") for path in out.iterdir())
        harmed += sum(bool(seal.problems(path)) for path in runs)
    publish(under_name(run, "last"), out)
    print(left, harmed)


def count_after_kills(out: Path) -> tuple[int, int]:
    """Kill publishers from a process of its own; return what it prints."""
    command = [sys.executable, "-m", "acceptance.shared_folder", str(out), "killed", "0"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE)
    left, harmed = map(int, done.stdout.split())
    return left, harmed


def publish_from_namespaces(out: Path, *, common: bool = False) -> list[str]:
    """Publish from all namespaces at once; return the names that were reported as published, and print errors."""
    base = [*ISOLATED, sys.executable, "-m", "acceptance.shared_folder", str(out), "common" if common else "own"]
    processes = [
        subprocess.Popen([*base, str(namespace)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for namespace in range(NAMESPACES)
    ]
    reported: list[str] = []
    until = time.monotonic() + PATIENCE
    try:
        for process in processes:
            said, errors = process.communicate(timeout=max(until - time.monotonic(), 1))
            reported += said.split()
            print(errors, end="", file=sys.stderr)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return reported


def count_whole(out: Path) -> tuple[int, int]:
    """Return how many runs are in a folder and agree with their checksums, and how many other things are there."""
    entries = list(out.iterdir())
    whole = [path for path in entries if not path.name.startswith(".") and not seal.problems(path)]
    return len(whole), len(entries) - len(whole)


def main() -> None:
    promise, lacking = Promise(), why_not()
    if lacking:
        promise.figure("PID namespaces", lacking, "can be made", False)
        promise.close()
    for common, kind in ((False, "of different names"), (True, "under the same names")):
        asked, wanted = NAMESPACES * PUBLISHERS * (COMMON if common else EACH), COMMON if common else RUNS
        with tempfile.TemporaryDirectory() as temporary:
            reported = len(publish_from_namespaces(Path(temporary), common=common))
            whole, others = count_whole(Path(temporary))
        promise.figure(f"runs {kind} reported as published", f"{reported} of {asked}", "all", reported == asked)
        promise.figure(f"runs {kind} that are there and whole", f"{whole} of {wanted}", "all", whole == wanted)
        promise.figure(f"drafts and damaged runs {kind} left", others, "0", others == 0)
    with tempfile.TemporaryDirectory() as temporary:
        left, harmed = count_after_kills(Path(temporary))
        whole, others = count_whole(Path(temporary))
    promise.figure("pairs of kills that left drafts behind", f"{left} of {KILLS // 2}", "at least 5", left >= 5)
    promise.figure("runs damaged or lost after a kill", harmed, "0", harmed == 0)
    promise.figure("runs that are whole in the end", f"{whole} of {REPLACED + 1}", "all", whole == REPLACED + 1)
    promise.figure("drafts and damaged runs left by the next publisher", others, "0", others == 0)
    promise.close()


if __name__ == "__main__":
    if sys.argv[2:3] == ["killed"]:
        kill_publishers(Path(sys.argv[1]))
    elif len(sys.argv) == 4:
        work_in_namespace(Path(sys.argv[1]), int(sys.argv[3]), sys.argv[2] == "common")
    else:
        main()
