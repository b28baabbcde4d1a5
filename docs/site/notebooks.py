"""A notebook as a page: its text, its code, and the output that it holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from docs.site import code, markdown
from docs.site.markdown import Part, Resolve, Text
from gnomon.report.markup import VOID, Markup, join, tag

_BLOCKS = ("div", "p", "pre", "ul", "ol", "li", "dl", "dt", "dd", "h3", "h4", "details", "summary")
_TABLES = ("table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "th", "td")
_WORDS = ("a", "b", "br", "code", "em", "i", "small", "span", "strong", "sub", "sup")
KEPT = frozenset({*_BLOCKS, *_TABLES, *_WORDS})
"""Elements of an output that are shown; of any other, its text."""
ATTRIBUTES = frozenset({"class", "colspan", "rowspan", "scope", "title", "data-value", "aria-sort"})
DROPPED = frozenset({"style", "script"})


def render(source: str, resolve: Resolve) -> Text:
    """Turn a notebook into markup; its text is one page, between whose parts code and output stand."""
    cells = json.loads(source)["cells"]
    found: list[object] = []
    parts: list[Part] = []
    anchors = markdown.Anchors()
    title = ""
    for cell in cells:
        if cell["cell_type"] == "markdown":
            text = markdown.render(_text(cell["source"]), resolve, anchors)
            title = title or text.title
            parts += text.parts
            found.append(text.body)
        elif cell["cell_type"] == "code":
            found.append(code.block(_text(cell["source"]).rstrip("\n") + "\n", "python"))
            found += [shown(output) for output in cell["outputs"]]
    return Text(title, join(found), tuple(parts))


def shown(output: Mapping[str, Any]) -> Markup:
    """Return one output: markup of the kinds that a strict policy allows, else text."""
    data = output.get("data", {})
    if "text/html" in data:
        return tag(
            "div",
            _Kept.of(_text(data["text/html"])),
            cls="output scroll",
            tabindex="0",
            role="region",
            aria_label="Output",
        )
    said = _text(data.get("text/plain", output.get("text", "")))
    return (
        tag("pre", said.rstrip(), cls="output text", tabindex="0", role="region", aria_label="Output")
        if said.strip()
        else Markup()
    )


def _text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


class _Kept(HTMLParser):
    """Builds markup anew from elements and attributes that are known; nothing else gets through."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[tuple[str, dict[str, str], list[object]]] = [("", {}, [])]
        self._dropped = 0

    @staticmethod
    def of(source: str) -> Markup:
        parser = _Kept()
        parser.feed(source)
        parser.close()
        while len(parser._open) > 1:
            parser._close()
        return join(parser._open[0][2])

    def handle_starttag(self, tag_: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag_ in DROPPED:
            self._dropped += 1
        elif tag_ in VOID:
            if tag_ in KEPT:
                self._open[-1][2].append(tag(tag_))
        else:
            self._open.append((tag_, {name: value or "" for name, value in attrs if name in ATTRIBUTES}, []))

    def handle_endtag(self, tag_: str) -> None:
        if tag_ in DROPPED:
            self._dropped = max(0, self._dropped - 1)
        elif any(name == tag_ for name, _, _ in self._open):
            while self._close() != tag_:
                pass

    def handle_data(self, data: str) -> None:
        if not self._dropped:
            self._open[-1][2].append(data)

    def _close(self) -> str:
        name, attributes, content = self._open.pop()
        inner = join(content)
        made = (
            tag(name, inner, **{_argument(key): value for key, value in attributes.items()}) if name in KEPT else inner
        )
        self._open[-1][2].append(made)
        return name


def _argument(name: str) -> str:
    return "cls" if name == "class" else name.replace("-", "_")
