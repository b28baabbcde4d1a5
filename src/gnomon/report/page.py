"""A report as a page: one file that holds everything, or a folder with its tables and figures as files.

Both hold the same sections (:func:`sections`), and neither needs a network, a server or a build. The page carries a
content-security policy that allows its own styles and script, by their hashes, and nothing else. It depends on the runs
alone: the same runs give the same bytes.

An item of a report as texts to take away.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from gnomon.core.errors import InputError
from gnomon.core.table import Table, View
from gnomon.report import assets, figures, html, latex, plain, terminal
from gnomon.report.figures import drawing
from gnomon.report.html import Links
from gnomon.report.markup import Markup, join, shortened, tag
from gnomon.report.origins import facts
from gnomon.report.sections import Item, Section, Shown, sections

__all__ = ["Section", "block", "contents", "part", "sections", "single", "write", "write_figures"]
TYPES = {"json": "application/json", "csv": "text/csv", "tex": "text/x-tex"}


def single(result: Shown, ragged: str = "error") -> str:
    """Return a report as one page that holds its tables, figures and downloads."""
    return _document(result, sections(result, ragged), _inlined)


def write(result: Shown, path: str | Path, ragged: str = "error") -> list[Path]:
    """Write a report: one file where the path ends in ``.html`` or is a file already, else a folder.

    Returns
    -------
    list of Path
        What was written; the page comes first.
    """
    target = Path(path)
    try:
        if target.suffix.lower() in (".html", ".htm") or target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(single(result, ragged), encoding="utf-8")
            return [target]
        return _folder(result, target, ragged)
    except OSError as error:
        raise InputError(f"--output {target}: cannot be written: {error.strerror or error}") from error


def _folder(result: Shown, folder: Path, ragged: str) -> list[Path]:
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    parts = sections(result, ragged)
    index = folder / "index.html"
    index.write_text(_document(result, parts, _linked), encoding="utf-8")
    written = [index]
    for item in (item for own in parts for item in own.items):
        for end, text in texts(item).items():
            written.append(folder / "tables" / f"{item.name}.{end}")
            written[-1].write_text(text, encoding="utf-8")
    return [*written, *_draw(parts, folder / "figures")] if drawing.available() else written


def write_figures(result: Shown, folder: str | Path, ragged: str = "error") -> list[Path]:
    """Write every figure of a report as SVG, PNG and PDF."""
    drawing.converter()
    try:
        return _draw(sections(result, ragged), Path(folder))
    except OSError as error:
        raise InputError(f"--figures {folder}: cannot be written: {error.strerror or error}") from error


def _draw(parts: Sequence[Section], folder: Path) -> list[Path]:
    written = []
    for view in (item for own in parts for item in own.items if isinstance(item, View) and figures.drawable(item)):
        folder.mkdir(parents=True, exist_ok=True)
        for end, content in figures.files(view).items():
            written.append(folder / f"{view.name}.{end}")
            written[-1].write_bytes(content)
    return written


def part(own: Section, links: Links | None = None) -> Markup:
    """Return a section: its heading, and a block for every item; ``links`` makes the downloads of an item."""
    blocks = []
    for figures_, items in groupby(own.items, key=lambda item: isinstance(item, View)):
        made = join(block(item, links, id=f"{own.id}-{item.name}") for item in items)
        blocks.append(tag("div", made, cls="figures") if figures_ else made)
    return tag("section", tag("h2", own.title, id=own.id), html.notes(own.notes), join(blocks), aria_labelledby=own.id)


def block(item: Item, links: Links | None = None, *, id: str | None = None) -> Markup:
    """Return one table or figure with its title, its downloads and its notes."""
    if isinstance(item, Table):
        return html.table(item, links, id=id)
    top = tag("div", tag("h3", shortened(item.title, html.CELL)), links(item) if links else None, cls="bar")
    return tag("div", top, _drawn(item, id or item.name), html.notes(item.notes), cls="block", id=id)


def _drawn(view: View, prefix: str) -> Markup:
    """Return a figure, or what a terminal would show of it where nothing can be drawn."""
    if figures.drawable(view) and drawing.available():
        return tag("div", figures.inline(view, prefix), cls="figure", tabindex="0")
    _, _, said = terminal.render([View(view.name, "", view.kind, view.data)]).partition("\n")
    if said.strip():
        return tag("pre", said.rstrip(), cls="text", tabindex="0")
    return tag("p", f"not drawn. {figures.described(view)}", cls="empty")


def contents(parts: Sequence[Section]) -> Markup:
    """Return the list of sections."""
    rows = join(tag("li", tag("a", own.title, href=f"#{own.id}")) for own in parts)
    return tag("nav", tag("ol", rows), cls="contents", aria_label="Contents")


def _document(result: Shown, parts: Sequence[Section], links: Links) -> str:
    style, script = assets.read("style.css"), assets.read("report.js")
    title = f"Report: {', '.join(sorted({run.suite for run in result.runs}))}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    button = tag("button", "Dark", type="button", data_action="theme", hidden=True)
    said = join(join([tag("dt", name), tag("dd", shortened(value, html.NOTE))]) for name, value in facts(result.runs))
    body = tag(
        "body",
        tag("a", "Skip to the scores", href="#main", cls="skip"),
        tag(
            "div",
            tag("header", tag("h1", title), button),
            tag("div", tag("dl", said, cls="facts"), cls="card"),
            None if drawing.available() else tag("p", f"No figures are shown: {drawing.NEEDED}", cls="notice"),
            contents(parts),
            tag("main", join(part(own, links) for own in parts), id="main"),
            tag("footer", "Made by gnomon from the runs named above; it loads nothing from elsewhere."),
            cls="page",
        ),
        tag("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _inlined(item: Item) -> Markup:
    """Return downloads that the page holds itself."""
    found = []
    for end, text in texts(item).items():
        content = base64.b64encode(text.encode("utf-8")).decode("ascii")
        address = f"data:{TYPES[end]};base64,{content}"
        found.append(tag("a", LABELS[end], href=address, download=f"{item.name}.{end}"))
    return _links(item, found)


def _linked(item: Item) -> Markup:
    """Return downloads that lie beside the page."""
    found = [
        tag("a", LABELS[end], href=f"tables/{item.name}.{end}", download=f"{item.name}.{end}") for end in texts(item)
    ]
    if isinstance(item, View) and figures.drawable(item) and drawing.available():
        found += [
            tag("a", end.upper(), href=f"figures/{item.name}.{end}", download=f"{item.name}.{end}")
            for end in figures.FILES
        ]
    return _links(item, found)


def _links(item: Item, found: Sequence[Markup]) -> Markup:
    label = f"Downloads of {shortened(item.title, 80)}"
    return tag("span", join(found), cls="links", role="group", aria_label=label)


LABELS = {"json": "JSON", "csv": "CSV", "tex": "LaTeX"}


def texts(item: Item) -> dict[str, str]:
    """Return an item by the end of a file's name: a table as JSON, CSV and LaTeX, a view as JSON."""
    held = json.dumps(item.record(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    if not isinstance(item, Table):
        return {"json": held}
    return {"json": held, "csv": plain.render_csv([item]), "tex": latex.render([item])}
