"""HAPT, postural transitions: a phone at the waist, 30 people, six activities and six transitions, 50 Hz.

Files are ``RawData/acc_exp<XX>_user<YY>.txt`` and ``gyro_...`` with a row of three numbers between blanks per sample,
acceleration in g with gravity and angular rate in rad/s, and ``RawData/labels.txt`` with rows of experiment, user,
activity, start and end; start and end count samples from 1, and both belong to the activity. A row of labels is one
recording; transitions last a few seconds and are filled up to a window.

The people are those of UCI HAR, under the same numbers: HAPT is its later release (J.-L. Reyes-Ortiz and others 2016).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.numbers import Layout, parse
from gnomon.suites.har.datasets.base import Dataset, Faults, G
from gnomon.suites.har.datasets.counting import first
from gnomon.suites.har.datasets.headed import bounded, line_of
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import Manifest, Recording, describe_channels

HZ = 50.0
LAYOUT = Layout("fff", separator=" ")
ROW = Layout("iiiii", separator=" ")
MEMBER = re.compile(
    r"(?<![^/])RawData/(?:(?P<sensor>acc|gyro)_exp(?P<experiment>\d+)_user(?P<subject>\d+)|(?P<labels>labels))\.txt$"
)
_LABELS = (
    "walking walking_upstairs walking_downstairs sitting standing lying stand_to_sit sit_to_stand sit_to_lie "
    "lie_to_sit stand_to_lie lie_to_stand"
)
MANIFEST = Manifest(
    name="hapt",
    title="Smartphone-Based Recognition of Human Activities and Postural Transitions",
    text_hz=HZ,
    role="train",
    placement="waist",
    channels=describe_channels("of a phone at the waist"),
    labels={str(k): label for k, label in enumerate(_LABELS.split(), start=1)},
    subjects=tuple(str(k) for k in range(1, 31)),
    people="uci_har",
    licence="CC BY 4.0",
    citation="J.-L. Reyes-Ortiz, L. Oneto, A. Samà, X. Parra, D. Anguita: Transition-Aware Human Activity Recognition "
    "Using Smartphones. Neurocomputing 171, 2016. doi:10.1016/j.neucom.2015.07.085",
    source="https://archive.ics.uci.edu/dataset/341/"
    "smartphone+based+recognition+of+human+activities+and+postural+transitions",
    patch_s=(0.75, 1.25, 0.25),
    notes=(
        "the same people as UCI HAR",
        "no time stamps: the rate is the stated one",
        "acceleration is in g, converted to m/s^2",
        "transitions are shorter than a window: filled up and masked",
    ),
    short="pad",
)


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per row of labels, by experiment."""
    del variant
    found = {(int(m["experiment"]), int(m["subject"]), m["sensor"]): m.string for m in matches if m["sensor"]}
    labels = next((match.string for match in matches if match["labels"]), None)
    if labels is None:
        raise InputError(f"{files.root}: no RawData/labels.txt beside the signals; obtain the archive again")
    whole = _whole(files, found, faults)
    data = files.read(labels)
    rows = np.stack(parse(data, ROW, files.shown(labels)), axis=1)
    ordered = sorted(enumerate(rows.tolist()), key=lambda pair: (pair[1][0], pair[1][1], pair[0]))
    seen: set[tuple[int, int]] = set()
    for (experiment, subject), group in groupby(ordered, key=lambda pair: (pair[1][0], pair[1][1])):
        own = list(group)
        if (experiment, subject) not in whole:
            told = f"experiment {experiment} of user {subject} at line {line_of(data, own[0][0])} of labels.txt"
            if (subject, experiment) in whole:
                said = f"has no signals, but experiment {subject} of user {experiment} has; put the columns in order"
                raise InputError(f"{files.shown(labels)}: {told.removesuffix(' of labels.txt')} {said}")
            first(faults, "rows of labels whose signals are not there, left out", told, len(own))
            continue
        seen.add((experiment, subject))
        with faults.reading(f"experiment {experiment} of user {subject}"):
            signals = _signals(files, found, experiment, subject, faults)
            yield from _recordings(manifest, signals, own, files.shown(labels))
    for experiment, subject in sorted(whole - seen):
        first(faults, "experiments without rows of labels, left out", f"{experiment} of user {subject}")


def _whole(files: Files, found: dict[tuple[int, int, str], str], faults: Faults) -> set[tuple[int, int]]:
    """Return experiments with their users that have both sensors; an experiment of two users is refused."""
    owners: dict[int, tuple[int, str]] = {}
    for (experiment, subject, _), member in sorted(found.items()):
        other, file = owners.setdefault(experiment, (subject, member))
        if other != subject:
            said = f"experiment {experiment} is also that of user {other}, in {file.rpartition('/')[2]}"
            raise InputError(f"{files.shown(member)}: {said}; remove one, or rename it")
    pairs = {key[:2] for key in found}
    for experiment, subject in sorted(pairs):
        for sensor, lacking in (("acc", "gyro"), ("gyro", "acc")):
            if (experiment, subject, lacking) not in found:
                pairs.discard((experiment, subject))
                member = found[experiment, subject, sensor].rpartition("/")[2]
                first(faults, "files of one sensor without the other, left out", member)
    return pairs


def _signals(
    files: Files, found: dict[tuple[int, int, str], str], experiment: int, subject: int, faults: Faults
) -> Array:
    """Return the six channels of an experiment, ``(n, 6)``."""
    tables = []
    for sensor in ("acc", "gyro"):
        member = found[experiment, subject, sensor]
        data, where = files.read(member), files.shown(member)
        tables.append(bounded(parse(data, LAYOUT, where), where, data, unit=G if sensor == "acc" else 1.0))
    both = min(len(table) for table in tables)
    longer = max(len(table) for table in tables) - both
    if longer:
        faults["samples of one sensor without the other, left out"] += longer
    return np.concatenate([tables[0][:both] * G, tables[1][:both]], axis=1)


def _recordings(
    manifest: Manifest, signals: Array, rows: list[tuple[int, list[int]]], where: str
) -> Iterator[Recording]:
    count: Counter[int] = Counter()
    for row, (experiment, subject, activity, start, end) in rows:
        if str(activity) not in manifest.labels:
            raise InputError(
                f"{where}: row {row + 1}: activity {activity}, expected 1 to {len(manifest.labels)}; correct the row"
            )
        if not 1 <= start <= end <= len(signals):
            raise InputError(
                f"{where}: row {row + 1}: samples {start} to {end} of experiment {experiment}, which has "
                f"{len(signals)}; obtain its files again"
            )
        count[activity] += 1
        yield Recording(
            dataset=manifest.name,
            subject=str(subject),
            id=f"{manifest.name}/{subject}/exp{experiment:02d}_{activity}_{count[activity]}",
            label=manifest.labels[str(activity)],
            times=np.arange(start - 1, end) / HZ,
            signals=signals[start - 1 : end],
            mask=manifest.mask,
            rate_hz=HZ,
            tags={"experiment": str(experiment)},
        )


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "RawData/{acc,gyro}_exp<XX>_user<YY>.txt, RawData/labels.txt",
    file=re.compile(r"(acc|gyro)_exp\d+_user\d+\.txt", re.IGNORECASE),
)
