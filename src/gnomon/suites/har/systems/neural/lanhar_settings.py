"""How LanHAR is trained in each profile, and where it deviates from its paper."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gnomon.suites.har.reference import Deviation
from gnomon.suites.har.systems.neural.sensing import Sizes
from gnomon.suites.har.systems.neural.training import Budget

RATE = 1e-5
"""Learning rate of fine-tuning, as published."""
CLIP_SCALE = math.log(1 / 0.07)
"""Logarithm of what cosines are multiplied by when training begins (Radford et al., 2021)."""


@dataclass(frozen=True)
class Stage:
    """How a stage is trained: windows of a batch, epochs, learning rate."""

    batch: int
    epochs: int
    rate: float


@dataclass(frozen=True)
class Setting:
    """A profile: both stages, the sensor encoder (width 0 is that of the text encoder), and fine-tuning."""

    texts: Stage
    signals: Stage
    sizes: Sizes
    log_scale: float
    trains_encoder: bool
    tuning: Budget
    tune_rate: float = RATE


SETTINGS = {
    "smoke": Setting(
        Stage(64, 2, 1e-3),
        Stage(64, 2, 1e-3),
        Sizes(32, 64, 5),
        CLIP_SCALE,
        False,
        Budget(0, 0, tune_epochs=2, held_windows=60),
    ),
    "cpu": Setting(
        Stage(256, 10, 2e-3),
        Stage(128, 8, 1e-3),
        Sizes(128, 256, 5, dropout=0.0),
        CLIP_SCALE,
        False,
        Budget(0, 0, tune_every=5, held_windows=100),
    ),
    "paper": Setting(Stage(10, 10, 1e-5), Stage(256, 50, 4e-5), Sizes(0, 1024, 1), 0.0, True, Budget(0, 0)),
}

DEVIATIONS = (
    Deviation(
        "lanhar",
        "descriptions",
        "written by a language model, low-quality ones again",
        "seven lines filled in by fixed rules, no language model, unless describe= names a writer",
        "less varied texts, the same for the same window",
    ),
    Deviation(
        "lanhar",
        "texts of labels",
        "about 22 snippets of a language model for each of 4 activities",
        "4 for any label: its words in fixed phrases, and a pattern of motion where a word is known, also words that "
        "only labels of test datasets have (ladder, kneel, paint, cart, ...)",
        "may help on labels that training never showed",
    ),
    Deviation(
        "lanhar",
        "text encoder",
        "SciBERT, 768 numbers",
        "MiniLM, 384 numbers, unless weights= names a folder; its name is in the result",
        "neutral",
    ),
    Deviation(
        "lanhar",
        "stage 1",
        "the text encoder is trained",
        "profile paper the same, without dropout, batches of 10 at 1e-5; cpu: a linear map over the frozen encoder, "
        "line by line, 10 epochs in batches of 256 at 2e-3; smoke less",
        "slight disadvantage",
    ),
    Deviation(
        "lanhar",
        "prototypes of stage 1",
        "of all classes at every step",
        "of the classes of the batch at every step, of the others once an epoch",
        "neutral",
    ),
    Deviation(
        "lanhar",
        "sensor encoder",
        "width 768 over every step, dropout 0.1, 50 epochs at 4e-5, cosines times 1 at first",
        "profile paper the same at the width of the texts, batches of 256; cpu: 128 over 24 tokens of 5 steps, no "
        "dropout, 8 epochs in batches of 128 at 1e-3, cosines times 14 at first",
        "disadvantage",
    ),
    Deviation(
        "lanhar",
        "validation in fine-tuning",
        "no fine-tuning",
        "cpu: 100 windows at most, 5 updates apart or more",
        "epochs are chosen less surely",
    ),
    Deviation(
        "lanhar",
        "gravity",
        "aligned acceleration as it is",
        "less 9.8 m/s^2 along z, so that windows without gravity, which cannot be aligned, lie in the same range",
        "advantage where gravity is removed, else neutral",
    ),
    Deviation(
        "lanhar",
        "choice of the checkpoint",
        "by accuracy on a fifth of the target dataset",
        "by the loss on a tenth of the training windows",
        "disadvantage, but no leak",
    ),
)
