"""Writing a run directory: everything into a temporary folder, sealed, then one rename."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gnomon.core import options as opt
from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import GnomonError, InputError, WorkError
from gnomon.core.measure import Measure
from gnomon.inference.scoring import Score
from gnomon.intake.writing import check_writable, write_table
from gnomon.runs import packing, samples, seal
from gnomon.runs.drafts import is_alive
from gnomon.runs.run import Run


def publish(run: Run, out: str | Path) -> Run:
    """Write a run under its name into a folder of runs and return it with its path.

    A run of the same name (same protocol, data, predictions and interval plan) is replaced in one step.
    """
    parent = Path(out)
    target = parent / str(run.manifest["id"])
    usable(parent)
    if target.is_symlink() or target.is_file():
        raise InputError(f"{target}: expected a run directory or nothing, but it is a file or a link: remove it")
    draft = parent / f".draft-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        draft.mkdir(parents=True)
        _sweep(parent)
        _fill(draft, run)
        _sync(draft)
        with _alone(parent):
            _move(draft, target)
    except (OSError, InputError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(cause, OSError):
            raise
        raise WorkError(f"could not write the run {target}: {cause.strerror or cause}; it was not published") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return replace(run, path=target)


def usable(parent: Path) -> None:
    """Refuse places that cannot hold runs, before any work is done for them."""
    try:
        if "\0" in os.fspath(parent):
            raise ValueError("the name holds a NUL character")
        if parent.exists() and not parent.is_dir():
            raise InputError(f"--out {parent}: expected a folder for runs, but it is a file")
        parent.mkdir(parents=True, exist_ok=True)
    except (ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"--out {parent!s:.80}: cannot be used as a folder: {error}") from error


def check_targets(struct: type, options: Any) -> None:
    """Refuse files and folders that options name to be written and that cannot be, before any work is done."""
    for parameter in opt.parameters(struct):
        value = getattr(options, parameter.name)
        if parameter.writes and value and value != "none":
            check_writable(value, folder=parameter.option.metavar == "DIR", said=parameter.flag)


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
    audit = {
        "findings": [f.record() for f in run.findings],
        "claims": [v.record() for v in run.verdicts],
        "made": list(run.made),
        "not_made": dict(run.not_made),
        "suite_made": list(run.suite_made),
    }
    (folder / "manifest.json").write_bytes(encode_pretty(run.manifest))
    (folder / "coverage.json").write_bytes(encode_pretty({**run.coverage, "roster": cases}))
    (folder / "scores.json").write_bytes(scores_bytes(run.scores, run.measures))
    (folder / "audit.json").write_bytes(encode_pretty(audit))
    packing.write_npz(folder / "tallies.npz", packing.pack_tallies(run.tallies))
    if run.ledgers:
        packing.write_npz(folder / "ledgers.npz", packing.pack_ledgers(run.ledgers))
    if run.table is not None:
        write_table(run.table, folder / "predictions.parquet")
    if run.samples is not None:
        samples.write(run.samples, folder)
    for name, content in run.files.items():
        if Path(name).name != name or (folder / name).exists():
            raise GnomonError(f"a run cannot have a further file {name!r}: no plain name, or taken")
        (folder / name).write_bytes(content)
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
    elif not _exchange(draft, target):  # the old run is in the draft's place now, and goes with it
        aside = target.with_name(f".replaced-{target.name}-{uuid.uuid4().hex[:8]}")
        target.rename(aside)
        try:
            draft.rename(target)
        except OSError:
            aside.rename(target)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Swap two folders in one step where the system can (Linux); say whether it was done."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here, swap = -100, 2
    return bool(rename(here, os.fsencode(a), here, os.fsencode(b), swap) == 0)


@contextlib.contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """Keep two publishers of one run apart."""
    handle = os.open(parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sweep(parent: Path) -> None:
    """Remove the drafts of processes that are gone."""
    for path in parent.glob(".draft-*"):
        if not is_alive(path.name.split("-")[1]):
            shutil.rmtree(path, ignore_errors=True)
