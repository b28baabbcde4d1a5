"""What stands around every page: head, navigation, contents, the way on, foot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docs.site.markdown import Text
from docs.site.places import relative
from gnomon.report.markup import Markup, join, tag

POLICY = (
    "default-src 'none'; style-src 'self' file:; script-src 'self' file:; img-src 'self' file:; base-uri 'none'; "
    "form-action 'none'"
)
"""Nothing but files of the site. ``file:`` is there since not every browser takes ``'self'`` for it."""
STYLES = ("style.css", "site.css")
SCRIPTS = ("report.js", "site.js")


@dataclass(frozen=True)
class Page:
    """A page with its address, and the page under which the navigation lists it."""

    address: str
    text: Text
    parent: str = ""
    label: str = ""
    """What the navigation calls it, where that is not its title."""

    @property
    def name(self) -> str:
        """What the navigation calls it."""
        return self.label or self.text.title


@dataclass(frozen=True)
class Group:
    """A heading of the navigation, with the addresses under it."""

    title: str
    pages: tuple[str, ...]


@dataclass(frozen=True)
class Tree:
    """All pages, and how the navigation orders them."""

    pages: Mapping[str, Page]
    groups: Sequence[Group]

    def children(self, address: str) -> list[Page]:
        """Return the pages that are listed under one."""
        return [page for page in self.pages.values() if page.parent == address]

    def way(self, address: str) -> list[str]:
        """Return a page and those above it, the nearest first."""
        found = [address]
        while parent := self.pages[found[-1]].parent:
            found.append(parent)
        return found

    @property
    def order(self) -> list[str]:
        """The pages of the navigation's own list, one after another."""
        return ["index.html", *(address for group in self.groups for address in group.pages)]


def document(page: Page, tree: Tree) -> bytes:
    """Return the whole page."""
    here = page.address
    title = "gnomon" if here == "index.html" else f"{page.text.title} · gnomon"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("link", rel="icon", href=relative(here, "assets/icon.svg"), type="image/svg+xml"),
        *(tag("link", rel="stylesheet", href=relative(here, f"assets/{name}")) for name in STYLES),
        *(tag("script", src=relative(here, f"assets/{name}")) for name in SCRIPTS),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", cls="skip", href="#site-content"),
        _bar(here),
        tag(
            "div",
            _side(page, tree),
            tag(
                "main",
                _crumbs(page, tree),
                tag("article", page.text.body),
                _onward(page, tree),
                id="site-content",
                tabindex="-1",
            ),
            _contents(page),
            cls="columns",
        ),
        cls="site",
        data_root=relative(here, "index.html").removesuffix("index.html"),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n".encode()


def _bar(here: str) -> Markup:
    icon = tag("img", src=relative(here, "assets/icon.svg"), alt="", width="24", height="24")
    field = tag(
        "input",
        type="search",
        id="site-search",
        placeholder="Search (press /)",
        autocomplete="off",
        spellcheck="false",
        aria_controls="site-found",
    )
    found = [tag("p", id="site-found-count", role="status"), tag("ul", id="site-found-list")]
    search = tag(
        "div",
        tag("label", "Search", for_="site-search", cls="unseen"),
        field,
        tag("div", *found, id="site-found", hidden=True),
        cls="search",
        role="search",
        hidden=True,
    )
    return tag(
        "header",
        tag(
            "button",
            "Pages",
            type="button",
            id="site-menu",
            aria_expanded="false",
            aria_controls="site-pages",
            hidden=True,
        ),
        tag("a", icon, "gnomon", href=relative(here, "index.html"), cls="brand"),
        search,
        tag("button", "Dark", type="button", data_action="theme", hidden=True),
        cls="top",
    )


def _side(page: Page, tree: Tree) -> Markup:
    open_ = set(tree.way(page.address))
    groups = (
        tag("li", tag("p", group.title, cls="group"), _links(group.pages, page, tree, open_)) for group in tree.groups
    )
    return tag("nav", tag("ul", *groups), cls="side", id="site-pages", aria_label="Pages")


def _links(addresses: Sequence[str], page: Page, tree: Tree, open_: set[str]) -> Markup:
    rows = []
    for address in addresses:
        other = tree.pages[address]
        current = "page" if address == page.address else None
        link = tag("a", other.name, href=relative(page.address, address), aria_current=current)
        inside = [child.address for child in tree.children(address)] if address in open_ else []
        rows.append(tag("li", link, _links(inside, page, tree, open_) if inside else None))
    return tag("ul", *rows)


def _crumbs(page: Page, tree: Tree) -> Markup | None:
    above = tree.way(page.address)[:0:-1]
    if not above:
        return None
    steps = (tag("li", tag("a", tree.pages[own].name, href=relative(page.address, own))) for own in above)
    return tag("nav", tag("ol", *steps), cls="crumbs", aria_label="Where this page is")


def _contents(page: Page) -> Markup | None:
    parts = [part for part in page.text.parts if part.level == 2]
    if len(parts) < 2:
        return None
    rows = (tag("li", tag("a", part.title, href=f"#{part.anchor}")) for part in parts)
    return tag("nav", tag("p", "On this page", cls="group"), tag("ul", *rows), cls="here", aria_label="On this page")


def _onward(page: Page, tree: Tree) -> Markup | None:
    order = tree.order
    if page.address not in order:
        return None
    place = order.index(page.address)
    before = order[place - 1] if place else None
    after = order[place + 1] if place + 1 < len(order) else None
    links = (
        tag("a", tag("span", word), tree.pages[own].name, href=relative(page.address, own), cls=word.lower())
        for word, own in (("Before", before), ("Next", after))
        if own
    )
    return tag("nav", join(links), cls="onward", aria_label="Before and next")
