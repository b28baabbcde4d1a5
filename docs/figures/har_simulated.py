"""Draw spectra and resting gravity of simulated phones in pockets next to real MotionSense.

``GNOMON_REAL_DATA=FOLDER python docs/figures/har_simulated.py [OUT.png]``, where the folder has MotionSense somewhere
below it. Needs matplotlib, which nothing else in the project does.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har import windows
from gnomon.suites.har.datasets import found
from gnomon.suites.har.simulation import Device, perform, person

mpl.use("Agg")
from matplotlib import pyplot as plt

HZ, SECONDS, PEOPLE, TRIALS = 50.0, 6.0, 24, 4
PHONE = Device(acc_noise=0.03, gyro_noise=0.003, acc_bias=0.05, gyro_bias=0.01, acc_range=78.5, gyro_range=35.0)
PANELS = {"walking": "walking", "jogging": "running", "sitting": "sitting"}
COLOURS = {"real MotionSense": "#0b4f6c", "simulated": "#d1495b"}


def real(root: Path) -> dict[str, Array]:
    """Return the length of acceleration in windows ``(n, steps)`` of real MotionSense, by activity."""
    dataset, places = found(root)["motionsense"]
    recordings = list(dataset.read(places[0], "strict"))
    cut = windows.at_rate(recordings, windows.cut(recordings), HZ)
    sizes = np.sqrt(np.square(cut.signals[..., :3].astype(np.float64)).sum(axis=-1))
    return {label: sizes[np.array(cut.labels) == label] for label in (*PANELS, "standing")}


def simulated() -> dict[str, Array]:
    """Return the same of simulated people."""
    steps = int(HZ * SECONDS)
    return {
        label: np.concatenate([_windows(label, str(k)) for k in range(PEOPLE)]).reshape(-1, steps)
        for label in (*PANELS, "standing")
    }


def _windows(label: str, name: str) -> Array:
    times = np.arange(int(HZ * SECONDS) * TRIALS) / HZ
    who = person(0, "figure", name)
    motion = perform(label, "pocket", who, times, seed=0, purpose=("figure", name, label), device=PHONE)
    return np.asarray(np.sqrt(np.square(motion.acc).sum(axis=1)))


def spectra(sizes: Array) -> tuple[Array, Array]:
    """Return frequencies, and quartiles over windows of the power density ``(3, frequencies)``."""
    taper = np.hanning(sizes.shape[1])
    bins = np.fft.rfft((sizes - sizes.mean(axis=1, keepdims=True)) * taper, axis=1)
    power = 2 * np.square(np.abs(bins)) / (HZ * np.square(taper).sum())
    return np.fft.rfftfreq(sizes.shape[1], 1 / HZ)[1:], np.quantile(power, (0.25, 0.5, 0.75), axis=0)[:, 1:]


def main(out: str) -> None:
    """Draw the figure."""
    sources = {"real MotionSense": real(Path(os.environ["GNOMON_REAL_DATA"])), "simulated": simulated()}
    figure, panels = plt.subplots(2, 2, figsize=(8.4, 5.6), constrained_layout=True)
    for panel, (label, title) in zip(panels.flat, PANELS.items(), strict=False):
        for name, sizes in sources.items():
            hertz, (low, middle, high) = spectra(sizes[label])
            panel.fill_between(hertz, low, high, color=COLOURS[name], alpha=0.25, linewidth=0)
            panel.plot(hertz, middle, color=COLOURS[name], linewidth=1.2, label=f"{name} (n = {len(sizes[label])})")
        panel.set(title=title, yscale="log", xlim=(0, HZ / 2), xlabel="Hz", ylabel="power of |a|, (m/s²)²/Hz")
        panel.legend(fontsize=7, frameon=False)
    last = panels.flat[3]
    for name, sizes in sources.items():
        still = np.median(np.concatenate([sizes["sitting"], sizes["standing"]]), axis=1)
        label = f"{name} (n = {len(still)}, median {np.median(still):.2f})"
        last.hist(still, bins=np.linspace(9.5, 10.2, 57), density=True, color=COLOURS[name], alpha=0.5, label=label)
    last.axvline(9.81, color="black", linewidth=0.8)
    last.set(title="at rest (sitting, standing)", xlabel="median |a| of a window, m/s²", ylabel="density")
    last.legend(fontsize=7, frameon=False)
    figure.savefig(out, dpi=80, metadata={"Software": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).with_suffix(".png")))
