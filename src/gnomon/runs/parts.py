"""Parts: what one shard leaves once it is tallied, stored as a file, and folded into one evaluation.

A score is a fold over cases, so shards can be tallied one at a time, in any order and anywhere: what has to be kept of
each is who its cases are, their tallies and ledgers, and plain facts that its suite puts together. Cases of one id in
several shards are one case, whose tallies add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core.cases import Roster
from gnomon.core.errors import GnomonError, InputError, IntegrityError, some
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array, Tallies, natural_key, union
from gnomon.intake.arrays import read_npz
from gnomon.intake.limits import DEFAULT
from gnomon.runs.packing import (
    as_text,
    from_text,
    pack_ledgers,
    pack_tallies,
    unpack_ledgers,
    unpack_tallies,
    write_npz,
)

ROOM = 8 << 20
"""Bytes of parts that are held before they are folded."""
FILE = "part.npz"
ABOUT, VALUES = "about", "values"
"""What is in it: plain data, and the values of all arrays, one after another; an archive of each would cost more."""
TALLIES, LEDGERS = "tallies", "ledgers"
ALIGNED = 16
"""Bytes of whose multiples the values of an array begin."""
NONE = np.zeros(0, np.uint8)


@dataclass(frozen=True)
class Part:
    """What a shard left.

    Attributes
    ----------
    roster, tallies, ledgers
        Its cases, and what was tallied of them.
    facts
        Plain data of the suite, such as counts of rows, classes and digests of what was read.
    table
        The predictions, as a run keeps them. Of a shard the fingerprint is stored, not the table.
    ids
        Ids that may be in one shard only. Of a shard their hashes are stored.
    files
        Further files, by name, that are stored beside the part, such as snapshots.
    tables
        Tables by key, where several evaluations are made of one chunk; ``facts[key]`` holds the facts of each.
    """

    roster: Roster
    tallies: Mapping[str, Tallies]
    ledgers: Mapping[str, Ledger] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    table: pa.Table | None = None
    ids: pa.Array | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


def write(part: Part, folder: Path) -> None:
    """Write a part into a folder, as one file: shards are many, and files cost more than what is in them."""
    roster = part.roster
    who = {"ids": roster.ids, "groups": roster.groups, "tags": dict(roster.tags), "level": roster.level}
    packed = {TALLIES: pack_tallies(part.tallies), LEDGERS: pack_ledgers(part.ledgers)}
    arrays = {kind: [[name, a.dtype.str, a.shape] for name, a in held.items()] for kind, held in packed.items()}
    every = [array for held in packed.values() for array in held.values()]
    values, at = np.zeros(sum(map(_room, every)), np.uint8), 0
    for array in every:
        values[at : at + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        at += _room(array)
    about = as_text({"roster": who, "facts": dict(part.facts), "arrays": arrays})
    write_npz(folder / FILE, {ABOUT: about, VALUES: values})


def read(folder: Path) -> Part:
    """Read a part."""
    held = read_npz(folder / FILE)
    about = from_text(held.get(ABOUT, NONE), ABOUT, DEFAULT)
    try:
        who = about["roster"]
        tags = {name: tuple(values) for name, values in who["tags"].items()}
        roster = Roster(tuple(who["ids"]), tuple(who["groups"]), tags, who["level"])
        packed = _unpacked(about["arrays"], held[VALUES])
        return Part(roster, unpack_tallies(packed[TALLIES]), unpack_ledgers(packed[LEDGERS]), about["facts"])
    except (KeyError, TypeError, ValueError) as error:
        raise IntegrityError(f"{folder / FILE}: damaged ({error}); score the shard again") from error


def _room(array: Array) -> int:
    """Return how many bytes an array takes, up to where the next one may begin."""
    return array.nbytes + -array.nbytes % ALIGNED


def _unpacked(arrays: Mapping[str, Any], values: Array) -> dict[str, dict[str, Array]]:
    """Return the arrays whose values stand one after another, by kind and name."""
    found: dict[str, dict[str, Array]] = {TALLIES: {}, LEDGERS: {}}
    at = 0
    for kind, held in found.items():
        for name, kept, shape in arrays[kind]:
            dtype = np.dtype(kept)
            size = dtype.itemsize * math.prod(shape)
            if dtype.kind not in "biuf" or min(shape, default=0) < 0 or size > len(values) - at:
                raise ValueError(f"{name}: {dtype} of shape {shape} is not in its values")
            held[name] = values[at : at + size].view(dtype).reshape(shape)
            at += _room(held[name])
    return found


def folded(parts: Sequence[Part], counted: Mapping[str, Sequence[str]] | None = None) -> Part:
    """Fold parts into one; facts are left to the suite.

    Parameters
    ----------
    parts
        At least one, of one suite and protocol.
    counted
        Ledgers that count: their columns in the order in which rows are sorted, and last the column of counts; rows
        that are equal in all others are added up.

    Raises
    ------
    InputError
        One case belongs to different groups, or has different tags, in two shards.
    """
    if not parts:
        raise GnomonError("nothing to fold: expected at least one part")
    if len(parts) == 1:
        return parts[0]
    roster, places = _joined([part.roster for part in parts])
    order = np.concatenate(places)
    families = list(dict.fromkeys(name for part in parts for name in part.tallies))
    tallies = {name: Tallies.stack(_tallies(parts, name)).grouped(order, len(roster)) for name in families}
    ledgers = {}
    for name in dict.fromkeys(name for part in parts for name in part.ledgers):
        stacked = Ledger.stack(
            [(one, len(part.roster)) for one, part in zip(_ledgers(parts, name), parts, strict=True)]
        )
        moved = Ledger(order[stacked.case], stacked.columns, stacked.labels)
        ledgers[name] = _added(moved, counted[name]) if counted and name in counted else _sorted(moved)
    return Part(roster, tallies, ledgers)


def placed(read: Callable[[], Iterable[Part]], roster: Roster, kept: Callable[[str], bool] = lambda _: True) -> Part:
    """Put parts onto the cases of a roster one after another, so that what parts hold is not held twice.

    Parameters
    ----------
    read
        Gives the parts, twice: once for the labels of their axes. What a family holds of a case is in one of them;
        nothing is added up.
    roster
        The cases, among which are those of the parts.
    kept
        Says by its name whether a family of tallies is wanted.

    Raises
    ------
    GnomonError
        Two parts hold something of one case in one family, or one has a case that is not on the roster.
    """
    place = {case: index for index, case in enumerate(roster.ids)}
    models: dict[str, Tallies] = {}
    for part in read():
        for name, one in part.tallies.items():
            if kept(name):
                models[name] = _over(models.get(name, one), one)
    tallies = {name: _blank(model, len(roster)) for name, model in models.items()}
    taken = {name: np.zeros(len(roster), dtype=np.bool_) for name in models}
    ledgers: dict[str, list[tuple[Ledger, int]]] = {}
    for part in read():
        if strange := [case for case in part.roster.ids if case not in place]:
            raise GnomonError(f"parts of cases that are not on the roster: {some(strange)}")
        order = np.array([place[case] for case in part.roster.ids], dtype=np.int64)
        for name in models.keys() & part.tallies.keys():
            own = part.tallies[name].relabel(models[name].axes)
            rows = own.filled()
            if taken[name][order[rows]].any():
                raise GnomonError(f"{name}: several parts hold something of one case")
            taken[name][order[rows]] = True
            for key, array in tallies[name].items():
                array[order[rows]] = own.fields[key][rows]
        for name, ledger in part.ledgers.items():
            moved = Ledger(order[ledger.case], ledger.columns, ledger.labels)
            ledgers.setdefault(name, []).append((moved, 0))
    return Part(
        roster,
        {name: Tallies.of_checked(one.layout, one.axes, tallies[name], len(roster)) for name, one in models.items()},
        {name: _sorted(Ledger.stack(rows)) for name, rows in ledgers.items()},
    )


def _over(model: Tallies, other: Tallies) -> Tallies:
    """Return tallies of no case over the labels of both."""
    axes = {name: union([labels, other.axes[name]]) for name, labels in model.axes.items()}
    return Tallies(model.layout, model.axes, _blank(model, 0)).relabel(axes)


def _blank(model: Tallies, n: int) -> dict[str, Array]:
    """Return fields that hold nothing for so many cases."""
    return {key: np.zeros((n, *held.shape[1:]), held.dtype) for key, held in model.fields.items()}


def gathered(parts: Iterable[Part], columns: Sequence[str]) -> Part:
    """Fold parts of counts one after another, so that few are held at a time.

    Parameters
    ----------
    parts
        At least one; tallies are counts, which may be added in any order, and all ledgers count.
    columns
        The columns of every ledger, as in :func:`folded`.
    """
    held: list[Part] = []
    size = 0
    for part in parts:
        if any(field.kind != "count" for tallies in part.tallies.values() for field in tallies.layout):
            raise GnomonError("only counts are gathered one after another; fold sums at once, so that they are exact")
        held.append(part)
        size += _size(part)
        if size > max(ROOM, 2 * _size(held[0])):
            held = [folded(held, _all(held, columns))]
            size = _size(held[0])
    return folded(held, _all(held, columns))


def _all(parts: Sequence[Part], columns: Sequence[str]) -> dict[str, Sequence[str]]:
    return {name: columns for part in parts for name in part.ledgers}


def _size(part: Part) -> int:
    """Return the bytes of what was tallied."""
    tallies = sum(array.nbytes for one in part.tallies.values() for array in one.fields.values())
    return tallies + sum(array.nbytes for one in part.ledgers.values() for array in (one.case, *one.columns.values()))


def _joined(rosters: Sequence[Roster]) -> tuple[Roster, list[Array]]:
    """Return all cases in natural order, and where those of each roster are in it."""
    known: dict[str, tuple[str, tuple[str, ...]]] = {}
    names = list(dict.fromkeys(name for roster in rosters for name in roster.tags))
    for roster in rosters:
        own_tags = list(zip(*(roster.tags.get(name, ("",) * len(roster)) for name in names), strict=True))
        for index, case in enumerate(roster.ids):
            own = roster.groups[index], own_tags[index] if names else ()
            if known.setdefault(case, own) != own:
                raise InputError(
                    f"case {case!r} has group and tags {some(known[case])} in one shard and {some(own)} in another: "
                    "one case belongs to one group"
                )
    ids = tuple(sorted(known, key=natural_key))
    place = {case: index for index, case in enumerate(ids)}
    tags = {name: tuple(known[case][1][at] for case in ids) for at, name in enumerate(names)}
    whole = Roster(ids, tuple(known[case][0] for case in ids), tags, rosters[0].level)
    return whole, [np.array([place[case] for case in roster.ids], dtype=np.int64) for roster in rosters]


def _tallies(parts: Sequence[Part], name: str) -> list[Tallies]:
    """Return a family of every part; where a shard has none, its cases hold nothing of it."""
    model = next(part.tallies[name] for part in parts if name in part.tallies)

    def blank(n: int) -> Tallies:
        return Tallies(model.layout, model.axes, _blank(model, n))

    return [part.tallies[name] if name in part.tallies else blank(len(part.roster)) for part in parts]


def _ledgers(parts: Sequence[Part], name: str) -> list[Ledger]:
    """Return a ledger of every part; where a shard has none, it has no rows."""
    model = next(part.ledgers[name] for part in parts if name in part.ledgers)
    columns = {key: column[:0] for key, column in model.columns.items()}
    return [part.ledgers.get(name, Ledger(model.case[:0], columns, model.labels)) for part in parts]


def _sorted(ledger: Ledger) -> Ledger:
    order = np.argsort(ledger.case, kind="stable")
    return Ledger(ledger.case[order], {name: column[order] for name, column in ledger.columns.items()}, ledger.labels)


def _added(ledger: Ledger, order_of: Sequence[str]) -> Ledger:
    """Add up the counts of equal rows."""
    *names, count = order_of
    keys = [ledger.case, *(ledger.columns[name] for name in names)]
    order = np.lexsort(keys[::-1])
    keys = [key[order] for key in keys]
    new = np.ones(len(order), dtype=np.bool_)
    if len(order):
        new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    starts = np.flatnonzero(new)
    sums = np.add.reduceat(ledger.columns[count][order], starts) if len(starts) else ledger.columns[count]
    columns = {name: key[starts] for name, key in zip(names, keys[1:], strict=True)}
    ordered = {name: sums if name == count else columns[name] for name in ledger.columns}
    return Ledger(keys[0][starts], ordered, ledger.labels)
