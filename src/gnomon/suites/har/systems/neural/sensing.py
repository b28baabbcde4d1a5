"""The sensor encoder of LanHAR: a transformer over steps whose sum is projected beside texts.

Conventions
-----------
- Signals are ``(n, steps, 6)``, valid steps ``(n, steps)``. A token is `span` consecutive steps (1 as published); it is
  there where one of its steps is valid, and what is not there takes no part.
- Linear, sines and cosines of places, dropout; blocks of attention and feed-forward layer (ReLU), each added to its
  input and normed after that; the **sum** over tokens.
- A projection is linear, GELU, layer norm; then unit length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gnomon.engine.torches import torch as library
from gnomon.suites.har.recordings import CHANNELS
from gnomon.suites.har.systems.neural.heads import sinusoids


@dataclass(frozen=True)
class Sizes:
    """Width, width inside of feed-forward layers, steps of a token; layers, heads and dropout as published."""

    d: int
    d_inner: int
    span: int
    layers: int = 3
    heads: int = 2
    dropout: float = 0.1


def encoder(sizes: Sizes) -> Any:
    """Return the layers of the sensor encoder, with its projection."""
    nn = library().nn
    blocks = nn.ModuleList(_block(sizes) for _ in range(sizes.layers))
    parts = {"embed": nn.Linear(len(CHANNELS) * sizes.span, sizes.d), "blocks": blocks}
    return nn.ModuleDict({**parts, "drop": nn.Dropout(sizes.dropout), "project": projection(sizes.d, sizes.d)})


def _block(sizes: Sizes) -> Any:
    nn = library().nn
    d = sizes.d
    return nn.ModuleDict(
        {
            "attend": nn.Linear(d, 3 * d),
            "out": nn.Linear(d, d),
            "attended": nn.LayerNorm(d),
            "widen": nn.Linear(d, sizes.d_inner),
            "narrow": nn.Linear(sizes.d_inner, d),
            "ended": nn.LayerNorm(d),
        }
    )


def projection(width: int, d: int) -> Any:
    """Return the layers of a projection."""
    nn = library().nn
    return nn.Sequential(nn.Linear(width, d), nn.GELU(), nn.LayerNorm(d))


def project(layers: Any, vectors: Any) -> Any:
    """Return projected vectors as unit vectors."""
    return library().nn.functional.normalize(layers(vectors), dim=-1)


def embed(layers: Any, sizes: Sizes, signals: Any, valid: Any) -> Any:
    """Return unit vectors ``(n, d)`` of windows."""
    n, steps, channels = signals.shape
    there = valid.view(n, steps // sizes.span, sizes.span).any(dim=2)
    tokens = layers["embed"](signals.reshape(n, steps // sizes.span, sizes.span * channels))
    tokens = layers["drop"](tokens + sinusoids(tokens.shape[1], sizes.d).to(tokens))
    keys = None if bool(there.all()) else there[:, None, None, :]
    for block in layers["blocks"]:
        mixed = block["out"](_attention(block["attend"](tokens), sizes.heads, keys))
        tokens = block["attended"](tokens + layers["drop"](mixed))
        inner = layers["drop"](block["widen"](tokens).relu())
        tokens = block["ended"](tokens + layers["drop"](block["narrow"](inner)))
    return project(layers["project"], (tokens * there[..., None]).sum(dim=1))


def _attention(projected: Any, heads: int, keys: Any) -> Any:
    n, length, wide = projected.shape
    q, k, v = projected.view(n, length, 3, heads, wide // 3 // heads).permute(2, 0, 3, 1, 4)
    found = library().nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keys)
    return found.transpose(1, 2).reshape(n, length, wide // 3)
