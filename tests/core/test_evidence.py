"""Expected records are written by hand."""

import math

import pytest

from gnomon.core.evidence import Claim, Finding, Need, Verdict

NEED = Need("groups", 6, "at least 6 groups")
CLAIM = Claim("new-people", "holds for other people", (NEED, Need("classes", 2, "two classes")))


def test_a_finding_prints_what_where_and_what_to_do():
    finding = Finding("leak", "error", "split.csv", "3 windows are in both parts", "Split by subject.")
    assert str(finding) == "error: leak (split.csv): 3 windows are in both parts. Split by subject."


def test_a_finding_is_rebuilt_from_its_record():
    finding = Finding("leak", "error", "split.csv", "overlap", "split by subject")
    assert Finding(**finding.record()) == finding
    assert set(finding.record()) == {"id", "severity", "where", "evidence", "remedy"}


@pytest.mark.parametrize(
    ("facts", "met"),
    [
        ({"groups": 6}, True),
        ({"groups": 7.5}, True),
        ({"groups": 5}, False),
        ({"groups": math.nan}, False),
        ({}, False),
        ({"other": 9}, False),
        ({"groups": math.inf}, True),
        ({"groups": None}, False),
        ({"groups": "7"}, False),
        ({"groups": "many"}, False),
        ({"groups": [7]}, False),
        ({"groups": {}}, False),
    ],
)
def test_a_need_is_met_from_its_least_value_on(facts, met):
    assert NEED.met(facts) is met


def test_an_absent_fact_never_meets_a_need():
    assert not Need("groups", -1e300, "any").met({})


def test_a_claim_with_all_it_needs_is_supported():
    verdict = CLAIM.judge({"groups": 8, "classes": 2})
    assert verdict == Verdict("new-people", "holds for other people", True, ())


def test_a_claim_names_everything_that_it_lacks_with_what_was_found():
    verdict = CLAIM.judge({"groups": 1})
    assert not verdict.supported
    assert verdict.missing == ("at least 6 groups (found 1)", "two classes (found nothing)")


@pytest.mark.parametrize("found", [None, "many", [8]])
def test_a_fact_that_is_no_number_is_named_as_missing_evidence(found):
    verdict = CLAIM.judge({"groups": found, "classes": 2})
    assert not verdict.supported
    assert verdict.missing == (f"at least 6 groups (found {found})",)


def test_a_claim_that_needs_nothing_is_supported():
    assert Claim("x", "y").judge({}).supported


def test_records_are_plain_data():
    assert Claim("x", "y", (NEED,)).record() == {
        "id": "x",
        "statement": "y",
        "needs": [{"fact": "groups", "at_least": 6, "text": "at least 6 groups", "if_known": False}],
    }
    assert Verdict("x", "y", False, ("z",)).record() == {
        "id": "x",
        "statement": "y",
        "supported": False,
        "missing": ["z"],
    }
