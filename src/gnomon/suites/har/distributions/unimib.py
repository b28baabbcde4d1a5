"""UniMiB SHAR: ``UniMiB-SHAR/data/acc_{data,labels,names}.mat``, a phone in a pocket, accelerometer alone, 50 Hz.

``acc_data`` has a row for each piece of 151 samples (3.02 s): x, then y, then z, in m/s^2. ``acc_labels`` has activity,
subject and trial of each; ``acc_names`` what the activities are, in long and in short.

Matlab 5 files, as much of them as is needed to write tables of numbers and cells of text.

A file is a header of 128 bytes and elements: a type, a length, and bytes up to a multiple of eight. A variable is an
element ``miMATRIX`` of flags, dimensions, name and content in the order of columns, here compressed, as ``save`` does
(MathWorks, *MAT-File Format*, Level 5).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.simulation import Device
from gnomon.suites.har.vocabulary import TRAIN_LABELS

HZ, ROWS = 50.0, 151
SUBJECTS = tuple(str(k) for k in range(1, 31))
DEVICE = Device(acc_noise=0.05, gyro_noise=0.01, acc_bias=0.1, gyro_bias=0.01, acc_range=19.61, gyro_range=17.4)
CYCLIC = frozenset({"walking", "running", "going_up_stairs", "going_down_stairs", "jumping"})
"""Activities whose pieces are cut from one recording; the others happen once in a piece."""
NAMES = (
    ("Standing up from sitting", "StandingUpFS"),
    ("Standing up from laying", "StandingUpFL"),
    ("Normal walking", "Walking"),
    ("Moderate running", "Running"),
    ("Going up stairs", "GoingUpS"),
    ("Continuous jumping", "Jumping"),
    ("Going down stairs", "GoingDownS"),
    ("Lying down from standing", "LyingDownFS"),
    ("Sitting down", "SittingDown"),
    ("Generic falling forward", "FallingForw"),
    ("Falling rightward", "FallingRight"),
    ("Generic falling backward", "FallingBack"),
    ("Hitting an obstacle in the fall", "HittingObstacle"),
    ("Falling with protection strategies", "FallingWithPS"),
    ("Falling backward sitting on a chair", "FallingBackSC"),
    ("Getting unconscious", "Syncope"),
    ("Falling leftward", "FallingLeft"),
)


@dataclass(frozen=True, eq=False)
class _Piece:
    code: int
    trial: int
    acc: Array


def _pieces(scene: Scene, request: Request) -> Iterator[_Piece]:
    labels, seconds = TRAIN_LABELS["unimib"], ROWS / HZ
    count = request.trials(len(labels), seconds)
    for code, label in enumerate(labels, start=1):
        if label in CYCLIC:
            times = np.arange(count * ROWS) / HZ
            acc = scene.perform(label, "pocket", times, count * seconds, DEVICE).acc
            yield from (_Piece(code, 1 + k % 2, acc[k * ROWS : (k + 1) * ROWS]) for k in range(count))
            continue
        for trial in range(1, count + 1):
            motion = scene.perform(label, "pocket", np.arange(ROWS) / HZ, seconds, DEVICE, str(trial))
            yield _Piece(code, trial, motion.acc)


def _write(folder: Path, request: Request) -> Iterator[str]:
    data, labels = [], []
    for scene in scenes(request, "unimib", SUBJECTS):
        for piece in _pieces(scene, request):
            data.append(piece.acc.T.reshape(-1))
            labels.append((piece.code, int(scene.subject), piece.trial))
        yield scene.subject
    order = sorted(range(len(labels)), key=lambda row: labels[row][0])
    where = folder / "UniMiB-SHAR" / "data"
    write(where / "acc_data.mat", numbers("acc_data", np.array(data)[order]))
    write(where / "acc_labels.mat", numbers("acc_labels", np.array(labels, dtype=float)[order]))
    write(where / "acc_names.mat", cells("acc_names", [list(row) for row in zip(*NAMES, strict=True)]))


def _plan(request: Request) -> Iterator[Planned]:
    times = np.arange(ROWS) / HZ
    for scene in scenes(request, "unimib", SUBJECTS):
        for piece in _pieces(scene, request):
            yield Planned(scene.subject, TRAIN_LABELS["unimib"][piece.code - 1], Series(times, piece.acc), None)


DISTRIBUTION = Distribution("unimib", SUBJECTS, _write, _plan)


_INT8, _UINT16, _INT32, _UINT32, _DOUBLE, _MATRIX, _COMPRESSED = 1, 4, 5, 6, 9, 14, 15
_CELL, _CHAR, _NUMBERS = 1, 4, 6
_HEADER = b"MATLAB 5.0 MAT-file, simulated".ljust(124) + struct.pack("<H", 0x0100) + b"IM"


def numbers(name: str, values: Array) -> bytes:
    """Return a table of doubles as a variable."""
    content = np.asarray(values, dtype="<f8").tobytes(order="F")
    return _matrix(_NUMBERS, values.shape, name, _element(_DOUBLE, content))


def cells(name: str, table: Sequence[Sequence[str]]) -> bytes:
    """Return a table of texts as a variable."""
    columns = [text for column in zip(*table, strict=True) for text in column]
    return _matrix(_CELL, (len(table), len(table[0])), name, b"".join(_text(each) for each in columns))


def write(path: Path, *variables: bytes) -> None:
    """Write variables to a file; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = [zlib.compress(variable, 6) for variable in variables]
    path.write_bytes(_HEADER + b"".join(struct.pack("<II", _COMPRESSED, len(each)) + each for each in packed))


def _text(text: str) -> bytes:
    return _matrix(_CHAR, (1, len(text)), "", _element(_UINT16, text.encode("utf-16-le")))


def _matrix(kind: int, shape: Sequence[int], name: str, content: bytes) -> bytes:
    parts = _element(_UINT32, struct.pack("<II", kind, 0)) + _element(_INT32, struct.pack(f"<{len(shape)}i", *shape))
    return _element(_MATRIX, parts + _element(_INT8, name.encode()) + content)


def _element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)
