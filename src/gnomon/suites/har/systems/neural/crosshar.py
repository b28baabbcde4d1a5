"""CrossHAR (Hong et al., 2024): two views of every window, reconstructed first and then contrasted too.

Pre-training is by Adam with a rate of 1e-3. In the first stage the masked steps of both views are reconstructed; in the
second the loss is six times that error plus the contrast of the two views (NT-Xent, temperature .2), from what the
encoder makes of them as they are masked. Each stage ends with the weights that do best on the windows held out. Axes
are turned after windows were held out, so that no turned copy of one of those is trained on.

The classifier ``Transformer_ft`` learns whole windows, turned too. Where a window is asked about or fine-tuned on, its
axes stay as they are and every channel is normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.reference import Deviation
from gnomon.suites.har.systems import Conditions
from gnomon.suites.har.systems.neural import blocks, contrast, heads, training
from gnomon.suites.har.systems.neural.encoded import HELD, Encoded, held_loss
from gnomon.suites.har.systems.neural.pools import Pool, tensors
from gnomon.suites.har.systems.neural.training import Budget, Curve

RATE, WEIGHT = 1e-3, 6.0
"""Of learning; of the error of reconstruction beside the contrast."""
SIZES = {"smoke": 16, "cpu": 64, "paper": 512}
"""Windows of a batch of pre-training."""
COPIES = {"smoke": 1, "cpu": 1, "paper": len(contrast.AXES)}
"""How often a window is seen in an epoch: once, with axes in random order, or once in each order."""
INNER = {"smoke": 64, "cpu": 128, "paper": heads.FT_INNER}
"""Inner width of the classifier."""
CONTRASTED = {"smoke": 1, "cpu": 2, "paper": 100}
"""Epochs of pre-training that are of the second stage."""
DEVIATIONS = (
    Deviation(
        "crosshar",
        "pre-training",
        "1,600 epochs, half of them contrasted, batches of 512",
        "paper: 200 epochs, 100 contrasted, batches of 512; cpu: 4, 2 contrasted, batches of 64",
        "lower scores",
    ),
    Deviation(
        "crosshar",
        "training mode",
        "lost at the first validation: no dropout, frozen batch norm",
        "set again in every epoch",
        "as the paper describes it",
    ),
    Deviation(
        "crosshar",
        "turned axes",
        "six copies of every window, made before the split",
        "made after it; cpu: one copy in an epoch, in random order of axes",
        "no copy of a window that is validated on is trained on",
    ),
    Deviation("crosshar", "two views", "drawn once", "drawn anew in every epoch", "slight advantage"),
    Deviation(
        "crosshar",
        "second stage",
        "two optimisers, that of the encoder goes on",
        "one optimiser that begins anew",
        "neutral",
    ),
    Deviation(
        "crosshar",
        "classifier",
        "inner width 2048, attention weights dropped out, batches of 128",
        "no dropout of attention weights; paper: 2048, 100 epochs in batches of 512; cpu: 128, 5 in batches of 32",
        "lower scores in cpu",
    ),
    Deviation(
        "crosshar",
        "padding and absent channels",
        "there are none",
        "zeros that neither normalisation nor loss counts",
        "neutral",
    ),
    Deviation(
        "crosshar",
        "validation in fine-tuning",
        "all windows after every epoch",
        "cpu: 60 windows at most, 5 updates apart or more",
        "epochs are chosen less surely",
    ),
)


class CrossHar(Encoded):
    """The encoder with one pass, contrasted, and the transformer as classifier."""

    name = "crosshar"
    passes = 1
    beside = (blocks.rebuilder, contrast.summer)
    chosen_by = "loss"
    budgets: ClassVar[Mapping[str, Budget]] = {
        "smoke": Budget(2, 2, 2, 2, 1, 60),
        "cpu": Budget(4, 5, 20, 5, 5, 60),
        "paper": Budget(200, 100),
    }
    batches: ClassVar[Mapping[str, int]] = {"smoke": 64, "cpu": 32, "paper": 512}
    deviations: ClassVar[tuple[Deviation, ...]] = DEVIATIONS

    def prepare(self, signals: Array, counts: Array) -> Array:
        """Normalise every channel."""
        return contrast.normalised(signals, counts)

    def views(self, rows: Array, profile: str, epoch: int, seed: int) -> tuple[Array, Array]:
        """Return every row in all orders of axes, or once in a random one."""
        if COPIES[profile] == 1:
            rng = generator(seed, "har", self.name, "axes", str(epoch))
            return rows, rng.integers(len(contrast.AXES), size=len(rows))
        ways = np.arange(len(contrast.AXES))
        return np.tile(rows, len(ways)), np.repeat(ways, len(rows))

    def turn(self, signals: Array, counts: Array, ways: Array) -> tuple[Array, Array]:
        """Put axes in other orders."""
        return contrast.turned(signals, counts, ways)

    def train_encoder(self, pool: Pool, conditions: Conditions) -> Sequence[Curve]:
        """Reconstruct, then reconstruct and contrast."""
        with training.seeded(conditions.seed, "har", self.name, "pre-training"):
            rebuilder, summer = blocks.rebuilder().to(training.device()), contrast.summer().to(training.device())

        def rebuilt(batch: tuple[Any, Any, Any, Any]) -> Any:
            return blocks.rebuilding_loss(self.encoder, rebuilder, batch, self.passes)[0]

        def contrasted(batch: tuple[Any, Any, Any, Any]) -> Any:
            error, hidden = blocks.rebuilding_loss(self.encoder, rebuilder, batch, self.passes)
            return WEIGHT * error + contrast.nt_xent(*contrast.sum_up(summer, hidden).chunk(2))

        modules = {"encoder": self.encoder, "rebuilder": rebuilder}
        late = CONTRASTED[conditions.profile]
        early = self.budgets[conditions.profile].pretrain_epochs - late
        return [
            self._stage("reconstruction", modules, rebuilt, early, pool, conditions),
            self._stage("contrast", {**modules, "summer": summer}, contrasted, late, pool, conditions),
        ]

    def _stage(
        self,
        name: str,
        modules: Mapping[str, Any],
        loss: Callable[[Any], Any],
        epochs: int,
        pool: Pool,
        conditions: Conditions,
    ) -> Curve:
        seed = conditions.seed
        kept, held = training.held_out(len(pool), HELD, seed, "har", self.name, "pre-training")
        weights = [weight for module in modules.values() for weight in module.parameters()]
        return training.learn(
            name,
            modules,
            lambda epoch: self._pairs(pool, kept, epoch, name, conditions),
            loss,
            optimiser=training.torch().optim.Adam(weights, lr=RATE),
            epochs=epochs,
            seed=seed,
            validate=held_loss(held, lambda rows, rng: pairs(*pool.take(rows), rng), loss, seed),
            higher_is_better=False,
        )

    def _pairs(
        self, pool: Pool, kept: Array, epoch: int, stage: str, conditions: Conditions
    ) -> Iterator[tuple[Any, ...]]:
        """Give the batches of an epoch: both views of windows whose axes were turned; only whole batches."""
        seed, profile = conditions.seed, conditions.profile
        rows, ways = self.views(kept, profile, epoch, seed)
        rng = generator(seed, "har", self.name, stage, str(epoch))
        size = min(SIZES[profile], len(rows))
        for batch in training.shuffled(len(rows), size, seed, "har", self.name, stage, whole=True)(epoch):
            yield pairs(*contrast.turned(*pool.take(rows[batch]), ways[batch]), rng)

    def new_head(self, classes: int) -> Any:
        """Return a transformer as classifier."""
        return heads.transformer(classes, INNER[self.profile])

    def units(self, hidden: Any, counts: Any, codes: Any) -> tuple[Any, Any]:
        """Return windows as they are."""
        del counts
        return hidden, codes

    def logits(self, head: Any, units: Any) -> Any:
        """Return logits of windows."""
        return heads.transform(head, units)

    def rate(self, head: Any, hidden: Any, counts: Any) -> Any:
        """Return logits as scores."""
        del counts
        return heads.transform(head, hidden)


def pairs(signals: Array, counts: Array, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return both views of windows as a batch for :func:`~gnomon.suites.har.systems.neural.blocks.rebuilding_loss`."""
    views, counted = contrast.two_views(signals, counts, rng)
    return tensors(views, *blocks.draw_masks(len(views), rng), counted)
