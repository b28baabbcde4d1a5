"""Where links lead: from files of the repository to addresses of the site.

An address of the site is a path with slashes, such as ``reference/commands/score.html``. A link between pages is
written for the repository (``statistics.md#intervals``); here it becomes one between addresses. A link to a file
outside ``docs`` leads to a page that shows that file, since a site that works offline has no repository to point to.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

COPIED = frozenset({".png", ".svg", ".jpg", ".gif", ".json", ".csv", ".pdf"})
"""Files of ``docs`` that are put beside the pages as they are."""


def relative(here: str, there: str) -> str:
    """Return the address of one page as seen from another.

    >>> relative("reference/api/gnomon.html", "figures/a.png")
    '../../figures/a.png'
    >>> relative("index.html", "start.html#first")
    'start.html#first'
    """
    path, mark, anchor = there.partition("#")
    return f"{posixpath.relpath(path, posixpath.dirname(here) or '.')}{mark}{anchor}"


@dataclass
class Places:
    """Which file of the repository is which address; what pages ask for beyond that is noted."""

    root: Path
    pages: dict[Path, str]
    """Pages by their source, an absolute path."""
    labels: dict[Path, str] = field(default_factory=dict)
    """What the navigation calls a page."""
    copied: dict[str, Path] = field(default_factory=dict)
    """Files to be put into the site, by address."""
    shown: dict[str, Path] = field(default_factory=dict)
    """Files and folders of the repository that get a page, by its address."""
    problems: list[str] = field(default_factory=list)

    def resolve(self, source: Path, here: str, link: str) -> str:
        """Return the address that a link in a source leads to, as seen from its page."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path:
            return link
        target = (source.parent / unquote(parts.path)).resolve()
        anchor = f"#{parts.fragment}" if parts.fragment else ""
        if target in self.pages:
            return relative(here, self.pages[target] + anchor)
        if not target.exists() or not target.is_relative_to(self.root):
            self.problems.append(f"{self._said(source)}: the link {link!r} leads nowhere")
            return link
        return relative(here, self._file(target) + anchor)

    def called(self, source: Path, link: str) -> str | None:
        """Return what the page is called that a link in a source leads to."""
        return self.labels.get((source.parent / unquote(urlsplit(link).path)).resolve())

    def _file(self, target: Path) -> str:
        docs = self.root / "docs"
        if target.suffix in COPIED and target.is_relative_to(docs):
            address = target.relative_to(docs).as_posix()
            self.copied[address] = target
            return address
        address = f"source/{target.relative_to(self.root).as_posix()}.html"
        self.shown[address] = target
        return address

    def _said(self, source: Path) -> str:
        return source.relative_to(self.root).as_posix()
