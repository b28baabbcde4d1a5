"""Writes ``example_data/``: four minutes of a phone's accelerometer at 10 Hz, generated to fit ``example_truth.json``.

Walking is a swing of two steps per second along the vertical. The second walk is slow in its middle, in the pause after
the third the hand goes on swinging, the last one is a stroll with hardly any swing, and near the end the phone is
shaken without a walk.
"""

import gzip
import json
import math
import random
from datetime import datetime, timedelta
from pathlib import Path

START = datetime.fromisoformat("2012-05-16T09:00:00-08:00")
RATE_HZ, MINUTES = 10, 4
SWINGS = [
    (15.5, 45.0, 3.2),
    (70.0, 84.0, 2.9),
    (84.0, 90.5, 1.4),
    (90.5, 105.0, 2.8),
    (120.0, 134.0, 3.0),
    (134.0, 138.5, 2.6),
    (138.5, 155.0, 3.1),
    (180.0, 192.0, 1.1),
    (213.0, 217.0, 3.4),
]
"""Start and end in seconds, and how far the vertical acceleration swings in m/s²."""


def values(second, chance):
    """Return the acceleration along three axes in m/s², gravity included."""
    swing = sum(size for start, end, size in SWINGS if start <= second < end)
    step = math.sin(2 * math.pi * 2.0 * second)
    axes = (0.3 * swing * math.cos(2 * math.pi * second), 0.2 * swing * step, 9.81 + swing * step)
    return [round(value + chance.gauss(0, 0.15), 2) for value in axes]


def main():
    """Write one file for each two minutes."""
    chance = random.Random(20120516)
    folder = Path(__file__).parent / "example_data"
    folder.mkdir(exist_ok=True)
    ticks = range(MINUTES * 60 * RATE_HZ)
    for part in range(0, len(ticks), 120 * RATE_HZ):
        records = [
            {
                "time": (START + timedelta(seconds=tick / RATE_HZ)).isoformat(),
                "type": "accel",
                "values": values(tick / RATE_HZ, chance),
            }
            for tick in ticks[part : part + 120 * RATE_HZ]
        ]
        name = (START + timedelta(seconds=part / RATE_HZ)).strftime("accel-%H%M.json.gz")
        (folder / name).write_bytes(gzip.compress(json.dumps(records).encode(), mtime=0))


if __name__ == "__main__":
    main()
