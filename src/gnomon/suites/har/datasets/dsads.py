"""Daily and Sports Activities: five sensors on the body, 8 people, 19 activities, 25 Hz.

Files are ``data/a<activity>/p<person>/s<segment>.txt``: 125 rows of 45 numbers between commas, five seconds each. The
sensors are torso, right arm, left arm, right leg and left leg; of each there are acceleration (m/s^2, gravity kept),
angular rate (rad/s) and magnetic field. The torso is used. Segments of one person and activity follow one another, and
are joined; where one is missing, a new recording begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, pairwise

import numpy as np

from gnomon.core.errors import InputError, counted
from gnomon.core.tallies import Array
from gnomon.intake.numbers import Layout, parse
from gnomon.suites.har.datasets.base import Dataset, Faults
from gnomon.suites.har.datasets.headed import bounded
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import Manifest, Recording, describe_channels

HZ = 25.0
ROWS = 125
"""Rows of a segment: five seconds."""
LAYOUT = Layout("ffffff" + "-" * 39)
MEMBER = re.compile(r"(?<![^/])a(?P<activity>\d\d)/p(?P<subject>\d)/s(?P<segment>\d\d)\.txt$")
_LABELS = (  # of a01 to a19
    "sitting standing lying_back lying_side stairs_up stairs_down standing_elevator moving_elevator walking_parking "
    "walking_treadmill_flat walking_treadmill_incline running_treadmill exercising_stepper exercising_cross_trainer "
    "cycling_horizontal cycling_vertical rowing jumping playing_basketball"
)
MANIFEST = Manifest(
    name="dsads",
    title="Daily and Sports Activities",
    text_hz=HZ,
    role="train",
    placement="torso",
    channels=describe_channels("on the torso"),
    labels={f"a{k:02d}": label for k, label in enumerate(_LABELS.split(), start=1)},
    subjects=tuple(f"p{k}" for k in range(1, 9)),
    people="dsads",
    licence="CC BY 4.0",
    citation="K. Altun, B. Barshan, O. Tunçel: Comparative study on classifying human activities with miniature "
    "inertial and magnetic sensors. Pattern Recognition 43 (10), 2010. doi:10.1016/j.patcog.2010.04.019",
    source="https://archive.ics.uci.edu/dataset/256/daily+and+sports+activities",
    patch_s=(1.5, 2.5, 0.5),
    verified="real files",
    notes=("no time stamps: the rate is the stated one", "segments of five seconds are joined before windows are cut"),
)


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per person, activity and run of segments without a gap."""
    del variant
    ordered = sorted(matches, key=lambda m: (m["subject"], m["activity"], m["segment"]))
    for (subject, activity), group in groupby(ordered, key=lambda m: (f"p{m['subject']}", f"a{m['activity']}")):
        if activity not in manifest.labels:
            raise InputError(f"{files.root}: folder {activity!r}, expected a01 to a{len(manifest.labels):02d}")
        runs = list(_runs(list(group)))
        if len(runs) > 1:
            faults["missing segments, a new recording begins after them"] += len(runs) - 1
        for run in runs:
            with faults.reading(f"{activity} of {subject}"):
                signals = np.concatenate([segment(files.read(m.string), files.shown(m.string)) for m in run])
                first = int(run[0]["segment"])
                yield Recording(
                    dataset=manifest.name,
                    subject=subject,
                    id=f"{manifest.name}/{subject}/{activity}_s{first:02d}",
                    label=manifest.labels[activity],
                    times=(first - 1) * ROWS / HZ + np.arange(len(signals)) / HZ,
                    signals=signals,
                    mask=manifest.mask,
                    rate_hz=HZ,
                    tags={"segments": str(len(run))},
                )


def segment(data: bytes, name: str) -> Array:
    """Return the torso's six channels in a segment, ``(125, 6)``."""
    columns = parse(data, LAYOUT, name)
    if len(columns[0]) != ROWS:
        raise InputError(f"{name}: {counted(len(columns[0]), 'row')}, expected {ROWS}; obtain the file again")
    return bounded(columns, name, data)


def _runs(matches: list[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    numbers = [int(match["segment"]) for match in matches]
    starts = [0, *(k for k in range(1, len(numbers)) if numbers[k] != numbers[k - 1] + 1), len(numbers)]
    for begin, end in pairwise(starts):
        yield matches[begin:end]


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "data/a<activity>/p<person>/s<segment>.txt",
    file=re.compile(r"s\d+\.txt", re.IGNORECASE),
    files_each="even",
)
