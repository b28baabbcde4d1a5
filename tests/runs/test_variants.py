"""Variants side by side, through the suite that has two. Expected values are worked by hand."""

import json

import pytest

import gnomon

CASE = {"t1": 0, "t2": 10, "labels": [{"t1": 0, "t2": 4, "label": "a"}, {"t1": 6, "t2": 8, "label": "b"}]}
EXCHANGED = [{"t1": 0, "t2": 4, "label": "b"}, {"t1": 6, "t2": 8, "label": "a"}]


@pytest.fixture
def both(tmp_path):
    """The right times under the wrong labels: perfect for who pools labels, nothing right for who does not."""
    (tmp_path / "case.json").write_text(json.dumps(CASE))
    (tmp_path / "exchanged.json").write_text(json.dumps(EXCHANGED))
    given = {"truth": str(tmp_path / "case.json"), "predictions": str(tmp_path / "exchanged.json")}
    return gnomon.score("events", **given, variant="both", out=tmp_path / "runs"), tmp_path


def test_both_variants_and_their_gap_stand_side_by_side(both):
    result, _ = both
    rows = {row["measure"].value: row for row in result.tables["variants"].rows}
    assert {name: row["gap"].value for name, row in rows.items() if name in ("event macro f1", "time accuracy")} == {
        "event macro f1": -1.0,
        "time accuracy": pytest.approx(-0.6),
    }
    assert rows["time accuracy"]["published"].value == 1.0
    assert rows["time accuracy"]["strict"].value == pytest.approx(0.4)


def test_systems_in_two_variants_have_two_names(both):
    result, _ = both
    assert list(result.scores) == ["exchanged [published]", "exchanged [strict]"]
    assert "protocol" not in "".join(table.title for table in result.tables.values())


def test_variants_are_found_again_on_disk(both):
    result, folder = both
    again = gnomon.load(folder / "runs")
    assert sorted(again.scores) == sorted(result.scores)
    assert again.tables["variants"].rows == result.tables["variants"].rows


def test_one_variant_has_no_gap(both):
    _, folder = both
    options = {"truth": str(folder / "case.json"), "predictions": str(folder / "exchanged.json")}
    assert "variants" not in gnomon.score("events", **options).tables
