"""MobiAct and MobiFall: a phone in a trouser pocket, daily activities and falls, acceleration about 82 to 100 Hz.

Three layouts are read:

- MobiAct 1 (57 people): ``<CODE>/<CODE>_{acc,gyro,ori}_<subject>_<trial>.txt``.
- MobiFall 2 (24 of them): ``sub<n>/{ADL,FALLS}/<CODE>/`` with files of the same names.
- MobiAct 2 (66 people, numbers up to 67): ``Annotated Data/<CODE>/<CODE>_<subject>_<trial>_annotated.csv``, columns by
  name (``timestamp, rel_time, acc_x ... gyro_z, azimuth, pitch, roll, label``). Where these are, the raw files beside
  them (``Raw Data/``, the first layout) are not used. Of a file those rows are used whose label is the file's code:
  before a fall people stand, after it they lie.

A text file begins with lines of ``#`` (what it is, subject, activity), then ``@DATA``, then ``ns, x, y, z``: m/s^2
with gravity, or rad/s. What the head says is compared with the name of the file. The two sensors have their own moments
and rates, the gyroscope 200 Hz: they are joined by time, the gyroscope filtered. Rates are measured, not the stated 50
Hz. Activities beyond the 13 (LYI, SIT, CHU, the scenarios SLH, SBW, SLW, SBE, SRH) are left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.intake.numbers import Layout, parse
from gnomon.suites.har.datasets.base import Cohort, Dataset, Faults
from gnomon.suites.har.datasets.headed import bounded, columns
from gnomon.suites.har.datasets.joining import Joined, together, turning, unbroken
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import CHANNELS, Manifest, Recording, describe_channels

MEMBER = re.compile(
    r"(?<![^/])(?:sub(?P<folder>\d+)/(?:ADL|FALLS)/|(?P<raw>Annotated|Raw)[ _]Data/)?(?P<code>[A-Z]{3})/(?P=code)_"
    r"(?:(?P<sensor>acc|gyro)_(?P<subject>\d+)_(?P<trial>\d+)\.txt|(?P<who>\d+)_(?P<number>\d+)_annotated\.csv)$"
)
COLUMNS = {"timestamp": "f", **dict.fromkeys(CHANNELS, "f"), "label": "s"}
SAID = {"acc": b"acceleration force", "gyro": b"rate of rotation"}
"""What the first line of a text file says of its sensor."""
_MARK = re.compile(rb"^[ \t]*@DATA[ \t]*\r?$", re.MULTILINE)
_SUBJECT = re.compile(rb"^#Subject ID:[ \t]*(\d+)", re.MULTILINE)
_ACTIVITY = re.compile(rb"^#Activity:[^-\r\n]*-[ \t]*([A-Z]{3})\b", re.MULTILINE)
MANIFEST = Manifest(
    name="mobiact",
    title="MobiAct (with MobiFall)",
    text_hz=50.0,
    role="test",
    placement="trouser pocket",
    channels=describe_channels("of a phone in the trouser pocket"),
    labels={
        "STD": "standing",
        "WAL": "walking",
        "JOG": "jogging",
        "JUM": "jumping",
        "STU": "stairs_up",
        "STN": "stairs_down",
        "SCH": "sitting_chair",
        "CSI": "car_step_in",
        "CSO": "car_step_out",
        "FOL": "fall_forward",
        "FKL": "fall_backward_knees",
        "BSC": "fall_backward_sitting",
        "SDL": "fall_sideways",
    },
    subjects=tuple(f"sub{k}" for k in range(1, 58)),
    people="mobiact",
    licence="on request from its authors; see the page of the dataset",
    citation="G. Vavoulas, C. Chatzaki, T. Malliotakis, M. Pediaditis, M. Tsiknakis: The MobiAct Dataset: Recognition "
    "of Activities of Daily Living using Smartphones. ICT4AWE 2016. doi:10.5220/0005792401430151",
    source="https://bmi.hmu.gr/the-mobifall-and-mobiact-datasets-2/",
    short="pad",
    notes=(
        "MobiAct 1 has 57 people, MobiFall 24 of them (1 to 21 and 29 to 31), MobiAct 2 goes up to number 67",
        "the phone may lie in the pocket in any orientation",
        "rates are measured: acceleration about 82 to 100 Hz, gyroscope 200 Hz, joined by time",
        "FKL is called fall_backward_knees as published; it is a forward fall with the knees first",
        "SCH is the movement of sitting down and what follows it",
        "falls and steps that are shorter than a window are filled up and masked",
    ),
)


MOBIFALL = tuple(f"sub{k}" for k in (*range(1, 22), *range(29, 32)))
"""People of MobiFall."""
SECOND = Cohort(tuple(f"sub{k}" for k in range(1, 68)), 66)
"""People of MobiAct 2: one of the numbers is unused, and which one is not known."""


class Key(NamedTuple):
    """Whose recording of what."""

    subject: int
    code: str
    trial: int


Found = dict[Key, dict[str, str]]
"""Recording -> sensor (``acc``, ``gyro`` or ``both``) -> file."""


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per file and piece without a break."""
    del variant
    found = _found(manifest, files, matches, faults)
    for key in sorted(found):
        with faults.reading(f"{key.code} of sub{key.subject}, trial {key.trial}"):
            pieces = _pieces(files, key, found[key], faults)
            for count, (at, signals, rate) in enumerate(pieces, start=1):
                subject = f"sub{key.subject}"
                yield Recording(
                    dataset=manifest.name,
                    subject=subject,
                    id=f"{manifest.name}/{subject}/{key.code}_{key.trial}" + (f"_{count}" if count > 1 else ""),
                    label=manifest.labels[key.code],
                    times=at - at[0],
                    signals=signals,
                    mask=manifest.mask,
                    rate_hz=rate,
                    tags={"trial": str(key.trial)},
                )


def cohort(matches: Sequence[re.Match[str]]) -> Cohort:
    """Return whom a release has: the second version of MobiAct, MobiFall alone, or the first version."""
    if any(match["who"] or match["raw"] for match in matches):
        return SECOND
    if matches and all(match["folder"] for match in matches):
        return Cohort(MOBIFALL, len(MOBIFALL))
    return Cohort(MANIFEST.subjects, len(MANIFEST.subjects))


def _found(manifest: Manifest, files: Files, matches: list[re.Match[str]], faults: Faults) -> Found:
    """Return the files of each recording; annotated ones are used alone where there are any."""
    annotated = any(match["who"] for match in matches)
    found: Found = {}
    for match in matches:
        name = files.shown(match.string)
        if annotated and not match["who"]:
            faults["raw files beside annotated ones, not used"] += 1
        elif match["code"] not in manifest.labels:
            faults[f"files of {match['code']}, which is none of the {len(manifest.labels)} activities, left out"] += 1
        else:
            key = Key(int(match["subject"] or match["who"]), match["code"], int(match["trial"] or match["number"]))
            if match["folder"] and int(match["folder"]) != key.subject:
                raise InputError(f"{name}: in the folder of sub{match['folder']}, expected sub{key.subject}; move it")
            sensors, sensor = found.setdefault(key, {}), match["sensor"] or "both"
            if sensor in sensors:
                raise InputError(f"{name}: is there twice, also as {files.shown(sensors[sensor])}; remove one of them")
            sensors[sensor] = match.string
    return found


def _pieces(files: Files, key: Key, sensors: dict[str, str], faults: Faults) -> Iterator[Joined]:
    if "both" in sensors:
        name = files.shown(sensors["both"])
        yield from annotated(files.read(sensors["both"]), name, key.code, faults)
    elif "acc" not in sensors or "gyro" not in sensors:
        faults[f"recordings without {'gyroscope' if 'acc' in sensors else 'accelerometer'}, left out"] += 1
    else:
        (ns, values), (turns, rates) = (_sensor(files, sensors[what], key, what) for what in ("acc", "gyro"))
        zero = int(ns[0])
        gyro = turning((turns - zero) / 1e9, rates, faults, where=_base(sensors["gyro"]))
        count = 0
        for one in together((ns - zero) / 1e9, values, gyro, faults, where=_base(sensors["acc"]), filtered=True):
            count += 1
            yield one
        if not count:
            faults["recordings of which nothing is left, such as sensors that do not overlap in time"] += 1


def _sensor(files: Files, member: str, key: Key, what: str) -> tuple[Array, Array]:
    """Return nanoseconds and values ``(n, 3)`` of a text file, after a look at its head."""
    data, name = files.read(member), files.shown(member)
    mark = _MARK.search(data)
    if mark is None:
        raise InputError(f"{name}: no line @DATA, after which the rows stand; obtain the file again")
    head = data[: mark.start()]
    _check_head(head, name, key, what)
    layout = Layout("ifff", header=head.count(b"\n") + 1)
    ns, *values = parse(data, layout, name)
    if not len(ns):
        raise InputError(f"{name}: no rows after @DATA; obtain the file again")
    return ns, bounded(values, name, data, header=layout.header)


def _check_head(head: bytes, name: str, key: Key, what: str) -> None:
    first = head.partition(b"\n")[0].lower()
    other = next((said for sensor, said in SAID.items() if sensor != what and said in first), None)
    if other is not None:
        raise InputError(f"{name}: line 1: {shown(first.decode('latin-1'), 60)!r} in a file of {what}; mixed-up files")
    for pattern, wanted in ((_SUBJECT, str(key.subject)), (_ACTIVITY, key.code)):
        match = pattern.search(head)
        if match and (got := match[1].decode().lstrip("0")) != wanted:
            line = head.count(b"\n", 0, match.start()) + 1
            raise InputError(f"{name}: line {line}: the head says {got!r}, the name {wanted!r}; mixed-up files")


def annotated(data: bytes, name: str, code: str, faults: Faults) -> Iterator[Joined]:
    """Yield the runs of an annotated file whose label is the file's own code."""
    found = columns(data, name, COLUMNS)
    own = found["label"] == code.encode()
    if not own.any():
        raise InputError(f"{name}: no row has the label {code!r} of its name; mixed-up files")
    if not own.all():
        faults["annotated rows with another label than their file, left out"] += int(np.count_nonzero(~own))
    times = (found["timestamp"] - found["timestamp"][0]) / 1e9
    signals = bounded([found[channel] for channel in CHANNELS], name, data, header=1)
    runs = np.split(np.arange(len(own)), np.flatnonzero(own[1:] != own[:-1]) + 1)
    for rows in (run for run in runs if own[run[0]]):
        yield from unbroken(times[rows], signals[rows], faults, "annotated files", where=_base(name))


def _base(member: str) -> str:
    """Return the name of a file without its folders; no two files have the same."""
    return member.rpartition("/")[2]


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "<CODE>/<CODE>_{acc,gyro}_<subject>_<trial>.txt, sub<n>/{ADL,FALLS}/<CODE>/... or "
    "Annotated Data/<CODE>/<CODE>_<subject>_<trial>_annotated.csv",
    releases=cohort,
    file=re.compile(r"[A-Z]{3}_((acc|gyro)_\d+_\d+\.txt|\d+_\d+_annotated\.csv)", re.IGNORECASE),
)
