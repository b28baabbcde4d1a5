"""Pages of public names: one for each module."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache

from docs.site import code, docstrings, names
from docs.site.markdown import Part, Text, heading
from docs.site.names import Member, Name
from docs.site.places import relative
from gnomon.report.markup import Markup, join, tag

FOLDER = "reference/api"


def address(module: str) -> str:
    """Return the page of a module."""
    return f"{FOLDER}/{module}.html"


@cache
def homes() -> dict[str, str]:
    """Return the address of every public name, module and member of a class, by its dotted name."""
    found: dict[str, str] = {}
    for module in reversed(names.modules()):
        for name in names.public(module):
            place = f"{address(module)}#{name.name}"
            found[name.dotted] = place
            found |= {f"{name.dotted}.{part.name}": f"{place}.{part.name}" for part in name.members}
    return found | {module: address(module) for module in names.modules()}


def referring(here: str, module: str, known: dict[str, str]) -> docstrings.Refer:
    """Return what finds a name as a docstring of a module writes it: whole, or as seen from the module."""

    def refer(name: str) -> str | None:
        bare = name.removesuffix("()")
        room = module.rpartition(".")[0]
        tries = (bare, f"{module}.{bare}", f"{room}.{bare}")
        found = next((known[one] for one in tries if one in known), None)
        return relative(here, found) if found else None

    return refer


def summary(module: str) -> str:
    """Return what a module is, in one line."""
    return docstrings.summary(importlib.import_module(module).__doc__ or "")


def page(module: str, known: dict[str, str]) -> Text:
    """Return the page of a module: its text, then every public name."""
    here = address(module)
    refer = referring(here, module, known)
    doc = importlib.import_module(module).__doc__ or ""
    own = names.public(module)
    parts = [Part("top", module, 1, [docstrings.plain(doc)])]
    found: list[object] = [heading(1, tag("code", module), "top", module), docstrings.render(doc, refer)]
    if own:
        found.append(_list(own, refer))
    for name in own:
        parts.append(Part(name.name, name.name, 2, [docstrings.plain(docstrings.summary(name.doc))]))
        found.append(_name(name, refer))
    return Text(module, join(found), tuple(parts))


def _list(own: Sequence[Name], refer: docstrings.Refer) -> Markup:
    rows = (
        tag(
            "tr",
            tag("th", tag("a", tag("code", name.name), href=f"#{name.name}"), scope="row"),
            tag("td", name.kind),
            tag("td", docstrings.inline(docstrings.summary(name.doc), refer)),
        )
        for name in own
    )
    head = tag("thead", tag("tr", *(tag("th", word, scope="col") for word in ("name", "kind", "what it is"))))
    return tag(
        "div", tag("table", head, tag("tbody", *rows)), cls="scroll", tabindex="0", role="region", aria_label="Names"
    )


def _name(name: Name, refer: docstrings.Refer) -> Markup:
    body: list[object] = [heading(2, tag("code", name.name), name.name, name.name)]
    shown = _broken(name.signature)
    prefix = "class " if name.kind == "class" else ""
    if name.kind == "constant":
        body.append(tag("p", "A constant.", cls="notes"))
    else:
        body.append(code.block(f"{prefix}{shown}\n", "python", label="Signature"))
    body.append(docstrings.render(name.doc, refer))
    fields = [part for part in name.members if part.kind == "field"]
    if fields:
        body.append(tag("p", "Fields", cls="part"))
        body.append(_members(name, fields, refer))
    rest = [part for part in name.members if part.kind != "field"]
    if rest:
        body.append(tag("p", "Methods and properties", cls="part"))
        body.append(_members(name, rest, refer))
    return tag("section", join(body), cls="name", aria_labelledby=name.name)


def _members(name: Name, parts: Sequence[Member], refer: docstrings.Refer) -> Markup:
    rows: list[object] = []
    for part in parts:
        rows.append(tag("dt", tag("code", part.signature), id=f"{name.name}.{part.name}"))
        rows.append(tag("dd", docstrings.render(part.doc, refer)))
    return tag("dl", join(rows), cls="terms")


def _broken(signature: str, most: int = 100) -> str:
    """Return a long signature with a line for every parameter."""
    if len(signature) <= most:
        return signature
    head, _, rest = signature.partition("(")
    inner, tail = _closed(rest)
    return f"{head}(\n" + "".join(f"    {item},\n" for item in _split(inner)) + f"){tail}"


def _closed(rest: str) -> tuple[str, str]:
    """Return what is inside the parenthesis that is open, and what follows it."""
    depth = 1
    for place, mark in enumerate(rest):
        depth += (mark in "([{") - (mark in ")]}")
        if depth == 0:
            return rest[:place], rest[place + 1 :]
    return rest, ""


def _split(inner: str) -> list[str]:
    found, depth = [""], 0
    for mark in inner:
        depth += (mark in "([{") - (mark in ")]}")
        if mark == "," and depth == 0:
            found.append("")
        else:
            found[-1] += mark
    return [item.strip() for item in found]


def index(titles: Callable[[str], str] = summary) -> Text:
    """Return the list of public modules."""
    here = f"{FOLDER}.html"
    found: list[object] = [heading(1, "Names in Python", "top", "Names in Python")]
    found.append(tag("p", docstrings.inline(_ABOUT, lambda _: None)))
    parts = [Part("top", "Names in Python", 1, [_ABOUT])]
    rooms: dict[str, list[str]] = {}
    for module in names.modules():
        rooms.setdefault(room(module), []).append(module)
    for name, inside in rooms.items():
        anchor = name.replace(" ", "-")
        found.append(heading(2, tag("code", name) if "." in name or name == "gnomon" else name, anchor, name))
        rows = (
            tag("li", tag("a", tag("code", module), href=relative(here, address(module))), f": {titles(module)}")
            for module in inside
        )
        found.append(tag("ul", *rows))
        parts.append(Part(anchor, name, 2, inside))
    return Text("Names in Python", join(found), tuple(parts))


_ABOUT = (
    "Everything that is promised to those who call gnomon from Python or write a package beside it. What is not named "
    "here may change without notice. Signatures and texts are those of the code."
)


def room(module: str) -> str:
    """Return under which heading a module is listed."""
    if module == "gnomon":
        return module
    return next((own for own in names.ROOMS if module == own or module.startswith(f"{own}.")), "for suites and tests")
