"""One planted case, and what a check makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gnomon.core.evidence import Finding

Findings = tuple[Finding, ...]


@dataclass(frozen=True)
class Planted:
    """A fault and its clean twin: ``make(True)`` checks the faulty data, ``make(False)`` the twin."""

    check: str
    finding: str
    case: str
    make: Callable[[bool], Findings]

    def outcome(self) -> Outcome:
        """Check both."""
        return Outcome(self, self.make(True), self.make(False))


@dataclass(frozen=True)
class Outcome:
    """What the check found in the planted case and in its twin."""

    planted: Planted
    leak: Findings
    clean: Findings

    @property
    def found(self) -> Finding | None:
        """The finding that was planted, or None where the check missed it."""
        return next((finding for finding in self.leak if finding.id == self.planted.finding), None)

    @property
    def holds(self) -> bool:
        """Whether the fault was found and the twin gave no finding at all."""
        return self.found is not None and not self.clean
