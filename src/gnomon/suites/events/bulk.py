"""Files of many events, read as columns: the truth and the results that :mod:`gnomon.suites.events.files` reads.

A file is read in bulk if everything in it is as usual: labels are not blank, all times are of one kind and written as
Arrow reads them, and objects hold ``t1``, ``t2`` and ``label``, perhaps a score under one of its names, and perhaps
``body_position`` and ``data``, which are not read; each once. Otherwise the functions return None; the file is then
read row by row, which gives the same result, or says what is wrong.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import UNSET, Raw, UnsetType

from gnomon.core.tallies import Array
from gnomon.intake.depth import check_depth
from gnomon.intake.documents import check_parsed_bytes, count_pairs, read_bytes
from gnomon.intake.faults import shown
from gnomon.intake.limits import Limits
from gnomon.intake.unread import note
from gnomon.suites.events.spans import EXACT, Read, moments
from gnomon.suites.events.times import AWARE, NAIVE, NUMBER

_BOM = b"\xef\xbb\xbf"
_ROOM = 1 << 16  # objects that become columns at a time
_FAULTS = (msgspec.MsgspecError, pa.ArrowException, ValueError, RecursionError, MemoryError)


class Item(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A stretch as an object of a JSON file."""

    t1: str | float
    t2: str | float
    label: str | int
    score: float | UnsetType | None = UNSET
    confidence: float | UnsetType | None = UNSET
    probability: float | UnsetType | None = UNSET
    prob: float | UnsetType | None = UNSET
    body_position: Any = UNSET
    data: Any = UNSET


class Fields(Mapping[str, Any]):
    """Fields of an object, of which some are decoded when they are asked for."""

    def __init__(self, held: Mapping[str, Any]) -> None:
        self._held = held

    def __getitem__(self, name: str) -> Any:
        value = self._held[name]
        return msgspec.json.decode(value) if isinstance(value, Raw) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


_NEEDED = ("t1", "t2", "label")
_SCORES = ("score", "confidence", "probability", "prob")
_UNREAD = ("body_position", "data")
_OPTIONAL = (*_SCORES, *_UNREAD)
_ITEMS = msgspec.json.Decoder(list[Item])
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_OBJECTS = msgspec.json.Decoder(list[dict[str, Raw]])


def read_cases(path: str | os.PathLike[str], limits: Limits) -> tuple[list[dict[str, Any]], list[Read], bool] | None:
    """Return the fields of every case, with ``labels`` undecoded; these as stretches; and whether the file is a list.

    Raises what :func:`gnomon.intake.documents.read_json` raises if the file is too large or too deep.
    """
    data, pairs = _opened(path, limits)
    listed = data[:1] == b"["
    try:
        found = _OBJECTS.decode(data) if listed else [_OBJECT.decode(data)]
        cases = [{k: v if k == "labels" else msgspec.json.decode(v) for k, v in case.items()} for case in found]
        columns = _Columns()
        for case in found:
            columns.add(case["labels"])
        told = columns.read(pairs - sum(map(count_pairs, cases)))
    except (*_FAULTS, KeyError):
        return None
    if told is None:
        return None
    note(path, {f"labels.{name}": columns.given[name] for name in _OPTIONAL})
    return cases, told, listed


def read_results(path: str | os.PathLike[str], limits: Limits, only: str) -> dict[str, Read] | None:
    """Return the results of a JSON file by case; those of a file without cases under ``only``.

    Raises as :func:`read_cases` does.
    """
    data, pairs = _opened(path, limits)
    bare = data[:1] == b"["
    try:
        found = {only: Raw(data)} if bare else _OBJECT.decode(data)
        columns = _Columns()
        for items in found.values():
            columns.add(items)
        told = columns.read(pairs if bare else pairs - len(found))
    except _FAULTS:
        return None
    if told is None or not (bare or all(map(str.strip, found))):
        return None
    note(path, {name: columns.given[name] for name in _UNREAD})
    return dict(zip(found, told, strict=True))


def from_table(table: pa.Table, columns: Mapping[str, str], only: str) -> dict[str, Read] | None:
    """Return the results of a table by case, in the order of its rows; those without cases under ``only``.

    ``columns`` names the columns of start, end, label, and of case and score where there are some. Rows with a case and
    nothing else are of cases in which nothing was found.
    """
    try:
        cases, codes, table = _cases(table, columns, only)
        sides = tuple(_cells(table.column(columns[side])) for side in ("start", "end"))
        kind, starts, ends = _times(sides, (NUMBER, AWARE, NAIVE))
        names, labels = _coded(table.column(columns["label"]))
        scores = _scores(table.column(columns["score"])) if "score" in columns else np.full(len(starts), np.nan)
        if any(not name.strip() for name in (*names, *(cases if "case" in columns else ()))):
            return None
    except _FAULTS:
        return None
    whole = Read(kind, starts, ends, None if kind == NUMBER else sides, labels, names, scores)
    order = slice(None) if (np.diff(codes) >= 0).all() else np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(cases)).tolist()
    return dict(zip(cases, whole.only(order).split(counts), strict=True))


def _cells(column: pa.ChunkedArray) -> pa.Array:
    """Return times as they stand in a table: text, or numbers of which none is missing."""
    if pa.types.is_string(column.type):
        return column.fill_null("").combine_chunks()
    if column.null_count or pa.types.is_boolean(column.type):
        raise ValueError("a time that is missing, or no number")
    return column.combine_chunks()


class _Columns:
    """Stretches of JSON objects, case after case."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.waiting: list[Item] = []
        self.parts: list[tuple[Any, ...]] = []
        self.kinds: set[type] = set()
        self.pairs = 0
        self.given: Counter[str] = Counter()

    def add(self, items: Raw) -> None:
        """Take the stretches of a case."""
        found = _ITEMS.decode(items)
        self.counts.append(len(found))
        self.waiting += found
        if len(self.waiting) >= _ROOM:
            self._take()

    def read(self, pairs: int) -> list[Read] | None:
        """Return the stretches of every case; None if the objects hold another number of pairs: then one is twice."""
        self._take()
        if pairs != self.pairs or len(self.kinds) > 1:
            return None
        *sides, labels, scores = (list(column) for column in zip(*self.parts, strict=True))
        if self.kinds == {str}:
            texts = pa.concat_arrays(sides[0]), pa.concat_arrays(sides[1])
            kind, starts, ends = _times(texts, (AWARE, NAIVE))
        else:
            kind, texts = NUMBER, None
            starts, ends = (_exact(np.concatenate(side)) for side in sides)
        names, codes = _coded(pa.chunked_array(labels))
        if any(not name.strip() for name in names):
            return None
        return Read(kind, starts, ends, texts, codes, names, _exact(np.concatenate(scores))).split(self.counts)

    def _take(self) -> None:
        items, self.waiting = self.waiting, []
        if not items and self.parts:
            return
        starts, ends, labels = ([getattr(item, name) for item in items] for name in _NEEDED)
        optional = {name: [getattr(item, name) for item in items] for name in _OPTIONAL}
        for name, values in optional.items():
            given = [value for value in values if value is not UNSET]
            self.given[name] += len(given)
            self.pairs += len(given) + count_pairs(given)
        scored = [name for name in _SCORES if self.given[name]]
        if len(scored) > 1:
            raise ValueError("scores under several names")
        self.pairs += len(_NEEDED) * len(items)
        kinds = {*map(type, starts), *map(type, ends)}
        self.kinds |= kinds
        column = pa.array if kinds == {str} else np.array
        scores = [score if isinstance(score, float) else np.nan for score in optional[(*scored, "score")[0]]]
        texts = pa.array(labels if set(map(type, labels)) <= {str} else list(map(str, labels)), pa.string())
        self.parts.append((column(starts), column(ends), texts, np.array(scores, dtype=np.float64)))


def _opened(path: str | os.PathLike[str], limits: Limits) -> tuple[bytes, int]:
    """Return the text of a JSON file from its first byte that is not blank, and how many pairs it holds."""
    data = read_bytes(path, limits).removeprefix(_BOM)
    pairs = check_depth(data, limits.max_json_depth, shown(path)).pairs
    check_parsed_bytes(data, shown(path), limits, pairs)
    return data.lstrip(b" \t\r\n"), pairs


def _times(texts: tuple[Any, Any], kinds: Sequence[str]) -> tuple[str, Array, Array]:
    """Return of which kind the times are, starts and ends."""
    for kind in kinds:
        starts = moments(texts[0], kind)
        ends = None if starts is None else moments(texts[1], kind)
        if starts is not None and ends is not None:
            return kind, starts, ends
    raise ValueError("times of several kinds, or of none")


def _exact(numbers: Array) -> Array:
    """Return numbers that are the same whether they are read as floats or as whole numbers."""
    if (np.abs(numbers) >= EXACT).any():
        raise ValueError("a number that may have been rounded")
    return numbers


def _coded(texts: pa.ChunkedArray) -> tuple[list[str], Array]:
    """Return texts by their places in a list of different ones, which are in the order of their first use."""
    names = pc.unique(texts := texts.fill_null(""))
    return names.to_pylist(), pc.index_in(texts, value_set=names).to_numpy().astype(np.int64)


def _scores(texts: pa.ChunkedArray) -> Array:
    """Return scores, NaN where the cell is empty."""
    if not pa.types.is_string(texts.type):
        return _known_scores(texts)
    empty = _empty(texts)
    found: Array = pc.if_else(empty, pa.scalar(None, pa.string()), texts).cast(pa.float64()).to_numpy()
    if not np.isfinite(found[~empty.to_numpy()]).all():
        raise ValueError("a score that is not finite")
    return found


def _known_scores(numbers: pa.ChunkedArray) -> Array:
    """Return scores that are numbers already, NaN where there is none."""
    if pa.types.is_boolean(numbers.type):
        raise ValueError("scores that are no numbers")
    found: Array = numbers.cast(pa.float64()).to_numpy()
    if np.isinf(found).any():
        raise ValueError("a score that is not finite")
    return found


def _cases(table: pa.Table, columns: Mapping[str, str], only: str) -> tuple[list[str], Array, pa.Table]:
    """Return the cases of a table in the order of their first row, the case of every row, and rows with a stretch."""
    if "case" not in columns:
        return [only], np.zeros(table.num_rows, np.int64), table
    names, codes = _coded(table.column(columns["case"]))
    empty = _empty(table.column(columns["start"]))
    if not pc.any(empty).as_py():
        return names, codes, table
    for name in table.column_names:
        if name != columns["case"]:
            empty = pc.and_(empty, _empty(table.column(name)))
    kept = pc.invert(empty)
    return names, codes[kept.to_numpy()], table.filter(kept)


def _empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Say which cells hold nothing."""
    if not pa.types.is_string(column.type):
        return pc.is_null(column)
    return pc.equal(column.fill_null(""), "")
