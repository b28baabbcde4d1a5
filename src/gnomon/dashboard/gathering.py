"""What pages show of runs, as sections of tables and views; downloads and figures find their item here by its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gnomon import api
from gnomon.core import registry
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.suite import load as load_function
from gnomon.core.table import Board, Table, View
from gnomon.dashboard.library import Library, Listed, NotHereError, is_too_large, measure_size
from gnomon.intake.faults import release
from gnomon.intake.limits import SHOWN, TooLargeError
from gnomon.report.page import Section, sections
from gnomon.runs.alignment import distinct
from gnomon.runs.disagreement import by_case, by_unit
from gnomon.runs.exhibits import Entry, Listing, listed
from gnomon.runs.pictures import by_case as of_cases
from gnomon.runs.run import Run, raise_as_damage
from gnomon.runs.tables import ranked

MOST_RUNS = 100
"""Runs that one page takes together."""


OTHERS = ("run", "token", "inline", "like")
"""Words of an address that choose nothing on a page."""


@dataclass(frozen=True)
class Gathered:
    """The runs of a page and its sections."""

    keys: tuple[str, ...]
    runs: tuple[Run, ...]
    sections: tuple[Section, ...]
    board: Board | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Runs that cannot be read, and why."""

    def item(self, place: int) -> Table | View:
        """Return an item by its place among all of them."""
        items = [item for section in self.sections for item in section.items]
        if not 0 <= place < len(items):
            raise NotHereError(f"no item {place} on this page, which has {len(items)}")
        return items[place]


def checked(keys: Sequence[str], least: int = 1) -> tuple[str, ...]:
    """Return distinct keys, or say that there are too few or too many."""
    found = tuple(dict.fromkeys(key for key in keys if key))
    if not least <= len(found) <= MOST_RUNS:
        expected = f"{least} to {MOST_RUNS}"
        raise InputError(f"got {len(found)} runs, expected {expected}: choose them in the list")
    return found


def gather(library: Library, kind: str, keys: Sequence[str], query: Mapping[str, str]) -> Gathered:
    """Return what a page of a kind shows of runs; what was made for unchanged runs is not made again."""
    makers: dict[str, Callable[[tuple[Run, ...], Mapping[str, str]], tuple[tuple[Section, ...], Board | None]]] = {
        "together": _together,
        "compare": _compared,
        "board": _boarded,
    }
    if kind not in makers:
        raise NotHereError(f"no page of kind {kind[:40]!r}")
    own = checked(keys, 2 if kind == "compare" else 1)
    taken = ("measure", "a", "b") if kind == "compare" else query if kind == "board" else ()
    chosen = {name: str(query[name])[:200] for name in sorted(taken) if name in query and name not in OTHERS}

    def make() -> Gathered:
        runs, lost = _read(library, own, 2 if kind == "compare" else 1)
        with raise_as_damage([run.path for run in runs.values() if run.path]):
            made, board = makers[kind](tuple(runs.values()), chosen)
        return Gathered(tuple(runs), tuple(runs.values()), made, board, lost)

    stamps = tuple(library.stamp(key) for key in own)
    return library.cached((kind, own, stamps, tuple(chosen.items())), make)


def _read(library: Library, keys: Sequence[str], least: int) -> tuple[dict[str, Run], dict[str, str]]:
    """Return the runs that can be read and why others cannot; too few of them are an error."""
    runs: dict[str, Run] = {}
    lost: dict[str, str] = {}
    taken = 0
    for key in keys:
        try:
            run = _read_beside(library, key, taken)
        except GnomonError as error:
            release(error)
            if len(keys) - len(lost) <= least:
                raise
            lost[key] = library.told(error)
        else:
            runs[key] = run
            taken += measure_size(run)
    return runs, lost


def _read_beside(library: Library, key: str, taken: int) -> Run:
    """Read a run of a page whose other runs have taken some bytes."""
    try:
        run = library.run(key, taken)
        if taken and taken + measure_size(run) > SHOWN.max_decoded_bytes:
            raise TooLargeError(f"{key}: too large")
    except GnomonError as error:
        if not taken or not is_too_large(error):
            raise
        raise InputError(
            f"{key}: too large to be shown with the others; use gnomon compare or gnomon report"
        ) from error
    return run


def read_all(library: Library, keys: Sequence[str]) -> list[Run]:
    """Return runs that are shown together, all of which have to be readable."""
    runs: list[Run] = []
    for key in checked(keys):
        runs.append(_read_beside(library, key, sum(map(measure_size, runs))))
    return runs


def _together(runs: tuple[Run, ...], query: Mapping[str, str]) -> tuple[tuple[Section, ...], Board | None]:
    del query
    return tuple(sections(api.present(distinct(runs)))), None


def _compared(runs: tuple[Run, ...], query: Mapping[str, str]) -> tuple[tuple[Section, ...], Board | None]:
    """Compare by the measure that is asked for, all with the best; then the first two case by case."""
    told = api.distinguished(distinct(runs))
    measures = {measure.name: measure for measure in told[0].computable}
    asked = query.get("measure", "")
    found = api.compare(*told, metrics=(asked,) if asked in measures else ())
    made = [Section("comparison", "Paired comparison", tuple(found.items))]
    a, b = _pair(told, query)
    with_cases = [measures[asked]] if asked in measures else [measure for measure, _ in of_cases(told)]
    case = by_case(a, b, with_cases[0]) if with_cases else None
    if case is not None:
        made.append(Section("differences", f"Case by case: {a.system} and {b.system}", (case[1], case[0])))
    unit = by_unit(a, b)
    if unit is not None:
        made.append(Section("disagreement", f"Where they disagree: {a.system} and {b.system}", (unit,)))
    return tuple(made), None


def _pair(runs: Sequence[Run], query: Mapping[str, str]) -> tuple[Run, Run]:
    """Return the two runs that are compared case by case: those asked for, else the best two."""
    ordered = ranked(list(runs))
    by_name = {run.system: run for run in ordered}
    a = by_name.get(query.get("a", ""), ordered[0])
    rest = [run for run in ordered if run is not a]
    b = by_name.get(query.get("b", ""), rest[0])
    return (a, b if b is not a else rest[0])


def _boarded(runs: tuple[Run, ...], query: Mapping[str, str]) -> tuple[tuple[Section, ...], Board | None]:
    suite = registry.suite(runs[0].suite)
    if not suite.board:
        raise InputError(f"the suite {suite.name!r} has no board: see its runs together instead")
    if len({run.ground for run in runs}) > 1:
        raise InputError("a board shows runs on the same data under the same protocol: choose those of one variant")
    board: Board = load_function(suite.board)(api.distinguished(distinct(runs)), query)
    return (Section("board", "Chosen", board.items),), board


def alike(library: Library, key: str) -> list[Listed]:
    """Return the runs that can be compared with one, itself first: same suite, data, protocol and plan."""
    runs = library.listed()
    one = next((item for item in runs if item.key == key and item.entry is not None), None)
    if one is None or one.entry is None:
        raise NotHereError(f"no run {key[:80]!r} here that can be read")
    mine = one.entry
    same = (mine.suite, mine.data, mine.ground)
    rest = [item for item in runs if item.entry and (item.entry.suite, item.entry.data, item.entry.ground) == same]
    return [one, *(item for item in rest if item.key != key)]


def kept(library: Library, keys: Sequence[str]) -> tuple[Listing, str]:
    """Return the cases that any of some runs keeps, the worst of the first run first; and why a list is damaged."""
    found: dict[str, Entry] = {}
    of, damage = 0, ""
    for key in keys:
        try:
            own = listed(library.path(key))
        except GnomonError as error:
            release(error)
            damage = library.told(error)
            continue
        of = max(of, own.of)
        for entry in own.entries:
            found.setdefault(entry.case, entry)
    return Listing(tuple(found.values()), of), damage


def exhibit(library: Library, keys: Sequence[str], case: str) -> View:
    """Return the view of a case in some runs."""
    runs = api.distinguished(read_all(library, keys))
    if len({run.suite for run in runs}) > 1:
        raise InputError("runs of different suites do not share cases: choose runs of one suite")
    suite = registry.suite(runs[0].suite)
    if not suite.exhibit:
        raise InputError(f"runs of the suite {suite.name!r} keep no cases to look at")
    with raise_as_damage([run.path for run in runs if run.path]):
        view: View = load_function(suite.exhibit)(runs, case)
    return view
