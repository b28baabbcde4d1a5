"""What the systems of ``gnomon run labels`` are fitted on and tested on, for the audit of the split.

A sample is a row: its case is its group, its input its features, its target its label. Equal features mean a copy only
where they tell rows apart: where at least one feature has different values in half of the rows (or very many), and rows
would not coincide by chance if features were independent. Elsewhere rows get no digest, and the audit says that
duplicates were not looked for.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np

from gnomon.audit import Audit
from gnomon.audit.split import FOLD
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array
from gnomon.intake.memory import table_of
from gnomon.runs.auditing import TARGET
from gnomon.suites.labels import files
from gnomon.suites.labels.options import RunOptions

COARSE = "the features take too few values for equal rows to mean a copy"
CHANCE = 0.01
"""Pairs of equal rows that chance may be expected to give, from how often two rows are equal in each feature."""
MANY = 1000
"""Different values that are many, however many rows there are."""


def of(truth: files.Truth, folds: Array, features: Sequence[str], options: RunOptions, held: int | None) -> Samples:
    """Return the rows that are fitted on or predicted.

    ``folds`` is negative for rows that are neither. ``held`` is the fold that is predicted by systems fitted on the
    others; None where every fold is.
    """
    used = np.flatnonzero(folds >= 0)
    names = truth.groups if truth.groups is not None else truth.ids
    groups, ids = (tuple(names.take(used).to_pylist()) for names in (names, truth.ids))
    dealt = folds[used].tolist()
    parts = tuple(FOLD if held is None else "test" if fold == held else "train" for fold in dealt)
    level = "row" if options.group == files.ID else options.group or files.GROUP
    tags = {name: tuple(column.take(used).to_pylist()) for name, column in truth.tags.items()}
    tags |= {level: groups, TARGET: tuple(truth.labels.take(used).to_pylist())}
    tags |= {FOLD: tuple(map(str, dealt))} if held is None else {}
    nothing = np.zeros((len(used), 2))
    return Samples(ids, groups, parts, nothing, nothing, digests(_matrix(options, features)[used]), tags)


def audit(rows: Samples, given: Audit | None) -> Audit:
    """Return the audit of the suite, with the reason where equal rows are not looked for."""
    found = given or Audit()
    return found if rows.digests else found.skip("exact-duplicates", COARSE)


def digests(rows: Array) -> tuple[str, ...]:
    """Return a hash of every row ``(n, d)``; none where equal rows would not mean a copy."""
    if not telling(rows):
        return ()
    content = np.ascontiguousarray(rows + 0.0)  # -0.0 is 0.0
    return tuple(hashlib.blake2b(row.data, digest_size=16).hexdigest() for row in content)


def telling(rows: Array) -> bool:
    """Say whether rows that are equal in all features must be copies."""
    counts = [np.unique(column, return_counts=True)[1].astype(np.float64) for column in rows.T]
    if not any(len(found) >= min(len(rows) / 2, MANY) for found in counts):
        return False
    pairs = len(rows) * (len(rows) - 1) / 2
    shares = [(float((found * (found - 1)).sum()) / 2 + 1) / (pairs + 1) for found in counts]
    return pairs * math.prod(shares) <= CHANCE


def _matrix(options: RunOptions, features: Sequence[str]) -> Array:
    group = options.group or files.GROUP
    table = table_of(options.truth, text=(files.ID, files.LABEL, group), name="truth").sort_by(files.ID)
    if not features:
        return np.zeros((len(table), 0))
    return np.stack([table[name].to_numpy().astype(np.float64) for name in features], axis=1)
