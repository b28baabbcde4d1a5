"""A run in memory: made from an evaluation, or read from its directory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from gnomon.audit.record import Audit
from gnomon.core import registry
from gnomon.core.canonical import fingerprint
from gnomon.core.cases import Roster
from gnomon.core.errors import GnomonError, InputError, IntegrityError, some
from gnomon.core.evidence import Finding, Verdict
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, Shown
from gnomon.core.metric_choice import Asked, Choice, Own, choose, restore
from gnomon.core.options import MOST_RESAMPLES
from gnomon.core.protocol import Protocol
from gnomon.core.samples import Samples
from gnomon.core.tallies import Tallies
from gnomon.inference.intervals import Groups, Plan, filled
from gnomon.inference.scoring import Score, derive, grouped, stored
from gnomon.intake.documents import parse_json, read_bytes
from gnomon.intake.faults import FAULTS, reason, release, shown
from gnomon.intake.limits import MIB, RUN, Limits
from gnomon.runs import auditing, packing, provenance, seal
from gnomon.runs import samples as stored_samples
from gnomon.runs.content import table_digest
from gnomon.runs.index import LARGEST, SCHEMA, Name, check_schema

if TYPE_CHECKING:
    import pyarrow as pa

DOCUMENTS = {"manifest": LARGEST, "coverage": RUN.max_json_bytes, "scores": 32 * MIB, "audit": 16 * MIB}
"""Bytes that the documents of a run may have."""
LONGEST_STRING = 1 << 16
"""Characters of a text in a document of a run; tables repeat some of them."""
MOST_MEASURES = 10_000
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
    memory: int = field(default=0, compare=False)
    """Bytes that reading it from its directory took, as its limits count them."""

    @property
    def suite(self) -> str:
        """Name of the suite."""
        return str(self.manifest["suite"])

    @property
    def system(self) -> str:
        """Name of the system under test."""
        return self.alias or str(self.manifest["system"])

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the metrics that were chosen for its tables; empty where none were, the first ranks systems."""
        return tuple(self.manifest.get("metrics", {}).get("chosen", ()))

    @property
    def computable(self) -> tuple[Measure, ...]:
        """Its metrics without a user's own whose class was not loaded: those have stored scores alone."""
        return tuple(measure for measure in self.measures if measure.computable)

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


def make(
    evaluation: Evaluation,
    plan: Plan,
    clock: provenance.Clock,
    options: Mapping[str, Any] | None = None,
    metrics: Sequence[Asked] = (),
) -> Run:
    """Score an evaluation and put its record together.

    ``options`` holds what was asked for, ``metrics`` those that tables show (:mod:`gnomon.core.metric_choice`).
    """
    protocol = evaluation.protocol
    kept, roster = evaluation.tallies, evaluation.roster
    choice = _choose(metrics, protocol.measures, kept, evaluation.ledgers, roster, plan)
    scores = derive(choice.metrics, kept, roster, protocol.slices, plan, evaluation.ledgers)
    facts = {**evaluation.facts, **counted(roster, kept, evaluation.ledgers)}
    if evaluation.samples is not None:
        facts["samples"] = stored_samples.counts(evaluation.samples)
    manifest: dict[str, Any] = {
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
        "summary": summary(scores[0], evaluation.coverage, choice.metrics[0]),
        "provenance": provenance.collect(),
        "time": clock.read(),
        **({"metrics": choice.record()} if choice.chosen else {}),
    }
    run = Run(
        manifest={**manifest, "id": run_id(manifest)},
        coverage={"complete": True, **evaluation.coverage},
        roster=evaluation.roster,
        tallies=evaluation.tallies,
        ledgers=evaluation.ledgers,
        measures=choice.metrics,
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


def _choose(
    asked: Sequence[Asked],
    measures: Sequence[Measure],
    tallies: Mapping[str, Tallies],
    ledgers: Mapping[str, Ledger],
    roster: Roster,
    plan: Plan,
) -> Choice:
    """Choose metrics, and refuse a user's own that cannot be scored from these tallies."""
    choice = choose(asked, measures, "these runs")
    sources = {record["name"]: record["source"] for record in choice.own}
    for metric in (metric for metric in choice.metrics if metric.name in sources):
        try:
            (found,) = derive([metric], tallies, roster, (), plan, ledgers)
        except Exception as error:  # the user's code
            why = f"{type(error).__name__}: {error}"
            raise InputError(f"metric {sources[metric.name]!r}: its score fails ({why})") from error
        if found.value is not None and not math.isfinite(found.value):
            raise InputError(
                f"metric {sources[metric.name]!r}: expected a finite score, or one that is marked as undefined, "
                f"but got {found.value}"
            )
    return choice


def summary(headline: Score, coverage: Mapping[str, Any], measure: Measure) -> dict[str, Any]:
    """Return what a list of runs shows of one, so that listing thousands opens one small file each.

    Values are as they were scored; ``shown`` says in which unit a list shows them.
    """
    cells = coverage.get("cells")
    shown = Shown(1.0, measure.unit, 3) if measure.shown is None else measure.shown
    return {
        "headline": headline.name,
        "direction": measure.direction,
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


def load(path: str | Path, limits: Limits = RUN) -> Run:
    """Read a run directory; its documents, tallies and row tables are held to limits together."""
    try:
        return _load(Path(path), limits)
    except GnomonError as error:
        release(error)
        raise


def _load(folder: Path, limits: Limits) -> Run:
    if not (folder / "manifest.json").is_file():
        raise InputError(f"{folder} is not a run directory: it has no manifest.json")
    seal.check_links(folder)
    limits = limits.raised()
    manifest, taken = _read_document(folder, "manifest", limits)
    check_schema(manifest.get("schema"), f"{folder}")
    with raise_as_damage([folder]):
        msgspec.convert(manifest, StoredManifest)
        return _assemble(folder, manifest, limits, taken)


@contextmanager
def raise_as_damage(folders: Sequence[Path]) -> Iterator[None]:
    """Raise whatever goes wrong with runs that were read from folders as an :class:`IntegrityError`.

    What a run directory holds may be anything; what suites make of its facts and options is not checked in advance.
    """
    try:
        yield
    except (GnomonError, OSError):
        raise
    except FAULTS as error:
        if not folders:
            raise
        where = ", ".join(shown(folder) for folder in folders[:3]) + (" and others" if len(folders) > 3 else "")
        raise IntegrityError(
            f"{where}: the run cannot be read ({type(error).__name__}: {reason(error)}); it is damaged, or another "
            "version of gnomon wrote it: run 'gnomon verify' on it"
        ) from error


def _read_document(folder: Path, name: str, limits: Limits) -> tuple[dict[str, Any], int]:
    """Return a document of a run, and the bytes that it takes."""
    path = folder / f"{name}.json"
    limits = replace(limits, max_json_bytes=min(limits.max_json_bytes, DOCUMENTS[name])).raised()
    value, taken = parse_json(read_bytes(path, limits), shown(path), limits=limits)
    if not isinstance(value, dict):
        raise IntegrityError(f"{shown(path)}: holds no JSON object, which every document of a run is; copy it again")
    pending: list[Any] = [value]
    while pending:
        node = pending.pop()
        items = [*node, *node.values()] if isinstance(node, dict) else node
        if any(isinstance(item, str) and len(item) > LONGEST_STRING for item in items):
            raise IntegrityError(f"{shown(path)}: holds a text of more than {LONGEST_STRING} characters; copy it again")
        pending += [item for item in items if isinstance(item, (dict, list))]
    return value, taken


class StoredRoster(msgspec.Struct):
    """The cases as ``coverage.json`` holds them."""

    ids: tuple[Name, ...]
    groups: tuple[Name, ...]
    tags: dict[Name, tuple[Name, ...]]
    level: Name

    def roster(self) -> Roster:
        """Return the cases."""
        return Roster(self.ids, self.groups, self.tags, self.level)


class StoredPlan(msgspec.Struct):
    """An interval plan as a command accepts it: others could be computed for days."""

    method: Literal["jackknife-t", "percentile", "bca", "none"]
    level: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    resamples: Annotated[int, msgspec.Meta(ge=1, le=MOST_RESAMPLES)]
    seed: Annotated[int, msgspec.Meta(ge=0)]


class StoredManifest(msgspec.Struct):
    """What every manifest must hold."""

    suite: Name
    system: Name
    id: Name
    plan: StoredPlan
    protocol: dict[str, Any]
    protocol_fingerprint: Name
    data_fingerprint: Name
    prediction_fingerprint: Name
    facts: dict[str, Any]
    policy: dict[str, Any]
    options: dict[str, Any]
    summary: dict[str, Any]


def _assemble(folder: Path, manifest: dict[str, Any], limits: Limits, taken: int) -> Run:
    """Read all but the manifest, which has taken some bytes already."""
    documents, most = {}, limits.max_decoded_bytes
    limits = limits.without(taken)
    for name in ("coverage", "scores", "audit"):
        documents[name], taken = _read_document(folder, name, limits)
        limits = limits.without(taken)
    coverage, scores, audit = documents.values()
    roster = msgspec.convert(coverage["roster"], StoredRoster).roster()
    ledgers = folder / "ledgers.npz"
    packed = packing.read_packed(folder / "tallies.npz", limits)
    limits = limits.without(packing.count_wide_bytes(packed))
    tallies = packing.unpack_tallies(packed)
    packed = packing.read_packed(ledgers, limits) if ledgers.is_file() else {}
    limits = limits.without(packing.count_wide_bytes(packed))
    rows = packing.unpack_ledgers(packed)
    records = manifest["protocol"]["measures"]
    if len(records) > MOST_MEASURES:
        raise IntegrityError(f"{folder}: {len(records)} measures, but no protocol has more than {MOST_MEASURES}")
    measures = tuple(registry.measure(record) for record in records)
    _check_fields(folder, measures, tallies)
    _check_cases(folder, roster, tallies, rows)
    measures = restore(manifest.get("metrics", {}), measures)
    findings = tuple(msgspec.convert(record, Finding) for record in audit["findings"])
    verdicts = tuple(msgspec.convert(record, Verdict) for record in audit["claims"])
    return Run(
        manifest=manifest,
        coverage={
            **{k: v for k, v in coverage.items() if k != "roster"},
            "complete": msgspec.convert(coverage["complete"], bool),
        },
        roster=roster,
        tallies=tallies,
        ledgers=rows,
        measures=measures,
        scores=tuple(msgspec.convert(record, Score) for record in scores["scores"]),
        findings=findings,
        verdicts=verdicts,
        path=folder,
        made=msgspec.convert(audit.get("made", ()), tuple[str, ...]),
        not_made=msgspec.convert(audit.get("not_made", {}), dict[str, str]),
        suite_made=msgspec.convert(audit.get("suite_made", ()), tuple[str, ...]),
        memory=most - limits.max_decoded_bytes,
    )


def _check_cases(folder: Path, roster: Roster, tallies: Mapping[str, Tallies], ledgers: Mapping[str, Ledger]) -> None:
    """Refuse tallies and ledgers of other cases than the run has."""
    counts = {f"the tallies of {family!r}": part.n_cases for family, part in tallies.items()}
    wrong = {what: count for what, count in counts.items() if count != len(roster)}
    for name, ledger in ledgers.items():
        if len(ledger) and int(ledger.case.max()) >= len(roster):
            wrong[f"the rows of {name!r}"] = int(ledger.case.max()) + 1
    for what, count in wrong.items():
        raise IntegrityError(
            f"{folder}: {what} are of {count} cases, expected {len(roster)} as in coverage.json; make the run again"
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


def metrics_of(run: Run, asked: Sequence[Asked] = ()) -> tuple[Measure, ...]:
    """Return the metrics of a run's protocol in their order, then a user's own that it holds and that is not asked for.

    One that is asked for is computed anew: its code may have changed.
    """
    declared = tuple(registry.measure(record) for record in run.manifest["protocol"]["measures"])
    others = {metric.name for metric in declared} | {item.metric.name for item in asked if isinstance(item, Own)}
    return (*declared, *(metric for metric in run.measures if metric.name not in others))


def with_metrics(run: Run, asked: Sequence[Asked]) -> Run:
    """Return a run with other chosen metrics; a user's own are computed from its tallies."""
    choice = _choose(asked, metrics_of(run, asked), run.tallies, run.ledgers, run.roster, run.plan)
    loaded = {str(record["name"]) for record in choice.own}
    added = [metric for metric in choice.metrics if metric.name in loaded]
    slices = run.manifest["protocol"]["slices"]
    scores = [
        *(score for score in run.scores if score.name not in loaded),
        *derive(added, run.tallies, run.roster, slices, run.plan, run.ledgers),
    ]
    place = {metric.name: index for index, metric in enumerate(choice.metrics)}
    parts = {part: index for index, part in enumerate(dict.fromkeys(score.slice for score in scores))}
    scores.sort(key=lambda score: (parts[score.slice], place[score.name]))
    kept = [item for item in run.manifest.get("metrics", {}).get("own", ()) if item["name"] not in loaded]
    manifest = {**run.manifest, "metrics": {**choice.record(), "own": [*kept, *choice.own]}}
    return replace(run, manifest=manifest, measures=choice.metrics, scores=tuple(scores))
