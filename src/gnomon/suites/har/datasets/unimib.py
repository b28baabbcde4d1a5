"""UniMiB SHAR: a phone in the trouser pocket, 30 people, nine activities and eight kinds of falls, 50 Hz.

Files are ``data/acc_data.mat``, ``acc_labels.mat`` and ``acc_names.mat``, Matlab files of level 5. Data are 11,771 rows
of 453 numbers: 151 samples of x, then of y, then of z, in m/s^2 with gravity; there is no gyroscope. Labels are
activity (1 to 17), subject (1 to 30) and trial. Names are 2 x 17 cells, what an activity is and its short name; where
they are there, their order is checked.

A row is 3.02 s around a peak of the acceleration (D. Micucci, M. Mobilio, P. Napoletano 2017): it is one
recording, shorter than a window. Peaks of one trial may be closer than that, so rows of one trial may share samples; a
split has to keep a subject on one side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.suites.har.datasets.base import Dataset, Faults
from gnomon.suites.har.datasets.matlab import Cells, Value
from gnomon.suites.har.datasets.matlab import read as read_matlab
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import LARGEST, Manifest, Recording, describe_channels

HZ = 50.0
STEPS = 151
"""Samples of a row, of each axis."""
MEMBER = re.compile(r"(?<![^/])data/acc_(?P<what>data|labels|names)\.mat$")
NAMES = (
    "StandingUpFS StandingUpFL Walking Running GoingUpS Jumping GoingDownS LyingDownFS SittingDown FallingForw "
    "FallingRight FallingBack HittingObstacle FallingWithPS FallingBackSC Syncope FallingLeft"
)
"""Short names of activities 1 to 17, between blanks."""
_LABELS = (
    "standing_up_from_sitting standing_up_from_laying walking running going_up_stairs jumping going_down_stairs "
    "lying_down_from_standing sitting_down falling_forward falling_right falling_backward falling_hitting_obstacle "
    "falling_with_protection falling_backward_sitting syncope falling_left"
)
MANIFEST = Manifest(
    name="unimib",
    title="UniMiB SHAR",
    text_hz=HZ,
    role="train",
    placement="trouser pocket",
    channels=describe_channels("of a phone in the trouser pocket", gyroscope=False),
    labels={str(k): label for k, label in enumerate(_LABELS.split(), start=1)},
    subjects=tuple(str(k) for k in range(1, 31)),
    people="unimib",
    licence="not found: ask the authors",
    citation="D. Micucci, M. Mobilio, P. Napoletano: UniMiB SHAR: A Dataset for Human Activity Recognition Using "
    "Acceleration Data from Smartphones. Applied Sciences 7 (10), 2017. doi:10.3390/app7101101",
    source="https://www.sal.disco.unimib.it/technologies/unimib-shar/ (UniMiB-SHAR.zip)",
    patch_s=(0.75, 1.25, 0.25),
    notes=(
        "accelerometer only: the gyroscope is zeros, masked",
        "no time stamps: the rate is the stated one",
        "recordings are pieces of 3.02 s around a peak, which are filled up to a window and masked",
        "pieces of one trial may share samples: never split inside a subject",
    ),
    short="pad",
)


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per row, by subject, activity and trial."""
    del variant
    found = {match["what"]: match.string for match in matches}
    lacking = [f"acc_{what}.mat" for what in ("data", "labels") if what not in found]
    if lacking:
        raise InputError(f"{files.root}: no file {some(lacking)} beside the others; obtain UniMiB-SHAR.zip again")
    if "names" in found:
        _check_names(_variable(files, found["names"], "acc_names"), files.shown(found["names"]))
    labels = _labels(files, found["labels"], manifest)
    data = _table(files, found["data"], "acc_data", 3 * STEPS)
    if len(data) != len(labels):
        raise InputError(
            f"{files.shown(found['data'])}: {len(data)} rows, expected {len(labels)} as in acc_labels.mat; "
            "obtain both files again"
        )
    repeated = len(data) - len({row.tobytes() for row in np.ascontiguousarray(data)})
    if repeated:
        faults["pieces that repeat another one, kept"] += repeated
    order = np.lexsort((np.arange(len(labels)), labels[:, 2], labels[:, 0], labels[:, 1]))
    for row in order.tolist():
        activity, subject, trial = labels[row].tolist()
        signals = np.zeros((STEPS, 6))
        signals[:, :3] = data[row].reshape(3, STEPS).T
        yield Recording(
            dataset=manifest.name,
            subject=str(subject),
            id=f"{manifest.name}/{subject}/{activity}_{trial}_r{row + 1:05d}",
            label=manifest.labels[str(activity)],
            times=np.arange(STEPS) / HZ,
            signals=signals,
            mask=manifest.mask,
            rate_hz=HZ,
            tags={"trial": str(trial)},
        )


def _variable(files: Files, member: str, name: str) -> Value:
    where = files.shown(member)
    variables = read_matlab(files.read(member), where)
    if name not in variables:
        raise InputError(f"{where}: no variable {name!r}, it has {some(variables)}; obtain the file again")
    return variables[name]


def _table(files: Files, member: str, name: str, columns: int) -> Array:
    """Return a variable that is rows of finite numbers."""
    value, where = _variable(files, member, name), files.shown(member)
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.shape[1] != columns or not len(value):
        got = value.shape if isinstance(value, np.ndarray) else type(value).__name__
        raise InputError(f"{where}: {name} is {got}, expected numbers (n, {columns}); obtain the file again")
    bad = np.flatnonzero(~np.isfinite(value).all(axis=1))
    if len(bad):
        raise InputError(f"{where}: {name}: row {int(bad[0]) + 1} holds what is no number; obtain the file again")
    wild = np.abs(value) > (LARGEST if name == "acc_data" else np.inf)
    if wild.any():
        row, column = (int(k) for k in np.argwhere(wild)[0])
        raise InputError(
            f"{where}: {name}: row {row + 1}: a value of {float(value[row, column]):g}, expected at most {LARGEST:g}; "
            "obtain the file again"
        )
    return value


def _labels(files: Files, member: str, manifest: Manifest) -> Array:
    values, where = _table(files, member, "acc_labels", 3), files.shown(member)
    most = np.array([len(manifest.labels), len(manifest.subjects), np.iinfo(np.int32).max])
    odd = (values != np.round(values)) | (values < 1) | (values > most)
    if odd.any():
        row, column = (int(k) for k in np.argwhere(odd)[0])
        what = ("activity", "subject", "trial")[column]
        expected = f"a whole number from 1{'' if column == 2 else f' to {most[column]}'}"
        raise InputError(
            f"{where}: row {row + 1}: {what} {values[row, column]:g}, expected {expected}; obtain the file again"
        )
    return values.astype(np.int64)


def _check_names(value: Value, where: str) -> None:
    """Check that the activities have the order that labels rely on."""
    items = [item for item in value.items if isinstance(item, str)] if isinstance(value, Cells) else []
    names = NAMES.split()
    known = [item.strip() for item in items if item.strip() in names]
    rest = iter(known)
    if not all(name in rest for name in names):  # in this order; a long name may equal a short one
        raise InputError(f"{where}: short names {some(known)}, expected {some(names)}; labels mean something else here")


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "data/acc_{data,labels,names}.mat",
    file=re.compile(r"acc_(data|labels|names)\.mat", re.IGNORECASE),
)
