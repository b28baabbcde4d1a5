"""Pre-training of MOMENT: patches of a channel are hidden, and the encoder learns to fill them in.

Of the n observed patches of a series .3 n are hidden, rounded up or down at random; other patches are looked at as they
are. The loss is the mean square of what is wrong in hidden patches, after normalisation, so that quiet channels count
as much as loud ones. AdamW with decay .05 and gradients of length 5 at most, as published; the learning rate rises
along a straight line and falls along half a cosine, and is that of a small network.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems.neural import patches, training
from gnomon.suites.har.systems.neural.patches import STEPS
from gnomon.suites.har.systems.neural.t5 import Sizes

HIDDEN = 0.3
"""Share of the observed patches that is hidden."""
BATCH = 16
"""Windows of a batch, of up to six series each."""
LOWEST, WARM_UP = 1e-5, 0.1
"""Learning rate at the end, and the share of updates in which it rises."""
DECAY, CLIP, DROPOUT = 0.05, 5.0, 0.1


def hide(seen: Array, rng: np.random.Generator) -> Array:
    """Return which patches ``(..., P)`` are hidden: of the n that are observed .3 n, rounded up or down at random."""
    many = np.floor(HIDDEN * seen.sum(axis=-1, keepdims=True) + rng.random((*seen.shape[:-1], 1)))
    order = np.where(seen, rng.random(seen.shape), 2.0).argsort(axis=-1).argsort(axis=-1)
    return np.asarray((order < many) & seen)


def error(network: Any, head: Any, sizes: Sizes, cut: Any, seen: Any, hidden: Any) -> Any:
    """Return the mean square of what is wrong in hidden patches; `cut` ``(B, P, 8)`` are the true ones."""
    wrong = head(patches.encoded(network, sizes, cut, seen, hidden))[hidden] - cut[hidden]
    return wrong.square().sum() / max(1, wrong.numel())


def fill_in(
    network: Any, sizes: Sizes, windows: Sequence[Windows], *, epochs: int, peak: float, seed: int
) -> training.Curve:
    """Train an encoder in place to fill in hidden patches; `peak` is the highest learning rate."""
    torch = training.torch()
    where = training.device()
    with training.seeded(seed, "har", "moment", "reconstruction"):
        head = torch.nn.Sequential(torch.nn.Dropout(DROPOUT), torch.nn.Linear(sizes.d, STEPS)).to(where)
    pool = Pool(windows)
    order = training.shuffled(len(pool), BATCH, seed, "har", "moment", "pre-train")

    def batches(epoch: int) -> Iterator[tuple[Any, ...]]:
        rng = generator(seed, "har", "moment", "hidden", str(epoch))
        for rows in order(epoch):
            series, observed = pool(rows)
            cut, seen = patches.cut(patches.normalised(series, observed), observed)
            hidden = torch.from_numpy(hide(seen.cpu().numpy(), rng)).to(where)
            yield rows, cut, seen, hidden

    def loss(batch: tuple[Any, ...]) -> Any:
        return error(network, head, sizes, *batch[1:])

    modules = {"network": network, "head": head}
    weights = [weight for module in modules.values() for weight in module.parameters()]
    optimiser = torch.optim.AdamW(weights, lr=peak, weight_decay=DECAY)
    updates = epochs * -(-len(pool) // BATCH)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda update: rate(update, updates, LOWEST / peak))
    return training.learn(
        "pre-training",
        modules,
        batches,
        loss,
        optimiser=optimiser,
        epochs=epochs,
        seed=seed,
        clip=CLIP,
        scheduler=scheduler,
    )


def rate(update: int, updates: int, lowest: float) -> float:
    """Return the share of the highest learning rate: a straight line up, then half a cosine down to the lowest.

    >>> [round(rate(update, 20, 0.0), 2) for update in (0, 1, 2, 11, 20)]
    [0.5, 1.0, 1.0, 0.5, 0.0]
    """
    rising = max(1, round(WARM_UP * updates))
    if update < rising:
        return (update + 1) / rising
    share = min(1.0, (update - rising) / max(1, updates - rising))
    return lowest + (1 - lowest) * (1 + math.cos(math.pi * share)) / 2


class Pool:
    """The channels of the windows of several datasets, one dataset after the other, as series by themselves."""

    def __init__(self, pieces: Sequence[Windows]) -> None:
        self.pieces = pieces
        self.ends = np.cumsum([len(piece) for piece in pieces])

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def __call__(self, rows: Array) -> tuple[Any, Any]:
        """Return the series ``(B, T)`` of windows, of the channels that are there, and their observed steps."""
        torch = training.torch()
        rows = np.sort(rows)
        of = np.searchsorted(self.ends, rows, side="right")
        starts = self.ends - [len(piece) for piece in self.pieces]
        found = [patches.channels(self.pieces[at], rows[of == at] - starts[at]) for at in np.unique(of)]
        series, observed = (torch.cat(parts).flatten(0, 1) for parts in zip(*found, strict=True))
        there = observed.any(dim=1)
        return series[there], observed[there]
