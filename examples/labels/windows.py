"""Make a table for ``gnomon run labels`` of real recordings: a row per six seconds of somebody in MotionSense.

``python examples/labels/windows.py FOLDER TRUTH.csv``, where the folder has MotionSense somewhere below it. Columns:
id, label, group (the person), and mean and spread of each channel and of the length of acceleration and rotation.
"""

import csv
import sys
from pathlib import Path

import numpy as np

from gnomon.suites.har import windows
from gnomon.suites.har.datasets import found

HZ = 20.0
CHANNELS = ("ax", "ay", "az", "gx", "gy", "gz", "acceleration", "rotation")


def main(folder, target):
    """Read, cut, describe and write."""
    dataset, places = found(Path(folder))["motionsense"]
    recordings = list(dataset.read(places[0], "strict"))
    cut = windows.at_rate(recordings, windows.cut(recordings), HZ)
    lengths = [np.linalg.norm(cut.signals[..., part], axis=-1) for part in (slice(0, 3), slice(3, 6))]
    values = np.concatenate([cut.signals, np.stack(lengths, axis=-1)], axis=-1, dtype=np.float64)
    rows = np.concatenate([values.mean(axis=1), values.std(axis=1)], axis=1)
    names = [f"{what}_{channel}" for what in ("mean", "spread") for channel in CHANNELS]
    with open(target, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", "group", *names])
        for place, row in enumerate(rows):
            numbers = [f"{value:.4f}" for value in row]
            writer.writerow([f"w{place:05d}", cut.labels[place], cut.subjects[place], *numbers])


if __name__ == "__main__":
    main(*sys.argv[1:])
