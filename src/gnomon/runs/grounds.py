"""The audit of several runs: what only shows when they stand side by side.

Runs that share a ground (suite, data, protocol and interval plan) stand in one table, so they are checked together: do
two names hold the same predictions, did a switch do nothing, is a trivial answer as good, were all scored on the same?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.audit import Audit
from gnomon.audit.record import SEVERITIES
from gnomon.audit.results import coverage, trivial_baselines
from gnomon.core.errors import GnomonError, some
from gnomon.core.evidence import Finding, Severity, Verdict
from gnomon.core.systems import parse
from gnomon.core.tallies import Tallies
from gnomon.runs import auditing, seal
from gnomon.runs.alignment import count_scored, find_differing_cases, have_same_coverage
from gnomon.runs.run import Run, load, raise_as_damage
from gnomon.runs.variants import HEADLINES

SCHEMA = "gnomon.audit/1"
ALONE = "compares runs, and there is only one on this suite, data, protocol and interval plan"


@dataclass(frozen=True)
class Audited:
    """The audit of one run, or of all runs on one ground."""

    runs: tuple[Run, ...]
    audit: Audit
    compared: tuple[Finding, ...] = ()
    """Errors of the comparison of a single run with the other runs that are audited: they veto its claims, too."""

    @property
    def name(self) -> str:
        """What it is called for a person: the run, or what the runs have in common."""
        first = self.runs[0]
        if len(self.runs) == 1:
            return str(first.manifest["id"])
        variant = str(first.manifest["protocol"]["variant"])
        said = f"{first.suite} ({variant})" if variant else first.suite
        return f"{len(self.runs)} runs of {said} on data {str(first.manifest['data_fingerprint'])[:8]}"

    def record(self) -> dict[str, Any]:
        """Return the audit as plain data."""
        first = self.runs[0]
        return {
            "name": self.name,
            "suite": first.suite,
            "systems": [str(run.manifest["system"]) for run in self.runs],
            "runs": [str(run.manifest["id"]) for run in self.runs],
            "paths": [None if run.path is None else str(run.path) for run in self.runs],
            **self.audit.record(),
            **({"claims": [verdict.record() for verdict in self.verdicts]} if len(self.runs) == 1 else {}),
        }

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The claims of a single run, judged by what was found in it and in its comparison with others."""
        if len(self.runs) > 1:
            return ()
        return auditing.judge_claims(self.runs[0], (*self.audit.findings, *self.compared))


@dataclass(frozen=True)
class Report:
    """Everything that an audit of runs and folders gave."""

    runs: tuple[Audited, ...] = ()
    across: tuple[Audited, ...] = ()
    broken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Runs that could not be audited, by path: unreadable, or not as they were sealed."""

    @property
    def all(self) -> tuple[Audited, ...]:
        """The audits of runs, then those of grounds."""
        return (*self.runs, *self.across)

    @property
    def worst(self) -> Severity | None:
        """The worst severity that was found."""
        found = [item.audit.worst for item in self.all]
        return max((worst for worst in found if worst), key=SEVERITIES.index, default=None)

    def fails(self, on: Severity | None) -> bool:
        """Say whether a run could not be audited, or a finding is as bad as ``on`` or worse."""
        return bool(self.broken) or (on is not None and any(item.audit.fails(on) for item in self.all))

    def record(self, fail_on: Severity | None = None) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "schema": SCHEMA,
            "worst": self.worst,
            "fail_on": fail_on,
            "failed": self.fails(fail_on),
            "runs": [item.record() for item in self.runs],
            "across": [item.record() for item in self.across],
            "broken": {path: list(why) for path, why in self.broken.items()},
        }

    def findings(self) -> list[tuple[Finding, tuple[Audited, ...]]]:
        """Return every finding once, worst first, with the audits that have it."""
        found: dict[Finding, list[Audited]] = {}
        for item in self.all:
            for finding in item.audit.findings:
                found.setdefault(finding, []).append(item)
        ordered = sorted(found, key=lambda finding: -SEVERITIES.index(finding.severity))
        return [(finding, tuple(found[finding])) for finding in ordered]

    def unsupported(self) -> list[tuple[Verdict, tuple[Audited, ...]]]:
        """Return every claim that is not supported, with the audits of the runs that make it."""
        found: dict[Verdict, list[Audited]] = {}
        for item in self.runs:
            for verdict in item.verdicts:
                if not verdict.supported:
                    found.setdefault(verdict, []).append(item)
        return [(verdict, tuple(items)) for verdict, items in found.items()]

    def made(self) -> list[tuple[tuple[str, ...], tuple[Audited, ...]]]:
        """Return the checks that were made, those of the same audits together."""
        found: dict[tuple[str, ...], list[Audited]] = {}
        for item in self.all:
            found.setdefault(item.audit.made, []).append(item)
        return [(checks, tuple(items)) for checks, items in found.items()]

    def not_made(self) -> list[tuple[str, tuple[str, ...], tuple[Audited, ...]]]:
        """Return why checks were not made: the reason, the checks, and the audits that it holds for.

        What compares runs is said of their ground, where there is one.
        """
        grounded = {str(run.manifest["id"]) for ground in self.across for run in ground.runs}
        found: dict[str, tuple[dict[str, None], dict[str, Audited]]] = {}
        for item in self.all:
            for check, why in item.audit.not_made.items():
                if why == auditing.MANY and item.name in grounded:
                    continue
                checks, items = found.setdefault(ALONE if why == auditing.MANY else why, ({}, {}))
                checks[check] = None
                items[item.name] = item
        rows = [(why, tuple(checks), tuple(items.values())) for why, (checks, items) in found.items()]
        return sorted(rows, key=lambda row: -len(row[1]))


def audit_folders(folders: Sequence[Path], given: Sequence[Run] = ()) -> Report:
    """Audit stored runs and runs in memory, one by one and side by side."""
    broken: dict[str, tuple[str, ...]] = {}
    runs = list(given)
    for folder in folders:
        problems = tuple(seal.problems(folder, bounded=True))
        try:
            runs += [] if problems else [load(folder)]
        except GnomonError as error:
            problems = (str(error),)
        if problems:
            broken[str(folder)] = problems
    return audit_runs(runs, broken)


def audit_runs(runs: Sequence[Run], broken: Mapping[str, tuple[str, ...]] | None = None) -> Report:
    """Audit runs, one by one and side by side; a run that is given twice counts once."""
    distinct = list({str(run.manifest["id"]): run for run in runs}.values())
    faults, alone = dict(broken or {}), []
    for run in distinct:
        try:
            with raise_as_damage([run.path] if run.path else []):
                audited = Audited((run,), auditing.again(run))
                audited.record()  # judges its claims, which a damaged protocol may not allow
                alone.append(audited)
        except GnomonError as error:
            faults[str(run.path or run.manifest["id"])] = (str(error),)
    grounds: dict[tuple[str, ...], list[Run]] = {}
    for item in alone:
        grounds.setdefault(item.runs[0].ground, []).append(item.runs[0])
    with raise_as_damage([run.path for run in distinct if run.path]):
        across = {ground: Audited(tuple(own), side_by_side(own)) for ground, own in grounds.items() if len(own) > 1}
    errors = {ground: tuple(f for f in item.audit.findings if f.severity == "error") for ground, item in across.items()}
    alone = [replace(item, compared=errors.get(item.runs[0].ground, ())) for item in alone]
    return Report(tuple(alone), tuple(across.values()), faults)


def side_by_side(runs: Sequence[Run]) -> Audit:
    """Make the checks that compare runs of one ground."""
    named = _named(runs)
    audit = _comparable(named)
    cases = {frozenset(run.roster.ids) for run in runs}
    if len(cases) > 1:
        why = "the runs were not scored on the same cases"
        return audit.skip("no-op-arms", why).skip("trivial-baselines", why)
    audit = audit.check("no-op-arms", {name: _ordered(run) for name, run in named.items()})
    return _against_trivial(audit, named)


def _comparable(named: Mapping[str, Run]) -> Audit:
    """Look for what forbids a comparison: the same predictions under several names, and different cases."""
    own = {name: run for name, run in named.items() if not auditing.trivial(run) and _answered(run)}
    prints = {name: str(run.manifest["prediction_fingerprint"]) for name, run in own.items()}
    settings = {name: system for name, run in own.items() if (system := _setting_of(run))}
    return Audit().check("same-predictions", prints, settings).add("coverage", _differing(named))


def with_audits(runs: Sequence[Run]) -> list[Run]:
    """Return runs with what ``gnomon audit`` finds now, and the verdicts on claims that follow.

    Runs that were read back are audited again. Errors about the comparison of runs on one ground are added to each, and
    veto its claims as long as the runs are shown together.
    """
    current = [run if run.table is not None else auditing.with_audit(run) for run in runs]
    errors = _comparison_errors(current)
    found = []
    for run in current:
        if own := errors.get(run.ground):
            findings = tuple(dict.fromkeys((*run.findings, *own)))
            run = replace(run, findings=findings, verdicts=auditing.judge_claims(run, findings))
        found.append(run)
    return found


def without_comparison(runs: Sequence[Run]) -> list[Run]:
    """Return runs as each is by itself, without the errors that :func:`with_audits` added by comparing them."""
    errors = _comparison_errors(runs)
    found = []
    for run in runs:
        findings = tuple(finding for finding in run.findings if finding not in errors.get(run.ground, ()))
        changed = len(findings) < len(run.findings)
        found.append(replace(run, findings=findings, verdicts=auditing.judge_claims(run, findings)) if changed else run)
    return found


def _comparison_errors(runs: Sequence[Run]) -> dict[tuple[str, ...], tuple[Finding, ...]]:
    """Return the errors about the comparison of runs, by the ground that the runs share."""
    grounds: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        grounds.setdefault(run.ground, []).append(run)
    return {
        ground: tuple(f for f in _comparable(_named(own)).findings if f.severity == "error")
        for ground, own in grounds.items()
        if len(own) > 1
    }


def _answered(run: Run) -> bool:
    """Say whether a run holds a prediction; one whose work all failed has none, like any other that failed."""
    cells: Any = run.coverage.get("cells")
    if cells:
        return bool(cells["done"])
    return run.table is None or bool(run.table.num_rows)


def _setting_of(run: Run) -> str:
    """Return the system that a run is a setting of, where it was run here and has a record of its parameters."""
    resolved: Any = run.manifest["options"].get("resolved", {})
    return parse(str(run.manifest["system"])).name if "parameters" in resolved else ""


def _named(runs: Sequence[Run]) -> dict[str, Run]:
    """Return runs by system, or by id where two have one name."""
    counts = Counter(run.manifest["system"] for run in runs)
    return {str(run.manifest["system" if counts[run.manifest["system"]] == 1 else "id"]): run for run in runs}


def _ordered(run: Run) -> dict[str, Tallies]:
    order = np.array(sorted(range(len(run.roster)), key=run.roster.ids.__getitem__), dtype=np.int64)
    return {family: tallies.take(order) for family, tallies in run.tallies.items()}


def _differing(named: Mapping[str, Run]) -> tuple[Finding, ...]:
    """Find runs that were scored on different cases, or on different rows or samples of the same."""
    everything = {case for run in named.values() for case in run.roster.ids}
    found = coverage(everything, {name: run.roster.ids for name, run in named.items()})
    differs = tuple(finding for finding in found if finding.id == "coverage-differs")
    runs = list(named.values())
    if differs or have_same_coverage(runs):
        return differs
    counts = ", ".join(f"{name} {count_scored(run)}" for name, run in named.items())
    text = f"systems were scored on different parts of the same cases: {counts}"
    if cases := find_differing_cases(runs):
        text += f"; they differ in {some(cases, show=3)}"
    remedy = "their scores are not comparable: complete the runs, or read the comparison on common cases"
    return (Finding("coverage-differs", "error", "cases", text, remedy),)


def _against_trivial(audit: Audit, named: Mapping[str, Run]) -> Audit:
    """Compare systems with trivial baselines, by every headline of the protocol."""
    first = next(iter(named.values()))
    plain = {name for name, run in named.items() if auditing.trivial(run)}
    if len(plain) == len(named):
        return audit.skip("trivial-baselines", "every run is a trivial baseline")
    declared = int(first.manifest["protocol"]["settings"].get(HEADLINES, 1))
    most = len(first.chosen) if first.chosen and declared > 1 else declared
    findings: list[Finding] = []
    for headline in first.measures[: most if plain else 1]:
        scores = {name: found.value for name, run in named.items() if (found := run.find(headline.name)) is not None}
        others = {name: value for name, value in scores.items() if name not in plain}
        known = {name: value for name, value in scores.items() if name in plain}
        if most > 1 and not any(value is not None for value in others.values()):
            continue  # a task that no system answered
        findings += trivial_baselines(others, known, measure=headline.name, direction=headline.direction)
    return audit.add("trivial-baselines", findings)
