"""HAPT: ``RawData/acc_expXX_userYY.txt``, ``gyro_expXX_userYY.txt`` and ``labels.txt``, 50 Hz, g and rad/s.

Rows of ``labels.txt`` are experiment, user, activity, first and last row (counted from 1). People and recordings are
those of UCI HAR.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gnomon.suites.har.datasets.units import G
from gnomon.suites.har.distributions import smartlab
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Series, scenes
from gnomon.suites.har.distributions.text import WHOLE, Form, general, rows, write

FORM = Form((general(16),) * 3, separator=" ")
LABELS = Form((WHOLE,) * 5, separator=" ")
NAMES = tuple("LAYING" if name == "lying" else name.upper() for name in smartlab.ACTIVITIES)


def _write(folder: Path, request: Request) -> Iterator[str]:
    raw = folder / "RawData"
    raw.mkdir(parents=True, exist_ok=True)
    (folder / "activity_labels.txt").write_text("".join(f"{k} {name}\n" for k, name in enumerate(NAMES, start=1)))
    with (raw / "labels.txt").open("wb") as labels:
        for scene in scenes(request, smartlab.PEOPLE, smartlab.SUBJECTS):
            for made in smartlab.experiments(scene, request):
                end = f"exp{made.number:02d}_user{int(scene.subject):02d}.txt"
                write(raw / f"acc_{end}", FORM, made.acc_g)
                write(raw / f"gyro_{end}", FORM, made.gyro)
                told = [[made.number, int(scene.subject), code, first + 1, last] for code, first, last in made.labels]
                labels.writelines(rows(LABELS, np.array(told)))
            yield scene.subject


def _plan(request: Request) -> Iterator[Planned]:
    for scene in scenes(request, smartlab.PEOPLE, smartlab.SUBJECTS):
        for made in smartlab.experiments(scene, request):
            for code, first, last in made.labels:
                times = np.arange(last - first) / smartlab.HZ
                acc = Series(times, made.acc_g[first:last] * G)
                yield Planned(scene.subject, smartlab.ACTIVITIES[code - 1], acc, Series(times, made.gyro[first:last]))


DISTRIBUTION = Distribution("hapt", smartlab.SUBJECTS, _write, _plan)
