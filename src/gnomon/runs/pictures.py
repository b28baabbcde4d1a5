"""Figures and tables that runs of any suite have in common, as plain data; how they are drawn is the report's affair.

Views
-----
``intervals``
    Leading measures of every system with their intervals; the best is marked where it is significantly better than
    every other, as in tables.
``gap``
    The same system under two variants of a protocol, measure by measure.
``strips``
    The score of every single case. A case is scored from its own tallies, as if nothing else had been measured (a macro
    average is over the classes that the case has in truth), so that the mean of the points is not the score of the
    whole. Measures of ledgers have no such scores, and a mean over
    datasets has none either: in its place stand the measures of each dataset.
``ranks``
    Mean ranks over five and more datasets with the critical difference: those of several runs, or those that a run
    holds under measures that differ in their field ``dataset`` alone.
``curves``
    Losses of training, where the facts of a run keep them (lists under ``loss`` or ``losses``).

Tables: ``worst`` cases, ``findings``, ``claims``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, counted
from gnomon.core.measure import Measure
from gnomon.core.rows import LedgerMeasure
from gnomon.core.table import Cell, Column, Table, View
from gnomon.inference.friedman import Ranking, cliques, rank_systems
from gnomon.runs.comparison import BETTER, Contest
from gnomon.runs.run import Run
from gnomon.runs.tables import column, each_notes, ranked, shown, titled

LEADING = 4
"""How many measures are drawn with their intervals."""
MOST_SYSTEMS = 40
MOST_POINTS = 2_000
MOST_STRIPS = 6
"""Measures of which single cases are shown, where the headline has no scores of them."""
MOST_WORST = 20
MOST_SERIES = 8
MOST_CURVES = 6
"""Figures of training per run."""
LONGEST_CURVE = 400
ALPHA = 0.05
_ORDER = {"error": 0, "warning": 1, "info": 2}


def intervals(runs: Sequence[Run]) -> list[View]:
    """Return a view for each leading measure that any system has a score of; runs are of one ground."""
    ordered = ranked(runs)
    kept = ordered[:MOST_SYSTEMS]
    views: list[View] = []
    for measure in runs[0].measures:
        rows = [_interval(run, measure) for run in kept]
        if all(row["value"] is None for row in rows):
            continue
        winner, said = _best(measure, ordered)
        for row, run in zip(rows, kept, strict=True):
            row["best"] = run.system == winner
        data = {"measure": titled(measure), **_shape(measure), "rows": rows}
        title = f"{_of(runs[0])}: {titled(measure)}"
        views.append(View(f"intervals_{len(views) + 1}", title, "intervals", data, (*_without(ordered), *said)))
        if len(views) == LEADING:
            break
    return views


def _best(measure: Measure, runs: Sequence[Run]) -> tuple[str, tuple[str, ...]]:
    """Return the system to mark, if any, and what is said of it; a single system is not spoken of."""
    if len(runs) < 2:
        return "", ()
    if any((score := run.find(measure.name)) is None or score.value is None for run in runs):
        return "", ("none is marked: not every system has a score",)
    if not measure.computable:
        return "", ("none is marked: this metric is your own, and its class was not loaded",)
    try:
        contest = Contest(runs)
        winner = contest.winner(measure)
    except InputError as error:
        return "", (f"none is marked: no paired comparison: {error}",)
    if not winner:
        return "", (f"none is marked: no system is {BETTER}",)
    hidden = "" if winner in [run.system for run in runs[:MOST_SYSTEMS]] else f"; it is {winner}, which is not shown"
    return winner, (f"marked as best: {BETTER}{hidden}", *contest.scope_notes)


def _interval(run: Run, measure: Measure) -> dict[str, Any]:
    score = run.find(measure.name)
    if score is None:
        return {"system": _name(run), "value": None, "low": None, "high": None, "why": "not scored"}
    value, low, high = (shown(number, measure) for number in (score.value, score.low, score.high))
    return {"system": _name(run), "value": value, "low": low, "high": high, "why": score.why or score.interval_why}


def gap(table: Table) -> View | None:
    """Draw the table of variants: its first variant against its last, a panel per measure; None where nothing is."""
    keys = [item.key for item in table.columns]
    first, last = keys[2], keys[keys.index("gap") - 1]
    panels: dict[str, list[dict[str, Any]]] = {}
    for row in table.rows:
        ends = row[first].value, row[last].value
        if any(isinstance(end, float) for end in ends):
            span = {"low": row["gap"].low, "high": row["gap"].high}
            found = {"system": str(row["system"].value), "first": ends[0], "last": ends[1], **span}
            panels.setdefault(str(row["measure"].value), []).append(found)
    if not panels:
        return None
    kept = list(panels.items())[:LEADING]
    data = {
        "names": [first, last],
        "panels": [{"measure": measure, "rows": rows[:MOST_SYSTEMS]} for measure, rows in kept],
    }
    rest = len(panels) - len(kept)
    notes = (f"{counted(rest, 'more measure')} in the table",) if rest else ()
    return View("gap", f"{table.title}", "gap", data, notes)


def case_scores(run: Run, measure: Measure) -> dict[str, float]:
    """Return the score of every case by itself, in the unit that tables show; cases without one are left out."""
    if isinstance(measure, LedgerMeasure) or not measure.computable or measure.family not in run.tallies:
        return {}
    tallies = run.tallies[measure.family]
    if tallies.n_cases != len(run.roster):
        return {}
    found = measure.score_each(tallies.each())
    kept = (found.defined & tallies.filled()).tolist()
    factor = measure.shown.factor if measure.shown else 1.0
    pairs = zip(run.roster.ids, found.values.tolist(), kept, strict=True)
    return {case: factor * value for case, value, is_kept in pairs if is_kept}


def by_case(runs: Sequence[Run]) -> list[tuple[Measure, dict[str, dict[str, float]]]]:
    """Return the measures that single cases are shown by, each with the scores of every system, best system first."""
    ordered = ranked(runs)
    headline = runs[0].measures[0]
    beneath = headline.name.removesuffix("]")
    alike = [m for m in runs[0].measures[1:] if headline.name.endswith("]") and m.name.startswith(beneath + " ")]
    found = []
    for measure in (headline, *alike):
        scores = {_name(run): case_scores(run, measure) for run in ordered}
        if any(scores.values()):
            found.append((measure, scores))
        if measure is headline and found:
            break
    return found[:MOST_STRIPS]


def strips(runs: Sequence[Run]) -> list[View]:
    """Return a view of the scores of single cases, where there are at least two; runs are of one ground."""
    views: list[View] = []
    groups = _groups(runs)
    for measure, scores in by_case(runs):
        systems = [name for name, own in scores.items() if own][:12]
        cases = {case: groups[case] for name in systems for case in scores[name]}
        if len(cases) < 2:
            continue
        kept = stratified(cases, max(1, MOST_POINTS // len(systems)))
        points = [
            {"system": name, "case": case, "group": groups[case], "value": scores[name][case]}
            for name in systems
            for case in kept
            if case in scores[name]
        ]
        means = [{"system": name, "value": math.fsum(scores[name].values()) / len(scores[name])} for name in systems]
        notes = [f"each {_case(runs[0])} scored by itself; the tick is the mean over them, not the score of the whole"]
        notes += each_notes([measure], _case(runs[0]))
        if len(kept) < len(cases):
            lost = len(cases) - len(kept)
            notes.append(f"{len(kept):,} of {len(cases):,} cases, spread over the groups; {lost:,} are left out")
        rest = sum(1 for own in scores.values() if own) - len(systems)
        notes += [f"without {counted(rest, 'more system')}"] if rest else []
        data = {"measure": titled(measure), **_shape(measure), "points": points, "means": means}
        title = f"{_of(runs[0])}: {titled(measure)} of every {_case(runs[0])}"
        views.append(View(f"strips_{len(views) + 1}", title, "strips", data, tuple(notes)))
    return views


def stratified(cases: Mapping[str, str], most: int) -> list[str]:
    """Choose at most so many cases, from every group in proportion to its size; the same ones every time.

    >>> len(stratified({f"{group}{n}": group for group in "xy" for n in range(50)}, 20))
    20
    """
    if len(cases) <= most:
        return list(cases)
    groups: dict[str, list[str]] = {}
    for case in sorted(cases, key=_hashed):
        groups.setdefault(cases[case], []).append(case)
    spread = sorted(
        (place / len(own), _hashed(case), case) for own in groups.values() for place, case in enumerate(own)
    )
    kept = {case for _, _, case in spread[:most]}
    return [case for case in cases if case in kept]


def worst(runs: Sequence[Run]) -> Table | None:
    """Return the worst cases with the score of every system, by the mean over systems; None without such scores."""
    found = by_case(runs)
    if not found:
        return None
    groups, several = _groups(runs), len(found) > 1
    systems, apart = list(found[0][1]), any(case != group for case, group in groups.items())
    rows: list[tuple[float, str, dict[str, Cell]]] = []
    for measure, scores in found:
        cases = dict.fromkeys(case for own in scores.values() for case in own)
        for case in cases:
            own = [scores[name][case] for name in systems if case in scores[name]]
            cells = {"case": Cell(case), **({"group": Cell(groups[case])} if apart else {})}
            cells |= {"measure": Cell(titled(measure))} if several else {}
            cells |= {f"system:{name}": _score(scores[name].get(case)) for name in systems}
            rows.append((-measure.loss(math.fsum(own) / len(own)), case, cells))
    rows.sort(key=lambda item: item[:2])
    first = column(found[0][0])
    columns = (
        Column("case", _case(runs[0])),
        *((Column("group", runs[0].roster.level),) if apart else ()),
        *((Column("measure", "measure"),) if several else ()),
        *(Column(f"system:{name}", name, "score", first.unit, first.direction, first.digits) for name in systems),
    )
    of = f"the worst {min(MOST_WORST, len(rows))} of {len(rows):,}" if len(rows) > MOST_WORST else f"all {len(rows)}"
    measure_said = "" if several else f" by {titled(found[0][0])}"
    notes = (
        f"{of}{measure_said}; each case scored by itself, ordered by the mean over the systems",
        *each_notes([measure for measure, _ in found], "case"),
    )
    kept = tuple(cells for _, _, cells in rows[:MOST_WORST])
    return Table("worst", f"{_of(runs[0])}: worst cases", columns, kept, notes)


def _score(value: float | None) -> Cell:
    return Cell(None, why="no score") if value is None else Cell(value)


def ranks(runs: Sequence[Run]) -> list[View]:
    """Return critical-difference diagrams over the datasets that runs of one ground hold: from five datasets on."""
    families: dict[Measure, list[Measure]] = {}
    for measure in runs[0].measures:
        if getattr(measure, "dataset", ""):
            families.setdefault(dataclasses.replace(measure, dataset=""), []).append(measure)  # type: ignore[call-arg]
    ordered = ranked(runs)
    views: list[View] = []
    for key, own in list(families.items())[:LEADING]:
        rows = [[None if (s := run.find(m.name)) is None else s.value for run in ordered] for m in own]
        found = rank_systems(rows, [run.system for run in ordered], direction=key.direction)
        if not found.why:
            name = titled(key).replace(" ]", "]")
            title = f"{_of(runs[0])}: mean ranks over {counted(found.datasets, 'dataset')}, {name}"
            views.append(_ranks(found, f"ranks_{len(views) + 1}", title))
    return views


def ranks_of_tables(tables: Sequence[Table]) -> list[View]:
    """Return critical-difference diagrams of the tables ``friedman`` and ``ranks`` of a comparison over datasets."""
    by_name = {table.name: table for table in tables}
    if "friedman" not in by_name or "ranks" not in by_name:
        return []
    views: list[View] = []
    for test in by_name["friedman"].rows:
        distance: Any = test["critical_difference"].value if "critical_difference" in test else None
        if distance is None:
            continue
        own: list[Any] = [row for row in by_name["ranks"].rows if row["measure"].value == test["measure"].value]
        systems, means = [row["system"].value for row in own], [row["rank"].value for row in own]
        held = cliques(systems, np.array(means), distance)
        n: Any = test["datasets"].value
        found = Ranking(tuple(systems), tuple(means), n, 0, ALPHA, critical_difference=distance, cliques=held)
        title = f"mean ranks over {counted(n, 'dataset')}, {test['measure'].value}"
        views.append(_ranks(found, f"over_ranks_{len(views) + 1}", title))
    return views


def _ranks(found: Ranking, name: str, title: str) -> View:
    order = sorted(zip(found.systems, found.ranks or (), strict=True), key=lambda pair: pair[1])
    data = {
        "ranks": [{"system": system, "rank": rank} for system, rank in order],
        "distance": found.critical_difference,
        "cliques": [list(own) for own in found.cliques],
        "alpha": found.alpha,
        "datasets": found.datasets,
    }
    said = f"1 is best; systems under one bar are not told apart at {found.alpha:g} (Nemenyi)"
    return View(name, title, "ranks", data, (said, *found.notes))


def curves(runs: Sequence[Run]) -> list[View]:
    """Return the losses that runs keep of training, a few series to a figure."""
    views: list[View] = []
    for run in runs:
        found = list(_losses(run.manifest["facts"]))
        parts = [found[at : at + MOST_SERIES] for at in range(0, len(found), MOST_SERIES)]
        lost = len(found) - sum(len(part) for part in parts[:MOST_CURVES])
        for number, part in enumerate(parts[:MOST_CURVES], start=1):
            series = [{"name": name, **_thinned(values)} for name, values in part]
            data = {"x": "epoch", "y": "loss", "series": series}
            count = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
            notes = (f"{counted(lost, 'more curve')} not shown",) if lost and number == MOST_CURVES else ()
            name = f"curves_{len(views) + 1}"
            views.append(View(name, f"{run.suite}: loss in training, {run.system}{count}", "curves", data, notes))
    return views


def _losses(facts: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, list[float]]]:
    """Find lists of losses in facts, each under the name of where it stands."""
    if isinstance(facts, Mapping):
        for key, value in facts.items():
            if key in ("loss", "losses") and _is_curve(value):
                yield _named(path), [float(number) for number in value]
            else:
                yield from _losses(value, (*path, str(key)))
    elif isinstance(facts, (list, tuple)):
        for place, value in enumerate(facts):
            yield from _losses(value, (*path, str(place + 1)) if len(facts) > 1 else path)


def _is_curve(value: Any) -> bool:
    if not isinstance(value, (list, tuple)) or len(value) < 2:
        return False
    return all(isinstance(n, (int, float)) and not isinstance(n, bool) and math.isfinite(n) for n in value)


def _named(path: Sequence[str]) -> str:
    """Name a curve after where it stands, without words that say nothing.

    >>> _named(("tasks", "sup-1 motionsense", "fine_tuned", "2", "curve"))
    'sup-1 motionsense fine-tuned 2'
    """
    empty = {"tasks", "curve", "curves", "training", "answered", "fitted"}
    return (
        " ".join(word.replace("_", "-" if word == "fine_tuned" else " ") for word in path if word not in empty)
        or "training"
    )


def _thinned(values: Sequence[float]) -> dict[str, list[float]]:
    """Keep first, last and every so-manieth value of a long curve."""
    step = max(1, math.ceil(len(values) / LONGEST_CURVE))
    kept = sorted({*range(0, len(values), step), len(values) - 1})
    return {"x": [place + 1 for place in kept], "y": [values[place] for place in kept]}


def findings(runs: Sequence[Run]) -> Table:
    """Return what was found wrong with runs, the worst first, each with the systems that it holds for."""
    held: dict[Any, list[str]] = {}
    for run in runs:
        for item in run.findings:
            held.setdefault(item, []).append(run.system)
    rows = tuple(
        {
            "severity": Cell(item.severity),
            "finding": Cell(item.id),
            "systems": Cell(_whose(names, runs)),
            "where": Cell(item.where),
            "evidence": Cell(item.evidence),
            "remedy": Cell(item.remedy),
        }
        for item, names in sorted(held.items(), key=lambda pair: _ORDER[pair[0].severity])
    )
    keys = ("severity", "finding", "systems", "where", "evidence", "remedy")
    made = len({check for run in runs for check in run.made})
    notes = (f"{counted(made, 'check')} made; no finding means that a check saw nothing wrong, not that nothing is",)
    title = "findings, worst first" if rows else "no findings"
    return Table("findings", title, tuple(Column(key, key) for key in keys), rows, notes)


def claims(runs: Sequence[Run]) -> Table | None:
    """Return what the numbers may and may not be said to mean; None where a protocol makes no claim."""
    held: dict[Any, list[str]] = {}
    for run in runs:
        for verdict in run.verdicts:
            held.setdefault(verdict, []).append(run.system)
    if not held:
        return None
    rows = tuple(
        {
            "claim": Cell(verdict.statement),
            "verdict": Cell("supported" if verdict.supported else "not supported"),
            "systems": Cell(_whose(names, runs)),
            "missing": Cell("; ".join(verdict.missing)),
        }
        for verdict, names in sorted(held.items(), key=lambda pair: pair[0].supported)
    )
    columns = (Column("claim", "claim"), Column("verdict", "verdict"), Column("systems", "systems"))
    title = "what the numbers may be said to mean"
    return Table("claims", title, (*columns, Column("missing", "what is missing")), rows)


def _whose(names: Sequence[str], runs: Sequence[Run]) -> str:
    own = list(dict.fromkeys(names))
    return "all" if len(own) == len({run.system for run in runs}) and len(own) > 1 else ", ".join(own)


def _groups(runs: Sequence[Run]) -> dict[str, str]:
    return {case: group for run in runs for case, group in zip(run.roster.ids, run.roster.groups, strict=True)}


def _case(run: Run) -> str:
    """Name a case for people: it is the group where every group has one case."""
    return run.roster.level if len(set(run.roster.groups)) == len(run.roster) else "case"


def _name(run: Run) -> str:
    """Return the name of a system without its variant, which the title says."""
    return run.system.removesuffix(f" [{run.manifest['protocol']['variant']}]")


def _of(run: Run) -> str:
    variant = str(run.manifest["protocol"]["variant"])
    return f"{run.suite} ({variant})" if variant else run.suite


def _shape(measure: Measure) -> dict[str, str]:
    own = column(measure)
    return {"unit": own.unit, "direction": measure.direction, "digits": own.digits}  # type: ignore[dict-item]


def _without(ordered: Sequence[Run]) -> tuple[str, ...]:
    rest = len(ordered) - MOST_SYSTEMS
    return (f"the best {MOST_SYSTEMS}; without {counted(rest, 'more system')}",) if rest > 0 else ()


def _hashed(case: str) -> str:
    return hashlib.blake2b(case.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
