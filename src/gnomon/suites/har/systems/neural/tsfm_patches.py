"""Patches in seconds: what TSFM makes of windows of any rate.

Conventions
-----------
- A patch is ``int(rate * seconds)`` steps; patches do not overlap, and what is left at the end of a window is not used.
- Each is brought to :data:`STEPS` steps by linear interpolation (steps stand for equal parts of the patch, and are
  placed in their middle: ``align_corners=False``), then every channel of it has mean 0 and spread 1 (biased, at least
  :data:`LEAST`). So neither offset nor size of a channel is seen, gravity among them. Interpolated in double precision:
  in single precision the rounding errors of a constant channel would be blown up to spread 1.
- A patch is there where all its steps were observed. Of a window that is too short for one patch, the patch with the
  most observed steps is there, so that every window has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import WINDOW_S, Windows
from gnomon.suites.har.systems.neural import training

STEPS = 64
"""Steps of a patch after interpolation."""
LEAST = 1e-8


@dataclass(frozen=True)
class Cut:
    """Windows in patches ``(n, P, C, 64)``, which patches are there ``(n, P)``, and which channels ``(n, C)``."""

    patches: Any
    there: Any
    mask: Any

    def take(self, rows: Array) -> Cut:
        """Return some windows."""
        return Cut(self.patches[rows], self.there[rows], self.mask[rows])

    @staticmethod
    def join(parts: Sequence[Cut]) -> Cut:
        """Return the windows of parts that have equally many patches."""
        torch = training.torch()
        return Cut(*(torch.cat([getattr(part, name) for part in parts]) for name in ("patches", "there", "mask")))


def lengths(patch_s: Iterable[float]) -> tuple[float, ...]:
    """Return the lengths that training draws from, given the smallest, the largest and the step.

    >>> lengths((1.0, 1.75, 0.25)), lengths((1.0, 1.0, 0.25))
    ((1.0, 1.25, 1.5, 1.75), (1.0,))
    """
    least, most, step = patch_s
    count = int((most - least) / step + 1e-6) + 1 if step > 0 else 1
    return tuple(round(least + k * step, 6) for k in range(count))


def steps_of(rate_hz: float, seconds: float) -> int:
    """Return how many steps a patch has."""
    return int(rate_hz * seconds + 1e-6)


def patched(windows: Windows, rows: Array, seconds: float) -> Cut:
    """Return some windows in patches of so many seconds."""
    torch, where = training.torch(), training.device()
    mask = np.asarray(windows.mask[rows], dtype=np.bool_)
    if not mask.any(axis=1).all():
        bad = windows.ids[int(np.asarray(rows)[np.argmin(mask.any(axis=1))])]
        raise InputError(f"{windows.dataset}, window {bad!r}: no channel is there; leave such windows out")
    signals = torch.from_numpy(np.array(windows.signals[rows], dtype=np.float32)).to(where)
    valid = torch.from_numpy(np.array(windows.valid[rows], dtype=np.bool_)).to(where)
    found, there = cut(signals, valid, steps_of(windows.rate_hz, seconds))
    return Cut(found, there, torch.from_numpy(mask).to(where))


def cut(signals: Any, valid: Any, steps: int) -> tuple[Any, Any]:
    """Cut ``(n, T, C)`` into patches ``(n, P, C, 64)`` of so many steps, and say which are there ``(n, P)``."""
    torch = training.torch()
    n, length, channels = signals.shape
    count = length // steps if steps > 0 else 0
    if not count:
        raise InputError(
            f"patches of {steps} steps in windows of {length}: expected 1 to {length}; a window has {WINDOW_S:g} s, "
            "change patch_s"
        )
    own = signals[:, : count * steps].to(_exact(signals)).reshape(n, count, steps, channels)
    flat = own.permute(0, 1, 3, 2).reshape(n, count * channels, steps)
    even = torch.nn.functional.interpolate(flat, size=STEPS, mode="linear", align_corners=False)
    spread, mean = torch.std_mean(even, dim=2, keepdim=True, correction=0)
    even = ((even - mean) / spread.clamp(min=LEAST)).float()
    observed = valid[:, : count * steps].reshape(n, count, steps).float().mean(dim=2)
    most = observed.argmax(dim=1, keepdim=True)
    there = (observed == 1).scatter(1, most, True)
    return even.reshape(n, count, channels, STEPS), there


def _exact(signals: Any) -> Any:
    """Return double precision, but on devices that lack it."""
    torch = training.torch()
    return torch.float32 if signals.device.type == "mps" else torch.float64
