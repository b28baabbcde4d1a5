"""Every command on a hostile run directory ends in an error of its own, executes nothing and stays under 1 GB.

``python -m acceptance.hostile_runs [-v] [WORDS]``: every command, or with words only the attacks whose names hold them.
"""

import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from acceptance import hostile
from acceptance.browsing import Served, served
from acceptance.support import Promise

MOST_MB = 1_000
MOST_SECONDS = 60
MEMORY = 6 << 30
"""Bytes that a command may have: more is a failure, and must not take the machine with it."""
MOST_OUTPUT = 64 << 20
CODES = (0, 1, 2)
INTERNAL = ("internal error", "Traceback", "MemoryError", "core dumped")
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
FORMATS = ("terminal", "json", "csv", "markdown", "latex", "html")
RAW = ("--format json", "--format csv", "--json")
"""Formats for machines, which hold names as they are when they are not printed to a terminal."""


@dataclass(frozen=True)
class Done:
    """One command on one hostile run: what it left, and what it took."""

    attack: str
    command: str
    code: int
    seconds: float
    megabytes: float
    end: str
    """The last of what it printed."""
    faults: tuple[str, ...]
    """What is wrong with how it ended."""


def commands(run: Path, good: Path, out: Path) -> dict[str, list[str]]:
    """Return the commands that read a run, by what they are called."""
    found = {"list": ["list", "runs", "--runs", str(run.parent)], "verify": ["verify", str(run)]}
    found |= {f"report --format {form}": ["report", str(run), "--format", form] for form in FORMATS}
    found |= {
        "report as a page": ["report", str(run), "--format", "html", "--output", str(out / "page.html")],
        "compare": ["compare", str(good), str(run)],
        "audit": ["audit", str(run)],
        "audit --json": ["audit", str(run), "--json"],
    }
    return found


def perform(attack: str, name: str, arguments: Sequence[str], folder: Path) -> Done:
    """Call a command in a process of its own, which has everything loaded already."""
    output = folder / "output"
    start = time.monotonic()
    process = os.fork()
    if not process:
        _call(list(arguments), output)
    code, usage = _wait(process, start + 2 * MOST_SECONDS)
    seconds, megabytes = time.monotonic() - start, usage.ru_maxrss / 1000
    size = output.stat().st_size
    with output.open("rb") as file:
        text = file.read(4_000_000).decode("utf-8", "replace")
        file.seek(max(0, size - 400))
        end = file.read().decode("utf-8", "replace")
    faults = [f"left with code {code}"] if code not in CODES else []
    faults += [f"says {word!r}" for word in INTERNAL if word in text + end]
    faults += [f"took {megabytes:.0f} MB"] if megabytes > MOST_MB else []
    faults += [f"took {seconds:.0f} s"] if seconds > MOST_SECONDS else []
    control = CONTROLS.search(text)
    faults += [f"prints {control[0]!r}"] if control and not name.endswith(RAW) else []
    faults += [f"prints {size} bytes"] if size > MOST_OUTPUT else []
    return Done(attack, name, code, seconds, megabytes, end, tuple(faults))


def _call(arguments: list[str], output: Path) -> None:
    """Be the command; never returns."""
    code = 70
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        from gnomon.cli.main import main

        main(arguments)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 70
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(process: int, until: float) -> tuple[int, resource.struct_rusage]:
    """Wait for a process, and kill it when it takes too long."""
    killed = False
    while True:
        done, status, usage = os.wait4(process, os.WNOHANG)
        if done:
            return (-signal.SIGALRM if killed else os.waitstatus_to_exitcode(status)), usage
        if time.monotonic() > until and not killed:
            os.kill(process, signal.SIGKILL)
            killed = True
        time.sleep(0.005)


def load_everything() -> None:
    """Import what commands use, so that a process that is forked does not begin with that; nothing is computed."""
    from gnomon.core import registry

    registry.measures()


def attack_commands(
    root: Path, words: Sequence[str] = (), names: Collection[str] = tuple(hostile.RUNS)
) -> Iterator[Done]:
    """Make hostile runs one after another, and call every command on each."""
    labels, victim = hostile.make_good(root / "good")
    good = {"labels": labels, "victim": victim, "events": hostile.make_events(root / "events")}
    for name in names:
        if all(word in name for word in words):
            run = make_apart(good["events" if name.startswith("exhibits") else "victim"], root / "hostile", name)
            yield from _attack(name, run, good["labels"], root)
            remove(run.parent)
    if all(word in "names with escapes" for word in words):
        yield from _attack("names with escapes", hostile.make_odd(root / "odd"), good["labels"], root)


def make_apart(good: Path, root: Path, name: str) -> Path:
    """Make a hostile run in a process of its own, so that this one stays as small as a command that begins."""
    process = os.fork()
    if not process:
        code = 70
        try:
            hostile.make_run(good, root, name)
            code = 0
        finally:
            os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
        raise RuntimeError(f"{name}: the hostile run could not be made")
    return hostile.place(root, name)


def _attack(name: str, run: Path, good: Path, root: Path) -> Iterator[Done]:
    for called, arguments in commands(run, good, root).items():
        yield perform(name, called, arguments, root)
        if (run.parent / "executed").exists():
            raise RuntimeError(f"{name}: gnomon {called} executed what a file holds")


def remove(folder: Path) -> None:
    """Remove a folder, also one that is nested deeper than a path can say."""
    while True:
        deep = next((path for path in (folder / "d", *folder.glob("*/d")) if path.is_dir()), None)
        if deep is None:
            break
        inner = deep / "d"
        if inner.is_dir():
            inner.rename(deep.parent / "inner")
            deep.rmdir()
            (deep.parent / "inner").rename(deep)
        else:
            deep.rmdir()
    shutil.rmtree(folder)


def attack_server(root: Path, words: Sequence[str] = ()) -> tuple[list[str], int, float]:
    """Serve every hostile run at once and ask for its pages; return faults, the number of pages, and megabytes."""
    labels, victim = hostile.make_good(root / "good")
    good = {"labels": labels, "victim": victim, "events": hostile.make_events(root / "files")}
    for kind, path in good.items():
        shutil.copytree(path, root / "runs" / kind / path.name)
    keys = []
    for name in hostile.RUNS:
        if all(word in name for word in words) and "folders in folders" not in name:
            source = good["events" if name.startswith("exhibits") else "victim"]
            keys.append(str(make_apart(source, root / "runs", name).relative_to(root / "runs")))
    keys.append(str(hostile.make_odd(root / "runs" / "odd").relative_to(root / "runs")))
    first = f"labels/{good['labels'].name}"
    faults: list[str] = []
    with served(root / "runs") as server:
        pages = ["/", f"/run/{quote(first)}"]
        for key in keys:
            own = quote(key)
            pages += [f"/run/{own}", f"/together?like={own}", f"/case?run={own}", f"/data/case?run={own}&case=a"]
            pages += [f"/compare?run={quote(first)}&run={own}", f"/board?run={own}", "/"]
        asked = 0
        for page in pages:
            asked += _ask(server, page, faults)
        megabytes = server.memory()
    faults += ["executed what a file holds"] if list((root / "runs").rglob("executed")) else []
    return faults, asked, megabytes


def _ask(server: Served, page: str, faults: list[str]) -> int:
    """Ask for a page and for what it loads; return how many answers there were."""
    start = time.monotonic()
    code, text = _answer(server.address + page)
    parts = re.findall(r'(?:data-figure|data-source)="([^"]+)"', text) if page != "/" else []
    if code >= 500 or "<script>window" in text:
        faults.append(f"{page}: {code}")
    for part in parts[:3]:
        code, _ = _answer(server.address + part.replace("&amp;", "&"))
        if code >= 500:
            faults.append(f"{part}: {code}")
    if time.monotonic() - start > MOST_SECONDS:
        faults.append(f"{page}: {time.monotonic() - start:.0f} s")
    return 1 + len(parts[:3])


def _answer(address: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(address, timeout=2 * MOST_SECONDS) as answer:
            return answer.status, answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace")


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "-v"]
    promise = Promise()
    load_everything()
    with tempfile.TemporaryDirectory() as temporary:
        done = []
        for item in attack_commands(Path(temporary), words):
            done.append(item)
            if "-v" in sys.argv:
                cost = f"{item.megabytes:6.0f} MB {item.seconds:5.1f} s {item.code:3d}"
                print(f"{cost} {item.attack}: {item.command}", flush=True)
            for fault in item.faults:
                print(f"   {item.attack}: gnomon {item.command} {fault}: {item.end!r}", flush=True)
        slowest = max(done, key=lambda item: item.seconds)
        attacks = len({item.attack for item in done})
        wrong = sum(bool(item.faults) for item in done)
        promise.figure(f"commands of {len(done)} on {attacks} hostile runs that end badly", wrong, "0", not wrong)
        for command in dict.fromkeys(item.command for item in done):
            worst = max((item for item in done if item.command == command), key=lambda item: item.megabytes)
            promise.at_most(f"MB of {command} ({worst.attack})", worst.megabytes, MOST_MB)
        promise.at_most(f"seconds of a command ({slowest.attack}: {slowest.command})", slowest.seconds, MOST_SECONDS)
    with tempfile.TemporaryDirectory() as temporary:
        faults, asked, megabytes = attack_server(Path(temporary), words)
        print("\n".join(faults))
        promise.figure(f"pages of {asked} that the server answers badly", len(faults), "0", not faults)
        promise.at_most("MB of the server with all hostile runs", megabytes, MOST_MB)
    promise.close()


if __name__ == "__main__":
    main()
