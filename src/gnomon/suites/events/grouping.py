"""Groups of recordings: a tag, or what a user gives beside the truth.

Conventions
-----------
- ``--group`` names a tag that every recording has, such as a column of a truth table, or the path of a table whose
  first column (or the one called recording) names recordings and whose other column holds their groups.
- In Python it may also be a mapping from recordings to groups, such a table, or one value per recording in the order of
  the truth, or per row of a truth that is one table.
- Given groups become a tag, called as the column of their table, else ``group``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gnomon.core.evidence import Finding
from gnomon.intake.formats.intervals import NAMES
from gnomon.intake.groups import GROUP_LIKE, find_groups
from gnomon.suites.events.files import TruthCase
from gnomon.suites.events.inputs import Given

LIKELY = tuple(name for name in GROUP_LIKE if name not in ("subject", "recording"))
"""Tags that look like groups; ``subject`` is taken without being asked for."""


@dataclass(frozen=True)
class Grouped:
    """Recordings with their groups: the tag that holds them, and where they come from if not from the truth."""

    cases: list[TruthCase]
    level: str
    source: str = ""


def assign_groups(given: Given, group: Any, recording: str) -> Grouped:
    """Return the recordings with groups as asked for; ``recording`` is the level that every recording has."""
    cases = given.cases
    if group is None or (isinstance(group, str) and group in ("", recording)):
        return Grouped(cases, group or "")
    if isinstance(group, str) and (all(group in case.tags for case in cases) or not os.path.isfile(group)):
        return Grouped(cases, group)
    names = [case.id for case in cases]
    groups = find_groups(group, names, keys=NAMES["case"], thing="recording", rows=given.rows or ())
    tagged = [replace(case, tags={**case.tags, groups.level: groups.of[case.id]}) for case in cases]
    return Grouped(tagged, groups.level, groups.where)


def find_likely(cases: Sequence[TruthCase]) -> str:
    """Return a tag of tables that looks like a group, which several recordings share; nothing where there is none."""
    if not cases or not all(case.window_from for case in cases):
        return ""
    shared = (name for name in LIKELY if all(name in case.tags for case in cases))
    return next((name for name in shared if len({case.tags[name] for case in cases}) < len(cases)), "")


def offer_group(likely: str, level: str, recording: str, where: str) -> list[Finding]:
    """Offer a tag that looks like a group, where recordings are resampled one by one."""
    if not likely or level != recording:
        return []
    evidence = f"recordings are resampled one by one, but several share a {likely!r}"
    remedy = f"give --group {likely} if recordings of one {likely} belong together"
    return [Finding("group-offered", "info", where, evidence, remedy)]
