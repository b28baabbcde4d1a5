"""What a run holds of the samples of a system: how many, which were dropped, their fingerprint, their table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core.tallies import Array
from gnomon.runs.alignment import fingerprint_left_out
from gnomon.suites.skeleton.bodies import Source
from gnomon.suites.skeleton.files import KEPT, REASONS
from gnomon.suites.skeleton.projection import Projector
from gnomon.suites.skeleton.sequences import NO_FRAME, make_roster
from gnomon.suites.skeleton.settings import Settings

PART = 1 << 14
"""Samples that are converted at a time."""


def count_samples(projector: Projector) -> dict[str, Any]:
    """Return how many samples there are, how many are valid, and how many were dropped for what."""
    found = np.bincount(projector.reasons, minlength=len(REASONS))
    dropped = {reason: int(found[code]) for code, reason in enumerate(REASONS) if code != KEPT and found[code]}
    return {"total": len(projector.file), "valid": int(found[KEPT]), "dropped": dropped}


def fingerprint_dropped(projector: Projector) -> dict[str, str]:
    """Return, by sequence, the fingerprint of the samples that were dropped; nothing where none was."""
    rows = np.flatnonzero(projector.reasons != KEPT)
    if not len(rows):
        return {}
    ids = projector.file.ids
    names = [ids[row] if ids else str(row) for row in rows.tolist()]
    order = sorted(range(len(rows)), key=names.__getitem__)
    codes = projector.sequences.codes[rows[order]]
    cases = make_roster(projector.sequences.named).ids
    return fingerprint_left_out(pa.array([names[place] for place in order]), codes, cases)


def digest_data(source: Source, settled: Settings) -> str:
    """Return the fingerprint of ids, true joints, what is visible of them and true cameras of the target.

    It does not depend on the type that the numbers are stored as.
    """
    state = hashlib.sha256("\0".join(source.file.ids or ()).encode("utf-8", "surrogatepass"))
    arrays = [source.file.truth]
    if settled.is_projected:
        arrays.append(source.file.cameras["gt"].stream(settled.target, settled.sensor(settled.target)))
    for array in arrays:
        kind = (
            np.float32 if all(_narrow(array[start : start + PART]) for start in range(0, len(array), PART)) else float
        )
        for start in range(0, len(array), PART):
            part = np.ascontiguousarray(array[start : start + PART], dtype=kind)
            lost = np.isnan(part)
            state.update((np.where(lost, np.nan, part).astype(kind) if lost.any() else part).data)
    if source.file.seen is not None:
        state.update(np.packbits(source.file.seen).tobytes())
    return state.hexdigest()


def _narrow(part: Array) -> bool:
    """Say whether float32 holds these numbers as they are."""
    if part.dtype == np.float32:
        return True
    with np.errstate(over="ignore"):
        return bool(np.array_equal(part.astype(np.float32).astype(part.dtype), part, equal_nan=True))


def table_of(source: Source, projector: Projector, errors: Mapping[str, Array]) -> pa.Table:
    """Return what was scored, a row per sample in the order in which they were taken."""
    names = [named.sequence for named in source.sequences.named]
    frames = pa.array(source.sequences.frames, mask=source.sequences.frames == NO_FRAME)
    columns: dict[str, Any] = {
        "sample": pa.array(source.file.ids or [str(row) for row in range(len(source.file))], pa.string()),
        "sequence": _coded(source.sequences.codes, names),
        "frame": frames,
        "dropped": _coded(projector.reasons, REASONS),
    }
    missing = projector.reasons != KEPT
    columns |= {name: pa.array(values, mask=missing | np.isnan(values)) for name, values in errors.items()}
    return pa.table(columns)


def _coded(codes: Array, names: Sequence[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int64)), pa.array(names, pa.string())).cast(
        pa.string()
    )
