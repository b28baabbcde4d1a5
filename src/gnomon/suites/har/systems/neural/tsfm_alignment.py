"""Training of TSFM: windows of all training datasets are drawn to the texts of their labels.

Conventions
-----------
- An epoch has as many draws as there are windows, with replacement: a window counts the more, the fewer windows its
  activity group has, up to :data:`CAP` times. So frequent activities do not drown the others.
- The length of the patches of every window drawn is drawn too, from the range of its dataset. A batch holds windows of
  several datasets, each at its own rate, that have equally many patches; so all go through the encoder at once.
- With probability :data:`REWORDED` the text of a label is one of its words in a template, else the label as it is.
- AdamW; the learning rate rises over the first updates and then falls along half a cosine.

Everything drawn depends on the seed and the epoch alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems.neural import training, tsfm_loss, tsfm_network
from gnomon.suites.har.systems.neural.tsfm_network import Sizes, features, gathered, represented, unit
from gnomon.suites.har.systems.neural.tsfm_patches import Cut, lengths, patched, steps_of
from gnomon.suites.har.systems.neural.tsfm_texts import Texts, of_channels, phrasings
from gnomon.suites.har.vocabulary import LABELS, group_of

CAP = 20.0
REWORDED = 0.8
DECAY, CLIP = 1e-5, 1.0
SETTLED = 10
"""Batches on which drawn weights are settled."""


@dataclass(frozen=True)
class Plan:
    """How long to train, with how many windows in a batch; highest learning rate, and share of updates until then."""

    epochs: int
    batch: int
    rate: float
    warm_up: float


@dataclass(frozen=True)
class Share:
    """What a batch has of one dataset in patches of one length: number of the piece, rows in it, seconds."""

    piece: int
    rows: Array
    seconds: float


@dataclass(frozen=True)
class Batch:
    """Windows by share, and for each, in that order, its label and which text of it is taken."""

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
    piece = np.repeat(np.arange(len(windows)), [len(one) for one in windows])
    row = np.concatenate([np.arange(len(one)) for one in windows])
    choices = [lengths(one.patch_s) for one in windows]
    counts = [
        [one.signals.shape[1] // steps_of(one.rate_hz, seconds) for seconds in own]
        for one, own in zip(windows, choices, strict=True)
    ]
    chances, wordings = weights_of(codes), len(phrasings("label"))

    def epoch(number: int) -> Iterator[Batch]:
        rng = generator(seed, "har", "tsfm", "batches", str(number))
        drawn = rng.choice(len(codes), size=len(codes), p=chances)
        choice = np.array([rng.integers(len(choices[one])) for one in piece[drawn].tolist()])
        many = np.array([counts[one][own] for one, own in zip(piece[drawn].tolist(), choice.tolist(), strict=True)])
        alike = [np.flatnonzero(many == count) for count in np.unique(many)]
        parts = [own[start : start + size] for own in alike for start in range(0, len(own), size)]
        for place in rng.permutation(len(parts)).tolist():
            own = parts[place][np.lexsort((choice[parts[place]], piece[drawn[parts[place]]]))]
            rows, kind = drawn[own], np.stack([piece[drawn[own]], choice[own]], axis=1)
            shares = tuple(
                Share(one, row[rows[(kind == (one, length)).all(axis=1)]], choices[one][length])
                for one, length in np.unique(kind, axis=0).tolist()
            )
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
        """Return vectors of windows, which have equally many patches, in their order."""
        sensor = self.network["sensor"]
        asked = sorted({one.piece for one in shares})
        texts = [text for piece in asked for text in of_channels(self.windows[piece])]
        channels = tsfm_network.described(sensor, *self.texts.tokens(texts)).unflatten(0, (len(asked), -1))
        of = np.repeat([asked.index(one.piece) for one in shares], [len(one.rows) for one in shares])
        return represented(sensor, self.sizes, self._cut(shares), channels[of])

    def _cut(self, shares: Sequence[Share]) -> Cut:
        return Cut.join([patched(self.windows[one.piece], one.rows, one.seconds) for one in shares])

    def labelled(self, places: Array, wordings: Array) -> Any:
        """Return vectors of label texts: which of the labels, and which text of it."""
        asked, of = np.unique(np.stack([places, wordings], axis=1), axis=0, return_inverse=True)
        words = [phrasings(LABELS[self.seen[place]])[wording] for place, wording in asked.tolist()]
        return gathered(self.network["labels"], *self.texts.tokens(words))[of.reshape(-1)]

    def settle(self, batches: Sequence[Batch]) -> None:
        """Take out of the drawn weights what all windows, and all labels, have in common.

        Patches are normalised, so that what the convolutions find differs little from patch to patch, and all vectors
        point the same way at first. The layer over the convolutions takes them with mean 0 and spread 1, and the last
        layers get a bias that brings the mean vector to 0, as seen in some batches and in the labels.
        """
        torch, sensor, labels = training.torch(), self.network["sensor"], self.network["labels"]
        with torch.no_grad():
            spread, mean = torch.std_mean(torch.cat([self._found(one.shares) for one in batches]), dim=0, correction=0)
            layer = sensor["token"][0]
            layer.weight /= spread.clamp(min=1e-6)
            layer.bias -= layer.weight @ mean
            sensor["head"][-1].bias -= torch.cat([self.represented(one.shares) for one in batches]).mean(dim=0)
            wordings = len(phrasings("label"))
            places = np.repeat(np.arange(len(self.seen)), wordings)
            labels["merge"][-1].bias -= self.labelled(places, np.tile(np.arange(wordings), len(self.seen))).mean(dim=0)

    def _found(self, shares: Sequence[Share]) -> Any:
        """Return what the convolutions find in every patch and channel that is there."""
        cut = self._cut(shares)
        return features(self.network["sensor"], cut.patches)[cut.there[:, :, None] & cut.mask[:, None, :]]


def align(work: Aligning, codes: Array, plan: Plan, seed: int) -> training.Curve:
    """Train a network on labelled windows."""
    torch = training.torch()
    contrast = tsfm_loss.contrast(work.sizes.d)
    names = [LABELS[code] for code in work.seen.tolist()]
    work.texts.add([text for name in names for text in phrasings(name)])
    frozen = work.texts.sentences([phrasings(name)[1] for name in names])

    draw = drawing(work.windows, codes, plan.batch, seed)
    work.network.eval()
    work.settle(list(islice(draw(-1), SETTLED)))

    def loss(batch: Batch) -> Any:
        places = np.searchsorted(work.seen, batch.labels)
        labels = torch.from_numpy(places).to(frozen.device)
        texts = unit(work.labelled(places, batch.wordings))
        return tsfm_loss.loss(contrast, unit(work.represented(batch.shares)), texts, labels, frozen)

    modules = {"network": work.network, "contrast": contrast}
    optimiser = torch.optim.AdamW(
        [weight for module in modules.values() for weight in module.parameters()], lr=plan.rate, weight_decay=DECAY
    )
    total = sum(sum(1 for _ in draw(epoch)) for epoch in range(plan.epochs))
    return training.learn(
        "alignment",
        modules,
        draw,
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
