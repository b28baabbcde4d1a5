"""What the recognisers of ``gnomon run events`` are trained on and tested on, for the audit of the split.

A sample is a raw file of a case: its digest is that of its bytes, it reads the window of the case, and it carries the
tags of the truth. Recordings are known by their content: two cases cut from the same bytes are of one recording,
whatever they are called, and two that are called alike but differ are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gnomon.audit.split import FOLD
from gnomon.core.samples import Samples
from gnomon.suites.events import files, raw, scoring
from gnomon.suites.events.training import Digests, Fold, key

LEAST_BYTES = 64
"""Files below this hold no recording (a header, an empty list) and are alike without being copies."""
LONGEST = 80
"""Tags with longer values are descriptions, not names."""


class _Row(NamedTuple):
    case: files.TruthCase
    part: str
    fold: str
    path: Path
    digest: str


def of(cases: Sequence[files.TruthCase], folds: Mapping[str, Fold], digests: Digests, level: str) -> Samples | None:
    """Return the raw files of test and training cases; None where nothing is trained.

    Where the folds differ (one value of a tag is left out after another), every case is tested in its own fold and
    trained on in the others.
    """
    distinct = {fold.name: fold for fold in folds.values()}
    if not distinct:
        return None
    rows: list[_Row] = []
    if len(distinct) > 1:
        rows += [row for case in cases for row in _rows(case, FOLD, folds[case.id].name, digests)]
    else:
        (fold,) = distinct.values()
        rows += [row for case in fold.cases for row in _rows(case, "train", "", digests)]
        rows += [row for case in cases for row in _rows(case, "test", "", digests)]
    recordings = _recordings(rows)
    spans = np.array([_span(row.case) for row in rows])
    tags = _tags(rows)
    if level == scoring.RECORDING:
        tags[level] = recordings
    if len(distinct) > 1:
        tags[FOLD] = tuple(row.fold for row in rows)
    ids = tuple(f"{row.case.id}: {row.path.name}" if _several(row, digests) else row.case.id for row in rows)
    hashes = tuple(row.digest if row.path.stat().st_size >= LEAST_BYTES else "" for row in rows)
    return Samples(ids, recordings, tuple(row.part for row in rows), spans, spans, hashes, tags)


def _rows(case: files.TruthCase, part: str, fold: str, digests: Digests) -> list[_Row]:
    data = digests[key(case)].data
    return [_Row(case, part, fold, p, digest) for p, digest in zip(raw.data_files(case), data, strict=True)]


def _several(row: _Row, digests: Digests) -> bool:
    return len(digests[key(row.case)].data) > 1


def _recordings(rows: Sequence[_Row]) -> tuple[str, ...]:
    """Name the content of every sample after the first case that has it."""
    names: dict[str, str] = {}
    taken: dict[str, str] = {}
    for row in rows:
        if row.digest not in names:
            name = f"{row.case.id} ({row.digest[:8]})" if row.case.id in taken else row.case.id
            names[row.digest] = name
            taken[name] = row.digest
    return tuple(names[row.digest] for row in rows)


def _span(case: files.TruthCase) -> tuple[float, float]:
    """Return the window of a case in seconds that mean the same in every case."""
    origin = case.zone.origin
    epoch = datetime(1970, 1, 1, tzinfo=None if origin is None or origin.tzinfo is None else UTC)
    shift = 0.0 if origin is None else (origin - epoch).total_seconds()
    return case.window[0] + shift, case.window[1] + shift


def _tags(rows: Sequence[_Row]) -> dict[str, tuple[str, ...]]:
    names = sorted({name for row in rows for name in row.case.tags} - {FOLD})
    columns = {name: tuple(row.case.tags.get(name, "") for row in rows) for name in names}
    return {name: column for name, column in columns.items() if max(map(len, column)) <= LONGEST}
