"""1,000 runs are listed in under 0.5 s after indexing."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gnomon
from acceptance.support import Promise

RUNS = 1000


def populate(folder: Path) -> None:
    """Copy one real run a thousand times under other names and systems, sealed anew."""
    from gnomon.core.canonical import encode_pretty
    from gnomon.runs import seal

    truth = {"id": list("123456"), "label": list("aabbab"), "group": list("xxyyzz")}
    guess = {"id": list("123456"), "label": list("abbbaa")}
    first = gnomon.score("labels", truth, {"first": guess}, out=folder).runs[0].path
    assert first is not None
    manifest = json.loads((first / "manifest.json").read_text())
    for index in range(1, RUNS):
        copy = folder / f"labels-system{index:04d}"
        shutil.copytree(first, copy)
        named = {**manifest, "system": f"system{index:04d}", "id": copy.name}
        (copy / "manifest.json").write_bytes(encode_pretty(named))
        (copy / seal.NAME).write_bytes(seal.make(copy))


def listed(folder: Path, *more: str) -> tuple[float, list[dict]]:
    command = [str(Path(sys.executable).parent / "gnomon"), "list", "runs", "--runs", str(folder), "--json", *more]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, json.loads(done.stdout)["tables"][0]["rows"]


def main() -> None:
    promise = Promise()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        populate(folder)
        seconds, rows = listed(folder, "--limit", "0")
        print(f"   indexing and listing {len(rows)} runs for the first time: {seconds:.2f} s")
        times = []
        for _ in range(5):
            seconds, rows = listed(folder, "--limit", "0")
            times.append(seconds)
        promise.figure("runs listed", len(rows), str(RUNS), len(rows) == RUNS)
        promise.at_most("seconds to list all, whole command, median of 5", sorted(times)[2], 0.5)
        seconds, rows = listed(folder, "--suite", "labels", "--system", "system0123")
        promise.figure("found by suite and system", len(rows), "1", len(rows) == 1)
        (folder / ".index.sqlite").write_bytes(b"not a database")
        _, rows = listed(folder, "--limit", "0")
        promise.figure("runs listed after the index was damaged", len(rows), str(RUNS), len(rows) == RUNS)
    promise.close()


if __name__ == "__main__":
    main()
