"""Audits as values; expected records are written by hand."""

import pytest

from gnomon.audit import Audit
from gnomon.core.canonical import encode
from gnomon.core.errors import InputError
from gnomon.core.evidence import Finding


def finding(severity, name="x"):
    return Finding(name, severity, "here", "1 of 2", "do")


def test_no_finding_is_no_severity_and_fails_nothing():
    audit = Audit().add("coverage", ())
    assert audit.worst is None
    assert not audit.fails("info")
    assert audit.made == ("coverage",)


@pytest.mark.parametrize(
    ("severities", "worst"),
    [(["info"], "info"), (["warning", "info"], "warning"), (["info", "error", "info"], "error")],
)
def test_the_worst_finding_counts(severities, worst):
    order = ["info", "warning", "error"]
    audit = Audit().add("coverage", [finding(s) for s in severities])
    assert audit.worst == worst
    assert [audit.fails(on) for on in order] == [order.index(worst) >= order.index(on) for on in order]


def test_a_check_is_made_by_id_with_the_arguments_of_its_function():
    audit = Audit().check("coverage", ["a", "b"], {"one": ["a"]})
    assert [f.id for f in audit.findings] == ["partial-coverage"]
    assert audit.made == ("coverage",)


def test_checks_that_were_not_made_are_kept_with_the_reason_until_they_are():
    audit = Audit().skip("near-duplicates", "no vectors")
    assert audit.not_made == {"near-duplicates": "no vectors"}
    made = audit.add("near-duplicates", ())
    assert made.not_made == {}
    assert made.skip("near-duplicates", "again") == made


def test_a_check_made_twice_is_named_once_and_keeps_both_findings():
    audit = Audit().add("coverage", [finding("info")]).add("coverage", [finding("error")])
    assert audit.made == ("coverage",)
    assert len(audit.findings) == 2


def test_a_record_is_plain_data_with_the_worst_first():
    audit = Audit().add("coverage", [finding("info", "a"), finding("error", "b"), finding("info", "c")])
    record = audit.skip("refit", "no fit").record()
    assert [row["id"] for row in record["findings"]] == ["b", "a", "c"]
    assert {k: record[k] for k in ("worst", "made", "not_made")} == {
        "worst": "error",
        "made": ["coverage"],
        "not_made": {"refit": "no fit"},
    }
    assert encode(record)


def test_unknown_names_are_refused_with_those_there_are():
    with pytest.raises(InputError, match="no check 'nonsense'; there are read-ranges, "):
        Audit().check("nonsense")
    with pytest.raises(InputError, match="no check 'nonsense'"):
        Audit().skip("nonsense", "why")
    with pytest.raises(InputError, match="no severity 'fatal'; there are info, warning, error"):
        Audit().fails("fatal")
