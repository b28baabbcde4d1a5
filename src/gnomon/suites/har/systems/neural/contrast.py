"""What CrossHAR (Hong et al., 2024) adds to the encoder: turned axes, two views of a window, and their contrast.

Conventions
-----------
- Acceleration and angular rate are turned together, by one of the six orders of three axes.
- The weak view multiplies every step by a number of its own, N(2, 1.1), the same for all channels. The strong one cuts
  the window into 1 to 7 segments at random places, puts them in random order, and adds N(0, .01).
- A view has mean 0 and spread 1 in every channel, over what counts; the rest is zeros.
- A window is summed up by a learned token that attends to all steps: one transformer layer of width 100 with norms
  before, 4 heads, scores divided by the root of 100, 100 -> 64 -> 100, then 100 -> 36 -> 18. As nothing but the token
  leaves that layer, nothing else is computed in it.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.systems.neural import training
from gnomon.suites.har.systems.neural.blocks import STEPS, WIDTH

AXES = np.array([[*order, *(axis + 3 for axis in order)] for order in permutations(range(3))])
"""Orders of the six channels; the first leaves them as they are."""
SCALE, SPREAD, JITTER, SEGMENTS = 2.0, 1.1, 0.01, 7
EPSILON = 1e-5
TOKEN, HEADS, INNER, DROPOUT = 100, 4, 64, 0.1
TEMPERATURE = 0.2


def turned(signals: Array, counts: Array, ways: Array) -> tuple[Array, Array]:
    """Return windows ``(n, 120, 6)`` with their axes in other orders, one of :data:`AXES` for each."""
    order = AXES[ways][:, None, :]
    return np.take_along_axis(signals, order, axis=2), np.take_along_axis(counts, order, axis=2)


def normalised(signals: Array, counts: Array) -> Array:
    """Return windows with mean 0 and spread 1 in every channel, over what counts."""
    many = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    centred = np.where(counts, signals - np.where(counts, signals, 0).sum(axis=1, keepdims=True) / many, 0)
    variance = np.square(centred).sum(axis=1, keepdims=True) / many
    return np.asarray(centred / np.sqrt(variance + EPSILON), dtype=np.float32)


def two_views(signals: Array, counts: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the weak views of windows and then the strong ones, ``(2 n, 120, 6)``, and what counts of them."""
    weak = signals * rng.normal(SCALE, SPREAD, (len(signals), STEPS, 1))
    order = segments(len(signals), rng)[:, :, None]
    strong = np.take_along_axis(signals, order, axis=1) + rng.normal(0.0, JITTER, signals.shape)
    both = np.concatenate([counts, np.take_along_axis(counts, order, axis=1)])
    return normalised(np.concatenate([weak, strong]), both), both


def segments(n: int, rng: np.random.Generator) -> Array:
    """Draw orders of steps, ``(n, 120)``: 1 to 7 segments, cut at random places, in random order."""
    many = rng.integers(1, SEGMENTS + 1, size=n)
    places = rng.random((n, STEPS - 1)).argsort(axis=1).argsort(axis=1)
    cuts = places < (many - 1)[:, None]
    segment = np.concatenate([np.zeros((n, 1), dtype=np.int64), cuts.cumsum(axis=1)], axis=1)
    rank = np.take_along_axis(rng.random((n, SEGMENTS)), segment, axis=1)
    return np.argsort(rank, axis=1, kind="stable")


def summer() -> Any:
    """Return the layers that sum up a window for the contrast."""
    nn = training.torch().nn
    return nn.ModuleDict(
        {
            "embed": nn.Linear(WIDTH, TOKEN),
            "token": nn.Embedding(1, TOKEN),
            "norm": nn.LayerNorm(TOKEN),
            "query": nn.Linear(TOKEN, TOKEN),
            "key": nn.Linear(TOKEN, TOKEN),
            "value": nn.Linear(TOKEN, TOKEN),
            "project": nn.Linear(TOKEN, TOKEN),
            "attended": nn.LayerNorm(TOKEN),
            "widen": nn.Linear(TOKEN, INNER),
            "narrow": nn.Linear(INNER, TOKEN),
            "drop": nn.Dropout(DROPOUT),
            "out": nn.Sequential(nn.Linear(TOKEN, 36), nn.BatchNorm1d(36), nn.ReLU(), nn.Linear(36, 18)),
        }
    )


def sum_up(layers: Any, hidden: Any) -> Any:
    """Return the sums ``(n, 18)`` of windows ``(n, 120, 72)``."""
    torch, drop = training.torch(), layers["drop"]
    n = len(hidden)
    tokens = torch.cat([layers["token"].weight.expand(n, 1, TOKEN), layers["embed"](hidden)], dim=1)
    normed = layers["norm"](tokens)
    query, keys, values = (
        layers[name](given).view(n, -1, HEADS, TOKEN // HEADS).transpose(1, 2)
        for name, given in (("query", normed[:, :1]), ("key", normed), ("value", normed))
    )
    attended = torch.nn.functional.scaled_dot_product_attention(query, keys, values, scale=TOKEN**-0.5)
    found = tokens[:, 0] + drop(layers["project"](attended.reshape(n, TOKEN)))
    inner = drop(layers["widen"](layers["attended"](found)).relu())
    return layers["out"](found + drop(layers["narrow"](inner)))


def nt_xent(first: Any, second: Any, temperature: float = TEMPERATURE) -> Any:
    """Return the contrast of two views ``(n, d)`` (NT-Xent; Chen et al., 2020), both directions.

    For every row of both: cross-entropy of finding its other view among all other rows, by cosine / temperature.
    """
    torch = training.torch()
    n = len(first)
    rows = torch.nn.functional.normalize(torch.cat([first, second]), dim=1)
    alike = (rows @ rows.T / temperature).masked_fill(torch.eye(2 * n, dtype=torch.bool, device=rows.device), -1e9)
    other = torch.arange(2 * n, device=rows.device).roll(n)
    return torch.nn.functional.cross_entropy(alike, other)
