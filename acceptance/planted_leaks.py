"""Every leak that a check is for, planted in generated data, is found; the clean twin of each gives no finding.

Then: how often the checks that decide by chance are right over many draws, and what a million samples cost.
``--markdown`` prints the tables as they stand in docs/audit.md.
"""

import sys
from collections.abc import Sequence

from benchmarks import auditing

from acceptance.support import Promise
from gnomon.audit import CHECKS
from gnomon.testing.planted import DRAWN, PLANTED, Outcome, tables

DRAWS, LEAST_FOUND, MOST_ALARMS = 100, 0.98, 0.02
MOST_CPU_S = 8.0


def plain(rows: Sequence[tables.Row]) -> str:
    """Lay a table out for a terminal."""
    lines = [tuple(text.replace("`", "") for text in line) for line in (tables.CASES, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    laid = ("  ".join(f"{text:{w}}" for text, w in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(f"   {line}".rstrip() for line in laid)


def planted(promise: Promise, outcomes: Sequence[Outcome]) -> None:
    n = len(outcomes)
    found = sum(outcome.found is not None for outcome in outcomes)
    clean = sum(not outcome.clean for outcome in outcomes)
    declared = {(check.id, finding) for check in CHECKS.values() for finding in check.finds}
    there = {(case.check, case.finding) for case in PLANTED}
    promise.figure("planted faults found", f"{found} of {n}", "all", found == n)
    promise.figure("clean twins without a finding", f"{clean} of {n}", "all", clean == n)
    text = f"{len(declared & there)} of {len(declared)}"
    promise.figure("findings of checks that have a planted case", text, "all", declared == there)


def drawn(promise: Promise) -> None:
    for name, make in DRAWN.items():
        found = sum(any(finding.id == name for finding in make(True, seed)) for seed in range(DRAWS))
        alarms = sum(bool(make(False, seed)) for seed in range(DRAWS))
        promise.at_least(f"{name}: found in {DRAWS} draws", found / DRAWS, LEAST_FOUND)
        promise.at_most(f"{name}: false alarms in {DRAWS} clean draws", alarms / DRAWS, MOST_ALARMS)


def speed(promise: Promise) -> None:
    for row in auditing.checks(auditing.MILLION):
        promise.at_most(f"{row.name} over {row.n:,} samples, CPU seconds", row.ours_s, MOST_CPU_S)
    row = auditing.near(auditing.QUERIES, auditing.VECTORS)
    slow, among = row.extras["all_pairs_s"], row.extras["among"]
    what = f"near duplicates, {row.n:,} x {among:,} of {auditing.LENGTH} numbers, by cells, as all pairs find them"
    promise.at_least(f"{what}: {slow:.1f} against {row.ours_s:.1f} CPU seconds, times", slow / row.ours_s, 3.0)


def main() -> None:
    outcomes = [case.outcome() for case in PLANTED]
    rows = tables.cases(outcomes)
    if "--markdown" in sys.argv[1:]:
        print(tables.markdown(tables.CASES, rows), tables.markdown(tables.SAID, tables.said(outcomes)), sep="\n\n")
        return
    print(plain(rows), end="\n\n")
    promise = Promise()
    planted(promise, outcomes)
    drawn(promise)
    speed(promise)
    promise.close()


if __name__ == "__main__":
    main()
