"""``gnomon data list | check DIR | describe NAME``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gnomon.cli.groups import Group

if TYPE_CHECKING:
    from gnomon.core.suite import Listing

JSON = click.option("--json", "json_", is_flag=True, help="Machine output on stdout.")
SUITE = click.option("--suite", default="", metavar="NAME", help="Datasets of one suite; default: of all suites.")


@click.group(cls=Group, help="Datasets: list those that suites know, check a folder for them, describe one.")
def command() -> None:
    """Look at datasets."""


@command.command("list", help="List the datasets that suites know; describe NAME says where to obtain one.")
@SUITE
@JSON
def list_(suite: str, json_: bool) -> int:
    """List datasets."""
    return _show(_ask(suite, "list", ""), json_)


@command.command(
    help="Read the datasets in a folder or archive: what is there, what is missing, what looks wrong, and where to "
    "obtain those that are not there. Leaves with 1 where one of them cannot be read or is doubtful."
)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option(
    "--variant", type=click.Choice(["published", "strict"]), help="Read as this variant does; default: strict."
)
@SUITE
@JSON
def check(folder: str, variant: str | None, suite: str, json_: bool) -> int:
    """Check a folder; exit code 1 when a dataset in it cannot be read or is doubtful."""
    from gnomon.intake.remote import local

    return _show(_ask(suite, "check", str(local(folder)), variant=variant), json_)


@command.command(
    help="Describe one dataset: files, channels, units, labels, licence, citation, where to obtain it. NAME is one of "
    "gnomon data list, an own dataset below --data-root, or the TOML file of one."
)
@click.argument("name", metavar="NAME")
@click.option("--data-root", metavar="DIR", type=click.Path(), help="Where to look for own datasets.")
@SUITE
@JSON
def describe(name: str, data_root: str | None, suite: str, json_: bool) -> int:
    """Describe a dataset."""
    return _show(_ask(suite, "describe", name, data_root=data_root), json_)


def _ask(suite: str, verb: str, argument: str, **options: str | None) -> list[Listing]:
    """Ask suites; options that were not given are left to them."""
    from gnomon.core import registry
    from gnomon.core.errors import InputError, some
    from gnomon.core.suite import load

    asked = [registry.suite(suite)] if suite else list(registry.suites().values())
    able = [one for one in asked if one.data]
    if not able:
        raise InputError(f"no datasets: {some(one.name for one in asked)} know of none; install a suite that does")
    given = {name: value for name, value in options.items() if value is not None}
    answers: list[Listing | None] = [load(one.data)(verb, argument, **given) for one in able]
    found = [answer for answer in answers if answer is not None]
    if not found:
        raise InputError(
            f"no dataset {argument!r}: see gnomon data list for the names, or give the --data-root of an own one"
        )
    return found


def _show(listings: list[Listing], json_: bool) -> int:
    tables = [table for listing in listings for table in listing.tables]
    if json_:
        from gnomon.report import render

        click.echo(render(tables, "json"), nl=False)
    else:
        from gnomon.report.terminal import display

        display(tables)
    return 1 if any(listing.faults for listing in listings) else 0
