"""Scores of slices against plain counting of the same label pairs."""

import dataclasses
import json
from statistics import mean

import msgspec
import numpy as np
import pytest

from gnomon.core.canonical import encode
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.inference.intervals import Plan, interval
from gnomon.inference.scoring import Score, derive, grouped, score, slices
from gnomon.measures.classification import F1, Accuracy, BalancedAccuracy, ClassF1, ClassRecall, Kappa

CASES = (
    [("a", "a"), ("b", "a"), ("a", "a")],
    [("a", "b"), ("b", "b")],
    [("b", "b"), ("b", "b")],
    [("a", "a")],
)
ROSTER = Roster(
    ("1", "2", "3", "4"),
    ("ann", "bob", "ann", "cat"),
    {"room": ("lab", "lab", "hall", "lab"), "floor": ("10", "9", "9", "10")},
    "subject",
)


@pytest.fixture
def tallies(count_cases):
    return {"classification": count_cases(*CASES)}


def accuracy(*rows):
    return mean(t == p for row in rows for t, p in CASES[row])


def find(scores, name, part="all"):
    (found,) = [one for one in scores if one.name == name and one.slice == part]
    return found


def test_slices_are_the_whole_and_every_value_of_the_asked_tags_in_natural_order():
    assert slices(ROSTER, ("floor", "room")) == {
        "all": {},
        "floor=9": {"floor": "9"},
        "floor=10": {"floor": "10"},
        "room=hall": {"room": "hall"},
        "room=lab": {"room": "lab"},
    }
    assert slices(ROSTER, ()) == {"all": {}}


@pytest.mark.parametrize("tags", [("day",), ("room", "day"), ("",)])
def test_an_unknown_tag_to_slice_by_is_named_with_those_there_are(tallies, tags):
    with pytest.raises(InputError, match=rf"no tag '{tags[-1]}' to slice by; there are \['floor', 'room'\]"):
        slices(ROSTER, tags)
    with pytest.raises(InputError, match="to slice by"):
        derive((Accuracy(),), tallies, ROSTER, tags, Plan())


def test_a_roster_without_tags_cannot_be_sliced():
    with pytest.raises(InputError, match="no tag 'room' to slice by; there are none"):
        slices(Roster(("1",), ("a",)), ("room",))


def test_a_tag_whose_name_would_make_slices_ambiguous_is_refused():
    # room=a=b could be the value "a=b" of room or the value "b" of room=a.
    roster = Roster(("1",), ("a",), {"room=a": ("b",), "room": ("a=b",)})
    with pytest.raises(InputError, match="cannot have '=' in its name: 'room=a'; rename the column"):
        slices(roster, ("room=a",))
    with pytest.raises(InputError, match="cannot have '=' in its name: 'day=1'"):
        slices(roster, ("room", "day=1"))
    assert slices(roster, ("room",)) == {"all": {}, "room=a=b": {"room": "a=b"}}


def test_groups_hold_one_row_per_group_in_natural_order(tallies):
    made = grouped(tallies["classification"], ROSTER, Plan())
    assert made.n == 3
    assert made.level == "subject"
    assert made.tallies.fields["n"].tolist() == [5, 2, 1]
    numbered = dataclasses.replace(ROSTER, groups=("10", "9", "10", "x"))
    assert grouped(tallies["classification"], numbered, Plan()).tallies.fields["n"].tolist() == [2, 5, 1]


@pytest.mark.parametrize("method", ["jackknife-t", "percentile", "bca"])
@pytest.mark.parametrize("order", [(3, 2, 1, 0), (1, 3, 0, 2)])
def test_the_order_of_cases_does_not_change_a_score(tallies, method, order):
    rows, plan, measures = np.array(order), Plan(method, resamples=200), (F1("macro"), Accuracy(), Kappa())
    moved = {"classification": tallies["classification"].take(rows)}
    expected = derive(measures, tallies, ROSTER, ("room", "floor"), plan)
    assert derive(measures, moved, ROSTER.take(rows), ("room", "floor"), plan) == expected


def test_groups_of_a_slice_hold_only_its_cases(tallies):
    made = grouped(tallies["classification"], ROSTER, Plan(), {"room": "lab", "floor": "10"})
    assert made.tallies.fields["n"].tolist() == [3, 1]


def test_a_slice_by_an_unknown_tag_is_refused(tallies):
    with pytest.raises(InputError, match="no tag 'day'"):
        grouped(tallies["classification"], ROSTER, Plan(), {"day": "1"})


def test_every_measure_is_scored_on_every_slice_in_order(tallies):
    scores = derive((Accuracy(), Kappa()), tallies, ROSTER, ("room",), Plan())
    assert [(one.slice, one.name) for one in scores] == [
        (part, name) for part in ("all", "room=hall", "room=lab") for name in ("accuracy", "kappa")
    ]


@pytest.mark.parametrize(
    ("part", "rows", "groups"),
    [("all", (0, 1, 2, 3), 3), ("room=lab", (0, 1, 3), 3), ("room=hall", (2,), 1), ("floor=9", (1, 2), 2)],
)
def test_a_score_rests_on_the_cases_and_groups_of_its_slice(tallies, part, rows, groups):
    found = find(derive((Accuracy(),), tallies, ROSTER, ("room", "floor"), Plan()), "accuracy", part)
    assert found.value == pytest.approx(accuracy(*rows))
    assert found.n == sum(len(CASES[row]) for row in rows)
    assert found.groups == groups


def test_a_score_carries_the_interval_of_its_groups(tallies):
    groups = grouped(tallies["classification"], ROSTER, Plan())
    found, spread = score(F1("macro"), groups), interval(F1("macro"), groups)
    assert (found.low, found.high, found.notes) == (spread.low, spread.high, spread.notes)
    assert found.interval_why == ""
    assert found.why == ""


def test_a_slice_of_one_group_has_a_score_without_an_interval(tallies):
    found = find(derive((Accuracy(),), tallies, ROSTER, ("room",), Plan()), "accuracy", "room=hall")
    assert found.value == 1.0
    assert (found.low, found.high, found.interval_why) == (None, None, "undefined (1 subject)")


def test_an_undefined_score_says_why(tallies):
    scores = derive((Kappa(), ClassRecall("a", None)), tallies, ROSTER, ("room",), Plan())
    one_class, absent = find(scores, "kappa", "room=hall"), find(scores, "recall[a]", "room=hall")
    assert (one_class.value, one_class.why) == (None, "truth and prediction hold one and the same class only")
    assert (absent.value, absent.why) == (None, "class 'a' does not occur in truth")
    assert absent.n == 0


@pytest.mark.parametrize(
    "measure",
    [
        Accuracy(),
        Kappa(),
        BalancedAccuracy(),
        *(
            F1(average, classes, zero)
            for average in ("macro", "weighted", "micro")
            for classes in ("union", "present", ("a", "b"), ("a", "x"), ("x",))
            for zero in (0, 1, None)
        ),
        *(kind(label, zero) for kind in (ClassRecall, ClassF1) for label in ("a", "x") for zero in (0, 1, None)),
    ],
    ids=repr,
)
def test_without_samples_everything_is_undefined(count_cases, measure):
    empty = {"classification": count_cases([], [], classes=("a", "b"))}
    (found,) = derive((measure,), empty, Roster(("1", "2"), ("x", "y")), (), Plan())
    assert (found.value, found.why, found.n) == (None, "no samples", 0)
    assert found.interval_why == "the score itself is undefined"


@pytest.mark.parametrize("measure", [F1("macro", ("a", "b"), 1), F1("macro", ("a", "x"), 1), ClassRecall("x", 1)])
def test_groups_without_samples_do_not_count_as_perfect(count_cases, measure):
    # Bob has no samples at all: without him nothing changes, and by himself he has no score.
    cases = count_cases([("a", "b"), ("b", "b")], [], classes=("a", "b"))
    scored = measure.score(grouped(cases, Roster(("1", "2"), ("ann", "bob")), Plan()).rows)
    assert scored.defined.tolist() == [True, False]


def test_a_score_names_its_measure_with_all_parameters(tallies):
    (found,) = derive((F1("macro", ("a", "b"), None),), tallies, ROSTER, (), Plan())
    assert found.measure == "F1(average='macro', classes=('a', 'b'), zero_division=None)"
    assert (found.name, found.direction, found.unit) == ("macro_f1_listed", "up", "")


def test_a_score_is_rebuilt_from_its_record(tallies):
    for found in derive((Accuracy(), Kappa()), tallies, ROSTER, ("room",), Plan()):
        record = found.record()
        assert msgspec.convert(json.loads(encode(record)), Score) == found
        assert set(record) == {field.name for field in dataclasses.fields(Score)}


def test_the_plan_is_used(tallies):
    (found,) = derive((Accuracy(),), tallies, ROSTER, (), Plan("none"))
    assert found.interval_why == "not asked for"
    assert found.value == pytest.approx(accuracy(0, 1, 2, 3))


def test_splitting_a_case_of_a_group_changes_nothing(count_cases):
    whole = derive((F1("macro"), Accuracy()), {"classification": count_cases(*CASES)}, ROSTER, (), Plan())
    parts = (CASES[0][:1], CASES[0][1:], *CASES[1:])
    roster = Roster(("1a", "1b", "2", "3", "4"), ("ann", *ROSTER.groups), level="subject")
    assert derive((F1("macro"), Accuracy()), {"classification": count_cases(*parts)}, roster, (), Plan()) == whole
