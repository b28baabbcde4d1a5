"""LiMU-BERT (Xu et al., 2021): an encoder that reconstructs masked steps, and a recurrent classifier of slices.

Pre-training is by Adam with a rate of 1e-3 on batches of 128; the weights kept are those with the least error of
reconstruction on the tenth of the windows that is held out, always masked at the same places.

Windows of 6 s are cut into six slices of 20 steps after the encoder. The classifier learns slices, each with the label
of its window, and those of a window vote; a slice without any sample of its recording has no part in either. How votes
become scores: :func:`~gnomon.suites.har.systems.neural.heads.vote`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.reference import Deviation
from gnomon.suites.har.systems import Conditions
from gnomon.suites.har.systems.neural import blocks, heads, training
from gnomon.suites.har.systems.neural.encoded import HELD, Encoded, held_loss
from gnomon.suites.har.systems.neural.pools import Pool, tensors
from gnomon.suites.har.systems.neural.training import Budget, Curve

RATE = 1e-3
SIZES = {"smoke": 16, "cpu": 64, "paper": 128}
"""Windows of a batch of pre-training."""
DEVIATIONS = (
    Deviation(
        "limubert",
        "pre-training",
        "3,200 epochs in batches of 128, 80/10/10 windows",
        "paper: 100 epochs in batches of 128; cpu: 2 in batches of 64; 90/10 windows",
        "lower scores, in cpu much lower: reconstruction is hardly better than the mean of a window",
    ),
    Deviation(
        "limubert",
        "zero-shot classifier",
        "700 epochs in batches of 128; slices dealt to training and validation",
        "paper: 100 epochs in batches of 512; cpu: 20 in batches of 256, rate 5e-3; windows dealt, then cut",
        "no slice of a window that is validated on is trained on",
    ),
    Deviation(
        "limubert",
        "votes in a closed set",
        "not in the paper",
        "slices vote over all labels; where none votes for an allowed one, mean probabilities decide",
        "slight disadvantage",
    ),
    Deviation(
        "limubert",
        "padding and absent channels",
        "there are none",
        "zeros that no loss counts; slices of padding neither learn nor vote",
        "neutral",
    ),
    Deviation("limubert", "last step of a window", "never masked", "masked like all others", "neutral"),
    Deviation(
        "limubert",
        "validation in fine-tuning",
        "all windows after every epoch",
        "cpu: 60 windows at most, 5 updates apart or more",
        "epochs are chosen less surely",
    ),
)


class LimuBert(Encoded):
    """The encoder with four passes and the recurrent classifier."""

    name = "limubert"
    passes = 4
    beside = (blocks.rebuilder,)
    per_window = heads.SLICES
    chosen_by = "accuracy"
    budgets: ClassVar[Mapping[str, Budget]] = {
        "smoke": Budget(1, 2, 2, 2, 1, 60),
        "cpu": Budget(2, 20, 20, 5, 5, 60),
        "paper": Budget(100, 100),
    }
    batches: ClassVar[Mapping[str, int]] = {"smoke": 128, "cpu": 256, "paper": 512}
    rates: ClassVar[Mapping[str, float]] = {"cpu": 5e-3}
    deviations: ClassVar[tuple[Deviation, ...]] = DEVIATIONS

    def prepare(self, signals: Array, counts: Array) -> Array:
        """Return the signals as they are."""
        del counts
        return signals

    def train_encoder(self, pool: Pool, conditions: Conditions) -> Sequence[Curve]:
        """Reconstruct masked steps."""
        with training.seeded(conditions.seed, "har", self.name, "rebuilder"):
            head = blocks.rebuilder().to(training.device())
        modules = {"encoder": self.encoder, "rebuilder": head}
        weights = [weight for module in modules.values() for weight in module.parameters()]
        kept, held = training.held_out(len(pool), HELD, conditions.seed, "har", self.name, "pre-training")
        order = training.shuffled(
            len(kept), SIZES[conditions.profile], conditions.seed, "har", self.name, "pre-training"
        )

        def batches(epoch: int) -> Iterator[tuple[Any, ...]]:
            rng = generator(conditions.seed, "har", self.name, "masks", str(epoch))
            return (masked(pool, kept[rows], rng) for rows in order(epoch))

        def loss(batch: tuple[Any, Any, Any, Any]) -> Any:
            return blocks.rebuilding_loss(self.encoder, head, batch, self.passes)[0]

        curve = training.learn(
            "pre-training",
            modules,
            batches,
            loss,
            optimiser=training.torch().optim.Adam(weights, lr=RATE),
            epochs=self.budgets[conditions.profile].pretrain_epochs,
            seed=conditions.seed,
            validate=held_loss(held, lambda rows, rng: masked(pool, rows, rng), loss, conditions.seed),
            higher_is_better=False,
        )
        return [curve]

    def new_head(self, classes: int) -> Any:
        """Return a recurrent classifier."""
        return heads.recurrent(classes)

    def units(self, hidden: Any, counts: Any, codes: Any) -> tuple[Any, Any]:
        """Return the slices that count, with the codes of their windows."""
        those = counted(counts).flatten()
        return heads.slices(hidden)[those], codes.repeat_interleave(heads.SLICES)[those]

    def logits(self, head: Any, units: Any) -> Any:
        """Return logits of slices."""
        return heads.recur(head, units)

    def rate(self, head: Any, hidden: Any, counts: Any) -> Any:
        """Let the slices of every window vote."""
        return heads.vote(heads.recur(head, heads.slices(hidden)), counted(counts))


def counted(counts: Any) -> Any:
    """Say which slices have a sample, ``(n, 6)``; of windows without any, the first does duty."""
    found = counts.any(dim=2).view(len(counts), heads.SLICES, heads.SLICE).any(dim=2)
    found[:, 0] |= ~found.any(dim=1)
    return found


def masked(pool: Pool, rows: Array, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return a batch for :func:`~gnomon.suites.har.systems.neural.blocks.rebuilding_loss`."""
    signals, counts = pool.take(rows)
    return tensors(signals, *blocks.draw_masks(len(rows), rng), counts)
