"""Run benchmarks: ``python -m benchmarks [NAME...] [--json] [--peers PYTHON] [--quick]``, from the root folder."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import BenchmarkError, Context, find_peers, run, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed against peers, as ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (all)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.add_argument("--peers", type=Path, metavar="PYTHON", help="interpreter of the peers' environment")
    parser.add_argument("--quick", action="store_true", help="less data and fewer rounds; the figures are rough")
    options = parser.parse_args()
    rows = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for row in run(options.names, Context(find_peers(options.peers), Path(folder), options.quick)):
                rows.append(row)
                if options.json:
                    print(json.dumps(row.as_dict()), flush=True)
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if not options.json:
        print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
