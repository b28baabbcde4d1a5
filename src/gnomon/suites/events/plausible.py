"""Whether times can be seconds of their recordings: where another unit fits and seconds do not, that is an error.

Conventions
-----------
- Times are looked at against the window of their recording. Something is outside where it does not touch the window.
- Times are in another unit where at least nine tenths are outside as seconds and inside in that unit, and the farthest
  is then at least a hundredth of the window from its start. So milliseconds reach ten window lengths or more: offsets
  and wrong zones shift times, and do not stretch them.
- A window may be a small part of a long recording. So times that fit another unit are still seconds where at least one
  stretch lies wholly inside the window as seconds, unless half of all stretches are longer than their window.
- A window is in another unit where all labels end within its first thousandth (millionth, ...), yet not within a tenth
  of that. The truth is in another unit where all detections end so early, labels reach a fifth of the window, and
  detections are also a thousandth (millionth, ...) as long as labels on average, within a factor of 10. Detections of
  plausible length that all lie at the start are those of a system that stopped early: they are scored.
- These rules take all recordings of a truth, or of a system, together, and need at least three stretches.
- A single recording is in two units where it has at least three labels and three detections, and the mean length and
  the farthest end (from the zero of the clock) of one side are both 1,000 (a million, ...) times those of the other,
  within a factor of 2; where detections are the longer ones, at most a tenth of them is inside as seconds. Its window
  is in another unit where it has as many labels and detections, which agree in both figures within a factor of 2, and
  all of them together are in another unit than the window by the rules above. Any other recording whose stretches are
  all outside is scored as it stands, and named in a finding.
- A truth of which no label of any recording touches its window is refused: nothing can be scored.
- Labels may be sparse: one of 3 s in 24 h says nothing about a unit, wherever it lies. So windows whose labels are
  fewer than three, or end within a tenth of the first thousandth (but not within a hundredth), are in another unit only
  where they would last longer than two days as seconds; two days are three minutes in milliseconds.
- Fewer than three detections or labels decide where detections are the labels at another scale: the mean length and the
  farthest end of one side are both 1,000 (a million, ...) times those of the other, within a factor of 2, and at most
  a tenth of the detections is inside as seconds where they are the longer ones. Chance and a bad system change one of
  them, a unit changes both.
- Raw data may be far longer than the window. So it is refused only where its sensors would have rates that no such
  sensor has, or, without such a sensor, where no record lies inside the window as seconds, but for its very start.
- Seconds that a user asks for (``--unit s``) are obeyed everywhere. Where another unit was given and does not fit, the
  message questions that unit before it questions the truth.
- Where the truth does not state windows (tables), detections of which nine tenths lie outside are refused whatever the
  reason.
- Dates have no unit, and are not looked at here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array

UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""How many of a unit are a second."""
CALLED = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
NAMES = {"s": "seconds", **CALLED}
MOST = 0.9
"""The share of times that counts as nearly all."""
FEWEST = 3
"""With fewer stretches in all recordings together nothing is refused."""
REACH = 0.01
"""The share of a window that times in the right unit reach at least."""
FAR = 0.2
"""The share of a window that labels reach which are surely in its unit."""
TWO_DAYS_S = 2 * 86_400.0
"""Windows that would last longer are in another unit where all labels, however few, end at their very start."""
NEAR = 2.0
"""How many times off the factor of a unit the lengths, and the reach, of detections and labels may be."""
SHRUNK = 10.0
"""How many times off the factor of a unit the mean length of detections may be that all lie at the very start."""
INSIST = "give --unit s if they are seconds"
INERTIAL = ("accel", "gyro", "mag", "gravity")
"""Sensors of which the usual rates are known."""
RATES_HZ = (0.5, 20_000.0)

Window = tuple[float, float]
Timed = tuple[Window, Array, Array]
"""A window, and starts and ends ``(n,)`` that should lie in it."""


def outside(starts: Array, ends: Array, window: Window) -> Array:
    """Return which stretches do not touch a window, ``(n,)``."""
    found: Array = (ends < window[0]) | (starts > window[1])
    return found


@dataclass(frozen=True)
class Evidence:
    """What times say about their unit, counted so that recordings that are read apart can be added up."""

    count: int = 0
    recordings: int = 0
    inside: Mapping[str, int] = field(default_factory=dict)
    """By unit: how many stretches touch their window if times are in it."""
    in_windows: Mapping[str, int] = field(default_factory=dict)
    """By unit: how many stretches touch their window if windows are in it, and times are seconds."""
    within: int = 0
    """How many stretches lie wholly inside their window as seconds."""
    longer: int = 0
    """How many stretches are longer than their window as seconds."""
    share: float = 0.0
    """How far the farthest end is from the start of its window, in lengths of the window."""
    reach: float = -math.inf
    latest: float = -math.inf
    longest: float = 0.0
    """The last end, the end of the last window, and the length of the longest window, in seconds."""
    lasting: float = 0.0
    """How long all stretches last together, in seconds."""

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(
            self.count + other.count,
            self.recordings + other.recordings,
            dict(Counter(self.inside) + Counter(other.inside)),
            dict(Counter(self.in_windows) + Counter(other.in_windows)),
            self.within + other.within,
            self.longer + other.longer,
            max(self.share, other.share),
            max(self.reach, other.reach),
            max(self.latest, other.latest),
            max(self.longest, other.longest),
            self.lasting + other.lasting,
        )

    def record(self) -> dict[str, Any]:
        """Return the evidence as plain values, from which :meth:`of` makes it again."""
        return asdict(self) if self.count else {}

    @staticmethod
    def of(record: Mapping[str, Any]) -> Evidence:
        """Return the evidence that was recorded."""
        return Evidence(**record)


def weigh(recordings: Iterable[Timed]) -> Evidence:
    """Return what the stretches of recordings say about their unit."""
    whole = Evidence()
    for window, starts, ends in recordings:
        if len(starts):
            inside = {unit: _inside(window, starts, ends, per_second) for unit, per_second in UNITS.items()}
            in_windows = {unit: _inside(window, starts, ends, 1 / UNITS[unit]) for unit in CALLED}
            length = window[1] - window[0]
            within = int(((starts >= window[0]) & (ends <= window[1])).sum())
            longer = int((ends - starts > length).sum())
            share = float(np.abs(ends - window[0]).max()) / length
            reach = share, float(ends.max()), window[1], length, float((ends - starts).sum())
            whole += Evidence(len(starts), 1, inside, in_windows, within, longer, *reach)
    return whole


def check_unit(evidence: Evidence, where: str, what: str, advice: Callable[[str], str], given: str = "") -> None:
    """Refuse numbers that are not seconds.

    Parameters
    ----------
    evidence
        Of all recordings together: that of a few says too little.
    where, what
        What a message opens with, and what the stretches are called in it, as ``detections``.
    advice
        What to do about times in a unit, by the unit's short name.
    given
        The unit that a user gave for these times, by which they were converted to seconds.
    """
    unit, of_windows = _find_other_unit(evidence)
    reach, latest, longest = evidence.reach, evidence.latest, evidence.longest
    if unit and not of_windows:
        which = "recordings last" if evidence.recordings > 1 else "the recording lasts"
        upto = "" if latest == longest else f" (up to {shown(latest)} s)"
        looks = NAMES.get(multiply_units(given or "s", unit), f"{CALLED[unit]} even so")
        raise InputError(
            f"{where}: {_question(given)}{what} reach {shown(reach)} s, but {which} {shown(longest)} s{upto}: times "
            f"look like {looks}; {advice(unit)}, or {INSIST}"
        )
    if unit:
        raise InputError(
            f"{where}: {_question(given)}{what} reach {shown(reach)} s, but windows end at {shown(latest)} s: "
            f"{_doubt_truth(unit, given, 'windows look')}"
        )


def _find_other_unit(evidence: Evidence) -> tuple[str, bool]:
    """Return the unit in which times are that are outside as seconds, and if it is windows that are in it.

    The unit is empty where none fits.
    """
    most = MOST * evidence.count
    if evidence.count < FEWEST or evidence.inside.get("s", 0) > evidence.count - most:
        return "", False
    if evidence.within and evidence.longer < evidence.count / 2:
        return "", False
    far = (unit for unit in CALLED if evidence.share / UNITS[unit] >= REACH)
    unit = next((one for one in far if evidence.inside.get(one, 0) >= most), "")
    if unit:
        return unit, False
    return next((one for one in CALLED if evidence.in_windows.get(one, 0) >= most), ""), True


def check_inside(detections: Evidence, where: str) -> None:
    """Refuse detections of which nearly all lie outside of windows that the truth does not state by itself."""
    lost = detections.count - detections.inside.get("s", 0)
    if detections.count < FEWEST or lost < MOST * detections.count:
        return
    raise InputError(
        f"{where}: {lost:,} of {detections.count:,} detections lie outside of the windows, which last up to "
        f"{shown(detections.longest)} s (detections reach {shown(detections.reach)} s): check that both sides count "
        f"from the start of the recording; give --duration where recordings last longer, or {INSIST} to score them "
        "all the same"
    )


def multiply_units(unit: str, further: str) -> str:
    """Return the unit of numbers that were taken for one unit, and then look like a further one; empty if none is."""
    wanted = UNITS[unit] * UNITS[further]
    return next((name for name, per_second in UNITS.items() if per_second == wanted), "")


def _divide_units(unit: str, further: str) -> str:
    """Return the unit of numbers that a unit made too small by the factor of a further one; empty if none is."""
    return next((name for name, per_second in UNITS.items() if per_second * UNITS[further] == UNITS[unit]), "")


def _question(given: str) -> str:
    return f"check --unit {given}: with it, " if given else ""


def _doubt_truth(unit: str, given: str, subject: str = "the truth looks") -> str:
    """Say what to do where detections, in a given unit or in seconds, are too small by the factor of a unit."""
    if not given:
        return (
            f"{subject} like {CALLED[unit]}; say so with --truth-unit, or write t1, t2 and labels of the truth in "
            f"seconds, or {INSIST}"
        )
    fitting = _divide_units(given, unit)
    if not fitting:
        return (
            f"{subject} like {CALLED[unit]}, or without --unit {given} like {NAMES[_divide_units(unit, given)]}; "
            "write t1, t2 and labels of the truth in seconds"
        )
    change = "leave --unit out" if fitting == "s" else f"give --unit {fitting} in place of --unit {given}"
    return (
        f"detections look like {NAMES[fitting]}; {change}, or, if they are {NAMES[given]} and the truth is in "
        f"{CALLED[unit]}, write t1, t2 and labels of the truth in seconds"
    )


def check_windows(labels: Evidence, where: str) -> None:
    """Refuse windows that are in another unit than their labels."""
    unit = _find_window_unit(labels)
    if unit:
        which = f"all {labels.count:,} labels end" if labels.count > 1 else "the only label ends"
        raise InputError(
            f"{where}: {which} by {shown(labels.reach)} s, but windows end at "
            f"{shown(labels.latest)} s: windows look like {CALLED[unit]}; write t1 and t2 in seconds, or {INSIST}"
        )


def _find_window_unit(times: Evidence) -> str:
    """Return the unit in which windows are of which times reach only the very start; empty where none fits."""
    surely = times.longest > TWO_DAYS_S
    if not times.count or (times.count < FEWEST and not surely):
        return ""
    least = REACH if surely else 0.1
    return next((unit for unit in CALLED if least < times.share * UNITS[unit] <= 1), "")


def check_truth_unit(labels: Evidence, detections: Evidence, where: str, given: str = "") -> None:
    """Refuse detections in seconds beside a truth, windows and labels, in another unit.

    ``given`` is the unit that a user gave for the detections, by which they were converted to seconds.
    """
    if detections.count < FEWEST or labels.share < FAR or not labels.lasting:
        return
    unit = find_shrinking(detections.lasting / detections.count / (labels.lasting / labels.count))
    if unit and REACH < detections.share * UNITS[unit] <= 1:
        raise InputError(
            f"{where}: {_question(given)}all {detections.count:,} detections end by {shown(detections.reach)} s, but "
            f"true events reach {shown(labels.reach)} s and windows end at {shown(labels.latest)} s: "
            f"{_doubt_truth(unit, given)}"
        )


def find_shrinking(length: float) -> str:
    """Return the unit by whose factor detections are shorter than true events, roughly; empty where none fits.

    ``length`` is their mean length as a share of that of true events.

    >>> find_shrinking(0.002), find_shrinking(0.5)
    ('ms', '')
    """
    return next((unit for unit in CALLED if _is_near(length, 1 / UNITS[unit], SHRUNK)), "")


def check_scale(
    labels: Evidence, detections: Evidence, where: str, advice: Callable[[str], str], given: str = ""
) -> None:
    """Refuse detections that are the labels at the scale of another unit, however few there are.

    ``advice`` says what to do about detections in a unit, by the unit's short name; ``given`` is the unit that a user
    gave for the detections, by which they were converted to seconds.
    """
    if not labels.lasting or not detections.lasting or not labels.share or not detections.share:
        return
    lengths = detections.lasting / detections.count, labels.lasting / labels.count
    unit, longer = _find_factor(lengths[0] / lengths[1], detections.share / labels.share)
    figures = f"{where}: {_question(given)}{_compare(lengths, (detections.reach, labels.reach))}"
    outside_all = detections.inside.get("s", 0) <= (1 - MOST) * detections.count
    if unit and longer and outside_all:
        looks = NAMES.get(multiply_units(given or "s", unit), f"{CALLED[unit]} even so")
        raise InputError(f"{figures}: detections look like {looks}; {advice(unit)}, or {INSIST}")
    if unit and not longer:
        raise InputError(f"{figures}: {_doubt_truth(unit, given)}")


def _find_factor(length: float, reach: float) -> tuple[str, bool]:
    """Return the unit by whose factor both figures of detections differ from those of labels, and if they are longer.

    The unit is empty where none fits.
    """
    for unit in CALLED:
        for factor in (UNITS[unit], 1 / UNITS[unit]):
            if _is_near(length, factor) and _is_near(reach, factor):
                return unit, factor > 1
    return "", False


def _compare(lengths: tuple[float, float], reaches: tuple[float, float]) -> str:
    """Put the mean length and the reach of detections beside those of true events."""
    return (
        f"detections last {shown(lengths[0])} s on average and reach {shown(reaches[0])} s, but true events last "
        f"{shown(lengths[1])} s and reach {shown(reaches[1])} s"
    )


def _is_near(value: float, expected: float, times: float = NEAR) -> bool:
    return expected / times <= value <= expected * times


@dataclass(frozen=True)
class Mismatch:
    """A recording whose detections and labels are in two units."""

    case: str
    unit: str
    """The unit by whose factor they differ."""
    longer: bool
    """Whether the detections are the longer ones."""
    inside: bool
    """Whether labels touch the window, so that both would be in the same unit."""
    figures: str
    """Mean length and reach of both sides, in words."""


@dataclass(frozen=True)
class Misfit:
    """A recording whose window is in another unit than its detections and labels, which agree."""

    case: str
    said: str
    """What reaches how far, and what looks like which unit."""


@dataclass(frozen=True)
class Compared:
    """Recordings one by one: whether detections and labels of each have one scale."""

    agreeing: int = 0
    """In how many recordings mean length and reach of both sides agree within a factor of 2."""
    found: tuple[Mismatch, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    """Those of the agreeing ones whose window does not fit."""

    def __add__(self, other: Compared) -> Compared:
        return Compared(self.agreeing + other.agreeing, self.found + other.found, self.misfits + other.misfits)

    def record(self) -> dict[str, Any]:
        """Return plain values, from which :meth:`of` makes the same again."""
        return asdict(self)

    @staticmethod
    def of(record: Mapping[str, Any]) -> Compared:
        """Return what was recorded."""
        found = tuple(Mismatch(**one) for one in record["found"])
        return Compared(record["agreeing"], found, tuple(Misfit(**one) for one in record["misfits"]))


def compare_recording(case: str, labels: Timed, detections: Timed) -> Compared:
    """Return whether labels and detections of one recording have one scale; neither where they are too few."""
    window, true, found = labels[0], labels[1:], detections[1:]
    if min(len(true[0]), len(found[0])) < FEWEST:
        return Compared()
    lengths = float((found[1] - found[0]).mean()), float((true[1] - true[0]).mean())
    reaches = float(np.abs(found[1]).max()), float(np.abs(true[1]).max())
    if not all((*lengths, *reaches)):
        return Compared()
    length, reach = lengths[0] / lengths[1], reaches[0] / reaches[1]
    if _is_near(length, 1) and _is_near(reach, 1):
        return Compared(1, misfits=tuple(_find_misfit(case, labels, detections)))
    unit, longer = _find_factor(length, reach)
    outside_all = outside(found[0], found[1], window).mean() >= MOST
    if not unit or (longer and not outside_all):
        return Compared()
    inside = not outside(true[0], true[1], window).all()
    return Compared(0, (Mismatch(case, unit, longer, inside, _compare(lengths, reaches)),))


def _find_misfit(case: str, labels: Timed, detections: Timed) -> Iterator[Misfit]:
    """Yield a recording whose window does not fit its labels and detections, which agree."""
    times = weigh((labels, detections))
    unit, of_windows = _find_other_unit(times)
    if not unit:
        unit, of_windows = _find_window_unit(times), True
    if unit:
        looks = f"{'its window looks' if of_windows else 'they look'} like {CALLED[unit]}"
        reach = f"labels and detections reach {shown(times.reach)} s"
        yield Misfit(case, f"{reach}, but its window ends at {shown(times.latest)} s: {looks}")


def check_fit(compared: Compared, where: str) -> None:
    """Refuse recordings whose window is in another unit than their labels and detections, and name them."""
    if not compared.misfits:
        return
    first, count = compared.misfits[0], len(compared.misfits)
    others = f" ({count:,} such recordings: {some(one.case for one in compared.misfits)})" if count > 1 else ""
    raise InputError(
        f"{where}: recording {first.case!r}: {first.said}{others}; write t1, t2, labels and detections of a recording "
        f"in one unit, seconds, or {INSIST}"
    )


def check_recordings(compared: Compared, where: str, given: str = "") -> None:
    """Refuse recordings whose detections and labels are in two units, and name them.

    ``given`` is the unit that a user gave for the detections, by which they were converted to seconds.
    """
    if not compared.found:
        return
    first = compared.found[0]
    alike = [one.case for one in compared.found if (one.unit, one.longer) == (first.unit, first.longer)]
    which = f"recording {some(alike)}" if len(alike) == 1 else f"{len(alike):,} recordings ({some(alike)})"
    place = "" if len(alike) == 1 else f" in {first.case!r}"
    made = f"with --unit {given}, " if given else ""
    insist = "or write all times in seconds, and give --unit s" if given else f"or {INSIST}"
    fitting = (multiply_units if first.longer else _divide_units)(given or "s", first.unit)
    if fitting or first.longer:
        looks = f"these detections look like {NAMES[fitting] if fitting else CALLED[first.unit] + ' even so'}"
        change = f"write them in {NAMES[given or 's']}{', as the others' if compared.agreeing else ''}"
        if fitting and not compared.agreeing:
            change += ", or leave --unit out" if fitting == "s" else f", or give --unit {fitting} if all are"
        if not first.longer:
            change += f", or, if the truth is in {CALLED[first.unit]}, write t1, t2 and labels in seconds"
    else:
        side = "window and labels" if first.inside else "labels"
        looks = f"{'their' if len(alike) > 1 else 'its'} {side} look like {CALLED[first.unit]}"
        change = "write t1, t2 and labels of the truth in seconds" if first.inside else "write the labels in seconds"
    raise InputError(f"{where}: {which}: {made}{first.figures}{place}: {looks}; {change}, {insist}")


def _inside(window: Window, starts: Array, ends: Array, per_second: float) -> int:
    """Count the stretches that touch a window in a unit."""
    return int((~outside(starts / per_second, ends / per_second, window)).sum())


def shown(seconds: float) -> str:
    """Return a number of seconds for messages."""
    return f"{seconds:,.0f}" if abs(seconds) >= 100 else f"{seconds:.4g}"
