"""Neural heads: a small network on standardised features, in torch.

Layer norm, 128 units, GELU, dropout .1, 128 units, GELU, dropout .1, outputs; AdamW with step .001 and weight decay
.0001, 80 epochs of batches of 128 rows in random order, the last of them smaller.

Losses, each a mean over a batch
--------------------------------
codes
    Cross entropy; unless it is told not to, with balanced class weights, and then divided by their sum.
sets
    Binary cross entropy of every label, in which rows that have it weigh their clipped odds. Sets are chosen as the
    minimal head does.
vectors
    Squared error on standardised targets over the numbers that are valid.

A seed gives the same weights to the last bit on one machine with one number of threads; torch's own generator is
afterwards as it was before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

import numpy as np

from gnomon.core.errors import InputError, WorkError
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.engine.torches import device, seeded, threads, torch
from gnomon.suites.episode.heads import given
from gnomon.suites.episode.heads.scaling import Scaler
from gnomon.suites.episode.heads.weighting import balanced, chosen, positive

PURPOSE = ("episode", "heads", "neural")
ANSWERED = 1024
"""Rows that are answered for at a time."""


@dataclass
class Network:
    """A head that is trained by batches.

    Attributes
    ----------
    form
        In which form it answers: ``codes``, ``sets`` or ``vectors``.
    seed
        Of initial weights, order of rows and dropout.
    balance
        Whether classes weigh the same, however many rows they have; of codes only.
    width, dropout, rate, decay, epochs, batch, threshold
        Units of a hidden layer; share of them that is dropped; step and weight decay of AdamW; how long and in which
        portions it trains; what the probability of a label has to reach.
    tell
        Called with a line after every epoch.
    """

    form: Literal["codes", "sets", "vectors"]
    seed: int
    balance: bool = True
    width: int = 128
    dropout: float = 0.1
    rate: float = 1e-3
    decay: float = 1e-4
    epochs: int = 80
    batch: int = 128
    threshold: float = 0.5
    tell: Callable[[str], None] | None = field(default=None, repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict, init=False, repr=False)
    net: Any = field(default=None, init=False, repr=False)
    scaler: Scaler = field(init=False, repr=False)
    target: Scaler | None = field(default=None, init=False, repr=False)

    def identity(self) -> dict[str, Any]:
        """Return family, form and parameters."""
        own = {item.name: getattr(self, item.name) for item in fields(self) if item.init and item.name != "tell"}
        return {"family": "neural", "head": "network", **own}

    def fit(self, x: Array, y: Array, classes: Sequence[str] = (), *, mask: Array | None = None) -> Self:
        """Learn from rows with codes, sets or vectors."""
        rows = given.rows(x)
        given.as_many(rows, y)
        more: dict[str, Any] = {}
        if self.form == "vectors":
            wanted, valid = given.vectors(y, mask)
            rows, wanted, valid = given.usable(rows, wanted, valid)
            self.target = Scaler(wanted, valid)
            more = {"left_out": len(y) - len(rows), "never_valid": int(np.isnan(self.target.mean).sum())}
            size, answers, loss = wanted.shape[1], _columns(self.target, wanted, valid), _squared
        else:
            given.unmasked(mask)
            size = given.names(classes)
            answers, loss = self._classes(y, size)
        self.scaler = Scaler(rows)
        losses = self._train(self.scaler(rows.astype(np.float32, copy=False)), answers, size, loss)
        count = sum(weight.numel() for weight in self.net.parameters())
        self.facts = {
            "rows": len(rows),
            "columns": rows.shape[1],
            "parameters": count,
            "updates": self.epochs * -(-len(rows) // self.batch),
            "loss": losses,
            "device": str(device()),
            "threads": threads(),
            **more,
        }
        return self

    def predict(self, x: Array) -> Array:
        """Return codes, sets or vectors."""
        scores = self.scores(x)
        if self.form == "codes":
            return np.asarray(scores.argmax(axis=1))
        return chosen(scores, self.threshold) if self.form == "sets" else scores

    def scores(self, x: Array) -> Array:
        """Return probabilities of classes or labels, or vectors."""
        if self.net is None:
            raise InputError("the head is not fitted; call fit() before")
        rows, tensors, found = given.rows(x, len(self.scaler.mean)), torch(), []
        with tensors.no_grad():
            for start in range(0, len(rows), ANSWERED):
                part = self.scaler(rows[start : start + ANSWERED].astype(np.float32, copy=False))
                found.append(self._scored(self.net(tensors.from_numpy(part).to(device()))).cpu().numpy())
        if not found:
            return np.zeros((0, self.net[-1].out_features))
        outputs = np.concatenate(found).astype(np.float64)
        return outputs if self.target is None else self.target.back(outputs)

    def _scored(self, outputs: Any) -> Any:
        if self.form == "codes":
            return outputs.softmax(dim=1)
        return outputs.sigmoid() if self.form == "sets" else outputs

    def _classes(self, y: Array, size: int) -> tuple[tuple[Array, ...], Callable[..., Any]]:
        """Return what batches are made of and the loss, where answers are classes."""
        tensors = torch()
        losses = tensors.nn.functional
        if self.form == "sets":
            sets = given.sets(y, size)
            odds = tensors.from_numpy(positive(sets).astype(np.float32)).to(device())
            return (sets.astype(np.float32),), lambda out, to: losses.binary_cross_entropy_with_logits(
                out, to, pos_weight=odds
            )
        codes = given.codes(y, size)
        shares = tensors.from_numpy(balanced(codes, size).astype(np.float32)).to(device()) if self.balance else None
        return (codes,), lambda out, to: losses.cross_entropy(out, to, weight=shares)

    def _train(self, rows: Array, answers: tuple[Array, ...], size: int, loss: Callable[..., Any]) -> list[float]:
        """Train a new network; return the mean loss over the rows of every epoch."""
        tensors, where = torch(), device()
        held = [tensors.from_numpy(values).to(where) for values in (rows, *answers)]
        curve = []
        with seeded(self.seed, *PURPOSE, "training"):
            self.net = self._made(rows.shape[1], size).to(where).train()
            optimiser = tensors.optim.AdamW(self.net.parameters(), lr=self.rate, weight_decay=self.decay, fused=True)
            for epoch in range(self.epochs):
                total = 0.0
                for order in self._batches(len(rows), epoch):
                    at = tensors.from_numpy(order).to(where)
                    inputs, *wanted = (values[at] for values in held)
                    found = loss(self.net(inputs), *wanted)
                    optimiser.zero_grad(set_to_none=True)
                    found.backward()
                    optimiser.step()
                    total += float(found.detach()) * len(order)
                curve.append(_finite(total / len(rows), epoch))
                if self.tell is not None:
                    self.tell(f"epoch {epoch + 1} of {self.epochs}, loss {curve[-1]:.4f}")
        self.net.eval()
        return curve

    def _made(self, width: int, size: int) -> Any:
        nn = torch().nn
        return nn.Sequential(
            nn.LayerNorm(width),
            *(nn.Linear(width, self.width), nn.GELU(), nn.Dropout(self.dropout)),
            *(nn.Linear(self.width, self.width), nn.GELU(), nn.Dropout(self.dropout)),
            nn.Linear(self.width, size),
        )

    def _batches(self, n: int, epoch: int) -> Iterator[Array]:
        order = generator(self.seed, *PURPOSE, "order", str(epoch)).permutation(n)
        for start in range(0, n, self.batch):
            yield order[start : start + self.batch]


def _columns(target: Scaler, wanted: Array, valid: Array | None) -> tuple[Array, ...]:
    """Return standardised vectors in single precision, and where they are valid as 0 and 1; others are zeros."""
    scaled = target(wanted.astype(np.float64)).astype(np.float32)
    if valid is None:
        return (scaled,)
    return np.where(valid, scaled, np.float32(0)), valid.astype(np.float32)


def _squared(outputs: Any, wanted: Any, valid: Any = None) -> Any:
    squares = (outputs - wanted).square()
    return squares.mean() if valid is None else (squares * valid).sum() / valid.sum()


def _finite(loss: float, epoch: int) -> float:
    if not math.isfinite(loss):
        raise WorkError(f"the loss is {loss} at epoch {epoch + 1}; training went astray, look at the features")
    return loss
