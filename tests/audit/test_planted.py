"""Every finding that a check declares is planted and found; clean twins, and clean draws, give none."""

from pathlib import Path

import pytest

from acceptance.planted_leaks import HEAD, markdown
from gnomon.audit import CHECKS, Audit
from gnomon.testing.planted import DRAWN, PLANTED

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


def rows(text, head):
    lines = text.splitlines()
    start = lines.index(f"| {' | '.join(head)} |")
    return lines[start : start + next((i for i, line in enumerate(lines[start:]) if not line.startswith("|")), None)]


def test_the_page_shows_the_table_that_is_produced():
    produced = markdown([planted.outcome() for planted in PLANTED]) + "\n"
    page = PAGE.read_text(encoding="utf-8")
    assert rows(page, HEAD) == rows(produced, HEAD)
    said = ("finding", "severity", "evidence", "remedy")
    assert [line.split("|")[1:3] for line in rows(page, said)] == [
        line.split("|")[1:3] for line in rows(produced, said)
    ]


def test_the_page_names_every_check():
    page = PAGE.read_text(encoding="utf-8")
    assert [check for check in CHECKS if f"`{check}`" not in page] == []
