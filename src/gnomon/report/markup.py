"""Elements of HTML and SVG, built so that nothing from outside can become one.

``tag("td", text, cls="number")`` returns a :class:`Markup`. Whatever is put into an element is escaped, unless it is a
:class:`Markup` itself, which only this module and those that write markup by hand make. Names of attributes are
arguments: ``cls`` is ``class``, an underscore at the end is dropped (``for_``), one inside is a hyphen
(``aria_label``). ``None`` and ``False`` leave an attribute out, ``True`` gives it no value.

What a strict content-security policy forbids is refused here already, so that it is noticed when it is written:
handlers of events (``onclick``), ``style`` attributes, and addresses of schemes other than those in :data:`SCHEMES`.

Characters that would change how the text around them reads are shown by their number: controls, and marks that
override the direction of writing.

>>> tag("td", "a < b", cls="name", data_value=0.5)
Markup('<td class="name" data-value="0.5">a &lt; b</td>')
>>> tag("p", "see ", tag("b", "here"), hidden=True)
Markup('<p hidden>see <b>here</b></p>')
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import Any

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
"""Elements without content."""
SCHEMES = ("", "data", "http", "https", "mailto")
"""Schemes of addresses that a page may name; the first is that of addresses within it or beside it."""
_ADDRESSES = frozenset({"href", "src", "action", "formaction", "xlink:href"})
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9:.-]*\Z")
_SCHEME = re.compile(r"[\s\x00-\x1f]*([A-Za-z][A-Za-z0-9+.\s\x00-\x1f-]*):")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class Markup(str):
    """Text that is markup already and is put into a page as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Markup({str(self)!r})"

    def __add__(self, other: str) -> Markup:
        return Markup(str(self) + str(text(other)))


def clean(value: object) -> str:
    r"""Return a value as text in which unseen characters are shown by their number.

    >>> clean("a\u202eb")
    'a⟨U+202E⟩b'
    """
    found = str(value)
    return found if found.isprintable() else _UNSEEN.sub(lambda mark: f"⟨U+{ord(mark[0]):04X}⟩", found)


def printable(value: object) -> str:
    r"""Return a value as text for a terminal, in which nothing moves the cursor or changes what was printed before.

    >>> printable("a\x1b[2Jb\rc")
    'a⟨U+001B⟩[2Jb⟨U+000D⟩c'
    """
    return clean(value).replace("\r", "⟨U+000D⟩")


def shortened(value: object, most: int) -> str:
    """Return a value as text of at most so many characters; what is longer ends in an ellipsis.

    >>> shortened("abcdef", 4)
    'abc…'
    """
    found = clean(value)
    return found if len(found) <= most else found[: most - 1] + "…"


def text(value: object) -> Markup:
    """Return a value as the content of an element: markup as it is, everything else escaped."""
    return value if isinstance(value, Markup) else Markup(escape(clean(value), quote=False))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Put markup and text one after another."""
    return Markup(text(between).join(text(part) for part in parts))


def tag(element: str, /, *content: object, **attributes: Any) -> Markup:
    """Return an element; see the module's text. ``None`` in the content is left out.

    Raises
    ------
    ValueError
        A name that cannot be one, or something that a strict policy forbids.
    """
    if not _NAME.match(element):
        raise ValueError(f"no name of an element: {element!r:.60}")
    given = (_attribute(name, value) for name, value in attributes.items())
    opened = f"<{element}{''.join(given)}>"
    if element in VOID:
        if content:
            raise ValueError(f"an element {element!r} has no content")
        return Markup(opened)
    return Markup(f"{opened}{join(part for part in content if part is not None)}</{element}>")


@lru_cache(maxsize=1024)
def _named(name: str) -> str:
    """Return the name of an attribute as it is written, or refuse it."""
    own = "class" if name == "cls" else name.rstrip("_").replace("_", "-")
    if not _NAME.match(own) or own.lower().startswith("on") or own.lower() == "style":
        raise ValueError(f"no attribute {own!r:.60} in markup: handlers and styles belong into files of their own")
    return own


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    own = _named(name)
    if value is True:
        return f" {own}"
    said = clean(value)
    if own.lower() in _ADDRESSES:
        _check_address(said)
    return f' {own}="{escape(said, quote=True)}"'


def _check_address(address: str) -> None:
    found = _SCHEME.match(address)
    scheme = "" if found is None else re.sub(r"[\s\x00-\x1f]", "", found[1]).lower()
    if scheme not in SCHEMES:
        raise ValueError(f"an address of the scheme {scheme!r:.40} is not put into a page: {address!r:.80}")
