"""Write a small dataset of one's own: six people who sit and walk with a phone in the pocket, and its manifest.

The signals are made up (gravity, and a wave when walking): put your own in their place.
"""

import csv
import math
import random
import sys
from pathlib import Path

MANIFEST = """[dataset]
name = "office"
title = "Walks in our office"
files = ["monday.csv"]
text_hz = 50
role = "test"
placement = "trouser pocket"
gravity = "present"
time = "s"
acceleration = "m/s^2"
rotation = "rad/s"

[labels]
sit = "sitting"
walk = "walking"
break = ""
"""
COLUMNS = ["subject", "recording", "time", "label", "acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z"]


def rows(seed: int = 0):
    """Yield a row for each sample: 30 s of each activity at 50 Hz."""
    draw = random.Random(seed)
    for person in range(1, 7):
        for label in ("sit", "break", "walk"):
            size, cadence = {"sit": 0.02, "break": 0.3, "walk": 2.5}[label], draw.uniform(1.7, 2.1)
            for k in range(30 * 50):
                wave = size * math.sin(2 * math.pi * cadence * k / 50)
                noise = [draw.gauss(0, 0.03) for _ in range(6)]
                signals = (wave / 2, 9.8 + wave, 0.5, wave / 4, wave / 3, wave / 5)
                values = [round(a + b, 4) for a, b in zip(signals, noise, strict=True)]
                yield [f"p{person}", label, k / 50, label, *values]


def main(folder: str) -> None:
    """Write the table and the manifest."""
    Path(folder).mkdir(exist_ok=True)
    (Path(folder) / "office.toml").write_text(MANIFEST)
    with (Path(folder) / "monday.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows()])


if __name__ == "__main__":
    main(sys.argv[1])
