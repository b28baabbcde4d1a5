"""The audit of one run: every check that can be made with what the run itself holds, and why the others were not.

What needs only counts, tallies and scores is made for every run. What compares a training part with a test part is
made where the suite hands over :class:`~gnomon.core.samples.Samples`, once for every fold. A suite that knows more
hands over an :class:`~gnomon.audit.record.Audit` of its own; a check that it made is not made again here.

Shared groups are an error where the run supports a claim that rests on groups (new people, new rooms): then the number
is not what it says. Elsewhere, and for other tags that name people, they are a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from gnomon.audit import CHECKS, Audit
from gnomon.audit.duplicates import exact_duplicates
from gnomon.audit.inputs import BLOCK, input_blocks
from gnomon.audit.people import shared_tags
from gnomon.audit.ranges import read_ranges
from gnomon.audit.results import identities, selection, shortfall
from gnomon.audit.split import FOLD, in_every_fold
from gnomon.audit.targets import unseen_classes
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.evidence import Claim, Finding, Severity, Verdict
from gnomon.core.samples import Samples
from gnomon.core.signals import Labels
from gnomon.inference.scoring import WHOLE
from gnomon.runs import samples as stored

if TYPE_CHECKING:
    from gnomon.core.measure import Measure
    from gnomon.core.tallies import Tallies
    from gnomon.runs.run import Run

TRIVIAL = "trivial"
"""The fact under which a suite says that a system is a trivial baseline."""
SELECTION = "selection"
"""The fact under which a suite records the ``metric`` that a system was selected by; a search records its own."""
TARGET = "target"
"""The tag that holds the true class of every sample, training samples included."""
LEAK_FREE = "leak_free"
"""The fact that says whether training and test are apart."""
PERSONAL = ("subject", "session")
"""Tags that are compared where samples carry them, besides the level that is resampled."""
NO_TRAINING = "no training part: nothing was trained, or the predictions were made elsewhere"
CALLED = "asks the system itself: call the check from Python, with the system as a callable"
MANY = "compares several runs: gnomon audit FOLDER"
ABSENT = {
    "near-duplicates": "no vectors of the inputs are kept with a run",
    "same-people": "no descriptions of people are kept with a run",
    "input-blocks": "no sample names its input blocks",
    "fit-provenance": "what transforms were fitted on is not recorded",
    "degenerate-targets": "the targets are not single labels",
    "unseen-classes": "the samples do not name their true class",
    "units-and-frames": "the suite names no units or frames",
    "scales": "the suite gives no magnitudes",
    "selection": "no selection is recorded",
    "cut-points": "the suite names no tasks that are cut from the same recordings",
    "clamped-targets": "no horizon of the targets is declared",
    "invalid-values": "the suite counts no invalid entries",
    "overlapping-units": "the suite names no unit to compare",
    "tied-ranks": "nothing was ranked",
    "trivial-baselines": MANY,
    "no-op-arms": MANY,
    "same-predictions": MANY,
}
"""Why a check is not made for a run that holds nothing for it."""
SPLITS = ("read-ranges", "exact-duplicates", "shared-tags")
SAMPLED = (*SPLITS, "input-blocks", "unseen-classes")
"""Checks that read samples."""
GONE = f"the samples that it reads are gone ({stored.NAME}): what was found when the run was made cannot be found again"
Found = tuple[Finding, ...]


def audited(run: Run, given: Audit | None = None) -> Audit:
    """Make every check that the run itself allows, after those that its suite made."""
    audit = given or Audit()
    for name, check in _CHECKS.items():
        if name in audit.made:
            continue
        try:
            found = check(run)
        except InputError as error:
            audit = audit if name in audit.not_made else audit.skip(name, str(error))
            continue
        audit = audit if found is None else audit.add(name, found)
    for name in CHECKS:
        if name not in audit.made and name not in audit.not_made:
            audit = audit.skip(name, _reason(name))
    return audit


def again(run: Run) -> Audit:
    """Audit a run anew: what was found when it was made, and what its stored samples, tallies and scores show now."""
    fresh = audited(replace(run, samples=samples_of(run)), Audit(made=run.suite_made))
    lost = _lost(run)
    findings = tuple(dict.fromkeys((*run.findings, *fresh.findings, *_gone(lost))))
    made = [name for name in CHECKS if name in {*run.made, *fresh.made} and name not in lost]
    known = {**fresh.not_made, **run.not_made, **dict.fromkeys(lost, GONE)}
    return Audit(findings, tuple(made), {name: why for name, why in known.items() if name not in made})


def _lost(run: Run) -> tuple[str, ...]:
    """Return the checks that were made with samples which the run stored, and has no more."""
    held = run.manifest["facts"].get("samples")
    kept = isinstance(held, Mapping) and held.get("stored") is True
    return tuple(name for name in SAMPLED if name in run.made) if kept and samples_of(run) is None else ()


def _gone(lost: Sequence[str]) -> Found:
    """Find samples that are gone; the seal does not tell where it was made anew."""
    if not lost:
        return ()
    text = f"the run says that its samples are stored, but {stored.NAME} is gone: not made again are {', '.join(lost)}"
    return (Finding("samples-missing", "error", stored.NAME, text, "put the file back, or make the run again"),)


def leak_free(audit: Audit, level: str) -> dict[str, int]:
    """Return the fact whether training and test are apart, where training was looked at; nothing where it was not."""
    if not set(SPLITS) & set(audit.made):
        return {}
    kinds = {finding for name in SPLITS for finding in CHECKS[name].finds}
    leaks = [f for f in audit.findings if f.id in kinds and (f.severity == "error" or f.where == level)]
    return {LEAK_FREE: int(not [f for f in leaks if f.severity != "info"])}


def samples_of(run: Run) -> Samples | None:
    """Return the samples of a run, from memory or from its folder."""
    return run.samples if run.samples is not None or run.path is None else stored.read(run.path)


def trivial(run: Run) -> str:
    """Say why a run's system is a trivial baseline: it says so, or its answers are constant in all that is asked."""
    if run.manifest["facts"].get(TRIVIAL) is True:
        return "declared"
    asked = [(measure, tallies) for measure, tallies in _by_class(run) if tallies.fields["truth"].any()]
    said = [_constant(measure, tallies) for measure, tallies in asked]
    return said[0] if said and all(said) else ""


def _constant(measure: Measure, tallies: Tallies) -> str:
    """Say which one answer was given throughout, or that none was; nothing where answers differ."""
    predicted = tallies.fields["predicted"].sum(axis=0)
    used = [label for label, n in zip(tallies.axes["class"], predicted.tolist(), strict=True) if n]
    if not used:
        return "never answers"
    return f"always answers {used[0]!r}" if len(used) == 1 and measure.signal is Labels else ""


def _reason(name: str) -> str:
    if name in SPLITS:
        return NO_TRAINING
    return CALLED if CHECKS[name].kind == "active" else ABSENT[name]


def _coverage(run: Run) -> Found:
    """Count what has no score: cells, else cases, else rows; and samples that the protocol drops, by reason."""
    held: Mapping[str, Any] = run.coverage
    found: Found = ()
    for unit, reasons, total in _gaps(held):
        if reasons and not found:
            found = shortfall(total, reasons, unit=unit, where=run.system)
    samples = held.get("samples")
    if samples and samples.get("dropped"):
        found += shortfall(samples["total"], samples["dropped"], unit="sample", where=run.system, severity="info")
    return found


def _gaps(held: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, int], int]]:
    """Return, for every unit that a coverage counts, how many of how many have no score, by reason."""
    if cells := held.get("cells"):
        missing = cells["missing"]
        listed = isinstance(missing, Sequence)
        reasons = Counter(_short(item["why"]) for item in missing) if listed else {"not done": int(missing)}
        yield "cell", {why: n for why, n in reasons.items() if n}, cells["total"]
    for unit, why in (("case", "no result"), ("row", "no prediction")):
        if counts := held.get(f"{unit}s"):
            lost = counts["truth"] - counts["scored"]
            yield unit, {why: lost} if lost > 0 else {}, counts["truth"]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:79]}…"


def _identities(run: Run) -> Found:
    whole = {score.name: score.value for score in run.scores if score.slice == WHOLE}
    return identities(run.computable, run.tallies, run.ledgers, whole)


def _targets(run: Run) -> Found | None:
    """Look for one true class, where every unit has exactly one label."""
    seen = [(m, t) for m, t in _by_class(run) if m.signal is Labels]
    if not seen:
        return None
    _, tallies = seen[0]
    counts = dict(zip(tallies.axes["class"], tallies.fields["truth"].sum(axis=0).tolist(), strict=True))
    used = {label: n for label, n in counts.items() if n}
    if len(used) != 1:
        return ()
    ((label, n),) = used.items()
    remedy = "a constant answer is perfect here; add data of other classes, or drop the task"
    return (Finding("one-class-target", "warning", "targets", f"all {n} test targets are {label!r}", remedy),)


def _by_class(run: Run) -> list[tuple[Measure, Tallies]]:
    """Return the families whose tallies hold true and predicted counts by class."""
    found: dict[str, tuple[Measure, Tallies]] = {}
    for measure in run.computable:
        tallies = run.tallies.get(measure.family)
        axes = {} if tallies is None else {field.name: field.axes for field in tallies.layout}
        if tallies is not None and axes.get("truth") == axes.get("predicted") == ("class",):
            found.setdefault(measure.family, (measure, tallies))
    return list(found.values())


def _selection(run: Run) -> Found | None:
    held: Any = run.manifest["facts"].get(SELECTION) or run.manifest["options"].get("search")
    if not isinstance(held, Mapping) or not held.get("metric"):
        return None
    return selection(str(held["metric"]), [measure.name for measure in run.measures])


def _blocks(run: Run) -> Found | None:
    samples = samples_of(run)
    tagged = samples is not None and any(name.startswith(BLOCK) for name in samples.tags)
    return input_blocks(samples) if samples is not None and tagged else None


_known: WeakKeyDictionary[Samples, dict[Any, Found]] = WeakKeyDictionary()
"""What was found in samples that several systems share."""


def _once(samples: Samples, key: Any, check: Callable[[Samples], Found]) -> Found:
    held = _known.setdefault(samples, {})
    if key not in held:
        held[key] = in_every_fold(check, samples)
    return held[key]


def _ranges(run: Run) -> Found | None:
    samples = samples_of(run)
    if samples is None:
        return None
    if not (samples.reads()[:, 1] > samples.reads()[:, 0]).any():
        raise InputError("no sample names a range that it reads")
    return _once(samples, "read-ranges", read_ranges)


def _duplicates(run: Run) -> Found | None:
    samples = samples_of(run)
    if samples is None:
        return None
    if not any(samples.digests):
        raise InputError("no sample has a digest of its input")
    return _once(samples, "exact-duplicates", exact_duplicates)


def _shared(run: Run) -> Found | None:
    samples = samples_of(run)
    if samples is None:
        return None
    level = run.roster.level
    found: Found = ()
    compared = [tag for tag in dict.fromkeys((level, *PERSONAL)) if tag in samples.tags and tag != FOLD]
    if not compared:
        raise InputError(f"no sample names its {level}")
    for tag in compared:
        severity: Severity = "error" if tag == level and _claims_groups(run) else "warning"
        found += _once(samples, (tag, severity), _tagged([tag], severity))
    return found


def _unseen(run: Run) -> Found | None:
    samples = samples_of(run)
    if samples is None or TARGET not in samples.tags:
        return None
    return _once(samples, "unseen-classes", lambda part: unseen_classes(part.column(TARGET), part))


def _tagged(tags: Sequence[str], severity: Severity) -> Callable[[Samples], Found]:
    return lambda samples: shared_tags(samples, tags, severity=severity)


def _claims_groups(run: Run) -> bool:
    """Say whether the run would support a claim that rests on the number of groups, but for what the audit finds."""
    facts = {name: value for name, value in run.manifest["facts"].items() if name != LEAK_FREE}
    resting = [claim for claim in _claims(run) if any(need.fact == "groups" for need in claim.needs)]
    return any(claim.judge(facts).supported for claim in resting)


def _claims(run: Run) -> tuple[Claim, ...]:
    return msgspec.convert(run.manifest["protocol"]["claims"], tuple[Claim, ...])


def judge_claims(run: Run, findings: Iterable[Finding]) -> tuple[Verdict, ...]:
    """Judge the claims of a run by its facts and by the findings of an audit."""
    found = tuple(findings)
    return tuple(claim.judge(run.manifest["facts"], found) for claim in _claims(run))


def with_audit(run: Run) -> Run:
    """Return a run with the findings and verdicts that auditing it now gives, as ``gnomon audit`` shows them.

    A run whose audit cannot be made keeps what was found before; that is an error of its own.
    """
    try:
        audit = again(run)
    except GnomonError as error:
        text = f"the run could not be audited again: {error}"
        lost = Finding("audit-failed", "error", run.system, text, "run 'gnomon verify' on it, or make the run again")
        findings: Found = (*run.findings, lost)
        return replace(run, findings=findings, verdicts=judge_claims(run, findings))
    findings = audit.findings
    return replace(
        run, findings=findings, verdicts=judge_claims(run, findings), made=audit.made, not_made=audit.not_made
    )


_CHECKS: dict[str, Callable[[Run], Found | None]] = {
    "read-ranges": _ranges,
    "exact-duplicates": _duplicates,
    "shared-tags": _shared,
    "input-blocks": _blocks,
    "degenerate-targets": _targets,
    "unseen-classes": _unseen,
    "coverage": _coverage,
    "identities": _identities,
    "selection": _selection,
}
"""By id: None where the run holds nothing for the check."""
