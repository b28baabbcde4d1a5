"""Stored results as sections of a page: what was measured where, ratios to peers, growth. Never typed by hand.

A section begins with its heading and ends before the next one of the same level; :func:`inserted` puts another text
under the heading, so that the page is the same wherever the results are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.drawing import Stored, growth_of, shortly, times
from benchmarks.harness import BenchmarkError
from benchmarks.storing import MEASURED

ROUGH = "Measured with `--quick`: less data and fewer rounds; the figures are rough."
FACTOR = (1_000_000, 100_000_000)


def inserted(page: str, found: Stored) -> str:
    """Return a page with the sections of :data:`SECTIONS` as the results say.

    Raises
    ------
    BenchmarkError
        The page has no such heading.
    """
    for title, made in SECTIONS.items():
        pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
        if len(pattern.findall(page)) != 1:
            raise BenchmarkError(f"expected one heading '## {title}' to put the results under")
        first, last = next(pattern.finditer(page)).span()
        page = f"{page[:first]}## {title}\n\n{made(found)}\n\n{page[last:]}"
    return page.rstrip("\n") + "\n"


def measured_on(found: Stored) -> str:
    """Describe machines, and when each benchmark was run on which source."""
    machines: list[Mapping[str, Any]] = []
    lines = []
    for name, held in found.items():
        if held["machine"] not in machines:
            machines.append(held["machine"])
        load = " to ".join(f"{held['load'][end][0]:.2f}" for end in ("before", "after"))
        kind = "quick" if held["quick"] else "full"
        place = machines.index(held["machine"]) + 1
        lines.append((f"`{name}`", held["when"][:10], sources(held), kind, load, str(place)))
    described = [f"{place}. {described_as(own)}" for place, own in enumerate(machines, 1)]
    head = ("benchmark", "when", "source", "size", "load before and after", "machine")
    return "\n".join([*described, "", table(head, lines)])


def sources(held: Mapping[str, Any]) -> str:
    """Say on which source a benchmark was measured, and on which others some of its rows."""
    found = Counter(source(row.get(MEASURED, held)) for row in held["rows"])
    newest = source(held)
    others = [f"{count} of {len(held['rows'])} rows on {name}" for name, count in found.items() if name != newest]
    return "; ".join([newest, *others])


def source(held: Mapping[str, Any]) -> str:
    commit = "unknown" if held["commit"] is None else f"`{held['commit'][:10]}`"
    return commit + (" with changes" if held["changed"] else "")


def described_as(machine: Mapping[str, Any]) -> str:
    """Return a machine as a sentence."""
    known = ("cpu", "cores", "memory_gb", "kernel")
    versions = ", ".join(f"{name} {own}" for name, own in machine.items() if name not in known)
    cores = "1 core" if machine["cores"] == 1 else f"{machine['cores']} cores"
    return f"{machine['cpu']}, {cores}, {machine['memory_gb']:g} GB of memory, {machine['kernel']}; {versions}."


def beside_peers(found: Stored) -> str:
    """Return the table of ratios, in the order of benchmarks."""
    lines = []
    for held in found.values():
        for row in held["rows"]:
            if row["ratio"] is not None:
                peer = f"{row['peer']} {row['peer_version']}"
                own, theirs = seconds(row["ours_s"]), seconds(row["peer_s"])
                lines.append((f"`{row['name']}`", f"{row['n']:,}", own, peer, theirs, times(row["ratio"])))
    if not lines:
        raise BenchmarkError("no stored result has a peer: run more benchmarks with --store")
    text = table(("measurement", "n", "gnomon", "peer", "its time", "times faster"), lines)
    rough = any(held["quick"] for held in found.values() if any(row["ratio"] is not None for row in held["rows"]))
    return "\n\n".join(
        ["![How many times faster than each peer](figures/ratios.svg)", *([ROUGH] if rough else []), text]
    )


def of_growth(found: Stored) -> str:
    """Return the table of growth: seconds by units, how many times 1e6 takes 1e8, and memory at the largest."""
    if "growth" not in found:
        raise BenchmarkError("growth is not stored: run `python -m benchmarks growth --store DIR`")
    curves = growth_of(found)
    sizes = sorted({row["n"] for own in curves.values() for row in own})
    lines = []
    for own in curves.values():
        by_size = {row["n"]: row for row in own}
        cells = [seconds(by_size[n]["ours_s"]) if n in by_size else "-" for n in sizes]
        last = own[-1]
        memory = f"{last['peak_mb']:,.0f} MB at {shortly(last['n'])}"
        lines.append((f"`{last['measure']}`", last["unit"], *cells, factor(by_size), seconds(last["cpu_s"]), memory))
    head = ("measure", "unit", *map(shortly, sizes), "times, 1e6 to 1e8", "CPU at the most", "peak memory")
    picture = "![Seconds and peak memory over units, on logarithmic scales](figures/growth.svg)"
    rough = [ROUGH] if found["growth"]["quick"] else []
    return "\n\n".join([picture, *rough, table(head, lines)])


def of_commands(found: Stored) -> str:
    """Return the table of whole commands, and that of the places where their CPU time goes."""
    if "commands" not in found:
        raise BenchmarkError("commands is not stored: run `python -m benchmarks commands --store DIR`")
    lines, places = [], []
    for row in found["commands"]["rows"]:
        name = f"`{row['name']}`"
        memory = f"{row['peak_mb']:,.0f} MB"
        lines.append((name, row["unit"], shortly(row["n"]), seconds(row["ours_s"]), seconds(row["cpu_s"]), memory))
        places.append((name, *(f"{share:.0%} `{place}`" for place, share in row["places"])))
    rough = [ROUGH] if found["commands"]["quick"] else []
    head = ("command", "unit", "units", "from the shell to the run", "CPU", "peak memory")
    return "\n\n".join([*rough, table(head, lines), table(("command", "most CPU time", "then", "then"), places)])


def of_audit(found: Stored) -> str:
    """Return the table of what checks of the audit cost."""
    if "auditing" not in found:
        raise BenchmarkError("auditing is not stored: run `python -m benchmarks auditing --store DIR`")
    lines = []
    for row in found["auditing"]["rows"]:
        among = f"{row['n']:,} x {row['among']:,}" if "among" in row else f"{row['n']:,}"
        by_pairs = seconds(row["all_pairs_s"]) if "all_pairs_s" in row else "-"
        lines.append((f"`{row['name']}`", row["unit"], among, seconds(row["ours_s"]), by_pairs))
    rough = [ROUGH] if found["auditing"]["quick"] else []
    return "\n\n".join([*rough, table(("check", "unit", "units", "CPU", "by all pairs"), lines)])


def factor(by_size: Mapping[int, Mapping[str, Any]]) -> str:
    """Return how many times as long 1e8 units take as 1e6: in the same minutes where they were measured so.

    Where one of them was not measured, the same of the largest size and a hundredth of it, which are named; a dash
    where that was not measured either.
    """
    large = (
        FACTOR[1] if FACTOR[1] in by_size and (FACTOR[0] in by_size or "times" in by_size[FACTOR[1]]) else max(by_size)
    )
    before = by_size.get(large // 100)
    if "times" not in by_size[large] and before is None:
        return "-"
    named = "" if large == FACTOR[1] else f" ({shortly(large // 100)} to {shortly(large)})"
    found = by_size[large].get("times") or by_size[large]["ours_s"] / by_size[large // 100]["ours_s"]
    return f"{found:.3g}{named}"


def seconds(value: float) -> str:
    """Write a time.

    >>> seconds(0.00123), seconds(0.5), seconds(93.2)
    ('1.23 ms', '500 ms', '93.2 s')
    """
    return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return rows as a table of Markdown."""
    cells = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(line)} |".replace("| --- ", "|---").replace("--- |", "---|") for line in cells)


SECTIONS: Mapping[str, Callable[[Stored], str]] = {
    "Beside peers": beside_peers,
    "Growth": of_growth,
    "Whole commands": of_commands,
    "Checks of the audit": of_audit,
    "Measured on": measured_on,
}
"""Headings of the page, and what is written under them."""
