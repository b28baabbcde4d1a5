"""``gnomon verify RUN...``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gnomon.runs.verify import Check


@click.command(help="Check that runs agree with themselves; exit code 1 when one does not.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@click.option("--json", "json_", is_flag=True, help="Machine output on stdout.")
def command(runs: tuple[str, ...], json_: bool) -> int:
    """Verify runs."""
    from gnomon.api import verify
    from gnomon.cli.output import emit, tell

    results: dict[str, list[Check]] = {}
    for check in verify(*runs):
        results.setdefault(check.run, []).append(check)
    passed = all(check.passed for checks in results.values() for check in checks)
    if json_:
        rows = {
            folder: [
                {"check": c.name, "passed": c.passed, "detail": c.detail, "problems": list(c.problems)} for c in checks
            ]
            for folder, checks in results.items()
        }
        emit({"passed": passed, "runs": rows})
        return 0 if passed else 1
    for folder, checks in results.items():
        tell(folder)
        for check in checks:
            tell(f"  {'ok    ' if check.passed else 'FAILED'} {check.name}: {check.detail or 'see below'}")
            for problem in check.problems:
                tell(f"         {problem}")
    return 0 if passed else 1
