"""A run in memory: made from an evaluation, or read from its directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from gnomon.audit.record import Audit
from gnomon.core import registry
from gnomon.core.canonical import fingerprint
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError, IntegrityError, some
from gnomon.core.evidence import Finding, Verdict
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, Shown
from gnomon.core.protocol import Protocol
from gnomon.core.samples import Samples
from gnomon.core.tallies import Tallies
from gnomon.inference.intervals import Groups, Plan, filled
from gnomon.inference.scoring import Score, derive, grouped, stored
from gnomon.intake.documents import read_json
from gnomon.intake.limits import DEFAULT, Limits
from gnomon.runs import auditing, packing, provenance
from gnomon.runs import samples as stored_samples
from gnomon.runs.content import table_digest

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "gnomon.run/1"
KNOWN = (SCHEMA,)
INPUTS = "input_fingerprint"
"""The fact that holds the hash of what systems were given, where the run gave it to them; data is the truth alone."""


@dataclass(frozen=True)
class Evaluation:
    """What a suite hands over once every case is tallied; everything else is derived from it."""

    protocol: Protocol
    suite: str
    system: str
    roster: Roster
    tallies: Mapping[str, Tallies]
    data: str
    """Fingerprint of the cases and their truth."""
    table: pa.Table
    """What was scored; it is stored, and its content has a fingerprint."""
    ledgers: Mapping[str, Ledger] = field(default_factory=dict)
    coverage: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    inputs: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    samples: Samples | None = None
    """What the system was trained and tested on, for the checks of a split; none where nothing was trained."""
    audit: Audit | None = None
    """Checks that the suite made itself; all others that a run allows are made from what is above."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Further files of the run directory by name, such as tables that users of a protocol expect."""


@dataclass(frozen=True)
class Run:
    """A scored evaluation with its record; ``path`` is set when it lives in a directory."""

    manifest: Mapping[str, Any]
    coverage: Mapping[str, Any]
    roster: Roster
    tallies: Mapping[str, Tallies]
    ledgers: Mapping[str, Ledger]
    measures: tuple[Measure, ...]
    scores: tuple[Score, ...]
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    table: pa.Table | None = None
    path: Path | None = None
    alias: str = ""
    """What tables call the system where another run of the same name stands beside it."""
    made: tuple[str, ...] = ()
    """Ids of the checks that gave the findings, or found nothing."""
    not_made: Mapping[str, str] = field(default_factory=dict)
    """Why other checks were not made, by id."""
    suite_made: tuple[str, ...] = ()
    """The checks among them that the suite made itself."""
    samples: Samples | None = None
    """Only in memory; :func:`gnomon.runs.auditing.samples_of` reads those of a stored run."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Further files, until they are written."""

    @property
    def suite(self) -> str:
        """Name of the suite."""
        return str(self.manifest["suite"])

    @property
    def system(self) -> str:
        """Name of the system under test."""
        return self.alias or str(self.manifest["system"])

    @property
    def ground(self) -> tuple[str, ...]:
        """What runs must share to stand in one table: suite, data, protocol and interval plan."""
        keys = ("suite", "data_fingerprint", "protocol_fingerprint")
        return (*(str(self.manifest[key]) for key in keys), fingerprint(self.manifest["plan"]))

    @property
    def plan(self) -> Plan:
        """How intervals were made."""
        return msgspec.convert(self.manifest["plan"], Plan)

    @property
    def complete(self) -> bool:
        """Whether everything that was to be scored was scored."""
        return bool(self.coverage["complete"])

    def record(self) -> dict[str, Any]:
        """Return the run as plain data, as ``--json`` prints it."""
        return {
            "id": self.manifest["id"],
            "suite": self.suite,
            "system": self.system,
            "path": None if self.path is None else str(self.path),
            "complete": self.complete,
            "coverage": dict(self.coverage),
            "facts": dict(self.manifest["facts"]),
            "scores": [score.record() for score in self.scores],
            "findings": [finding.record() for finding in self.findings],
            "claims": [verdict.record() for verdict in self.verdicts],
        }

    def find(self, name: str, slice_name: str = "all") -> Score | None:
        """Return the score of a measure's name on a slice."""
        return next((s for s in self.scores if s.name == name and s.slice == slice_name), None)

    def groups(self, measure: Measure, where: Mapping[str, str] | None = None) -> Groups:
        """Return the tallies of a measure's family with one row per group, or the rows of its ledger by group."""
        return grouped(stored(measure, self.tallies, self.ledgers), self.roster, self.plan, where)


def make(evaluation: Evaluation, plan: Plan, clock: provenance.Clock, options: Mapping[str, Any] | None = None) -> Run:
    """Score an evaluation and put its record together; ``options`` holds what was asked for."""
    protocol = evaluation.protocol
    kept, roster = evaluation.tallies, evaluation.roster
    scores = derive(protocol.measures, kept, roster, protocol.slices, plan, evaluation.ledgers)
    facts = {**evaluation.facts, **counted(roster, kept, evaluation.ledgers)}
    if evaluation.samples is not None:
        facts["samples"] = stored_samples.counts(evaluation.samples)
    manifest = {
        "schema": SCHEMA,
        "suite": evaluation.suite,
        "system": evaluation.system,
        "protocol": protocol.record(),
        "protocol_fingerprint": protocol.fingerprint,
        "data_fingerprint": evaluation.data,
        "prediction_fingerprint": table_digest(evaluation.table),
        "plan": {"method": plan.method, "level": plan.level, "resamples": plan.resamples, "seed": plan.seed},
        "policy": dict(evaluation.coverage.get("policy", {})),
        "options": {**(options or {}), "resolved": dict(evaluation.options)},
        "inputs": [dict(item) for item in evaluation.inputs],
        "facts": facts,
        "summary": summary(scores[0], evaluation.coverage, protocol.measures[0]),
        "provenance": provenance.collect(),
        "time": clock.read(),
    }
    run = Run(
        manifest={**manifest, "id": run_id(manifest)},
        coverage={"complete": True, **evaluation.coverage},
        roster=evaluation.roster,
        tallies=evaluation.tallies,
        ledgers=evaluation.ledgers,
        measures=protocol.measures,
        scores=tuple(scores),
        findings=evaluation.findings,
        verdicts=(),
        table=evaluation.table,
        samples=evaluation.samples,
        files=evaluation.files,
        suite_made=() if evaluation.audit is None else evaluation.audit.made,
    )
    audit = auditing.audited(run, evaluation.audit)
    findings = tuple(dict.fromkeys((*run.findings, *audit.findings)))
    facts |= auditing.leak_free(audit, run.roster.level)
    return replace(
        run,
        manifest={**run.manifest, "facts": facts},
        findings=findings,
        verdicts=tuple(claim.judge(facts, findings) for claim in protocol.claims),
        made=audit.made,
        not_made=dict(audit.not_made),
    )


def summary(headline: Score, coverage: Mapping[str, Any], measure: Measure) -> dict[str, Any]:
    """Return what a list of runs shows of one, so that listing thousands opens one small file each.

    Values are as they were scored; ``shown`` says in which unit a list shows them.
    """
    cells = coverage.get("cells")
    shown = Shown(1.0, measure.unit, 3) if measure.shown is None else measure.shown
    return {
        "headline": headline.name,
        "value": headline.value,
        "low": headline.low,
        "high": headline.high,
        "shown": {"factor": shown.factor, "unit": shown.unit, "digits": shown.digits},
        "n": headline.n,
        "groups": headline.groups,
        "complete": bool(coverage.get("complete", True)),
        "cells": None if cells is None else {"done": cells["done"], "total": cells["total"]},
    }


def counted(roster: Roster, tallies: Mapping[str, Tallies], ledgers: Mapping[str, Ledger]) -> dict[str, int]:
    """Return the facts that the cases themselves tell; groups that left nothing do not count.

    What they left is seen from the tallies; where there are only ledgers, from their rows.
    """
    kept = np.zeros(len(roster), dtype=np.bool_)
    for part in tallies.values():
        kept |= filled(part) if part.n_cases == len(roster) else np.True_
    for ledger in () if tallies else ledgers.values():
        kept[ledger.case] = True
    return {"groups": len({g for g, used in zip(roster.groups, kept, strict=True) if used}), "cases": len(roster)}


def run_id(manifest: Mapping[str, Any]) -> str:
    """Name a run after what determines its scores: the same work gets the same name."""
    prints = ("protocol_fingerprint", "data_fingerprint", "prediction_fingerprint")
    keys = ("suite", "system", *prints, "plan", "policy")
    given = manifest["facts"].get(INPUTS, "")
    slug = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in str(manifest["system"]))[:48]
    return (
        f"{manifest['suite']}-{slug.strip('.-') or 'system'}-{fingerprint([*(manifest[k] for k in keys), given])[:10]}"
    )


def load(path: str | Path, limits: Limits = DEFAULT) -> Run:
    """Read a run directory, whose files are held to limits."""
    folder = Path(path)
    if not (folder / "manifest.json").is_file():
        raise InputError(f"{folder} is not a run directory: it has no manifest.json")
    manifest: Any = read_json(folder / "manifest.json", limits=limits)
    if not isinstance(manifest, dict) or manifest.get("schema") not in KNOWN:
        found = manifest.get("schema") if isinstance(manifest, dict) else type(manifest).__name__
        raise IntegrityError(f"{folder}: unknown run schema {found!r}; this version reads {', '.join(KNOWN)}")
    try:
        msgspec.convert(manifest, StoredManifest)
        return _assemble(folder, manifest, limits)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise IntegrityError(
            f"{folder}: the run cannot be read ({type(error).__name__}: {error}); run 'gnomon verify' on it"
        ) from error


def _parsed(path: Path, limits: Limits) -> Any:
    return read_json(path, limits=limits)


def _truth(value: Any) -> bool:
    return msgspec.convert(value, bool)


class StoredRoster(msgspec.Struct):
    """The cases as ``coverage.json`` holds them."""

    ids: tuple[str, ...]
    groups: tuple[str, ...]
    tags: dict[str, tuple[str, ...]]
    level: str

    def roster(self) -> Roster:
        """Return the cases."""
        return Roster(self.ids, self.groups, self.tags, self.level)


class StoredManifest(msgspec.Struct):
    """What every manifest must hold."""

    suite: str
    system: str
    id: str
    plan: Plan
    protocol: dict[str, Any]
    protocol_fingerprint: str
    data_fingerprint: str
    prediction_fingerprint: str
    facts: dict[str, Any]
    policy: dict[str, Any]
    options: dict[str, Any]
    summary: dict[str, Any]


def _assemble(folder: Path, manifest: dict[str, Any], limits: Limits) -> Run:
    coverage, scores, audit = (_parsed(folder / f"{name}.json", limits) for name in ("coverage", "scores", "audit"))
    roster = coverage["roster"]
    ledgers = folder / "ledgers.npz"
    tallies = packing.unpack_tallies(packing.read_packed(folder / "tallies.npz", limits))
    measures = tuple(registry.measure(record) for record in manifest["protocol"]["measures"])
    _check_fields(folder, measures, tallies)
    findings = tuple(msgspec.convert(record, Finding) for record in audit["findings"])
    verdicts = tuple(msgspec.convert(record, Verdict) for record in audit["claims"])
    return Run(
        manifest=manifest,
        coverage={**{k: v for k, v in coverage.items() if k != "roster"}, "complete": _truth(coverage["complete"])},
        roster=msgspec.convert(roster, StoredRoster).roster(),
        tallies=tallies,
        ledgers=packing.unpack_ledgers(packing.read_packed(ledgers, limits)) if ledgers.is_file() else {},
        measures=measures,
        scores=tuple(msgspec.convert(record, Score) for record in scores["scores"]),
        findings=findings,
        verdicts=verdicts,
        path=folder,
        made=msgspec.convert(audit.get("made", ()), tuple[str, ...]),
        not_made=msgspec.convert(audit.get("not_made", {}), dict[str, str]),
        suite_made=msgspec.convert(audit.get("suite_made", ()), tuple[str, ...]),
    )


def _check_fields(folder: Path, measures: tuple[Measure, ...], tallies: Mapping[str, Tallies]) -> None:
    """Refuse tallies without the fields that measures read: a version with other definitions wrote them."""
    for measure in measures:
        held = tallies.get(measure.family)
        lacking = [] if held is None else [own.name for own in measure.layout if own.name not in held.fields]
        if lacking:
            raise IntegrityError(
                f"{folder}: the tallies of family {measure.family!r} have no field {some(lacking)}, which "
                f"{measure.name} needs; another version of gnomon wrote the run: score its data again"
            )
