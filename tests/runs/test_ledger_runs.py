"""Runs whose scores come from ledgers: made, published, read, verified; expected numbers by hand."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from gnomon.audit.results import trivial_baselines
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.protocol import Protocol
from gnomon.inference.effects import win_rate
from gnomon.inference.friedman import rank_systems
from gnomon.inference.intervals import Plan
from gnomon.inference.paired import compare
from gnomon.inference.pairs import NO_DIRECTION, pair_scores
from gnomon.measures.ranked import AveragePrecision, Percentile
from gnomon.runs import packing, seal
from gnomon.runs.comparison import Contest, compare_runs, comparison_table
from gnomon.runs.directory import publish
from gnomon.runs.provenance import Clock
from gnomon.runs.run import Evaluation, load, make
from gnomon.runs.tables import by_measure, ranked
from gnomon.runs.verify import verify

MEASURES = (AveragePrecision(), Percentile("onset_error", "onset_error", 50.0, "s", True))
ROSTER = Roster(tuple("pqrs"), ("x", "x", "y", "z"), {"room": ("hall", "lab", "lab", "lab")}, "subject")
# One true thing in every case; p and r find theirs (scores .9 and .7), q returns a miss (.8), s nothing.
DETECTIONS = [(0, 1, math.nan, 0, 0), (0, 0, 0.9, 1, 1), (1, 1, math.nan, 0, 0), (1, 0, 0.8, 1, 0)]
DETECTIONS += [(2, 1, math.nan, 0, 0), (2, 0, 0.7, 1, 1), (3, 1, math.nan, 0, 0)]


def ledgers(order=slice(None)):
    case, truths, score, returned, hit = (np.array(column) for column in zip(*DETECTIONS, strict=True))
    columns = {"class": np.zeros(7, int), "score": score, "returned": returned, "truths": truths, "hit": hit}
    late = {"onset_error": np.array([-0.5, 2.0, 1.0])}
    return {
        "detections": Ledger(case[order], {n: c[order] for n, c in columns.items()}, {"class": ("fall",)}),
        "onset_error": Ledger(np.array([0, 2, 3]), late),
    }


def evaluation(**changes):
    given = {
        "protocol": Protocol("falls", "1", MEASURES, slices=("room",)),
        "suite": "events",
        "system": "alarm",
        "roster": ROSTER,
        "tallies": {},
        "data": "d" * 64,
        "table": pa.table({"case": ["p", "q", "r"]}),
        "ledgers": ledgers(),
    }
    return Evaluation(**given | changes)


@pytest.fixture
def published(tmp_path):
    return publish(make(evaluation(), Plan(), Clock()), tmp_path)


def test_scores_follow_from_the_rows(published):
    # Falling: hit, miss, hit; 4 truths: 1/4 * 1 + 1/4 * 2/3, two are never found.
    assert published.find("mAP").value == pytest.approx((1 + 2 / 3) / 4)
    assert (published.find("mAP").n, published.find("mAP").groups) == (4, 3)
    assert published.find("mAP", "room=lab").value == pytest.approx(1 / 2 / 3)
    assert (published.find("onset_error_median").value, published.find("onset_error_median").unit) == (1.0, "s")
    assert published.find("onset_error_median").n == 3
    assert published.find("onset_error_median", "room=hall").interval_why == "undefined (1 subject)"
    assert published.manifest["facts"] == {"groups": 3, "cases": 4}


def test_a_run_is_read_as_it_was_written_and_can_be_trusted(published):
    again = load(published.path)
    assert again.scores == published.scores
    assert again.ledgers == published.ledgers
    assert again.measures == MEASURES
    assert [check.name for check in verify(published.path) if not check.passed] == []


def test_the_order_of_rows_changes_no_byte(published, tmp_path):
    turned = evaluation(ledgers=ledgers(np.array([6, 2, 4, 0, 5, 1, 3])))
    other = publish(make(turned, Plan(), Clock()), tmp_path / "other")
    assert (other.path / "scores.json").read_bytes() == (published.path / "scores.json").read_bytes()


def change(folder, ledger, column, value):
    """Store another ledger and seal it anew: only what follows from it can tell."""
    arrays = packing.read_packed(folder / "ledgers.npz")
    found = arrays[f"{ledger}.column.{column}"].copy()
    found[1] = value
    arrays[f"{ledger}.column.{column}"] = found
    packing.write_npz(folder / "ledgers.npz", arrays)
    (folder / seal.NAME).write_bytes(seal.make(folder))


def test_a_changed_row_is_noticed(published):
    change(published.path, "detections", "score", 0.1)
    failed = {check.name: check.problems for check in verify(published.path) if not check.passed}
    assert list(failed) == ["scores"]
    assert failed["scores"][0].startswith("AveragePrecision(")


def test_an_impossible_row_is_named(published):
    change(published.path, "onset_error", "onset_error", math.nan)
    failed = {check.name: check.problems for check in verify(published.path) if not check.passed}
    assert failed["identities"] == ("onset_error: a onset_error is not finite",)


def test_a_missing_ledger_is_named(published):
    (published.path / "ledgers.npz").unlink()
    (published.path / seal.NAME).write_bytes(seal.make(published.path))
    failed = {check.name: check.problems for check in verify(published.path) if not check.passed}
    assert "no ledger 'detections' to score; there are none" in failed["scores"][0]
    with pytest.raises(InputError, match="no ledger 'onset_error'"):
        make(evaluation(ledgers={"detections": ledgers()["detections"]}), Plan(), Clock())


def test_groups_of_two_runs_are_compared(published):
    worse = {**ledgers(), "onset_error": Ledger(np.array([0, 2, 3]), {"onset_error": np.array([3.0, 4.0, 5.0])})}
    other = make(evaluation(system="slow", ledgers=worse), Plan(), Clock())
    found = compare(MEASURES[1], published.groups(MEASURES[1]), other.groups(MEASURES[1]))
    assert found.difference == 1.0 - 4.0
    assert (found.p, found.exact) == (0.25, True)  # only the observed arrangement of 8 and its mirror image


def test_the_earlier_of_two_systems_is_not_the_better_one():
    """'early' is 30 s early in every case, 'exact' is right: a lower signed error is no better one."""
    found = {}
    for name, error in (("exact", 0.0), ("early", -30.0)):
        rows = Ledger(np.arange(4), {"onset_error": error + np.array([0.0, 0.1, 0.2, 0.3])})
        protocol = Protocol("falls", "1", MEASURES[1:])
        found[name] = make(evaluation(system=name, protocol=protocol, ledgers={"onset_error": rows}), Plan(), Clock())
    runs = [found["early"], found["exact"]]
    assert [run.system for run in ranked(runs)] == ["exact", "early"]
    assert Contest(runs).winner(MEASURES[1]) == ""
    table = comparison_table(compare_runs(runs), runs[0])
    assert "speaks for A" not in " ".join(table.notes)
    assert any("neither higher nor lower is better, so that A - B speaks for neither" in note for note in table.notes)
    (better,) = by_measure(runs, ["onset_error_median"], name="x", title="x").rows
    assert better["better"].value == "0 is best"
    pairs = pair_scores(MEASURES[1], *(run.groups(MEASURES[1]) for run in runs))
    assert (win_rate(pairs).value, win_rate(pairs).why) == (None, NO_DIRECTION)
    rows = [[-30.0, 0.0]] * 5
    assert rank_systems(rows, ["early", "exact"], direction=MEASURES[1].direction).why == NO_DIRECTION
    assert trivial_baselines({"a": 0.0}, {"b": -30.0}, measure="x", direction=MEASURES[1].direction) == ()


def test_scores_are_plain_json(published):
    stored = json.loads((published.path / "scores.json").read_text())
    assert stored["headline"] == "mAP"
    assert [score["name"] for score in stored["scores"][:2]] == ["mAP", "onset_error_median"]
