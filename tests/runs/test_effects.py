"""What single groups say of two systems; expected values are scipy's and numpy's, or counted by hand."""

import math

import numpy as np
import pytest
from scipy import stats

import gnomon
from gnomon.core.canonical import encode

GROUPS, ROWS = 9, 20


@pytest.fixture(scope="module")
def given():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, GROUPS * ROWS)
    right = {name: rng.random(GROUPS * ROWS) < rate for name, rate in (("good", 0.9), ("fair", 0.75), ("poor", 0.5))}
    ids = np.arange(GROUPS * ROWS)
    table = {"id": ids, "label": truth, "group": np.repeat(np.arange(GROUPS), ROWS)}
    systems = {n: {"id": ids, "label": np.where(hit, truth, (truth + 1) % 3)} for n, hit in right.items()}
    return table, systems, {n: hit.reshape(GROUPS, ROWS).mean(axis=1) for n, hit in right.items()}


@pytest.fixture(scope="module")
def found(given):
    table, systems, _ = given
    return gnomon.compare(gnomon.score("labels", table, systems), metrics="accuracy")


def test_columns_against_scipy(found, given):
    """Accuracy on one group is the mean of its hits; scipy tests the differences of these."""
    shares = given[2]
    for row in found.tables["effects"].rows:
        a, b = shares[row["a"].value], shares[row["b"].value]
        difference = a - b
        assert row["mean_difference"].value == pytest.approx(difference.mean())
        assert row["d_z"].value == pytest.approx(difference.mean() / difference.std(ddof=1))
        assert row["t_p"].value == pytest.approx(stats.ttest_rel(a, b).pvalue)
        exact = stats.permutation_test(
            (np.round(difference[np.abs(difference) > 1e-9], 9),),
            lambda d, axis: np.sum(stats.rankdata(np.abs(d), axis=axis) * (d > 0), axis=axis),
            permutation_type="samples",
            n_resamples=np.inf,
            vectorized=True,
        )
        assert row["wilcoxon_p"].value == pytest.approx(exact.pvalue)
        ranks = stats.rankdata(np.abs(np.round(difference[np.abs(difference) > 1e-9], 9)))
        signs = np.sign(difference[np.abs(difference) > 1e-9])
        assert row["rank_biserial"].value == pytest.approx((ranks * signs).sum() / ranks.sum())
        won, tied, lost = (int((np.sign(np.round(difference, 9)) == side).sum()) for side in (1, 0, -1))
        assert row["wins"].value == f"{won}/{tied}/{lost}"
        assert row["win_rate"].value == pytest.approx((won + tied / 2) / GROUPS)


def test_the_detectable_difference_is_that_of_pooled_scores(found, given):
    """Groups of one size: the jackknife of a difference of means is the standard error of the mean."""
    shares = given[2]
    for row in found.tables["effects"].rows:
        difference = shares[row["a"].value] - shares[row["b"].value]
        se = difference.std(ddof=1) / math.sqrt(GROUPS)
        factor = stats.t.ppf(0.975, GROUPS - 1) + stats.t.ppf(0.8, GROUPS - 1)
        assert row["detectable"].value == pytest.approx(factor * se)


def test_the_level_of_the_plan_is_the_level_of_the_detectable_difference(given):
    table, systems, shares = given
    found = gnomon.compare(gnomon.score("labels", table, systems, level=0.9), metrics="accuracy")
    row = found.tables["effects"].rows[0]
    difference = shares[row["a"].value] - shares[row["b"].value]
    factor = stats.t.ppf(0.95, GROUPS - 1) + stats.t.ppf(0.8, GROUPS - 1)
    assert row["detectable"].value == pytest.approx(factor * difference.std(ddof=1) / math.sqrt(GROUPS))
    assert any("a test at 0.1 over so many groups" in note for note in found.tables["effects"].notes)


def test_mean_and_pooled_differences_are_two_things():
    """By hand: group x has 1 row, y has 3. A is right on all, B only on y: pooled 1/4, mean over groups 1/2."""
    truth = {"id": [1, 2, 3, 4], "label": list("abab"), "group": list("xyyy")}
    systems = {"a": {"id": [1, 2, 3, 4], "label": list("abab")}, "b": {"id": [1, 2, 3, 4], "label": list("bbab")}}
    found = gnomon.compare(gnomon.score("labels", truth, systems), metrics="accuracy")
    assert found.tables["comparison"].rows[0]["difference"].value == pytest.approx(1 / 4)
    assert found.tables["effects"].rows[0]["mean_difference"].value == pytest.approx(1 / 2)
    assert "the difference of the pooled scores instead" in found.tables["effects"].notes[0]


def test_systems_that_agree_have_cells_with_reasons(given):
    table, systems, _ = given
    twins = {"one": systems["good"], "two": systems["good"]}
    found = gnomon.compare(gnomon.score("labels", table, twins), metrics="accuracy").tables["effects"]
    row = found.rows[0]
    assert (row["mean_difference"].value, row["win_rate"].value, row["wins"].value) == (0.0, 0.5, f"0/{GROUPS}/0")
    for key, why in {
        "d_z": "no spread",
        "t_p": "no spread",
        "detectable": "no spread",
        "rank_biserial": "no difference",
        "wilcoxon_p": "no difference",
    }.items():
        assert (row[key].value, row[key].why) == (None, f"undefined ({why})")
    assert "no spread: A - B is the same on every group, or whichever is left out" in found.notes
    assert encode(found.record())


def test_one_group_says_so():
    truth = {"id": [1, 2], "label": list("ab"), "group": list("xx")}
    systems = {"a": {"id": [1, 2], "label": list("ab")}, "b": {"id": [1, 2], "label": list("bb")}}
    row = gnomon.compare(gnomon.score("labels", truth, systems), metrics="accuracy").tables["effects"].rows[0]
    assert row["mean_difference"].value == pytest.approx(1 / 2)
    for key in ("d_z", "t_p", "wilcoxon_p", "detectable"):
        assert row[key].why == "undefined (1 group)"
    assert row["rank_biserial"].value == 1.0  # the one group speaks for A


def test_groups_without_a_score_are_left_out_and_counted():
    """Precision of class a is undefined on group y for B, which never says a there; x and z remain."""
    truth = {"id": range(6), "label": list("ababab"), "group": list("xxyyzz")}
    systems = {"a": {"id": range(6), "label": list("ababab")}, "b": {"id": range(6), "label": list("aabbab")}}
    result = gnomon.score("labels", truth, systems, zero_division="none")
    found = gnomon.compare(result, metrics="precision[a]").tables["effects"]
    assert any(note == "a and b, precision[a]: 1 group without a score of both left out" for note in found.notes)
    assert found.rows[0]["wins"].value == "1/1/0"


def test_one_measure_is_in_the_title_and_several_in_a_column(given, found):
    assert found.tables["effects"].title == "per-group evidence: accuracy"
    assert "measure" not in [column.key for column in found.tables["effects"].columns]
    table, systems, _ = given
    both = gnomon.compare(gnomon.score("labels", table, systems), metrics=("accuracy", "kappa")).tables["effects"]
    assert both.title == "per-group evidence"
    assert [row["measure"].value for row in both.rows] == ["accuracy", "accuracy", "kappa", "kappa"]
    assert both.columns[0].key == "measure"


def test_every_column_is_explained(found):
    table = found.tables["effects"]
    for column in table.columns[2:]:
        heading = column.title.replace("/ ", "/")
        assert any(f"{heading}:" in note or f"{heading}," in note for note in table.notes), heading
