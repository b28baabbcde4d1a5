"""Systems over several datasets: their scores, one composite of them, and average ranks.

A dataset is what has one data fingerprint. Every system must have been scored on every one, by the same protocol but
for what follows from the data (classes, joints), and by the very same measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from gnomon.core.errors import InputError, counted, plural, some
from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table
from gnomon.inference.composites import Composite, Part, compare_composites, composite
from gnomon.inference.friedman import Ranking, rank_systems
from gnomon.inference.intervals import Groups
from gnomon.runs.alignment import align, same_plan
from gnomon.runs.comparison import Asked, Comparison, chosen, comparison_table, pairings
from gnomon.runs.ranks import rank_tables
from gnomon.runs.run import Run
from gnomon.runs.tables import shown, titled

ALIKE = ("name", "version", "variant", "group", "settings")
"""What protocols of different datasets must agree in."""


@dataclass(frozen=True)
class Panel:
    """Every system on every dataset: runs by dataset and system, and which cases were left out."""

    runs: Mapping[str, Mapping[str, Run]]
    notes: tuple[str, ...]

    @property
    def datasets(self) -> list[str]:
        """Names of the datasets."""
        return list(self.runs)

    @property
    def systems(self) -> list[str]:
        """Names of the systems."""
        return list(self.first)

    @property
    def first(self) -> Mapping[str, Run]:
        """The runs on the first dataset, by system."""
        return next(iter(self.runs.values()))

    def groups(self, system: str, measure: Measure) -> dict[str, Groups]:
        """Return the groups of a system on every dataset."""
        return {dataset: own[system].groups(measure) for dataset, own in self.runs.items()}


def compare_datasets(runs: Sequence[Run], asked: Asked) -> list[Table]:
    """Compare systems over datasets: scores and composite, paired comparison of composites, ranks."""
    panel = _panel(runs, asked)
    measures = chosen(panel.first[panel.systems[0]], asked.measures)
    any_run = panel.first[panel.systems[0]]
    composites: list[tuple[Measure, dict[str, Composite]]] = []
    comparisons: list[Comparison] = []
    for measure in measures:
        _one_measure(panel, measure)
        groups = {system: panel.groups(system, measure) for system in panel.systems}
        made = {system: composite(measure, groups[system]) for system in panel.systems}
        ordered = _ordered(made, measure)
        composites.append((measure, {system: made[system] for system in ordered}))
        for left, right in pairings([(name,) for name in ordered], asked):
            a, b = ordered[left], ordered[right]
            comparisons.append(Comparison(a, b, measure, compare_composites(measure, groups[a], groups[b])))
    tables = [_scores(panel, composites, any_run)]
    if not comparisons:
        return tables
    what = f"of the composites of {counted(len(panel.datasets), 'dataset')}"
    tables.append(comparison_table(comparisons, any_run, what=what))
    return [*tables, *rank_tables([(measure, _ranking(measure, made)) for measure, made in composites])]


def _panel(runs: Sequence[Run], asked: Asked) -> Panel:
    """Put runs in their places, refuse gaps and doubles, and align the systems on every dataset."""
    by_data: dict[str, dict[str, Run]] = {}
    for run in (replace(run, alias="") for run in runs):
        own = by_data.setdefault(str(run.manifest["data_fingerprint"]), {})
        if run.system in own:
            ids = f"{own[run.system].manifest['id']} and {run.manifest['id']}"
            raise InputError(f"{run.system} has several runs on one dataset ({ids}): give one of them")
        own[run.system] = run
    if len(by_data) < 2:
        raise InputError(f"--over datasets: expected runs on at least two datasets, but got {len(by_data)}")
    names = _names({key: next(iter(own.values())) for key, own in by_data.items()})
    named = dict(zip(names, by_data.values(), strict=True))
    systems = list(dict.fromkeys(system for own in named.values() for system in own))
    gaps = [f"{system} on {dataset}" for dataset, own in named.items() for system in systems if system not in own]
    if gaps:
        missing = some(gaps, show=12, sentences=True)
        raise InputError(
            f"every system must be scored on every dataset, but there is no run of {missing}: "
            "score these, or leave the system or the dataset out"
        )
    _one_protocol([run for own in named.values() for run in own.values()])
    aligned = {name: align([own[system] for system in systems], common=asked.common) for name, own in named.items()}
    notes = [f"{name}: compared only {found.scope}" for name, found in aligned.items() if found.scope]
    notes += [f"{name}: {note}" for name, found in aligned.items() for note in found.notes]
    return Panel({name: dict(zip(systems, a.runs, strict=True)) for name, a in aligned.items()}, tuple(notes))


def _names(datasets: Mapping[str, Run]) -> list[str]:
    """Name datasets: as their suite does, after the folder of the first input, after its file, or by fingerprint."""
    prints = [key[:8] for key in datasets]
    stated = [run.manifest["facts"].get("dataset") for run in datasets.values()]
    paths = [PurePath(str(_input(run).get("path") or "")) for run in datasets.values()]
    candidates: list[list[Any]] = [stated, [path.parent.name for path in paths], [path.stem for path in paths]]
    for names in candidates:
        if all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names):
            return names
    return prints if len(set(prints)) == len(prints) else list(datasets)


def _input(run: Run) -> Mapping[str, Any]:
    inputs: Sequence[Mapping[str, Any]] = run.manifest.get("inputs") or [{}]
    return inputs[0]


def _one_protocol(runs: Sequence[Run]) -> None:
    first = runs[0]
    for run in runs[1:]:
        if run.suite != first.suite:
            raise InputError(f"{first.suite} and {run.suite}: runs of different suites have no score in common")
        for key in ALIKE:
            theirs, ours = run.manifest["protocol"].get(key), first.manifest["protocol"].get(key)
            if theirs != ours:
                raise InputError(
                    f"{run.manifest['id']} and {first.manifest['id']} were scored by different protocols "
                    f"({key} {theirs!r} and {ours!r}): score all datasets with the same options"
                )
        same_plan(first, run)


def _one_measure(panel: Panel, measure: Measure) -> None:
    """Refuse a measure that is not the same on every dataset, or not there."""
    for dataset, own in panel.runs.items():
        theirs = next((m for m in own[panel.systems[0]].measures if m.name == measure.name), None)
        if theirs is None:
            raise InputError(f"dataset {dataset} has no measure {measure.name!r}: choose one that all have")
        if repr(theirs) != repr(measure):
            raise InputError(
                f"{measure.name} is not the same measure on every dataset: {theirs!r} on {dataset} and {measure!r}"
            )


def _ordered(made: Mapping[str, Composite], measure: Measure) -> list[str]:
    """Return systems by falling composite (rising where lower is better); undefined last."""
    sign = -1.0 if measure.direction == "up" else 1.0

    def key(system: str) -> tuple[bool, float]:
        value = made[system].value
        return value is None, float(f"{sign * (value or 0.0):.9g}")

    return sorted(made, key=key)


def _scores(panel: Panel, made: Sequence[tuple[Measure, Mapping[str, Composite]]], run: Run) -> Table:
    """One row per measure and system: the score on every dataset, and the composite with its interval."""
    rows = []
    for measure, composites in made:
        for system, found in composites.items():
            cells = {
                f"dataset:{part.name}": _part(panel.runs[part.name][system], part, measure) for part in found.parts
            }
            value, low, high = (shown(number, measure) for number in (found.value, found.low, found.high))
            whole = Cell(value, low, high, found.why, found.interval_why)
            rows.append({"measure": Cell(titled(measure)), "system": Cell(system), **cells, "composite": whole})
    columns = (
        Column("measure", "measure"),
        Column("system", "system"),
        *(Column(f"dataset:{name}", name, "score") for name in panel.datasets),
        Column("composite", "composite", "score"),
    )
    title = f"{run.suite}: {counted(len(panel.systems), 'system')} on {counted(len(panel.datasets), 'dataset')}"
    return Table("datasets", title, columns, tuple(rows), (*panel.notes, *_scores_notes(made, run)))


def _part(run: Run, part: Part, measure: Measure) -> Cell:
    if part.value is None:
        return Cell(None, why=measure.why(run.groups(measure).total))
    return Cell(shown(part.value, measure))


def _scores_notes(made: Sequence[tuple[Measure, Mapping[str, Composite]]], run: Run) -> list[str]:
    found = [one for _, composites in made for one in composites.values()]
    level, plan = run.roster.level, run.plan
    sizes = ", ".join(f"{part.name} {part.groups}" for part in found[0].parts)
    lines = [f"{plural(level)} of each dataset: {sizes}"]
    lines.append("composite: mean of the scores on the datasets, all with the same weight however large they are")
    if any(one.low is not None for one in found):
        lines.append(
            f"[low, high]: {100 * plan.level:g}% {plan.method} interval over the {plural(level)} within each dataset; "
            f"too narrow if a {level} occurs in two of them"
        )
    down = [measure.name.replace("_", " ") for measure, _ in made if measure.direction == "down"]
    lines += [f"{', '.join(down)}: lower is better"] if down else []
    whys = (one.interval_why for one in found if one.interval_why.startswith(("undefined", "'")))
    lines += [f"interval of the composite: {why}" for why in dict.fromkeys(whys)]
    return [*lines, *_shared([part.name for part in found[0].parts], [note for one in found for note in one.notes])]


def _shared(datasets: Sequence[str], notes: Sequence[str]) -> list[str]:
    """Say once what holds for several datasets; every note begins with the name of one."""
    found: dict[str, list[str]] = {}
    for name in datasets:
        for text in dict.fromkeys(note.removeprefix(f"{name}: ") for note in notes if note.startswith(f"{name}: ")):
            found.setdefault(text, []).append(name)
    return [f"{'every dataset' if len(n) == len(datasets) else ', '.join(n)}: {text}" for text, n in found.items()]


def _ranking(measure: Measure, made: Mapping[str, Composite]) -> Ranking:
    columns = [[part.value for part in one.parts] for one in made.values()]
    return rank_systems(list(zip(*columns, strict=True)), list(made), direction=measure.direction)
