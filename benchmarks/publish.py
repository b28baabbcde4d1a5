"""Measure everything, store it, draw it and write it into the page: ``python -m benchmarks.publish [NAME...]``.

This is ``python -m benchmarks`` with the places of the repository: ``benchmarks/results``, ``docs/figures`` and
``docs/performance.md``. Benchmarks that are not named keep the results that are stored. Further options go along.
"""

from __future__ import annotations

import sys

from benchmarks.__main__ import main
from benchmarks.harness import FOLDER
from benchmarks.storing import RESULTS

DOCS = FOLDER.parent / "docs"
PLACES = ("--store", str(RESULTS), "--plot", str(DOCS / "figures"), "--markdown", str(DOCS / "performance.md"))

if __name__ == "__main__":
    sys.exit(main([*PLACES, *sys.argv[1:]]))
