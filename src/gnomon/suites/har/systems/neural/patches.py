"""Series in patches: what MOMENT (Goswami et al., 2024) makes of one channel.

Conventions
-----------
- A series is one channel of one window, ``(B, T)``, with the steps that were observed. The context is 512 steps in 64
  patches of 8. Shorter series stand at its end, as if filled up in front with steps that were not observed. Patches in
  front in which nothing is observed take no part in attention, and distances are relative, so they are not computed:
  120 steps are the patches 49 to 63.
- A series has mean 0 and spread 1 over its observed steps (reversible instance normalisation without weights: root of
  the biased variance, plus 1e-5). So offset and size of a channel, gravity among them, are not seen.
- A patch is observed where all its steps are. The token of an observed patch is a linear map of its steps, that of
  another one, and of one that is hidden in pre-training, a learned vector; sines and cosines of its position are added.
- The embedding of a series is the mean of the outputs of its observed patches, zeros where there is none; that of a
  window is those of its six channels, one after the other. A channel that is absent is observed nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.engine import torches
from gnomon.suites.har.recordings import CHANNELS, Windows
from gnomon.suites.har.systems.neural import t5
from gnomon.suites.har.systems.neural.t5 import Sizes

STEPS, CONTEXT = 8, 512
"""Steps of a patch and of the context."""
PATCHES = CONTEXT // STEPS
EPSILON = 1e-5
GAIN = 1.41
"""Of the orthogonal matrix that maps patches to tokens at first."""

SIZES = {
    "mini": Sizes(64, 2, 4, 16, 128, dropout=0.0),
    "small": Sizes(512, 8, 6, 64, 1024),
    "base": Sizes(768, 12, 12, 64, 2048),
    "large": Sizes(1024, 24, 16, 64, 2816),
}
"""Those of the paper, and one that a processor trains in a minute; so small a one needs no dropout."""


def network(sizes: Sizes, seed: int | None = None) -> Any:
    """Return the layers ``patch``, ``hidden`` and ``encoder``; without a seed their weights mean nothing yet."""
    torch = torches.torch()
    layers = torch.nn.ModuleDict(
        {
            "patch": torch.nn.Linear(STEPS, sizes.d, bias=False),
            "hidden": torch.nn.ParameterDict({"token": torch.zeros(sizes.d)}),
            "encoder": t5.encoder(sizes),
        }
    )
    if seed is not None:
        generator = torch.Generator().manual_seed(seed)
        torch.nn.init.orthogonal_(layers["patch"].weight, GAIN, generator=generator)
        t5.initialise(layers["encoder"], sizes, generator)
    return layers.to(torches.device())


def positions(count: int, d: int) -> Any:
    """Return sines and cosines ``(count, d)`` of the last positions of the context (Vaswani et al., 2017)."""
    torch = torches.torch()
    place = torch.arange(PATCHES - count, PATCHES, dtype=torch.float32)[:, None]
    angle = place * torch.exp(torch.arange(0, d, 2, dtype=torch.float32) * (-np.log(10_000.0) / d))
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)[:, :d]


def normalised(series: Any, observed: Any) -> Any:
    """Return series with mean 0 and spread 1 over their observed steps, and 0 elsewhere."""
    own = observed.to(series.dtype)
    count = own.sum(dim=1, keepdim=True).clamp(min=1)
    centred = (series - (series * own).sum(dim=1, keepdim=True) / count) * own
    return centred / ((centred.square().sum(dim=1, keepdim=True) / count).sqrt() + EPSILON)


def cut(series: Any, observed: Any) -> tuple[Any, Any]:
    """Return patches ``(B, P, 8)`` of series ``(B, T)``, and which are observed ``(B, P)``; T is filled up in front."""
    front = -series.shape[1] % STEPS
    if series.shape[1] + front > CONTEXT:
        raise InputError(f"moment: windows of {series.shape[1]} steps, expected at most {CONTEXT}; give a lower rate")
    pad = torches.torch().nn.functional.pad
    series, observed = pad(series, (front, 0)), pad(observed, (front, 0))
    return series.unflatten(1, (-1, STEPS)), observed.unflatten(1, (-1, STEPS)).all(dim=2)


def encoded(layers: Any, sizes: Sizes, patches: Any, seen: Any, hidden: Any = None) -> Any:
    """Return an output ``(B, P, d)`` for every patch; those that are `hidden` ``(B, P)`` are looked at, not read."""
    torch = torches.torch()
    read = seen if hidden is None else seen & ~hidden
    tokens = torch.where(read[..., None], layers["patch"](patches), layers["hidden"]["token"])
    tokens = tokens + positions(patches.shape[1], sizes.d).to(tokens.device)
    return t5.encode(layers["encoder"], sizes, tokens, seen)


def embedded(layers: Any, sizes: Sizes, series: Any, observed: Any) -> Any:
    """Return the mean output ``(B, d)`` of the observed patches of every series."""
    patches, seen = cut(normalised(series, observed), observed)
    found = encoded(layers, sizes, patches, seen) * seen[..., None]
    return found.sum(dim=1) / seen.sum(dim=1, keepdim=True).clamp(min=1)


def channels(windows: Windows, rows: Array | slice = slice(None)) -> tuple[Any, Any]:
    """Return the channels of windows ``(n, 6, T)`` and their observed steps, on the device in use."""
    torch, where = torches.torch(), torches.device()
    signals = np.ascontiguousarray(np.asarray(windows.signals[rows], dtype=np.float32).transpose(0, 2, 1))
    observed = np.asarray(windows.valid[rows])[:, None, :] & np.asarray(windows.mask[rows])[:, :, None]
    return torch.from_numpy(signals).to(where), torch.from_numpy(observed).to(where)


def embedded_windows(layers: Any, sizes: Sizes, series: Any, observed: Any) -> Any:
    """Return the embedding ``(n, 6 d)`` of windows; only channels with an observed step are computed."""
    there = observed.any(dim=2)
    found = embedded(layers, sizes, series[there], observed[there])
    out = found.new_zeros((*there.shape, sizes.d))
    out[there] = found
    return out.flatten(1)


def blocks(n: int, size: int) -> Iterator[slice]:
    """Cut so many rows into blocks."""
    return (slice(start, min(n, start + size)) for start in range(0, n, size))


def embedding(layers: Any, sizes: Sizes, windows: Windows, size: int = 256) -> Array:
    """Return the embedding ``(n, 6 d)`` of all windows, without gradients, a block at a time."""
    out = np.zeros((len(windows), len(CHANNELS) * sizes.d), dtype=np.float32)
    layers.eval()
    with torches.torch().no_grad():
        for rows in blocks(len(windows), size):
            out[rows] = embedded_windows(layers, sizes, *channels(windows, rows)).cpu().numpy()
    return out
