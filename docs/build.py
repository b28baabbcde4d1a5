"""Build the site: ``python docs/build.py --output site``.

Pages are those that ``docs/index.md`` names; references of commands, measures, checks and names in Python are made from
the code. The site is a folder of files that a browser opens without a server and without a network. ``--check`` writes
nothing; ``--produce`` first runs the commands of every page and writes their output into it, which takes minutes.
Whatever is wrong (a link that leads nowhere, a page without a place) is said, one line each, and the exit code is 1.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # in place of this folder, whose names are those of other packages

from docs.produce import runs  # noqa: E402
from docs.site.making import make, write  # noqa: E402


def main() -> int:
    """Build, check or produce."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output", type=Path, default=ROOT / "site", metavar="DIR", help="folder of the site (default: site)"
    )
    parser.add_argument("--check", action="store_true", help="write nothing, only say what is wrong")
    parser.add_argument("--produce", action="store_true", help="first run the commands of the pages (docs/produce.py)")
    given = parser.parse_args()
    if given.produce:
        pages = [path for path in sorted((ROOT / "docs").glob("*.md")) if runs(path.read_text(encoding="utf-8"))]
        done = subprocess.run(  # noqa: S603 - the pages are our own
            [
                sys.executable,
                str(ROOT / "docs" / "produce.py"),
                *(["--check"] if given.check else []),
                *map(str, pages),
            ],
            check=False,
        )
        if done.returncode:
            return done.returncode
    site = make(ROOT)
    if not given.check:
        write(site, given.output)
    for text in site.problems:
        print(text, file=sys.stderr)  # noqa: T201
    said = f"{len(site.problems)} problems" if site.problems else "nothing wrong"
    pages_ = sum(address.endswith(".html") for address in site.files)
    size = sum(map(len, site.files.values())) / 1e6
    print(f"{pages_} pages, {len(site.files)} files, {size:.1f} MB: {said}")  # noqa: T201
    return 1 if site.problems else 0


if __name__ == "__main__":
    sys.exit(main())
