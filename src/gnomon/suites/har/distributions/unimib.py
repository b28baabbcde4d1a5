"""UniMiB SHAR: ``UniMiB-SHAR/data/acc_{data,labels,names}.mat``, a phone in a pocket, accelerometer alone, 50 Hz.

``acc_data`` has a row for each piece of 151 samples (3.02 s): x, then y, then z, in m/s^2. ``acc_labels`` has activity,
subject and trial of each; ``acc_names`` what the activities are, in long and in short.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.distributions import matlab
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
    matlab.write(where / "acc_data.mat", matlab.numbers("acc_data", np.array(data)[order]))
    matlab.write(where / "acc_labels.mat", matlab.numbers("acc_labels", np.array(labels, dtype=float)[order]))
    matlab.write(where / "acc_names.mat", matlab.cells("acc_names", [list(row) for row in zip(*NAMES, strict=True)]))


def _plan(request: Request) -> Iterator[Planned]:
    times = np.arange(ROWS) / HZ
    for scene in scenes(request, "unimib", SUBJECTS):
        for piece in _pieces(scene, request):
            yield Planned(scene.subject, TRAIN_LABELS["unimib"][piece.code - 1], Series(times, piece.acc), None)


DISTRIBUTION = Distribution("unimib", SUBJECTS, _write, _plan)
