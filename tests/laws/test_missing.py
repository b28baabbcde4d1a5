"""Leaving answers out never makes a score better, in any suite that counts missing answers as wrong.

One table says what every suite with ``--missing`` does. ``wrong``: the law holds for every score that a run has, and an
undefined score says why. ``empty`` (recordings and scenes, whose answers are lists of any length): nothing returned is
an answer like any other, and the law holds for the scores that are named.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gnomon
from gnomon.core import registry
from gnomon.core.options import parameters
from gnomon.measures.classification import F1
from gnomon.suites.har.vocabulary import LABELS, TEST_LABELS
from gnomon.testing import check

CLOSE = 1e-12
Scores = dict[str, tuple[float | None, str, str]]


@dataclass(frozen=True)
class Law:
    """What a suite does with missing answers, and how to score drawn answers of which some are left out."""

    policy: str
    score: Callable[[int, list[bool], dict], Scores]
    holds: tuple[str, ...] = ("",)
    """What the names of scores begin with for which the law holds; those of all others need not."""


def values(result) -> Scores:
    (run,) = result.runs
    directions = {measure.name: measure.direction for measure in run.measures}
    return {score.name: (score.value, score.why, directions[score.name]) for score in run.scores}


def of_labels(seed, kept, options):
    """Single labels; answers are of true classes and of others."""
    rng = np.random.default_rng(seed)
    n, k = len(kept), int(rng.integers(1, 5))
    truth, answer = rng.integers(0, k, n), rng.integers(0, k + 2, n)
    answer = np.where(rng.random(n) < rng.random(), truth, answer)
    ids = [str(i) for i in range(n)]
    said = {"id": [i for i, keep in zip(ids, kept, strict=True) if keep]}
    said["label"] = [f"c{a}" for a, keep in zip(answer, kept, strict=True) if keep]
    true = {"id": ids, "label": [f"c{t}" for t in truth], "group": [str(i % 3) for i in range(n)]}
    return values(gnomon.score("labels", true, said, missing="wrong", interval="none", **options))


def of_sets(seed, kept, options):
    """Sets of labels, of which some are empty."""
    rng = np.random.default_rng(seed)
    n, k = len(kept), int(rng.integers(1, 4))
    sides = [rng.random((n, k)) < rng.random(), rng.random((n, k + 2)) < rng.random()]
    true, said = ([",".join(f"c{c}" for c in np.flatnonzero(row)) for row in side] for side in sides)
    ids = [str(i) for i in range(n)]
    answers = {"id": [i for i, keep in zip(ids, kept, strict=True) if keep]}
    answers["label"] = [text for text, keep in zip(said, kept, strict=True) if keep]
    table = {"id": ids, "label": true, "group": [str(i % 3) for i in range(n)]}
    return values(gnomon.score("labels", table, answers, missing="wrong", interval="none", separator=",", **options))


def of_har(seed, kept, options):
    """Windows of one dataset, answered among all training labels."""
    rng = np.random.default_rng(seed)
    n = len(kept)
    truth = rng.choice(TEST_LABELS["motionsense"], n)
    answer = np.where(rng.random(n) < rng.random(), truth, rng.choice(LABELS, n))
    true = {"id": [str(i) for i in range(n)], "label": truth.tolist(), "subject": [str(i % 3) for i in range(n)]}
    true |= {"recording": true["subject"], "dataset": ["motionsense"] * n}
    said = {"id": [i for i, keep in zip(true["id"], kept, strict=True) if keep]}
    said["label"] = [a for a, keep in zip(answer.tolist(), kept, strict=True) if keep]
    return values(gnomon.score("har", true, said, missing="wrong", interval="none", **options))


LAWS = {
    "labels": Law("wrong", of_labels),
    "labels, sets": Law("wrong", of_sets),
    "har": Law("wrong", of_har),
}
CHOICES = {
    "labels": [{}, {"classes": "present"}, {"classes": "c0,c1,c9", "zero_division": "1"}, {"zero_division": "none"}],
    "labels, sets": [{}, {"classes": "present"}, {"classes": "c0,c9", "zero_division": "1"}],
    "har": [{}, {"task": "zs-closed"}, {"task": "sup-1"}],
}


def broken(before: Scores, after: Scores, holds: tuple[str, ...] = ("",)) -> list[str]:
    """Name the scores that are better with fewer answers, and those that are undefined for no reason."""
    found = []
    for name, (value, why, direction) in after.items():
        full = before[name][0] if name in before else None
        if value is None and not why:
            found.append(f"{name} is undefined without a reason")
        if value is None or full is None or not name.startswith(holds):
            continue
        gain = value - full if direction == "up" else full - value
        if gain > CLOSE:
            found.append(f"{name} was {full} and is {value}")
    return found


@pytest.mark.parametrize("suite", LAWS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_silence_does_not_help(suite, data, seed):
    law, options = LAWS[suite], data.draw(st.sampled_from(CHOICES[suite]))
    kept = data.draw(st.lists(st.booleans(), min_size=2, max_size=16).filter(any))
    before, after = law.score(seed, [True] * len(kept), options), law.score(seed, kept, options)
    assert broken(before, after, law.holds) == []
    fewer = data.draw(st.lists(st.booleans(), min_size=len(kept), max_size=len(kept)))
    fewer = [a and b for a, b in zip(kept, fewer, strict=True)]
    if any(fewer):
        assert broken(after, law.score(seed, fewer, options), law.holds) == []


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """The annotation of an episode, and what ``random`` answers to the tasks that are answered by labels and sets."""
    h5py = pytest.importorskip("h5py")
    from gnomon.suites.episode.simulation.recording import Request, act_out, datasets
    from gnomon.suites.episode.tasks.declared import TASKS

    folder = tmp_path_factory.mktemp("episodes")
    place = folder / "session_000" / "ep0"
    place.mkdir(parents=True)
    request = Request(5, 0, 300, 16, False)
    with h5py.File(place / "annotation.hdf5", "w") as file:
        for name, one in datasets(request, act_out(request)).items():
            file[name] = one
    tasks = tuple(name for name, task in TASKS.items() if task.kind in ("label", "binary", "pair", "multilabel"))
    out = tmp_path_factory.mktemp("runs")
    (run,) = gnomon.run("episode", episodes=(str(folder),), systems=("random",), tasks=tasks, out=str(out)).runs
    table = run.table.select(["task", "sample", "prediction"]).rename_columns(["task", "sample", "label"])
    return str(folder), table


@pytest.fixture(scope="module")
def complete(answered):
    folder, table = answered
    return values(gnomon.score("episode", (folder,), {"mine": table}, missing="wrong", interval="none"))


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.05, 0.3, 0.9]))
def test_silence_does_not_help_in_episodes(answered, complete, seed, share):
    folder, table = answered
    kept = np.random.default_rng(seed).random(len(table)) < share
    kept[np.unique(table["task"].to_numpy(), return_index=True)[1]] = True  # one answer to every task
    result = gnomon.score("episode", (folder,), {"mine": table.filter(kept)}, missing="wrong", interval="none")
    assert broken(complete, values(result)) == []


def test_only_right_answers_are_not_better_than_all(answered, complete):
    """What a system that keeps silent wherever it is wrong would gain."""
    folder, table = answered
    (run,) = gnomon.score("episode", (folder,), {"mine": table}, out="none").runs
    right = pc.equal(run.table["truth"], run.table["prediction"])
    own = run.table.filter(right).select(["task", "sample", "prediction"])
    own = own.rename_columns(["task", "sample", "label"])
    after = values(gnomon.score("episode", (folder,), {"mine": own}, missing="wrong", interval="none"))
    assert broken(complete, after) == []
    name = "macro_f1[timeline_action]"
    assert name in after
    assert after[name][0] <= complete[name][0]


RECALLS = ("time_macro_recall", "event_macro_recall", "any_overlap_recall", "TPr[")


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1))
def test_recordings_taken_as_empty_find_no_more(seed, tmp_path_factory):
    """An empty list is an answer: it can raise precision, but nothing that counts what was found."""
    rng = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("recordings")
    results, paths = {}, []
    for name in ("a", "b", "c"):
        sides = []
        for _ in range(2):
            cuts = np.sort(rng.choice(np.arange(1, 99), 6, replace=False)).reshape(3, 2).tolist()
            sides.append([{"t1": a, "t2": b, "label": str(rng.choice(["x", "y"]))} for a, b in cuts])
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps({"t1": 0, "t2": 100, "labels": sides[0]}))
        results[name] = sides[1]
    found = []
    for kept in (("a", "b", "c"), ("a",)):
        path = folder / f"{len(kept)}-results.json"
        path.write_text(json.dumps({name: results[name] for name in kept}))
        given_paths = tuple(map(str, paths))
        found.append(values(gnomon.score("events", given_paths, (str(path),), missing="empty", interval="none")))
    assert any(name.startswith(RECALLS) for name in found[0])
    assert broken(found[0], found[1], RECALLS) == []


def test_every_suite_that_counts_missing_answers_as_wrong_is_under_the_law():
    """A suite that gets the policy has to be tested above."""
    policies = {}
    for name, suite in registry.suites().items():
        offered = {one.name: one.option.choices for one in parameters(suite.verb("score").options)}
        policies[name] = offered.get("missing", ())
    assert {name for name, choices in policies.items() if "wrong" in choices} == {"labels", "har", "episode"}
    assert {name for name, choices in policies.items() if "empty" in choices} == {"events", "change"}


class Rewarding(F1):
    """Macro-F1 that takes a missing answer for nothing but a false negative."""

    def missing(self, totals):
        return None


def test_the_kit_notices_a_measure_that_rewards_silence():
    complaints = [text for seed in range(60) for text in check(Rewarding("macro", "present"), seed)]
    assert any("silence does not help" in text for text in complaints)


def test_a_missing_answer_is_a_false_positive_where_it_costs_most():
    """By hand: a and b have 3 of 4 right each; of two missing answers each class gets one false positive."""
    from gnomon.core.signals import NONE, Labels

    truth = Labels(np.array([0, 0, 0, 0, 1, 1, 1, 1]), ("a", "b"))
    said = Labels(np.array([0, 0, 0, NONE, 1, 1, 1, NONE]), ("a", "b"))
    totals = F1().tally(truth, said).total()
    assert float(F1("macro", "present").score(totals).values) == pytest.approx(2 * 3 / (4 + 3 + 1))
    assert float(F1("micro").score(totals).values) == pytest.approx(6 / 8)  # accuracy
    assert not F1("macro", "union").score(totals).defined
    assert "2 of 8 samples have no answer" in F1("macro", "union").why(totals)


def test_the_lowest_mean_is_that_of_all_ways_to_place_false_positives():
    """Against every way to give 4 false positives to 3 classes; shares need not be whole, so it may be a bit lower."""
    from gnomon.measures.averaging import least_sum

    rng = np.random.default_rng(1)
    for _ in range(50):
        tops, bottoms = rng.integers(0, 9, 3).astype(float), rng.integers(9, 20, 3).astype(float)
        ways = [(a, b, 4 - a - b) for a in range(5) for b in range(5 - a)]
        lowest = min(float((tops / (bottoms + np.array(way))).sum()) for way in ways)
        found = float(least_sum(tops, bottoms, np.array(4)))
        assert found <= lowest + CLOSE
        assert math.isclose(found, lowest, rel_tol=0.02, abs_tol=1e-9)
