"""What is resampled: subjects, sequences, or groups that a user gives for sequences or samples."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.intake.faults import shown
from gnomon.intake.groups import find_groups, is_given
from gnomon.suites.skeleton.options import ScoreOptions
from gnomon.suites.skeleton.sequences import LEVELS, Sequences

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
    rows = [names[code] for code in found.codes.tolist()]
    groups = find_groups(group, names, keys=(SEQUENCE,), thing=SEQUENCE, rows=rows).of
    return replace(found, named=tuple(named._replace(subject=groups[named.sequence]) for named in found.named))
