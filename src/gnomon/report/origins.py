"""Where runs come from: the facts at the head of a report, and tables of how each run was made."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gnomon.core.errors import counted, plural
from gnomon.core.table import Cell, Column, Table, make_cells, text_columns
from gnomon.runs import seal
from gnomon.runs.run import Run

PRINT = 12
"""Hexadecimal digits of a fingerprint that are shown."""
MOST_NAMES = 12


def facts(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return what a report is about, as names and texts."""
    protocols = (_protocol(run) for run in runs)
    data = (_data(run) for run in runs)
    systems = list(dict.fromkeys(run.system for run in runs))
    more = len(systems) - MOST_NAMES
    named = ", ".join(systems[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    partial = [run.system for run in runs if not run.complete]
    found = [
        (plural("suite", len({run.suite for run in runs})), _distinct(run.suite for run in runs)),
        ("protocol", _distinct(protocols)),
        ("data", _distinct(data)),
        (plural("system", len(systems)), f"{len(systems)}: {named}"),
        ("intervals", _distinct(_plan(run) for run in runs)),
        ("runs made", _when(runs)),
        ("gnomon", _distinct(_known(run, "provenance", "gnomon") for run in runs)),
    ]
    if partial:
        found.append(("partial", ", ".join(partial[:MOST_NAMES])))
    return [(name, value) for name, value in found if value]


def origins(runs: Sequence[Run]) -> list[Table]:
    """Return how each run was made: when, with which versions, from which commands and options."""
    return [_provenance(runs), _software(runs), _commands(runs)]


def _provenance(runs: Sequence[Run]) -> Table:
    columns = (
        *text_columns(system="system", run="run", variant="variant", data="data", started="started"),
        Column("wall", "wall time", "number", "s", digits=1),
        Column("seal", "seal"),
    )
    rows = tuple(
        {
            "system": Cell(run.system),
            "run": Cell(str(run.manifest["id"])),
            "variant": Cell(str(run.manifest["protocol"]["variant"]) or "-"),
            "data": Cell(str(run.manifest["data_fingerprint"])[:PRINT]),
            "started": Cell(_known(run, "time", "started") or "-"),
            "wall": _number(run.manifest.get("time"), "wall_s"),
            "seal": Cell(_seal(run)),
        }
        for run in runs
    )
    notes = ("seal: hash over the hashes of all files of a run; gnomon verify checks them",)
    return Table("provenance", "runs", columns, rows, notes)


def _software(runs: Sequence[Run]) -> Table:
    """Return a row for every set of versions that runs were made with."""
    columns = text_columns(
        systems="systems", gnomon="gnomon", source="source", python="Python", platform="platform", packages="packages"
    )
    held: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        said = (_known(run, "provenance", key) or "-" for key in ("gnomon", "python", "platform"))
        gnomon, python, platform = said
        held.setdefault((gnomon, _source(run), python, platform, _versions(run)), []).append(run.system)
    rows = []
    for found, names in held.items():
        whose = "all" if len(held) == 1 and len(names) > 1 else ", ".join(names)
        cells = dict(zip(("gnomon", "source", "python", "platform", "packages"), map(Cell, found), strict=True))
        rows.append({"systems": Cell(whose), **cells})
    return Table("software", "what they were made with", columns, tuple(rows))


def _commands(runs: Sequence[Run]) -> Table:
    columns = (Column("system", "system"), Column("command", "command"), Column("options", "options asked for"))
    rows = tuple(make_cells(system=run.system, command=_command(run), options=_options(run)) for run in runs)
    return Table("commands", "commands and options", columns, rows)


def _protocol(run: Run) -> str:
    protocol = run.manifest["protocol"]
    variant = f", {protocol['variant']}" if protocol.get("variant") else ""
    return f"{protocol['name']} {protocol['version']}{variant} ({str(run.manifest['protocol_fingerprint'])[:PRINT]})"


def _data(run: Run) -> str:
    groups = len(set(run.roster.groups))
    return (
        f"{str(run.manifest['data_fingerprint'])[:PRINT]}: {counted(len(run.roster), 'case')} "
        f"in {counted(groups, run.roster.level)}"
    )


def _plan(run: Run) -> str:
    plan = run.plan
    return "not asked for" if plan.method == "none" else f"{100 * plan.level:g}% {plan.method}"


def _when(runs: Sequence[Run]) -> str:
    times = sorted(filter(None, (_known(run, "time", "started") for run in runs)))
    if not times:
        return ""
    return times[0] if times[0] == times[-1] else f"{times[0]} to {times[-1]}"


def _known(run: Run, part: str, key: str) -> str:
    held = run.manifest.get(part)
    return str(held.get(key) or "") if isinstance(held, Mapping) else ""


def _number(held: Any, key: str) -> Cell:
    value = held.get(key) if isinstance(held, Mapping) else None
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Cell(float(value)) if known else Cell(None, why="not told")  # type: ignore[arg-type]


def _source(run: Run) -> str:
    held: Any = run.manifest.get("provenance")
    source = held.get("source") if isinstance(held, Mapping) else None
    if not isinstance(source, Mapping):
        return "-"
    return str(source.get("commit", ""))[:PRINT] + (" (changed)" if source.get("dirty") else "")


def _versions(run: Run) -> str:
    held: Any = run.manifest.get("provenance")
    found = held.get("dependencies") if isinstance(held, Mapping) else None
    return ", ".join(f"{name} {value}" for name, value in found.items()) if isinstance(found, Mapping) else "-"


def _seal(run: Run) -> str:
    path = None if run.path is None else run.path / seal.NAME
    if path is None or not path.is_file():
        return "not stored"
    if path.stat().st_size > seal.LARGEST:
        return "too large for a seal"
    return hashlib.sha256(path.read_bytes()).hexdigest()[:PRINT]


def _command(run: Run) -> str:
    held: Any = run.manifest.get("provenance")
    words = held.get("command") if isinstance(held, Mapping) else None
    return shlex.join(map(str, words)) if isinstance(words, list) else "-"


def _options(run: Run) -> str:
    held: Any = run.manifest.get("options")
    asked = held.get("asked") if isinstance(held, Mapping) else None
    if not isinstance(asked, Mapping):
        return "-"
    return ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in asked.items()) or "defaults"


def _distinct(values: Iterable[str]) -> str:
    found = [value for value in dict.fromkeys(values) if value]
    more = len(found) - MOST_NAMES
    return "; ".join(found[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
