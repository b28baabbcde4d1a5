"""What recognisers are trained on: given recordings, or those of everybody else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.core.samples import Samples
from gnomon.runs.seal import hash_file
from gnomon.suites.events import files, raw
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
    """The training cases of every test case by its id, and both as samples; no folds without training."""

    folds: Mapping[str, Fold]
    samples: Samples | None = None


Digests = Mapping[tuple[str, str], Digest]
"""By :func:`key`."""


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


def folds(
    cases: Sequence[files.TruthCase], options: RunOptions, train_part: Sequence[files.TruthCase] = ()
) -> tuple[dict[str, Fold], list[files.TruthCase]]:
    """Return what is trained on for every test case, and the training cases that are no test cases.

    Where neither files nor a tag to leave out by are given, that is the train part, if there is one.
    """
    if options.train and options.leave_out:
        raise InputError("--train and --leave-out exclude each other: give training files, or a tag to leave out by")
    if options.train:
        given = files.read_truth(*options.train)
        files.check_cases(given, options.unit)
        return {case.id: Fold("on the given cases", tuple(given)) for case in cases}, given
    if options.leave_out:
        return _left_out(cases, options.leave_out), []
    if not train_part:
        return {}, []
    return {case.id: Fold("on the train part", tuple(train_part)) for case in cases}, list(train_part)


def _left_out(cases: Sequence[files.TruthCase], tag: str) -> dict[str, Fold]:
    lacking = [case.id for case in cases if tag not in case.tags]
    if lacking:
        raise InputError(f"--leave-out {tag}: no such tag in case {some(lacking)}; add it, or choose another tag")
    values = sorted({case.tags[tag] for case in cases})
    if len(values) < 2:
        raise InputError(f"--leave-out {tag}: every case has {some(values)}; training needs a second value")
    by_value = {v: Fold(f"without {v}", tuple(c for c in cases if c.tags[tag] != v)) for v in values}
    return {case.id: by_value[case.tags[tag]] for case in cases}
