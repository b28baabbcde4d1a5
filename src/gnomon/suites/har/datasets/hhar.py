"""HHAR, heterogeneity: eight phones of four models around the waist, nine people, six activities, 50 to 200 Hz.

Files are ``Phones_accelerometer.csv`` and ``Phones_gyroscope.csv`` in ``Activity recognition exp``, 13 million rows
each: ``Index,Arrival_Time,Creation_Time,x,y,z,User,Model,Device,gt``, acceleration in m/s^2 with gravity, angular rate
in rad/s. Every person carried all phones at once, each of which sampled as fast as it could. Watches are not used.

Rows of one user and device follow one another. A file is passed over once to see where those are; after that one user
and device is in memory at a time.

Which clock
-----------
``Creation_Time`` is what the system of the phone attached to a sample, in nanoseconds; ``Arrival_Time`` is when the
sample reached the recording application, in milliseconds of the Unix epoch. Samples arrive in bursts, several in one
millisecond, so arrival cannot tell how far they are apart. Creation does, but its zero is the device's own: 19 digits
since the epoch on some phones, 13 to 15 digits since the phone was started on others (both occur in one file, see
https://github.com/yscacaca/HHAR-Data-Process/issues/3). So times are those of creation, never compared between devices.
Where the two sensors of a phone are found to have other zeros (creation and arrival are apart by another time, by more
than :data:`CLOCKS_S`) the gyroscope is moved by the difference and counted. Duplicates, jumps and gaps are repaired or
refused, and counted (:mod:`gnomon.suites.har.datasets.stamps`). The rate is measured.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from typing import IO

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.numbers import Layout, parse
from gnomon.suites.har.datasets.base import Dataset, Faults
from gnomon.suites.har.datasets.headed import bounded
from gnomon.suites.har.datasets.joining import Piece, together, turning
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.datasets.tails import Run, blocks, runs
from gnomon.suites.har.recordings import Manifest, Recording, describe_channels

COLUMNS = ("Index", "Arrival_Time", "Creation_Time", "x", "y", "z", "User", "Model", "Device", "gt")
"""The header of both files."""
LAYOUT = Layout("-iifff----")
NULL = "null"
"""What is written where nobody said what was done; left out."""
CLOCKS_S = 1.0
"""Seconds by which the clocks of two sensors may differ and still be one."""
AROUND_S = 2.0
"""Seconds of the gyroscope that are kept before and after a run of the accelerometer."""
MEMBER = re.compile(r"(?<![^/])Phones_(?P<sensor>accelerometer|gyroscope)\.csv$")
MANIFEST = Manifest(
    name="hhar",
    title="Heterogeneity Activity Recognition",
    text_hz=50.0,
    role="train",
    placement="waist",
    channels=describe_channels("of a phone at the waist"),
    labels={
        "bike": "cycling",
        "sit": "sitting",
        "stand": "standing",
        "walk": "walking",
        "stairsup": "walking_upstairs",
        "stairsdown": "walking_downstairs",
    },
    subjects=tuple("abcdefghi"),
    people="hhar",
    licence="CC BY 4.0",
    citation="A. Stisen, H. Blunck, S. Bhattacharya, T. S. Prentow, M. B. Kjærgaard, A. Dey, T. Sonne, M. M. Jensen: "
    "Smart Devices are Different: Assessing and Mitigating Mobile Sensing Heterogeneities for Activity Recognition. "
    "SenSys 2015. doi:10.1145/2809695.2809718",
    source="https://archive.ics.uci.edu/dataset/344/heterogeneity+activity+recognition",
    patch_s=(0.75, 1.25, 0.25),
    notes=(
        "phones are used, watches are not",
        "the rate is measured: it is the device's own, 50 to 200 Hz",
        "a person carried all phones at once: one moment is in the recordings of several devices",
        "times are those of creation; their zero is the device's own",
    ),
)
Key = tuple[str, str]
"""User and device."""


@dataclass(frozen=True)
class _Sensor:
    """One of the two files: its stream, what it is called, and the runs of each user and device with what was done."""

    file: IO[bytes]
    where: str
    runs: dict[Key, list[tuple[Run, str]]]

    def rows(self, wanted: Sequence[Run]) -> tuple[Array, Array, Array]:
        """Return arrival in ms, creation in ns, and values ``(n, 3)`` of some runs."""
        parts: list[tuple[Array, Array, Array]] = []
        for run in wanted:
            self.file.seek(run.start)
            for block in blocks(self.file, self.where, line=run.line, start=run.start, stop=run.stop):
                arrival, creation, *values = parse(block.text, LAYOUT, self.where, line=block.line)
                table = bounded(values, self.where, block.text, line=block.line)
                parts.append((arrival.copy(), creation.copy(), table))
        arrivals, creations, tables = zip(*parts, strict=True)
        return np.concatenate(arrivals), np.concatenate(creations), np.concatenate(tables)


@dataclass(frozen=True)
class _Clock:
    """The zero of a device: a moment in ms of arrival and in ns of creation."""

    arrival: int
    creation: int

    def seconds(self, creation: Array) -> Array:
        """Return seconds since the zero."""
        times: Array = (creation - self.creation) / 1e9
        return times

    def late(self, arrival: Array, creation: Array) -> Array:
        """Return by how many seconds each sample arrived after its creation, up to a constant."""
        lag: Array = (arrival - self.arrival) / 1e3 - self.seconds(creation)
        return lag


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per user, device, activity run and piece without a break, in the order of the file."""
    del variant
    found = {match["sensor"]: match.string for match in matches}
    if "accelerometer" not in found:
        raise InputError(f"{files.root}: no Phones_accelerometer.csv beside the gyroscope; obtain the archive again")
    with ExitStack() as stack:
        sensors = {
            name: _sensor(stack.enter_context(files.stream(member)), files.shown(member), manifest)
            for name, member in found.items()
        }
        accel, gyro = sensors["accelerometer"], sensors.get("gyroscope")
        for key, told in accel.runs.items():
            with faults.reading(f"user {key[0]}, device {key[1]}"):
                turned = gyro.runs.get(key, []) if gyro is not None else []
                yield from _recordings(manifest, key, accel, told, gyro, turned, faults)


def _sensor(file: IO[bytes], where: str, manifest: Manifest) -> _Sensor:
    first = file.readline(1000)
    header = first.decode("utf-8", "replace").strip().lstrip("\ufeff")
    if tuple(cell.strip().strip('"') for cell in header.split(",")) != COLUMNS:
        raise InputError(f"{where}: line 1: header {header[:120]!r}, expected {','.join(COLUMNS)!r}")
    found: dict[Key, list[tuple[Run, str]]] = {}
    for run in runs(file, where, COLUMNS.index("User"), line=2, start=len(first)):
        key, activity = _whose(run, where, manifest)
        found.setdefault(key, []).append((run, activity))
    if not found:
        raise InputError(f"{where}: no rows after the header; obtain the file again")
    return _Sensor(file, where, found)


def _whose(run: Run, where: str, manifest: Manifest) -> tuple[Key, str]:
    """Return user, device and activity at the end of a line."""
    cells = [cell.strip().strip('"') for cell in run.tail.split(",")]
    at = f"{where}: line {run.line}"
    if len(cells) != 4:
        raise InputError(f"{at}: ends in {run.tail[:60]!r}, expected User,Model,Device,gt; obtain the file again")
    user, model, device, activity = cells
    if user not in manifest.subjects:
        raise InputError(f"{at}: user {user[:40]!r}, expected one of {', '.join(manifest.subjects)}")
    if not re.fullmatch(r"\w{1,40}", device) or not device.startswith(model):
        raise InputError(f"{at}: device {device[:40]!r} of model {model[:40]!r}, expected its model and a number")
    if activity != NULL and activity not in manifest.labels:
        raise InputError(f"{at}: activity {activity[:40]!r}, expected one of {some([*manifest.labels, NULL], show=7)}")
    return (user, device), activity


def _recordings(
    manifest: Manifest,
    key: Key,
    accel: _Sensor,
    told: list[tuple[Run, str]],
    gyro: _Sensor | None,
    turned: list[tuple[Run, str]],
    faults: Faults,
) -> Iterator[Recording]:
    used = [(activity, [run for run, _ in group]) for activity, group in groupby(told, key=lambda pair: pair[1])]
    used = [(activity, group) for activity, group in used if activity != NULL]
    if not used:
        return
    pieces: list[Piece] = []
    clock: _Clock | None = None
    count: Counter[str] = Counter()
    for activity, group in used:
        arrival, creation, values = accel.rows(group)
        if clock is None:
            clock = _Clock(int(arrival[0]), int(creation[0]))
            pieces = _turning(gyro, turned, clock, faults, where=f"gyroscope of user {key[0]}, device {key[1]}")
            if not pieces:
                faults["users and devices without gyroscope, its channels masked"] += 1
        times, late = clock.seconds(creation), float(np.median(clock.late(arrival, creation)))
        around = _around(pieces, times, late, faults) if pieces else None
        where = f"{activity} of user {key[0]}, device {key[1]}, from line {group[0].line} on"
        for at, signals, rate in together(times, values, around, faults, where=where, filtered=True):
            count[activity] += 1
            yield Recording(
                dataset=manifest.name,
                subject=key[0],
                id=f"{manifest.name}/{key[0]}/{key[1]}_{activity}_{count[activity]}",
                label=manifest.labels[activity],
                times=at - at[0],
                signals=signals,
                mask=manifest.mask if pieces else manifest.mask & (np.arange(6) < 3),
                rate_hz=rate,
                tags={"device": key[1]},
            )


def _turning(
    gyro: _Sensor | None, turned: list[tuple[Run, str]], clock: _Clock, faults: Faults, where: str
) -> list[Piece]:
    """Return the pieces of a device's gyroscope: times, and three values and how late each arrived ``(n, 4)``."""
    if gyro is None or not turned:
        return []
    arrival, creation, values = gyro.rows([run for run, _ in turned])
    table = np.column_stack([values, clock.late(arrival, creation)])
    return turning(clock.seconds(creation), table, faults, where=where)


def _around(pieces: list[Piece], times: Array, late: float, faults: Faults) -> list[Piece]:
    """Return what the gyroscope has around the times of a run, which arrived so late, on the clock of these."""
    begin, end = times.min(), times.max()
    found: list[Piece] = []
    for at, cells in pieces:
        shift = _shift(at, cells[:, 3], begin, end, late)
        if shift is None:
            continue
        here = at + shift if shift else at
        first, last = np.searchsorted(here, [begin - AROUND_S, end + AROUND_S])
        found.append((here[first:last], cells[first:last, :3]))
        if shift:
            faults["pieces of gyroscopes on another clock, moved by their arrival"] += 1
    if not found:
        faults["activity runs that the gyroscope does not cover, left out"] += 1
    return found


def _shift(at: Array, lags: Array, begin: float, end: float, late: float) -> float | None:
    """Return by how many seconds a gyroscope has to be moved, 0 on the same clock; None where it has nothing there.

    What was created in a span on one clock has also arrived about as late as the accelerations of that span did.
    """
    there = (at >= begin) & (at <= end)
    if there.any() and abs(float(np.median(lags[there])) - late) <= CLOCKS_S:
        return 0.0
    there = (at + lags >= begin + late) & (at + lags <= end + late)
    if not there.any():
        return None
    shift = float(np.median(lags[there])) - late
    return shift if abs(shift) > CLOCKS_S else None


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "Activity recognition exp/Phones_{accelerometer,gyroscope}.csv",
    file=re.compile(r"Phones_(accelerometer|gyroscope)\.csv", re.IGNORECASE),
)
