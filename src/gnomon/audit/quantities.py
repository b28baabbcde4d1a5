"""Units, frames and scales: numbers that may not be subtracted from one another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding

Tags = Mapping[str, Mapping[str, str]]
"""Case -> tag (unit, frame, ...) -> value."""
FACTORS = {
    "g and m/s^2": 9.80665,
    "degrees and radians": 180 / math.pi,
    "m and mm": 1e3,
    "m and cm": 1e2,
    "s and ms": 1e3,
    "s and ns": 1e9,
}
"""What a scale may be off by, and what it then looks like."""


def units_and_frames(sides: Mapping[str, Tags], tags: Sequence[str] = ("unit", "frame")) -> tuple[Finding, ...]:
    """Find unit or frame tags that differ between sides of a case, or between the cases of a side.

    Needs, for each side that enters one computation (truth and prediction; hand and root), the tags of every case.
    Any tag will do: ``gravity`` removed or not, ``rate``. Cannot see a tag that is wrong; :func:`scales` may.
    """
    if not sides or not all(sides.values()):
        raise InputError("units and frames: expected at least one side, each with tags of its cases")
    return tuple(finding for tag in tags for finding in (*_between(sides, tag), *_within(sides, tag)))


def _between(sides: Mapping[str, Tags], tag: str) -> list[Finding]:
    cases = list(dict.fromkeys(case for side in sides.values() for case in side))
    differing = {}
    for case in cases:
        values = {name: side[case][tag] for name, side in sides.items() if side.get(case, {}).get(tag)}
        if len(set(values.values())) > 1:
            differing[case] = ", ".join(f"{name} {value}" for name, value in values.items())
    if not differing:
        return []
    case, said = next(iter(differing.items()))
    text = f"{tag} differs between {' and '.join(sides)} in {len(differing)} of {len(cases)} cases; {case!r}: {said}"
    remedy = f"bring all to one {tag} at the edge, where files are read; never subtract across"
    return [Finding("tags-differ", "error", tag, text, remedy)]


def _within(sides: Mapping[str, Tags], tag: str) -> list[Finding]:
    findings = []
    for name, side in sides.items():
        counts: dict[str, int] = {}
        for tags in side.values():
            counts[tags.get(tag, "")] = counts.get(tags.get(tag, ""), 0) + 1
        unknown = counts.pop("", 0)
        if len(counts) > 1:
            said = ", ".join(f"{value} {count}" for value, count in counts.items())
            text = f"{name}: {tag} is not the same in all {len(side)} cases ({said})"
            findings.append(Finding("tags-mixed", "warning", tag, text, f"convert all cases to one {tag}"))
        if unknown:
            text = f"{name}: {unknown} of {len(side)} cases have no {tag}"
            findings.append(Finding("tags-missing", "warning", tag, text, f"declare the {tag} of every case"))
    return findings


def scales(magnitudes: Mapping[str, float], *, factor: float = 5.0, where: str = "values") -> tuple[Finding, ...]:
    """Find cases whose typical magnitude is over ``factor`` times more or less than that of the median case.

    Needs one typical magnitude per case (median length of acceleration, extent of a skeleton), of which cases of one
    unit vary by less than the factor. Cannot see a unit that is wrong everywhere, nor one whose factor is small.
    """
    wrong = [case for case, value in magnitudes.items() if not math.isfinite(value) or value < 0]
    if wrong or not magnitudes or factor <= 1:
        got = f"{some(wrong) or len(magnitudes)} and {factor:g}"
        raise InputError(f"scales: expected magnitudes that are not negative and a factor over 1, but got {got}")
    middle = sorted(magnitudes.values())[len(magnitudes) // 2]
    odd = {case: value for case, value in magnitudes.items() if not middle / factor <= value <= middle * factor}
    if not odd:
        return ()
    case, value = next(iter(odd.items()))
    text = (
        f"{len(odd)} of {len(magnitudes)} cases are off the middle one ({middle:.4g}) by more than a factor of "
        f"{factor:g}; {case!r}: {value:.4g}{_guess(value, middle)}"
    )
    remedy = "check the units of these cases, and whether gravity was removed; convert when files are read"
    return (Finding("suspicious-scale", "warning", where, text, remedy),)


def _guess(value: float, middle: float) -> str:
    if not value or not middle:
        return ""
    ratio = max(value, middle) / min(value, middle)
    near = [name for name, factor in FACTORS.items() if abs(math.log(ratio / factor)) < math.log(1.15)]
    return f" (a factor of {ratio:.4g}{', as between ' + ' or '.join(near) if near else ''})"
