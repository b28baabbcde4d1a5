"""Systems over several datasets: their scores, one composite of them, and average ranks.

A dataset is what has one data fingerprint. Every system must have been scored on every one, by the same protocol but
for what follows from the data (classes, joints), and by the very same measure. Where it is asked for, a system that was
not is shown with a dash in the gap and left out of composites and ranks: a mean over other datasets is another number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import PurePath
from typing import Any

from gnomon.core.errors import InputError, counted, plural, some
from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table
from gnomon.core.tallies import natural_key
from gnomon.inference.composites import Composite, Part, compare_composites, composite
from gnomon.inference.friedman import Ranking, rank_systems
from gnomon.inference.intervals import Groups
from gnomon.runs.alignment import align, same_plan
from gnomon.runs.comparison import Asked, Comparison, chosen, comparison_table, pairings, with_holm
from gnomon.runs.ranks import rank_tables
from gnomon.runs.run import Run
from gnomon.runs.tables import NO_BETTER, shown, titled

ALIKE = ("name", "version", "variant", "group", "settings")
"""What protocols of different datasets must agree in."""


@dataclass(frozen=True)
class Panel:
    """Every system on every dataset: runs by dataset and system, those with gaps, and which cases were left out."""

    runs: Mapping[str, Mapping[str, Run]]
    ragged: Mapping[str, Mapping[str, Run]]
    """Runs of the systems that lack a dataset, by system and dataset."""
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

    @property
    def by_dataset(self) -> list[Run]:
        """One run on every dataset."""
        return [next(iter(own.values())) for own in self.runs.values()]

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
    family: list[float | None] = []
    for measure in measures:
        _one_measure(panel, measure)
        groups = {system: panel.groups(system, measure) for system in panel.systems}
        made = {system: composite(measure, groups[system]) for system in panel.systems}
        ordered = _ordered(made, measure)
        composites.append((measure, {system: made[system] for system in ordered}))
        shown_pairs = pairings([(name,) for name in ordered], asked)
        planned = shown_pairs if asked.against or asked.all_pairs else list(combinations(range(len(ordered)), 2))
        for left, right in planned:
            a, b = ordered[left], ordered[right]
            item = Comparison(a, b, measure, compare_composites(measure, groups[a], groups[b]))
            family.append(item.result.p)
            comparisons += [item] if (left, right) in shown_pairs else []
    tables = [_scores(panel, composites, any_run)]
    if not comparisons:
        return tables
    what = f"of the composites of {counted(len(panel.datasets), 'dataset')}"
    tables.append(comparison_table(with_holm(comparisons, family), any_run, what=what))
    return [*tables, *rank_tables([(measure, _ranking(measure, made)) for measure, made in composites])]


def _panel(runs: Sequence[Run], asked: Asked) -> Panel:
    """Put runs in their places, refuse gaps (unless told otherwise) and doubles, align the systems on every dataset."""
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
    named = _sorted(dict(zip(names, by_data.values(), strict=True)))
    systems = list(dict.fromkeys(system for own in named.values() for system in own))
    gaps = {system: [name for name, own in named.items() if system not in own] for system in systems}
    if asked.ragged == "error":
        _without_gaps([f"{system} on {name}" for system, lost in gaps.items() for name in lost])
    whole = [system for system in systems if not gaps[system]]
    if not whole:
        raise InputError("no system was scored on every dataset: leave a dataset out, or score one on all")
    _one_protocol([run for own in named.values() for run in own.values()])
    aligned = {name: align(list(own.values())) for name, own in named.items()}
    notes = [
        f"{system}: no run on {some(lost, show=12)}, so that it has no composite and no rank"
        for system, lost in gaps.items()
        if lost
    ]
    notes += [f"{name}: {note}" for name, found in aligned.items() for note in found.notes]
    placed = {name: dict(zip(named[name], found.runs, strict=True)) for name, found in aligned.items()}
    return Panel(
        {name: {system: own[system] for system in whole} for name, own in placed.items()},
        {s: {name: own[s] for name, own in placed.items() if s in own} for s in systems if gaps[s]},
        tuple(notes),
    )


def _without_gaps(gaps: Sequence[str]) -> None:
    if gaps:
        missing = some(gaps, show=12, sentences=True)
        raise InputError(
            f"every system must be scored on every dataset, but there is no run of {missing}: "
            "score these, leave the system or the dataset out, or show dashes (--ragged dash)"
        )


def _sorted(named: Mapping[str, Mapping[str, Run]]) -> dict[str, Mapping[str, Run]]:
    """Return datasets as they were given, those of one folder in the order of their names."""
    homes = {name: next(iter(own.values())).path for name, own in named.items()}
    folders = {name: None if path is None else path.parent for name, path in homes.items()}
    first: dict[Any, int] = {}
    place = {n: i if folder is None else first.setdefault(folder, i) for i, (n, folder) in enumerate(folders.items())}
    order = sorted(named, key=lambda name: (place[name], () if folders[name] is None else natural_key(name)))
    return {name: named[name] for name in order}


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
    """Return systems by composite, the best first; undefined last."""

    def key(system: str) -> tuple[bool, float]:
        value = made[system].value
        return value is None, 0.0 if value is None else measure.loss(value)

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
        rows += [_ragged_row(system, own, measure, panel.datasets) for system, own in panel.ragged.items()]
    columns = (
        Column("measure", "measure"),
        Column("system", "system"),
        *(Column(f"dataset:{name}", name, "score") for name in panel.datasets),
        Column("composite", "composite", "score"),
    )
    systems = counted(len(panel.systems) + len(panel.ragged), "system")
    title = f"{run.suite}: {systems} on {counted(len(panel.datasets), 'dataset')}"
    notes = (*panel.notes, *_scores_notes(made, run), *_recurring(panel, made))
    return Table("datasets", title, columns, tuple(rows), notes)


def _ragged_row(system: str, own: Mapping[str, Run], measure: Measure, datasets: Sequence[str]) -> dict[str, Cell]:
    """Return the scores of a system that lacks a dataset, with dashes for what it cannot have."""
    cells = {f"dataset:{name}": Cell("-") for name in datasets}
    for name, run in own.items():
        groups = run.groups(measure)
        value = measure.score(groups.total)
        part = Part(name, 0.0, float(value.values) if bool(value.defined) else None, 0, groups.n)
        cells[f"dataset:{name}"] = _part(run, part, measure)
    return {"measure": Cell(titled(measure)), "system": Cell(system), **cells, "composite": Cell("-")}


def _recurring(panel: Panel, made: Sequence[tuple[Measure, Mapping[str, Composite]]]) -> list[str]:
    """Say that groups of several datasets have one name: if they are the same, datasets are not independent."""
    if all(one.low is None for _, composites in made for one in composites.values()):
        return []
    held = Counter(group for run in panel.by_dataset for group in set(run.roster.groups))
    found = sorted((group for group, count in held.items() if count > 1), key=natural_key)
    if not found:
        return []
    level = panel.by_dataset[0].roster.level
    return [
        f"{plural(level)} of one name in several datasets: {some(found)}; if a name stands for the same {level} "
        "in each, the interval of the composite is too narrow"
    ]


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
            f"[low, high]: {100 * plan.level:g}% {plan.method} interval over the {plural(level)} within each dataset"
        )
    for direction, said in (("down", "lower is better"), ("", NO_BETTER)):
        names = [measure.name.replace("_", " ") for measure, _ in made if measure.direction == direction]
        lines += [f"{', '.join(names)}: {said}"] if names else []
    whys = (one.interval_why for one in found if one.interval_why.startswith("undefined"))
    lines += [f"interval of the composite {why}" for why in dict.fromkeys(whys)]
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
