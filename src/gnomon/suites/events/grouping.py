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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.intake.faults import shown
from gnomon.intake.formats.intervals import NAMES
from gnomon.intake.memory import is_column, table_of, to_column
from gnomon.suites.events.files import TruthCase
from gnomon.suites.events.inputs import Given

LIKELY = ("user", "participant", "person", "patient", "session", "room", "scene")
"""Tags that look like groups; ``subject`` is taken without being asked for."""
GROUP = "group"


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
    if isinstance(group, Mapping) and not any(name in group for name in NAMES["case"]):
        held, level, where = {str(name): str(value) for name, value in group.items()}, GROUP, "<groups in memory>"
    elif is_column(group):
        held, level, where = _match_values(given, group), GROUP, "<groups in memory>"
    else:
        held, level, where = _read_table(group)
    lacking = [case.id for case in cases if case.id not in held]
    if lacking:
        raise InputError(f"{shown(where)}: no group of the recordings {some(lacking)}; add them")
    tagged = [replace(case, tags={**case.tags, level: held[case.id]}) for case in cases]
    return Grouped(tagged, level, where)


def _read_table(group: Any) -> tuple[dict[str, str], str, str]:
    """Return groups by recording, the name of their column, and where they are."""
    where = os.fspath(group) if isinstance(group, (str, os.PathLike)) else "<groups in memory>"
    table = table_of(group, name="groups")
    names = table.column_names
    if len(names) != 2:
        raise InputError(f"{shown(where)}: expected two columns, recording and group, but got {some(names)}")
    table = table_of(group, text=names, name="groups")
    key = next((name for name in NAMES["case"] if name in names), names[0])
    level = next(name for name in names if name != key)
    ids, values = (table.column(name).to_pylist() for name in (key, level))
    if None in ids or None in values or len(set(ids)) < len(ids):
        raise InputError(f"{shown(where)}: expected every recording once, with its group")
    return dict(zip(ids, values, strict=True)), level, where


def _match_values(given: Given, group: Any) -> dict[str, str]:
    """Return groups by recording, of one value per recording, or per row of the only table."""
    values = [str(value) for value in to_column(group, "groups").to_pylist()]
    ids = [case.id for case in given.cases]
    rows = given.rows if given.rows is not None and len(values) == len(given.rows) else ids
    if len(values) != len(rows):
        more = "" if given.rows is None else f", or the {len(given.rows):,} rows of its table"
        raise InputError(
            f"groups: {len(values):,} values, expected one for each of the {len(ids):,} recordings of the truth{more}"
        )
    found: dict[str, str] = {}
    for name, value in zip(rows, values, strict=True):
        if found.setdefault(name, value) != value:
            raise InputError(
                f"groups: recording {shown(name, 80)!r} has the groups {found[name]!r} and {value!r}; give it one"
            )
    return found


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
