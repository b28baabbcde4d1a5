"""Folders of answers: which files and folders of shards in them are answers; see :mod:`gnomon.suites.episode.given`.

Answers are a table of labels and ``TASK.npz``, or in their place ``labels`` and ``TASK``, which are folders of shards.
What is called otherwise and could be meant as answers (a folder, a table, a file of arrays) is an error that names it,
as the answers in it would be lost without a word. The folder of a run has tables and arrays of its own, which are left
alone, and so is everything whose name begins with a dot or an underscore.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gnomon.core.errors import InputError, instead, some
from gnomon.intake import shards
from gnomon.intake.sources import Source
from gnomon.intake.tables import SUFFIXES
from gnomon.intake.unread import note, reading_for
from gnomon.runs import exhibits
from gnomon.suites.episode.tasks.declared import TASKS

LABELS = "labels"
"""Stem of the table in a folder of answers."""
TABLES = (LABELS, "predictions")
"""What the table of a folder may be called; a run calls it by the second."""
ARRAYS = ".npz"
EXAMPLE = "see gnomon template episode"
RUN = "manifest.json"
"""What every run has."""
OWN = {"tallies.npz", "ledgers.npz", exhibits.NAME}
"""Files of arrays that a run has, whose folder may be given as it is."""


def plain(folder: Path) -> dict[str, Path]:
    """Return the files of a folder of answers: the table as ``labels``, the others by task.

    Raises
    ------
    InputError
        There are none, several tables, or something that is called as no answers are.
    """
    found = _plain(folder)
    _check_names(folder)
    if not found:
        raise _nothing(folder)
    _note_others(folder, found)
    return found


def units(source: Source) -> dict[str, Path]:
    """Return the files of a system by name, those in folders of shards among them.

    Raises
    ------
    InputError
        It is in memory; there is nothing, or something that is called as no answers are; or a task that is ranked
        among all its candidates is given in shards.
    """
    if not isinstance(source.content, (str, os.PathLike)) or not Path(source.content).exists():
        raise InputError(f"{source.where}: expected a file or a folder of answers, as other systems are in shards")
    path = Path(source.content)
    if not path.is_dir():
        return {path.name: path}
    _check_names(path)
    own, files = _shards(path), _plain(path)
    twice = [name for name in files if name in sharded(path)]
    if twice:
        raise InputError(f"{path}: both a file and a folder of {some(twice)}; keep one")
    if not own and not files:
        raise _nothing(path)
    with reading_for(source.name):
        _note_others(path, files)
    return {**{file.name: file for file in files.values()}, **own}


def sharded(folder: Path) -> list[str]:
    """Return the folders of shards in a folder of answers: that of labels, and those of tasks."""
    return [name for name in (LABELS, *TASKS) if (folder / name).is_dir()]


def _shards(folder: Path) -> dict[str, Path]:
    """Return the shards of a folder of answers by the folder they are in and their name there."""
    ranked = [name for name in sharded(folder) if name in TASKS and TASKS[name].kind == "retrieval"]
    if ranked:
        raise InputError(
            f"{folder / ranked[0]}: {ranked[0]} ranks every answer among all others, so that its shards cannot be "
            f"scored one at a time; give {ranked[0]}{ARRAYS}"
        )
    found: dict[str, Path] = {}
    for name in sharded(folder):
        found |= {f"{name}/{shard}": file for shard, file in shards.listed(folder / name, _suffixes(name)).items()}
    return found


def others(source: Source) -> list[Path]:
    """Return the files beside the shards of a system, which are none by their suffix."""
    if not shards.is_folder(source.content):
        return []
    folder = Path(source.content)
    return [path for name in sharded(folder) for path in shards.others(folder / name, _suffixes(name))]


def _suffixes(name: str) -> tuple[str, ...]:
    """Return the suffixes of the shards of labels, or of a task."""
    return (ARRAYS,) if name in TASKS else SUFFIXES


def _plain(folder: Path) -> dict[str, Path]:
    """Return the files of a folder that are answers by their name, also to what is no task."""
    tables = [path for stem in TABLES for suffix in SUFFIXES if (path := folder / f"{stem}{suffix}").is_file()]
    if len(tables) > 1:
        raise InputError(f"{folder}: several tables of labels: {some([path.name for path in tables])}; keep one")
    arrays = [path for path in _visible(folder) if path.suffix == ARRAYS and path.is_file() and path not in tables]
    found = {LABELS: tables[0]} if tables else {}
    return found | {path.stem: path for path in arrays if path.name not in OWN}


def _check_names(folder: Path) -> None:
    """Refuse what may be meant as answers and is called as none are, unless it is in the folder of a run."""
    if (folder / RUN).is_file():
        return
    for path in _visible(folder):
        if path.is_dir():
            _check_folder(path)
        elif path.name not in OWN:
            _check_file(path)


def _check_folder(path: Path) -> None:
    known = (LABELS, *TASKS)
    if path.name not in known:
        said = instead(path.name, known, "folders of shards are")
        raise InputError(f"{path}: no task {path.name!r}; {said}; rename it, or move it elsewhere")


def _check_file(path: Path) -> None:
    suffix = max((one for one in SUFFIXES if path.name.lower().endswith(one)), key=len, default="")
    stem = path.name[: -len(suffix)] if suffix else ""
    if not suffix or path.name in {f"{table}{suffix}" for table in TABLES}:
        return
    if suffix != ARRAYS:
        raise InputError(
            f"{path}: a table that is not called {LABELS}{suffix}, which holds the labels of all tasks; put its rows "
            "there, or move it elsewhere"
        )
    if path.name not in {f"{task}{ARRAYS}" for task in TASKS}:
        raise InputError(f"{path}: no task {stem!r}; {instead(stem, TASKS)}; rename it, or move it elsewhere")


def _note_others(folder: Path, answers: Mapping[str, Path]) -> None:
    """Note the files of a folder that are no answers, unless it is the folder of a run."""
    if not (folder / RUN).is_file():
        used = set(answers.values())
        note(folder / "*", {path.name: 1 for path in _visible(folder) if path.is_file() and path not in used})


def _visible(folder: Path) -> list[Path]:
    """Return what is in a folder, by name, without what is hidden."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror or error}); check path and rights") from error
    return [folder / name for name in names if not name.startswith((".", "_"))]


def _nothing(folder: Path) -> InputError:
    return InputError(f"{folder}: expected {LABELS}.csv, .parquet or .jsonl, or TASK.npz in it; {EXAMPLE}")
