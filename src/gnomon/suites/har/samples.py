"""What the systems of ``gnomon run har`` are trained on and tested on, for the audit.

A sample is a window: its case is its recording, its range the seconds of the recording that it covers, its digest that
of its content, its target its synonym group. Windows of the training datasets belong to every task; each test dataset,
and each supervised metric on it, is a fold of its own: what is scored zero-shot, or labelled, validated on and tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from gnomon.audit import Audit
from gnomon.audit.split import FOLD
from gnomon.core.cases import join
from gnomon.core.errors import some
from gnomon.core.evidence import Finding
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array
from gnomon.runs.auditing import TARGET
from gnomon.suites.har.datasets.units import RATE_SLACK, RATES_APART, judge, judge_turning
from gnomon.suites.har.recordings import Manifest, Windows
from gnomon.suites.har.scoring import case_id
from gnomon.suites.har.sources import About
from gnomon.suites.har.vocabulary import LABELS, group_of, near

SLACK_S = 1e-6
"""What rounding may add to a time."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Some windows of a dataset in one part of a fold; without a fold, they are in all of them."""

    windows: Windows
    about: About
    rows: Array
    part: str
    fold: str = ""


def of(pieces: Sequence[Piece]) -> Samples:
    """Return the samples of all pieces."""
    columns: dict[str, list[str]] = {
        key: [] for key in ("id", "case", "part", "digest", "subject", "dataset", "fold", "to")
    }
    spans = []
    for piece in pieces:
        found, index = piece.windows, piece.rows.tolist()
        # Equal texts are one object: a million windows have few people and recordings.
        case, person = cache(partial(case_id, found.dataset)), cache(lambda name, of=found.dataset: join((of, name)))
        columns["id"] += [found.ids[i] for i in index]
        columns["case"] += [case(found.subjects[i], found.recordings[i]) for i in index]
        columns["digest"] += [digest.decode() for digest in piece.about.digests[piece.rows].tolist()]
        columns["subject"] += [person(found.subjects[i]) for i in index]
        columns["to"] += [group_of(found.labels[i]) for i in index]
        for key, value in (("part", piece.part), ("fold", piece.fold), ("dataset", found.dataset)):
            columns[key] += [value] * len(index)
        spans.append(np.asarray(found.spans)[piece.rows])
    ranges = np.concatenate(spans) if spans else np.zeros((0, 2))
    return Samples(
        ids=tuple(columns["id"]),
        cases=tuple(columns["case"]),
        parts=tuple(columns["part"]),
        input_range=ranges,
        target_range=ranges,
        digests=tuple(columns["digest"]),
        tags={name: tuple(columns[key]) for name, key in _TAGS.items()},
    )


_TAGS = {"subject": "subject", "dataset": "dataset", FOLD: "fold", TARGET: "to"}


def audit(manifests: Mapping[str, Manifest], about: Mapping[str, About], variant: str) -> Audit:
    """Check units and gravity over datasets, scales over subjects, and whether two datasets are of the same people."""
    tags = {name: {"unit": "m/s^2", "gravity": one.gravity.get(variant, "")} for name, one in manifests.items()}
    found = Audit().check("units-and-frames", {"acceleration": tags}, ("unit", "gravity"))
    cohorts = {name: one.people for name, one in manifests.items()}
    found = found.check("same-people", {}, cohorts=cohorts)
    findings: list[Finding] = []
    for state in ("present", "removed"):
        sizes = {
            join((name, subject)): value
            for name, one in manifests.items()
            if one.gravity.get(variant, "") == state and not _judged(name, one, about[name], variant)
            for subject, value in about[name].magnitudes.items()
        }
        if len(sizes) > 1:
            findings += Audit().check("scales", sizes, where=f"acceleration, gravity {state}").findings
    return found.add("scales", findings)


def _judged(name: str, one: Manifest, about: About, variant: str) -> list[Finding]:
    """Return what is wrong with the units of a dataset by itself."""
    return [*judge(name, one.gravity[variant], about.resting), *judge_turning(name, about.turning)]


def conditions(manifests: Mapping[str, Manifest], about: Mapping[str, About], variant: str) -> list[Finding]:
    """Find datasets in other units, with sensors at two places, with other rates, lacking channels or repaired data."""
    found: list[Finding] = []
    for name, one in manifests.items():
        own = about[name]
        found += _judged(name, one, own, variant)
        acceleration, rotation = one.placements.get(variant, (one.placement, one.placement))
        if acceleration != rotation:
            text = f"{name}: acceleration is of the {acceleration}, angular rate of the {rotation}"
            found.append(Finding("mixed-placements", "warning", name, text, "use strict: both are of one sensor there"))
        least, median, most = (own.rates[key] for key in ("least", "median", "most"))
        if abs(median / one.text_hz - 1) > RATE_SLACK or most / least > RATES_APART:
            text = f"{name}: the stated rate is {one.text_hz:g} Hz, the measured one {median:.4g} Hz"
            text += f" ({least:.4g} to {most:.4g})" if most / least > RATES_APART else ""
            found.append(Finding("stated-rate", "info", name, text, "nothing: the measured rate is used"))
        if own.lacking:
            said = ", ".join(f"{channel} {count}" for channel, count in own.lacking.items())
            text = f"{name}: of {len(own.labels)} recordings some lack channels that others have ({said})"
            found.append(Finding("channels-missing", "warning", name, text, "nothing: they are zeros and masked there"))
        if own.broken:
            told = some(own.broken, show=3, sentences=True)
            text = f"{name}: {len(own.broken):,} left out of files and recordings, which cannot be read: {told}"
            remedy = "correct them or obtain them again: scores are of the others; gnomon data check lists all"
            found.append(Finding("files-left-out", "warning", name, text, remedy))
        if own.faults:
            text = f"{name}: {'; '.join(f'{what}: {count:,}' for what, count in own.faults.items())}"
            found.append(Finding("repaired-or-left-out", "info", name, text, "look at gnomon data check"))
    return found


def untrained(windows: Windows) -> list[Finding]:
    """Find windows to train on whose label is none of the 87."""
    odd = {label: windows.labels.count(label) for label in sorted(set(windows.labels) - set(LABELS))}
    if not odd:
        return []
    said = [f"{label!r}{f' ({meant}?)' if (meant := near(label)) else ''}" for label in odd]
    text = f"{windows.dataset}: {sum(odd.values())} of {len(windows)} windows are not trained on, since their label is "
    text += f"none of the {len(LABELS)}: {', '.join(said[:8])}"
    remedy = "map labels to training labels in the manifest, table [labels]"
    return [Finding("labels-outside", "warning", windows.dataset, text, remedy)]


def across(windows: Windows, about: About) -> tuple[Finding, ...]:
    """Find windows that are not one stretch of one recording of their activity.

    Those that reach over an end of their recording; those that are put together from two pieces, so that they are
    longer than the stretch that they name; those whose recording is of another activity.
    """
    spans = np.asarray(windows.spans)
    step_s = 1 / windows.rate_hz
    lasting = np.sum(windows.valid, axis=1) * step_s
    ends = np.array([about.extents.get(name, (-np.inf, np.inf)) for name in windows.recordings]).reshape(-1, 2)
    over = (spans[:, 0] < ends[:, 0] - SLACK_S) | (spans[:, 1] > ends[:, 1] + step_s + SLACK_S)
    joined = ~over & (lasting > spans[:, 1] - spans[:, 0] + 1.5 * step_s)
    labels = zip(windows.recordings, windows.labels, strict=True)
    other = np.array([about.labels.get(name, label) != label for name, label in labels], dtype=np.bool_)
    told = (
        (over, "window-across-recordings", "reach over an end of their recording"),
        (joined, "window-of-pieces", "are put together from two stretches of time"),
        (other, "window-across-activities", "do not have the activity of their recording"),
    )
    found = []
    for rows, name, what in told:
        if rows.any():
            ids = [windows.ids[row] for row in np.flatnonzero(rows)[:5].tolist()]
            text = f"{int(rows.sum())} of {len(windows)} windows {what}: {some(ids, int(rows.sum()))}"
            remedy = "cut windows inside one recording of one activity, once"
            found.append(Finding(name, "warning", windows.dataset, text, remedy))
    return tuple(found)
