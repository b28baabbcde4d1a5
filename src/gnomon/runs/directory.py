"""Writing a run directory: everything into a temporary folder, sealed, then one rename."""

from __future__ import annotations

import os
import shutil
import uuid
from dataclasses import replace
from pathlib import Path

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError, WorkError
from gnomon.core.measure import Measure
from gnomon.inference.scoring import Score
from gnomon.intake.writing import write_table
from gnomon.runs import packing, seal
from gnomon.runs.run import Run


def publish(run: Run, out: str | Path) -> Run:
    """Write a run under its name into a folder of runs and return it with its path.

    A run of the same name (same protocol, data, predictions and interval plan) is replaced.
    """
    parent = Path(out)
    if parent.exists() and not parent.is_dir():
        raise InputError(f"--out {parent}: expected a folder for runs, but it is a file")
    target = parent / str(run.manifest["id"])
    draft = parent / f".draft-{target.name}-{uuid.uuid4().hex[:8]}"
    try:
        draft.mkdir(parents=True)
        _fill(draft, run)
        _sync(draft)
        _move(draft, target)
    except OSError as error:
        raise WorkError(
            f"could not write the run {target}: {error.strerror or error}; nothing was published"
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return replace(run, path=target)


def scores_bytes(scores: tuple[Score, ...], measures: tuple[Measure, ...]) -> bytes:
    """Return the content of ``scores.json``; it depends on the scores alone."""
    headline = measures[0].name
    return encode_pretty({"schema": "gnomon.scores/1", "headline": headline, "scores": [s.record() for s in scores]})


def _fill(folder: Path, run: Run) -> None:
    roster = run.roster
    cases = {
        "ids": list(roster.ids),
        "groups": list(roster.groups),
        "tags": {name: list(values) for name, values in roster.tags.items()},
        "level": roster.level,
    }
    audit = {"findings": [f.record() for f in run.findings], "claims": [v.record() for v in run.verdicts]}
    (folder / "manifest.json").write_bytes(encode_pretty(run.manifest))
    (folder / "coverage.json").write_bytes(encode_pretty({**run.coverage, "roster": cases}))
    (folder / "scores.json").write_bytes(scores_bytes(run.scores, run.measures))
    (folder / "audit.json").write_bytes(encode_pretty(audit))
    packing.write_npz(folder / "tallies.npz", packing.pack_tallies(run.tallies))
    if run.ledgers:
        packing.write_npz(folder / "ledgers.npz", packing.pack_ledgers(run.ledgers))
    if run.table is not None:
        write_table(run.table, folder / "predictions.parquet")
    (folder / seal.NAME).write_bytes(seal.make(folder))


def _sync(folder: Path) -> None:
    for path in [*folder.iterdir(), folder]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _move(draft: Path, target: Path) -> None:
    if not target.exists():
        draft.rename(target)
        return
    aside = draft.with_name(f".old-{draft.name}")
    target.rename(aside)
    try:
        draft.rename(target)
    except OSError:
        aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)
