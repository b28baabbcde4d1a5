"""MotionSense: an iPhone in the front pocket, 24 people, six activities, 50 Hz.

Files are ``A_DeviceMotion_data/<activity>_<trial>/sub_<n>.csv``: a header, then a row number and twelve numbers, of
which gravity and user acceleration are apart, both in g, and the rotation rate is in rad/s. There are no time stamps:
rows are 1/50 s apart, and a row number that does not follow the one before it is an error.

``published`` uses the user acceleration alone, from which gravity is removed; ``strict`` adds gravity to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.numbers import Layout, parse
from gnomon.suites.har.datasets.base import Dataset, Faults, G
from gnomon.suites.har.datasets.headed import bounded
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import Manifest, Recording, describe_channels

HZ = 50.0
COLUMNS = (
    "",
    *(f"attitude.{angle}" for angle in ("roll", "pitch", "yaw")),
    *(f"{what}.{axis}" for what in ("gravity", "rotationRate", "userAcceleration") for axis in "xyz"),
)
"""The header of every file."""
LAYOUT = Layout("i---fffffffff", header=1)
MEMBER = re.compile(r"(?<![^/])A_DeviceMotion_data/(?P<activity>[a-z]{3})_(?P<trial>\d+)/sub_(?P<subject>\d+)\.csv$")
MANIFEST = Manifest(
    name="motionsense",
    title="MotionSense",
    text_hz=HZ,
    role="test",
    placement="front trouser pocket",
    channels=describe_channels("of a phone in the front trouser pocket"),
    gravity={"published": "removed", "strict": "present"},
    labels={
        "dws": "walking_downstairs",
        "ups": "walking_upstairs",
        "wlk": "walking",
        "jog": "jogging",
        "std": "standing",
        "sit": "sitting",
    },
    subjects=tuple(f"sub_{k}" for k in range(1, 25)),
    people="motionsense",
    licence="MIT",
    citation="M. Malekzadeh, R. G. Clegg, A. Cavallaro, H. Haddadi: Mobile Sensor Data Anonymization. IoTDI 2019. "
    "doi:10.1145/3302505.3310068",
    source="https://github.com/mmalekzadeh/motion-sense (data/A_DeviceMotion_data.zip)",
    verified="real files",
    notes=("no time stamps: the rate is the stated one", "user acceleration and gravity are in g, converted to m/s^2"),
)


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per file, by subject, activity and trial."""
    for match in sorted(matches, key=lambda m: (int(m["subject"]), m["activity"], int(m["trial"]))):
        name = files.shown(match.string)
        with faults.reading(name):
            if match["activity"] not in manifest.labels:
                raise InputError(
                    f"{name}: activity {match['activity']!r}, expected one of {', '.join(manifest.labels)}"
                )
            signals = signals_of(files.read(match.string), name, gravity=variant == "strict")
            subject = f"sub_{int(match['subject'])}"
            yield Recording(
                dataset=manifest.name,
                subject=subject,
                id=f"{manifest.name}/{subject}/{match['activity']}_{match['trial']}",
                label=manifest.labels[match["activity"]],
                times=np.arange(len(signals)) / HZ,
                signals=signals,
                mask=manifest.mask,
                rate_hz=HZ,
                tags={"trial": match["trial"]},
            )


def signals_of(data: bytes, name: str, *, gravity: bool) -> Array:
    """Return the six channels in a file, ``(n, 6)``."""
    header = data.partition(b"\n")[0].decode("utf-8", "replace").strip().lstrip("\ufeff")
    got = tuple(cell.strip().strip('"') for cell in header.split(","))
    if got != COLUMNS:
        raise InputError(f"{name}: line 1: header {header[:120]!r}, expected {','.join(COLUMNS)!r}")
    rows, *values = parse(data, LAYOUT, name)
    wrong = np.flatnonzero(rows != np.arange(len(rows)))
    if len(wrong):
        at = int(wrong[0])
        raise InputError(f"{name}: line {at + 2}: row number {int(rows[at])}, expected {at}; rows are missing or mixed")
    if not len(rows):
        raise InputError(f"{name}: no rows after the header; obtain the file again")
    table = bounded(values, name, data, header=1, unit=G)
    acceleration = table[:, 6:9] + (table[:, 0:3] if gravity else 0)
    return np.concatenate([acceleration * G, table[:, 3:6]], axis=1)


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "A_DeviceMotion_data/<activity>_<trial>/sub_<n>.csv",
    file=re.compile(r"sub_\d+\.csv", re.IGNORECASE),
    aside=re.compile(r"(?<![^/])[BC]_[A-Za-z]+_data/"),
    files_each=15,
)
