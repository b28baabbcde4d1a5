"""One system on the same data in several variants of a protocol, side by side with the gap between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table
from gnomon.runs.run import Run
from gnomon.runs.tables import cell, shown, titled

SHOWN = 8
"""How many measures are set side by side."""
DIFFERS = "differs_because"
"""The fact under which a suite says why a variant differs from the published one."""
Key = tuple[str, str, str]


def variant(run: Run) -> str:
    """Return the variant of a run's protocol."""
    return str(run.manifest["protocol"]["variant"])


def told_apart(runs: Sequence[Run]) -> list[Run]:
    """Name the variant behind systems that are here in several, so that no two names are equal."""
    found = _families(runs)
    return [
        replace(run, alias=f"{run.system} [{variant(run)}]") if len({variant(r) for r in found[_key(run)]}) > 1 else run
        for run in runs
    ]


def only(runs: Sequence[Run]) -> bool:
    """Say whether runs that stand on different grounds differ in nothing but the variant."""
    return all(
        len({(run.suite, run.manifest["data_fingerprint"], run.plan) for run in runs}) == 1
        and len({run.ground for run in runs if variant(run) == name}) == 1
        for name in {variant(run) for run in runs}
    )


def gap(runs: Sequence[Run]) -> Table | None:
    """Return a row per system and measure with a column per variant and the last minus the first; None without two."""
    families = [family for family in _families(runs).values() if _aligned(family)]
    if not families:
        return None
    names = [variant(run) for run in families[0]]
    rows = []
    for family in (f for f in families if [variant(run) for run in f] == names):
        for measure in _shared(family):
            scores = [run.find(measure.name) for run in family]
            values = [None if score is None else shown(score.value, measure) for score in scores]
            first, last = values[0], values[-1]
            known = first is not None and last is not None
            rows.append(
                {
                    "system": Cell(str(family[0].manifest["system"])),
                    "measure": Cell(titled(measure)),
                    **{name: cell(score, measure) for name, score in zip(names, scores, strict=True)},
                    "gap": Cell(last - first) if known else Cell(None, why="a side is undefined"),  # type: ignore[operator]
                }
            )
    columns = (
        Column("system", "system"),
        Column("measure", "measure"),
        *(Column(name, name, "score") for name in names),
        Column("gap", f"{names[-1]} - {names[0]}", "number"),
    )
    notes = dict.fromkeys(str(text) for family in families for run in family for text in _reasons(run))
    title = f"{runs[0].suite}: {' and '.join(names)} side by side"
    return Table("variants", title, columns, tuple(rows), tuple(notes))


def _reasons(run: Run) -> Sequence[str]:
    """Return why a variant differs from the others, where its suite says so."""
    found: Sequence[str] = run.manifest["facts"].get(DIFFERS, ())
    return found


def _key(run: Run) -> Key:
    return run.suite, str(run.manifest["system"]), str(run.manifest["data_fingerprint"])


def _families(runs: Sequence[Run]) -> dict[Key, list[Run]]:
    found: dict[Key, list[Run]] = {}
    for run in runs:
        found.setdefault(_key(run), []).append(run)
    return {key: sorted(family, key=variant) for key, family in found.items()}


def _aligned(family: Sequence[Run]) -> bool:
    """Say whether these are two or more variants, each once."""
    return len(family) > 1 and len({variant(run) for run in family}) == len(family)


def _shared(family: Sequence[Run]) -> list[Measure]:
    common = set.intersection(*({measure.name for measure in run.measures} for run in family))
    return [measure for measure in family[0].measures if measure.name in common][:SHOWN]
