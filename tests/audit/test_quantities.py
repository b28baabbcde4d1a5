"""Findings about units and scales are written by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.audit.quantities import scales, units_and_frames
from gnomon.core.errors import InputError


def ids(findings):
    return [finding.id for finding in findings]


def tags(unit="m", frame="world"):
    return {"unit": unit, "frame": frame}


def test_equal_tags_are_clean():
    side = {"a": tags(), "b": tags()}
    assert units_and_frames({"truth": side, "prediction": side}) == ()


def test_sides_of_a_case_differ():
    findings = units_and_frames({"hand": {"a": tags(), "b": tags()}, "root": {"a": tags(frame="camera"), "b": tags()}})
    assert (findings[0].id, findings[0].severity, findings[0].where) == ("tags-differ", "error", "frame")
    assert findings[0].evidence == "frame differs between hand and root in 1 of 2 cases; 'a': hand world, root camera"
    assert ids(findings) == ["tags-differ", "tags-mixed"]


def test_cases_of_a_side_differ():
    side = {"a": tags("m"), "b": tags("mm"), "c": tags("m")}
    findings = units_and_frames({"truth": side, "prediction": side})
    assert ids(findings) == ["tags-mixed", "tags-mixed"]
    assert findings[0].evidence == "truth: unit is not the same in all 3 cases (m 2, mm 1)"


def test_missing_tags_are_counted_and_do_not_differ():
    findings = units_and_frames({"truth": {"a": tags(), "b": {}}, "prediction": {"a": {"unit": "m"}}}, ["unit"])
    assert [f.evidence for f in findings] == ["truth: 1 of 2 cases have no unit"]


def test_any_tag_can_be_compared():
    found = units_and_frames(
        {"data": {"a": {"gravity": "removed"}}, "model": {"a": {"gravity": "needed"}}}, ["gravity"]
    )
    assert ids(found) == ["tags-differ"]


@pytest.mark.parametrize("sides", [{}, {"truth": {}}])
def test_without_tags_nothing_is_checked(sides):
    with pytest.raises(InputError, match="expected at least one side"):
        units_and_frames(sides)


@pytest.mark.parametrize(
    ("value", "guess"),
    [
        (1.0, "as between g and m/s^2"),
        (9810.0, "as between m and mm or s and ms"),
        (981.0, "as between m and cm"),
        (9.81 / 57.3, "as between degrees and radians"),
        (9.81e4, "a factor of 1e+04)"),
        (0.0, "'x': 0"),
    ],
)
def test_a_scale_that_is_off_is_guessed(value, guess):
    (finding,) = scales({"a": 9.7, "b": 9.81, "c": 9.9, "d": 9.81, "x": value})
    assert (finding.id, finding.severity) == ("suspicious-scale", "warning")
    assert finding.evidence.startswith("1 of 5 cases")
    assert guess in finding.evidence


@given(st.lists(st.floats(1e-6, 1e6), min_size=1), st.floats(1.5, 100))
def test_cases_within_the_factor_of_the_middle_one_are_clean(values, factor):
    middle = sorted(values)[len(values) // 2]
    odd = sum(not middle / factor <= value <= middle * factor for value in values)
    found = scales({str(i): value for i, value in enumerate(values)}, factor=factor)
    assert [f.evidence.split(" cases")[0] for f in found] == ([f"{odd} of {len(values)}"] if odd else [])


@pytest.mark.parametrize(
    ("magnitudes", "factor"), [({}, 5), ({"a": -1.0}, 5), ({"a": float("nan")}, 5), ({"a": 1.0}, 1)]
)
def test_what_has_no_scale_is_refused(magnitudes, factor):
    with pytest.raises(InputError, match="scales: expected magnitudes that are not negative and a factor over 1"):
        scales(magnitudes, factor=factor)
