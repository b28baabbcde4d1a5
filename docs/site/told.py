"""What a measure is, in a sentence of its own: the text of its class, then what its parameters say.

The text is the first paragraph of the docstring of the class. A section ``Parameters`` there, or in the docstring of a
class that it inherits from, says what values mean, each as ```value``: words``; a tuple is looked up as ``listed``, and
its items follow. Numbers, and texts that are not the default, are named behind the sentence where nothing explains
them.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

from docs.site import docstrings
from gnomon.core.measure import Measure

LISTED = "listed"
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S.*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
_TERM = re.compile(r"^(\w+)\n((?:[ \t]+.*\n?)+)", re.MULTILINE)
_VALUE = re.compile(r"``([^`]+)``: (.+?)(?=; ``|\.?$)")


def sentence(measure: Measure) -> str:
    """Return the sentence of a measure.

    >>> from gnomon.measures.recognition import WindowShare
    >>> sentence(WindowShare("timing"))
    'Share of the time of the windows: wrong only since an event begins or ends too early or too late.'
    """
    meanings = explained(type(measure))
    said, bare = [], []
    for field in dataclasses.fields(measure):
        value = getattr(measure, field.name)
        words = meanings.get((field.name, LISTED if isinstance(value, tuple) else str(value)))
        if words:
            said.append(f"{words} ({', '.join(map(str, value))})" if isinstance(value, tuple) else words)
        elif _worth(field, value):
            bare.append(f"{field.name.replace('_', ' ')} {_shown(value)}")
    text = re.sub(r"[.;] see :.*$|\.$", "", docstrings.summary(type(measure).__doc__ or ""))
    joined = "; ".join(said)
    opened = f"{text}{'; ' if ': ' in text or '; ' in text else ': '}{joined}" if said else text
    return f"{opened} ({', '.join(bare)})." if bare else f"{opened}."


def explained(kind: type) -> dict[tuple[str, str], str]:
    """Return what values of parameters mean, by name and value, as the docstrings of a class and its bases say."""
    found: dict[tuple[str, str], str] = {}
    for base in reversed(kind.__mro__):
        found |= {(name, value): words for name, value, words in _meanings(vars(base).get("__doc__") or "")}
    return found


def _meanings(doc: str) -> Iterator[tuple[str, str, str]]:
    section = _SECTION.search(inspect.cleandoc(doc))
    for name, text in _TERM.findall(section[1] if section else ""):
        for value, words in _VALUE.findall(" ".join(text.split())):
            yield name, value, words


def _worth(field: dataclasses.Field[Any], value: Any) -> bool:
    """Say whether a value belongs to the sentence: a number, or a text that is not the usual one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return not isinstance(value, str) or value != field.default


def _shown(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
