"""The index of the search: a script, since a page from a file may load one, but may not read other files."""

from __future__ import annotations

import json
from collections.abc import Iterable

from docs.site.frame import Page

MOST = 1500
"""Letters of a part that are searched; what a part is about stands at its beginning."""


def index(pages: Iterable[Page]) -> bytes:
    """Return the words of every part of every page: address, title of the page, title of the part, words."""
    rows = []
    for page in pages:
        for part in page.text.parts:
            anchor = "" if part.level == 1 else f"#{part.anchor}"
            title = "" if part.level == 1 else part.title
            rows.append([page.address + anchor, page.text.title, title, _cut(part.said)])
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f"window.gnomonIndex = [\n{lines}\n];\n".encode()


def _cut(words: str) -> str:
    return words if len(words) <= MOST else words[:MOST].rpartition(" ")[0]
