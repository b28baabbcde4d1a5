"""Run benchmarks, from the root folder: ``python -m benchmarks [NAME...]``; keep, draw and insert what they found.

``--store DIR`` keeps a JSON file for each. ``--plot DIR`` draws ``growth.svg`` and ``ratios.svg`` and ``--markdown
PAGE`` writes the tables of a page, both from what is stored: together with ``--store`` after measuring, else without.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import BenchmarkError, Context, Row, chosen, find_peers, table
from benchmarks.storing import RESULTS, load, record, store, stored


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    try:
        if options.store or not (options.plot or options.markdown):
            measure(options)
        publish(options)
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed against peers, as ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (all)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.add_argument("--peers", type=Path, metavar="PYTHON", help="interpreter of the peers' environment")
    parser.add_argument("--quick", action="store_true", help="less data and fewer rounds; the figures are rough")
    parser.add_argument("--store", type=Path, metavar="DIR", help="keep results as DIR/NAME.json")
    parser.add_argument("--plot", type=Path, metavar="DIR", help="draw stored results as DIR/growth.svg and ratios.svg")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write stored results into the tables of a page")
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace) -> None:
    """Run what was asked for, and store each benchmark as soon as it is done."""
    with tempfile.TemporaryDirectory() as folder:
        context = Context(find_peers(options.peers), Path(folder), options.quick)
        for name, module in chosen(options.names).items():
            rows: list[Row] = []
            before = load()
            for row in module.rows(context):
                rows.append(row)
                if options.json:
                    print(json.dumps(row.as_dict()), flush=True)
            if rows and options.store:
                store(record(name, [row.as_dict() for row in rows], before, quick=options.quick), options.store)
            if rows and not options.json:
                print(f"{table(rows)}\n", flush=True)


def publish(options: argparse.Namespace) -> None:
    """Draw and insert what is stored."""
    if not (options.plot or options.markdown):
        return
    found = stored(options.store or RESULTS)
    if options.plot:
        from benchmarks.drawing import pictures

        for name, picture in pictures(found).items():
            (options.plot / name).write_bytes(picture)
    if options.markdown:
        from benchmarks.pages import inserted

        page = options.markdown.read_text(encoding="utf-8")
        options.markdown.write_text(inserted(page, found), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
