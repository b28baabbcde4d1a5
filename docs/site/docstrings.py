"""A docstring in the numpy convention as markup.

Known are: sections with a line of hyphens under their name, terms with an indented text, lists, examples with their
prompt, literal blocks behind ``::``, ``code``, *emphasis* and references (:func:`name`). Whatever else is text.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence

from docs.site import code
from gnomon.report.markup import Markup, join, tag, text

Refer = Callable[[str], str | None]
"""From a dotted name to the address of its place in the reference, if it has one."""
_INLINE = re.compile(
    r"``(?P<code>.+?)``|:\w+:`(?P<ref>[^`]+)`|(?<![\w*])\*(?P<em>[^*\s][^*\n]*)\*(?![\w*])|`(?P<one>[^`]+)`"
)
_ITEM = re.compile(r"(?:[-*]|\d+\.) +")


def render(doc: str, refer: Refer) -> Markup:
    """Return the markup of a docstring whose indentation is taken off already."""
    return join(_blocks(doc.strip("\n").split("\n"), refer))


def inline(line: str, refer: Refer) -> Markup:
    """Return a line of text with its code, emphasis and references."""
    found: list[object] = []
    place = 0
    for match in _INLINE.finditer(line):
        found.append(line[place : match.start()])
        found.append(_span(match, refer))
        place = match.end()
    return join([*found, line[place:]])


def summary(doc: str) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join(doc.strip().split("\n\n", 1)[0].split())


def plain(doc: str) -> str:
    """Return the words of a docstring without its marks.

    >>> plain("Where ``a`` is; see :func:`~gnomon.core.seeds.generator`.")
    'Where a is; see generator.'
    """
    unruled = re.sub(r"^ *[-=]{3,}[-= ]*$", "", doc, flags=re.MULTILINE)
    line = " ".join(unruled.split())
    return _INLINE.sub(lambda match: match["em"] or match["code"] or match["one"] or _named(match["ref"]), line)


def _named(reference: str) -> str:
    """Return what is shown of a reference."""
    name = reference.lstrip("~!")
    return name.rpartition(".")[2] if reference.startswith("~") else name


def _span(match: re.Match[str], refer: Refer) -> Markup:
    if match["em"]:
        return tag("em", match["em"])
    if not match["ref"]:
        return tag("code", match["code"] or match["one"])
    shown = _named(match["ref"])
    address = refer(match["ref"].lstrip("~!"))
    return tag("a", tag("code", shown), href=address) if address else tag("code", shown)


def _blocks(lines: Sequence[str], refer: Refer) -> Iterator[Markup]:
    place = 0
    while place < len(lines):
        line = lines[place]
        if not line.strip():
            place += 1
        elif place + 1 < len(lines) and re.fullmatch(r"-{3,}|={3,}", lines[place + 1].strip()):
            yield tag("p", text(line.strip()), cls="part")
            place += 2
        elif line.startswith(">>>"):
            end = _until(lines, place, lambda own: not own.strip())
            yield code.block("\n".join(lines[place:end]) + "\n", "pycon", label="Example")
            place = end
        else:
            made, place = _block(lines, place, refer)
            yield made


def _block(lines: Sequence[str], place: int, refer: Refer) -> tuple[Markup, int]:
    line = lines[place]
    if line.startswith(" "):
        end = _indented(lines, place)
        return tag("blockquote", join(_blocks(_dedented(lines[place:end]), refer))), end
    if _ITEM.match(line):
        return _list(lines, place, refer)
    if place + 1 < len(lines) and lines[place + 1].startswith(" ") and lines[place + 1].strip():
        return _terms(lines, place, refer)
    end = _until(lines, place, lambda own: not own.strip() or own.startswith(">>>"))
    said = " ".join(own.strip() for own in lines[place:end])
    if not said.endswith("::"):
        return tag("p", inline(said, refer)), end
    start = _until(lines, end, lambda own: bool(own.strip()))
    stop = _indented(lines, start)
    literal = "\n".join(_dedented(lines[start:stop])).strip("\n") + "\n"
    shown = tag("p", inline(said[:-1], refer)) if said != "::" else Markup()
    return shown + code.block(literal, ""), stop


def _list(lines: Sequence[str], place: int, refer: Refer) -> tuple[Markup, int]:
    numbered = lines[place][0].isdigit()
    items = []
    while place < len(lines) and (mark := _ITEM.match(lines[place])):
        end = place + 1
        while end < len(lines) and (lines[end].startswith(" ") or (not lines[end].strip() and _goes_on(lines, end))):
            end += 1
        own = [lines[place][mark.end() :], *_dedented(lines[place + 1 : end])]
        items.append(tag("li", _tight(join(_blocks(own, refer)))))
        place = end
        if place + 1 < len(lines) and not lines[place].strip() and _ITEM.match(lines[place + 1]):
            place += 1
    return tag("ol" if numbered else "ul", join(items)), place


def _goes_on(lines: Sequence[str], place: int) -> bool:
    following = _until(lines, place, lambda own: bool(own.strip()))
    return following < len(lines) and lines[following].startswith(" ")


def _tight(inner: Markup) -> Markup:
    """Leave out the paragraph of an item that is nothing else."""
    if inner.count("<p>") == 1 and inner.startswith("<p>") and inner.endswith("</p>"):
        return Markup(inner[3:-4])
    return inner


def _terms(lines: Sequence[str], place: int, refer: Refer) -> tuple[Markup, int]:
    rows = []
    while place + 1 < len(lines) and lines[place].strip() and not lines[place].startswith(" "):
        if _ITEM.match(lines[place]) or not (lines[place + 1].startswith(" ") and lines[place + 1].strip()):
            break
        end = _indented(lines, place + 1)
        rows.append(tag("dt", inline(lines[place].strip(), refer)))
        rows.append(tag("dd", _tight(join(_blocks(_dedented(lines[place + 1 : end]), refer)))))
        place = end
        while place < len(lines) and not lines[place].strip():
            place += 1
    return tag("dl", join(rows), cls="terms"), place


def _until(lines: Sequence[str], place: int, stop: Callable[[str], bool]) -> int:
    while place < len(lines) and not stop(lines[place]):
        place += 1
    return place


def _indented(lines: Sequence[str], place: int) -> int:
    """Return where the indented lines from here on end; empty lines between them belong to them."""
    end = _until(lines, place, lambda own: bool(own.strip()) and not own.startswith(" "))
    while end > place and not lines[end - 1].strip():
        end -= 1
    return end


def _dedented(lines: Sequence[str]) -> list[str]:
    return textwrap.dedent("\n".join(lines)).split("\n")
