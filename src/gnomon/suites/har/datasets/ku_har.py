"""KU-HAR: a phone in a bag at the waist, 89 people, 18 activities, about 100 Hz.

Files are ``1.Raw_time_domian_data/<n>.<Class>/<subject>_<letter>_<trial>.csv`` (spelt so), without a header, of eight
columns: time and acceleration x, y, z, time and angular rate x, y, z. The letter says the activity once more (A to O
for 0 to 14, S, T, U for 15 to 17) and is checked against the folder.

- The data's page says that times are in ms; the authors' own scripts use them as seconds
  (https://github.com/Niloy333/KU-HAR, ``Interpolation_100hz.m`` steps by 1/100). The unit is therefore seen from the
  steps of a file: a median step of the accelerometer below :data:`SECONDS_BELOW` is seconds, above it milliseconds.
- The acceleration is without gravity, which the authors omitted (description of the data, version 5, last paragraph).
  It is in m/s^2, the angular rate in rad/s.
- The two sensors have times of their own and may have unequal numbers of samples: cells that are empty, NaN, or zeros
  after the last sample belong to the shorter one and are left out. The sensors are joined by time.

A file is one recording, except where its time has a break. Recordings that are shorter than a window are filled up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.numbers import Layout, parse
from gnomon.suites.har.datasets.base import Dataset, Faults
from gnomon.suites.har.datasets.headed import bounded
from gnomon.suites.har.datasets.joining import together, turning
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import Manifest, Recording, describe_channels

LAYOUT = Layout("ffffffff", missing=True)
PEOPLE = 89
"""People of the distribution; they have 91 numbers to choose from, and which two are unused is not known."""
SECONDS_BELOW = 0.5
"""A median step below this is in seconds (2 Hz and more); in ms it would be over 2,000 Hz."""
LETTERS = "ABCDEFGHIJKLMNOSTU"
"""The letter of activities 0 to 17."""
MEMBER = re.compile(
    r"(?<![^/])1\.Raw_time_domian_data/(?P<activity>\d+)\.(?P<folder>[^/]+)/"
    r"(?P<subject>\d+)_(?P<letter>[A-Z])_(?P<trial>\w+)\.csv$"
)
_LABELS = (
    "standing sitting talking_sitting talking_standing standing_up_from_sitting lying standing_up_from_laying "
    "picking_up jumping push_up sit_up walking walking_backwards walking running walking_upstairs walking_downstairs "
    "playing_sports"
)
MANIFEST = Manifest(
    name="ku_har",
    title="KU-HAR",
    text_hz=100.0,
    role="train",
    placement="waist bag",
    channels=describe_channels("of a phone in a bag at the waist"),
    gravity={"published": "removed", "strict": "removed"},
    labels={str(k): label for k, label in enumerate(_LABELS.split())},
    subjects=(*(str(k) for k in range(1001, 1091)), "1101"),
    people="ku_har",
    licence="CC BY 4.0",
    citation="N. Sikder, A.-A. Nahid: KU-HAR: An open dataset for heterogeneous human activity recognition. Pattern "
    "Recognition Letters 146, 2021. doi:10.1016/j.patrec.2021.02.024. Data: doi:10.17632/45f952y38r.5",
    source="https://data.mendeley.com/datasets/45f952y38r/5 (1.Raw_time_domian_data.zip)",
    patch_s=(1.0, 1.75, 0.25),
    notes=(
        "gravity was left out of the acceleration by the authors (description of the data, version 5)",
        "time is seconds or milliseconds, seen from the steps of each file",
        f"people are numbered 1001 to 1090 and 1101; two of these numbers have no files, so {PEOPLE} are there",
        "walking along a circle (13) is walking, like 11",
    ),
    short="pad",
)


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per file and piece without a break, by subject, activity and trial."""
    del variant
    for match in sorted(matches, key=lambda m: (m["subject"], int(m["activity"]), m["trial"])):
        where, code = files.shown(match.string), str(int(match["activity"]))
        with faults.reading(where):
            if code not in manifest.labels:
                raise InputError(f"{where}: activity {code}, expected 0 to {len(manifest.labels) - 1}")
            if match["letter"] != LETTERS[int(code)]:
                expected = f"{LETTERS[int(code)]!r} in folder {code}"
                raise InputError(f"{where}: letter {match['letter']!r}, expected {expected}; mixed-up files")
            accel, gyro = _sensors(files.read(match.string), where, faults)
            pieces = turning(gyro[:, 0], gyro[:, 1:], faults, where=match.group())
            joined = together(accel[:, 0], accel[:, 1:], pieces or None, faults, where=match.group())
            for count, (at, signals, rate) in enumerate(joined, start=1):
                yield Recording(
                    dataset=manifest.name,
                    subject=match["subject"],
                    id=f"{manifest.name}/{match['subject']}/{code}_{match['trial']}_{count}",
                    label=manifest.labels[code],
                    times=at,
                    signals=signals,
                    mask=manifest.mask if pieces else manifest.mask & (np.arange(6) < 3),
                    rate_hz=rate,
                    tags={"trial": match["trial"]},
                )
            if not pieces:
                faults["files without gyroscope, its channels masked"] += 1


def _sensors(data: bytes, where: str, faults: Faults) -> tuple[Array, Array]:
    """Return seconds and three values ``(n, 4)`` of the accelerometer and of the gyroscope."""
    columns = parse(data, LAYOUT, where)
    bounded([*columns[1:4], *columns[5:]], where, data)
    table = np.stack(columns, axis=1)
    accel, gyro = (_samples(table[:, columns], faults) for columns in (slice(0, 4), slice(4, 8)))
    if len(accel) < 2:
        raise InputError(f"{where}: {len(accel)} samples of the accelerometer, expected two and more; obtain it again")
    step = float(np.median(np.diff(accel[:, 0])))
    scale = 1.0 if step < SECONDS_BELOW else 1e-3
    return accel * [scale, 1, 1, 1], gyro * [scale, 1, 1, 1]


def _samples(table: Array, faults: Faults) -> Array:
    """Return the rows that hold a sample: not those that are empty, nor zeros after the last one."""
    there = np.isfinite(table)
    part = np.flatnonzero(there.any(axis=1) & ~there.all(axis=1))
    if len(part):
        faults["samples of which a part is missing, left out"] += len(part)
    rows = table[there.all(axis=1)]
    filled = (rows == 0).all(axis=1)
    last = len(rows) - int(np.argmin(filled[::-1])) if len(rows) and not filled.all() else 0
    return rows[:last]


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "1.Raw_time_domian_data/<n>.<Class>/<subject>_<letter>_<trial>.csv",
    people=PEOPLE,
    file=re.compile(r"\d+_[A-Z]_\w+\.csv", re.IGNORECASE),
    aside=re.compile(r"(?<![^/])(2\.Trimmed|3\.Time)[^/]*/"),
)
