"""Rows under weights; expected values are counted by hand."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from gnomon.core import rows as module
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Scored, by_family
from gnomon.core.rows import LedgerMeasure, Rows
from gnomon.measures.classification import Accuracy


@dataclass(frozen=True)
class Largest(LedgerMeasure):
    """The largest value of any row that counts."""

    ledger: str = "sizes"
    title: ClassVar[str] = "largest"
    name: ClassVar[str] = "largest"
    columns: ClassVar[tuple[str, ...]] = ("size",)
    prepared: ClassVar[list] = []

    def prepare(self, rows):
        self.prepared.append(len(rows.ledger))
        return rows.ledger.columns["size"], rows.group

    def score_rows(self, prepared, weights, frozen):
        sizes, group = prepared
        counted = np.where(weights[:, group] > 0, sizes, -1)
        return Scored(counted.max(axis=1, initial=-1), (counted >= 0).any(axis=1))

    def broken(self, ledger):
        return {"a size is below 0": ledger.columns["size"] < 0}

    def why(self, totals):
        return "no rows"


@pytest.fixture
def rows():
    # Group 0 holds 1 and 5, group 1 nothing, group 2 holds 3.
    ledger = Ledger(np.array([7, 7, 9]), {"size": np.array([1, 5, 3])})
    return Rows(ledger, np.array([0, 0, 2]), 3)


def test_totals_of_every_kind(rows):
    measure = Largest()
    assert float(measure.score(rows.total()).values) == 5
    assert rows.total().batch == ()
    alone = measure.score(rows.each())
    assert (alone.values.tolist(), alone.defined.tolist()) == ([5, -1, 3], [True, False, True])
    assert measure.score(rows.without_each()).values.tolist() == [3, 5, 5]
    assert measure.score(rows.weighted(np.array([[0, 9, 1], [2, 0, 0]]))).values.tolist() == [3, 5]
    assert measure.score(rows.weighted(np.zeros((0, 3), int))).values.shape == (0,)


def test_rows_are_prepared_once_for_a_measure(rows):
    Largest.prepared.clear()
    for totals in (rows.total(), rows.each(), rows.without_each(), rows.total()):
        Largest().score(totals)
    assert Largest.prepared == [3]


def test_weights_come_in_parts_of_bounded_size(rows, monkeypatch):
    monkeypatch.setattr(module, "DENSE", 6)
    assert [part.tolist() for part in rows.without_each().dense()] == [[[0, 1, 1], [1, 0, 1]], [[1, 1, 0]]]
    assert Largest().score(rows.without_each()).values.tolist() == [3, 5, 5]
    assert rows.each().summed(np.array([[2, 1], [0, 0], [1, 4]])).tolist() == [[2, 1], [0, 0], [1, 4]]


def test_sums_by_group_have_the_shape_of_the_batch(rows):
    assert float(rows.total().summed(rows.counts)) == 3
    assert rows.weighted(np.array([[2, 1, 0]])).summed(rows.counts).tolist() == [4]


def test_some_groups(rows):
    assert rows.filled().tolist() == [True, False, True]
    for which in (rows.filled(), np.array([0, 2])):
        kept = rows.take(which)
        assert (kept.n_cases, kept.group.tolist(), kept.ledger.columns["size"].tolist()) == (2, [0, 0, 1], [1, 5, 3])
    turned = rows.take(np.array([2, 0]))
    assert (turned.group.tolist(), turned.ledger.columns["size"].tolist()) == ([1, 1, 0], [1, 5, 3])
    assert rows.width == 3


def test_rows_change_sides(rows):
    other = Rows(Ledger(np.array([0, 1]), {"size": np.array([8, 2])}), np.array([0, 1]), 3)
    left, right = rows.swapped(other, np.array([[0, 0, 0], [1, 0, 0], [1, 1, 1]]))
    assert Largest().score(left).values.tolist() == [5, 8, 8]
    assert Largest().score(right).values.tolist() == [8, 5, 5]
    assert rows.joined(other) is rows.joined(other)


def test_rows_of_cases():
    ledger = Ledger(np.array([0, 1, 2, 2]), {"size": np.array([1, 2, 3, 4])})
    found = Rows.of_cases(ledger, np.array([1, -1, 0]), 2)
    assert (found.group.tolist(), found.ledger.columns["size"].tolist()) == ([1, 0, 0], [1, 3, 4])
    with pytest.raises(InputError, match="rows of case 2, but there are 2 cases"):
        Rows.of_cases(ledger, np.array([0, 1]), 2)
    with pytest.raises(GnomonError, match=r"expected a group in \[0, 2\) for each of 4 rows"):
        Rows(ledger, np.array([0, 1, 2, 0]), 2)


def test_the_contract_of_a_measure_of_rows():
    measure = Largest()
    ledger = Ledger(np.zeros(1, int), {"size": np.array([-2])})
    assert measure.family == "sizes"
    assert measure.record() == {"type": "Largest", "family": "sizes", "parameters": {"ledger": "sizes"}}
    assert measure.rows(None, ledger) is ledger
    assert measure.identities(None, {"sizes": ledger}) == ["a size is below 0"]
    with pytest.raises(GnomonError, match="expected the rows of a case, but got list"):
        measure.rows(None, [])
    with pytest.raises(GnomonError, match="largest is scored from the rows of the ledger 'sizes'"):
        measure.tally(None, None)


def test_measures_of_rows_have_no_family_of_tallies():
    assert list(by_family([Largest(), Accuracy()])) == ["classification"]
