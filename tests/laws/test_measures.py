"""The laws over every registered measure: a new measure is tested by being registered."""

from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core import registry
from gnomon.core.measure import Scored
from gnomon.measures import classification
from gnomon.testing import LAWS, check

MEASURES = registry.measures()


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_laws_hold(measure, seed):
    """Measures of a family share their tallies: each draws cases of its own, which together are many."""
    assert check(measure, seed ^ crc32(repr(measure).encode())) == []


def test_every_family_is_registered():
    assert {measure.family for measure in MEASURES} >= {"classification", "multilabel"}
    assert len(LAWS) >= 9


class Broken(classification.Accuracy):
    """A measure that breaks laws on purpose: the kit must notice."""

    def score(self, totals, frozen=None):
        scored = super().score(totals, frozen)
        return Scored(scored.values + totals["n"] % 2, scored.defined)


def test_the_kit_notices_a_broken_measure():
    complaints = [text for seed in range(50) for text in check(Broken(), seed)]
    assert any("scores stay in range" in text for text in complaints)
    assert any("a perfect prediction is best" in text for text in complaints)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_identities_between_measures(data):
    """Micro-F1 is accuracy, weighted recall is accuracy, when every sample has a prediction."""
    k = data.draw(st.integers(1, 6))
    truth = data.draw(st.lists(st.integers(0, k - 1), min_size=1, max_size=60))
    prediction = data.draw(st.lists(st.integers(0, k - 1), min_size=len(truth), max_size=len(truth)))
    result = classification.evaluate(truth, prediction)
    assert result["micro_f1"] == pytest.approx(result["accuracy"], abs=1e-12)
    assert result["weighted_recall"] == pytest.approx(result["accuracy"], abs=1e-12)
    assert result["micro_precision"] == result["micro_recall"] == pytest.approx(result["accuracy"], abs=1e-12)
    assert sum(map(sum, result["confusion"])) == result["n"] == len(truth)
