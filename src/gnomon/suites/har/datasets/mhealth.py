"""MHEALTH: Shimmer sensors on chest, right lower arm and left ankle, 10 people, 12 activities, 50 Hz.

Files are ``MHEALTHDATASET/mHealth_subject<n>.log``: 24 columns between tabs and no header. 1-3 acceleration of the
chest, 4-5 electrocardiogram, 6-8 acceleration, 9-11 angular rate and 12-14 magnetic field of the left ankle, 15-17,
18-20 and 21-23 the same of the right lower arm, 24 the activity, 0 for none. Acceleration is in m/s^2 with gravity,
angular rate in deg/s (the README of the distribution). The chest has no gyroscope.

``published`` puts the acceleration of the chest beside the angular rate of the left ankle: the six channels then do not
move together, which recordings say in their tags and the counts of faults say too. ``strict`` takes both from the right
lower arm. A recording is a run of one activity; there are no time stamps.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.numbers import Layout, parse
from gnomon.suites.har.datasets.base import Dataset, Faults
from gnomon.suites.har.datasets.headed import bounded
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import Manifest, Recording, describe_channels

HZ = 50.0
LAYOUTS = {
    "published": Layout("fff-----fff" + "-" * 12 + "i", separator=" "),
    "strict": Layout("-" * 14 + "ffffff---i", separator=" "),
}
PLACEMENTS = {"published": ("chest", "left ankle"), "strict": ("right lower arm", "right lower arm")}
"""Of accelerometer and gyroscope, by variant."""
NONE = 0
"""The activity of rows between activities."""
MEMBER = re.compile(r"(?<![^/])mHealth_subject(?P<subject>\d+)\.log$")
_LABELS = (  # of 1 to 12
    "standing sitting lying walking climbing_stairs waist_bends_forward frontal_elevation_arms knees_bending cycling "
    "jogging running jump_front_back"
)
MANIFEST = Manifest(
    name="mhealth",
    title="MHEALTH (Mobile Health)",
    text_hz=HZ,
    role="train",
    placement="right lower arm",
    placements=PLACEMENTS,
    channels=describe_channels("on the right lower arm"),
    labels={str(k): label for k, label in enumerate(_LABELS.split(), start=1)},
    subjects=tuple(f"subject{k}" for k in range(1, 11)),
    people="mhealth",
    licence="CC BY 4.0",
    citation="O. Banos, R. Garcia, J. A. Holgado-Terriza, M. Damas, H. Pomares, I. Rojas, A. Saez, C. Villalonga: "
    "mHealthDroid: A Novel Framework for Agile Development of Mobile Health Applications. IWAAL 2014. "
    "doi:10.1007/978-3-319-13105-4_14",
    source="https://archive.ics.uci.edu/dataset/319/mhealth+dataset",
    patch_s=(1.0, 1.75, 0.25),
    notes=(
        "published mixes placements: acceleration of the chest beside the angular rate of the left ankle; strict takes "
        "both from the right lower arm",
        "no time stamps: the rate is the stated one",
        "angular rate is in deg/s, converted to rad/s",
        "rows without an activity (0) are left out",
    ),
)


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per person and run of an activity."""
    for match in sorted(matches, key=lambda m: int(m["subject"])):
        with faults.reading(files.shown(match.string)):
            signals, codes = table(files.read(match.string), files.shown(match.string), variant)
            yield from _recordings(manifest, f"subject{int(match['subject'])}", signals, codes, variant, faults)


def table(data: bytes, name: str, variant: str) -> tuple[Array, Array]:
    """Return the six channels in a file, ``(n, 6)`` in m/s^2 and rad/s, and the activity of each row."""
    *values, codes = parse(data, LAYOUTS[variant], name)
    if not len(codes):
        raise InputError(f"{name}: no rows; obtain the file again")
    wrong = np.flatnonzero((codes < NONE) | (codes > len(MANIFEST.labels)))
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{name}: row {row + 1}: activity {int(codes[row])}, expected 0 to {len(MANIFEST.labels)}; correct the file"
        )
    signals = bounded(values, name, data)
    signals[:, 3:] *= np.pi / 180
    return signals, codes


def _recordings(
    manifest: Manifest, subject: str, signals: Array, codes: Array, variant: str, faults: Faults
) -> Iterator[Recording]:
    acceleration, rotation = PLACEMENTS[variant]
    count: Counter[str] = Counter()
    for rows in np.split(np.arange(len(codes)), np.flatnonzero(np.diff(codes)) + 1):
        code = str(int(codes[rows[0]]))
        if code == str(NONE):
            faults["rows without an activity, left out"] += len(rows)
            continue
        if acceleration != rotation:
            faults[f"recordings with acceleration of the {acceleration} and angular rate of the {rotation}"] += 1
        count[code] += 1
        yield Recording(
            dataset=manifest.name,
            subject=subject,
            id=f"{manifest.name}/{subject}/{code}_{count[code]}",
            label=manifest.labels[code],
            times=np.arange(len(rows)) / HZ,
            signals=signals[rows],
            mask=manifest.mask,
            rate_hz=HZ,
            tags={"acceleration": acceleration, "rotation": rotation},
        )


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "MHEALTHDATASET/mHealth_subject<n>.log",
    file=re.compile(r"mHealth_subject\d+\.log", re.IGNORECASE),
)
