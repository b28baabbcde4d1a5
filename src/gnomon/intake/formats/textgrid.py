"""Praat TextGrid: tiers of intervals with text, in the long and the short form.

Conventions
-----------
- Praat reads free-standing numbers, texts in quotes and flags such as ``<exists>`` in a fixed order, and leaves out
  everything between them, so that the long form and the short form are one. A quote in a text is doubled; ``!`` begins
  a comment.
- UTF-8, or UTF-16 with a byte order mark.
- Interval tiers are read. An interval without text is no event. Tiers of points are none.
- The extent is ``xmin`` to ``xmax`` of the whole file: that of the sound.
"""

from __future__ import annotations

import bisect
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from gnomon.core.errors import InputError
from gnomon.intake.documents import read_bytes
from gnomon.intake.faults import guarded, shown
from gnomon.intake.formats.tiers import choose_tier
from gnomon.intake.limits import Limits

_TOKEN = re.compile(r'"(?P<text>[^"]*+(?:""[^"]*+)*+)"|!(?P<comment>[^\n]*+)|(?P<word>[^\s"!]++)')
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_TIERS = ("IntervalTier", "TextTier")
_FORM = 'expected a TextGrid as Praat writes it: save it there again ("Save as text file...")'


@dataclass
class _Tier:
    name: str
    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def is_textgrid(head: str) -> bool:
    """Say whether a text begins as a TextGrid does, or as another file of Praat."""
    return "ooTextFile" in head[:200]


def read_textgrid(
    path: str | os.PathLike[str], tier: str, limits: Limits
) -> tuple[pa.Table, list[int], tuple[float, float]]:
    """Return start, end and label of the intervals of a tier, the line of each, and the extent of the file."""
    with guarded(path, "cannot be read as a TextGrid", "save it as UTF-8 or UTF-16"):
        extent, tiers = _Parser(path, decode_text(read_bytes(path, limits))).parse()
    chosen = tiers[choose_tier(path, [one.name for one in tiers], tier, "interval tier")]
    columns = {
        "start": pa.array(chosen.starts, pa.float64()),
        "end": pa.array(chosen.ends, pa.float64()),
        "label": pa.array(chosen.texts, pa.string()),
    }
    return pa.table(columns), chosen.lines, extent


def decode_text(data: bytes) -> str:
    """Return the text of bytes that are UTF-8, or UTF-16 with a byte order mark."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    return data.decode("utf-8-sig")


class _Parser:
    """The tokens of one file in their order."""

    def __init__(self, path: str | os.PathLike[str], text: str) -> None:
        self._path, self._text = path, text
        self._breaks = [found.start() for found in re.finditer("\n", text)]
        self._tokens = self._list_tokens()
        self._at = 0

    def parse(self) -> tuple[tuple[float, float], list[_Tier]]:
        """Return the extent, and all interval tiers."""
        kind, what = self._take_text("file type"), self._take_text("object class")
        if not kind.startswith("ooTextFile") or what != "TextGrid":
            raise self._fault(f"a file of Praat that holds {shown(what, 40)!r}, expected 'TextGrid'; save the TextGrid")
        low, high = self._take_number("xmin"), self._take_number("xmax")
        if not low < high:
            raise self._fault(f"xmax is {high:g}, expected more than xmin, {low:g}; correct it")
        if next(self._tokens, None) != "<exists>":
            raise self._fault(f"no tiers; {_FORM}")
        tiers = []
        for _ in range(self._take_count("number of tiers")):
            kind = self._take_text("class of a tier")
            if kind not in _TIERS:
                raise self._fault(f"a tier of class {shown(kind, 40)!r}, expected {' or '.join(_TIERS)}; {_FORM}")
            found = self._take_tier(kind)
            tiers += [found] if kind == "IntervalTier" else []
        return (low, high), tiers

    def _take_tier(self, kind: str) -> _Tier:
        found = _Tier(self._take_text("name of a tier"))
        self._take_number("xmin"), self._take_number("xmax")
        for number in range(self._take_count("number of intervals")):
            start = self._take_number(f"xmin of interval {number + 1}")
            line = self._line()
            end = start if kind == "TextTier" else self._take_number(f"xmax of interval {number + 1}")
            label = self._take_text(f"text of interval {number + 1}").strip()
            if end < start:
                raise self._fault(f"an interval ends before it starts: {start:g} to {end:g}; correct it")
            if label:
                found.starts.append(start)
                found.ends.append(end)
                found.texts.append(label)
                found.lines.append(line)
        return found

    def _list_tokens(self) -> Iterator[str | float]:
        """Give texts behind a quote, flags, and numbers; leave out everything else."""
        place = 0
        while found := _TOKEN.search(self._text, place):
            place = found.end()
            self._at = found.start()
            text, word = found["text"], found["word"]
            if text is not None:
                yield '"' + text.replace('""', '"')
            elif word in ("<exists>", "<absent>"):
                yield word
            elif word is not None and _NUMBER.fullmatch(word):
                yield float(word)
        if '"' in self._text[place:]:
            raise self._fault("a quote is opened and never closed; close it")

    def _take_text(self, what: str) -> str:
        found = next(self._tokens, None)
        if not isinstance(found, str) or found[:1] != '"':
            raise self._fault(f"{what}: expected a text in quotes, but got {_describe(found)}; {_FORM}")
        return found[1:]

    def _take_number(self, what: str) -> float:
        found = next(self._tokens, None)
        if not isinstance(found, float) or not math.isfinite(found):
            raise self._fault(f"{what}: expected a number, but got {_describe(found)}; {_FORM}")
        return found

    def _take_count(self, what: str) -> int:
        found = self._take_number(what)
        if found < 0 or found != int(found):
            raise self._fault(f"{what}: expected a whole number, but got {found:g}; {_FORM}")
        return int(found)

    def _line(self) -> int:
        return bisect.bisect_left(self._breaks, self._at) + 1

    def _fault(self, what: str) -> InputError:
        return InputError(f"{shown(self._path)}: line {self._line()}: {what}")


def _describe(token: str | float | None) -> str:
    if token is None:
        return "the end of the file"
    return f"{token:g}" if isinstance(token, float) else repr(shown(token.removeprefix('"'), 40))
