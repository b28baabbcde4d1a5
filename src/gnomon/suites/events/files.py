"""The JSON files of ``events``: truth as perfboard writes it, and results, which other formats may hold, too.

Truth is JSON, one object per case or a list of them: ``t1`` and ``t2`` (the window), ``labels`` (objects with ``t1``,
``t2``, ``label``), optionally ``id`` and ``data_path`` (see :mod:`gnomon.suites.events.raw`). The id of a case is its
``id``, else the name of the file without suffix, in a list followed by ``-0``, ``-1``, ... Every other field is kept;
text, numbers and flat objects become tags such as ``device`` and ``subject.age``.

Results are JSON, an ordered list of objects with ``t1``, ``t2``, ``label`` and perhaps ``score``, or such lists by
case; or one of the formats of :mod:`gnomon.intake.formats.intervals`, of which CSV, the TSV of DCASE and Audacity
labels are written, too. The names of columns are understood in JSON as well. Truth in these formats is made into cases
by :mod:`gnomon.suites.events.recordings`.

What a file holds under other names is not read, and named in a finding (:mod:`gnomon.intake.unread`), as are fields of
a truth that are neither read nor tags. A row with a case and nothing else says that nothing was found in it. Results
without case ids are found under ``ONLY``; :func:`gnomon.suites.events.spans.place` gives them seconds. What is as usual
is read by :mod:`gnomon.suites.events.bulk`, all else row by row.
"""

from __future__ import annotations

import csv
import io
import math
import numbers
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from gnomon.core.cases import join
from gnomon.core.errors import InputError, some
from gnomon.intake.documents import read_json
from gnomon.intake.faults import guarded, shown
from gnomon.intake.formats.intervals import (
    JSON,
    MAYBE_SCORES,
    NAMES,
    TRUE_THINGS,
    Intervals,
    add_duration,
    find_columns,
    find_names,
    is_number_text,
    read_intervals,
    recognise,
)
from gnomon.intake.limits import DEFAULT, Limits
from gnomon.intake.tables import table_suffix
from gnomon.intake.unread import note, note_columns
from gnomon.intake.writing import replacing
from gnomon.suites.events import bulk
from gnomon.suites.events.plausible import UNITS, Evidence, check_unit, check_windows, outside, weigh
from gnomon.suites.events.spans import Read, joined, place
from gnomon.suites.events.times import Moment, Stretch, Zone, from_text, kind_of, moment, show, written, zone_of

ONLY = ""
"""The id under which results without case ids are found."""
_HEADS = {".csv": "case start end label score", ".tsv": "filename onset offset event_label score"}
_STRUCTURE = ("id", "data_path", "t1", "t2", "labels")
OBJECT_THINGS = (*TRUE_THINGS, "duration", "score")
"""What is read of a detection that is an object."""
Results = Mapping[str, Sequence[Stretch[Moment]]]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class TruthCase:
    """One recording: times in seconds of its zone, and everything else that its file says."""

    id: str
    path: Path
    window: tuple[float, float]
    stretches: Sequence[Stretch[float]]
    tags: Mapping[str, str]
    zone: Zone
    data_glob: str | None
    fields: Mapping[str, Any]
    window_from: str = ""
    """Where the window comes from, if the truth does not state it: see :mod:`gnomon.suites.events.recordings`."""


def called(case: str) -> str:
    """Return what a run calls a case: its id, whose parts between slashes are levels of a path.

    >>> called("kitchen/part-03"), called("90%")
    ('kitchen/part-03', '90%25')
    """
    return join(case.split("/"))


def read_truth(
    *paths: str | os.PathLike[str], name: str = "", unit: str = "", limits: Limits = DEFAULT
) -> list[TruthCase]:
    """Return the cases of truth files in the order given; no two have one id.

    ``name`` takes the place of a file's own where a case is called by it. ``unit`` is that of times that are numbers.
    """
    cases: dict[str, TruthCase] = {}
    for path in map(Path, paths):
        if (kind := recognise(path, limits)) != JSON:
            raise InputError(f"{shown(path)}: this is {kind}; expected JSON with t1, t2 and labels")
        unread: Counter[str] = Counter()
        for number, at, item, told in _items(path, limits):
            case = _case(path, item, told, (name or path.stem) + number, where := f"{shown(path)}: {at}")
            if case.id in cases:
                other = shown(cases[case.id].path)
                raise InputError(f"{where}id: {shown(case.id, 80)!r} is also in {other}; give each case its own")
            cases[case.id] = case
            unread.update(_unread(item, told))
        note(path, unread)
    if not cases:
        raise InputError(
            f"{some(shown(path) for path in paths) or 'truth'}: no case in it; give at least one recording"
        )
    return [_in_seconds(case, UNITS[unit or "s"]) for case in cases.values()]


def _in_seconds(case: TruthCase, per_second: float) -> TruthCase:
    """Return a case whose times were numbers of a unit; dates stay as they are."""
    if per_second == 1 or case.zone.origin is not None:
        return case
    held = joined([case.stretches])
    placed = replace(held, starts=held.starts / per_second, ends=held.ends / per_second)
    return replace(case, window=(case.window[0] / per_second, case.window[1] / per_second), stretches=placed)


def weigh_labels(cases: Iterable[TruthCase]) -> Evidence:
    """Return what labels say about the unit of their times; those of cases with dates say nothing."""
    numbered = (case for case in cases if case.zone.origin is None)
    placed = ((case.window, joined([case.stretches])) for case in numbered)
    return weigh((window, labels.starts, labels.ends) for window, labels in placed)


def check_labels(evidence: Evidence, where: str) -> None:
    """Refuse a truth whose labels are in another unit than its windows."""
    check_unit(evidence, where, "labels", lambda _: "write window and labels in seconds")
    check_windows(evidence, where)


def check_cases(cases: Sequence[TruthCase], unit: str) -> None:
    """Refuse cases whose labels, all together, are in another unit than their windows; seconds asked for are obeyed."""
    evidence = weigh_labels(cases)
    if unit != "s":
        check_labels(evidence, name_files(cases))


def touch(cases: Iterable[TruthCase]) -> str | None:
    """Return None where a label touches its window; else where labels and window of the first such recording lie.

    The text is empty where there are no labels at all.
    """
    said = ""
    for case in cases:
        labels = joined([case.stretches])
        if not len(labels):
            continue
        if not outside(labels.starts, labels.ends, case.window).all():
            return None
        if said:
            continue
        first, last = float(labels.starts.min()), float(labels.ends.max())
        ranges = [[show(edge, case.zone) for edge in pair] for pair in ((first, last), case.window)]
        events, window = (" to ".join(pair) for pair in ranges)
        said = f"true events of {shown(case.id, 80)!r} lie from {events}, but its window is from {window}"
        if case.zone.origin is None and first >= 0 and last <= case.window[1] - case.window[0]:
            said += "; the labels seem to count from the start of the window"
    return said


def check_touch(said: Sequence[str | None], where: str, *, derived: bool = False) -> None:
    """Refuse a truth whose labels are all outside of their windows: nothing could be scored.

    ``said`` is what :func:`touch` returned for parts of the truth; ``derived`` says that it does not state windows.
    """
    figures = next(filter(None, said), "")
    if figures and None not in said:
        advice = "write t1 and t2 of the recording and of its labels in seconds of one clock"
        raise InputError(
            f"{where}: no true event touches the window of its recording, so that nothing can be scored: {figures}; "
            f"{'give a longer --duration, or leave it out' if derived else advice}"
        )


def name_files(cases: Iterable[TruthCase]) -> str:
    """Return how messages call the files of cases."""
    return some(dict.fromkeys(shown(case.path) for case in cases), show=2)


def read_predictions(path: str | os.PathLike[str], tier: str = "", *, limits: Limits = DEFAULT) -> Results:
    """Return what was recognised by case id, in the order of the file; ``tier`` names that of files with several."""
    kind = recognise(path, limits)
    if kind != JSON:
        held = read_intervals(path, kind, tier, limits)
        note_columns(path, held.table, held.columns.values())
        return group_intervals(held)
    found = bulk.read_results(path, limits, ONLY)
    if found is not None:
        return found
    value = read_json(path, limits=limits)
    where = shown(path)
    items = _listed(value.values() if isinstance(value, dict) else [value])
    unread = names_in_words(items)
    if isinstance(value, dict):
        results = {
            _text(c, f"{where}: the name of a case"): stretches_of(v, f"{where}: {shown(c, 80)}", unread)
            for c, v in value.items()
        }
    else:
        results = {ONLY: stretches_of(value, f"{where}: ", unread)}
    note(path, count_unread(items, unread))
    return results


def group_intervals(held: Intervals) -> Results:
    """Return intervals by recording, in the order of their rows; those of a table without recordings under ``ONLY``."""
    found = bulk.from_table(held.table, held.columns, ONLY)
    if found is not None:
        return found
    rows: dict[str, list[Stretch[Moment]]] = {} if "case" in held.columns else {ONLY: []}
    case = held.columns.get("case")
    for index, row in zip(held.rows, held.table.to_pylist(), strict=True):
        where = f"{shown(held.where)}: row {index}"
        group = rows.setdefault(_text(row[case], f"{where}.{case}") if case else ONLY, [])
        if not case or any(value not in (None, "") for name, value in row.items() if name != case):
            group.append(_stretch(row, held.columns, where, _cell_time))
    return rows


def check_order(held: Intervals, groups: Results) -> None:
    """Refuse a row that ends before it starts, by its number."""
    if not any(_is_reversed(one) for items in groups.values() for one in _suspects(items)):
        return
    for index, row in zip(held.rows, held.table.to_pylist(), strict=True):
        where = f"{shown(held.where)}: row {index}"
        if row[held.columns["start"]] not in (None, "") and _is_reversed(
            one := _stretch(row, held.columns, where, _cell_time)
        ):
            raise InputError(f"{where}: ends before it starts: {one.start} to {one.end}; exchange or correct them")


def _suspects(items: Sequence[Stretch[Moment]]) -> Iterable[Stretch[Moment]]:
    """Return the stretches that may end before they start: of columns, those that do."""
    return items.only(items.starts > items.ends) if isinstance(items, Read) and items.texts is None else items


def _is_reversed(one: Stretch[Any]) -> bool:
    return kind_of(one.start) == kind_of(one.end) and one.start > one.end


def stretches_of(items: object, where: str, unread: Collection[str] = ()) -> list[Stretch[Moment]]:
    """Return result objects ``{"t1", "t2", "label", "score"?}`` as stretches; times are dates, ISO text or numbers.

    ``unread`` are names that are not read, although others of the kind are.
    """
    if not isinstance(items, (list, tuple)):
        raise InputError(f"{where}: got {type(items).__name__}, expected a list of objects with t1, t2 and label")
    found = []
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise InputError(f"{where}[{index}]: got {type(item).__name__}, expected an object with t1, t2 and label")
        columns = find_columns(item, f"{where}[{index}]", unread)
        found.append(_stretch(item, columns, f"{where}[{index}]", moment))
    return found


def names_in_words(items: Iterable[Any], names: Collection[str] = MAYBE_SCORES) -> set[str]:
    """Return which of the names of a score hold something else than a number in a result object."""
    objects = [item for item in items if isinstance(item, Mapping)]
    return {name for name in names if not all(_is_number(item.get(name)) for item in objects)}


def count_unread(
    items: Iterable[Any], unread: Collection[str], things: Collection[str] = OBJECT_THINGS
) -> Counter[str]:
    """Count the keys of result objects, or of labels, that are not read."""
    found: Counter[str] = Counter()
    for item in items:
        if isinstance(item, Mapping):
            held = find_names(item, unread)
            found.update(item.keys() - {name for thing, name in held.items() if thing in things})
    return found


def write_predictions(path: str | os.PathLike[str], results: Mapping[str, Sequence[Stretch[Any]]]) -> None:
    """Write results by case id in the format of the suffix, so that reading gives them back.

    ``.tsv`` and ``.txt`` hold no dates, ``.txt`` holds one case and no scores; what does not fit is refused.
    """
    suffix = table_suffix(path, (".json", ".csv", ".tsv", ".txt"))
    if ONLY in results and len(results) > 1:
        raise InputError(f"{shown(path)}: results of a case without a name beside {len(results) - 1} with one; name it")
    if suffix == ".txt" and list(results) != [ONLY]:
        raise InputError(f"{shown(path)}: Audacity labels hold one case without a name; use .csv, .tsv or .json")
    with guarded(path, f"cannot be written as {suffix}", "check the folder and the text"), replacing(path) as file:
        file.write((_json(results) if suffix == ".json" else _table(results, suffix, shown(path))).encode())


def _items(path: Path, limits: Limits) -> Iterator[tuple[str, str, object, Read | None]]:
    """Give what the truth of a file holds: the number of an item and how messages name it, its fields, its labels."""
    read = bulk.read_cases(path, limits)
    if read is None:
        value = read_json(path, limits=limits)
        listed = isinstance(value, list)
        items: list[tuple[object, Read | None]]
        items = [(item, None) for item in (value if isinstance(value, list) else [value])]
    else:
        fields, told, listed = read
        items = list(zip(fields, told, strict=True))
    for index, (item, labels) in enumerate(items):
        yield (f"-{index}", f"[{index}].", item, labels) if listed else ("", "", item, labels)


def _case(path: Path, item: object, told: Read | None, name: str, where: str) -> TruthCase:
    if not isinstance(item, dict):
        raise InputError(f"{where}got {type(item).__name__}, expected an object with t1, t2 and labels")
    lacking = [key for key in ("t1", "t2", "labels") if key not in item]
    if lacking:
        raise InputError(f"{where}no field {some(lacking)}, expected t1, t2 (the window) and labels; add it")
    zone = zone_of(item["t1"], f"{where}t1")
    window = (zone.seconds(item["t1"], f"{where}t1"), zone.seconds(item["t2"], f"{where}t2"))
    if not window[0] < window[1]:
        raise InputError(f"{where}t2: the window ends at {item['t2']}, expected later than t1, {item['t1']}")
    data = item.get("data_path")
    if data is not None and not isinstance(data, str):
        raise InputError(f"{where}data_path: got {type(data).__name__}, expected the pattern of file names as text")
    if told is None:
        words = names_in_words(_listed([item["labels"]]), NAMES["score"])  # truth needs no scores
        listed: Sequence[Stretch[Moment]] = stretches_of(item["labels"], f"{where}labels", words)
    else:
        listed = told
    stretches = place(listed, zone, f"{where}labels", relative=False)
    case = _text(item.get("id", name), f"{where}id")
    fields = item if told is None else bulk.Fields(item)
    return TruthCase(case, path, window, stretches, _tags(item), zone, data, fields)


def _flat(item: Row) -> dict[str, Any]:
    """Return the fields of a case besides its structure, those of objects by both names."""
    flat: dict[str, Any] = {}
    for key, value in item.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": content for inner, content in value.items()}
        elif key not in _STRUCTURE:
            flat[key] = value
    return flat


def _unread(item: Any, told: Read | None) -> Counter[str]:
    """Count fields of a case that are no tags, and fields of its labels; those read in bulk are counted there."""
    found = Counter(
        key for key, value in _flat(item).items() if value is not None and not isinstance(value, (str, int, float))
    )
    if told is None:
        unread = count_unread(item["labels"], NAMES["score"], TRUE_THINGS)
        found.update({f"labels.{name}": count for name, count in unread.items()})
    return found


def _tags(item: Row) -> dict[str, str]:
    """Return what a case can be selected by; a subject described by an object is known by its id or name."""
    flat = _flat(item)
    subject = item.get("subject")
    if isinstance(subject, dict) and subject:
        named = subject.get("id", subject.get("name"))
        flat["subject"] = msgspec.json.encode(subject, order="sorted").decode() if named is None else named
    plain = {key: value for key, value in flat.items() if isinstance(value, (str, int, float))}
    return {
        key: value if isinstance(value, str) else msgspec.json.encode(value).decode() for key, value in plain.items()
    }


def _listed(groups: Iterable[Any]) -> list[Any]:
    """Return the items of all groups that are lists."""
    return list(chain.from_iterable(group for group in groups if isinstance(group, list)))


def _is_number(value: object) -> bool:
    """Say whether a value is a number, or nothing."""
    return value in (None, "") or (isinstance(value, numbers.Real) and not isinstance(value, bool))


def _score(value: Any, where: str, *, texts: bool) -> float | None:
    """Return a score as a number; of tables, whose cells are texts, from its text."""
    if value in (None, ""):
        return None
    if not (is_number_text(value) if texts and isinstance(value, str) else _is_number(value)):
        raise InputError(f"{where}: a score must be a number, got {shown(repr(value), 60)}; correct it, or rename it")
    found = float(value)
    if not math.isfinite(found):
        raise InputError(f"{where}: a score must be a finite number, got {shown(repr(value), 60)}; correct it")
    return found


def _stretch(row: Row, columns: Mapping[str, str], where: str, time: Callable[[Any, str], Moment]) -> Stretch[Moment]:
    def at(thing: str) -> tuple[Any, str]:
        return row[columns[thing]], f"{where}.{columns[thing]}"

    score = _score(*at("score"), texts=time is not moment) if "score" in columns else None
    if "end" in columns:
        end = time(*at("end"))
    else:
        end = add_duration(row[columns["start"]], row[columns["duration"]], where, columns)
    return Stretch(time(*at("start")), end, _text(*at("label")), score)


def _text(value: object, where: str) -> str:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    text = str(value) if whole else value
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{where}: got {shown(repr(value), 60)}, expected text that is not blank")
    return text


def _cell_time(cell: Any, where: str) -> Moment:
    """Return the time of a cell: text as in text files, else a number."""
    if cell is None or cell == "":
        raise InputError(f"{where}: the cell is empty, expected a time; fill it in, or leave the row out")
    return from_text(cell, where) if isinstance(cell, str) else moment(cell, where)


def _json(results: Mapping[str, Sequence[Stretch[Any]]]) -> str:
    def plain(stretch: Stretch[Any]) -> dict[str, Any]:
        score = {} if stretch.score is None else {"score": stretch.score}
        return {"t1": stretch.start, "t2": stretch.end, "label": stretch.label} | score

    lists = {case: [plain(stretch) for stretch in stretches] for case, stretches in results.items()}
    return msgspec.json.format(msgspec.json.encode(lists.get(ONLY, lists)), indent=1).decode() + "\n"


def _table(results: Mapping[str, Sequence[Stretch[Any]]], suffix: str, where: str) -> str:
    listed = [stretch for group in results.values() for stretch in group]
    scored = any(stretch.score is not None for stretch in listed)
    if suffix != ".csv" and any(isinstance(stretch.start, datetime) for stretch in listed):
        raise InputError(f"{where}: {suffix} holds seconds, not dates; place the results in their case or use .csv")
    if suffix == ".txt" and scored:
        raise InputError(f"{where}: Audacity labels hold no scores; drop them or use .csv, .tsv or .json")
    rows = [_HEADS[suffix].split()] if suffix in _HEADS else []
    for case, group in results.items():
        rows += [[case, written(s.start), written(s.end), s.label, written(s.score)] for s in group]
        rows += [[case, "", "", "", ""]] if case and not group else []
    kept = [row[1 if ONLY in results else 0 : 5 if scored else 4] for row in rows]
    if suffix == ".csv":
        sink = io.StringIO(newline="")
        csv.writer(sink).writerows(kept)
        return sink.getvalue()
    if any(mark in cell for row in kept for cell in row for mark in "\t\r\n"):
        raise InputError(f"{where}: an id or a label holds a tab or a new line, which {suffix} cannot; use .csv")
    return "".join("\t".join(row) + "\n" for row in kept) or "\n"
