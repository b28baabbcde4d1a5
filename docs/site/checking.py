"""What is wrong with a site, found by reading its files as a browser would."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

from gnomon.report.markup import VOID

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
"""Attributes by which a page asks for something without being asked."""


@dataclass
class Read:
    """What a page holds."""

    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    navigation: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    without_alt: list[str] = field(default_factory=list)
    title: str = ""
    headings: int = 0
    faults: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.read = Read()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if len(given) < len(attrs):
            self.read.faults.append(f"an attribute of <{tag}> stands there twice")
        if tag not in VOID:
            self._open.append(tag)
        self.read.faults += [f"<{tag}> has {name}" for name in given if name == "style" or name.startswith("on")]
        if "id" in given:
            self.read.ids.append(given["id"])
        if tag == "a" and "href" in given:
            self.read.links.append(given["href"])
            if "nav" in self._open:
                self.read.navigation.append(given["href"])
        if tag in LOADED and LOADED[tag] in given:
            self.read.loaded.append(given[LOADED[tag]])
        if tag == "img" and not given.get("alt") and ("alt" not in given or "article" in self._open):
            self.read.without_alt.append(given.get("src", ""))
        self.read.headings += tag == "h1"

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1] != tag:
            self.read.faults.append(f"</{tag}> closes <{self._open[-1] if self._open else 'nothing'}>")
        elif self._open:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "title":
            self.read.title += data


def read(page: bytes) -> Read:
    """Read one page."""
    reader = _Reader()
    reader.feed(page.decode("utf-8"))
    reader.close()
    reader.read.faults += [f"<{name}> is not closed" for name in reader._open]
    return reader.read


def problems(site: Mapping[str, bytes]) -> list[str]:
    """Return everything that is wrong, one line each, with the page where it is."""
    pages = {address: read(content) for address, content in site.items() if address.endswith(".html")}
    found = [f"{address}: {text}" for address, page in pages.items() for text in _alone(page)]
    found += [f"{address}: {text}" for address, page in pages.items() for text in _leads(address, page, site, pages)]
    titles = Counter(page.title for page in pages.values())
    found += [f"{a}: another page has the title {p.title!r}" for a, p in pages.items() if titles[p.title] > 1]
    found += [f"{address}: the navigation does not lead there" for address in sorted(set(pages) - reached(pages))]
    return found


def _alone(page: Read) -> Iterator[str]:
    yield from page.faults
    if not page.title.strip():
        yield "no title"
    if page.headings != 1:
        yield f"{page.headings} headings of the first level: expected one"
    yield from (f"the id {name!r} is there {times} times" for name, times in Counter(page.ids).items() if times > 1)
    yield from (f"the picture {name} has no text for those who do not see it" for name in page.without_alt)
    yield from (f"it loads {name} from elsewhere" for name in page.loaded if _outward(name))


def _leads(here: str, page: Read, site: Mapping[str, bytes], pages: Mapping[str, Read]) -> Iterator[str]:
    for link in (*page.links, *page.loaded):
        if _outward(link):
            continue
        target, anchor = target_of(here, link)
        if target not in site:
            yield f"the link {link!r} leads nowhere"
        elif anchor and target in pages and anchor not in pages[target].ids:
            yield f"the link {link!r} leads to no place of {target}"


def target_of(here: str, link: str) -> tuple[str, str]:
    """Return the address and the anchor that a link of a page leads to."""
    parts = urlsplit(link)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(here), unquote(parts.path))) if parts.path else here
    return path, unquote(parts.fragment)


def reached(pages: Mapping[str, Read]) -> set[str]:
    """Return the pages that the navigation leads to, from the front page on."""
    found, waiting = set(), ["index.html"]
    while waiting:
        here = waiting.pop()
        if here not in found and here in pages:
            found.add(here)
            waiting += [target_of(here, link)[0] for link in pages[here].navigation if not _outward(link)]
    return found


def outward(site: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Return the addresses of other hosts that pages name as links, each with the pages."""
    found: dict[str, list[str]] = {}
    for address, content in sorted(site.items()):
        if address.endswith(".html"):
            for link in dict.fromkeys(filter(_outward, read(content).links)):
                found.setdefault(link, []).append(address)
    return found


def _outward(link: str) -> bool:
    parts = urlsplit(link)
    return bool(parts.netloc) or parts.scheme not in ("", "data")
