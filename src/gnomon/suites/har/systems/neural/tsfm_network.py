"""The layers of TSFM: an encoder of patches of several channels, and a bank that embeds label texts beside it.

Conventions
-----------
- Patches are ``(n, P, C, 64)`` (:mod:`~gnomon.suites.har.systems.neural.tsfm_patches`), tokens ``(n, P, C, d)``: one
  for each patch and channel. Patches that are padding and channels that are absent are keys of no attention, so that
  they change nothing.
- Token of a patch and channel: two convolutions along time (kernel 5, no bias), each with normalisation over all its
  channels and steps, GELU and dropout; the mean over time; a linear layer with GELU. To it are added sines and cosines
  of the number of the patch times a learned factor, 0.1 at first.
- A block has two branches, one after the other: attention over the patches of a channel, then over the channels of a
  patch; then a feed-forward layer. After each, the sum with its input is normalised.
- Several learned queries read a set of keys (cross attention, sum and norm, for pooling also attention among the
  queries); a small network makes one vector of them, to which for pooling and labels the mean of the queries is added.
  So are read: the tokens of a channel's text, the channels of a patch, the patches of a window, the tokens of a label.
- Text of a channel: ``sensor + gate * text`` after the blocks, the gate a sigmoid of both.
- Windows and labels end as unit vectors of ``d`` numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from gnomon.suites.har.systems.neural import training
from gnomon.suites.har.systems.neural.tsfm_patches import Cut

KERNEL = 5
QUERIES, READ_HEADS = 4, 4
TEMPORAL = 2
"""Layers over the patches of a window, once channels are one."""
POSITION = 0.1


@dataclass(frozen=True)
class Sizes:
    """How large the encoder is: width of tokens, blocks, heads, and channels of the two convolutions."""

    d: int
    blocks: int
    heads: int
    filters: tuple[int, int] = (32, 64)
    dropout: float = 0.1


SIZES = {
    "smoke": Sizes(32, 1, 4, (8, 16), 0.0),
    "cpu": Sizes(96, 2, 4, (16, 32), 0.0),
    "paper": Sizes(384, 4, 8),
}
"""By profile."""


def network(sizes: Sizes, width: int) -> Any:
    """Return the layers ``sensor`` and ``labels``; texts have tokens of `width` numbers."""
    torch = training.torch()
    nn, d = torch.nn, sizes.d
    sensor = {
        "patch": _convolutions(sizes),
        "token": nn.Sequential(nn.Linear(sizes.filters[1], d), nn.GELU(), nn.Dropout(sizes.dropout)),
        "position": nn.ParameterDict({"factor": torch.tensor(POSITION)}),
        "blocks": nn.ModuleList(_layer(sizes, "patches", "channels") for _ in range(sizes.blocks)),
        "text": _reader(d, width, among=False),
        "gate": nn.Linear(2 * d, d),
        "channels": _reader(d, d, among=True),
        "temporal": nn.ModuleList(_layer(sizes, "patches") for _ in range(TEMPORAL)),
        "patches": _reader(d, d, among=True),
        "head": nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)),
    }
    labels = _reader(d, width, among=False)
    nn.init.normal_(labels["merge"][-1].weight, std=0.01)
    nn.init.zeros_(labels["merge"][-1].bias)
    return nn.ModuleDict({"sensor": nn.ModuleDict(sensor), "labels": labels}).to(training.device())


def _convolutions(sizes: Sizes) -> Any:
    """Return the convolutions along time, as ones over images of one row: on a processor these are much faster."""
    nn = training.torch().nn
    layers = []
    for before, after in zip((1, sizes.filters[0]), sizes.filters, strict=True):
        layers += [
            nn.Conv2d(before, after, (1, KERNEL), padding=(0, KERNEL // 2), bias=False),
            nn.GroupNorm(1, after),
            nn.GELU(),
            nn.Dropout(sizes.dropout),
        ]
    return nn.Sequential(*layers)


def _attention(d: int, width: int) -> Any:
    nn = training.torch().nn
    return nn.ModuleDict(
        {"q": nn.Linear(d, d), "k": nn.Linear(width, d), "v": nn.Linear(width, d), "o": nn.Linear(d, d)}
    )


def _layer(sizes: Sizes, *branches: str) -> Any:
    """Return attention for each branch and a feed-forward layer, with a norm for each of them."""
    nn, d = training.torch().nn, sizes.d
    found = {name: _attention(d, d) for name in branches}
    found["feed"] = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Dropout(sizes.dropout), nn.Linear(4 * d, d))
    norms = {f"{name}_norm": nn.LayerNorm(d) for name in found}
    return nn.ModuleDict({**found, **norms, "dropout": nn.Dropout(sizes.dropout)})


def _reader(d: int, width: int, *, among: bool) -> Any:
    torch = training.torch()
    nn = torch.nn
    found = {
        "queries": nn.ParameterDict({"own": torch.randn(QUERIES, d) * 0.02}),
        "read": _attention(d, width),
        "read_norm": nn.LayerNorm(d),
        "merge": nn.Sequential(nn.Linear(QUERIES * d, d), nn.GELU(), nn.Linear(d, d)),
    }
    if among:
        found |= {"among": _attention(d, d), "among_norm": nn.LayerNorm(d)}
    return nn.ModuleDict(found)


def attended(layer: Any, queries: Any, keys: Any, heads: int, seen: Any = None) -> Any:
    """Return queries ``(B, Q, d)`` after attention to the keys ``(B, K, width)`` that are `seen` ``(B, K)``."""
    torch = training.torch()

    def split(x: Any) -> Any:
        return x.unflatten(-1, (heads, -1)).transpose(-3, -2)

    found = torch.nn.functional.scaled_dot_product_attention(
        split(layer["q"](queries)),
        split(layer["k"](keys)),
        split(layer["v"](keys)),
        None if seen is None else seen[:, None, None, :],
    )
    return layer["o"](found.transpose(-3, -2).flatten(-2))


def gathered(reader: Any, keys: Any, seen: Any = None, *, mean: bool = True) -> Any:
    """Return one vector ``(B, d)`` for each set of keys ``(B, K, width)``; `mean` adds the mean of the queries."""
    queries = reader["queries"]["own"].expand(len(keys), -1, -1)
    queries = reader["read_norm"](queries + attended(reader["read"], queries, keys, READ_HEADS, seen))
    if "among" in reader:
        queries = reader["among_norm"](queries + attended(reader["among"], queries, queries, READ_HEADS))
    merged = reader["merge"](queries.flatten(1))
    return merged + queries.mean(dim=1) if mean else merged


def described(layers: Any, states: Any, seen: Any) -> Any:
    """Return vectors ``(n, d)`` of channels, from token states ``(n, length, width)`` of their texts and the mask."""
    return gathered(layers["text"], states, seen, mean=False)


def represented(layers: Any, sizes: Sizes, windows: Cut, channels: Any) -> Any:
    """Return vectors ``(n, d)`` of windows, of any length.

    Parameters
    ----------
    layers, sizes
        ``sensor`` of :func:`network`.
    windows
        Their patches.
    channels
        What :func:`described` gave of the channels, ``(C, d)`` for all windows or ``(n, C, d)``.
    """
    n, count = windows.there.shape
    there, mask = _needed(windows.there), _needed(windows.mask)
    x = layers["token"](features(layers, windows.patches))
    x = x + layers["position"]["factor"] * positions(count, sizes.d, x.device)[:, None]
    for block in layers["blocks"]:
        x = _block(block, x, sizes.heads, there, mask)
    text = channels.reshape(-1, 1, *channels.shape[-2:]).expand(n, count, -1, -1)
    gate = layers["gate"](training.torch().cat([x, text], dim=-1)).sigmoid()
    by_patch = None if mask is None else mask.repeat_interleave(count, dim=0)
    y = gathered(layers["channels"], (x + gate * text).flatten(0, 1), by_patch).unflatten(0, (n, count))
    for layer in layers["temporal"]:
        y = _temporal(layer, y, sizes.heads, there)
    return layers["head"](gathered(layers["patches"], y, there))


def unit(vectors: Any) -> Any:
    """Return vectors of length one."""
    return training.torch().nn.functional.normalize(vectors, dim=-1)


def features(layers: Any, patches: Any) -> Any:
    """Return what the convolutions find in each patch and channel, ``(n, P, C, filters)``."""
    rows = patches.reshape(-1, 1, 1, patches.shape[-1])
    rows = rows.contiguous(memory_format=training.torch().channels_last)
    return layers["patch"](rows).mean(dim=(2, 3)).unflatten(0, patches.shape[:3])


def positions(count: int, d: int, where: Any) -> Any:
    """Return sines and cosines ``(count, d)`` of the numbers of patches (Vaswani et al., 2017)."""
    torch = training.torch()
    place = torch.arange(count, dtype=torch.float32, device=where)[:, None]
    angle = place * torch.exp(torch.arange(0, d, 2, dtype=torch.float32, device=where) * (-math.log(10_000.0) / d))
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)[:, :d]


def _needed(seen: Any) -> Any:
    """Return a mask, or None where it hides nothing, which is faster."""
    return None if bool(seen.all()) else seen


def _block(layer: Any, x: Any, heads: int, there: Any, mask: Any) -> Any:
    n, count, channels, _ = x.shape
    drop = layer["dropout"]
    by_channel = x.transpose(1, 2).flatten(0, 1)
    seen = None if there is None else there.repeat_interleave(channels, dim=0)
    own = attended(layer["patches"], by_channel, by_channel, heads, seen).unflatten(0, (n, channels)).transpose(1, 2)
    x = layer["patches_norm"](x + drop(own))
    by_patch = x.flatten(0, 1)
    seen = None if mask is None else mask.repeat_interleave(count, dim=0)
    own = attended(layer["channels"], by_patch, by_patch, heads, seen).unflatten(0, (n, count))
    x = layer["channels_norm"](x + drop(own))
    return layer["feed_norm"](x + drop(layer["feed"](x)))


def _temporal(layer: Any, y: Any, heads: int, there: Any) -> Any:
    """Return patches ``(n, P, d)`` after attention and a feed-forward layer, each on normalised input."""
    own = layer["patches_norm"](y)
    y = y + layer["dropout"](attended(layer["patches"], own, own, heads, there))
    return y + layer["dropout"](layer["feed"](layer["feed_norm"](y)))
