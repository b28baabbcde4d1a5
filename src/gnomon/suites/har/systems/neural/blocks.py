"""The encoder that LiMU-BERT (Xu et al., 2021) and CrossHAR (Hong et al., 2024) share, and how its input is masked.

Conventions
-----------
- A window is ``(120, 6)``: 6 s at 20 Hz. What the encoder makes of it is ``(120, 72)``.
- Steps are mapped to 72 numbers and normalised, a learned vector of their place is added, and they are normalised again
  with the same weights. Then one block is applied one or several times, always with the same weights: with ``a`` the
  attention over all steps (4 heads, nothing masked), ``h = LN(a + P a)`` and ``LN(h + F h)``, F being 72 -> 144 -> 72
  with GELU. There is no path around the attention itself, as in the published weights, though the paper draws one.
- 18 of 120 steps are masked, all channels of a step together, in spans whose lengths are geometric (p = .2) and at most
  10. In four of five windows the masked steps are zeroed; in the others they stay, and are to be reconstructed too.
- Networks are ``ModuleDict``; :func:`encode` and :func:`rebuild` run them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import CHANNELS
from gnomon.suites.har.systems.neural import training

STEPS, WIDTH, HEADS, INNER = 120, 72, 4, 144
EPSILON = 1e-12
MASKED, LONGEST, GEOMETRIC, ZEROED = 18, 10, 0.2, 0.8
"""Steps that are masked, the longest span of them, how fast lengths fall off, and the share of windows zeroed there."""


def encoder() -> Any:
    """Return the layers of an encoder, with random weights."""
    nn = training.torch().nn
    return nn.ModuleDict(
        {
            "embed": nn.Linear(len(CHANNELS), WIDTH),
            "places": nn.Embedding(STEPS, WIDTH),
            "norm": nn.LayerNorm(WIDTH, EPSILON),
            "attend": nn.Linear(WIDTH, 3 * WIDTH),
            "project": nn.Linear(WIDTH, WIDTH),
            "attended": nn.LayerNorm(WIDTH, EPSILON),
            "widen": nn.Linear(WIDTH, INNER),
            "narrow": nn.Linear(INNER, WIDTH),
            "ended": nn.LayerNorm(WIDTH, EPSILON),
        }
    )


def rebuilder() -> Any:
    """Return the layers that reconstruct steps from what the encoder made of them."""
    nn = training.torch().nn
    return nn.ModuleDict(
        {
            "linear": nn.Linear(WIDTH, WIDTH),
            "norm": nn.LayerNorm(WIDTH, EPSILON),
            "signals": nn.Linear(WIDTH, len(CHANNELS)),
        }
    )


def encode(layers: Any, signals: Any, passes: int) -> Any:
    """Return what the encoder makes of signals ``(n, 120, 6)``, its block applied so many times: ``(n, 120, 72)``."""
    gelu = training.torch().nn.functional.gelu
    hidden = layers["norm"](layers["norm"](layers["embed"](signals)) + layers["places"].weight)
    for _ in range(passes):
        attended = attention(layers["attend"](hidden), HEADS)
        hidden = layers["attended"](attended + layers["project"](attended))
        hidden = layers["ended"](hidden + layers["narrow"](gelu(layers["widen"](hidden))))
    return hidden


def attention(projected: Any, heads: int) -> Any:
    """Return the attention ``(n, steps, d)`` of queries, keys and values side by side, ``(n, steps, 3 d)``."""
    n, steps, wide = projected.shape
    query, key, value = projected.view(n, steps, 3, heads, wide // 3 // heads).permute(2, 0, 3, 1, 4)
    found = training.torch().nn.functional.scaled_dot_product_attention(query, key, value)
    return found.transpose(1, 2).reshape(n, steps, wide // 3)


def rebuild(layers: Any, hidden: Any) -> Any:
    """Return steps ``(..., 6)`` reconstructed from ``(..., 72)``."""
    gelu = training.torch().nn.functional.gelu
    return layers["signals"](layers["norm"](gelu(layers["linear"](hidden))))


def rebuilding_loss(encoder: Any, head: Any, batch: tuple[Any, Any, Any, Any], passes: int) -> tuple[Any, Any]:
    """Return the mean squared error of masked steps that were reconstructed, and what the encoder made of all.

    A batch is signals ``(n, 120, 6)``, which steps are masked ``(n, 120)``, which windows are zeroed there ``(n,)`` and
    what counts ``(n, 120, 6)``: padding and absent channels do not.
    """
    signals, masked, zeroed, counts = batch
    seen = signals.masked_fill((masked & zeroed[:, None])[..., None], 0.0)
    hidden = encode(encoder, seen, passes)
    where = masked.nonzero(as_tuple=True)
    errors = (rebuild(head, hidden[where]) - signals[where]).square()
    weight = counts[where]
    return (errors * weight).sum() / weight.sum().clamp(min=1.0), hidden


def draw_masks(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw which steps of windows are masked, ``(n, 120)`` with 18 each, and which windows are zeroed there, ``(n,)``.

    Spans begin anywhere outside of those before; they may run into them, and end with the window or when 18 is reached.
    """
    lengths = np.arange(1, LONGEST + 1)
    chances = GEOMETRIC * (1 - GEOMETRIC) ** (lengths - 1)
    chances /= chances.sum()
    masked = np.zeros((n, STEPS), dtype=np.bool_)
    left = np.full(n, MASKED)
    steps = np.arange(STEPS)
    while len(rows := np.flatnonzero(left)):
        begin = rng.integers(STEPS, size=len(rows))
        long = np.minimum(rng.choice(lengths, size=len(rows), p=chances), left[rows])
        free = ~masked[rows, begin]
        span = (steps >= begin[:, None]) & (steps < (begin + long)[:, None]) & free[:, None]
        masked[rows] |= span
        left[rows] = MASKED - masked[rows].sum(axis=1)
    return masked, rng.random(n) < ZEROED
