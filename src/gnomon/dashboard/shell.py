"""The frame of every page: head, navigation, keys, and what is said when something is not there."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.report.markup import Markup, join, tag

KEYS = {
    "/": "search the runs",
    "g": "go to the list of runs",
    "?": "show these keys",
    "← → ↑ ↓": "move a timeline or turn a scene",
    "+ −": "zoom in and out",
    "0 or Home": "show everything",
    "n p": "next and previous error",
    "Space": "play and pause",
}


STAGE = ("timeline.css", "space.css")
"""Styles of views of single cases."""


def page(
    title: str, *content: object, scripts: Sequence[str] = (), styles: Sequence[str] = (), wide: bool = False
) -> bytes:
    """Return a whole page; ``wide`` gives it the width of the window."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · gnomon"),
        tag("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        tag("link", rel="stylesheet", href="/assets/style.css"),
        *(tag("link", rel="stylesheet", href=f"/static/{name}") for name in ("dashboard.css", *styles)),
        *(tag("script", type="module", src=f"/static/{name}") for name in ("shell.js", *scripts)),
        tag("script", src="/assets/report.js", defer=True),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", cls="skip", href="#content"),
        _bar(),
        tag("main", *content, id="content", tabindex="-1"),
        _keys(),
        cls="dashboard wide" if wide else "dashboard",
    )
    return ("<!DOCTYPE html>\n" + tag("html", head, body, lang="en")).encode()


def _bar() -> Markup:
    return tag(
        "header",
        tag("a", tag("img", src="/static/icon.svg", alt="", width="24", height="24"), "gnomon", href="/", cls="brand"),
        tag("nav", tag("a", "Runs", href="/"), aria_label="Pages"),
        tag(
            "div",
            tag("button", "Keys", id="keys-open", type="button"),
            tag("button", "Theme: auto", id="theme", type="button"),
            cls="tools",
        ),
        cls="bar top",
    )


def _keys() -> Markup:
    rows = (tag("tr", tag("th", tag("kbd", key), scope="row"), tag("td", what)) for key, what in KEYS.items())
    return tag(
        "dialog",
        tag("h2", "Keys", id="keys-title"),
        tag("table", tag("tbody", *rows)),
        tag("button", "Close", id="keys-close", type="button"),
        id="keys",
        aria_labelledby="keys-title",
    )


def message(title: str, text: str, *more: object, kind: str = "failure") -> Markup:
    """Return a block that says what is not there or went wrong, and what can be done."""
    return tag("section", tag("h1", title), tag("p", text), *more, cls=f"message {kind}")


def crumbs(*steps: tuple[str, str]) -> Markup:
    """Return the way to a page as links: text and address of each step."""
    items = [tag("li", tag("a", text, href=address) if address else text) for text, address in steps]
    return tag("nav", tag("ol", *items), cls="crumbs", aria_label="Where this page is")


def badge(text: str, kind: str = "") -> Markup:
    """Return a word in a frame."""
    return tag("span", text, cls=f"badge {kind}".strip())


def spaced(*parts: object) -> Markup:
    """Put parts one after another with a space between."""
    return join((part for part in parts if part not in (None, "")), " ")
