"""The audit of the tasks of one variant: what was read on both sides of the split, fitted on, subtracted and clamped.

Checks are given ranges, tags, digests and counts of samples; none of them knows which variant it looks at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gnomon.audit import Audit
from gnomon.audit.inputs import blocks_of
from gnomon.audit.sequences import Entries, Ties
from gnomon.audit.split import FOLD
from gnomon.core.evidence import Finding
from gnomon.core.samples import Samples
from gnomon.runs.auditing import TARGET
from gnomon.suites.episode.tasks.auditing import quantities, samples
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import TEST, TRAIN

TRAINED = (TRAIN, TEST)


def collected(data: Mapping[str, TaskData]) -> dict[str, Samples]:
    """Return the samples of every task, without those that are in neither part."""
    return {name: _kept(samples(one)) for name, one in data.items() if not one.lacks}


def _kept(found: Samples) -> Samples:
    rows = [row for row, part in enumerate(found.parts) if part in TRAINED]
    index = np.array(rows, dtype=np.int64)
    return replace(
        found,
        **{name: tuple(getattr(found, name)[row] for row in rows) for name in ("ids", "cases", "parts", "digests")},
        input_range=found.input_range[index],
        target_range=found.target_range[index],
        tags={name: tuple(column[row] for row in rows) for name, column in found.tags.items()},
    )


def joined(by_task: Mapping[str, Samples]) -> Samples | None:
    """Put the samples of all tasks together, each task a fold of its own."""
    if not by_task:
        return None
    names = dict.fromkeys(name for one in by_task.values() for name in one.tags)
    parts = list(by_task.items())
    tags = {name: tuple(value for _, one in parts for value in one.tags.get(name, ("",) * len(one))) for name in names}
    tags[FOLD] = tuple(task for task, one in parts for _ in range(len(one)))
    return Samples(
        **{
            name: tuple(value for _, one in parts for value in getattr(one, name))
            for name in ("ids", "cases", "parts", "digests")
        },
        input_range=np.concatenate([one.input_range for _, one in parts]),
        target_range=np.concatenate([one.target_range for _, one in parts]),
        tags=tags,
    )


def audit(data: Mapping[str, TaskData], by_task: Mapping[str, Samples], unit: str) -> Audit:
    """Make the checks that need more than the samples of a run hold; ``unit`` is what is counted as independent."""
    found = Audit()
    findings: dict[str, list[Finding]] = {}

    def make(name: str, *arguments: Any, **options: Any) -> None:
        findings.setdefault(name, []).extend(Audit().check(name, *arguments, **options).findings)

    for task, one in by_task.items():
        own = data[task]
        make("input-blocks", blocks_of(one), where=task)
        if own.fitted_on:
            digest = dict(zip(one.ids, one.digests, strict=True))
            make(
                "fit-provenance",
                {f"class list of {task}": [digest[name] for name in own.fitted_on if name in digest]},
                one,
            )
        if own.task.horizon:
            make("clamped-targets", one, own.task.horizon, where=task)
        if sides := quantities(own):
            make("units-and-frames", sides)
        if own.facts["invalid"]["total"]:
            make("invalid-values", {task: Entries(**own.facts["invalid"])})
        if own.task.kind in ("label", "binary", "pair"):
            make("degenerate-targets", one.column(TARGET), one, where=task)
    if len(by_task) > 1:
        make("cut-points", by_task)
    plain = next((one for task, one in by_task.items() if data[task].task.kind != "pair"), None)
    if plain is not None:
        make("overlapping-units", plain, unit)
    for name, own_findings in findings.items():
        found = found.add(name, _merged(own_findings, list(by_task)))
    return found


def _merged(findings: Sequence[Finding], tasks: Sequence[str]) -> list[Finding]:
    """Say once what is true of several tasks, and of which."""
    found: dict[Finding, list[str]] = {}
    for finding in findings:
        key = replace(finding, where="") if finding.where in tasks else finding
        found.setdefault(key, []).append(finding.where)
    return [
        key if key.where else replace(key, where=", ".join(own), evidence=_told(key.evidence, own))
        for key, own in found.items()
    ]


def _told(evidence: str, tasks: Sequence[str]) -> str:
    said = ", ".join(tasks)
    return evidence if evidence.startswith(f"{said}: ") else f"{said}: {evidence}"


def ties(
    task: str, scores: Mapping[str, float], form: str, queries: Sequence[str], positives: Sequence[str] | None
) -> tuple[Finding, ...]:
    """Check whether ties decide a retrieval score, and whether identical queries ask for different windows."""
    held = {f"mrr[{task}]": Ties(form, scores["optimistic"], scores["pessimistic"], scores["average"])}
    return Audit().check("tied-ranks", held, list(queries), positives, where=task).findings
