"""What is resampled: subjects, sequences, or groups that a user gives for sequences or samples."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.intake.faults import shown
from gnomon.intake.formats.joints import to_array
from gnomon.intake.memory import table_of
from gnomon.suites.skeleton.options import ScoreOptions
from gnomon.suites.skeleton.sequences import LEVELS, Sequences

SUBJECT, SEQUENCE, OWN = "subject", "sequence", "group"


def is_given(value: Any) -> bool:
    """Say whether an option that takes data was given."""
    return not (value is None or (isinstance(value, str) and not value))


def level_of(options: ScoreOptions) -> str:
    """Return what groups are called; empty where the ids decide."""
    if not is_given(options.group):
        return "" if options.group_by else LEVELS.get(options.id_preset, "")
    if isinstance(options.group, str) and options.group in (SUBJECT, SEQUENCE):
        return LEVELS.get(options.id_preset, SUBJECT) if options.group == SUBJECT else SEQUENCE
    return OWN


def regroup(found: Sequences, group: Any) -> Sequences:
    """Return sequences whose subjects are the groups that were asked for.

    Parameters
    ----------
    found
        The sequences as ids tell them.
    group
        ``subject`` or ``sequence``, a table of two columns (its path, or in memory) or a mapping from sequences to
        groups, or values: one for every sample, or for every sequence in the order in which they first appear.
    """
    if not is_given(group) or (isinstance(group, str) and group == SEQUENCE):
        return found
    names = [named.sequence for named in found.named]
    if isinstance(group, str) and group == SUBJECT:
        lost = [named.sequence for named in found.named if not named.subject]
        if lost:
            raise InputError(
                f"--group subject: no subject is known of {some(lost)}; say how ids are written with --id-preset or "
                "--group-by, or give --group sequence"
            )
        return found
    if isinstance(group, Mapping):
        groups = _look_up({str(key): str(value) for key, value in group.items()}, names, "group")
    elif isinstance(group, (str, os.PathLike)) or hasattr(group, "columns"):
        groups = _look_up(_read_table(group), names, shown(str(group)) if not hasattr(group, "columns") else "group")
    else:
        groups = _of_values(
            list(group) if isinstance(group, (list, tuple)) else to_array(group, "group").tolist(), found
        )
    pairs = zip(found.named, groups, strict=True)
    return replace(found, named=tuple(named._replace(subject=value) for named, value in pairs))


def _read_table(group: Any) -> dict[str, str]:
    if isinstance(group, str) and not os.path.exists(group):
        raise InputError(
            f"--group {shown(group, 80)!r}: expected subject, sequence, or the path of a table; no such file"
        )
    names = table_of(group).column_names
    if len(names) != 2:
        raise InputError(f"--group: expected a table of two columns (sequence, group), but it has {some(names)}")
    table = table_of(group, text=names)
    return dict(zip(*(table.column(name).to_pylist() for name in names), strict=True))


def _look_up(known: Mapping[str, str], names: Sequence[str], where: str) -> list[str]:
    lost = [name for name in names if not known.get(name)]
    if lost:
        raise InputError(f"{where}: no group of the sequence {some(lost)}; it has {some(known)}")
    return [known[name] for name in names]


def _of_values(values: Sequence[Any], found: Sequences) -> list[str]:
    """Return the group of every sequence from values by sequence, or by sample."""
    count, texts = len(found.named), list(map(str, values))
    if len(texts) == count:
        return texts
    if len(texts) != len(found.codes):
        raise InputError(
            f"group: got {len(texts):,} values, expected {len(found.codes):,} (one for each sample) or {count:,} (one "
            "for each sequence)"
        )
    held: dict[int, str] = {}
    for code, text in zip(found.codes.tolist(), texts, strict=True):
        if held.setdefault(code, text) != text:
            raise InputError(
                f"group: sequence {found.named[code].sequence!r} is in the groups {held[code]!r} and {text!r}; give "
                "ids that tell sequences of different groups apart"
            )
    return [held[code] for code in range(count)]
