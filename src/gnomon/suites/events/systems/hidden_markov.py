"""Walking by a hidden Markov model that is fitted to labelled recordings and read out with a fixed lag.

Model
-----
Every hop of 0.4 s is in a state: a class (walking or not) and a level of strength. Levels split what is too diverse for
one normal distribution: a still desk and a rough road have little in common but that nobody walks. The features of a
hop have a normal distribution per state; states follow each other with the frequencies that were counted. Since states
are read off the training data, sums suffice to fit all of it in one pass: per state the number of hops, the sum of the
features and that of their products, and per pair of states how often one follows the other.

A hop is walking if that is more probable than not, given all hops before it and those of the next 4 s (fixed-lag
smoothing; Rabiner, 1989, for forward and backward probabilities).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.events.systems._spectra import LEAST_HOPS, spectra
from gnomon.suites.events.systems._walker import HOP, HOP_S, WALKING, Steady, Walker, hops_of

LEVELS = (0.3, 0.8, 2.0)
"""Standard deviations in m/s^2 at which levels of strength meet."""
STATES = 2 * (len(LEVELS) + 1)
"""Those of not walking first, from weak to strong; then those of walking."""
_FEATURES = 6
_SHORT_HOPS = 3


class HiddenMarkovWalker(Walker):
    """A hidden Markov model of walking; needs training, and tells how sure it is.

    Parameters
    ----------
    lag_s, smoothing
        How far ahead is looked before a hop is judged, in whole hops; not at all if smoothing is switched off.
    prior
        Imagined hops per state, with the spread of all hops, and per pair of states; keeps rare states sane.
    others
        Those of :class:`Walker`.
    """

    least_hops = LEAST_HOPS

    def __init__(
        self,
        *,
        lag_s: float = 4.0,
        prior: float = 1.0,
        window_s: float = 3.6,
        bridged_s: float = 1.2,
        shortest_s: float = 3.0,
        smoothing: bool = True,
        bridging: bool = True,
        dropping: bool = True,
    ) -> None:
        if not 0 <= lag_s < np.inf or not 0 < prior < np.inf:
            raise InputError(f"expected lag_s of 0 or more and a prior above 0, but got {lag_s:g} and {prior:g}")
        self.lag, self.prior = round(lag_s / HOP_S) if smoothing else 0, prior
        self.counts = np.zeros(STATES)
        self.sums = np.zeros((STATES, _FEATURES))
        self.products = np.zeros((STATES, _FEATURES, _FEATURES))
        self.follows = np.zeros((STATES, STATES))
        self.model: Model | None = None
        super().__init__(
            window_s=window_s, bridged_s=bridged_s, shortest_s=shortest_s, bridging=bridging, dropping=dropping
        )

    def train(self, recs: Iterable[Any], labels: Sequence[Mapping[str, Any]]) -> None:
        """Add one recording to what is known; labels have ``t1``, ``t2`` (seconds) and ``label``."""
        walks = [(item["t1"], item["t2"]) for item in labels if item["label"] == WALKING]
        starts, ends = np.sort(np.array(walks, dtype=np.float64).reshape(-1, 2), axis=0).T
        for first, frames in hops_of(recs, self.hops):
            middles = first + HOP_S * (np.arange(len(frames)) + 0.5)
            before = np.searchsorted(starts, middles, side="right")
            walking = before > np.searchsorted(ends, middles, side="right")
            self._count(_features(frames), walking)
        if self.counts[: STATES // 2].any() and self.counts[STATES // 2 :].any():
            self.model = _fitted(self.counts, self.sums, self.products, self.follows, self.prior)
        self.reset()

    def process(self, recs: Iterable[Any]) -> None:
        """Consume records in the order of time."""
        if self.model is None:
            raise InputError(
                "hmm-walker: not trained, expected recordings with some walking and some other time; "
                "give them with --train, or use --leave-out subject"
            )
        super().process(recs)

    def evidence(self, frames: Array) -> Array:
        """Return the log-likelihood ``(n, states)`` of each frame, shared among the frames that a sample is part of."""
        assert self.model is not None  # noqa: S101 - process() has checked it
        return self.model.likelihood(_features(frames)) / self.hops

    def belief(self) -> Any:
        """Return the smoother of the fitted model."""
        return Steady() if self.model is None else Smoother(self.model, self.lag)

    def _count(self, features: Array, walking: Array) -> None:
        """Add hops of a piece to the sums."""
        states = np.digitize(features[:, 0], np.log(LEVELS)) + np.where(walking, STATES // 2, 0)
        for state in np.unique(states).tolist():
            own = features[states == state]
            self.counts[state] += len(own)
            self.sums[state] += own.sum(axis=0)
            self.products[state] += own.T @ own
        np.add.at(self.follows, (states[:-1], states[1:]), 1)


@dataclass(frozen=True)
class Model:
    """A fitted model: a normal distribution per state, and how states follow each other.

    Attributes
    ----------
    means, whiten, offsets
        ``(S, d)``, ``(S, d, d)`` and ``(S,)``: the log-density is ``offset - |whiten @ (x - mean)|^2 / 2``.
    follows, shares
        ``(S, S)`` probability of the next state, rows sum to 1; ``(S,)`` probability of the first.
    """

    means: Array
    whiten: Array
    offsets: Array
    follows: Array
    shares: Array

    def likelihood(self, features: Array) -> Array:
        """Return log-likelihoods ``(n, S)`` of features ``(n, d)``."""
        apart = features[:, np.newaxis] - self.means
        white = np.einsum("sij,nsj->nsi", self.whiten, apart)
        return np.asarray(self.offsets - np.square(white).sum(axis=2) / 2)


class Smoother:
    """Probabilities of walking with a fixed lag, in hops; remembers the hops whose lag is not over."""

    def __init__(self, model: Model, lag: int) -> None:
        self.model, self.lag = model, lag
        self.ahead = np.zeros((0, STATES))
        """Probabilities of the states given all hops up to each, for hops that are not settled."""
        self.likely = np.zeros((0, STATES))
        self.now = model.shares

    def add(self, evidence: Array) -> Array:
        """Take log-likelihoods of hops; return beliefs of those whose lag is over."""
        likely = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        ahead = np.empty_like(likely)
        prior = self.now
        for index, row in enumerate(likely):
            joint = prior * row
            ahead[index] = joint / joint.sum()
            prior = ahead[index] @ self.model.follows
        self.now = prior
        self.ahead, self.likely = np.concatenate([self.ahead, ahead]), np.concatenate([self.likely, likely])
        return self._settle(len(self.ahead) - self.lag)

    def end(self) -> Array:
        """Return beliefs of the hops that are left, with as much lag as there is."""
        self.likely = np.concatenate([self.likely, np.ones((self.lag, STATES))])
        return self._settle(len(self.ahead))

    def _settle(self, count: int) -> Array:
        if count <= 0:
            return np.zeros(0)
        back = np.ones((count, STATES))
        for lag in range(self.lag, 0, -1):
            back = (self.likely[lag : lag + count] * back) @ self.model.follows.T
            back /= back.sum(axis=1, keepdims=True)
        both = self.ahead[:count] * back
        self.ahead, self.likely = self.ahead[count:], self.likely[count:]
        return np.asarray(both[:, STATES // 2 :].sum(axis=1) / both.sum(axis=1))


def _features(frames: Array) -> Array:
    """Return the features ``(n, d)`` of frames; the first is the logarithm of the strength."""
    found = spectra(frames)
    middle = (frames.shape[1] - _SHORT_HOPS * HOP) // 2
    short = frames[:, middle : middle + _SHORT_HOPS * HOP].var(axis=1) + 1e-4
    columns = (
        np.log(found.power) / 2,
        np.log(short / found.power),
        found.step_share,
        found.rhythm,
        found.swing,
        np.log(found.sharpness + 1e-3),
    )
    return np.stack(columns, axis=1)


def _fitted(counts: Array, sums: Array, products: Array, follows: Array, prior: float) -> Model:
    """Return the model of sums; states are drawn a little towards all hops, so that a rare one has a spread too."""
    mean = sums.sum(axis=0) / counts.sum()
    spread = products.sum(axis=0) / counts.sum() - np.outer(mean, mean)
    weight = (counts + prior)[:, np.newaxis]
    means = (sums + prior * mean) / weight
    second = (products + prior * (spread + np.outer(mean, mean))) / weight[:, :, np.newaxis]
    covariances = second - np.einsum("si,sj->sij", means, means) + 1e-6 * np.eye(len(mean))
    factors = np.linalg.cholesky(covariances)
    offsets = -np.log(np.einsum("sii->si", factors)).sum(axis=1)
    steps = follows + prior
    shares = (counts + prior) / (counts + prior).sum()
    return Model(means, np.linalg.inv(factors), offsets, steps / steps.sum(axis=1, keepdims=True), shares)
