"""What is resampled: subjects, sequences, or groups that a user gives for sequences or samples."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.intake.faults import shown
from gnomon.intake.groups import find_groups, is_given
from gnomon.intake.memory import is_column, to_column
from gnomon.suites.skeleton.options import ScoreOptions
from gnomon.suites.skeleton.sequences import ALL, LEVELS, Named, Sequences

SUBJECT, SEQUENCE, OWN = "subject", "sequence", "group"


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
    if isinstance(group, str) and not os.path.exists(group):
        raise InputError(
            f"--group {shown(group, 80)!r}: expected subject, sequence, or the path of a table; no such file"
        )
    if names == [ALL] and is_column(group) and len(group) == len(found.codes) > 1:
        return _cut_by_group([str(value) for value in to_column(group, "groups").to_pylist()], found)
    rows = [names[code] for code in found.codes.tolist()]
    groups = find_groups(group, names, keys=(SEQUENCE,), thing=SEQUENCE, rows=rows).of
    return replace(found, named=tuple(named._replace(subject=groups[named.sequence]) for named in found.named))


def _cut_by_group(values: Sequence[str], found: Sequences) -> Sequences:
    """Return samples without ids as one sequence for every group, called by it."""
    known: dict[str, int] = {}
    codes = np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)
    return Sequences(codes, found.frames, tuple(Named(name, name) for name in known))
