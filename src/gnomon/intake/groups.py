"""Groups that are given beside the truth: by name in a mapping or a table, or as values in its order.

- A mapping from names (of rows, recordings, sequences) to groups.
- A table of two columns, as a path or in memory: one holds the names, the other the groups.
- Values: one for every name in the order of the truth, or one for every row, where rows of one name agree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.intake.faults import shown
from gnomon.intake.memory import is_column, table_of, to_column

GROUP = "group"
MEMORY = "<groups in memory>"
GROUP_LIKE = (
    "subject", "subject_id", "user", "user_id", "participant", "participant_id", "person", "person_id", "patient",
    "patient_id", "session", "recording", "room", "scene",
)  # fmt: skip
"""Names of columns whose values are usually not independent of each other, the most usual first."""


@dataclass(frozen=True)
class Groups:
    """Groups by name, what they are called (the column of their table), and where they come from."""

    of: Mapping[str, str]
    level: str = GROUP
    where: str = MEMORY


def is_given(value: Any) -> bool:
    """Say whether an option that takes data was given; a data frame does not say so by itself."""
    return not (value is None or (isinstance(value, (str, tuple)) and not value))


def is_group_table(value: Any) -> bool:
    """Say whether groups are given beside the truth, and not as the name of a column or tag."""
    return is_given(value) and (not isinstance(value, str) or os.path.isfile(value))


def offer_group(names: Iterable[str]) -> str:
    """Return the column that looks like a group, such as subject or session; nothing where there is none.

    >>> offer_group(["id", "Session", "Subject"])
    'Subject'
    """
    known = {name.lower(): name for name in names}
    return next((known[name] for name in GROUP_LIKE if name in known), "")


def find_groups(
    given: Any, names: Sequence[str], *, keys: Sequence[str], thing: str, rows: Sequence[str] = ()
) -> Groups:
    """Return the group of every name.

    Parameters
    ----------
    given
        A mapping, a table or its path, or values.
    names
        What has a group, each once, in the order of the truth.
    keys
        How the column of names may be called in a table; without one of these it is the first.
    thing
        What a name stands for, in messages, as ``recording``.
    rows
        The name of every row of the truth, where values may also be given by row.
    """
    if isinstance(given, Mapping) and not any(key in given for key in keys):
        found = Groups({str(name): str(group) for name, group in given.items()})
    elif is_column(given):
        found = Groups(_match_values(given, names, rows, thing))
    else:
        found = _read_table(given, names, keys, thing)
    lacking = [name for name in names if not found.of.get(name)]
    if lacking:
        raise InputError(
            f"{shown(found.where)}: no group for {len(lacking):,} of {len(names):,} {thing}s: "
            f"{some(lacking[:5], len(lacking))}; it has {some(found.of)}; add them"
        )
    return found


def _read_table(given: Any, names: Sequence[str], keys: Sequence[str], thing: str) -> Groups:
    """Return groups of a table: a column of names and one of groups, or groups alone in the order of the truth."""
    where = os.fspath(given) if isinstance(given, (str, os.PathLike)) else MEMORY
    columns = table_of(given, name="groups").column_names
    table = table_of(given, text=columns, name="groups")
    if len(columns) == 1:
        return Groups(_match_values(table.column(0), names, (), thing), columns[0], where)
    key = next((name for name in keys if name in columns), columns[0])
    others = [name for name in columns if name != key]
    if len(others) > 1 and GROUP not in others:
        raise InputError(f"{shown(where)}: expected two columns, {thing} and group, but got {some(columns)}")
    level = GROUP if GROUP in others else others[0]
    ids, values = (table.column(name).to_pylist() for name in (key, level))
    if None in ids or None in values or len(set(ids)) < len(ids):
        raise InputError(f"{shown(where)}: expected every {thing} once in column {key!r}, with its group in {level!r}")
    return Groups(dict(zip(ids, values, strict=True)), level, where)


def _match_values(given: Any, names: Sequence[str], rows: Sequence[str], thing: str) -> dict[str, str]:
    """Return groups of one value per name, or per row."""
    values = [str(value) for value in to_column(given, "groups").to_pylist()]
    held = rows if rows and len(values) == len(rows) else names
    if len(values) != len(held):
        more = f" or {len(rows):,}, one for each row" if rows and len(rows) != len(names) else ""
        raise InputError(
            f"groups: {len(values):,} values, expected {len(names):,}, one for each {thing} of the truth{more}"
        )
    found: dict[str, str] = {}
    for name, value in zip(held, values, strict=True):
        if found.setdefault(name, value) != value:
            raise InputError(
                f"groups: {thing} {shown(name, 80)!r} has the groups {found[name]!r} and {value!r}; give it one"
            )
    return found
