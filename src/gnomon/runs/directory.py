"""Writing a run directory: everything into a draft (:mod:`gnomon.intake.drafts`), sealed, forced to the disk, renamed.

Any number of processes, containers and machines may publish into one folder of runs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from gnomon.core import options as opt
from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import GnomonError, InputError, WorkError
from gnomon.core.measure import Measure
from gnomon.inference.scoring import Score
from gnomon.intake.documents import read_json
from gnomon.intake.drafts import new_draft, publish_draft, sweep_drafts
from gnomon.intake.writing import check_writable, sync, write_table
from gnomon.runs import packing, samples, seal
from gnomon.runs.run import Run

DRAFT, MANIFEST = ".publishing-", "manifest.json"


def publish(run: Run, out: str | Path) -> Run:
    """Write a run under its name into a folder of runs and return it with its path.

    The files of a run that is stored already are copied: in memory, a run that was read back lacks some of them.

    The name stands for what determines the scores. Where a whole run of this name is there that differs in nothing but
    time (when it was made, how long that took), it stays. One that is damaged, or was made by other code or another
    command, is replaced in one step. When this returns, the run is on the disk, and so is its name.
    """
    parent = Path(out)
    target = parent / str(run.manifest["id"])
    usable(parent)
    if target.is_symlink() or target.is_file():
        raise InputError(f"{target}: expected a run directory or nothing, but it is a file or a link: remove it")
    try:
        sweep_drafts(parent, DRAFT)
        with new_draft(parent, DRAFT) as draft:
            _fill(draft, run) if run.path is None else _copy(run.path, draft)
            for path in [*draft.iterdir(), draft]:
                sync(path)
            publish_draft(draft, target, lambda there: _is_same(there, draft))
    except (OSError, InputError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(cause, OSError):
            raise
        raise WorkError(f"could not write the run {target}: {cause.strerror or cause}; it was not published") from error
    try:
        sync(parent)
    except OSError as error:
        raise WorkError(
            f"the run {target} was written, but {parent} could not be forced to the disk ({error.strerror or error}): "
            "a power cut may lose it; check the disk and publish it again"
        ) from error
    return replace(run, path=target)


def _is_same(there: Path, draft: Path) -> bool:
    """Say whether a run is whole and differs from a draft in nothing but time."""

    def read(folder: Path) -> tuple[dict[str, str], Any]:
        hashes, manifest = seal.read(folder), read_json(folder / MANIFEST)
        del hashes[MANIFEST]
        return hashes, {**manifest, "time": None} if isinstance(manifest, dict) else None

    try:
        return not seal.problems(there) and read(there) == read(draft)
    except (OSError, InputError, KeyError):  # damaged, or replaced by another publisher meanwhile
        return False


def usable(parent: Path) -> None:
    """Refuse places that cannot hold runs, before any work is done for them."""
    try:
        if "\0" in os.fspath(parent):
            raise ValueError("the name holds a NUL character")
        if parent.exists() and not parent.is_dir():
            raise InputError(f"--out {parent}: expected a folder for runs, but it is a file")
        missing = [folder for folder in (parent, *parent.parents) if not folder.exists()]
        parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(PermissionError):  # of a folder that may be written to and not be read
            for folder in missing:  # a run is on the disk when all folders above it are
                sync(folder.parent)
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


def _copy(stored: Path, folder: Path) -> None:
    """Copy the files of a stored run that belong to it; a damaged one is refused."""
    problems = seal.problems(stored, bounded=True)
    if problems:
        raise InputError(f"{stored}: the run is damaged and is not copied: {problems[0]}")
    for name in (*seal.read(stored), seal.NAME):
        shutil.copyfile(stored / name, folder / name)


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
    (folder / MANIFEST).write_bytes(encode_pretty(run.manifest))
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
