"""The swap test on float sums: rounding neither loses an arrangement nor leaves a remainder where nothing is."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from gnomon.core.measure import Measure, Scored
from gnomon.core.tallies import Field, Tallies
from gnomon.inference import paired
from gnomon.inference.intervals import Groups, Plan
from gnomon.inference.paired import compare


@dataclass(frozen=True)
class Rate(Measure):
    """A ratio of two float sums."""

    title: ClassVar[str] = "rate"
    family: ClassVar[str] = "rate"
    layout: ClassVar = (Field("top", (), "sum"), Field("time", (), "sum"), Field("n"))
    bounds: ClassVar = (0.0, math.inf)
    name: ClassVar[str] = "rate"

    def tally(self, truth, prediction):
        raise AssertionError

    def score(self, totals, frozen=None):
        return Scored.ratio(totals["top"], totals["time"])

    def why(self, totals):
        return "no time"


def groups(top, time):
    return Groups(Tallies(Rate.layout, {}, {"top": top, "time": time, "n": np.ones(len(time), int)}), Plan())


@pytest.mark.parametrize("scale", [0.05, 1.0, 100.0, 1e4])
def test_p_is_never_below_the_smallest_attainable(scale):
    # A is a hair higher on every group, so only the observed arrangement and its mirror image are as extreme.
    for seed in range(100):
        rng = np.random.default_rng(seed)
        time = rng.uniform(100, 1000, 8)
        top = rng.lognormal(0, 1, 8) * time * scale
        found = compare(Rate(), groups(top, time), groups(top * (1 - rng.uniform(1e-5, 2e-5, 8)), time))
        assert found.p == found.smallest_p == 2 / 2**8


def test_what_is_swapped_away_leaves_exactly_nothing():
    # Only B has time on three groups whose sum rounds: swapped to A, B has none and no score.
    time = np.array([0.1, 0.2, 0.3, 0.0])
    b = Tallies(Rate.layout, {}, {"top": time / 7, "time": time, "n": np.ones(4, int)})
    a = Tallies(Rate.layout, {}, {"top": np.zeros(4), "time": np.zeros(4), "n": np.ones(4, int)})
    left, right = paired._swapped(a, b, np.array([[1, 1, 1, 0], [0, 0, 0, 1]]))
    assert (right["time"][0], right["top"][0], left["time"][1]) == (0.0, 0.0, 0.0)
    assert left["time"][0] == pytest.approx(0.6)
    assert left["n"].tolist() == right["n"].tolist() == [4, 4]
