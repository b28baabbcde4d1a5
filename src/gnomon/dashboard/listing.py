"""The list of runs: search, filter, sort, and choosing some to see together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from gnomon.core.errors import counted
from gnomon.dashboard.library import Listed
from gnomon.dashboard.shell import badge, message, spaced
from gnomon.report.cells import show
from gnomon.report.markup import Markup, join, shortened, tag
from gnomon.runs.index import Entry

PAGE = 1000
"""Runs on one page."""
STATES = ("complete", "partial")
SORTS: dict[str, tuple[str, Callable[[Entry], Any], bool]] = {
    "started": ("started", lambda entry: entry.started, True),
    "system": ("system", lambda entry: entry.system.lower(), False),
    "suite": ("suite", lambda entry: entry.suite, False),
    "variant": ("variant", lambda entry: entry.variant, False),
    "value": ("headline", lambda entry: _by_headline(entry), False),
    "n": ("n", lambda entry: entry.n, True),
    "groups": ("groups", lambda entry: entry.groups, True),
}
"""Heading, key and whether the largest come first, by the name in an address."""
LONGEST = 120
"""Characters of a name that are shown."""


@dataclass(frozen=True)
class Asked:
    """What is asked of the list."""

    q: str = ""
    suite: str = ""
    variant: str = ""
    state: str = ""
    folder: str = ""
    sort: str = "started"
    turned: bool = False
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Asked:
        """Read an address; what makes no sense is left out."""
        sort = query.get("sort", "started")
        page = query.get("page", "1")
        return cls(
            **{name: query.get(name, "")[:200] for name in ("q", "suite", "variant", "state", "folder")},
            sort=sort if sort in SORTS else "started",
            turned=query.get("turned") == "1",
            page=max(1, int(page)) if page.isascii() and page.isdigit() and len(page) < 7 else 1,
        )

    def address(self, **changed: Any) -> str:
        """Return the address of this list with something changed."""
        found = {name: getattr(self, name) for name in ("q", "suite", "variant", "state", "folder")}
        found |= {"sort": self.sort if self.sort != "started" else "", "turned": "1" if self.turned else "", **changed}
        kept = {name: value for name, value in found.items() if value}
        return f"/?{urlencode(kept)}" if kept else "/"


def chosen(runs: Sequence[Listed], asked: Asked) -> list[Listed]:
    """Return the readable runs that answer what is asked, in the order asked for."""
    words = asked.q.lower().split()
    found = [item for item in runs if item.entry is not None and _answers(item, item.entry, asked, words)]
    _, key, falling = SORTS[asked.sort]
    found.sort(key=lambda item: item.key)
    if asked.sort == "value":  # groups keep their order and undefined values stay last when the order is turned
        return sorted(found, key=lambda item: _by_headline(item.entry, asked.turned))  # type: ignore[arg-type]
    return sorted(found, key=lambda item: key(item.entry), reverse=falling != asked.turned)  # type: ignore[arg-type]


def _by_headline(entry: Entry, worst_first: bool = False) -> tuple[str, str, str, bool, float]:
    """Return the key that sorts by headline: values of different measures are not compared.

    Runs are grouped by measure (name, suite, unit; in the order of names). Within a group the best comes first by the
    direction of the measure, the largest where that is not known, and undefined values come last. Of a signed error
    the one nearest to 0 comes first.
    """
    value = entry.value or 0.0
    losses: dict[str | None, float] = {"down": value, "": abs(value)}
    loss = losses.get(entry.direction, -value)
    return (entry.headline, entry.suite, entry.unit, entry.value is None, -loss if worst_first else loss)


def _answers(item: Listed, entry: Entry, asked: Asked, words: Sequence[str]) -> bool:
    if asked.suite not in ("", entry.suite) or asked.variant not in ("", entry.variant):
        return False
    if asked.folder and item.folder != asked.folder:
        return False
    if asked.state and asked.state != ("complete" if entry.complete else "partial"):
        return False
    text = f"{item.key} {entry.system} {entry.protocol} {entry.variant} {entry.headline}".lower()
    return all(word in text for word in words)


def content(runs: Sequence[Listed], foreign: Sequence[tuple[str, str]], asked: Asked) -> list[Markup]:
    """Return the content of the page."""
    works = tag("div", cls="works")
    told = tag("p", id="told", cls="unseen", role="status")
    live = tag("section", tag("h2", "Work"), told, works, id="live", hidden=True, aria_label="Work")
    failed = tag("p", id="failed", cls="failure", role="alert")
    made = [tag("h1", "Runs"), live, _filter(runs, asked), failed, _form(runs, asked, bool(foreign))]
    return made + ([_foreign(foreign)] if foreign else [])


def _filter(runs: Sequence[Listed], asked: Asked) -> Markup:
    entries = [item.entry for item in runs if item.entry is not None]
    folders = sorted({item.folder for item in runs})
    search = tag(
        "label",
        tag("span", "Search"),
        tag("input", id="search", type="search", name="q", value=asked.q, placeholder="system, protocol, folder …"),
    )
    return tag(
        "form",
        search,
        _select("Suite", "suite", _values(entry.suite for entry in entries), asked.suite),
        _select("Variant", "variant", _values(entry.variant for entry in entries), asked.variant),
        _select("State", "state", STATES, asked.state),
        _select("Folder", "folder", [name for name in folders if name], asked.folder) if len(folders) > 1 else None,
        tag("input", type="hidden", name="sort", value=asked.sort),
        tag("input", type="hidden", name="turned", value="1" if asked.turned else ""),
        tag("button", "Find", type="submit"),
        id="filter",
        action="/",
        method="get",
        role="search",
        cls="filter",
        autocomplete="off",
    )


def _values(found: Iterable[str]) -> list[str]:
    return sorted({value for value in found if value})


def _select(title: str, name: str, values: Sequence[str], value: str) -> Markup:
    options = [tag("option", "all", value="")]
    options += [tag("option", shortened(item, 60), value=item, selected=item == value) for item in values[:500]]
    return tag("label", tag("span", title), tag("select", *options, name=name))


def _form(runs: Sequence[Listed], asked: Asked, others: bool) -> Markup:
    buttons = tag(
        "p",
        tag("button", "See together", id="together", type="submit", formaction="/together"),
        tag("button", "Compare", id="compare", type="submit", formaction="/compare"),
        tag("span", id="chosen", aria_live="polite", cls="quiet"),
        tag("button", "Clear", id="clear", type="button", hidden=True),
        cls="actions",
    )
    return tag(
        "form",
        buttons,
        tag("div", *listed(runs, asked, others), id="listed"),
        method="get",
        action="/together",
        id="choice",
        autocomplete="off",
    )


def listed(runs: Sequence[Listed], asked: Asked, others: bool = False) -> list[Markup]:
    """Return the table and what stands under it, or how to make runs where there are none."""
    if not runs:
        return [tag("p", "No runs in this folder.", cls="empty")] if others else [_none()]
    found = chosen(runs, asked)
    start = (asked.page - 1) * PAGE
    shown = found[start : start + PAGE]
    broken = [item for item in runs if item.entry is None]
    count = f"{len(found):,} of {len(runs) - len(broken):,} runs"
    parts: list[Markup] = [tag("p", count + _order(found, asked), cls="count", role="status")]
    parts.append(_table(shown, asked) if shown else _nothing())
    pages = -(-len(found) // PAGE)
    if pages > 1:
        links = (
            tag("a", str(n), href=asked.address(page=n), aria_current="page" if n == asked.page else None)
            for n in range(1, min(pages, 200) + 1)
        )
        parts.append(tag("nav", *links, cls="pages", aria_label="Pages of the list"))
    other = [item for item in broken if item.other_version]
    damaged = [item for item in broken if not item.other_version]
    if other:
        parts.append(_unread(other, f"{counted(len(other), 'run')} of another version of gnomon"))
    if damaged:
        parts.append(_unread(damaged, f"{counted(len(damaged), 'folder')} cannot be read"))
    return parts


def _order(found: Sequence[Listed], asked: Asked) -> str:
    """Return the rule by which the headline sorts, where it does."""
    entries = [item.entry for item in found if item.entry is not None]
    if asked.sort != "value" or not entries:
        return ""
    unknown = sum(entry.direction is None for entry in entries)
    said = f", grouped by measure, the {'worst' if asked.turned else 'best'} of each first"
    more = f"; {counted(unknown, 'run')} of measures whose direction is not known: largest values count as best"
    return said + (more if unknown else "")


def _none() -> Markup:
    return message(
        "No runs here yet",
        "Make some, and they appear here while they are being made:",
        tag("pre", "gnomon demo --quick --out demo\ngnomon serve --runs demo", cls="text"),
        kind="empty",
    )


def _nothing() -> Markup:
    return tag("p", "No run answers this. ", tag("a", "Show all", href="/"), ".", cls="empty")


def _table(shown: Sequence[Listed], asked: Asked) -> Markup:
    head = [tag("th", tag("span", "Choose", cls="unseen"), scope="col")]
    for name in ("system", "suite", "variant", "value", "n", "groups"):
        head.append(_heading(name, asked))
    head += [tag("th", "state", scope="col"), _heading("started", asked), tag("th", "folder", scope="col", cls="far")]
    rows = join(_row(item, item.entry) for item in shown if item.entry is not None)
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", rows), cls="runs")
    return tag("div", table, cls="scroll", tabindex="0", role="region", aria_label="Runs")


def _heading(name: str, asked: Asked) -> Markup:
    title, _, falling = SORTS[name]
    mine = asked.sort == name
    down = falling != asked.turned
    address = asked.address(sort=name if name != "started" else "", turned="1" if mine and not asked.turned else "")
    arrow = (" ↓" if down else " ↑") if mine else ""
    order = ("descending" if down else "ascending") if mine else None
    if mine and name == "value":  # neither rising nor falling: directions differ from measure to measure
        arrow, order = (", worst first" if asked.turned else ", best first"), "other"
    far = "far" if name in ("n", "groups") else ""
    kind = f"number {far}".strip() if name in ("value", "n", "groups") else None
    return tag("th", tag("a", f"{title}{arrow}", href=address), scope="col", aria_sort=order, cls=kind)


def _row(item: Listed, entry: Entry) -> Markup:
    """Return the row of a run; written out, for a list has thousands."""
    key = quote(item.key)
    value = show(*entry.cell())
    name = shortened(entry.system, LONGEST)
    state = badge("complete", "good") if entry.complete else badge("partial", "warn")
    if entry.cells_total is not None and not entry.complete:
        state = spaced(state, f"{entry.cells_done} of {entry.cells_total} cells")
    tick = tag("input", type="checkbox", name="run", value=item.key, aria_label=f"choose {name}")
    cells = (
        tag("td", tick),
        tag("th", tag("a", name, href=f"/run/{key}"), scope="row"),
        tag("td", shortened(entry.suite, 40)),
        tag("td", shortened(entry.variant, 40)),
        tag("td", value, " ", tag("small", shortened(_measure(entry), 60)), cls="number"),
        tag("td", f"{entry.n:,}", cls="number far"),
        tag("td", f"{entry.groups:,}", cls="number far"),
        tag("td", state),
        tag("td", tag("time", shortened(entry.started.replace("T", " ")[:16], 20), datetime=entry.started[:40])),
        tag("td", shortened(item.folder, 60), cls="far"),
    )
    return tag("tr", *cells)


def _measure(entry: Entry) -> str:
    return entry.headline.replace("_", " ") + (f" ({entry.unit})" if entry.unit else "")


def _unread(runs: Sequence[Listed], title: str) -> Markup:
    lines = [tag("li", tag("code", shortened(item.key, LONGEST)), ": ", shortened(item.why, 300)) for item in runs[:50]]
    more = [tag("li", f"and {len(runs) - 50:,} more")] if len(runs) > 50 else []
    return tag("details", tag("summary", title), tag("ul", *lines, *more), cls="notice")


def _foreign(files: Sequence[tuple[str, str]]) -> Markup:
    items = []
    for folder, name in files[:200]:
        path = f"{folder}/{name}" if folder else name
        items.append(tag("li", tag("a", shortened(path, LONGEST), href=f"/file/{quote(path)}")))
    return tag("section", tag("h2", "Result files of other tools"), tag("ul", *items))
