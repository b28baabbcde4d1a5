"""Which pages there are and in which order: what ``docs/index.md`` says.

Its headings of the second level are those of the navigation, and the first link of every item of a list under them is a
page. A folder is a page that lists what is in it. What is not named there is not part of the site, and is a problem.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = (".md", ".ipynb")
_GROUP = re.compile(r"^## (.+)$")
_ITEM = re.compile(r"^- \[(.+?)\]\(([^)#]+)\)")


@dataclass(frozen=True)
class Source:
    """A page or a folder of pages, as the front page names it."""

    path: Path
    label: str
    group: str


def listed(root: Path) -> list[Source]:
    """Return the pages of the navigation in its order."""
    docs = root / "docs"
    found, group = [], ""
    for line in (docs / "index.md").read_text(encoding="utf-8").splitlines():
        if heading := _GROUP.match(line):
            group = heading[1]
        elif group and (item := _ITEM.match(line)):
            found.append(Source((docs / item[2]).resolve(), item[1], group))
    return found


def inside(folder: Path) -> list[Path]:
    """Return the pages of a folder."""
    return sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)


def address(root: Path, path: Path) -> str:
    """Return the address of a page: ``docs`` is the root of the site, and names are in lower case.

    >>> address(Path("/r"), Path("/r/docs/start.md"))
    'start.html'
    >>> address(Path("/r"), Path("/r/CHANGELOG.md"))
    'changelog.html'
    """
    docs = root / "docs"
    own = path.relative_to(docs if path.is_relative_to(docs) else root).as_posix().lower()
    return f"{own.rpartition('.')[0]}.html" if path.suffix in SUFFIXES else f"{own}/index.html"


def unlisted(root: Path, known: set[Path]) -> list[str]:
    """Return the pages of ``docs`` that the front page does not lead to."""
    docs = root / "docs"
    there = (path for path in docs.rglob("*.md") if path.resolve() not in known)
    return [f"docs/index.md: does not name {path.relative_to(docs).as_posix()}" for path in sorted(there)]
