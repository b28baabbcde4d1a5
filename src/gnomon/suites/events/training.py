"""What recognisers are trained on: given recordings, or those of everybody else; and what of it is in the test."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.runs.seal import hash_file
from gnomon.suites.events import files, raw, recognizers
from gnomon.suites.events.options import RunOptions


@dataclass(frozen=True)
class Digest:
    """The hashes of what a case is made of."""

    data: tuple[str, ...]
    truth_sha256: str

    def record(self) -> dict[str, Any]:
        """Return the hashes as plain data."""
        return {**asdict(self), "data": list(self.data)}


@dataclass(frozen=True)
class Fold:
    """Training cases that some test cases share."""

    name: str
    cases: tuple[files.TruthCase, ...]


@dataclass(frozen=True)
class Training:
    """The training cases of every test case by its id, and what is wrong with them; no folds without training."""

    folds: Mapping[str, Fold]
    findings: tuple[Finding, ...] = ()


Digests = Mapping[tuple[str, str], Digest]
"""By :func:`key`."""


def learns(name: str) -> bool:
    """Say whether a recogniser can be trained."""
    return callable(getattr(recognizers.find(name), "train", None))


def key(case: files.TruthCase) -> tuple[str, str]:
    """Return what a case is known by among test and training cases."""
    return os.fspath(case.path), case.id


def hashed(cases: Sequence[files.TruthCase]) -> dict[tuple[str, str], Digest]:
    """Return the hashes of every case; a file that several cases share is read once."""
    known: dict[Any, str] = {}

    def of(path: Any) -> str:
        if path not in known:
            known[path] = hash_file(path)
        return known[path]

    return {key(case): Digest(tuple(of(path) for path in raw.data_files(case)), of(case.path)) for case in cases}


def inputs(cases: Sequence[files.TruthCase]) -> list[str]:
    """Return every file that the cases are read from."""
    found = [path for case in cases for path in (case.path, *raw.data_files(case))]
    return [os.fspath(path) for path in dict.fromkeys(found)]


def folds(cases: Sequence[files.TruthCase], options: RunOptions) -> tuple[dict[str, Fold], list[files.TruthCase]]:
    """Return what is trained on for every test case, and the training cases that were given apart."""
    if options.train and options.leave_out:
        raise InputError("--train and --leave-out exclude each other: give training files, or a tag to leave out by")
    if options.train:
        given = files.read_truth(*options.train)
        return {case.id: Fold("on the given cases", tuple(given)) for case in cases}, given
    return (_left_out(cases, options.leave_out) if options.leave_out else {}), []


def overlap(
    found: Mapping[str, Fold], cases: Sequence[files.TruthCase], level: str, digests: Digests
) -> tuple[Finding, ...]:
    """Name test cases that are in their own training: by the bytes of their raw data, or only by their group."""

    def bytes_of(case: files.TruthCase) -> set[str]:
        return set(digests[key(case)].data)

    def group_of(case: files.TruthCase) -> set[str]:
        return {case.tags.get(level, case.id)}

    by_name = {fold.name: fold.cases for fold in found.values()}
    trained_bytes = {name: set().union(*map(bytes_of, used)) for name, used in by_name.items()}
    trained_groups = {name: set().union(*map(group_of, used)) for name, used in by_name.items()}
    taught = [case for case in cases if case.id in found]
    seen = [case.id for case in taught if bytes_of(case) & trained_bytes[found[case.id].name]]
    related = [
        case.id for case in taught if case.id not in seen and group_of(case) & trained_groups[found[case.id].name]
    ]
    remedy = "train on recordings of other groups, or leave out by a tag that keeps them apart"
    findings = []
    if seen:
        text = f"{len(seen)} of {len(cases)} test cases share raw data with their training cases: {some(seen)}"
        findings.append(Finding("trained-on-test-data", "error", "training", text, remedy))
    if related:
        text = f"{len(related)} of {len(cases)} test cases share their {level} with training cases: {some(related)}"
        findings.append(Finding("trained-on-test-groups", "warning", "training", text, remedy))
    return tuple(findings)


def _left_out(cases: Sequence[files.TruthCase], tag: str) -> dict[str, Fold]:
    lacking = [case.id for case in cases if tag not in case.tags]
    if lacking:
        raise InputError(f"--leave-out {tag}: no such tag in case {some(lacking)}; add it, or choose another tag")
    values = sorted({case.tags[tag] for case in cases})
    if len(values) < 2:
        raise InputError(f"--leave-out {tag}: every case has {some(values)}; training needs a second value")
    by_value = {v: Fold(f"without {v}", tuple(c for c in cases if c.tags[tag] != v)) for v in values}
    return {case.id: by_value[case.tags[tag]] for case in cases}
