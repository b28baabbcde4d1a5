"""The encoder of T5 1.1 (Raffel et al., 2020; Shazeer, 2020), as MOMENT uses it.

Conventions
-----------
- Tokens are ``(B, L, d)``. A block is attention, then a gated feed-forward layer, each on ``x / rms(x) * weight`` and
  added to ``x``; a last such norm follows all blocks. No layer has a bias.
- Attention has no ``1 / sqrt(d)``; to the logit of query i and key j is added a learned number for the head and for the
  bucket of ``j - i``. All blocks share these numbers. So only distances count: to shift all tokens changes nothing.
- The feed-forward layer is ``out (gelu(gate x) * value x)``, with the tanh form of gelu.
- Keys that are not observed take no part. Their own outputs mean nothing.
- In training mode, dropout is on tokens, attention, inside of feed-forward layers and on whatever is added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from gnomon.engine import torches

BUCKETS, FARTHEST = 32, 128
"""Buckets of distances, and the distance from which on there is only the last one."""
EPSILON = 1e-6
UNSEEN = -1e9
"""Added to the logit of a key that is not observed; finite, so that a row without any observed key stays finite."""


@dataclass(frozen=True)
class Sizes:
    """How large an encoder is: width, layers, heads and the width of each, width inside of feed-forward layers."""

    d: int
    layers: int
    heads: int
    d_head: int
    d_inner: int
    dropout: float = 0.1


def bucket(distance: Any) -> Any:
    """Return the bucket of key position minus query position: exact up to 7, then by logarithm, by side."""
    torch = torches.torch()
    half = BUCKETS // 2
    exact = half // 2
    far = distance.abs()
    ratio = torch.log(far.clamp(min=1).float() / exact) / math.log(FARTHEST / exact)
    coarse = (exact + (ratio * (half - exact)).long()).clamp(max=half - 1)
    return torch.where(far < exact, far, coarse) + half * (distance > 0).long()


def encoder(sizes: Sizes) -> Any:
    """Return the layers of an encoder."""
    nn = torches.torch().nn
    return nn.ModuleDict(
        {
            "distances": nn.Embedding(BUCKETS, sizes.heads),
            "blocks": nn.ModuleList(_block(sizes) for _ in range(sizes.layers)),
            "norm": nn.RMSNorm(sizes.d, EPSILON),
        }
    )


def _block(sizes: Sizes) -> Any:
    nn = torches.torch().nn
    heads = sizes.heads * sizes.d_head
    shapes = {
        "q": (sizes.d, heads),
        "k": (sizes.d, heads),
        "v": (sizes.d, heads),
        "o": (heads, sizes.d),
        "gate": (sizes.d, sizes.d_inner),
        "value": (sizes.d, sizes.d_inner),
        "out": (sizes.d_inner, sizes.d),
    }
    norms = {name: nn.RMSNorm(sizes.d, EPSILON) for name in ("attention_norm", "forward_norm")}
    return nn.ModuleDict({**{name: nn.Linear(*shape, bias=False) for name, shape in shapes.items()}, **norms})


def initialise(layers: Any, sizes: Sizes, generator: Any) -> None:
    """Draw weights: normal, with the spreads of Raffel et al. (2020), by which logits begin near one."""
    normal = torches.torch().nn.init.normal_
    spreads = {
        "q": (sizes.d * sizes.d_head) ** -0.5,
        "o": (sizes.heads * sizes.d_head) ** -0.5,
        "out": sizes.d_inner**-0.5,
    }
    for name, weight in layers.named_parameters():
        layer = name.split(".")[-2]
        if not layer.endswith("norm"):
            normal(weight, 0.0, spreads.get(layer, sizes.d**-0.5), generator=generator)


def encode(layers: Any, sizes: Sizes, tokens: Any, observed: Any) -> Any:
    """Return the tokens ``(B, L, d)`` after all blocks; `observed` ``(B, L)`` says which may be looked at."""
    bias = _bias(layers["distances"], observed)
    x = _dropped(layers, sizes, tokens)
    for block in layers["blocks"]:
        x = x + _dropped(block, sizes, block["o"](_attended(block, sizes, block["attention_norm"](x), bias)))
        x = x + _dropped(block, sizes, _fed_forward(block, sizes, block["forward_norm"](x)))
    return _dropped(layers, sizes, layers["norm"](x))


def _bias(distances: Any, observed: Any) -> Any:
    """Return what is added to logits, ``(B or 1, heads, L, L)``."""
    torch = torches.torch()
    place = torch.arange(observed.shape[1], device=observed.device)
    near = distances(bucket(place[None, :] - place[:, None])).permute(2, 0, 1)[None]
    if bool(observed.all()):
        return near
    unseen = torch.zeros(observed.shape, device=near.device).masked_fill(~observed, UNSEEN)
    return near + unseen[:, None, None, :]


def _attended(block: Any, sizes: Sizes, x: Any, bias: Any) -> Any:
    attention = torches.torch().nn.functional.scaled_dot_product_attention
    shape = (*x.shape[:2], sizes.heads, sizes.d_head)
    q, k, v = (block[name](x).view(shape).transpose(1, 2) for name in ("q", "k", "v"))
    dropout = sizes.dropout if block.training else 0.0
    return attention(q, k, v, bias, dropout_p=dropout, scale=1.0).transpose(1, 2).flatten(2)


def _fed_forward(block: Any, sizes: Sizes, x: Any) -> Any:
    gelu = torches.torch().nn.functional.gelu
    return block["out"](_dropped(block, sizes, gelu(block["gate"](x), approximate="tanh") * block["value"](x)))


def _dropped(layers: Any, sizes: Sizes, x: Any) -> Any:
    return torches.torch().nn.functional.dropout(x, sizes.dropout, layers.training)
