"""What the systems of ``gnomon run har`` are trained on and tested on, for the audit.

A sample is a window: its case is its recording, its range the seconds of the recording that it covers, its digest that
of its content, its target its synonym group. Windows of the training datasets belong to every task; each test dataset,
and each supervised metric on it, is a fold of its own: what is scored zero-shot, or labelled, validated on and tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.audit import Audit
from gnomon.audit.split import FOLD
from gnomon.core.cases import join
from gnomon.core.errors import some
from gnomon.core.evidence import Finding
from gnomon.core.samples import Samples
from gnomon.core.tallies import Array
from gnomon.runs.auditing import TARGET
from gnomon.suites.har.recordings import Manifest, Windows
from gnomon.suites.har.scoring import case_id
from gnomon.suites.har.sources import About
from gnomon.suites.har.vocabulary import group_of

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
        columns["id"] += [found.ids[i] for i in index]
        columns["case"] += [case_id(found.dataset, found.subjects[i], found.recordings[i]) for i in index]
        columns["digest"] += [digest.decode() for digest in piece.about.digests[piece.rows].tolist()]
        columns["subject"] += [join((found.dataset, found.subjects[i])) for i in index]
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
            if one.gravity.get(variant, "") == state
            for subject, value in about[name].magnitudes.items()
        }
        if len(sizes) > 1:
            findings += Audit().check("scales", sizes, where=f"acceleration, gravity {state}").findings
    return found.add("scales", findings)


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
