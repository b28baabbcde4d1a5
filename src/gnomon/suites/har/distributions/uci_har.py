"""UCI HAR: ``UCI HAR Dataset/{train,test}/Inertial Signals/<signal>_<axis>_<split>.txt``, 128 numbers a line, 50 Hz.

A line is 2.56 s; the second half of a line is the first half of the next where both are from one stretch of an
activity. Signals are total and body acceleration in g and angular rate in rad/s, cut from the experiments that HAPT
has raw. ``y_<split>.txt`` and ``subject_<split>.txt`` have a line for each. The 561 features are not written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.datasets.units import G
from gnomon.suites.har.distributions import smartlab
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.text import Form, powers, rows

ROWS, STEP = 128, 64
TESTED = frozenset({"2", "4", "9", "10", "12", "13", "18", "20", "24"})
"""Subjects of the original's test split."""
NAMES = ("WALKING", "WALKING_UPSTAIRS", "WALKING_DOWNSTAIRS", "SITTING", "STANDING", "LAYING")
FORM = Form((powers(8),) * ROWS, separator=" ", begin=" ")
SIGNALS = ("body_acc", "body_gyro", "total_acc")


@dataclass(frozen=True, eq=False)
class _Stretch:
    """One stretch of an activity, whole steps of half a line: signals ``(n, 3)`` by name."""

    code: int
    signals: dict[str, Array]


def _stretches(scene: Scene, request: Request) -> Iterator[_Stretch]:
    for made in smartlab.experiments(scene, request):
        total, turning = smartlab.cleaned(made.acc_g), smartlab.cleaned(made.gyro)
        signals = dict(zip(SIGNALS, (total - smartlab.gravity(total), turning, total), strict=True))
        for code, first, last in made.labels:
            length = (last - first) // STEP * STEP
            if code <= smartlab.BASIC and length >= ROWS:
                yield _Stretch(code, {name: value[first : first + length] for name, value in signals.items()})


def _lines(values: Array) -> Array:
    return np.lib.stride_tricks.sliding_window_view(values, ROWS)[::STEP]


def _write(folder: Path, request: Request) -> Iterator[str]:
    top = folder / "UCI HAR Dataset"
    with ExitStack() as stack:
        files = {split: _files(top, split, stack) for split in ("train", "test")}
        (top / "activity_labels.txt").write_text("".join(f"{k} {name}\n" for k, name in enumerate(NAMES, start=1)))
        for scene in scenes(request, smartlab.PEOPLE, smartlab.SUBJECTS):
            split = files["test" if scene.subject in TESTED else "train"]
            for stretch in _stretches(scene, request):
                for (name, axis), file in split.items():
                    if name in stretch.signals:
                        file.writelines(rows(FORM, _lines(stretch.signals[name][:, axis])))
                count = len(_lines(stretch.signals["total_acc"][:, 0]))
                split["y", 0].write(b"%d\n" % stretch.code * count)
                split["subject", 0].write(b"%d\n" % int(scene.subject) * count)
            yield scene.subject


def _files(top: Path, split: str, stack: ExitStack) -> dict[tuple[str, int], BinaryIO]:
    inner = top / split / "Inertial Signals"
    inner.mkdir(parents=True, exist_ok=True)
    paths = {(name, k): inner / f"{name}_{axis}_{split}.txt" for name in SIGNALS for k, axis in enumerate("xyz")}
    paths |= {(name, 0): top / split / f"{name}_{split}.txt" for name in ("y", "subject")}
    return {key: stack.enter_context(path.open("wb")) for key, path in paths.items()}


def _plan(request: Request) -> Iterator[Planned]:
    for scene in scenes(request, smartlab.PEOPLE, smartlab.SUBJECTS):
        for stretch in _stretches(scene, request):
            times = np.arange(len(stretch.signals["total_acc"])) / smartlab.HZ
            label = NAMES[stretch.code - 1].lower()
            acc = Series(times, stretch.signals["total_acc"] * G)
            yield Planned(scene.subject, label, acc, Series(times, stretch.signals["body_gyro"]))


DISTRIBUTION = Distribution("uci_har", smartlab.SUBJECTS, _write, _plan)
