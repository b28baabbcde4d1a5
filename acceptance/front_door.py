"""The front door: natural calls give the numbers of the long way round, and the base install has not grown.

- The table of natural calls (``tests/natural``) is run: calls that equal the long way round, and one-line errors.
- Files that the common library of each format wrote are read (tests that import such a library).
- The base install has the dependencies that it had; ``import gnomon`` and ``gnomon --help`` load no array library.
- The first command of the pages that people open first takes the files that they have.
"""

import re
import subprocess
import sys
import time
import tomllib

from acceptance.support import ROOT, Promise

BASE = {"numpy", "scipy", "numba", "pyarrow", "msgspec", "click", "rich"}
"""What a base install asks for."""
WRITERS = {
    "pyannote": "RTTM",
    "pympi": "ELAN",
    "praatio": "Praat TextGrid",
    "bvhio": "BVH",
    "openpyxl": "Excel",
    "pandas": "csv, parquet",
}
"""Libraries that write files of a format, for tests."""
HEAVY = ("numpy", "numba", "scipy", "torch", "pandas", "polars", "altair", "openpyxl")
HELP_S = 1.0
"""Seconds that ``gnomon --help`` may take on a quiet machine, cold start of Python included."""
FIRST = {"start": "--table", "intervals": "gnomon score events", "poses": "gnomon score skeleton"}
"""What the first command of a page that scores holds."""


def count_natural() -> int:
    """Run the natural calls and return how many passed; fail where one did."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/natural"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.search(r"(\d+) passed", done.stdout)
    return int(found[1]) if found and done.returncode == 0 else 0


def list_loaded() -> list[str]:
    """Return the heavy libraries that the help of the command line loads."""
    program = (
        "import sys, contextlib, io\nfrom gnomon.cli.main import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n    main(['--help'])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return re.findall(r"'(\w+)'", done.stdout)


def time_help() -> float:
    """Return the seconds of the fastest of five starts."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-m", "gnomon", "--help"], capture_output=True, check=True)
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    """Show every figure; exit with 1 where one falls short."""
    promise = Promise()
    promise.at_least("natural calls that pass", count_natural(), 30)
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    for library, formats in WRITERS.items():
        used = any(re.search(rf"\b{library}\b", text) for text in tests)
        promise.figure(f"{formats} written by {library} in tests", str(used), "yes", used)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {re.match(r"[\w-]+", item)[0] for item in project["dependencies"]}
    promise.figure("packages of the base install", ", ".join(sorted(asked)), "as before", asked == BASE)
    loaded = list_loaded()
    promise.figure("heavy libraries that --help loads", ", ".join(loaded) or "none", "none", not loaded)
    promise.at_most("gnomon --help (s)", time_help(), HELP_S)
    for page, expected in FIRST.items():
        text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
        first = next(line for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE) if line.startswith("gnomon score"))
        promise.figure(f"first score on {page}.md", first[:60], f"has {expected}", expected in first)
    promise.close()


if __name__ == "__main__":
    main()
