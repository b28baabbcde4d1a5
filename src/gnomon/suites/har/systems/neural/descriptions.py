"""What a window looks like, in words: seven headings, filled in from measured features by fixed rules.

LanHAR (Yan et al., 2025) has a language model write these descriptions. Here a template does: the same window always
gives the same text, and no word of it names an activity. A user's own writer can take its place.

Features of a window (:data:`FEATURES`), from acceleration and angular rate with gravity along +z; dynamic acceleration
is what is faster than 0.3 Hz.

``strength``            root mean square of the dynamic acceleration, m/s^2
``turning``             root mean square of the angular rate, rad/s; none without a gyroscope
``vertical``            share of the dynamic energy along z; of the strongest axis where gravity is unknown
``about_vertical``      share of the energy of the angular rate about z
``rhythm_hz``           frequency of the largest power of the length of the acceleration, .3 to 5 Hz
``regularity``          largest autocorrelation of that length between .25 and 2 s, in [0, 1]
``crest``               largest length of the dynamic acceleration over its root mean square
``jerk``                root mean square of the change of the acceleration, m/s^3
``drift_deg``           angle between the mean acceleration of the first and of the last third
``sync``                correlation of the lengths of dynamic acceleration and angular rate
``impact``              99th percentile of the length of the dynamic acceleration, m/s^2
``impacts_per_s``       peaks of it over half of that, at least .25 s apart, per second
``aligned``             1 where gravity points along z, else 0
"""

from __future__ import annotations

import importlib
import os
import sys
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import signal

from gnomon.core.code_identity import identity_of_object
from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems.neural.gravity import Aligned, alike, low

FEATURES = (
    *("strength", "turning", "vertical", "about_vertical", "rhythm_hz", "regularity", "crest", "jerk", "drift_deg"),
    *("sync", "impact", "impacts_per_s", "aligned"),
)
HEADINGS = ("Strength", "Axis dominance", "Rhythm", "Shape", "Drift", "Sync", "Impact")
Writer = Callable[[Mapping[str, float | None], Array], str]
"""Takes the features of a window and its aligned signals ``(steps, 6)``; gives a text."""

STRENGTH = (
    (0.1, 0.3, 1.0, 3.0, 7.0),
    ("almost no motion", "very weak motion", "weak motion", "moderate motion", "strong motion", "very strong motion"),
)
TURNING = ((0.1, 0.5, 1.2, 2.5), ("no turning", "slight turning", "some turning", "much turning", "violent turning"))
SHARE = (
    (0.25, 0.45, 0.65),
    ("mostly horizontal", "more horizontal than vertical", "more vertical than horizontal", "mostly vertical"),
)
RHYTHM = (
    (0.7, 1.2, 1.7, 2.2, 3.0),
    (
        "very slow beats",
        "slow beats",
        "beats of a calm pace",
        "beats of a brisk pace",
        "fast beats",
        "rapid beats",
    ),
)
REGULAR = ((0.3, 0.55, 0.75), ("irregular", "loosely repeated", "regular", "very regular"))
CREST = ((2.2, 3.2, 4.5), ("even and rounded", "with clear peaks", "with sharp peaks", "with single sharp spikes"))
JERK = ((3.0, 15.0, 50.0), ("smooth", "slightly jerky", "jerky", "very jerky"))
DRIFT = (
    (6.0, 20.0, 50.0),
    ("posture stays the same", "posture shifts slightly", "posture changes", "posture tips over"),
)
SYNC = ((0.2, 0.5), ("independent of", "loosely tied to", "tightly tied to"))
IMPACT = ((1.0, 5.0, 12.0), ("no impacts", "soft impacts", "firm impacts", "hard impacts"))
OFTEN = ((0.5, 1.5, 2.5), ("now and then", "about once a second", "about twice a second", "in quick succession"))


def measure(windows: Windows, aligned: Aligned) -> Array:
    """Return the features of windows, ``(n, len(FEATURES))``; what cannot be known is not a number."""
    out = np.full((len(windows), len(FEATURES)), np.nan)
    mask = np.asarray(windows.mask)
    for rows, steps in alike(np.asarray(windows.valid)):
        if steps.any():
            own = np.asarray(aligned.signals, dtype=np.float64)[np.ix_(rows, steps)]
            out[rows] = _measure(own, mask[rows], aligned.turned[rows], windows.rate_hz)
    return out


def _measure(signals: Array, mask: Array, turned: Array, rate_hz: float) -> Array:
    acceleration, rate = signals[..., :3], signals[..., 3:]
    moving = acceleration - low(acceleration, rate_hz)
    length, spin = np.linalg.norm(moving, axis=2), np.linalg.norm(rate, axis=2)
    energy, turning = np.square(moving).mean(axis=1), np.square(rate).mean(axis=1)
    strength = np.sqrt(energy.sum(axis=1))
    has_gyroscope, has_acceleration = mask[:, 3:].all(axis=1), mask[:, :3].all(axis=1)
    upright = np.where(turned, energy[:, 2], energy.max(axis=1))
    hertz, regularity = _rhythm(np.linalg.norm(acceleration, axis=2), rate_hz)
    impact = np.quantile(length, 0.99, axis=1)
    columns = {
        "strength": strength,
        "turning": np.sqrt(turning.sum(axis=1)),
        "vertical": _over(upright, energy.sum(axis=1)),
        "about_vertical": _over(np.where(turned, turning[:, 2], turning.max(axis=1)), turning.sum(axis=1)),
        "rhythm_hz": hertz,
        "regularity": regularity,
        "crest": _over(length.max(axis=1), strength),
        "jerk": np.sqrt(np.square(np.diff(acceleration, axis=1) * rate_hz).sum(axis=2).mean(axis=1))
        if signals.shape[1] > 1
        else np.zeros(len(signals)),
        "drift_deg": _drift(acceleration),
        "sync": _correlation(length, spin),
        "impact": impact,
        "impacts_per_s": _peaks(length, impact, rate_hz),
        "aligned": turned.astype(np.float64),
    }
    for name in columns:
        known = has_gyroscope if name in ("turning", "about_vertical") else has_acceleration
        known = has_gyroscope & has_acceleration if name == "sync" else known
        columns[name] = np.where(known | (name == "aligned"), columns[name], np.nan)
    return np.stack([columns[name] for name in FEATURES], axis=1)


def _over(top: Array, below: Array) -> Array:
    return np.divide(top, below, out=np.zeros_like(top), where=below > 1e-12)


def _rhythm(length: Array, rate_hz: float) -> tuple[Array, Array]:
    """Return the frequency of the largest power and the largest autocorrelation of ``(n, steps)``."""
    centred = length - length.mean(axis=1, keepdims=True)
    steps = length.shape[1]
    power = np.square(np.abs(np.fft.rfft(centred * np.hanning(steps + 2)[1:-1], n=4 * steps, axis=1)))
    hertz = np.fft.rfftfreq(4 * steps, 1 / rate_hz)
    inside = (hertz >= 0.3) & (hertz <= 5.0)
    best = hertz[inside][power[:, inside].argmax(axis=1)] if inside.any() else np.zeros(len(length))
    spectrum = np.square(np.abs(np.fft.rfft(centred, n=2 * steps, axis=1)))
    auto = np.fft.irfft(spectrum, axis=1)[:, :steps]
    auto = _over(auto, np.repeat(auto[:, :1], steps, axis=1)) * steps / np.arange(steps, 0, -1)
    lags = auto[:, round(0.25 * rate_hz) : min(round(2.0 * rate_hz) + 1, max(1, steps // 2))]
    return best, np.clip(lags.max(axis=1), 0.0, 1.0) if lags.shape[1] else np.zeros(len(length))


def _drift(acceleration: Array) -> Array:
    third = max(1, acceleration.shape[1] // 3)
    first, last = acceleration[:, :third].mean(axis=1), acceleration[:, -third:].mean(axis=1)
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(last, axis=1)
    cosines = np.clip(_over((first * last).sum(axis=1), lengths), -1.0, 1.0)
    return np.asarray(np.degrees(np.arccos(cosines)))


def _correlation(a: Array, b: Array) -> Array:
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return _over((a * b).sum(axis=1), np.sqrt(np.square(a).sum(axis=1) * np.square(b).sum(axis=1)))


def _peaks(length: Array, impact: Array, rate_hz: float) -> Array:
    apart = max(1, round(0.25 * rate_hz))
    seconds = length.shape[1] / rate_hz
    counts = [
        len(signal.find_peaks(row, height=max(most / 2, 1e-6), distance=apart)[0])
        for row, most in zip(length, impact, strict=True)
    ]
    return np.asarray(np.array(counts, dtype=np.float64) / seconds)


def _word(value: float, scale: tuple[Sequence[float], Sequence[str]]) -> str:
    return scale[1][bisect(scale[0], value)]


def template(features: Mapping[str, float | None], signals: Array) -> str:
    """Write the description of one window: seven lines, one for each heading."""
    del signals
    said = {name: value for name, value in features.items() if value is not None}
    if "strength" not in said:
        return "\n".join(f"{heading}: not measured." for heading in HEADINGS)
    lines = (*_energy(said), *_pattern(said), *_contact(said))
    return "\n".join(f"{heading}: {line}." for heading, line in zip(HEADINGS, lines, strict=True))


def _energy(said: Mapping[str, float]) -> tuple[str, str]:
    turning = f"with {_word(said['turning'], TURNING)}" if "turning" in said else "turning not measured"
    strength = _word(said["strength"], STRENGTH)
    if said["strength"] < STRENGTH[0][0]:
        axis = "no axis prevails"
    elif said["aligned"]:
        axis = f"the motion is {_word(said['vertical'], SHARE)}"
    else:
        axis = "one axis prevails" if said["vertical"] > 0.65 else "several axes share the motion"
    return f"{strength} {turning}", axis


def _pattern(said: Mapping[str, float]) -> tuple[str, str, str]:
    still = said["strength"] < STRENGTH[0][1]
    if still or said["regularity"] < REGULAR[0][0]:
        rhythm = "no clear rhythm"
    else:
        rhythm = f"{_word(said['regularity'], REGULAR)} {_word(said['rhythm_hz'], RHYTHM)}"
    shape = "featureless" if said["strength"] < STRENGTH[0][0] else _word(said["crest"], CREST)
    drift = _word(said["drift_deg"], DRIFT) if said["aligned"] else "posture is not known"
    return rhythm, f"{_word(said['jerk'], JERK)}, {shape}", drift


def _contact(said: Mapping[str, float]) -> tuple[str, str]:
    if "sync" not in said:
        sync = "turning not measured"
    elif said["strength"] < STRENGTH[0][0] and said["turning"] < TURNING[0][0]:
        sync = "nothing moves"
    else:
        sync = f"turning is {_word(said['sync'], SYNC)} acceleration"
    impact = _word(said["impact"], IMPACT)
    return sync, impact if said["impact"] < IMPACT[0][0] else f"{impact}, {_word(said['impacts_per_s'], OFTEN)}"


def describe(windows: Windows, aligned: Aligned, writer: Writer = template) -> list[str]:
    """Return a text for every window."""
    texts = []
    for row, signals in zip(measure(windows, aligned), aligned.signals, strict=True):
        features = {name: None if np.isnan(value) else float(value) for name, value in zip(FEATURES, row, strict=True)}
        text = writer(features, signals)
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"the writer of descriptions gave {text!r}, expected a text with words in it")
        texts.append(text)
    return texts


def find_writer(name: str) -> Writer:
    """Return the function ``package.module:function`` that writes descriptions; the template where there is no name.

    Modules are looked for where Python looks, then in the working folder.
    """
    if not name:
        return template
    where, _, attribute = name.partition(":")
    if not where or not attribute:
        raise InputError(f"describe={name}: expected package.module:function")
    here = os.getcwd()
    added = here not in sys.path
    sys.path += [here] if added else []
    try:
        found: Any = getattr(importlib.import_module(where), attribute, None)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(
            f"describe={name}: {where} cannot be imported ({why}); give package.module:function"
        ) from error
    finally:
        if added:
            sys.path.remove(here)
    if not callable(found):
        raise InputError(f"describe={name}: {where} has no function {attribute}; expected package.module:function")
    writer: Writer = found
    return writer


def content(name: str) -> tuple[bytes, ...]:
    """Return the identity of the code of a writer; nothing for the template."""
    return (identity_of_object(find_writer(name)).encode(),) if name else ()
