"""Training of TSFM: windows of all training datasets are drawn to the texts of their labels.

Conventions
-----------
- An epoch has as many draws as there are windows, with replacement: a window counts the more, the fewer windows its
  activity group has, up to :data:`CAP` times. So frequent activities do not drown the others.
- A batch holds windows of several datasets. Those of one dataset go through the encoder together, at their own rate, in
  patches of a length drawn anew for each batch from the range of the dataset; the loss is over all of them.
- With probability :data:`REWORDED` the text of a label is one of its words in a template, else the label as it is.
- AdamW; the learning rate rises over the first updates and then falls along half a cosine.

Everything drawn depends on the seed and the epoch alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems.neural import training, tsfm_loss, tsfm_network
from gnomon.suites.har.systems.neural.tsfm_network import Sizes, features, gathered, represented, unit
from gnomon.suites.har.systems.neural.tsfm_patches import Cut, lengths, patched
from gnomon.suites.har.systems.neural.tsfm_texts import Texts, of_channels, phrasings
from gnomon.suites.har.vocabulary import LABELS, group_of

CAP = 20.0
REWORDED = 0.8
DECAY, CLIP = 1e-5, 1.0
SETTLED = 256
"""Windows on which drawn weights are settled."""


@dataclass(frozen=True)
class Plan:
    """How long to train, with how many windows in a batch; highest learning rate, and share of updates until then."""

    epochs: int
    batch: int
    rate: float
    warm_up: float


@dataclass(frozen=True)
class Share:
    """What a batch has of one dataset: number of the piece, rows in it, and the length of patches in seconds."""

    piece: int
    rows: Array
    seconds: float


@dataclass(frozen=True)
class Batch:
    """Windows by dataset, and for each, in that order, its label and which text of it is taken."""

    shares: tuple[Share, ...]
    labels: Array
    wordings: Array

    def __len__(self) -> int:
        return len(self.labels)


def weights_of(codes: Array) -> Array:
    """Return the probability of every window to be drawn, given codes over the 87 labels."""
    _, group = np.unique([group_of(LABELS[code]) for code in codes.tolist()], return_inverse=True)
    counts = np.bincount(group)
    weight = np.minimum(counts.max() / counts, CAP)[group]
    return np.asarray(weight / weight.sum())


def drawing(windows: Sequence[Windows], codes: Array, size: int, seed: int) -> Callable[[int], Iterator[Batch]]:
    """Return what gives the batches of an epoch."""
    ends = np.cumsum([len(piece) for piece in windows])
    starts = ends - [len(piece) for piece in windows]
    chances, wordings = weights_of(codes), len(phrasings("label"))

    def share(piece: int, rows: Array, rng: np.random.Generator) -> Share:
        return Share(piece, rows - starts[piece], float(rng.choice(lengths(windows[piece].patch_s))))

    def epoch(number: int) -> Iterator[Batch]:
        rng = generator(seed, "har", "tsfm", "batches", str(number))
        drawn = rng.choice(len(codes), size=len(codes), p=chances)
        for start in range(0, len(drawn), size):
            rows = np.sort(drawn[start : start + size])
            piece = np.searchsorted(ends, rows, side="right")
            shares = tuple(share(int(one), rows[piece == one], rng) for one in np.unique(piece))
            wording = np.where(rng.random(len(rows)) < REWORDED, rng.integers(1, wordings, len(rows)), 0)
            yield Batch(shares, codes[rows], wording)

    return epoch


@dataclass(frozen=True)
class Aligning:
    """What is trained on what: network and sizes, known texts, windows by dataset, and the labels that occur."""

    network: Any
    sizes: Sizes
    texts: Texts
    windows: Sequence[Windows]
    seen: Array
    """Codes of the labels, rising."""

    def represented(self, shares: Sequence[Share]) -> Any:
        """Return vectors of windows, in their order; those with equally many patches go through together."""
        torch, sensor = training.torch(), self.network["sensor"]
        texts = [text for piece in self.windows for text in of_channels(piece)]
        channels = tsfm_network.described(sensor, *self.texts.tokens(texts)).unflatten(0, (len(self.windows), -1))
        cuts = [patched(self.windows[one.piece], one.rows, one.seconds) for one in shares]
        counts = [cut.there.shape[1] for cut in cuts]
        found: dict[int, Any] = {}
        for count in sorted(set(counts)):
            places = [place for place, own in enumerate(counts) if own == count]
            rows = [len(shares[place].rows) for place in places]
            of = np.repeat([shares[place].piece for place in places], rows)
            joined = represented(sensor, self.sizes, Cut.join([cuts[k] for k in places]), channels[of])
            found |= dict(zip(places, joined.split(rows), strict=True))
        return torch.cat([found[place] for place in range(len(shares))])

    def labelled(self, places: Array, wordings: Array) -> Any:
        """Return vectors of label texts: which of the labels, and which text of it."""
        asked, of = np.unique(np.stack([places, wordings], axis=1), axis=0, return_inverse=True)
        words = [phrasings(LABELS[self.seen[place]])[wording] for place, wording in asked.tolist()]
        return gathered(self.network["labels"], *self.texts.tokens(words))[of.reshape(-1)]

    def settle(self, shares: Sequence[Share]) -> None:
        """Take out of the drawn weights what all windows, and all labels, have in common.

        Patches are normalised, so that what the convolutions find differs little from patch to patch, and all vectors
        point the same way at first. The layer over the convolutions takes them with mean 0 and spread 1, and the last
        layers get a bias that brings the mean vector to 0, as seen on some windows and on the labels.
        """
        torch, network = training.torch(), self.network
        with torch.no_grad():
            cuts = [patched(self.windows[one.piece], one.rows, one.seconds) for one in shares]
            there = [cut.there[:, :, None] & cut.mask[:, None, :] for cut in cuts]
            sensor, layer = network["sensor"], network["sensor"]["token"][0]
            rows = torch.cat([features(sensor, cut.patches)[own] for cut, own in zip(cuts, there, strict=True)])
            spread, mean = torch.std_mean(rows, dim=0, correction=0)
            layer.weight /= spread.clamp(min=1e-6)
            layer.bias -= layer.weight @ mean
            sensor["head"][-1].bias -= self.represented(shares).mean(dim=0)
            wordings = len(phrasings("label"))
            places = np.repeat(np.arange(len(self.seen)), wordings)
            found = self.labelled(places, np.tile(np.arange(wordings), len(self.seen)))
            network["labels"]["merge"][-1].bias -= found.mean(dim=0)


def align(work: Aligning, codes: Array, plan: Plan, seed: int) -> training.Curve:
    """Train a network on labelled windows."""
    torch = training.torch()
    contrast = tsfm_loss.contrast(work.sizes.d)
    names = [LABELS[code] for code in work.seen.tolist()]
    work.texts.add([text for name in names for text in phrasings(name)])
    frozen = work.texts.sentences([phrasings(name)[1] for name in names])

    work.network.eval()
    work.settle(next(drawing(work.windows, codes, SETTLED, seed)(-1)).shares)

    def loss(batch: Batch) -> Any:
        places = np.searchsorted(work.seen, batch.labels)
        labels = torch.from_numpy(places).to(frozen.device)
        texts = unit(work.labelled(places, batch.wordings))
        return tsfm_loss.loss(contrast, unit(work.represented(batch.shares)), texts, labels, frozen)

    modules = {"network": work.network, "contrast": contrast}
    optimiser = torch.optim.AdamW(
        [weight for module in modules.values() for weight in module.parameters()], lr=plan.rate, weight_decay=DECAY
    )
    total = plan.epochs * -(-len(codes) // plan.batch)
    return training.learn(
        "alignment",
        modules,
        drawing(work.windows, codes, plan.batch, seed),
        loss,
        optimiser=optimiser,
        epochs=plan.epochs,
        seed=seed,
        clip=CLIP,
        scheduler=torch.optim.lr_scheduler.LambdaLR(optimiser, lambda update: pace(update, total, plan.warm_up)),
    )


def pace(update: int, total: int, warm_up: float) -> float:
    """Return the share of the highest learning rate at an update: a rise, then half a cosine.

    >>> [round(pace(update, 100, 0.03), 2) for update in (0, 2, 3, 51, 100)]
    [0.33, 1.0, 1.0, 0.51, 0.0]
    """
    rise = max(1, round(warm_up * total))
    if update < rise:
        return (update + 1) / rise
    return (1 + math.cos(math.pi * min(1.0, (update - rise) / max(1, total - rise)))) / 2
