"""What LiMU-BERT and CrossHAR share: an encoder without labels, a classifier on top, fine-tuning both together.

Zero-shot, the classifier learns the 87 labels from what the frozen encoder makes of nine tenths of the training
windows, by Adam; the others choose the epoch. Fine-tuning begins with the pre-trained encoder and a
classifier of random weights, as published, by AdamW with a rate of 1e-5 for the encoder and 1e-3 for the classifier.

A model trains its classifier on units, which are windows or parts of them. Windows are read as they are needed; what
the frozen encoder makes of them is kept in memory where they are at most :data:`CACHED` and always seen the same way,
else it is made again in every epoch.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.reference import Deviation
from gnomon.suites.har.systems import Conditions
from gnomon.suites.har.systems.classical import held_score
from gnomon.suites.har.systems.neural import blocks, training
from gnomon.suites.har.systems.neural.pools import Pool, chosen, tensors
from gnomon.suites.har.systems.neural.training import Budget, Curve
from gnomon.suites.har.vocabulary import LABELS

FILE = "model.safetensors"
BATCH, HELD = 32, 0.1
"""Windows of a batch of fine-tuning; share of the training windows that choose an epoch."""
ENCODER_RATE, HEAD_RATE, DECAY = 1e-5, 1e-3, 1e-5
ASKED, CACHED = 256, 20_000
"""Windows that go through the encoder at a time without gradients; most whose result is kept (34 kB each)."""


class Encoded(ABC):
    """Base of models with the encoder of :mod:`~gnomon.suites.har.systems.neural.blocks`."""

    name: ClassVar[str]
    passes: ClassVar[int]
    """Times that the block of the encoder is applied."""
    beside: ClassVar[tuple[Callable[[], Any], ...]]
    """Makers of the layers that are trained with the encoder, and left behind."""
    per_window: ClassVar[int] = 1
    """Units of a window."""
    chosen_by: ClassVar[Literal["accuracy", "loss"]]
    """What the zero-shot classifier's epoch is chosen by."""
    budgets: ClassVar[Mapping[str, Budget]]
    batches: ClassVar[Mapping[str, int]]
    """Units of a batch of the zero-shot classifier, by profile."""
    rates: ClassVar[Mapping[str, float]] = {}
    """Its rate of learning, by profile, where that is not :data:`HEAD_RATE`."""
    deviations: ClassVar[tuple[Deviation, ...]]

    def __init__(self) -> None:
        self.profile = ""
        self.encoder: Any = None
        self.head: Any = None
        self.classes = 0
        self.facts: dict[str, Any] = {}

    @abstractmethod
    def prepare(self, signals: Array, counts: Array) -> Array:
        """Return what the encoder is given of signals ``(n, 120, 6)`` in g and rad/s."""

    @abstractmethod
    def train_encoder(self, pool: Pool, conditions: Conditions) -> Sequence[Curve]:
        """Pre-train the encoder, in one stage or several."""

    @abstractmethod
    def new_head(self, classes: int) -> Any:
        """Return a classifier with random weights."""

    @abstractmethod
    def units(self, hidden: Any, counts: Any, codes: Any) -> tuple[Any, Any]:
        """Return units of windows ``(n, 120, 72)``: what the classifier takes, and the code of each."""

    @abstractmethod
    def logits(self, head: Any, units: Any) -> Any:
        """Return logits ``(n, classes)`` of units."""

    @abstractmethod
    def rate(self, head: Any, hidden: Any, counts: Any) -> Any:
        """Return scores ``(n, classes)`` of windows ``(n, 120, 72)``."""

    def views(self, rows: Array, profile: str, epoch: int, seed: int) -> tuple[Array, Array] | None:
        """Return the rows of an epoch and how each is turned, where windows are seen in several ways."""
        del rows, profile, epoch, seed
        return None

    def turn(self, signals: Array, counts: Array, ways: Array) -> tuple[Array, Array]:
        """Return windows turned in ways that :meth:`views` gave."""
        del ways
        return signals, counts

    def pretrain(self, windows: Sequence[Windows], conditions: Conditions) -> dict[str, Any]:
        """Train the encoder without labels."""
        self.profile = conditions.profile
        with training.seeded(conditions.seed, "har", self.name, "encoder"):
            self.encoder = blocks.encoder().to(training.device())
        curves = self.train_encoder(Pool(*windows), conditions)
        return {
            "parameters": training.parameters(self.encoder, *(layers() for layers in self.beside)),
            "updates": sum(curve.updates for curve in curves),
            "epochs": sum(curve.epochs for curve in curves),
            "curves": [curve.facts() for curve in curves],
        }

    def fit(self, windows: Sequence[Windows], codes: Array, conditions: Conditions) -> dict[str, Any]:
        """Train the zero-shot classifier over the 87 labels; the encoder first, where it is not trained yet."""
        facts = {} if self.encoder is not None else {"pretrained": self.pretrain(windows, conditions)}
        self.profile = conditions.profile
        self._begin(len(LABELS), conditions.classifier_seed, "classifier")
        curve = self._train_classifier(Pool(*windows), np.asarray(codes), conditions)
        return {
            "parameters": training.parameters(self.encoder, self.head),
            "updates": curve.updates,
            "epochs": curve.epochs,
            "by": self.chosen_by,
            "curve": curve.facts(),
            **facts,
        }

    def scores(self, windows: Windows) -> Array:
        """Return a score for every window and class."""
        if self.head is None:
            raise InputError(f"{self.name}: no classifier yet; call fit() or fine_tune() first")
        pool = Pool(windows)
        return self._scored(pool.take, len(pool))

    def fine_tune(
        self,
        train: Windows,
        train_codes: Array,
        val: Windows,
        val_codes: Array,
        classes: Sequence[str],
        conditions: Conditions,
    ) -> Self:
        """Return another model: this encoder and a new classifier, trained together on labelled windows."""
        if self.encoder is None:
            raise InputError(f"{self.name}: nothing to fine-tune yet; call pretrain() or fit() first")
        other = type(self)()
        other.profile, other.encoder = conditions.profile, copy.deepcopy(self.encoder)
        other._begin(len(classes), conditions.seed, "fine-tuning")
        before = training.weights({"encoder": other.encoder})
        held = _some(len(val), self.budgets[conditions.profile].held_windows, conditions)
        validate = other._validation(val, held, np.asarray(val_codes), conditions) if len(held) else None
        curve = other._tune(Pool(train), np.asarray(train_codes), validate, conditions)
        other.facts = {
            "updates": curve.updates,
            "epochs": curve.epochs,
            "parameters": training.parameters(other.encoder, other.head),
            "encoder_moved": training.moved({"encoder": other.encoder}, before),
            "by": conditions.selection,
            "windows": len(train),
            "held_windows": len(held),
            "curve": curve.facts(),
        }
        return other

    def save(self, folder: Path) -> None:
        """Write the model into a folder."""
        about = {"classes": self.classes, "profile": self.profile}
        training.write(folder / FILE, training.weights(self._modules()), about)

    def load(self, folder: Path) -> None:
        """Read what :meth:`save` wrote."""
        states, about = training.read(folder / FILE)
        self.profile, self.classes = about["profile"], about["classes"]
        self.encoder = blocks.encoder().to(training.device())
        self.head = self.new_head(self.classes).to(training.device()) if self.classes else None
        training.restore(self._modules(), states)

    def _modules(self) -> dict[str, Any]:
        return {"encoder": self.encoder} | ({} if self.head is None else {"head": self.head})

    def _begin(self, classes: int, seed: int, purpose: str) -> None:
        """Make a classifier with random weights."""
        self.classes = classes
        with training.seeded(seed, "har", self.name, purpose):
            self.head = self.new_head(classes).to(training.device())

    def _hidden(self, signals: Array, counts: Array) -> tuple[Any, Any]:
        """Return what the encoder makes of windows, without gradients, and what counts of them."""
        self.encoder.eval()
        given, counted = tensors(self.prepare(signals, counts), counts)
        with training.torch().no_grad():
            return blocks.encode(self.encoder, given, self.passes), counted

    def _scored(self, take: Callable[[Array], tuple[Array, Array]], n: int) -> Array:
        self.head.eval()
        found = np.zeros((n, self.classes))
        with training.torch().no_grad():
            for start in range(0, n, ASKED):
                rows = np.arange(start, min(start + ASKED, n))
                found[rows] = self.rate(self.head, *self._hidden(*take(rows))).cpu().numpy()
        return found

    def _tune(self, pool: Pool, codes: Array, validate: Callable[[], float] | None, conditions: Conditions) -> Curve:
        budget, optim = self.budgets[conditions.profile], training.torch().optim
        signals, counts = pool.take(np.arange(len(pool)))
        values = tensors(self.prepare(signals, counts), counts, codes)
        rows = training.shuffled(len(pool), BATCH, conditions.seed, "har", self.name, "fine-tuning")
        rates = ((self.encoder, ENCODER_RATE), (self.head, HEAD_RATE))
        groups = [{"params": list(module.parameters()), "lr": rate} for module, rate in rates]

        def loss(batch: tuple[Any, Any, Any]) -> Any:
            given, counted, truth = batch
            return self._loss(*self.units(blocks.encode(self.encoder, given, self.passes), counted, truth))

        return training.learn(
            "fine-tuning",
            self._modules(),
            lambda epoch: (chosen(batch, *values) for batch in rows(epoch)),
            loss,
            optimiser=optim.AdamW(groups, weight_decay=DECAY),
            epochs=budget.tune_epochs,
            seed=conditions.seed,
            validate=validate,
            patience=budget.tune_patience,
            every=budget.tune_every,
            least_updates=conditions.least_updates,
        )

    def _validation(self, val: Windows, rows: Array, codes: Array, conditions: Conditions) -> Callable[[], float]:
        signals, counts = Pool(val).take(rows)
        return lambda: held_score(
            self._scored(lambda own: (signals[own], counts[own]), len(rows)), codes[rows], conditions
        )

    def _loss(self, units: Any, codes: Any) -> Any:
        return training.torch().nn.functional.cross_entropy(self.logits(self.head, units), codes)

    def _train_classifier(self, pool: Pool, codes: Array, conditions: Conditions) -> Curve:
        seed, profile = conditions.classifier_seed, conditions.profile
        kept, held = training.held_out(len(pool), HELD, seed, "har", self.name, "held out")
        return training.learn(
            "classifier",
            {"head": self.head},
            self._epochs(pool, codes, kept, conditions),
            lambda batch: self._loss(*batch),
            optimiser=training.torch().optim.Adam(self.head.parameters(), lr=self.rates.get(profile, HEAD_RATE)),
            epochs=self.budgets[profile].classifier_epochs,
            seed=seed,
            validate=self._held(pool, codes, held) if len(held) else None,
            higher_is_better=self.chosen_by == "accuracy",
        )

    def _epochs(
        self, pool: Pool, codes: Array, kept: Array, conditions: Conditions
    ) -> Callable[[int], Iterator[tuple[Any, Any]]]:
        """Return what gives the batches of an epoch of the zero-shot classifier."""
        seed, size = conditions.classifier_seed, self.batches[conditions.profile]
        purpose = ("har", self.name, "classifier")
        if len(kept) <= CACHED and self.views(kept, conditions.profile, 0, seed) is None:
            parts = [self._made(pool, codes, rows) for rows in np.array_split(kept, -(-len(kept) // ASKED))]
            units, truth = (training.torch().cat(part) for part in zip(*parts, strict=True))
            order = training.shuffled(len(truth), size, seed, *purpose)
            return lambda epoch: (chosen(batch, units, truth) for batch in order(epoch))

        def made(epoch: int) -> Iterator[tuple[Any, Any]]:
            rows, ways = self.views(kept, conditions.profile, epoch, seed) or (kept, None)
            for batch in training.shuffled(len(rows), max(1, size // self.per_window), seed, *purpose)(epoch):
                yield self._made(pool, codes, rows[batch], None if ways is None else ways[batch])

        return made

    def _made(self, pool: Pool, codes: Array, rows: Array, ways: Array | None = None) -> tuple[Any, Any]:
        """Return units of rows and their codes, by the frozen encoder."""
        signals, counts = pool.take(rows)
        if ways is not None:
            signals, counts = self.turn(signals, counts, ways)
        return self.units(*self._hidden(signals, counts), *tensors(codes[rows]))

    def _held(self, pool: Pool, codes: Array, held: Array) -> Callable[[], float]:
        """Return what gives the accuracy or the mean loss over the units of windows held out."""
        parts = np.array_split(held, -(-len(held) // ASKED))
        kept = [self._made(pool, codes, rows) for rows in parts] if len(held) <= CACHED else None

        def validate() -> float:
            total, many = 0.0, 0
            for units, truth in kept or (self._made(pool, codes, rows) for rows in parts):
                found = self.logits(self.head, units)
                if self.chosen_by == "accuracy":
                    total += float((found.argmax(dim=1) == truth).sum())
                else:
                    total += float(training.torch().nn.functional.cross_entropy(found, truth, reduction="sum"))
                many += len(truth)
            return total / many

        return validate


def held_loss(
    held: Array, make: Callable[[Array, np.random.Generator], Any], loss: Callable[[Any], Any], seed: int
) -> Callable[[], float] | None:
    """Return what gives the mean loss of windows held out, with equal random numbers each time; None without any."""
    if not len(held):
        return None

    def validate() -> float:
        rng = generator(seed, "har", "held out")
        parts = np.array_split(held, -(-len(held) // ASKED))
        return float(sum(float(loss(make(rows, rng))) * len(rows) for rows in parts) / len(held))

    return validate


def _some(n: int, most: int | None, conditions: Conditions) -> Array:
    """Return the validation windows that fine-tuning looks at, in order."""
    order = generator(conditions.seed, "har", "validation windows").permutation(n)
    return np.sort(order[:most])
