"""What an audit did and what it found, as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gnomon.audit.registry import CHECKS
from gnomon.core.errors import InputError
from gnomon.core.evidence import Finding, Severity

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")
"""From the least to the worst."""


@dataclass(frozen=True)
class Audit:
    """Findings, the checks that gave them or found nothing, and the checks that were not made, with the reason.

    >>> audit = Audit().skip("near-duplicates", "the suite has no vectors")
    >>> audit.worst, audit.fails("warning"), audit.record()["not_made"]
    (None, False, {'near-duplicates': 'the suite has no vectors'})
    """

    findings: tuple[Finding, ...] = ()
    made: tuple[str, ...] = ()
    not_made: Mapping[str, str] = field(default_factory=dict)

    def check(self, name: str, *arguments: Any, **options: Any) -> Audit:
        """Make a check by id, with the arguments of its function; return the audit with its findings."""
        return self.add(name, _known(name).load()(*arguments, **options))

    def add(self, name: str, findings: Sequence[Finding]) -> Audit:
        """Return the audit with the findings of a check that was made elsewhere."""
        _known(name)
        left = {check: why for check, why in self.not_made.items() if check != name}
        return Audit((*self.findings, *findings), tuple(dict.fromkeys((*self.made, name))), left)

    def skip(self, name: str, why: str) -> Audit:
        """Return the audit with a check that was not made, and the reason; what was made stays made."""
        _known(name)
        return self if name in self.made else Audit(self.findings, self.made, {**self.not_made, name: why})

    @property
    def worst(self) -> Severity | None:
        """The worst severity, or None where nothing was found."""
        return max((finding.severity for finding in self.findings), key=SEVERITIES.index, default=None)

    def fails(self, on: Severity) -> bool:
        """Say whether a finding is as bad as ``on`` or worse."""
        if on not in SEVERITIES:
            raise InputError(f"no severity {on!r}; there are {', '.join(SEVERITIES)}")
        return self.worst is not None and SEVERITIES.index(self.worst) >= SEVERITIES.index(on)

    def record(self) -> dict[str, Any]:
        """Return the audit as plain data, worst findings first."""
        order = sorted(self.findings, key=lambda finding: -SEVERITIES.index(finding.severity))
        return {
            "worst": self.worst,
            "findings": [finding.record() for finding in order],
            "made": list(self.made),
            "not_made": dict(self.not_made),
        }


def _known(name: str) -> Any:
    if name not in CHECKS:
        raise InputError(f"no check {name!r}; there are {', '.join(CHECKS)}")
    return CHECKS[name]
