"""Pages of what is registered: measures and checks."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from docs.site import api, docstrings, names, told
from docs.site.markdown import Part, Text, heading
from docs.site.places import relative
from gnomon.audit.registry import CHECKS
from gnomon.core import registry
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure
from gnomon.core.rows import LedgerMeasure, Rows, Weighted
from gnomon.report.markup import Markup, join, tag
from gnomon.testing import drawer

MEASURES, CHECKED = "reference/measures.html", "reference/checks.html"
DIRECTION = {"up": "higher", "down": "lower"}


def undefined(measure: Measure) -> str:
    """Return the reason that a measure gives where there is nothing to score.

    It is asked of a total of no case, whose layout is that of a drawn case.
    """
    if isinstance(measure, LedgerMeasure):
        return measure.why(_nothing(measure))
    truth, prediction = drawer(measure.signal).draw(np.random.default_rng(0))
    return measure.why(measure.tally(truth, prediction).take(slice(0)).total())


def _nothing(measure: LedgerMeasure) -> Weighted:
    none = np.zeros(0, dtype=np.int64)
    labels = {name: () for name in measure.columns if name == "class"}
    return Rows(Ledger(none, dict.fromkeys(measure.columns, none), labels), none, 0).total()


def unit(measure: Measure) -> str:
    """Return in which unit a score is stored, and in which tables show it where that is another."""
    if measure.shown is None:
        return measure.unit
    return f"{measure.unit} (shown in {measure.shown.unit})"


def span(measure: Measure) -> str:
    """Return the range of a score."""
    low, high = (f"{bound:g}".replace("inf", "∞").replace("-", "−") for bound in measure.bounds)
    return f"{low} to {high}"


def about(module: str) -> str:
    """Return what a module of measures says of undefined scores: its section, or else the sentences that name them."""
    doc = importlib.import_module(module).__doc__ or ""
    section = re.search(r"^Undefined cases\n-+\n(.*?)(?=^\S.*\n-{3,}$|\Z)", doc, re.MULTILINE | re.DOTALL)
    if section:
        return section[1].strip()
    said = [item for item in re.split(r"(?<=\.)\s+", " ".join(doc.split())) if "ndefined" in item]
    return " ".join(item.removeprefix("Undefined cases: ") for item in said if len(item) < _LONG)


_LONG = 400


def inherited(own: Sequence[Measure]) -> str:
    """Name the modules whose measures these are, where their own says nothing."""
    bases = {base.__module__ for item in own for base in type(item).__mro__ if base.__module__.startswith(_ROOM)}
    return f"as in {', '.join(f':mod:`{name}`' for name in sorted(bases))}."


_ROOM = "gnomon.measures."


def measures() -> Text:
    """Return the page of every registered measure, by the module that defines it."""
    title = "Measures"
    found: list[object] = [heading(1, title, "top", title), tag("p", _MEASURES), tag("p", _COLUMNS)]
    parts = [Part("top", title, 1, [_MEASURES])]
    known = api.homes()
    ordered = sorted(registry.measures(), key=lambda measure: type(measure).__module__)
    for module, items in groupby(ordered, key=lambda measure: type(measure).__module__):
        own = list(items)
        parts.append(Part(module, module.removeprefix("gnomon."), 2, [f"{item.name} {item.title}" for item in own]))
        found.append(heading(2, tag("code", module), module, module))
        refer = api.referring(MEASURES, module, known)
        found.append(tag("p", docstrings.inline(api.summary(module), refer), " ", _more(module)))
        said = about(module) or inherited(own)
        found.append(tag("p", tag("b", "Undefined: "), docstrings.inline(" ".join(said.split()), refer)))
        found.append(_measured(own))
    return Text(title, join(found), tuple(parts))


_MEASURES = (
    "Every measure that is registered, with the parameters of its examples; other parameters give other measures. "
    "A measure is a value: its identity, under its name, is how it is written in Python and how a run records it."
)
_COLUMNS = (
    "Where there is nothing to score, a measure is undefined and gives the reason in the last column; "
    "further reasons stand above each table. Measures of one family share one stored tally."
)
_HEADINGS = ("name", "what it is", "family", "unit", "range", "better", "with nothing to score")


def _more(module: str) -> Markup:
    if module not in names.modules():
        return Markup()
    return tag("a", "Formulas and conventions", href=relative(MEASURES, api.address(module)))


def _measured(own: Sequence[Measure]) -> Markup:
    rows = (
        tag(
            "tr",
            tag("th", tag("code", item.name), tag("small", tag("code", repr(item)), cls="identity"), scope="row"),
            tag("td", docstrings.inline(told.sentence(item), lambda _: None), cls="sentence"),
            tag("td", item.family, cls="family"),
            tag("td", unit(item)),
            tag("td", span(item)),
            tag("td", DIRECTION[item.direction]),
            tag("td", undefined(item)),
        )
        for item in own
    )
    return _table(_HEADINGS, rows, "Measures")


def checks() -> Text:
    """Return the page of every check, with what it can find and what its docstring says."""
    title = "Checks of the audit"
    found: list[object] = [heading(1, title, "top", title), tag("p", _CHECKS)]
    parts = [Part("top", title, 1, [_CHECKS])]
    known = api.homes()
    rows = (
        tag(
            "tr",
            tag("th", tag("a", tag("code", check.id), href=f"#{check.id}"), scope="row"),
            tag("td", check.summary),
            tag("td", check.kind),
        )
        for check in CHECKS.values()
    )
    found.append(_table(("check", "what it looks for", "kind"), rows, "Checks"))
    for check in CHECKS.values():
        module, _, function = check.reference.partition(":")
        dotted = f"gnomon.audit.{module}.{function}"
        refer = api.referring(CHECKED, f"gnomon.audit.{module}", known)
        finds = join([tag("code", item) for item in check.finds], ", ")
        doc = check.load().__doc__ or ""
        found.append(heading(2, tag("code", check.id), check.id, check.id))
        found.append(tag("p", f"{check.summary[:1].upper()}{check.summary[1:]}. It can find ", finds, "."))
        found.append(tag("p", tag("a", tag("code", dotted), href=relative(CHECKED, known[dotted])), cls="notes"))
        found.append(docstrings.render(inspect.cleandoc(doc), refer))
        parts.append(Part(check.id, check.id, 2, [check.summary, *check.finds]))
    return Text(title, join(found), tuple(parts))


_CHECKS = (
    "Passive checks read samples, tallies and declared facts; active ones are given a callable and call it. No finding "
    "means that a check saw nothing wrong, not that nothing is."
)


def _table(headings: Sequence[str], rows: Iterable[Markup], label: str) -> Markup:
    head = tag("thead", tag("tr", *(tag("th", word, scope="col") for word in headings)))
    body = tag("table", head, tag("tbody", *rows), cls="sortable")
    return tag("div", body, cls="scroll", tabindex="0", role="region", aria_label=label)
