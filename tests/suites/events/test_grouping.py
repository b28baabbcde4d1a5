"""Groups that are given beside the truth. Those of natural calls are in tests/natural/test_events.py."""

import pytest

from gnomon.core.errors import InputError
from gnomon.intake.formats.intervals import of_memory
from gnomon.suites.events.grouping import assign_groups, find_likely, offer_group
from gnomon.suites.events.inputs import Given
from gnomon.suites.events.recordings import Durations, Tabled

ROWS = [
    {"recording": name, "start": 0, "end": 1 + number, "label": "x", "room": "r"}
    for number, name in enumerate(["a", "b", "a"])
]


def given():
    table = Tabled(of_memory(ROWS, "truth"), "recording")
    return Given(table.make_cases(Durations()), table.list_rows())


@pytest.mark.parametrize(
    "group", [{"a": "p", "b": "q"}, ["p", "q"], ["p", "q", "p"], {"id": ["b", "a"], "who": ["q", "p"]}]
)
def test_groups_become_a_tag(group):
    found = assign_groups(given(), group, "recording")
    assert [case.tags[found.level] for case in found.cases] == ["p", "q"]
    assert found.level == ("who" if "who" in group else "group")
    assert found.source == "<groups in memory>"


def test_a_path_is_a_table_unless_it_is_a_tag(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "who.csv").write_text("recording,person\na,p\nb,q\n")
    assert assign_groups(given(), "who.csv", "recording").level == "person"
    (tmp_path / "room").write_text("recording,person\na,p\nb,q\n")
    assert (assign_groups(given(), "room", "recording").level, assign_groups(given(), "", "recording").level) == (
        "room",
        "",
    )


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"a": "p"}, "no group for 1 of 2 recordings: 'b'"),
        (["p"], "1 values, expected 2, one for each recording of the truth or 3, one for each row"),
        (["p", "q", "z"], "recording 'a' has the groups 'p' and 'z'; give it one"),
        ({"id": ["a", "a"], "who": ["p", "q"]}, "expected every recording once in column 'id'"),
        (
            {"id": ["a"], "who": ["p"], "more": [1]},
            "expected two columns, recording and group, but got 'id', 'who', 'more'",
        ),
    ],
)
def test_groups_that_do_not_fit(group, message):
    with pytest.raises(InputError, match=message):
        assign_groups(given(), group, "recording")


def test_a_likely_group_is_offered():
    assert find_likely(given().cases) == "room"
    (finding,) = offer_group("room", "recording", "recording", "t.csv")
    assert "several share a 'room'" in finding.evidence
    assert offer_group("room", "room", "recording", "t.csv") == offer_group("", "recording", "recording", "t.csv") == []
