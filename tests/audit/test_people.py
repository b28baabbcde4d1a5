"""Shared values against sets; people by construction; the binomial tail against scipy.stats."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gnomon.audit.people import same_people, shared_tags
from gnomon.core.errors import InputError
from gnomon.core.samples import Samples


def samples(parts, **tags):
    n = len(parts)
    ranges = np.tile([0.0, 1.0], (n, 1))
    return Samples(tuple(map(str, range(n))), tuple(f"r{i}" for i in range(n)), tuple(parts), ranges, ranges, (), tags)


@given(st.lists(st.tuples(st.sampled_from(["train", "test"]), st.sampled_from(["", "ann", "bob", "cid"])), min_size=2))
def test_shared_values_are_those_of_both_sets(rows):
    parts, names = zip(*rows, strict=True)
    if len(set(parts)) < 2:
        return
    both = {n for p, n in rows if p == "train"} & {n for p, n in rows if p == "test"} - {""}
    findings = {f.id: f for f in shared_tags(samples(parts, subject=names), ["subject"])}
    assert ("shared-tag" in findings) == bool(both)
    assert ("tag-unknown" in findings) == ("" in names)
    if both:
        there = len({n for p, n in rows if p == "test"} - {""})
        hit = sum(p == "test" and n in both for p, n in rows)
        text = findings["shared-tag"].evidence
        assert text.startswith(f"{len(both)} of {there} subject")
        assert f"with {hit} of {parts.count('test')} test samples" in text


def test_each_tag_is_looked_at_with_the_severity_that_was_asked():
    made = samples(["train", "test"], subject=("a", "b"), device=("watch", "watch"), session=("1", "1"))
    findings = shared_tags(made, ["subject", "device", "session"], severity="warning")
    assert [(f.where, f.severity) for f in findings] == [("device", "warning"), ("session", "warning")]
    assert shared_tags(made, ["cases"]) == ()


def test_an_absent_tag_is_refused():
    with pytest.raises(InputError, match="no column 'device'"):
        shared_tags(samples(["train", "test"]), ["device"])


def people(values):
    return {f"{i}": dict(zip(("age", "height"), row, strict=True)) for i, row in enumerate(values)}


def drawn(seed, n=20):
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(18, 60, n), rng.normal(170, 10, n).round()], axis=1).tolist()


def test_people_who_agree_more_often_than_chance_are_named():
    first = drawn(1)
    (finding,) = same_people({"a": people(first), "b": people(first[::-1])})
    assert (finding.id, finding.severity, finding.where) == ("same-people", "warning", "a, b")
    assert finding.evidence.startswith("20 of 20 people of a agree with one of 20 of b in age, height")
    assert "('0', '19')" in finding.evidence


def test_the_number_of_agreeing_pairs_is_judged_by_its_binomial_tail():
    first, second = drawn(1), drawn(2)
    for shared in range(10):
        mixed = first[:shared] + second[shared:]
        rows = [tuple(row) for row in first], [tuple(row) for row in mixed]
        within = sum(a == b for side in rows for i, a in enumerate(side) for b in side[:i])
        count = sum(a == b for a in rows[0] for b in rows[1])
        chance = (within + 1) / (2 * 190 + 1)
        p = scipy.stats.binom.sf(count - 1, 400, chance)
        findings = same_people({"a": people(first), "b": people(mixed)})
        assert bool(findings) == (count > 0 and p < 1e-3)
        if findings:
            assert f"(p = {p:.1g})" in findings[0].evidence
    assert findings


def test_common_descriptions_are_no_evidence():
    same = [[20, 170]] * 10 + [[21, 171]] * 10
    assert same_people({"a": people(same), "b": people(same)}) == ()


def test_a_tolerance_makes_near_values_equal():
    first = drawn(3)
    moved = [[age, height + 1] for age, height in first]
    assert same_people({"a": people(first), "b": people(moved)}) == ()
    assert [f.id for f in same_people({"a": people(first), "b": people(moved)}, tolerance={"height": 1})] == [
        "same-people"
    ]


def test_texts_are_compared_and_only_fields_of_both_count():
    first = {f"{i}": {"name": f"n{i}", "hand": "left"} for i in range(9)}
    second = {f"{i}": {"name": f"n{i}", "shoe": 40.0 + i} for i in range(9)}
    (finding,) = same_people({"a": first, "b": second})
    assert "in name;" in finding.evidence
    assert same_people({"a": first, "b": {"0": {"shoe": 40.0}}}) == ()
    with pytest.raises(InputError, match="descriptor 'name': expected numbers or texts, but got both"):
        same_people({"a": first, "b": {"0": {"name": 3.0}}})


def test_every_pair_of_datasets_is_compared():
    first = people(drawn(4))
    findings = same_people({"a": first, "b": people(drawn(5)), "c": first})
    assert [f.where for f in findings] == ["a, c"]


def test_a_declared_cohort_needs_no_descriptors():
    (finding,) = same_people({}, cohorts={"uci": "volunteers", "hapt": "volunteers", "x": "others", "y": "", "z": ""})
    assert (finding.id, finding.severity) == ("same-cohort", "error")
    assert finding.evidence == "2 datasets are of the same people: 'uci', 'hapt'"
