"""A Markdown page as markup: anchors, tables, pictures, code blocks, and the words that a search finds.

Markdown is that of CommonMark with tables; HTML in it is shown as text. Anchors are named as on code hosts: lower case,
hyphens for spaces, other marks dropped, ``-1`` behind a name that was there before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from markdown_it import MarkdownIt
from markdown_it.token import Token

from docs.site import code
from gnomon.report.markup import Markup, join, tag, text

Resolve = Callable[[str], str]
Called = Callable[[str], str | None]
"""From a link to the name of the page that it leads to, if it is one."""
DEEPEST = 3
"""Headings to this level are in the list of contents and have a place of their own in the search."""


@dataclass
class Part:
    """What stands under one heading: where it is, and its words."""

    anchor: str
    title: str
    level: int
    words: list[str] = field(default_factory=list)

    @property
    def said(self) -> str:
        """The words as one line."""
        return " ".join(" ".join(self.words).split())


@dataclass(frozen=True)
class Text:
    """A page without its frame."""

    title: str
    body: Markup
    parts: tuple[Part, ...]


def slug(title: str) -> str:
    """Return the anchor of a heading.

    >>> slug("What `gnomon audit` finds, 2 of 3")
    'what-gnomon-audit-finds-2-of-3'
    """
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


class Anchors:
    """Names that are unique in one page."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def name(self, title: str) -> str:
        """Return the anchor of the next heading."""
        own = slug(title) or "part"
        free = next(name for name in _tries(own) if name not in self._seen)
        self._seen.add(free)
        return free


def _tries(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(1))


def parser() -> MarkdownIt:
    """Return the dialect of the pages."""
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def render(source: str, resolve: Resolve, anchors: Anchors | None = None, called: Called | None = None) -> Text:
    """Turn a page into markup.

    ``resolve`` says where a link leads, ``anchors`` which names are taken, ``called`` how a page is called: a link
    whose words are nothing but a file's name, which suits a repository, gets the name of the page.
    """
    return _Page(resolve, anchors or Anchors(), called or (lambda _: None)).read(parser().parse(source))


class _Page:
    def __init__(self, resolve: Resolve, anchors: Anchors, called: Called) -> None:
        self._resolve = resolve
        self._anchors = anchors
        self._called = called
        self._parts: list[Part] = []
        self._title = ""

    def read(self, tokens: Sequence[Token]) -> Text:
        body, _ = self._run(tokens, 0, "")
        return Text(self._title, body, tuple(self._parts))

    def _run(self, tokens: Sequence[Token], start: int, until: str) -> tuple[Markup, int]:
        """Return everything up to the token that closes what is open, and the place behind it."""
        found: list[object] = []
        place = start
        while place < len(tokens):
            token = tokens[place]
            if token.type == until:
                return join(found), place + 1
            if token.type == "heading_open":
                found.append(self._heading(int(token.tag[1]), tokens[place + 1]))
                place += 3
            elif token.nesting == 1:
                inner, place = self._run(tokens, place + 1, token.type.replace("_open", "_close"))
                found.append(self._element(token, inner))
            else:
                found.append(self._leaf(token))
                place += 1
        return join(found), place

    def _element(self, token: Token, inner: Markup) -> Markup:
        if token.type == "paragraph_open" and token.hidden:
            return inner
        if token.type == "table_open":
            return tag("div", tag("table", inner), cls="scroll", tabindex="0", role="region", aria_label="Table")
        if token.type in ("th_open", "td_open"):
            right = "right" in str(token.attrGet("style") or "")
            return tag(
                token.tag, inner, cls="number" if right else None, scope="col" if token.type == "th_open" else None
            )
        if token.type == "ordered_list_open":
            return tag("ol", inner, start=token.attrGet("start"))
        return tag(token.tag, inner)

    def _heading(self, level: int, content: Token) -> Markup:
        title = plain(content.children or ())
        anchor = self._anchors.name(title)
        if level == 1 and not self._title:
            self._title = title
        if level <= DEEPEST:
            self._parts.append(Part(anchor, title, level))
        return heading(level, self._inline(content.children or []), anchor, title)

    def _leaf(self, token: Token) -> Markup:
        if token.type == "inline":
            self._note(plain(token.children or ()))
            return self._inline(token.children or [])
        if token.type in ("fence", "code_block"):
            language = token.info.split()[0] if token.info.split() else ""
            self._note(" ".join(code.commands(token.content)))
            return code.block(token.content, language)
        if token.type == "hr":
            return tag("hr")
        raise ValueError(f"no rule for {token.type} in a page")

    def _note(self, words: str) -> None:
        if self._parts and words:
            self._parts[-1].words.append(words)

    def _inline(self, children: Sequence[Token]) -> Markup:
        body, _ = self._spans(children, 0, "")
        return body

    def _spans(self, tokens: Sequence[Token], start: int, until: str) -> tuple[Markup, int]:
        found: list[object] = []
        place = start
        while place < len(tokens):
            token = tokens[place]
            if token.type == until:
                return join(found), place + 1
            if token.nesting == 1:
                inner, place = self._spans(tokens, place + 1, token.type.replace("_open", "_close"))
                found.append(self._link(token, inner) if token.tag == "a" else tag(token.tag, inner))
            else:
                found.append(self._span(token))
                place += 1
        return join(found), place

    def _link(self, token: Token, inner: Markup) -> Markup:
        link = str(token.attrGet("href"))
        name = self._called(link) if inner == link.partition("#")[0] else None
        return tag("a", name or inner, href=self._resolve(link))

    def _span(self, token: Token) -> Markup:
        if token.type == "code_inline":
            return tag("code", token.content)
        if token.type == "image":
            words = plain(token.children or ())
            return tag("img", src=self._resolve(str(token.attrGet("src"))), alt=words, loading="lazy")
        if token.type == "hardbreak":
            return tag("br")
        return text("\n" if token.type == "softbreak" else token.content)


def heading(level: int, inner: object, anchor: str, title: str) -> Markup:
    """Return a heading that can be pointed to."""
    link = tag("a", "#", href=f"#{anchor}", cls="anchor", aria_label=f"Link to {title}")
    return tag(f"h{level}", inner, " ", link, id=anchor)


def plain(children: Sequence[Token]) -> str:
    """Return what is read of a line, without marks."""
    return "".join(_words(children))


def _words(children: Sequence[Token]) -> Iterator[str]:
    for token in children:
        if token.type in ("softbreak", "hardbreak"):
            yield " "
        else:
            yield token.content if token.type != "image" else plain(token.children or ())
