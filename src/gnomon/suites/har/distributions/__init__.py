"""The fourteen datasets of ``har`` as their authors distribute them, written from simulated motion.

Each module writes one distribution in its native files: names, headers, separators, digits, units, rates and quirks.
What was written is also given as numbers (:attr:`~gnomon.suites.har.distributions.base.Distribution.plan`).
"""

from __future__ import annotations

from collections.abc import Mapping

from gnomon.suites.har.distributions import (
    dsads,
    hapt,
    hhar,
    ku_har,
    mhealth,
    mobiact,
    motionsense,
    pamap2,
    realworld,
    recgym,
    uci_har,
    unimib,
    vtt_coniot,
    wisdm,
)
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Series
from gnomon.suites.har.vocabulary import TEST_LABELS, TRAIN_LABELS

_MODULES = (
    uci_har, hhar, pamap2, wisdm, dsads, ku_har, unimib, hapt, mhealth, recgym, motionsense, realworld, mobiact,
    vtt_coniot,
)  # fmt: skip
DISTRIBUTIONS: Mapping[str, Distribution] = {module.DISTRIBUTION.name: module.DISTRIBUTION for module in _MODULES}
"""Distributions by name, those for training first."""
if tuple(DISTRIBUTIONS) != (*TRAIN_LABELS, *TEST_LABELS):
    raise AssertionError("every dataset of the vocabulary has a distribution")

__all__ = ["DISTRIBUTIONS", "Distribution", "Planned", "Request", "Series"]
