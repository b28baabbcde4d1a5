"""What a dataset of ``har`` is made of: manifests, recordings, and the windows that are cut from them.

Conventions
-----------
- Six channels in this order: acceleration x, y, z in m/s^2, angular rate x, y, z in rad/s, of one placement on the
  body. A channel that a dataset does not have is zeros, and its place in the mask is False.
- Times are seconds, rising; ``rate_hz`` is the measured rate of a recording.
- A recording is one subject doing one activity without a break; windows never cross recordings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array

CHANNELS = ("acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z")
WINDOW_S = 6.0
"""Length of a window in seconds."""
MODEL_HZ = 20.0
"""The rate at which all models but those with patches in seconds work."""
LARGEST = 1e5
"""Beyond this no worn sensor has ever been, in m/s^2 or rad/s."""
Gravity = Literal["present", "removed"]
Short = Literal["drop", "pad"]


@dataclass(frozen=True)
class Manifest:
    """What is known of a dataset before a file is read.

    Attributes
    ----------
    name, title
        Short name (``motionsense``) and what its authors call it.
    text_hz
        The stated rate; the measured one belongs to recordings.
    role
        ``train``, ``test`` or ``severe`` (tested, and reported apart).
    placement
        Where on the body the sensor is.
    channels
        Text per channel of :data:`CHANNELS`, for models that read them; empty where the channel is absent.
    labels
        Native code -> label.
    subjects
        Native names of the people, as the distribution has them.
    people
        Name of the group of people, the same for two datasets that were recorded with the same ones.
    licence, citation, source
        What it may be used for, whom to cite, where to obtain it.
    gravity
        Whether the acceleration holds gravity, by variant (``published``, ``strict``).
    short
        What becomes of a recording that is shorter than a window: left out, or filled up and masked.
    patch_s
        Smallest, largest and step of the patch length that training draws from, in seconds.
    notes
        What a user should know.
    placements
        Where accelerometer and gyroscope are, by variant, where that is not one place.
    verified
        On what its loader was verified: real files, or simulated ones in the documented format only.
    """

    name: str
    title: str
    text_hz: float
    role: Literal["train", "test", "severe"]
    placement: str
    channels: tuple[str, ...]
    labels: Mapping[str, str]
    subjects: tuple[str, ...]
    people: str
    licence: str
    citation: str
    source: str
    gravity: Mapping[str, Gravity] = field(default_factory=lambda: {"published": "present", "strict": "present"})
    patch_s: tuple[float, float, float] = (1.0, 1.0, 0.25)
    notes: tuple[str, ...] = ()
    short: Short = "drop"
    placements: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    verified: Literal["real files", "simulated only"] = "simulated only"

    @property
    def mask(self) -> Array:
        """Which channels are there, ``(6,)`` booleans."""
        return np.array([bool(text) for text in self.channels])

    def texts(self, variant: str) -> tuple[str, ...]:
        """Return the text of every channel as a variant has it: with its own placement, and without gravity if so."""
        places = self.placements.get(variant, (self.placement, self.placement))
        found = [text.replace(self.placement, places[k >= 3]) for k, text in enumerate(self.channels)]
        if self.gravity[variant] == "removed":
            found[:3] = [text and f"{text}, gravity removed" for text in found[:3]]
        return tuple(found)


def describe_channels(where: str, *, gyroscope: bool = True) -> tuple[str, ...]:
    """Return the texts of accelerometer and gyroscope at a place; those of a gyroscope that is absent are empty."""
    accelerations = (f"Accelerometer {axis}-axis {where}, m/s^2" for axis in "XYZ")
    return (*accelerations, *(f"Gyroscope {axis}-axis {where}, rad/s" if gyroscope else "" for axis in "XYZ"))


@dataclass(frozen=True, eq=False)
class Recording:
    """One subject doing one activity: times ``(n,)``, signals ``(n, 6)`` float32, and which channels are there."""

    dataset: str
    subject: str
    id: str
    label: str
    times: Array
    signals: Array
    mask: Array
    rate_hz: float
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        times = np.ascontiguousarray(self.times, dtype=np.float64)
        with np.errstate(over="ignore"):  # what is too large is not finite, and refused below
            signals = np.ascontiguousarray(self.signals, dtype=np.float32)
        mask = np.asarray(self.mask, dtype=np.bool_)
        if times.ndim != 1 or signals.shape != (len(times), len(CHANNELS)) or mask.shape != (len(CHANNELS),):
            raise InputError(
                f"recording {self.id!r}: expected times (n,), signals (n, {len(CHANNELS)}) and a mask "
                f"({len(CHANNELS)},), but got {times.shape}, {signals.shape} and {mask.shape}"
            )
        if len(times) > 1 and not (np.diff(times) > 0).all():
            raise InputError(
                f"recording {self.id!r}: times do not rise at row {int(np.argmin(np.diff(times) > 0)) + 1}"
            )
        usable = np.abs(signals) <= LARGEST  # not a number is not
        if not usable.all():
            row = int(np.argmin(usable.all(axis=1)))
            odd = float(signals[row][~usable[row]][0])
            raise InputError(
                f"recording {self.id!r}: a signal is {odd:g} at row {row}, expected at most {LARGEST:g} in m/s^2 and "
                "rad/s; correct the file"
            )
        for name, value in (("times", times), ("signals", signals), ("mask", mask)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def seconds(self) -> float:
        """How long it is, the last sample included."""
        return float(self.times[-1] - self.times[0]) + 1 / self.rate_hz if len(self.times) else 0.0


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of one dataset at one rate: signals ``(n, steps, 6)``, steps that are padding, and whose they are.

    Window i has the same id, label and span at every rate.
    """

    dataset: str
    rate_hz: float
    signals: Array
    valid: Array
    """``(n, steps)``: False where a recording was too short and the window was filled up."""
    mask: Array
    """``(n, 6)``: which channels are there; a recording may lack some that others have. May be given as ``(6,)``."""
    ids: tuple[str, ...]
    labels: tuple[str, ...]
    subjects: tuple[str, ...]
    recordings: tuple[str, ...]
    spans: Array
    """``(n, 2)``: seconds of the recording, half-open."""
    channels: tuple[str, ...] = ("",) * len(CHANNELS)
    """Text for each channel, for models that read it; empty where the dataset says nothing."""
    gravity: Gravity = "present"
    """Whether the acceleration holds gravity."""
    patch_s: tuple[float, float, float] = (1.0, 1.0, 0.25)
    """Smallest, largest and step of the patch length that training draws from, in seconds."""

    def __post_init__(self) -> None:
        if np.ndim(self.mask) == 1:  # the same channels in every window
            object.__setattr__(self, "mask", np.tile(np.asarray(self.mask, dtype=np.bool_), (len(self.ids), 1)))

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Array) -> Windows:
        """Return some windows: indices or a boolean mask."""
        index = np.arange(len(self))[rows]
        places = index.tolist()
        return replace(
            self,
            signals=self.signals[index],
            valid=self.valid[index],
            mask=self.mask[index],
            ids=tuple(self.ids[i] for i in places),
            labels=tuple(self.labels[i] for i in places),
            subjects=tuple(self.subjects[i] for i in places),
            recordings=tuple(self.recordings[i] for i in places),
            spans=self.spans[index],
        )
