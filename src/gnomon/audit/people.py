"""Who is on both sides: subjects, sessions and devices by tag; the same people in two datasets by what is known.

Descriptors
-----------
Two people *agree* when every field that both datasets have (age, height, ...) is equal, or within its tolerance. Some
agree by chance; how often, is seen inside the datasets, where two people are never the same one. With k agreeing
pairs within datasets among n, a pair agrees by chance with probability at most about (k + 1) / (n + 1), and the
number of agreeing pairs between datasets is judged by the binomial tail of that.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from gnomon.audit.split import SPLIT, Split
from gnomon.core.errors import InputError, plural, some
from gnomon.core.evidence import Finding, Severity
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array

People = Mapping[str, Mapping[str, float | str]]
"""What is known of each person of a dataset: person -> field -> value."""
SLACK = 1e-9
"""What rounding may add to a difference."""
UNLIKELY = 1e-3
"""Probability below which agreement is not put down to chance."""


def shared_tags(
    samples: Samples, tags: Sequence[str], split: Split = SPLIT, *, severity: Severity = "error"
) -> tuple[Finding, ...]:
    """Find values of tags (subject, session, device; also ``cases``) that are on both sides of the split.

    Needs the tags as columns. Cannot see one person under two names, nor tell two people of one name apart; says how
    many samples have no value. Call it once per severity: shared subjects are an error where new people are claimed,
    shared devices perhaps only a warning.
    """
    seen, held = split.sides(samples)
    seen_name, held_name = split.names(samples)
    findings = []
    for tag in tags:
        column = samples.column(tag)
        known = {column[row] for row in seen.tolist()} - {""}
        rows = [row for row in held.tolist() if column[row] in known]
        if rows:
            both = sorted({column[row] for row in rows})
            there = len({column[row] for row in held.tolist()} - {""})
            text = (
                f"{len(both)} of {there} {plural(tag, there)} of {held_name} are in {seen_name} too, with "
                f"{len(rows)} of {len(held)} {held_name} samples: {some(both)}"
            )
            remedy = f"split by {tag}, or say that the numbers hold for known {plural(tag)} only"
            findings.append(Finding("shared-tag", severity, tag, text, remedy))
        blank = sum(not column[row] for row in (*seen.tolist(), *held.tolist()))
        if blank:
            text = f"{blank} of {len(seen) + len(held)} samples have no {tag} and were not compared"
            findings.append(Finding("tag-unknown", "info", tag, text, f"give every sample its {tag}"))
    return tuple(findings)


def same_people(
    datasets: Mapping[str, People],
    *,
    tolerance: Mapping[str, float] | None = None,
    cohorts: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Find people of one dataset who are in another.

    Needs descriptors of people by dataset, and for numbers the tolerance that still counts as equal (default: none);
    or ``cohorts``, the declared name of the group of people that each dataset was recorded with. Cannot see people
    without descriptors (compare recordings with :func:`~gnomon.audit.duplicates.exact_duplicates` and
    ``near_duplicates``, split by dataset), and a person whose descriptors changed between recordings; nor fewer
    shared people than chance may explain.
    """
    findings = list(_declared(cohorts or {}))
    for left, right in itertools.combinations(datasets, 2):
        found = _described((left, datasets[left]), (right, datasets[right]), tolerance or {})
        findings += [found] if found else []
    return tuple(findings)


def _declared(cohorts: Mapping[str, str]) -> tuple[Finding, ...]:
    by_cohort: dict[str, list[str]] = {}
    for dataset, cohort in cohorts.items():
        if cohort:
            by_cohort.setdefault(cohort, []).append(dataset)
    remedy = "keep them on one side of the split, or drop all but one"
    return tuple(
        Finding("same-cohort", "error", cohort, f"{len(names)} datasets are of the same people: {some(names)}", remedy)
        for cohort, names in by_cohort.items()
        if len(names) > 1
    )


def _described(left: tuple[str, People], right: tuple[str, People], tolerance: Mapping[str, float]) -> Finding | None:
    from scipy.special import bdtrc

    (a, people_a), (b, people_b) = left, right
    fields = sorted(_fields(people_a) & _fields(people_b))
    known_a, known_b = _complete(people_a, fields), _complete(people_b, fields)
    if not fields or not known_a or not known_b:
        return None
    between = _agree(known_a, known_b, fields, tolerance)
    within = [np.triu(_agree(side, side, fields, tolerance), 1) for side in (known_a, known_b)]
    pairs = sum(len(side) * (len(side) - 1) // 2 for side in (known_a, known_b))
    chance = min(1.0, (sum(int(part.sum()) for part in within) + 1) / (pairs + 1))
    count = int(between.sum())
    if not count or (p := float(bdtrc(count - 1, between.size, chance))) >= UNLIKELY:
        return None
    matched = [(list(known_a)[i], list(known_b)[j]) for i, j in np.argwhere(between).tolist()]
    text = (
        f"{int(between.any(axis=1).sum())} of {len(known_a)} people of {a} agree with one of {len(known_b)} of {b} in "
        f"{', '.join(fields)}; by chance {chance * between.size:.1f} of {count} agreeing pairs at most (p = {p:.1g}): "
        f"{some(matched)}"
    )
    remedy = "keep the datasets on one side of the split, or drop the people who are in both"
    return Finding("same-people", "warning", f"{a}, {b}", text, remedy)


def _fields(people: People) -> set[str]:
    return {name for known in people.values() for name in known}


def _complete(people: People, fields: Sequence[str]) -> dict[str, Mapping[str, float | str]]:
    return {name: known for name, known in people.items() if all(field in known for field in fields)}


def _agree(left: People, right: People, fields: Sequence[str], tolerance: Mapping[str, float]) -> Array:
    """Return which people of ``left`` agree with which of ``right`` in all fields."""
    agreeing = np.ones((len(left), len(right)), dtype=np.bool_)
    for field in fields:
        a, b = ([known[field] for known in side.values()] for side in (left, right))
        texts = [isinstance(value, str) for value in (*a, *b)]
        if any(texts) and not all(texts):
            raise InputError(f"descriptor {field!r}: expected numbers or texts, but got both")
        if any(texts):
            agreeing &= np.array(a, dtype=object)[:, None] == np.array(b, dtype=object)
        else:
            gap = np.abs(np.array(a, np.float64)[:, None] - np.array(b, np.float64))
            agreeing &= gap <= tolerance.get(field, 0.0) + SLACK
    return agreeing
