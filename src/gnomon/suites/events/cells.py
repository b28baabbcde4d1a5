"""The work of ``gnomon run events``: one cell per recogniser and recording, one artefact per trained recogniser."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError, counted, some
from gnomon.engine.planner import load_trained, store_trained
from gnomon.intake.unread import CELL, note, reading_for
from gnomon.suites.events import columns, files, raw
from gnomon.suites.events.plausible import check_unit, weigh
from gnomon.suites.events.recognizers import SYSTEMS
from gnomon.suites.events.spans import are_numbers
from gnomon.suites.events.times import Stretch, place
from gnomon.suites.events.watching import Watch


def train(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Artefact: a recogniser after ``train`` was called with every training case, one call each, in their order."""
    del needs
    recognizer = SYSTEMS.make(arguments["system"])
    for item in arguments["cases"]:
        case = _case(item)
        watch = Watch(case.window, f"raw data of {case.id}", trusted=arguments["unit"] == "s")
        chunks = watch.passing(raw.records(case, chunk=arguments["chunk"]))
        labels = [{"t1": s.start, "t2": s.end, "label": s.label} for s in case.stretches]
        recognizer.train(itertools.chain.from_iterable(chunks), labels)
        watch.problems()
    store_trained(recognizer, arguments["system"], out)


def recognise(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Cell: give a recogniser the records of one case in chunks, collect what it detected, in the case's seconds."""
    case = _case(arguments)
    system = arguments["system"]
    recognizer = load_trained(SYSTEMS, system, needs["trained"]) if needs else SYSTEMS.make(system)
    if callable(getattr(recognizer, "reset", None)):
        recognizer.reset()
    watch = Watch(case.window, f"raw data of {case.id}", trusted=arguments["unit"] == "s")
    for chunk in watch.passing(raw.records(case, chunk=arguments["chunk"])):
        recognizer.process(chunk)
    odd = watch.problems()
    where = f"{system} on {case.id}: detected()"
    given = _plain(recognizer.detected(), where)
    unread = files.names_in_words(given)
    read = files.stretches_of(given, where, unread)
    found = place(read, case.zone, where)
    if are_numbers(read) and arguments["unit"] != "s":
        recorded = min(case.window[0], watch.first), max(case.window[1], watch.latest)
        evidence = weigh([columns.timed(recorded, found)])
        check_unit(evidence, where, "results", lambda _: "return seconds, as records have")
    with reading_for(CELL):
        note(where, files.count_unread(given, unread))
    problems = _problems(found, case, _labels(recognizer.labels(), system))
    rows = [{"t1": s.start, "t2": s.end, "label": s.label, "score": s.score} for s in found]
    (out / "detected.json").write_bytes(encode_pretty({"detected": rows, "problems": problems, "records": odd}))


def _case(item: Mapping[str, Any]) -> files.TruthCase:
    state = Path(item["truth"]).stat()
    return _cases(item["truth"], state.st_mtime_ns, state.st_size)[item["case"]]


@functools.lru_cache(maxsize=8)
def _cases(path: str, *state: int) -> dict[str, files.TruthCase]:
    """Read a truth file once for all its cases, and again when it has changed."""
    del state
    return {case.id: case for case in files.read_truth(path)}


def _plain(results: Any, where: str) -> list[Any]:
    if not isinstance(results, Sequence) or isinstance(results, str):
        raise InputError(f"{where} returned {type(results).__name__}: expected a list of results")
    return list(results)


def _labels(given: Any, name: str) -> list[str]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InputError(f"{name}: labels() returned {type(given).__name__}: expected a list of classes")
    return [str(label) for label in given]


def _problems(found: Sequence[Stretch[float]], case: files.TruthCase, labels: Sequence[str]) -> list[str]:
    """Name what a recogniser should not return; it is scored all the same, after clipping and sorting."""
    problems = []
    if any(a.start > b.start for a, b in itertools.pairwise(found)):
        problems.append("results are not in the order of time")
    last: dict[str, float] = {}
    clashes = 0
    for stretch in sorted(found, key=lambda s: (s.start, s.end)):
        clashes += stretch.start < last.get(stretch.label, stretch.start)
        last[stretch.label] = max(stretch.end, last.get(stretch.label, stretch.end))
    if clashes:
        problems.append(f"{counted(clashes, 'result')} overlapping an earlier one of the same class")
    outside = sum(s.start < case.window[0] or s.end > case.window[1] for s in found)
    if outside:
        problems.append(f"{counted(outside, 'result')} reaching beyond the window")
    unknown = sorted({s.label for s in found} - set(labels))
    if unknown:
        problems.append(f"labels that labels() does not name: {some(unknown)}")
    return problems
