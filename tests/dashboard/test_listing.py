"""The order of the list of runs. Expected orders: by hand, from the directions that measures declare."""

import dataclasses
import json
import re

import pytest

from gnomon.core.errors import IntegrityError
from gnomon.dashboard.library import Library, Listed
from gnomon.dashboard.listing import Asked, chosen, listed
from gnomon.measures.classification import F1
from gnomon.measures.ranked import Percentile
from gnomon.measures.skeletons import MPJPE
from gnomon.runs.index import entry_of


@pytest.fixture
def entry(made):
    return Library(made).listed()[0].entry


def runs_of(entry, *given):
    """Return runs: name, headline, its measure, value."""
    found = []
    for name, headline, measure, value in given:
        direction = measure.direction if measure else None
        own = dataclasses.replace(entry, system=name, headline=headline, direction=direction, value=value)
        found.append(Listed(name, own))
    return found


def order(runs, **asked):
    return [item.key for item in chosen(runs, Asked(sort="value", **asked))]


def test_the_headline_sorts_within_a_measure_the_best_first(entry):
    f1, error = F1(), MPJPE()
    runs = runs_of(
        entry,
        ("far", "mpjpe", error, 0.9),
        ("half", "macro_f1", f1, 0.5),
        ("near", "mpjpe", error, 0.1),
        ("none", "macro_f1", f1, None),
        ("good", "macro_f1", f1, 0.8),
        ("lost", "mpjpe", error, None),
    )
    assert order(runs) == ["good", "half", "none", "near", "far", "lost"]
    assert order(runs, turned=True) == ["half", "good", "none", "far", "near", "lost"]


def test_signed_errors_sort_by_their_distance_from_0(entry):
    late = Percentile("first_onsets", "first_onset_error", 50.0, "s", signed=True)
    runs = runs_of(entry, ("early", "x", late, -30.0), ("exact", "x", late, 0.0), ("late", "x", late, 2.0))
    assert order(runs) == ["exact", "late", "early"]
    assert order(runs, turned=True) == ["early", "late", "exact"]


def test_measures_of_one_name_in_two_suites_are_two_groups(entry):
    runs = runs_of(entry, ("a", "macro_f1", F1(), 0.5), ("b", "macro_f1", F1(), 0.9), ("c", "macro_f1", F1(), 0.7))
    runs[1] = Listed("b", dataclasses.replace(runs[1].entry, suite="other"))
    assert order(runs) == ["c", "a", "b"]


def test_the_page_says_by_what_rule_it_sorts(entry):
    runs = runs_of(entry, ("a", "macro_f1", F1(), 0.5), ("b", "far_away", None, 0.9))
    page = "".join(listed(runs, Asked(sort="value")))
    assert (
        "2 of 2 runs, grouped by measure, the best of each first; 1 run of measures whose direction is not known"
        in page
    )
    assert 'aria-sort="other"' in page
    assert re.findall(r">headline[^<]*<", page) == [">headline, best first<"]
    assert "grouped" not in "".join(listed(runs, Asked(sort="system")))


def test_a_run_knows_the_direction_of_its_headline(entry, made):
    assert entry.direction == "up"
    path = next(made.rglob("manifest.json"))
    manifest = json.loads(path.read_text())
    for direction, found in (("down", "down"), (None, None)):
        manifest["summary"]["direction"] = direction
        assert entry_of("x", json.dumps(manifest).encode(), "x").direction == found
    del manifest["summary"]["direction"]  # of an earlier version
    assert entry_of("x", json.dumps(manifest).encode(), "x").direction is None
    manifest["summary"]["direction"] = "sideways"
    with pytest.raises(IntegrityError, match="not the manifest of a run"):
        entry_of("x", json.dumps(manifest).encode(), "x")
