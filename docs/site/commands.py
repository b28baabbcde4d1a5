"""Every verb with every option, read from the commands themselves."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import click

from docs.site.markdown import Part, Text, heading, slug
from gnomon.cli.main import gnomon
from gnomon.compat import perfboard
from gnomon.core import registry
from gnomon.core.options import Parameter, parameters
from gnomon.report.markup import Markup, join, tag

FOLDER = "reference/commands"


@dataclass(frozen=True)
class Given:
    """One option or argument as a reader needs it."""

    spellings: tuple[str, ...]
    value: str
    help: str
    default: str = ""
    choices: tuple[str, ...] = ()
    bounds: str = ""
    required: bool = False
    repeated: bool = False
    keyword: str = ""
    """The name in Python, where it is an option of a suite."""

    @property
    def anchor(self) -> str:
        """Its place in the page of its command."""
        return slug(self.spellings[0].lstrip("-")).replace("|", "").strip("-") or "argument"


@dataclass(frozen=True)
class Command:
    """One command: what follows ``gnomon``, what it does, what can be given."""

    words: tuple[str, ...]
    usage: str
    help: str
    given: tuple[Given, ...]
    children: tuple[tuple[str, ...], ...] = ()

    @property
    def address(self) -> str:
        """Its page."""
        return f"{FOLDER}/{'-'.join(self.words)}.html"

    @property
    def title(self) -> str:
        """How it is given."""
        return " ".join(self.words) if self.words[0] == "perfboard" else f"gnomon {' '.join(self.words)}"


@cache
def every() -> tuple[Command, ...]:
    """Return every command, a group before what is in it."""
    context = _top()
    found = [one for name in gnomon.list_commands(context) for one in _walk(gnomon, name, context, ())]
    return (*found, _perfboard(perfboard._parser()))


def top() -> tuple[Given, ...]:
    """Return what is given before a verb."""
    context = _top()
    return tuple(_given(item, context, {}) for item in gnomon.get_params(context))


def _top() -> click.Context:
    """Return the context that a call makes, settings included: without them options had other spellings (``-h``)."""
    return click.Context(gnomon, info_name="gnomon", **gnomon.context_settings)


def _walk(group: click.Group, name: str, above: click.Context, words: tuple[str, ...]) -> Iterator[Command]:
    command = group.get_command(above, name)
    if command is None:
        raise ValueError(f"no command {name!r} in {above.command_path!r}")
    context = click.Context(command, info_name=name, parent=above)
    own = (*words, name)
    known = _known(own)
    given = tuple(_given(item, context, known) for item in command.get_params(context))
    inside = command.list_commands(context) if isinstance(command, click.Group) else []
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield Command(own, usage, command.help or "", given, tuple((*own, child) for child in inside))
    for child in inside:
        assert isinstance(command, click.Group)  # noqa: S101 - or there would be none inside
        yield from _walk(command, child, context, own)


def _known(words: tuple[str, ...]) -> dict[str, Parameter]:
    """Return what the option struct of a suite's verb says; search and ablate take the options of run."""
    if len(words) != 2 or words[1] not in registry.suites():
        return {}
    verbs = registry.suites()[words[1]].verbs
    verb = verbs.get("run" if words[0] in ("search", "ablate") else words[0])
    return {item.name: item for item in parameters(verb.options)} if verb else {}


def _given(item: click.Parameter, context: click.Context, known: dict[str, Parameter]) -> Given:
    struct = known.get(item.name or "")
    choices = tuple(item.type.choices) if isinstance(item.type, click.Choice) else ()
    if isinstance(item, click.Argument):
        shown = item.make_metavar(context)
        return Given((shown,), "", _help(struct), choices=choices, required=item.required, keyword=_keyword(struct))
    assert isinstance(item, click.Option)  # noqa: S101 - there is nothing else
    return Given(
        spellings=(*item.opts, *item.secondary_opts),
        value="" if item.is_flag else _value(item, context, choices),
        help=_help(struct) if struct and item.help and item.help.startswith(struct.option.help) else item.help or "",
        default=_default(item, struct),
        choices=choices,
        bounds=_bounds(item, struct),
        required=item.required,
        repeated=item.multiple,
        keyword=_keyword(struct),
    )


def _help(struct: Parameter | None) -> str:
    return struct.option.help if struct else ""


def _keyword(struct: Parameter | None) -> str:
    return struct.name if struct else ""


def _value(item: click.Option, context: click.Context, choices: Sequence[str]) -> str:
    return "" if choices and not item.metavar else item.make_metavar(context)


def _default(item: click.Option, struct: Parameter | None) -> str:
    value: Any = struct.default if struct and not struct.required else item.default
    if item.is_flag or value is None or value in ((), "") or callable(value) or not isinstance(value, _SHOWN):
        return ""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


_SHOWN = (str, int, float, tuple)


def _bounds(item: click.Option, struct: Parameter | None) -> str:
    low, high = (struct.option.low, struct.option.high) if struct else (None, None)
    if struct is None and isinstance(item.type, click.IntRange | click.FloatRange):
        low, high = item.type.min, item.type.max
    if low is not None and high is not None:
        return f"{low:,} to {high:,}"
    return f"at least {low:,}" if low is not None else f"at most {high:,}" if high is not None else ""


def _perfboard(parser: ArgumentParser) -> Command:
    given = tuple(
        Given(
            tuple(item.option_strings) or (str(item.metavar),),
            "" if item.nargs == 0 or not item.option_strings else str(item.metavar),
            (item.help or "").partition("  [default")[0],
            str(item.default) if item.default not in (None, SUPPRESS, False) else "",
            required=item.required,
        )
        for item in parser._actions
        if item.help != SUPPRESS
    )
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    return Command(("perfboard",), usage, parser.description or "", given)


def page(command: Command, titles: dict[tuple[str, ...], str]) -> Text:
    """Return the page of a command."""
    parts = [Part("top", command.title, 1, [command.help])]
    found: list[object] = [heading(1, tag("code", command.title), "top", command.title), tag("p", command.help)]
    found.append(tag("pre", tag("code", command.usage), cls="usage", tabindex="0"))
    if command.children:
        found.append(_children(command, titles))
    for label, given in (("Arguments", False), ("Options", True)):
        rows = [item for item in command.given if item.spellings[0].startswith("-") is given]
        if rows:
            parts.append(Part(slug(label), label, 2, [" ".join((*row.spellings, row.help)) for row in rows]))
            found.append(heading(2, label, slug(label), label))
            found.append(table(rows))
    if any(item.keyword for item in command.given):
        call = f'gnomon.{command.words[0]}("{command.words[1]}", ...)' if command.words[0] in _CALLS else ""
        where = (
            join(["In Python, ", tag("code", call), " takes the same options"])
            if call
            else "Options have the same name in Python"
        )
        found.append(tag("p", where, "; hyphens are underscores there.", cls="notes"))
    return Text(command.title, join(found), tuple(parts))


_CALLS = ("score", "run", "search", "ablate")


def _children(command: Command, titles: dict[tuple[str, ...], str]) -> Markup:
    rows = (
        tag("li", tag("a", tag("code", " ".join(words)), href=f"{'-'.join(words)}.html"), f": {titles[words]}")
        for words in command.children
    )
    return tag("ul", join(rows))


def table(rows: Sequence[Given]) -> Markup:
    """Return options as a table, each with an anchor."""
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in ("name", "what it is", "default"))))
    body = tag("tbody", *(_row(item) for item in rows))
    return tag(
        "div", tag("table", head, body, cls="options"), cls="scroll", tabindex="0", role="region", aria_label="Options"
    )


def _row(item: Given) -> Markup:
    names = join([tag("code", " ".join(filter(None, [name, item.value]))) for name in item.spellings], ", ")
    repeated = item.repeated and "repeated" not in item.help
    more = [
        f"one of {', '.join(item.choices)}" if item.choices else "",
        item.bounds,
        "may be repeated" if repeated else "",
    ]
    said = "; ".join(filter(None, more))
    default = "required" if item.required else tag("code", item.default) if item.default else ""
    help_ = item.help[:1].upper() + item.help[1:]
    return tag(
        "tr",
        tag("th", names, scope="row", id=item.anchor),
        tag("td", help_, tag("br") if help_ and said else None, tag("span", said, cls="more") if said else None),
        tag("td", default),
    )
