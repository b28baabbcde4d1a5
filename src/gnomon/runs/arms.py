"""Arms: runs of one system in different settings over the same cases, and what can be said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gnomon.audit.results import no_op_arms
from gnomon.core.errors import counted
from gnomon.core.evidence import Finding
from gnomon.core.measure import Measure
from gnomon.core.systems import Value, written
from gnomon.core.table import Cell
from gnomon.inference.paired import Paired, compare
from gnomon.runs.run import Run
from gnomon.runs.tables import cell


@dataclass(frozen=True)
class Arm:
    """One setting of a system and its run."""

    name: str
    """What tables and findings call it."""
    run: Run
    setting: Mapping[str, Value] = field(default_factory=dict)
    default: bool = False
    """Whether it is the system as it was given."""
    same_gaps: bool = False
    """Whether all arms lack the same cases, so that their scores can be compared."""

    @property
    def failure(self) -> str:
        """Why the arm has no score that can be compared with those of other arms; nothing when it has."""
        return "" if self.same_gaps else failure(self.run)

    def value(self, measure: Measure) -> float | None:
        """Return the score by a measure; None where it failed or is undefined."""
        score = self.run.find(measure.name)
        return None if score is None or self.failure else score.value

    def cell(self, measure: Measure) -> Cell:
        """Return the score by a measure with its interval; of an arm that failed, only that."""
        failed = Cell(None, why="failed", mark="partial")
        return failed if self.failure else cell(self.run.find(measure.name), measure)

    def __str__(self) -> str:
        return f"{self.name} ({settings(self.setting)})" if self.setting else self.name


def with_same_gaps(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Say of arms that all lack the same cases that they do: one bad recording leaves the others to be compared."""
    rosters = {arm.run.roster.ids for arm in arms}
    same = len(rosters) == 1 and bool(arms[0].run.roster.ids) and not any(arm.run.complete for arm in arms)
    return tuple(replace(arm, same_gaps=same) for arm in arms)


def settings(setting: Mapping[str, Value]) -> str:
    """Return a setting as text.

    >>> settings({"eps": 0.02, "merging": False})
    'eps=0.02 merging=false'
    """
    return " ".join(f"{key}={written(value)}" for key, value in setting.items())


def failure(run: Run) -> str:
    """Say why a run is not complete; nothing when it is."""
    if run.complete:
        return ""
    cells: Any = run.coverage.get("cells")
    if not cells or not cells["missing"]:
        return "partial"
    return f"failed in {len(cells['missing'])} of {counted(cells['total'], 'cell')}: {cells['missing'][0]['why']}"


def paired(measure: Measure, a: Arm, b: Arm) -> Paired:
    """Compare two arms over the same cases; where one failed, the difference is undefined with the reason."""
    for arm in (a, b):
        if arm.failure:
            return Paired(None, None, None, None, 0, False, None, f"{arm.name} {arm.failure}")
    return compare(measure, a.run.groups(measure), b.run.groups(measure))


def no_ops(arms: Sequence[Arm]) -> tuple[Finding, ...]:
    """Find arms whose tallies are the same in every case; those that failed are no arms here."""
    return no_op_arms({arm.name: arm.run.tallies for arm in arms if not arm.failure})


def failures(arms: Sequence[Arm]) -> tuple[str, ...]:
    """Return the reasons why arms failed, each with those that it holds for."""
    found: dict[str, list[str]] = {}
    for arm in arms:
        if why := failure(arm.run):
            found.setdefault(why, []).append(arm.name)
    lines = tuple(f"{', '.join(names)} {why}" for why, names in found.items())
    if lines and arms[0].same_gaps:
        return (
            *lines,
            f"all are compared on the {counted(len(arms[0].run.roster), 'case')} that every one of them scored",
        )
    return lines


def said(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return findings as notes under a table."""
    return tuple(f"{finding.severity}: {finding.evidence}; {finding.remedy}" for finding in findings)
