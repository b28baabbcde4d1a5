"""Produce what the pages show: run every command of a ``console`` block and put its output under it.

``python docs/produce.py PAGE...`` rewrites pages; with ``--check`` it only says which differ and leaves with 1. The
commands of a page run one after another in one fresh folder; a line that starts with ``$ `` is a command, and what it
prints to standard output follows. A backslash at the end continues a command. ``$ ... | head -5`` and the like are
fine: a shell runs them; the first of a pipe may fail, if something is shown. ``examples`` is there.
A block ``console real`` needs real data, in the folder that GNOMON_REAL_DATA names, and one ``console models`` needs
torch (the extra ``models``); without it, it stays as it is. What is trained is not checked: its last digits depend on
the processor. A block ``python run`` is run in the same folder, where the page has it, and has to end well; it shows
nothing.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(console(?: real| models)*|python run)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def runs(page: str) -> bool:
    """Say whether a page has anything to run."""
    return BLOCK.search(page) is not None


def produced(text: str, folder: Path, *, models: bool) -> str:
    """Return a page with the output that its commands have now; blocks that train models stay unless asked for."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "120", "NO_COLOR": "1"}

    (folder / "examples").symlink_to(ROOT / "examples")

    def done(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - the pages are our own
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    def run(block: re.Match[str]) -> str:
        language, *needs = block[1].split()
        if language == "python":
            if (ended := done("python", "-c", block[2])).returncode:
                raise SystemExit(f"{block[0]}\nleft with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
            return block[0]
        if "real" in needs and not os.environ.get("GNOMON_REAL_DATA"):
            return block[0]
        if "models" in needs and not models:
            return block[0]
        out = []
        for command in re.findall(r"^\$ ((?:.*\\\n)*.*)$", block[2], re.MULTILINE):
            ended = done("bash", "-o", "pipefail", "-c", command)
            if ended.returncode and not ("|" in command and ended.stdout):
                raise SystemExit(f"$ {command}\nleft with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
            shown = "".join(f"{line.rstrip()}\n" for line in ended.stdout.rstrip().splitlines())
            out.append(f"$ {command}\n{shown}")
        return f"```{block[1]}\n" + "\n".join(out) + "```"

    return BLOCK.sub(run, text)


def main() -> int:
    """Rewrite or check pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    different = []
    for page in given.pages:
        before = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            after = produced(before, Path(folder), models=not given.check and find_spec("torch") is not None)
        if after != before:
            different.append(page)
            if not given.check:
                page.write_text(after, encoding="utf-8")
    print("\n".join(f"{page}: {'differs' if given.check else 'rewritten'}" for page in different) or "as produced")  # noqa: T201
    return 1 if different and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
