"""Recordings from tables: windows, durations, tags, times that cannot be right. Expected values are made by hand."""

import pytest

from gnomon.core.errors import InputError
from gnomon.intake.formats.intervals import of_memory
from gnomon.suites.events.recordings import (
    FILE,
    GIVEN,
    LAST_EVENT,
    Durations,
    Tabled,
    check_times,
    count_windows,
    find_windows,
    read_durations,
)
from gnomon.suites.events.times import Stretch

ROWS = [
    {"recording": "a", "start": 1, "end": 2.5, "label": "x", "room": "r", "note": 1},
    {"recording": "b", "start": 0, "end": 9, "label": "y", "room": "s", "note": 1},
    {"recording": "a", "start": 3, "end": 4, "label": "y", "room": "r", "note": 2},
]


def tabled(rows=ROWS, unit=""):
    return Tabled(of_memory(rows, "truth"), "recording", unit)


def test_recordings_with_windows_until_their_last_events():
    first, second = tabled().make_cases(Durations())
    assert (first.id, first.window, first.window_from, first.tags) == ("a", (0.0, 4.0), LAST_EVENT, {"room": "r"})
    assert (second.id, second.window, second.tags) == ("b", (0.0, 9.0), {"room": "s"})
    assert list(first.stretches) == [Stretch(1.0, 2.5, "x"), Stretch(3.0, 4.0, "y")]


def test_a_unit_holds_for_times_and_not_for_durations():
    scaled = [{**row, "start": row["start"] * 1000, "end": row["end"] * 1000} for row in ROWS]
    first, _ = tabled(scaled, "ms").make_cases(Durations(seconds=20.0))
    assert (first.window, first.window_from) == ((0.0, 20.0), GIVEN)
    assert list(first.stretches) == [Stretch(1.0, 2.5, "x"), Stretch(3.0, 4.0, "y")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", Durations()),
        (None, Durations()),
        ("last-event", Durations(until_last=True)),
        ("12.5", Durations(seconds=12.5, where="12.5")),
        (12, Durations(seconds=12.0, where="12")),
        ({"a": 3, 7: "4"}, Durations(by_recording={"a": 3.0, "7": 4.0}, where="<durations in memory>")),
        ({"id": ["a"], "seconds": [3]}, Durations(by_recording={"a": 3.0}, where="<durations in memory>")),
    ],
)
def test_durations(given, expected):
    assert read_durations(given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("0", "--duration: got 0.0, expected a number of seconds above 0"),
        ("nan", "--duration: got nan"),
        ("missing.csv", "--duration 'missing.csv': expected seconds, last-event, or a table"),
        ({"a": "x"}, "duration of 'a': got None, expected a number"),
        ({"id": ["a", "a"], "duration": [1, 2]}, "row 2: 'a': expected each recording once"),
        ({"name": ["a"], "duration": [1]}, "expected the columns recording and duration, but got 'name', 'duration'"),
    ],
)
def test_what_is_no_duration(given, message):
    with pytest.raises(InputError, match=message):
        read_durations(given)


def test_a_table_of_durations_names_every_recording():
    with pytest.raises(InputError, match=r"d\.csv: no duration of the recording 'b'; add it"):
        tabled().make_cases(Durations(by_recording={"a": 5.0}, where="d.csv"))


@pytest.mark.parametrize(
    ("scale", "shift", "message"),
    [
        (100_000, 0, "true events reach 900,000, all in whole numbers, which would be 10.4 days"),
        (1, 1.7e9, "all times lie from 1,700,000,000 s to 1,700,000,009 s: they look like those of a clock"),
    ],
)
def test_times_that_cannot_be_right(scale, shift, message):
    rows = [{**row, **{side: row[side] * scale + shift for side in ("start", "end")}} for row in ROWS]
    cases = tabled(rows).make_cases(Durations())
    with pytest.raises(InputError, match=message):
        check_times(cases, "")
    check_times(cases, "s")
    check_times(tabled(rows).make_cases(Durations(seconds=1e10)), "")
    check_times(tabled().make_cases(Durations()), "")


def test_what_is_said_of_windows():
    cases = [*tabled().make_cases(Durations()), *tabled().make_cases(Durations(seconds=7.0))]
    windows = count_windows(cases)
    assert windows == {LAST_EVENT: (2, 4.0, 9.0), GIVEN: (2, 7.0, 7.0)}
    (finding,) = find_windows({**windows, FILE: (1, 3.0, 3.0)}, "t.csv")
    assert finding.severity == "info"
    assert finding.evidence == (
        "the truth states no windows: they end with the last true event (2 recordings, 4 to 9 s); as --duration says "
        "(2 recordings, 7 s); where the file says (1 recording, 3 s)"
    )
    assert "give --duration" in finding.remedy
    (given,) = find_windows({GIVEN: windows[GIVEN]}, "t.csv")
    assert given.remedy == "time without events counts, too"
    assert find_windows({}, "t.csv") == []
