"""The work of ``gnomon run events``: one cell per recogniser and recording."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError, some
from gnomon.suites.events import files, raw, recognizers
from gnomon.suites.events.times import Stretch, place


def recognise(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Cell: give a recogniser the records of one case in chunks, collect what it detected, in the case's seconds."""
    del needs
    case = next(c for c in files.read_truth(arguments["truth"]) if c.id == arguments["case"])
    recognizer = recognizers.find(arguments["recognizer"])()
    if callable(getattr(recognizer, "reset", None)):
        recognizer.reset()
    for chunk in raw.records(case, chunk=arguments["chunk"]):
        recognizer.process(chunk)
    where = f"{arguments['recognizer']} on {case.id}: detected()"
    found = place(files.stretches_of(_plain(recognizer.detected()), where), case.zone, where)
    problems = _problems(found, case, list(recognizer.labels()))
    rows = [{"t1": s.start, "t2": s.end, "label": s.label, "score": s.score} for s in found]
    (out / "detected.json").write_bytes(encode_pretty({"detected": rows, "problems": problems}))


def _plain(results: Any) -> list[Any]:
    if not isinstance(results, Sequence) or isinstance(results, str):
        raise InputError(f"detected() returned {type(results).__name__}: expected a list of results")
    return list(results)


def _problems(found: Sequence[Stretch[float]], case: files.TruthCase, labels: Sequence[str]) -> list[str]:
    """Name what a recogniser should not return; it is scored all the same, after clipping and sorting."""
    problems = []
    if any(a.start > b.start for a, b in itertools.pairwise(found)):
        problems.append("results are not in the order of time")
    ordered = sorted(found, key=lambda s: (s.start, s.end))
    clashes = sum(a.end > b.start and a.label == b.label for a, b in itertools.pairwise(ordered))
    if clashes:
        problems.append(f"{clashes} results overlap the one before them in the same class")
    outside = sum(s.start < case.window[0] or s.end > case.window[1] for s in found)
    if outside:
        problems.append(f"{outside} results reach beyond the window")
    unknown = sorted({s.label for s in found} - set(labels))
    if unknown:
        problems.append(f"labels that labels() does not name: {some(unknown)}")
    return problems
