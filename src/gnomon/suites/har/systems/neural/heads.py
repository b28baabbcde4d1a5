"""Classifiers on top of the encoder: the recurrent one of LiMU-BERT and the transformer of CrossHAR.

Both take ``(n, steps, 72)`` and give logits ``(n, classes)``. Networks are ``ModuleDict``; the functions run them.
"""

from __future__ import annotations

import math
from typing import Any

from gnomon.suites.har.systems.neural import training
from gnomon.suites.har.systems.neural.blocks import STEPS, WIDTH, attention

SLICE, SLICES = 20, STEPS // 20
"""Steps of a slice of a window, and slices of a window."""
FT_WIDTH, FT_HEADS, FT_INNER = 100, 4, 2048
DROPOUT, FT_DROPOUT = 0.5, 0.1


def recurrent(classes: int) -> Any:
    """Return the layers of the recurrent classifier: GRU 72 -> 20 twice, GRU 20 -> 10, linear."""
    nn = training.torch().nn
    return nn.ModuleDict(
        {
            "first": nn.GRU(WIDTH, 20, num_layers=2, batch_first=True),
            "second": nn.GRU(20, 10, batch_first=True),
            "drop": nn.Dropout(DROPOUT),
            "classes": nn.Linear(10, classes),
        }
    )


def recur(layers: Any, hidden: Any) -> Any:
    """Return logits ``(n, classes)`` of slices ``(n, 20, 72)``, from the last step."""
    found, _ = layers["second"](layers["first"](hidden)[0])
    return layers["classes"](layers["drop"](found[:, -1]))


def slices(hidden: Any) -> Any:
    """Cut windows ``(n, 120, ...)`` into slices ``(6 n, 20, ...)``, those of a window together."""
    return hidden.reshape(-1, SLICE, *hidden.shape[2:])


def vote(logits: Any, counts: Any) -> Any:
    """Return scores of windows ``(n, classes)`` from the logits of their slices ``(6 n, classes)``.

    Every slice that counts, ``(n, 6)``, votes for its best class. A score is the number of votes plus half of the mean
    probability, which decides between equal numbers. Where scores are masked to some classes later, slices that voted
    for another one are lost: the most votes among those classes win, and without any vote the probability.
    """
    functional = training.torch().nn.functional
    by = logits.view(-1, SLICES, logits.shape[-1])
    weight = counts.to(by.dtype)[..., None]
    votes = functional.one_hot(by.argmax(dim=2), by.shape[2]).to(by.dtype)
    many = weight.sum(dim=1).clamp(min=1.0)
    return (votes * weight).sum(dim=1) + 0.5 * (by.softmax(dim=2) * weight).sum(dim=1) / many


def transformer(classes: int, inner: int = FT_INNER) -> Any:
    """Return the layers of ``Transformer_ft``: linear 72 -> 100, one transformer layer with norms after, linear."""
    nn = training.torch().nn
    return nn.ModuleDict(
        {
            "embed": nn.Linear(WIDTH, FT_WIDTH),
            "attend": nn.Linear(FT_WIDTH, 3 * FT_WIDTH),
            "project": nn.Linear(FT_WIDTH, FT_WIDTH),
            "attended": nn.LayerNorm(FT_WIDTH),
            "widen": nn.Linear(FT_WIDTH, inner),
            "narrow": nn.Linear(inner, FT_WIDTH),
            "ended": nn.LayerNorm(FT_WIDTH),
            "drop": nn.Dropout(FT_DROPOUT),
            "classes": nn.Linear(FT_WIDTH, classes),
        }
    )


def transform(layers: Any, hidden: Any) -> Any:
    """Return logits ``(n, classes)`` of windows ``(n, 120, 72)``, from the mean over steps."""
    drop = layers["drop"]
    found = layers["embed"](hidden)
    found = found + sinusoids(found.shape[1], FT_WIDTH).to(found)
    found = layers["attended"](found + drop(layers["project"](attention(layers["attend"](found), FT_HEADS))))
    found = layers["ended"](found + drop(layers["narrow"](drop(layers["widen"](found).relu()))))
    return layers["classes"](found.mean(dim=1))


def sinusoids(steps: int, width: int) -> Any:
    """Return the fixed places of steps: sines and cosines in turn (Vaswani et al., 2017), ``(steps, width)``."""
    torch = training.torch()
    places = torch.arange(steps, dtype=torch.float32)[:, None]
    speeds = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10_000.0) / width))
    return torch.stack([(places * speeds).sin(), (places * speeds).cos()], dim=2).reshape(steps, width)
