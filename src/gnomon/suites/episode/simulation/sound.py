"""What a microphone on the head hears: steps, knocks of things that are put down, cutting, water and wiping."""

from __future__ import annotations

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.curves import during
from gnomon.suites.episode.simulation.script import Act, Script

RATE = 16_000
_HISS = {"rinse": 0.05, "pour": 0.035, "wipe": 0.02, "scrub": 0.025}
"""Loudness of what goes on, by verb."""
_KNOCKS = {"put": (0.62,), "press": (0.55,), "open": (0.42, 0.85), "close": (0.8,), "pick": (0.6,)}
"""When something is struck, as shares of the action."""
_BEATS = {"chop": 2.3, "stir": 2.8}
"""Strikes a second."""


def sound(script: Script, landings: tuple[float, ...], seconds: float, rng: np.random.Generator) -> Array:
    """Return the sound of an episode, ``(seconds * RATE,)`` in 16 bits."""
    found = rng.normal(0, 0.0015, int(seconds * RATE))
    for time in landings:
        _strike(found, time, 75.0 * np.exp(rng.normal(0, 0.1)), 0.05, 0.10, rng)
    for act in script.acts:
        for time in _strikes(act):
            _strike(found, time, 1100.0 * np.exp(rng.normal(0, 0.4)), 0.018, 0.14, rng)
        if act.verb in _HISS:
            _hiss(found, act, _HISS[act.verb], rng)
    return np.asarray(np.clip(found * 32767, -32768, 32767).astype(np.int16))


def _strikes(act: Act) -> list[float]:
    if act.verb in _BEATS:
        start, stop = act.when(0.25), act.when(0.9)
        return [start + k / _BEATS[act.verb] for k in range(int((stop - start) * _BEATS[act.verb]))]
    return [act.when(share) for share in _KNOCKS.get(act.verb, ())]


def _strike(found: Array, time: float, hz: float, decay_s: float, loud: float, rng: np.random.Generator) -> None:
    """Add a damped oscillation with some noise."""
    first = max(int(time * RATE), 0)
    count = min(int(8 * decay_s * RATE), len(found) - first)
    if count > 0:
        t = np.arange(count) / RATE
        tone = np.sin(2 * np.pi * hz * t) + 0.4 * rng.standard_normal(count)
        found[first : first + count] += loud * np.exp(-t / decay_s) * tone * np.exp(rng.normal(0, 0.2))


def _hiss(found: Array, act: Act, loud: float, rng: np.random.Generator) -> None:
    first, last = max(int(act.start * RATE), 0), min(int(act.stop * RATE), len(found))
    if last > first:
        t = np.arange(first, last) / RATE
        noise = np.diff(rng.standard_normal(last - first + 1))
        found[first:last] += loud * noise * during(t, act.when(0.2), act.when(0.92))
