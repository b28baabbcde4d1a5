"""perfboard's result file ``scores.json``, for programs that read it.

::

    {t, recognizers, stats {truth_count, detected_count, segment_count},
     scores {frame_scores: FRAME, event_scores {d_counts, t_counts, d_rates, t_rates}},
     results [{...truth, recognizer, label?, labels_file, detected [{t1, t2, label, score?}],
               scores {segments [{t1, t2, score, err?}], frame_score: FRAME,
                       events {truths [{t1, t2, score}], detected [...], t_counts, d_counts, t_rates, d_rates}}}]}
    FRAME = {frame_counts {TP, TN, D, F, Us, Ue, I, M, Os, Oe, P, N}, p_rates {TPr, Dr, Fr, Usr, Uer},
             n_rates {TNr, Ir, Mr, Osr, Oer}, acc, p_rate, n_rate}

Categories of time and of events are those of :mod:`gnomon.measures.events`.

Conventions
-----------
- There is a result for every truth case and every recogniser with results for it, in the order of cases, then of
  recognisers. It opens with the fields of the truth as they are in its file; one that has the name of another field of
  a result gives way to it.
- Variant ``published`` pools all labels. ``strict`` gives a result for every class of all truths and returns instead,
  also where a case does not have it, so that the seconds of a class add up to all windows; such a result carries its
  class as ``label``, and only the ``labels`` and ``detected`` of that class. ``both`` gives the pooled results first,
  then those by class.
- ``stats`` and ``scores`` at the top add up the results of one kind: the pooled ones where there are any, else those
  by class, in which every window counts once per class. The three counts are events, returns and segments after
  uniting and clipping to the window.
- ``score`` is TP, TN, FP or FN of a segment, C, D, F, FM or M of a true event, C', I', F', FM' or M' of a return; in
  ``detected``, which holds everything as it was returned, it is the number that the recogniser gave. ``err``, the
  category of time, is there for FP and FN alone.
- ``frame_counts`` are seconds. ``acc`` is (TP + TN) / (P + N), ``p_rate`` P / (P + N), ``n_rate`` N / (P + N). Rates
  of events are over all events or all returns. What is undefined (over nothing) is null.
- Times are written as in the truth: dates in the zone of the case's ``t1``, or seconds. ``t``, when the file was
  written, is a date in UTC.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import natural_key
from gnomon.intake.faults import guarded, shown
from gnomon.intake.writing import check_writable, replacing
from gnomon.measures.events import NEGATIVE, POSITIVE
from gnomon.numerics import segments as kernel
from gnomon.numerics.segments import CATEGORIES, RETURN_LABELS, TRUTH_LABELS, Track
from gnomon.suites.events.files import TruthCase
from gnomon.suites.events.times import Stretch, show

Record = dict[str, Any]
Clock = Callable[[float], str | float]
Systems = Mapping[str, Mapping[str, Sequence[Stretch[float]]]]
"""Results by system and case."""


def write(path: str | os.PathLike[str], cases: Sequence[TruthCase], systems: Systems, variant: str) -> None:
    """Write the file, complete or not at all; its folder is made if needed.

    Parameters
    ----------
    path
        The file to write or to replace.
    cases
        The truth.
    systems
        Results by case id in the seconds of each case, of every system by its name; a case without results is left out.
    variant
        ``published``, ``strict`` or ``both``.
    """
    check(path)
    found = {"t": datetime.now(UTC).isoformat(timespec="seconds"), **assemble(cases, systems, variant)}
    with guarded(path, "cannot be written as JSON", "check the folder and the disk"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


def check(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Refuse a place where no file can be written or that is an input of the work; for use before long work."""
    for given in inputs:
        if os.path.exists(given) and os.path.exists(path) and os.path.samefile(given, path):
            raise InputError(f"{shown(path)}: is an input of this work and would be lost; choose another name")
    check_writable(path)


def assemble(cases: Sequence[TruthCase], systems: Systems, variant: str) -> Record:
    """Return the content of the file, all but its date."""
    pairs = [
        (case, name, results[case.id]) for case in cases for name, results in systems.items() if case.id in results
    ]
    pooled: list[Record] = []
    if variant != "strict":
        pooled = [result for pair in pairs for result in _results(*pair, None)]
    by_class: list[Record] = []
    if variant != "published":
        labels = {s.label for case, _, returned in pairs for s in (*case.stretches, *returned)}
        classes = sorted(labels, key=natural_key)
        by_class = [result for pair in pairs for result in _results(*pair, classes)]
    total = [result["scores"] for result in (by_class if variant == "strict" else pooled)]
    events = [scores["events"] for scores in total]
    return {
        "recognizers": list(systems),
        "stats": {
            "truth_count": sum(len(item["truths"]) for item in events),
            "detected_count": sum(len(item["detected"]) for item in events),
            "segment_count": sum(len(scores["segments"]) for scores in total),
        },
        "scores": {
            "frame_scores": _frame(_added(scores["frame_score"]["frame_counts"] for scores in total)),
            "event_scores": _event_scores(events),
        },
        "results": pooled + by_class,
    }


@dataclass(frozen=True)
class _Scored:
    """A case against one system's results, by class, or with all labels as one class."""

    tracks: tuple[Track, Track]
    segments: kernel.Segments
    seconds: kernel.Floats
    events: tuple[Any, Any]


def _results(
    case: TruthCase, system: str, returned: Sequence[Stretch[float]], classes: Sequence[str] | None
) -> Iterator[Record]:
    """Give the result of a case and a system for every class, or the one result of all labels pooled."""
    scored = _score(case, returned, classes)
    clock: Clock = float if case.zone.origin is None else cache(lambda seconds: show(seconds, case.zone))
    told = dict(case.fields) or _describe_case(case, clock)  # once, since labels may be decoded when asked for
    own, found = _by_label(told["labels"], case.stretches, classes), _by_label(returned, returned, classes)
    for index, label in enumerate([None] if classes is None else classes):
        fields = {**told, "labels": own.get(label, [])}
        fields["recognizer"] = system
        if label is not None:
            fields["label"] = label
        fields["labels_file"] = case.path.as_posix()
        fields["detected"] = [_detected(stretch, clock) for stretch in found.get(label, [])]
        fields["scores"] = _scores(scored, index, case.window[1], clock)
        yield fields


def _describe_case(case: TruthCase, clock: Clock) -> Record:
    """Return the fields of a case that has none of its own, as it comes from a table."""
    labels = [{"t1": clock(one.start), "t2": clock(one.end), "label": one.label} for one in case.stretches]
    return {"t1": clock(case.window[0]), "t2": clock(case.window[1]), **case.tags, "labels": labels}


def _by_label(
    items: Iterable[Any], stretches: Iterable[Stretch[float]], classes: Sequence[str] | None
) -> dict[str | None, list[Any]]:
    """Sort items by the label of the stretch that each stands for; pooled, all have the label None."""
    found: dict[str | None, list[Any]] = {}
    for item, stretch in zip(items, stretches, strict=True):
        found.setdefault(None if classes is None else stretch.label, []).append(item)
    return found


def _score(case: TruthCase, returned: Sequence[Stretch[float]], classes: Sequence[str] | None) -> _Scored:
    codes = None if classes is None else {label: index for index, label in enumerate(classes)}
    truth, found = (_track(stretches, codes, case.window) for stretches in (case.stretches, returned))
    segments, seconds = kernel.segments(truth, found, case.window)
    return _Scored((truth, found), segments, seconds, kernel.events(segments, truth, found, case.window))


def _track(stretches: Sequence[Stretch[float]], codes: Mapping[str, int] | None, window: tuple[float, float]) -> Track:
    starts, ends = (np.array([s[side] for s in stretches], dtype=np.float64) for side in (0, 1))
    of = np.array([0 if codes is None else codes[s.label] for s in stretches], dtype=np.int64)
    return kernel.tidy(starts, ends, of, 1 if codes is None else len(codes), window)


def _scores(scored: _Scored, index: int, high: float, clock: Clock) -> Record:
    seconds = dict(zip(CATEGORIES, scored.seconds[index].tolist(), strict=True))
    sides = (TRUTH_LABELS, RETURN_LABELS)
    truths, detected = (
        _events(track, codes, index, names, clock)
        for track, codes, names in zip(scored.tracks, scored.events, sides, strict=True)
    )
    return {
        "segments": _segments(scored.segments, index, high, clock),
        "frame_score": _frame(seconds),
        "events": {"truths": truths, "detected": detected, **_event_scores([_counted(truths, detected)])},
    }


def _segments(found: kernel.Segments, index: int, high: float, clock: Clock) -> list[Record]:
    own = slice(found.offsets[index], found.offsets[index + 1])
    edges = [clock(edge) for edge in [*found.starts[own].tolist(), high]]
    names = [CATEGORIES[code] for code in found.categories[own].tolist()]
    return [{"t1": t1, "t2": t2, **_KINDS[name]} for t1, t2, name in zip(edges[:-1], edges[1:], names, strict=True)]


_KINDS = {
    **{name: {"score": name} for name in ("TP", "TN")},
    **{name: {"score": "FN", "err": name} for name in POSITIVE[1:]},
    **{name: {"score": "FP", "err": name} for name in NEGATIVE[1:]},
}


def _events(track: Track, codes: Any, index: int, names: Sequence[str], clock: Clock) -> list[Record]:
    own = slice(track.offsets[index], track.offsets[index + 1])
    rows = zip(track.starts[own].tolist(), track.ends[own].tolist(), codes[own].tolist(), strict=True)
    return [{"t1": clock(start), "t2": clock(end), "score": names[code]} for start, end, code in rows]


def _counted(truths: Sequence[Record], detected: Sequence[Record]) -> Record:
    sides = {"t_counts": (TRUTH_LABELS, truths), "d_counts": (RETURN_LABELS, detected)}
    counts = {key: Counter(event["score"] for event in events) for key, (_, events) in sides.items()}
    return {key: {name: counts[key][name] for name in names} for key, (names, _) in sides.items()}


def _event_scores(parts: Sequence[Record]) -> Record:
    """Add up counts of events, and give their shares."""
    found = {}
    for key, names in (("t_counts", TRUTH_LABELS), ("d_counts", RETURN_LABELS)):
        found[key] = {name: sum(part[key][name] for part in parts) for name in names}
    for rates, key in (("t_rates", "t_counts"), ("d_rates", "d_counts")):
        total = sum(found[key].values())
        found[rates] = {name: _share(count, total) for name, count in found[key].items()}
    return found


def _added(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    listed = list(parts)
    return {name: math.fsum(part[name] for part in listed) for name in CATEGORIES}


def _frame(seconds: Mapping[str, float]) -> Record:
    positive, negative = (math.fsum(seconds[name] for name in names) for names in (POSITIVE, NEGATIVE))
    whole = positive + negative
    return {
        "frame_counts": {**seconds, "P": positive, "N": negative},
        "p_rates": {f"{name}r": _share(seconds[name], positive) for name in POSITIVE},
        "n_rates": {f"{name}r": _share(seconds[name], negative) for name in NEGATIVE},
        "acc": _share(seconds["TP"] + seconds["TN"], whole),
        "p_rate": _share(positive, whole),
        "n_rate": _share(negative, whole),
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _detected(stretch: Stretch[float], clock: Clock) -> Record:
    found = {"t1": clock(stretch.start), "t2": clock(stretch.end), "label": stretch.label}
    return found if stretch.score is None else {**found, "score": stretch.score}
