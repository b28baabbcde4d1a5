"""Runs of which no case was scored: every cell failed, or everything in them was dropped.

Such a run is written like any other, with all scores undefined. It is never a success: a command that ends with one
says so in one line on standard error and leaves with a non-zero exit code, and in Python an evaluation in which no
system has a scored case raises :class:`gnomon.core.errors.NothingScoredError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.core.errors import NothingScoredError, some
from gnomon.runs.run import Run

SHOWN = 3
"""Systems that a message names; the others are counted."""


def why_unscored(run: Run) -> str:
    """Return why no case of a run was scored; nothing where at least one was."""
    if run.manifest["facts"]["groups"]:
        return ""
    cells = run.coverage.get("cells", {})
    if cells and not cells["total"]:  # a baseline that none of the chosen tasks is for
        return ""
    if cells and not cells["done"]:
        first = cells["missing"][0]["why"]
        count = "its only cell" if cells["total"] == 1 else f"all {cells['total']} cells"
        return f"{count} failed; the first: {first}"
    told = [f"{found.evidence}; {found.remedy}" for found in run.findings if found.severity == "error"]
    return "; ".join(told) or f"{run.scores[0].why or 'no cases'}; does the truth have the cases of the predictions?"


def find_unscored(runs: Sequence[Run]) -> dict[str, str]:
    """Return the systems of which no case was scored, each with the reason."""
    return {run.system: why for run in runs for why in [why_unscored(run)] if why}


def describe_unscored(reasons: Mapping[str, str]) -> str:
    """Return one sentence on the systems of which no case was scored."""
    told = [f"{name!r}: {why}" for name, why in reasons.items()]
    named = some(told, show=SHOWN, sentences=True)
    return f"no case was scored of {named}; correct this and score again"


def require_scored(runs: Sequence[Run]) -> None:
    """Refuse runs of which not a single one has a scored case."""
    if not all(why_unscored(run) for run in runs):
        return
    folders = sorted({str(run.path.parent) for run in runs if run.path is not None})
    kept = f" (the runs are in {', '.join(folders)})" if folders else ""
    raise NothingScoredError(describe_unscored(find_unscored(runs)) + kept if runs else "no system was scored")
