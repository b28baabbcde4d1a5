"""Pages about runs: one or several together, compared, on a board, and single cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from gnomon.core import registry
from gnomon.core.errors import counted
from gnomon.core.table import Cell, Table, View
from gnomon.dashboard.gathering import MOST_RUNS, Gathered
from gnomon.dashboard.library import Listed
from gnomon.dashboard.shell import badge, crumbs, spaced
from gnomon.report.figures import drawable
from gnomon.report.html import notes, table
from gnomon.report.markup import Markup, join, shortened, tag
from gnomon.report.page import Section
from gnomon.runs.exhibits import Listing
from gnomon.runs.run import Run

FORMATS = {"json": "JSON", "csv": "CSV", "tex": "LaTeX"}
PICTURES = {"svg": "SVG", "png": "PNG", "pdf": "PDF"}
MOST_CASES = 500
CASE_COLUMNS = ("case", "scene", "sequence")
"""Columns that name a case, where they come first."""
SCRIPTED = tag("noscript", tag("p", "Views of cases are drawn by a script, which this browser does not run."))


def addressed(path: str, keys: Sequence[str], **more: str) -> str:
    """Return the address of a page about runs."""
    pairs = [*(("run", key) for key in keys), *((name, value) for name, value in more.items() if value)]
    return f"{path}?{urlencode(pairs)}"


def run_page(found: Gathered, alike: Sequence[Listed], kept: Listing, damage: str = "") -> list[Markup]:
    """Return the page of one run."""
    run, key = found.runs[0], found.keys[0]
    others = [item.key for item in alike]
    more = len(others) - 1
    links = [
        tag(
            "a",
            f"With the {counted(more, 'other run')} on this data",
            href=f"/together?like={quote(key)}",
            cls="button",
        )
    ]
    if registry.suite(run.suite).board:
        links.append(tag("a", "Board", href=addressed("/board", [key]), cls="button"))
    if kept.entries:
        first = kept.entries[0].case
        links.append(tag("a", "Look at the worst case", href=addressed("/case", [key], case=first), cls="button"))
    return [
        crumbs(("Runs", "/"), (shortened(run.system, 60), "")),
        _title(run.system, run),
        tag("p", *(links if more else links[1:]), cls="actions"),
        contents(found.sections, [("exhibits", "Cases to look at")] if kept.entries else []),
        *sections(found, "together", None, kept),
        *([_cases(kept, [key])] if kept.entries else []),
        *(
            [tag("p", "The cases of this run cannot be looked at: ", shortened(damage, 400), cls="notice")]
            if damage
            else []
        ),
    ]


def together_page(found: Gathered, of: int, kept: Listing) -> list[Markup]:
    """Return the page of several runs, of so many that it could be of; cases are those that any of them keeps."""
    links = []
    if len(found.runs) > 1:
        links.append(tag("a", "Compare these", href=addressed("/compare", found.keys), cls="button"))
    if registry.suite(found.runs[0].suite).board and len({run.ground for run in found.runs}) == 1:
        links.append(tag("a", "Board", href=addressed("/board", found.keys), cls="button"))
    return [
        crumbs(("Runs", "/"), (counted(len(found.runs), "run"), "")),
        tag("h1", f"{counted(len(found.runs), 'run')} together"),
        tag("p", f"The first {MOST_RUNS} of {of:,} runs on this data.", cls="notice") if of > MOST_RUNS else Markup(""),
        _names(found),
        _left_out(found),
        tag("p", *links, cls="actions"),
        contents(found.sections, [("exhibits", "Cases to look at")] if kept.entries else []),
        *sections(found, "together", None, kept),
        *([_cases(kept, found.keys)] if kept.entries else []),
    ]


def compare_page(found: Gathered, query: Mapping[str, str], names: Sequence[str], kept: Listing) -> list[Markup]:
    """Return the page of a comparison: chosen by measure, and by the two systems that are shown case by case."""
    measures = [measure.name for measure in found.runs[0].computable]
    selects = [_select("Measure", "measure", measures[:400], query.get("measure", "") or measures[0])]
    if len(names) > 2:
        first = {"a": names[0], "b": names[1]}
        selects += [
            _select(f"{side.upper()}, case by case", side, names, query.get(side) or first[side]) for side in first
        ]
    made = [_cases(kept, found.keys)] if kept.entries else []
    return [
        crumbs(("Runs", "/"), (f"{len(found.runs)} runs", addressed("/together", found.keys)), ("compared", "")),
        tag("h1", "Comparison"),
        _names(found),
        _left_out(found),
        _form("/compare", found.keys, selects),
        contents(found.sections, [("exhibits", "Cases to look at")] if made else []),
        *sections(found, "compare", query, kept),
        *made,
    ]


def board_page(found: Gathered, query: Mapping[str, str]) -> list[Markup]:
    """Return a board with its choices."""
    board = found.board
    if board is None:
        raise ValueError("a board page needs a board")
    selects = [_select(name, name, options, board.chosen[name]) for name, options in board.choices.items()]
    return [
        crumbs(("Runs", "/"), (f"{len(found.runs)} runs", addressed("/together", found.keys)), ("board", "")),
        tag("h1", f"{found.runs[0].suite}: board"),
        _names(found),
        _left_out(found),
        _form("/board", found.keys, selects),
        *sections(found, "board", query),
    ]


def case_page(
    keys: Sequence[str], runs: Sequence[Run], kept: Listing, case: str, alike: Sequence[Listed]
) -> list[Markup]:
    """Return the page of one case, with the others to go to and the systems to put beside."""
    places = [entry.case for entry in kept.entries]
    here = places.index(case) if case in places else -1
    steps = []
    if here > 0:
        steps.append(
            tag("a", "← worse", href=addressed("/case", keys, case=places[here - 1]), cls="button", rel="prev")
        )
    if 0 <= here < len(places) - 1:
        steps.append(
            tag("a", "less bad →", href=addressed("/case", keys, case=places[here + 1]), cls="button", rel="next")
        )
    source = f"/data/case?{urlencode([*(('run', key) for key in keys), ('case', case)])}"
    return [
        crumbs(("Runs", "/"), *_up(keys, runs), (shortened(case, 60), "")),
        tag("h1", shortened(case, 120)),
        tag("p", *steps, tag("span", kept.entries[here].note if here >= 0 else "", cls="quiet"), cls="actions"),
        tag("div", SCRIPTED, data_source=source, cls="stage"),
        _beside(keys, case, alike),
        _cases(kept, keys, case),
    ]


def file_page(path: str, names: Sequence[str], name: str) -> list[Markup]:
    """Return the page of a result file of another tool."""
    source = f"/data/file/{quote(path)}?{urlencode({'result': name})}"
    links = [
        tag(
            "li",
            tag(
                "a",
                shortened(item, 80),
                href=f"/file/{quote(path)}?{urlencode({'result': item})}",
                aria_current="page" if item == name else None,
            ),
        )
        for item in names[:MOST_CASES]
    ]
    return [
        crumbs(("Runs", "/"), (shortened(path, 60), "")),
        tag("h1", shortened(path, 120)),
        tag("p", shortened(name, 120)),
        tag("div", SCRIPTED, data_source=source, cls="stage"),
        tag("section", tag("h2", "Results in this file"), tag("ul", *links, cls="cases"), id="exhibits"),
    ]


def _up(keys: Sequence[str], runs: Sequence[Run]) -> list[tuple[str, str]]:
    if len(keys) == 1:
        return [(shortened(runs[0].system, 60), f"/run/{quote(keys[0])}")]
    return [(counted(len(keys), "run"), addressed("/compare", keys))]


def _beside(keys: Sequence[str], case: str, alike: Sequence[Listed]) -> Markup:
    """Return links that put another run beside, or take one away."""
    items = []
    for item in alike:
        if item.entry is None:
            continue
        mine = item.key in keys
        others = [key for key in keys if key != item.key] if mine else [*keys, item.key]
        if not others:
            items.append(tag("li", badge(shortened(item.entry.system, 60), "good")))
            continue
        text = f"{'− without' if mine else '+ beside'} {shortened(item.entry.system, 60)}"
        told = tag("small", shortened(item.key, 120), cls="quiet")
        items.append(tag("li", tag("a", text, href=addressed("/case", others, case=case)), " ", told))
    return tag("section", tag("h2", "Systems"), tag("ul", *items, cls="cases")) if len(items) > 1 else Markup("")


def _cases(kept: Listing, keys: Sequence[str], here: str = "") -> Markup:
    items = [
        tag(
            "li",
            tag(
                "a",
                shortened(entry.case, 80),
                href=addressed("/case", keys, case=entry.case),
                aria_current="page" if entry.case == here else None,
            ),
            " ",
            tag("small", shortened(entry.note, 120), cls="quiet"),
        )
        for entry in kept.entries[:MOST_CASES]
    ]
    said = f"{len(kept.entries):,} of {kept.of:,} cases were kept, the worst first (option --exhibits)."
    return tag(
        "section",
        tag("h2", "Cases to look at"),
        tag("p", said, cls="lead"),
        tag("ol", *items, cls="cases"),
        id="exhibits",
    )


def contents(made: Sequence[Section], more: Sequence[tuple[str, str]] = ()) -> Markup:
    """Return links to the sections of a page."""
    links = [(section.id, section.title) for section in made] + list(more)
    items = (tag("li", tag("a", title, href=f"#{name}")) for name, title in links)
    return tag("nav", tag("ol", *items), cls="contents", aria_label="On this page")


def sections(
    found: Gathered, kind: str, query: Mapping[str, str] | None = None, kept: Listing | None = None
) -> list[Markup]:
    """Return the sections of a page; every table has its downloads, every figure its files, kept cases a link."""
    cases = {entry.case for entry in kept.entries} if kept else set()
    chosen = {name: value for name, value in (query or {}).items() if name not in ("run", "token", "like")}
    place = 0
    made = []
    for section in found.sections:
        blocks = []
        for item in section.items:
            address = _items(kind, place, item.name, found.keys, chosen)
            blocks.append(_block(item, address, lambda row: _case_address(row, cases, found.keys)))
            place += 1
        made.append(tag("section", tag("h2", section.title), *blocks, id=section.id))
    return made


def slug(name: str) -> str:
    """Return a name as part of an address or of a file's name."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)[:60]


def _items(kind: str, place: int, name: str, keys: Sequence[str], query: Mapping[str, str]) -> Callable[[str], str]:
    def address(suffix: str) -> str:
        return addressed(f"/item/{kind}/{place}/{slug(name)}.{suffix}", keys, **query)

    return address


def _case_address(row: Mapping[str, Cell], cases: set[str], keys: Sequence[str]) -> str:
    """Return where a row about a case leads, if that case was kept."""
    named = next((row[name].value for name in CASE_COLUMNS if name in row), None)
    return addressed("/case", keys, case=named) if isinstance(named, str) and named in cases else ""


def _block(item: Table | View, address: Callable[[str], str], rows_at: Callable[[Mapping[str, Cell]], str]) -> Markup:
    if isinstance(item, Table):
        first = item.columns[0].key if item.columns else ""
        return table(item, lambda _: _links(FORMATS, address), rows_at=rows_at if first in CASE_COLUMNS else None)
    if not drawable(item):
        return Markup("")
    waiting = tag("p", "Drawing…", cls="loading", role="status")
    shown = f"{address('svg')}&inline=1"
    image = tag("noscript", tag("img", src=shown, alt=item.title))
    body = tag("div", waiting, image, data_figure=shown, cls="drawn")
    bar = tag("div", tag("h3", item.title), _links(PICTURES, address), cls="bar")
    return tag("figure", bar, body, notes(item.notes) if item.notes else None, cls="block figure")


def _links(formats: Mapping[str, str], address: Callable[[str], str]) -> Markup:
    made = (tag("a", title, href=address(suffix), download=True) for suffix, title in formats.items())
    return tag("span", tag("span", "Download "), join(made, " "), cls="links")


def _title(title: str, run: Run) -> Markup:
    facts: Mapping[str, Any] = run.manifest["facts"]
    protocol = run.manifest["protocol"]
    words = (run.suite, f"{protocol['name']} {protocol['version']}", str(protocol["variant"]))
    badges = [badge(shortened(word, 60)) for word in words if word]
    badges.append(badge("complete", "good") if run.complete else badge("partial", "warn"))
    badges += [badge("simulated data", "warn")] if facts.get("simulated") else []
    return tag("div", tag("h1", shortened(title, 120)), tag("p", spaced(*badges)))


def _names(found: Gathered) -> Markup:
    items = [
        tag("li", tag("a", shortened(run.system, 80), href=f"/run/{quote(key)}"))
        for run, key in zip(found.runs, found.keys, strict=True)
    ]
    return tag("ul", *items, cls="names")


def _left_out(found: Gathered) -> Markup:
    if not found.left_out:
        return Markup("")
    lines = (tag("li", shortened(key, 80), ": ", shortened(why, 300)) for key, why in found.left_out.items())
    count = len(found.left_out)
    said = f"{count} {'run is' if count == 1 else 'runs are'} left out, which cannot be read"
    return tag("details", tag("summary", said), tag("ul", *lines), cls="notice")


def _form(action: str, keys: Sequence[str], selects: Sequence[Markup]) -> Markup:
    """Return the choices of a page; after Back they show what the page shows (``autocomplete``)."""
    hidden = [tag("input", type="hidden", name="run", value=key) for key in keys]
    button = tag("button", "Show", type="submit")
    return tag("form", *hidden, *selects, button, action=action, cls="filter", autocomplete="off")


def _select(title: str, name: str, values: Sequence[str], value: str) -> Markup:
    options = [
        tag("option", shortened(item.replace("_", " "), 80), value=item, selected=item == value) for item in values
    ]
    return tag("label", tag("span", title), tag("select", *options, name=name))
