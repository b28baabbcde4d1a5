"""RealWorld (HAR), University of Mannheim: phones and a watch at seven places, 15 people, 8 activities, about 50 Hz.

``proband<n>/data/{acc,gyr}_<activity>_csv.zip`` holds a file for each placement: ``acc_<activity>_waist.csv``, and
``Gyroscope_<activity>_waist.csv`` in the archives of the gyroscope. Columns are ``id, attr_time, attr_x, attr_y,
attr_z``: milliseconds, m/s^2 with gravity, rad/s. Quirks of the distribution:

- Climbing of probands 4, 7 and 14 was recorded in three parts: archives inside the archive. The first is called
  ``acc_climbingup_1_csv.zip`` or ``gyr_climbingup_csv.zip``, and the file in it has no number; later ones have it.
- Some recordings exist as part 2 alone, such as ``acc_walking_2_waist.csv`` of proband 4.

So the number in the name of the file is the part, 1 where there is none. Archives may be unpacked into folders.

``published`` uses the accelerometer at the waist and masks the gyroscope; ``strict`` joins both by time and leaves out
what has no gyroscope. Any placement would do for ``strict``; one is used, the waist, since each further one would
add windows of the same moments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.har.datasets.base import Dataset, Faults
from gnomon.suites.har.datasets.headed import bounded, columns
from gnomon.suites.har.datasets.joining import together, turning
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import Manifest, Recording, describe_channels

PLACEMENT = "waist"
COLUMNS = {"attr_time": "f", "attr_x": "f", "attr_y": "f", "attr_z": "f"}
SENSORS = {"acc": "acc", "Gyroscope": "gyr", "gyr": "gyr"}
"""How a file begins -> its sensor; unpacked copies call the gyroscope either way."""
MEMBER = re.compile(
    r"(?<![^/])proband(?P<subject>\d+)/data/(?:[^/]+/)*(?:"
    rf"(?P<sensor>acc|Gyroscope|gyr)_(?P<activity>[a-z]+)(?:_(?P<part>\d+))?_{PLACEMENT}\.csv"
    r"|(?P<closed>(?:acc|gyr)_[a-z0-9_]+_csv\.zip))$"
)
"""One that can be opened is a folder, so that an archive goes by its own name where it cannot."""
_ACTIVITY = re.compile(r"(?<=/)(?P<sensor>acc|gyr)_(?P<activity>[a-z]+)(?:_\d+)?_csv(?:\.zip)?(?=/)")
"""The archive of an activity, or the folder that it was unpacked into."""
Key = tuple[int, str, int]
"""Person, activity and part."""
MANIFEST = Manifest(
    name="realworld",
    title="RealWorld (HAR)",
    text_hz=50.0,
    role="test",
    placement=PLACEMENT,
    channels=describe_channels("of a phone at the waist"),
    labels={
        "climbingdown": "stairs_down",
        "climbingup": "stairs_up",
        "jumping": "jumping",
        "lying": "lying",
        "running": "running",
        "sitting": "sitting",
        "standing": "standing",
        "walking": "walking",
    },
    subjects=tuple(f"proband{k}" for k in range(1, 16)),
    people="realworld",
    licence="not found: ask the authors",
    citation="T. Sztyler, H. Stuckenschmidt: On-body Localization of Wearable Devices: An Investigation of "
    "Position-Aware Activity Recognition. PerCom 2016. doi:10.1109/PERCOM.2016.7456521",
    source="https://www.uni-mannheim.de/dws/research/projects/activity-recognition/dataset/dataset-realworld/",
    notes=(
        "one placement is used, the waist: the others hold the same moments again",
        "published uses the accelerometer alone and masks the gyroscope; strict joins both by time",
        "archives inside archives are read as they are, and so are unpacked folders",
        "time stamps have milliseconds: measured rates scatter around 50 Hz",
    ),
)


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per person, activity, part and piece without a break."""
    found = _found(manifest, files, matches, faults)
    for key in sorted({key for key, _ in found}):
        if (key, "acc") not in found:
            faults["recordings without accelerometer, left out"] += 1
        elif variant == "strict" and (key, "gyr") not in found:
            faults["recordings without gyroscope, left out"] += 1
        else:
            with faults.reading(files.shown(found[key, "acc"])):
                gyro = found[key, "gyr"] if variant == "strict" else None
                yield from _recordings(manifest, files, key, found[key, "acc"], gyro, faults)


def _found(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], faults: Faults
) -> dict[tuple[Key, str], str]:
    """Return the file of each person, activity, part and sensor."""
    found: dict[tuple[Key, str], str] = {}
    for match in matches:
        name = files.shown(match.string)
        if match["closed"]:
            faults.leave_out(InputError(f"{name}: not a readable zip archive; obtain it again"))
            continue
        _check_folders(match, name)
        if match["activity"] not in manifest.labels:
            raise InputError(f"{name}: activity {match['activity']!r}, expected one of {', '.join(manifest.labels)}")
        key = (int(match["subject"]), match["activity"], int(match["part"] or 1)), SENSORS[match["sensor"]]
        if key in found:
            raise InputError(f"{name}: is there twice, also as {files.shown(found[key])}; remove one of them")
        found[key] = match.string
    return found


def _check_folders(match: re.Match[str], name: str) -> None:
    """Refuse a file that lies in the archive of another activity or sensor."""
    for folder in _ACTIVITY.finditer(match.group()):
        if (folder["sensor"], folder["activity"]) != (SENSORS[match["sensor"]], match["activity"]):
            expected = f"{folder['sensor']} of {folder['activity']!r}"
            got = f"{SENSORS[match['sensor']]} of {match['activity']!r}"
            raise InputError(f"{name}: holds {got}, expected {expected} in {folder.group()}; mixed-up files")


def _recordings(
    manifest: Manifest, files: Files, key: Key, acc: str, gyro: str | None, faults: Faults
) -> Iterator[Recording]:
    subject, activity, part = f"proband{key[0]}", key[1], key[2]
    ms, values = sensor(files.read(acc), files.shown(acc))
    zero, turns = ms[0], None
    if gyro is not None:
        at, rates = sensor(files.read(gyro), files.shown(gyro))
        turns = turning((at - zero) / 1e3, rates, faults, where=f"{subject}, {gyro.rpartition('/')[2]}")
    count, own = 0, f"{subject}, {acc.rpartition('/')[2]}"
    for at, signals, rate in together((ms - zero) / 1e3, values, turns, faults, where=own, filtered=True):
        count += 1
        yield Recording(
            dataset=manifest.name,
            subject=subject,
            id=f"{manifest.name}/{subject}/{activity}_{part}" + (f"_{count}" if count > 1 else ""),
            label=manifest.labels[activity],
            times=at - at[0],
            signals=signals,
            mask=manifest.mask if gyro is not None else manifest.mask & (np.arange(6) < 3),
            rate_hz=rate,
            tags={"placement": PLACEMENT, "part": str(part)},
        )
    if not count:
        faults["recordings of which nothing is left"] += 1


def sensor(data: bytes, name: str) -> tuple[Array, Array]:
    """Return the milliseconds of a file and its values, ``(n, 3)``."""
    found = columns(data, name, COLUMNS)
    return found["attr_time"], bounded([found[f"attr_{axis}"] for axis in "xyz"], name, data, header=1)


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "proband<n>/data/{acc,gyr}_<activity>_csv.zip with {acc,Gyroscope}_..._waist.csv",
    file=re.compile(rf"(acc|Gyroscope|gyr)_[a-z]+(_\d+)?_{PLACEMENT}\.csv", re.IGNORECASE),
)
