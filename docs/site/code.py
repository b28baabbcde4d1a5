"""Blocks of code: coloured by pygments, which comes with rich; commands apart from what they print."""

from __future__ import annotations

from collections.abc import Iterator

from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from gnomon.report.markup import Markup, join, tag

PLAIN = frozenset({"", "text", "console"})
NAMES = {"py": "python", "sh": "bash", "latex": "tex"}
MARKS = {
    "k": "k", "kc": "k", "kd": "k", "kn": "k", "kr": "k", "kt": "k", "ow": "k",
    "s": "s", "s1": "s", "s2": "s", "sd": "s", "sa": "s", "sb": "s", "sh": "s", "si": "s", "se": "s",
    "c": "c", "c1": "c", "cm": "c", "ch": "c", "cp": "c",
    "m": "m", "mi": "m", "mf": "m", "mh": "m",
    "nf": "f", "nc": "f", "nd": "f", "nt": "f",
}  # fmt: skip
"""Classes of the stylesheet by pygments' short names; everything else keeps the ink of the page."""


def block(text: str, language: str, *, label: str = "") -> Markup:
    """Return a block with a button that copies it; of a block of commands, the commands alone are copied."""
    inner = console(text) if language == "console" else coloured(text, language)
    copied = "\n".join(commands(text)) if language == "console" else None
    button = tag("button", "Copy", type="button", cls="copy", hidden=True, data_text=copied)
    kind = f"code {language}".strip()
    name = label or (f"{language} code" if language not in PLAIN else "Commands and output" if copied else "Text")
    return tag("div", button, tag("pre", tag("code", inner), tabindex="0", role="region", aria_label=name), cls=kind)


def console(text: str) -> Markup:
    """Return commands and their output, told apart by more than colour."""
    return join(_lines(text))


def commands(text: str) -> list[str]:
    r"""Return the lines of commands, without their prompt; a backslash at the end continues a command.

    >>> commands("$ ls \\\n  -l\nfile\n$ pwd\n")
    ['ls \\', '  -l', 'pwd']
    """
    return [line.removeprefix("$ ") if first else line for line, first, command in _told(text) if command]


def _told(text: str) -> Iterator[tuple[str, bool, bool]]:
    """Return each line, whether a command begins with it, and whether it is part of one."""
    continued = False
    for line in text.splitlines():
        first = line.startswith("$ ") and not continued
        yield line, first, first or continued
        continued = (first or continued) and line.endswith("\\")


def _lines(text: str) -> Iterator[object]:
    for line, first, command in _told(text):
        if first:
            yield tag("span", "$ ", cls="prompt", aria_hidden="true")
        yield tag("b", line.removeprefix("$ ") if first else line) if command else line
        yield "\n"


def coloured(text: str, language: str) -> Markup:
    """Return source in which words of the language have a class."""
    if language in PLAIN:
        return join([text])
    try:
        lexer = get_lexer_by_name(NAMES.get(language, language), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return join([text])
    return join(_words(lexer.get_tokens(text)))


def _words(tokens: Iterator[tuple[object, str]]) -> Iterator[object]:
    for kind, text in tokens:
        mark = MARKS.get(STANDARD_TYPES.get(kind, ""), "")
        yield tag("span", text, cls=mark) if mark and text.strip() else text
