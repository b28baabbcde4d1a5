"""One system on the same data in several variants of a protocol, side by side with the gap between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gnomon.core.errors import plural
from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table
from gnomon.core.tallies import Array
from gnomon.inference.intervals import (
    Groups,
    Interval,
    filled,
    gaps,
    jackknife_se,
    left_out,
    no_spread,
    remarks,
    t_quantile,
)
from gnomon.runs.run import Run
from gnomon.runs.tables import cell, column, shown, titled, worst

SHOWN = 8
"""How many measures are set side by side, unless a protocol says otherwise."""
HEADLINES = "headlines"
"""The setting under which a protocol says how many of its first measures are its headlines."""
DIFFERS = "differs_because"
"""The fact under which a suite says why a variant differs from the published one."""
REPORTED = "reported"
"""The fact under which a suite gives figures that others published for this system: by measure, in its own unit."""
REPORTED_BY = "reported_by"
"""The fact that says where such figures come from."""
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


def name_by_id(runs: Sequence[Run]) -> list[Run]:
    """Put the id behind the names of systems that several runs share, so that no two names are equal."""
    counts = Counter(run.system for run in runs)
    return [
        replace(run, alias=f"{run.system} ({str(run.manifest['id'])[-10:]})") if counts[run.system] > 1 else run
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
    """Return a row per system and measure with a column per variant and the last minus the first; None without two.

    Both sides are scored on the same cases, so that the difference has an interval of its own: the group jackknife-t of
    one score minus the other, also where the variants score by different measures of one name.
    """
    families = _families(runs)
    whole = [family for family in families.values() if _aligned(family)]
    if not whole:
        return None
    names = [variant(run) for run in whole[0]]
    shown_families = [family for family in whole if [variant(run) for run in family] == names]
    rows, digits = [], []
    said: dict[str, dict[str, None]] = {}
    for family in shown_families:
        for measure in _shared(family):
            if not any(_has(run, measure) for run in family):
                continue
            found = difference(family[0], family[-1], measure.common)
            rows.append(_row(family, names, measure, found))
            for text in found.notes if found.low is not None else _undefined(found):
                said.setdefault(text, {})[measure.common.replace("_", " ")] = None
            digits.append(column(measure).digits)
    most = max(digits, default=3)
    cited = any(row["reported"].value != "" for row in rows)
    columns = (
        Column("system", "system"),
        Column("measure", "measure"),
        *(Column(name, name, "score", digits=most) for name in names),
        Column("gap", f"{names[-1]} - {names[0]}", "score", digits=most),
        *((Column("reported", "reported", "score", digits=most),) if cited else ()),
    )
    given = any(row["gap"].low is not None for row in rows)
    notes = [_method(shown_families[0][0], names)] if given else []
    whose = {row["measure"].value for row in rows}
    notes += [f"{', '.join(own)}: {text}" if len(own) < len(whose) else text for text, own in said.items()]
    notes += _left_out(families, names)
    sources = {str(run.manifest["facts"].get(REPORTED_BY, "")) for family in shown_families for run in family} - {""}
    notes += [f"reported: {text}" for text in sorted(sources)] if cited else []
    notes += [str(text) for family in shown_families for run in family for text in _reasons(run)]
    title = f"{runs[0].suite}: {' and '.join(names)} side by side"
    return Table("variants", title, columns, tuple(rows), tuple(worst(tuple(dict.fromkeys(notes)))))


def difference(first: Run, last: Run, name: str) -> Interval:
    """Return the interval of a measure's score in the last run minus that in the first, over the same groups."""
    if first.plan.method == "none":
        return Interval(None, None, "not asked for")
    if first.roster.level != last.roster.level or _grouped(first) != _grouped(last):
        return Interval(None, None, "undefined (the variants were not scored on the same cases in the same groups)")
    a, b = _sides(first, last, name)
    if a.groups.n < 2:
        return Interval(None, None, f"undefined ({a.groups.name(a.groups.n)})")
    if a.whole is None or b.whole is None:
        return Interval(None, None, "a side is undefined")
    notes = tuple(dict.fromkeys((*remarks(*a[:3]), *remarks(*b[:3]))))
    left_a, left_b = left_out(*a[:3]), left_out(*b[:3])
    defined, differences = left_a.defined & left_b.defined, left_b.values - left_a.values
    why = gaps(a.groups, defined) if not defined.all() else _same(a.groups) if no_spread(differences) else ""
    if why:
        return Interval(None, None, why, notes)
    half = t_quantile(0.5 + a.groups.plan.level / 2, a.groups.n - 1) * jackknife_se(differences)
    (floor, ceiling), (least, most) = a.measure.bounds, b.measure.bounds
    middle = b.whole - a.whole
    return Interval(max(middle - half, least - ceiling), min(middle + half, most - floor), "", notes)


def _same(groups: Groups) -> str:
    return f"undefined (the difference is the same without any one {groups.level}: no spread to judge by)"


def _undefined(found: Interval) -> list[str]:
    return [f"interval of the difference {found.why}"] if found.why.startswith("undefined") else []


class _Side(NamedTuple):
    """A run by one measure: the groups, the class set on the whole, and the score, None where it is undefined."""

    measure: Measure
    groups: Groups
    frozen: Array | None
    whole: float | None


def _sides(first: Run, last: Run, name: str) -> list[_Side]:
    """Return both runs by their own measures of one name, without the groups that hold nothing on either side."""
    measures = [_measure(run, name) for run in (first, last)]
    groups = [run.groups(measure) for run, measure in zip((first, last), measures, strict=True)]
    kept = filled(groups[0].tallies) | filled(groups[1].tallies)
    found = []
    for measure, own in zip(measures, groups, strict=True):
        taken = Groups(own.tallies.take(kept), own.plan, own.level)
        score = measure.score(taken.total)
        whole = float(score.values) if bool(score.defined) else None
        found.append(_Side(measure, taken, measure.freeze(taken.total), whole))
    return found


def _measure(run: Run, common: str) -> Measure:
    """Return the measure of a run that its variant has under a common name."""
    return next(measure for measure in run.measures if measure.common == common)


def _row(family: Sequence[Run], names: Sequence[str], measure: Measure, found: Interval) -> dict[str, Cell]:
    scores = [run.find(_measure(run, measure.common).name) for run in family]
    first, last = (None if score is None else shown(score.value, measure) for score in (scores[0], scores[-1]))
    side = Cell(None, why="a side is undefined")
    if first is not None and last is not None:
        low, high = (shown(edge, measure) for edge in (found.low, found.high))
        side = Cell(last - first, low, high, interval_why=found.why)
    return {
        "system": Cell(str(family[0].manifest["system"])),
        "measure": Cell(titled(measure, measure.common)),
        **{name: cell(score, measure) for name, score in zip(names, scores, strict=True)},
        "gap": side,
        "reported": _reported(family[0], measure),
    }


def _has(run: Run, measure: Measure) -> bool:
    """Say whether a run has anything to score by a measure."""
    score = run.find(_measure(run, measure.common).name)
    return score is not None and score.n > 0


def _reported(run: Run, measure: Measure) -> Cell:
    value = run.manifest["facts"].get(REPORTED, {}).get(measure.common)
    return Cell("") if value is None else Cell(shown(float(value), measure))


def _method(run: Run, names: Sequence[str]) -> str:
    level = plural(run.roster.level)
    return (
        f"{names[-1]} - {names[0]}: {100 * run.plan.level:g}% jackknife-t interval of the difference over {level}, "
        "which are the same on both sides"
    )


def _left_out(families: Mapping[Key, Sequence[Run]], names: Sequence[str]) -> list[str]:
    """Name the systems that are not in the table, with the reason."""
    found = []
    for (_, system, _), family in families.items():
        own = [variant(run) for run in family]
        if own != list(names):
            once = f"only {' and '.join(dict.fromkeys(own))}"
            twice = "several runs of one variant"
            found.append(f"not shown: {system} ({once if len(set(own)) == len(own) else twice})")
    return found


def _grouped(run: Run) -> dict[str, str]:
    return dict(zip(run.roster.ids, run.roster.groups, strict=True))


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
    """Return the measures that all variants have: those that were chosen, else the first of the protocol."""
    common = set.intersection(*({measure.common for measure in run.computable} for run in family))
    found = [measure for measure in family[0].computable if measure.common in common]
    chosen = {measure.common for run in family for measure in run.measures if measure.name in run.chosen}
    most = int(family[0].manifest["protocol"]["settings"].get(HEADLINES, SHOWN))
    return [measure for measure in found if measure.common in chosen] if chosen else found[:most]
