"""Findings and claims: what was noticed about a result, and what the result may be said to mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """Something that a reader of the numbers should know: what, how bad, where, the evidence, what to do."""

    id: str
    severity: Severity
    where: str
    evidence: str
    remedy: str

    def record(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.severity}: {self.id} ({self.where}): {self.evidence}. {self.remedy}"


@dataclass(frozen=True)
class Need:
    """One piece of evidence that a claim needs: a named fact and the least value that will do."""

    fact: str
    at_least: float
    text: str
    if_known: bool = False
    """Whether an absent fact will do: the need is held against runs that know better."""

    def met(self, facts: Mapping[str, Any]) -> bool:
        """Say whether the facts of a run meet the need; an absent fact does not, unless it need not be known."""
        found = facts.get(self.fact)
        if found is None and self.if_known:
            return True
        return isinstance(found, (int, float)) and found >= self.at_least


NO_ERRORS = "an audit without errors"
"""What every claim needs."""
NOT_TRAINED_ON = Need("leak_free", 1, "test data and groups that were not trained on", if_known=True)
"""What every claim about new people, rooms or recordings needs where the run itself trained its system."""


@dataclass(frozen=True)
class Claim:
    """An interpretation of a score, and the evidence without which it is unsupported."""

    id: str
    statement: str
    needs: tuple[Need, ...] = ()

    def judge(self, facts: Mapping[str, Any], findings: Iterable[Finding] = ()) -> Verdict:
        """Compare the claim with the facts of a run, and with the findings of its audit: an error vetoes it.

        >>> claim = Claim("new people", "holds for people not in the data", (Need("groups", 6, "at least 6 groups"),))
        >>> claim.judge({"groups": 1}).missing
        ('at least 6 groups (found 1)',)
        >>> claim.judge({"groups": 8}, [Finding("exact-duplicates", "error", "", "", "")]).missing
        ('an audit without errors (found exact-duplicates)',)
        """
        missing = [
            f"{need.text} (found {facts.get(need.fact, 'nothing')})" for need in self.needs if not need.met(facts)
        ]
        errors = list(dict.fromkeys(finding.id for finding in findings if finding.severity == "error"))
        missing += [f"{NO_ERRORS} (found {', '.join(errors)})"] if errors else []
        return Verdict(self.id, self.statement, not missing, tuple(missing))

    def record(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        return {"id": self.id, "statement": self.statement, "needs": [asdict(need) for need in self.needs]}


@dataclass(frozen=True)
class Verdict:
    """What became of a claim in one run."""

    id: str
    statement: str
    supported: bool
    missing: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {**asdict(self), "missing": list(self.missing)}
