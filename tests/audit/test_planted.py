"""Every finding that a check declares is planted and found; clean twins, and clean draws, give none."""

from pathlib import Path

import pytest

from gnomon.audit import CHECKS, Audit
from gnomon.testing.planted import DRAWN, PLANTED, tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "audit.md"


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: f"{planted.check}: {planted.case}")
def test_a_planted_fault_is_found_and_its_twin_is_clean(planted):
    outcome = planted.outcome()
    assert outcome.found is not None
    assert outcome.clean == ()
    assert {finding.id for finding in outcome.leak} <= set(CHECKS[planted.check].finds)
    assert any(letter.isdigit() for letter in outcome.found.evidence) or planted.check == "identities"
    assert outcome.found.remedy
    assert "\n" not in str(outcome.found)
    assert Audit().add(planted.check, outcome.leak).fails("info")


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: f"{planted.check}: {planted.case}")
def test_the_same_case_gives_the_same_findings(planted):
    assert planted.make(True) == planted.make(True)


def test_every_finding_of_every_check_is_planted():
    declared = {(check.id, finding) for check in CHECKS.values() for finding in check.finds}
    assert {(planted.check, planted.finding) for planted in PLANTED} == declared


def test_a_missed_fault_does_not_hold():
    outcome = PLANTED[0].outcome()
    assert outcome.holds
    assert not type(outcome)(outcome.planted, outcome.clean, outcome.clean).holds
    assert not type(outcome)(outcome.planted, outcome.leak, outcome.leak).holds


@pytest.mark.parametrize("name", DRAWN)
def test_other_draws_are_judged_alike(name):
    for seed in range(100, 108):
        assert name in [finding.id for finding in DRAWN[name](True, seed)]
        assert DRAWN[name](False, seed) == ()


def shown(head):
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index(f"| {' | '.join(head)} |")
    end = next((i for i in range(start, len(lines)) if not lines[i].startswith("|")), len(lines))
    return lines[start:end]


def test_the_page_shows_the_tables_that_are_produced():
    outcomes = [planted.outcome() for planted in PLANTED]
    assert shown(tables.CASES) == tables.markdown(tables.CASES, tables.cases(outcomes)).splitlines()
    produced = tables.markdown(tables.SAID, tables.said(outcomes)).splitlines()
    assert [line.split("|")[1:3] for line in shown(tables.SAID)] == [line.split("|")[1:3] for line in produced]


def test_the_page_names_every_check():
    page = PAGE.read_text(encoding="utf-8")
    assert [check for check in CHECKS if f"`{check}`" not in page] == []
