"""Small datasets as tables with a manifest each: sines whose amplitude and frequency tell the activity."""

import numpy as np
import pytest

MOTION = {
    "sitting": (0.05, 0.3),
    "walking": (2.0, 1.8),
    "jogging": (6.0, 2.6),
    "running": (6.0, 2.8),
    "lying": (0.05, 0.1),
}
MANIFEST = """[dataset]
name = "{name}"
files = ["{name}.csv"]
text_hz = {rate}
role = "{role}"
placement = "pocket"
gravity = "{gravity}"
time = "s"
acceleration = "m/s^2"
rotation = "rad/s"
short = "drop"
"""


def write_dataset(
    folder,
    name,
    role,
    labels,
    *,
    subjects=6,
    seconds=25.0,
    rate=20,
    seed=0,
    scale=1.0,
    gravity="present",
    copy=(),
    turning=1.0,
):
    """Write a dataset of own tables; ``copy`` names subjects whose signals are those of the first one."""
    rng = np.random.default_rng(seed)
    lines = ["subject,recording,time,label,acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z"]
    t = np.arange(int(seconds * rate)) / rate
    first = {}
    for subject in range(1, subjects + 1):
        for label in labels:
            size, hertz = MOTION[label]
            wave = size * np.sin(2 * np.pi * hertz * rng.uniform(0.95, 1.05) * t + rng.uniform(0, 6))
            noise = rng.normal(0, 0.05, (len(t), 6))
            signals = noise + np.stack(
                [wave, wave / 2, wave / 3 + (9.8 if gravity == "present" else 0), wave / 9, wave / 8, wave / 7], 1
            )
            signals = first.setdefault(label, signals) if subject in copy else signals
            signals[:, :3] *= scale
            signals[:, 3:] *= turning
            for time, row in zip(t.tolist(), signals.round(4).tolist(), strict=True):
                lines.append(f"p{subject},{label}{subject},{time:.4f},{label}," + ",".join(map(str, row)))
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (folder / f"{name}.toml").write_text(MANIFEST.format(name=name, rate=rate, role=role, gravity=gravity))


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A folder with two training datasets and two test datasets, one of them reported apart."""
    folder = tmp_path_factory.mktemp("har")
    write_dataset(folder, "first", "train", ("sitting", "walking", "jogging"), seed=1)
    write_dataset(folder, "second", "train", ("lying", "walking", "running"), seed=2, rate=25)
    write_dataset(folder, "target", "test", ("sitting", "walking", "running"), seed=3, rate=50, subjects=7)
    write_dataset(folder, "severe", "severe", ("sitting", "walking", "lying"), seed=4, subjects=6)
    return folder


@pytest.fixture
def write():
    """The function that writes a dataset of own tables."""
    return write_dataset
