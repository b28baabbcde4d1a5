"""Runs of several seeds; standard errors come from a two-way layout that numpy works out in the test."""

import math

import numpy as np
import pytest
from scipy import stats

import gnomon
from gnomon.core.errors import InputError

GROUPS, ROWS = 8, 25
TRUTH = np.resize(np.arange(2), GROUPS * ROWS)
RATES = {"good": 0.85, "poor": 0.6}


def scored(seed, systems=RATES, lost=0, drawn=None, **options):
    """Score systems whose luck depends on the seed (or on `drawn`); return the result and the shares right by group."""
    rng = np.random.default_rng(seed if drawn is None else drawn)
    ids = np.arange(GROUPS * ROWS)
    table = {"id": ids, "label": TRUTH, "group": np.repeat(np.arange(GROUPS), ROWS)}
    right = {n: rng.random(len(ids)) < RATES[n] + 0.05 * rng.normal() for n in RATES}
    kept = ids[: len(ids) - lost]
    given = {n: {"id": kept, "label": np.where(right[n], TRUTH, 1 - TRUTH)[: len(kept)]} for n in systems}
    result = gnomon.score("labels", table, given, seed=seed, **options)
    return result, {n: right[n].reshape(GROUPS, ROWS).mean(axis=1) for n in systems}


@pytest.fixture(scope="module")
def four():
    return [scored(seed) for seed in range(4)]


def two_way(shares):
    """Return se of the mean of shares ``(seeds, groups)``, what groups and seeds bring, and half the interval."""
    seeds, groups = shares.shape
    by_group, by_seed = shares.mean(axis=0).var(ddof=1) / groups, shares.mean(axis=1).var(ddof=1) / seeds
    rest = shares - shares.mean(axis=0) - shares.mean(axis=1, keepdims=True) + shares.mean()
    both = (rest**2).sum() / ((seeds - 1) * (groups - 1)) / (seeds * groups)
    squared = max(by_group, by_seed, by_group + by_seed - both)
    free = (groups - 1, seeds - 1, (seeds - 1) * (groups - 1))
    one, two, less = (
        stats.t.ppf(0.975, df) ** 2 * part for part, df in zip((by_group, by_seed, both), free, strict=True)
    )
    return math.sqrt(squared), math.sqrt(by_group), math.sqrt(by_seed), math.sqrt(max(one, two, one + two - less))


def test_mean_and_parts_of_the_standard_error(four):
    """Groups of one size: a pseudo-value of accuracy is the share right of that group."""
    found = gnomon.compare(*(result for result, _ in four), over="seeds", metrics="accuracy")
    rows = found.tables["seeds"].rows
    assert [row["system"].value for row in rows] == ["good", "poor"]
    for row in rows:
        shares = np.stack([own[row["system"].value] for _, own in four])
        assert (row["seeds"].value, row["groups"].value) == (4, GROUPS)
        assert row["mean"].value == pytest.approx(shares.mean())
        assert row["mean"].low < shares.mean() < row["mean"].high
        values = [row[key].value for key in ("se", "se_groups", "se_seeds")]
        assert values == pytest.approx(two_way(shares)[:3])


def test_systems_with_the_same_seeds_are_compared(four):
    found = gnomon.compare(*(result for result, _ in four), over="seeds", metrics="accuracy")
    (row,) = found.tables["comparison"].rows
    assert (row["a"].value, row["b"].value, row["seeds"].value) == ("good", "poor", 4)
    apart = np.stack([own["good"] - own["poor"] for _, own in four])
    half = two_way(apart)[3]
    mean = apart.mean()
    cell = row["difference"]
    assert (cell.value, cell.low, cell.high) == pytest.approx((mean, mean - half, mean + half))
    assert any(note.startswith("no p-value") for note in found.tables["comparison"].notes)


def test_other_seeds_are_not_compared(four):
    extra = scored(9, ("good",))[0]
    found = gnomon.compare(*(result for result, _ in four), extra, over="seeds")
    assert "comparison" not in found.tables
    note = "good and poor are not compared: seeds 0, 1, 2, 3, 9 against seeds 0, 1, 2, 3"
    assert note in found.tables["seeds"].notes
    assert [row["seeds"].value for row in found.tables["seeds"].rows] == [5, 4]


def test_a_system_of_one_seed_stands_beside_the_others(four):
    given = [four[0][0], scored(1, ("good",))[0]]
    rows = {row["system"].value: row for row in gnomon.compare(*given, over="seeds").tables["seeds"].rows}
    assert rows["poor"]["se"].why == "one seed"
    assert rows["good"]["se"].value is not None


def test_predictions_that_no_seed_changes_are_named():
    given = [scored(seed, drawn=5 if seed else None)[0] for seed in (1, 2)]
    notes = gnomon.compare(*given, over="seeds").tables["seeds"].notes
    assert "good, poor: the same predictions with every seed, so that seeds show no spread" in notes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"seed": 1}], "no system has runs of several seeds"),
        ([{"seed": 1}, {"seed": 1, "drawn": 7}], "good has several runs with seed 1"),
        ([{"seed": 1}, {"seed": 2, "level": 0.9}], "different interval plans"),
        ([{"seed": 1}, {"seed": 2, "group": "id"}], "different data|do not hold the same cases"),
        ([{"seed": 1}, {"seed": 2, "interval": "bca"}], "different interval plans"),
        ([{"seed": 1, "interval": "bca"}, {"seed": 2, "interval": "bca"}], "expected jackknife-t, percentile or none"),
    ],
)
def test_what_cannot_be_taken_together_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        gnomon.compare(*(scored(**one)[0] for one in given), over="seeds")


def test_without_intervals_there_are_means_alone():
    given = [scored(seed, interval="none")[0] for seed in (1, 2)]
    found = gnomon.compare(*given, over="seeds")
    row = found.tables["seeds"].rows[0]
    assert row["mean"].value is not None
    assert (row["mean"].low, row["se"].value, row["se"].why) == (None, None, "not asked for")
    cell = found.tables["comparison"].rows[0]["difference"]
    assert (cell.low, cell.interval_why) == (None, "not asked for")


def test_percentile_intervals_have_no_parts():
    given = [scored(seed, interval="percentile", resamples=200)[0] for seed in (1, 2)]
    row = gnomon.compare(*given, over="seeds").tables["seeds"].rows[0]
    assert row["mean"].low is not None
    assert row["se"].why == "only a jackknife-t interval has it"


def test_partial_runs_are_averaged_over_common_cases():
    """The second seed lacks the last group."""
    given = [scored(1)[0], scored(2, lost=ROWS, missing="skip")[0]]
    table = gnomon.compare(*given, over="seeds").tables["seeds"]
    assert table.rows[0]["groups"].value == 7
    assert table.notes[0].startswith("compared on 7 of 8 cases: ")


def test_folds_dealt_by_several_seeds(tmp_path):
    """A real run per seed, read back from disk: the seed is the one that the run was asked for."""
    rng = np.random.default_rng(0)
    table = {
        "id": np.arange(60),
        "label": np.resize(["a", "b", "c"], 60),
        "group": np.repeat(np.arange(6), 10),
        "x": rng.normal(size=60) + np.resize([0, 1, 2], 60),
    }
    for seed in (3, 4, 5):
        gnomon.run("labels", truth=table, systems=("majority", "nearest_mean"), folds=3, seed=seed, out=tmp_path)
    found = gnomon.compare(tmp_path, over="seeds", against="majority")
    assert [row["seeds"].value for row in found.tables["seeds"].rows] == [3, 3]
    assert found.tables["comparison"].rows[0]["b"].value == "majority"
    with pytest.raises(InputError, match=r"different seeds .* --over seeds"):
        gnomon.compare(tmp_path)


def test_anything_else_to_compare_over_is_refused(four):
    with pytest.raises(InputError, match="over: expected datasets or seeds, but got 'rooms'"):
        gnomon.compare(four[0][0], over="rooms")


@pytest.mark.parametrize("n", [2, 4, 5])
def test_the_difference_says_what_its_interval_rests_on(n):
    """Eight groups: two classes rest on fewer than ten; fewer than five seeds are few."""
    found = gnomon.compare(*(scored(seed)[0] for seed in range(n)), over="seeds", metrics=("macro_f1", "accuracy"))
    for name in ("seeds", "comparison"):
        notes = found.tables[name].notes
        assert (f"interval rests on only {n} seeds" in notes) == (n < 5)
        assert "macro f1: interval unreliable: 2 classes rest on fewer than 10 groups" in notes


def test_the_difference_over_two_seeds_is_as_wide_as_two_seeds_make_it():
    """Two values say little of a spread: t of one degree of freedom is 12.706; no difference is beyond 1."""
    given = [scored(seed) for seed in (1, 2)]
    cell = gnomon.compare(*(one for one, _ in given), over="seeds", metrics="accuracy").tables["comparison"].rows[0]
    values = [own["good"].mean() - own["poor"].mean() for _, own in given]
    half = 12.706 * abs(values[0] - values[1]) / 2
    assert half > 0
    found = cell["difference"]
    assert found.high - found.value >= min(half, 1 - found.value) * (1 - 1e-4)
    assert -1 <= found.low < found.high <= 1
