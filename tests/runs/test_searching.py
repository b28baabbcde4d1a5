"""Arms, ranks and the best so far, on made-up scores; expected values by hand."""

import dataclasses

import pytest

from gnomon.inference.paired import Paired
from gnomon.measures.classification import Accuracy
from gnomon.runs.ablation import points
from gnomon.runs.arms import Arm, failure, failures
from gnomon.runs.comparison import is_significant
from gnomon.runs.searching import MOST_SPARKS, Search, sparks


def arms(run, values, default=0):
    found = []
    for number, value in enumerate(values):
        score = dataclasses.replace(run.find("accuracy"), value=value)
        own = dataclasses.replace(run, scores=(score,))
        if value == "failed":
            missing = [{"cell": "x", "why": "it hurts"}]
            coverage = {"complete": False, "cells": {"total": 3, "done": 2, "missing": missing}}
            own = dataclasses.replace(own, coverage=coverage)
        found.append(Arm(f"arm {number + 1}", own, {"eps": number}, number == default))
    return tuple(found)


class Error(Accuracy):
    direction = "down"


@pytest.mark.parametrize(
    ("measure", "values", "ranks", "best", "winner"),
    [
        (Accuracy(), (0.5, 0.4, 0.7, 0.6), (3, 4, 1, 2), (1, 1, 3, 3), 3),
        (Error(), (0.5, 0.4, 0.7, 0.6), (2, 1, 4, 3), (1, 2, 2, 2), 2),
        (Accuracy(), (0.5, 0.7, 0.7, 0.5), (3, 1, 1, 3), (1, 2, 2, 2), 2),
        (Accuracy(), (0.7, 0.7 + 1e-15, 0.6, 0.7), (1, 1, 4, 1), (1, 1, 1, 1), 1),
        (Accuracy(), ("failed", 0.3, None, 0.4), (None, 2, None, 1), (None, 2, 2, 4), 4),
    ],
)
def test_ranks_and_best_so_far(small_run, measure, values, ranks, best, winner):
    search = Search(arms(small_run, values), measure, "val")
    assert search.winner.name == f"arm {winner}"
    scored = [arm for arm in search.arms if arm.value(measure) is not None]
    assert [search.rank(arm) if arm in scored else None for arm in search.arms] == list(ranks)
    assert [arm and int(arm.name[4:]) for arm in search.best_so_far()] == list(best)


def test_of_equal_arms_the_default_wins(small_run):
    search = Search(arms(small_run, (0.5, 0.7, 0.7), default=2), Accuracy(), "val")
    assert search.winner is search.default


def test_without_a_score_nobody_wins(small_run):
    search = Search(arms(small_run, ("failed", None)), Accuracy(), "val")
    assert search.winner is None
    assert search.best_so_far() == [None, None]


def test_failures_are_told_once_per_reason(small_run):
    found = arms(small_run, (0.5, "failed", "failed"))
    assert failures(found) == ("arm 2, arm 3 failed in 1 of 3 cells: it hurts",)
    assert failure(small_run) == ""
    assert found[1].cell(Accuracy()).why == "failed"
    assert str(found[2]) == "arm 3 (eps=2)"


@pytest.mark.parametrize(
    ("low", "high", "p", "apart"),
    [
        (0.1, 0.3, 0.01, True),
        (-0.3, -0.1, 0.01, True),
        (-0.1, 0.3, 0.01, False),
        (0.0, 0.3, 0.01, False),
        (0.1, 0.3, 0.25, False),
        (None, None, 0.01, True),
        (None, None, 0.2, False),
        (None, None, None, False),
    ],
)
def test_told_apart_by_interval_and_p(low, high, p, apart):
    assert is_significant(Paired(0.2, low, high, 0.5, 5, True, 0.06), p) is apart


def test_many_values_are_drawn_in_few_places():
    drawn = sparks([number / 1000 for number in range(1000)], "up")
    assert len(drawn) <= MOST_SPARKS
    assert drawn[0] == "▁"
    assert drawn[-1] == "█"
    assert sparks([0.5, 0.5], "up") == "██"


def test_points_are_hundredths_of_scores_from_0_to_1():
    class Seconds(Accuracy):
        unit = "s"

    assert points(Accuracy()) == (100.0, "points", 2)
    assert points(Seconds())[:2] == (1.0, "s")
