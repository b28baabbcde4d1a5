"""What a report of runs consists of: sections in the order of reading, each with its tables and views.

The tables and views of the suites stand where their names or kinds belong (:data:`HOMES`, :data:`KINDS`); what runs of
any suite have in common is added (:mod:`gnomon.runs.pictures`). Nothing here knows a suite by name: what has no place
of its own is among the further tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from gnomon.core import registry
from gnomon.core.errors import InputError
from gnomon.core.suite import load
from gnomon.core.table import Table, View
from gnomon.report import whole
from gnomon.report.origins import origins
from gnomon.runs import pictures
from gnomon.runs.comparison import Asked, compare_runs
from gnomon.runs.datasets import compare_datasets
from gnomon.runs.effects import effects_table
from gnomon.runs.run import Run
from gnomon.runs.variants import only, variant

Item = Table | View
TITLES = {
    "scores": "Scores",
    "significance": "Significance",
    "gap": "Published and strict",
    "evidence": "Claims and findings",
    "classes": "By class",
    "confusion": "Confusion",
    "bars": "Where events and time went",
    "ranks": "Over datasets",
    "cases": "Case by case",
    "training": "Training",
    "worst": "Worst cases",
    "coverage": "Coverage",
    "more": "Further tables",
    "provenance": "How the runs were made",
}
"""Titles of the sections by id, in order."""
HOMES = {
    **dict.fromkeys(("scores", "slices", "shares", "precision", "others", "datasets", "metrics"), "scores"),
    **dict.fromkeys(("comparison", "effects"), "significance"),
    **dict.fromkeys(("variants",), "gap"),
    **dict.fromkeys(("claims", "findings", "gate", "overlaps"), "evidence"),
    **dict.fromkeys(("per_class", "classes", "rates", "outcomes", "joints", "points"), "classes"),
    **dict.fromkeys(("friedman", "ranks"), "ranks"),
    **dict.fromkeys(("cases", "scene", "sequences"), "cases"),
    **dict.fromkeys(("training",), "training"),
    **dict.fromkeys(("worst",), "worst"),
    **dict.fromkeys(("coverage", "samples", "unseen"), "coverage"),
    **dict.fromkeys(("provenance", "software", "commands", "settings", "deviations"), "provenance"),
}
"""The section of a table by its name."""
KINDS = {
    "intervals": "scores",
    "gap": "gap",
    "matrix": "confusion",
    "heat": "classes",
    "bars": "bars",
    "ranks": "ranks",
    "strips": "cases",
    "curves": "training",
    "lines": "more",
}
"""The section of a view by its kind; views of other kinds are for the dashboard."""
OVER = "over_"
"""How names of tables over datasets begin."""


class Shown(Protocol):
    """What has runs and their tables and views, such as :class:`gnomon.result.Result`."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs."""

    @property
    def items(self) -> tuple[Item, ...]:
        """Their tables and views."""


@dataclass(frozen=True)
class Section:
    """One part of a report: its id, its title, and what stands in it; names of items are unique in a report."""

    id: str
    title: str
    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()


def sections(result: Shown, ragged: str = "error") -> list[Section]:
    """Return the sections of a report that have anything in them."""
    found: dict[str, list[Item]] = {name: [] for name in TITLES}
    notes: dict[str, list[str]] = {name: [] for name in TITLES}
    for item in (*_told_apart(result), *_common(result, notes["ranks"])):
        home = _home(item)
        if home is not None:
            found[home].append(whole(item, ragged))
    taken: dict[str, int] = {}
    kept = {name: [_unique(item, taken) for item in _ordered(items)] for name, items in found.items()}
    return [
        Section(name, TITLES[name], tuple(items), tuple(notes[name]))
        for name, items in kept.items()
        if items or notes[name]
    ]


def _told_apart(result: Shown) -> Iterable[Item]:
    """Name the variant in titles of items that several variants have: the number in a name is that of the ground.

    A table that says the same as one before it is left out.
    """
    items = [item for place, item in enumerate(result.items) if not _is_there(item, result.items[:place])]
    own = [variant(runs[0]) for runs in grounds(result.runs)] if result.runs and only(result.runs) else []
    names = {item.name for item in items}
    for item in items:
        base, _, number = item.name.rpartition("_")
        numbered = number.isdecimal() and base in names
        place = int(number) if numbered else 1
        several = numbered or f"{item.name}_2" in names
        told = several and place <= len(own) and own[place - 1] not in item.title
        yield replace(item, title=f"{item.title} ({own[place - 1]})") if told else item


def _is_there(item: Item, others: Sequence[Item]) -> bool:
    """Say whether a table says the same as one before it."""
    return isinstance(item, Table) and any(
        isinstance(other, Table) and (other.title, other.rows) == (item.title, item.rows) for other in others
    )


def _common(result: Shown, said: list[str]) -> Iterable[Item]:
    """Return what is added to the tables of the suites; why something is lacking is said."""
    runs = result.runs
    if not runs:
        return
    for own in grounds(runs):
        where = "" if only(runs) else _where(own[0])
        yield from (replace(item, title=item.title + where) for item in _of_ground(own))
    for item in result.items:
        drawn = pictures.gap(item) if isinstance(item, Table) and item.name == "variants" else None
        yield from () if drawn is None else (drawn,)
    yield from _over_datasets(runs, said)
    yield from pictures.curves(runs)
    claimed = pictures.claims(runs)
    yield from () if claimed is None else (claimed,)
    yield pictures.findings(runs)
    yield from origins(runs)


def _of_ground(runs: Sequence[Run]) -> Iterable[Item]:
    """Return what is added to the tables of runs that stand on one ground."""
    yield from pictures.intervals(runs)
    yield from _effects(runs)
    yield from pictures.ranks(runs)
    yield from pictures.strips(runs)
    worst = pictures.worst(runs)
    yield from () if worst is None else (worst,)
    yield from _board(runs)


def _board(runs: Sequence[Run]) -> Iterable[Item]:
    """Return what a suite shows on its board where nothing is chosen, without the tables that it shows anyhow."""
    board = registry.suite(runs[0].suite).board
    if not board:
        return
    shown = {item.name for item in load(registry.suite(runs[0].suite).tables)(runs)}
    for item in load(board)(runs, {}).items:
        if item.name not in shown and item.name != "grid":
            yield item


def _where(run: Run) -> str:
    """Name the ground of a run, as the tables of its suite do."""
    _, data, protocol, plan = run.ground
    return f" (data {data[:8]}, protocol {protocol[:8]}, intervals {plan[:4]})"


def grounds(runs: Sequence[Run]) -> list[list[Run]]:
    """Return runs that can stand in one table together, in the order of their variants."""
    found: dict[tuple[str, ...], list[Run]] = {}
    for run in sorted(runs, key=variant):
        found.setdefault(run.ground, []).append(run)
    return list(found.values())


def _effects(runs: Sequence[Run]) -> list[Table]:
    """Return what single groups say of the comparisons; nothing where runs cannot be compared, as their table says."""
    if len(runs) < 2:
        return []
    try:
        comparisons = compare_runs(runs, Asked(tested=False))
    except InputError:
        return []
    if not any(item.sides for item in comparisons):
        return []
    found = effects_table(comparisons, runs[0])
    name = variant(runs[0])
    return [replace(found, title=f"{found.title} ({name})" if name else found.title)]


def _over_datasets(runs: Sequence[Run], said: list[str]) -> Iterable[Item]:
    """Compare systems over the datasets of several runs, protocol by protocol."""
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.suite, variant(run)), []).append(run)
    for (suite, name), own in alike.items():
        if len({run.manifest["data_fingerprint"] for run in own}) < 2:
            continue
        try:
            tables = compare_datasets(own, Asked(ragged="dash"))
        except InputError as error:
            said.append(f"{suite} {name}".strip() + f": no comparison over datasets: {error}")
            continue
        yield from pictures.ranks_of_tables(tables)
        yield from (replace(table, name=f"{OVER}{table.name}") for table in tables)


def _home(item: Item) -> str | None:
    if isinstance(item, View):
        return KINDS.get(item.kind)
    if item.name.startswith(OVER):
        return "ranks"
    return HOMES.get(_base(item), "more")


def _base(item: Item) -> str:
    """Return the name of an item without the number of its ground."""
    return re.sub(r"_\d+\Z", "", item.name)


def _ordered(items: Sequence[Item]) -> list[Item]:
    """Put the first table first, with those of its name on other grounds, then figures, then the other tables."""
    views = [item for item in items if isinstance(item, View)]
    tables = [item for item in items if isinstance(item, Table)]
    first = [item for item in tables if _base(item) == _base(tables[0])]
    return [*first, *views, *(item for item in tables if item not in first)]


def _unique(item: Item, taken: dict[str, int]) -> Item:
    slug = re.sub(r"[^a-z0-9]+", "_", item.name.lower()).strip("_")[:60] or "item"
    taken[slug] = taken.get(slug, 0) + 1
    name = slug if taken[slug] == 1 else f"{slug}_{taken[slug]}"
    if name != slug and name in taken:
        return _unique(replace(item, name=name), taken)
    taken.setdefault(name, 1)
    return replace(item, name=name)
