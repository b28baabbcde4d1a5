"""WISDM smartphone and smartwatch activity (2019): a phone in the pocket, 51 people, 18 activities, about 20 Hz.

Files are ``wisdm-dataset/raw/phone/{accel,gyro}/data_<id>_{accel,gyro}_phone.txt`` with lines ``id,letter,ns,x,y,z;``:
acceleration in m/s^2 with gravity, angular rate in rad/s, time stamps in nanoseconds. The two sensors are sampled at
different moments and joined by time (:mod:`gnomon.suites.har.datasets.joining`); time stamps are repaired or refused as
:mod:`gnomon.suites.har.datasets.stamps` says; rates are measured.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.numbers import Layout, parse
from gnomon.suites.har.datasets.base import Dataset, Faults
from gnomon.suites.har.datasets.headed import bounded
from gnomon.suites.har.datasets.joining import Piece, together, turning
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import Manifest, Recording, describe_channels

LAYOUT = Layout("isifff", end=";")
MEMBER = re.compile(r"(?<![^/])raw/phone/(?P<sensor>accel|gyro)/data_(?P<subject>\d+)_(?P=sensor)_phone\.txt$")
MANIFEST = Manifest(
    name="wisdm",
    title="WISDM Smartphone and Smartwatch Activity and Biometrics",
    text_hz=20.0,
    role="train",
    placement="trouser pocket",
    channels=describe_channels("of a phone in the trouser pocket"),
    labels={
        "A": "walking",
        "B": "jogging",
        "C": "stairs",
        "D": "sitting",
        "E": "standing",
        "F": "typing",
        "G": "brushing_teeth",
        "H": "eating_soup",
        "I": "eating_chips",
        "J": "eating_pasta",
        "K": "drinking",
        "L": "eating_sandwich",
        "M": "kicking",
        "O": "playing_catch",
        "P": "dribbling",
        "Q": "writing",
        "R": "clapping",
        "S": "folding_clothes",
    },
    subjects=tuple(str(k) for k in range(1600, 1651)),
    people="wisdm",
    licence="CC BY 4.0",
    citation="G. M. Weiss, K. Yoneda, T. Hayajneh: Smartphone and Smartwatch-Based Biometrics Using Activities of "
    "Daily Living. IEEE Access 7, 2019. doi:10.1109/ACCESS.2019.2940729",
    source="https://archive.ics.uci.edu/dataset/507/wisdm+smartphone+and+smartwatch+activity+and+biometrics+dataset",
    patch_s=(1.0, 1.75, 0.25),
    verified="real files",
    notes=(
        "the phone is used, the watch is not",
        "the rate is measured: steps are 50.35 ms in most files of the original sample, not 50",
    ),
)


@dataclass(frozen=True)
class _Sensor:
    """Rows of one file: letters, nanoseconds, values ``(n, 3)``."""

    letters: Array
    ns: Array
    values: Array


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per subject, activity run and piece without a break."""
    del variant
    found = {(match["subject"], match["sensor"]): match.string for match in matches}
    for subject in sorted({subject for subject, _ in found}):
        if (subject, "accel") not in found:
            faults["subjects without accelerometer, left out"] += 1
            continue
        with faults.reading(f"subject {subject}"):
            accel = _sensor(files, found[subject, "accel"], subject, manifest)
            gyro = None
            if (subject, "gyro") in found:
                gyro = _sensor(files, found[subject, "gyro"], subject, manifest)
            else:
                faults["subjects without gyroscope, its channels masked"] += 1
            yield from _recordings(manifest, subject, accel, gyro, faults)


def _sensor(files: Files, member: str, subject: str, manifest: Manifest) -> _Sensor:
    name = files.shown(member)
    data = files.read(member)
    who, letters, ns, *values = parse(data, LAYOUT, name)
    if not len(who):
        raise InputError(f"{name}: no rows; obtain the file again")
    odd = np.flatnonzero(who != int(subject))
    if len(odd):
        raise InputError(
            f"{name}: row {int(odd[0]) + 1}: subject {int(who[odd[0]])}, expected {subject}; mixed-up files"
        )
    unknown = sorted(set(np.unique(letters).tolist()) - {code.encode() for code in manifest.labels})
    if unknown:
        row = int(np.flatnonzero(letters == unknown[0])[0]) + 1
        raise InputError(
            f"{name}: row {row}: activity {unknown[0].decode('latin-1')!r}, expected one of "
            f"{some(manifest.labels, show=18)}; correct the file"
        )
    return _Sensor(letters, ns, bounded(values, name, data))


def _recordings(
    manifest: Manifest, subject: str, accel: _Sensor, gyro: _Sensor | None, faults: Faults
) -> Iterator[Recording]:
    starts = np.flatnonzero(np.concatenate([[True], accel.letters[1:] != accel.letters[:-1]]))
    count: Counter[str] = Counter()
    zero = int(accel.ns.min())
    turning_by = {} if gyro is None else {code: _turning(gyro, subject, code, zero, faults) for code in manifest.labels}
    for begin, end in zip(starts, [*starts[1:], len(accel.letters)], strict=True):
        letter = accel.letters[begin].decode()
        where = f"data_{subject}_accel_phone.txt from row {int(begin) + 1} on, {letter}"
        times, values = (accel.ns[begin:end] - zero) / 1e9, accel.values[begin:end]
        for at, signals, rate in together(times, values, turning_by.get(letter), faults, where=where):
            count[letter] += 1
            yield Recording(
                dataset=manifest.name,
                subject=subject,
                id=f"{manifest.name}/{subject}/{letter}_{count[letter]}",
                label=manifest.labels[letter],
                times=at - at[0],
                signals=signals,
                mask=manifest.mask if gyro is not None else manifest.mask & (np.arange(6) < 3),
                rate_hz=rate,
            )


def _turning(gyro: _Sensor, subject: str, letter: str, zero: int, faults: Faults) -> list[Piece]:
    """Return times and values of each piece of an activity."""
    rows = np.flatnonzero(gyro.letters == letter.encode())
    where = f"data_{subject}_gyro_phone.txt, {letter}"
    return turning((gyro.ns[rows] - zero) / 1e9, gyro.values[rows], faults, where=where)


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "wisdm-dataset/raw/phone/{accel,gyro}/data_<id>_{accel,gyro}_phone.txt",
    file=re.compile(r"data_\d+_(accel|gyro)_phone\.txt", re.IGNORECASE),
    files_each=2,
)
