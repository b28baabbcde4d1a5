"""``gnomon doctor``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gnomon.doctoring.examination import Examination
    from gnomon.doctoring.packages import Extra
    from gnomon.doctoring.surroundings import Machine, Tool, Variable

WIDTH = 80
FIRST = 15
"""Columns of the names on the left, with their margin."""


@click.command(
    help="Say what is installed, what is missing for which feature, and how to get it. Leaves with 1 where the base "
    "install is not whole."
)
@click.option("--load", is_flag=True, help="Load every measure too, instead of looking whether it is there (slower).")
@click.option("--json", "json_", is_flag=True, help="Machine output on stdout.")
def command(load: bool, json_: bool) -> int:
    """Examine the installation."""
    from gnomon.doctoring.examination import examine

    found = examine(load=load)
    if json_:
        import json

        click.echo(json.dumps(found.record(), ensure_ascii=False, indent=1))
    else:
        click.echo("\n".join(_page(found)))
    return 0 if found.whole else 1


def _page(found: Examination) -> Iterator[str]:
    yield f"gnomon {found.version or '(not installed)'}{' (editable)' if found.editable else ''}"
    yield from _item("package", found.place)
    yield from _item("Python", f"{found.python}, {found.interpreter}")
    yield from _item("system", found.system)
    yield from _machine(found.machine)
    yield ""
    yield f"base install: {'whole' if found.whole else 'not whole'}"
    yield from _item("packages", ", ".join(map(str, found.dependencies)) or "none known")
    yield from _item("suites", ", ".join(found.suites) or "none")
    for fault in found.faults:
        yield from _item("FAULT", fault)
    yield ""
    yield "extras"
    for extra in found.extras:
        yield from _extra(extra)
    yield ""
    yield "other tools"
    for tool in found.tools:
        yield from _tool(tool)
    yield from _variables(found.variables)
    if found.doubts:
        yield from ("", "to look at")
        for doubt in found.doubts:
            yield from _item("-", doubt, 4)


def _machine(machine: Machine) -> Iterator[str]:
    memory = _size(machine.memory_bytes) + (
        f" ({_size(machine.memory_free_bytes)} free)" if machine.memory_free_bytes is not None else ""
    )
    cores = f"{machine.cores} core{'' if machine.cores == 1 else 's'}"
    yield from _item("machine", f"{cores}, memory {memory}, {_size(machine.disk_free_bytes)} free on the disk here")
    yield from _item("kernels", f"kept in {machine.cache}" if machine.cache else "not kept")


def _extra(extra: Extra) -> Iterator[str]:
    yield from _item(extra.name, extra.purpose)
    if not extra.lacking:
        yield from _item("", f"installed: {', '.join(map(str, extra.packages))}")
        return
    yield from _item("", f"MISSING: {', '.join(map(str, extra.lacking))}")
    yield from _item("", extra.command)


def _tool(tool: Tool) -> Iterator[str]:
    yield from _item(tool.name, tool.purpose)
    yield from _item("", tool.found or f"MISSING: {tool.command}")


def _variables(variables: Iterable[Variable]) -> Iterator[str]:
    for at, item in enumerate(variables):
        if at == 0:
            yield from ("", "environment")
        yield f"  {item.name}={item.value}"
        yield from _item("", item.fault or item.purpose)


def _item(name: str, text: str, first: int = FIRST) -> list[str]:
    """Return a name and a text beside it, in lines of at most 80 columns, but words are never cut."""
    start, margin = f"  {name}".ljust(first), " " * first
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [start.rstrip()]


def _size(count: int | None) -> str:
    return "unknown" if count is None else f"{count / (1 << 30):.1f} GiB"
