"""Systems over datasets; composites by hand, the Friedman test against scipy."""

import math

import numpy as np
import pytest
from scipy import stats

import gnomon
from gnomon.core.canonical import encode
from gnomon.core.errors import InputError

RATES = {"good": 0.95, "fair": 0.8, "poor": 0.55}


def dataset(seed, groups, systems=RATES, classes=3, **options):
    """Score systems of known quality on groups of ten rows; return the result and the shares right by group."""
    rng = np.random.default_rng(seed)
    truth = np.resize(np.arange(classes), groups * 10)
    ids = np.arange(groups * 10)
    right = {name: rng.random(groups * 10) < RATES[name] for name in RATES}
    table = {"id": ids, "label": truth, "group": np.repeat(np.arange(groups) + 100 * seed, 10)}
    given = {n: {"id": ids, "label": np.where(right[n], truth, (truth + 1) % classes)} for n in systems}
    result = gnomon.score("labels", table, given, **options)
    return result, {n: right[n].reshape(groups, 10).mean(axis=1) for n in systems}


@pytest.fixture(scope="module")
def five():
    return [dataset(seed, 4 + seed) for seed in range(5)]


@pytest.fixture(scope="module")
def found(five):
    return gnomon.compare(*(result for result, _ in five), over="datasets", metrics="accuracy")


def test_the_composite_is_the_mean_of_the_datasets(found, five):
    for row in found.tables["datasets"].rows:
        name = row["system"].value
        each = [shares[name].mean() for _, shares in five]
        assert [cell.value for key, cell in row.items() if key.startswith("dataset:")] == pytest.approx(each)
        assert row["composite"].value == pytest.approx(np.mean(each))
        assert row["composite"].low < row["composite"].value < row["composite"].high
    assert [row["system"].value for row in found.tables["datasets"].rows] == ["good", "fair", "poor"]


def test_the_best_composite_is_compared_with_the_others_and_corrected(found, five):
    """By hand: se^2 = sum of (se_i / 5)^2, se_i that of a mean over groups of one size; df after Satterthwaite."""
    table = found.tables["comparison"]
    assert table.title == "paired comparison of the composites of 5 datasets"
    assert [(row["a"].value, row["b"].value) for row in table.rows] == [("good", "fair"), ("good", "poor")]
    for row in table.rows:
        apart = [shares["good"] - shares[row["b"].value] for _, shares in five]
        parts = [(one.var(ddof=1) / len(one) / 25, len(one) - 1) for one in apart]
        total = sum(part for part, _ in parts)
        df = total**2 / sum(part**2 / free for part, free in parts)
        half = stats.t.ppf(0.975, df) * math.sqrt(total)
        mean = np.mean([one.mean() for one in apart])
        cell = row["difference"]
        assert (cell.value, cell.low, cell.high) == pytest.approx((mean, mean - half, mean + half))
        assert row["groups"].value == 4 + 5 + 6 + 7 + 8
    # The best was chosen by its score: corrected for all three pairs (Holm by hand: times 3, 2 and 1, never falling).
    pairs = gnomon.compare(*(result for result, _ in five), over="datasets", metrics="accuracy", all_pairs=True)
    ordered = sorted(row["p"].value for row in pairs.tables["comparison"].rows)
    holm = [min(1, max((3 - i) * ordered[i] for i in range(place + 1))) for place in range(3)]
    expected = [holm[ordered.index(row["p"].value)] for row in table.rows]
    assert [row["p_holm"].value for row in table.rows] == pytest.approx(expected)
    assert any("for all 3 pairs of systems" in note for note in table.notes)


def test_ranks_against_scipy(found, five):
    scores = {name: [shares[name].mean() for _, shares in five] for name in RATES}
    expected = stats.friedmanchisquare(*scores.values())
    (row,) = found.tables["friedman"].rows
    assert (row["chi2"].value, row["p"].value) == pytest.approx(expected)
    assert (row["systems"].value, row["datasets"].value) == (3, 5)
    ranks = np.mean([stats.rankdata([-scores[n][i] for n in RATES]) for i in range(5)], axis=0)
    by_name = dict(zip(RATES, ranks, strict=True))
    assert {r["system"].value: r["rank"].value for r in found.tables["ranks"].rows} == pytest.approx(by_name)
    # Demsar (2006), table 5: q for three systems at 0.05 is 2.343.
    difference = 2.343 * math.sqrt(3 * 4 / (6 * 5))
    assert row["critical_difference"].value == pytest.approx(difference, abs=1e-3)
    near = {r["system"].value: r["near"].value for r in found.tables["ranks"].rows}
    for name in RATES:
        others = [o for o in RATES if o != name and abs(by_name[o] - by_name[name]) < difference]
        assert set(near[name].split(", ")) == (set(others) or {"nobody"})


def test_below_five_datasets_there_is_no_friedman_test(five):
    found = gnomon.compare(*(result for result, _ in five[:4]), over="datasets")
    (row,) = found.tables["friedman"].rows
    assert (row["chi2"].value, row["p"].value, row["critical_difference"].value) == (None, None, None)
    assert row["chi2"].why.startswith("undefined (4 datasets: from 5 on")
    assert [column.key for column in found.tables["ranks"].columns] == ["measure", "system", "rank"]
    assert all(row["rank"].value is not None for row in found.tables["ranks"].rows)
    assert encode(found.record()["tables"])


def test_other_pairs_on_request(five):
    given = [result for result, _ in five]
    pairs = {}
    for name, options in (("against", {"against": "fair"}), ("all", {"all_pairs": True})):
        rows = gnomon.compare(*given, over="datasets", **options).tables["comparison"].rows
        pairs[name] = [(row["a"].value, row["b"].value) for row in rows]
    assert pairs["against"] == [("good", "fair"), ("poor", "fair")]
    assert pairs["all"] == [("good", "fair"), ("good", "poor"), ("fair", "poor")]


def test_one_system_has_scores_and_no_comparison():
    given = [dataset(seed, 5, ("good",))[0] for seed in (1, 2)]
    assert list(gnomon.compare(*given, over="datasets").tables) == ["datasets"]


def test_datasets_of_other_classes_are_averaged_all_the_same():
    """The protocol has a measure for every class; the headline is the same measure."""
    given = [dataset(1, 5, classes=3)[0], dataset(2, 5, classes=4)[0]]
    assert given[0].runs[0].manifest["protocol_fingerprint"] != given[1].runs[0].manifest["protocol_fingerprint"]
    assert len(gnomon.compare(*given, over="datasets").tables["datasets"].rows) == 3


def test_a_system_that_lacks_a_dataset_is_named():
    given = [dataset(1, 5)[0], dataset(2, 5, ("good", "fair"))[0], dataset(3, 5, ("good",))[0]]
    name = {index: str(one.runs[0].manifest["data_fingerprint"])[:8] for index, one in enumerate(given)}
    with pytest.raises(InputError) as refused:
        gnomon.compare(*given, over="datasets")
    for gap in (f"poor on {name[1]}", f"fair on {name[2]}", f"poor on {name[2]}"):
        assert gap in str(refused.value)
    assert "good on" not in str(refused.value)


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ({}, {"systems": ("fair",)}, {}, "at least two datasets, but got 1"),
        ({}, {"seed": 2, "classes": 4}, {"metrics": "f1[3]"}, "no measure 'f1\\[3\\]' in these runs"),
        ({"classes": 4}, {"seed": 2}, {"metrics": "f1[3]"}, "has no measure 'f1\\[3\\]': choose one that all have"),
        ({}, {"seed": 2, "level": 0.9}, {}, "different interval plans"),
        ({}, {"seed": 2, "zero_division": "1"}, {}, "macro_f1 is not the same measure on every dataset"),
        ({}, {"seed": 2}, {"against": "nobody"}, "no system 'nobody'"),
    ],
)
def test_what_cannot_be_averaged_is_refused(first, second, options, message):
    systems = ("good",) if "systems" in second else tuple(RATES)
    given = [dataset(**{"seed": 1, "groups": 5, "systems": systems, **one})[0] for one in (first, second)]
    with pytest.raises(InputError, match=message):
        gnomon.compare(*given, over="datasets", **options)


def test_two_runs_of_a_system_on_one_dataset_are_refused():
    ids = np.arange(50)
    truth = {"id": ids, "label": np.resize(np.arange(3), 50), "group": np.repeat(np.arange(5) + 200, 10)}
    again = gnomon.score("labels", truth, {"good": {"id": ids, "label": np.zeros(50, int)}})
    given = [dataset(1, 5)[0], dataset(2, 5)[0], again]
    with pytest.raises(InputError, match="good has several runs on one dataset"):
        gnomon.compare(*given, over="datasets")


def test_datasets_are_named_after_folders_or_files(tmp_path):
    truth = "id,label,group\n" + "".join(f"{i},{'ab'[i % 2]},g{i // 4}\n" for i in range(12))
    wrong = "id,label\n" + "".join(f"{i},{'ab'[i % 3 % 2]}\n" for i in range(12))
    for name in ("lab", "home"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "truth.csv").write_text(truth.replace("g0", name))
        (tmp_path / name / "s.csv").write_text(wrong)
    (tmp_path / "lab" / "more.csv").write_text(truth.replace("g0", "g9"))

    def columns(*paths):
        given = [gnomon.score("labels", tmp_path / path, tmp_path / "lab" / "s.csv") for path in paths]
        return [c.title for c in gnomon.compare(*given, over="datasets").tables["datasets"].columns][2:-1]

    assert columns("lab/truth.csv", "home/truth.csv") == ["lab", "home"]
    assert columns("lab/truth.csv", "lab/more.csv") == ["truth", "more"]


def test_partial_runs_are_averaged_over_common_cases():
    """On the second dataset 'poor' lacks the last of five groups."""
    whole = dataset(1, 5)[0]
    ids = np.arange(50)
    truth = {"id": ids, "label": np.resize(np.arange(3), 50), "group": np.repeat(np.arange(5), 10)}
    systems = {n: {"id": ids[: 40 if n == "poor" else 50]} for n in RATES}
    systems = {n: {**s, "label": truth["label"][: len(s["id"])]} for n, s in systems.items()}
    part = gnomon.score("labels", {**truth, "group": truth["group"] + 900}, systems, missing="skip")
    table = gnomon.compare(whole, part, over="datasets").tables["datasets"]
    assert any("compared on 4 of 5 cases: '904' was not scored by poor" in note for note in table.notes)


def test_a_score_that_is_undefined_on_a_dataset_says_why():
    """Precision of class 0 is undefined for a system that never says 0."""
    given = []
    for seed in (1, 2):
        truth = {"id": range(6), "label": list("010101"), "group": [seed] * 2 + [seed + 5] * 2 + [seed + 9] * 2}
        never = {"id": range(6), "label": list("111111") if seed == 2 else list("010101")}
        given.append(gnomon.score("labels", truth, {"s": never}, zero_division="none"))
    (row,) = gnomon.compare(*given, over="datasets", metrics="precision[0]").tables["datasets"].rows
    cells = [cell for key, cell in row.items() if key.startswith("dataset:")]
    assert (cells[0].value, cells[1].value) == (1.0, None)
    assert cells[1].why == "class '0' does not occur in prediction"
    assert row["composite"].value is None
    assert "class '0' does not occur in prediction" in row["composite"].why


def ragged():
    """'fair' lacks the third dataset, 'poor' the second and the third."""
    return [dataset(1, 5), dataset(2, 6, ("good", "fair")), dataset(3, 7, ("good",)), dataset(4, 8)]


def test_a_system_that_lacks_a_dataset_is_left_out_of_composites_on_request():
    given = ragged()
    given[2] = dataset(3, 7, ("good", "poor"))
    name = [str(one.runs[0].manifest["data_fingerprint"])[:8] for one, _ in given]
    found = gnomon.compare(*(one for one, _ in given), over="datasets", metrics="accuracy", ragged="dash")
    rows = {row["system"].value: row for row in found.tables["datasets"].rows}
    assert list(rows) == ["good", "fair", "poor"]
    assert rows["good"]["composite"].value == pytest.approx(np.mean([shares["good"].mean() for _, shares in given]))
    for system, lost in (("fair", 2), ("poor", 1)):
        row = rows[system]
        expected = ["-" if i == lost else pytest.approx(own[system].mean()) for i, (_, own) in enumerate(given)]
        assert [row[f"dataset:{key}"].value for key in name] == expected
        assert row["composite"].value == "-"
        note = f"{system}: no run on {name[lost]!r}, so that it has no composite and no rank"
        assert note in found.tables["datasets"].notes
    assert list(found.tables) == ["datasets"]  # one system is left: nobody to compare it with
    assert "-" in found.to("latex")


def test_composites_of_the_others_do_not_change_by_a_system_with_gaps(five):
    whole = [result for result, _ in five]
    more = dataset(9, 6, ("good", "fair"))[0]
    alone = [dataset(seed, 4 + seed, ("good", "fair"))[0] for seed in range(5)]
    with_gap = gnomon.compare(*whole, more, over="datasets", ragged="dash").tables
    without = gnomon.compare(*alone, more, over="datasets").tables
    assert with_gap["comparison"].rows == without["comparison"].rows
    assert with_gap["ranks"].rows == without["ranks"].rows
    assert [row["system"].value for row in with_gap["datasets"].rows] == ["good", "fair", "poor"]


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (ragged, {}, r"or show dashes \(--ragged dash\)"),
        (
            lambda: [dataset(1, 5, ("good",)), dataset(2, 5, ("fair",))],
            {"ragged": "dash"},
            "no system was scored on every",
        ),
        (ragged, {"ragged": "drop"}, "ragged: expected error, or dash"),
        (ragged, {"ragged": "dash", "over": ""}, "dash where datasets are compared over"),
    ],
)
def test_gaps_need_a_policy_that_there_is(given, options, message):
    with pytest.raises(InputError, match=message):
        gnomon.compare(*(one for one, _ in given()), **{"over": "datasets", **options})


def test_a_composite_without_an_interval_says_so():
    """The second dataset is scored without a single error: no spread to judge by."""
    truth = {"id": range(40), "label": list("ab") * 20, "group": np.repeat(np.arange(10), 4)}
    perfect = gnomon.score("labels", truth, {"good": {"id": range(40), "label": truth["label"]}})
    found = gnomon.compare(dataset(1, 5, ("good",), classes=2)[0], perfect, over="datasets", metrics="accuracy")
    cell = found.tables["datasets"].rows[0]["composite"]
    assert cell.low is None
    assert cell.interval_why.startswith("undefined ('")
    assert f"{cell.value:.3f} [undefined]" in found.to("terminal")
    assert f"interval of the composite {cell.interval_why}" in found.tables["datasets"].notes


def test_groups_of_one_name_in_several_datasets_are_named():
    apart = gnomon.compare(dataset(1, 5)[0], dataset(2, 5)[0], over="datasets").tables["datasets"].notes
    assert not any("too narrow" in note for note in apart)
    ids = np.arange(50)
    truth = {"id": ids, "label": np.resize(np.arange(3), 50), "group": np.repeat(np.arange(5) + 103, 10)}
    rng = np.random.default_rng(5)
    noisy = {"id": ids, "label": np.where(rng.random(50) < 0.8, truth["label"], 0)}
    other = gnomon.score("labels", truth, {"good": noisy})
    # By hand: groups 100 to 104 and 103 to 107 share two names.
    notes = gnomon.compare(dataset(1, 5, ("good",))[0], other, over="datasets").tables["datasets"].notes
    assert any(
        n.startswith("groups of one name in several datasets: '103', '104'; if a name stands for") for n in notes
    )


def test_datasets_of_one_folder_stand_in_the_order_of_their_names(tmp_path):
    """Run ids are hashes; names of datasets are not."""
    truth = "id,label,group\n" + "".join(f"{i},{'ab'[i % 2]},g{i // 4}\n" for i in range(12))
    (tmp_path / "s.csv").write_text("id,label\n" + "".join(f"{i},{'ab'[i % 3 % 2]}\n" for i in range(12)))
    names = [f"d{i}" for i in range(1, 9)]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "truth.csv").write_text(truth.replace("g0", name))
        gnomon.score("labels", tmp_path / name / "truth.csv", tmp_path / "s.csv", out=tmp_path / "runs")
    columns = gnomon.compare(tmp_path / "runs", over="datasets").tables["datasets"].columns
    assert [column.title for column in columns][2:-1] == names
