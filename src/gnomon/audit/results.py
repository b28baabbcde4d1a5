"""What results give away: trivial answers that are as good, arms that do nothing, missing cases, impossible numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gnomon.audit.split import SPLIT, Split
from gnomon.core.canonical import digest, encode
from gnomon.core.errors import InputError, plural, some
from gnomon.core.evidence import Finding, Severity
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Direction, Measure, by_family
from gnomon.core.rows import LedgerMeasure, Rows
from gnomon.core.samples import Samples
from gnomon.core.tallies import Tallies, Totals, union

AGAIN = "score again from the predictions; what is stored was changed, or made by a faulty measure"
IDLE = "what differs between them was not applied, or never binds; do not report it as an effect of zero"
CLOSE = 1e-9
"""Relative difference at which a stored score still follows from its tallies."""


def trivial_baselines(
    systems: Mapping[str, float | None],
    baselines: Mapping[str, float | None],
    *,
    measure: str,
    direction: Direction = "up",
) -> tuple[Finding, ...]:
    """Find systems that a trivial baseline (majority, constant, last value, random) equals or beats.

    Needs scores of one measure by name, None where undefined, all over the same cases. Without a baseline that has a
    score it says so. Cannot see whether a lead over a baseline is chance; comparing the runs can.
    """
    if not direction:
        return ()  # of a signed error neither more nor less is better
    known = {name: value for name, value in baselines.items() if value is not None}
    if not known:
        text = f"no trivial baseline was scored by {measure}, beside {len(systems)} {plural('system', len(systems))}"
        remedy = "score the majority or mean answer, and for sequences the last value, over the same cases"
        return (Finding("baseline-missing", "warning", measure, text, remedy),)
    sign = 1.0 if direction == "up" else -1.0
    name, best = max(known.items(), key=lambda item: sign * item[1])
    beaten = {s: v for s, v in systems.items() if s not in known and v is not None and sign * v <= sign * best}
    if not beaten:
        return ()
    scores = [f"{system} {value:.4g}" for system, value in beaten.items()]
    text = f"{measure}: the trivial baseline {name} has {best:.4g}, not worse than {some(scores, sentences=True)}"
    remedy = "show the baseline beside them; look for a broken target, a wrong frame, or a system that learnt nothing"
    return (Finding("trivial-baseline-wins", "warning", measure, text, remedy),)


def no_op_arms(arms: Mapping[str, Mapping[str, Tallies]]) -> tuple[Finding, ...]:
    """Find arms of an ablation or a grid whose tallies are the same, case by case.

    Needs tallies by family for every arm, over the same cases in the same order. Cannot see a difference between arms
    that err as often in every case, each in its own way; stored predictions show it.
    """
    same: dict[str, list[str]] = {}
    for name, families in arms.items():
        same.setdefault(_print(families), []).append(name)
    findings = []
    for names in same.values():
        if len(names) > 1:
            families = arms[names[0]]
            cases = max((tallies.n_cases for tallies in families.values()), default=0)
            text = f"{len(names)} of {len(arms)} arms have identical tallies on all {cases} cases: {some(names)}"
            findings.append(Finding("no-op-arm", "warning", ", ".join(names), text, IDLE))
    return tuple(findings)


def _print(families: Mapping[str, Tallies]) -> str:
    """Hash tallies by content: labels without a count do not matter, nor does their order."""
    parts: list[bytes] = []
    for family in sorted(families):
        tallies = families[family]
        used = {name: _used(tallies, name) for name in tallies.axes}
        ordered = tallies.relabel(used)
        parts += [encode([family, [[f.name, f.kind, list(f.axes)] for f in tallies.layout], list(used.items())])]
        parts += [ordered.fields[field.name].tobytes() for field in ordered.layout]
    return digest(parts)


def _used(tallies: Tallies, axis: str) -> tuple[str, ...]:
    labels = tallies.axes[axis]
    counted: set[str] = set()
    for field in tallies.layout:
        for position, name in enumerate(field.axes, start=1):
            if name == axis:
                rows = np.moveaxis(tallies.fields[field.name], position, 0)
                counted |= {label for label, row in zip(labels, rows, strict=True) if row.any()}
    return union([tuple(counted)])


def coverage(
    expected: Collection[str],
    scored: Mapping[str, Collection[str]],
    reasons: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Finding, ...]:
    """Find systems that have no score for some cases, by reason, and systems that dropped different ones.

    Needs the ids of all cases, those that each system was scored on, and where known ``reasons``: system -> case ->
    why it was dropped. Cannot see cases that were left out before the list was made.
    """
    wanted = set(expected)
    findings, dropped = [], {}
    for system, ids in scored.items():
        dropped[system] = missing = sorted(wanted - set(ids))
        why = Counter((reasons or {}).get(system, {}).get(case, "no reason given") for case in missing)
        findings += [
            replace(finding, evidence=f"{finding.evidence}: {some(missing)}")
            for finding in shortfall(len(wanted), why, where=system)
        ]
        extra = sorted(set(ids) - wanted)
        if extra:
            text = (
                f"{len(extra)} scored {plural('case', len(extra))} not among the {len(wanted)} expected: {some(extra)}"
            )
            findings.append(Finding("unexpected-cases", "warning", system, text, "score the declared cases only"))
    kinds = {tuple(missing) for missing in dropped.values()}
    if len(kinds) > 1:
        common = set.intersection(*(wanted - set(missing) for missing in dropped.values()))
        counts = ", ".join(f"{system} {len(wanted) - len(missing)}" for system, missing in dropped.items())
        text = f"systems were scored on different cases of {len(wanted)} ({counts}); {len(common)} are common to all"
        remedy = "their scores are not comparable: complete the runs, or read the comparison on common cases"
        findings.append(Finding("coverage-differs", "error", "cases", text, remedy))
    return tuple(findings)


def shortfall(
    total: int, reasons: Mapping[str, int], *, unit: str = "case", where: str, severity: Severity = "warning"
) -> tuple[Finding, ...]:
    """Find what has no score where only counts are known: how many of ``total`` units, by reason."""
    missing = sum(reasons.values())
    if not missing:
        return ()
    said = ", ".join(f"{reason} {count}" for reason, count in Counter(reasons).most_common())
    text = f"{missing} of {total} {plural(unit, total)} have no score ({said})"
    remedy = f"score every {unit}, or count the missing ones as wrong; say so beside the number"
    return (Finding("partial-coverage", severity, where, text, remedy),)


def same_predictions(prints: Mapping[str, str], systems: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """Find names under which the same predictions were scored.

    Needs, by name, the fingerprint of the stored predictions, of systems that answered the same cases; leave out who
    answered nothing, and constant answers, which are alike by nature. ``systems`` says, where known, which system a
    name is a setting of: equal predictions of settings of one system are a warning, since a parameter need not bind.
    Cannot see predictions that differ in a digit.
    """
    by_print: dict[str, list[str]] = {}
    for name, content in prints.items():
        by_print.setdefault(content, []).append(name)
    findings = []
    for content, names in by_print.items():
        if len(names) > 1:
            text = f"{len(names)} of {len(prints)} names have the same predictions ({content[:12]}): {some(names)}"
            remedy = "score each system's own predictions; if these are arms, what differs between them was not applied"
            of = {(systems or {}).get(name) for name in names}
            alike = len(of) == 1 and None not in of
            severity: Severity = "warning" if alike else "error"
            findings.append(Finding("same-predictions", severity, ", ".join(names), text, IDLE if alike else remedy))
    return tuple(findings)


def identities(
    measures: Sequence[Measure],
    tallies: Mapping[str, Tallies],
    ledgers: Mapping[str, Ledger] | None = None,
    scores: Mapping[str, float | None] | None = None,
) -> tuple[Finding, ...]:
    """Find stored tallies that cannot be true, and stored scores that do not follow from them.

    Needs the measures, tallies by family, and where stored, ledgers and ``scores`` over all cases by name of the
    measure. Cannot see numbers that are consistent and wrong.
    """
    findings = []
    for family, measure in by_family(measures).items():
        if family not in tallies:
            raise InputError(f"no tallies of family {family!r}; there are {some(sorted(tallies)) or 'none'}")
        for text in measure.identities(tallies[family], ledgers or {}):
            findings.append(Finding("broken-identity", "error", family, text, AGAIN))
    for rows in (measure for measure in measures if isinstance(measure, LedgerMeasure)):
        for text in rows.identities(None, ledgers or {}):
            findings.append(Finding("broken-identity", "error", rows.ledger, text, AGAIN))
    totals: dict[str, Totals] = {}
    for measure in measures:
        if scores is not None and measure.name in scores:
            if measure.family not in totals:
                totals[measure.family] = _whole(measure, tallies, ledgers or {})
            text = _strays(measure, totals[measure.family], scores[measure.name])
            if text:
                remedy = "score again; do not copy numbers by hand"
                findings.append(Finding("score-does-not-follow", "error", measure.name, text, remedy))
    return tuple(findings)


def _whole(measure: Measure, tallies: Mapping[str, Tallies], ledgers: Mapping[str, Ledger]) -> Totals:
    """Return what a measure is scored from, over all cases."""
    if not isinstance(measure, LedgerMeasure):
        return tallies[measure.family].total()
    ledger = measure.find(ledgers)
    together = np.zeros(int(ledger.case.max(initial=-1)) + 1, dtype=np.int64)
    return Rows.of_cases(ledger, together, 1).total()


def _strays(measure: Measure, totals: Totals, stored: float | None) -> str:
    scored = measure.score(totals)
    derived = float(scored.values) if bool(scored.defined) else None
    if derived is None or stored is None:
        return "" if derived is stored else f"stored {stored}, but the tallies give {derived}"
    return "" if abs(derived - stored) <= CLOSE * max(1.0, abs(derived)) else f"stored {stored!r}, derived {derived!r}"


def selection(
    metric: str,
    reported: Collection[str],
    used: Collection[str] = (),
    samples: Samples | None = None,
    split: Split = SPLIT,
) -> tuple[Finding, ...]:
    """Find a selection (early stopping, grid, checkpoint) by a metric that is not reported, or on test samples.

    Needs the name of the metric that selected and the names of those reported; and where a spy recorded them, the ids
    of the samples that the selection looked at, with the samples. Cannot see a choice that a person made after the
    test.
    """
    findings = []
    if metric not in set(reported):
        text = (
            f"selected by {metric!r}, but the {len(set(reported))} reported metrics are {some(sorted(set(reported)))}"
        )
        remedy = "select by a reported metric, or report the one that selected"
        findings.append(Finding("selection-metric-not-reported", "warning", metric, text, remedy))
    if samples is not None:
        findings += _looked_at(set(used), samples, split)
    return tuple(findings)


def _looked_at(used: set[str], samples: Samples, split: Split) -> list[Finding]:
    seen, held = ({samples.ids[row] for row in rows.tolist()} for rows in split.sides(samples))
    if not used:
        raise InputError("selection: no sample was recorded as looked at; record the ids, or leave samples out")
    findings = []
    if used & held:
        text = f"selection looked at {len(used & held)} of {len(held)} {split.names(samples)[1]} samples"
        findings.append(Finding("selected-on-test", "error", "selection", text, "select on the validation part only"))
    strange = used - held - seen
    if strange:
        text = (
            f"selection looked at {len(strange)} samples that are on neither side of the split: {some(sorted(strange))}"
        )
        findings.append(Finding("selected-elsewhere", "warning", "selection", text, "say what they are"))
    return findings
