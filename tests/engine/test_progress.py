"""Progress of work that is no plan: how often it is said, and what is said to be left (by hand, on a clock of its own).

What is seen of plans is tested with jobs.
"""

import pytest

from gnomon.engine import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still; tests turn it."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def parts(clock, *seconds):
    for number, length in enumerate(seconds):
        clock[0] += length
        yield f"p{number}"


def test_parts_are_passed_on_and_short_work_says_nothing(clock, capsys):
    assert list(progress.told(parts(clock, 1, 1, 1), 3, "things")) == ["p0", "p1", "p2"]
    assert capsys.readouterr() == ("", "")


def test_lines_come_some_seconds_apart_and_none_for_the_last(clock, capsys):
    assert len(list(progress.told(parts(clock, 4, 2, 3, 3, 20), 5, "things"))) == 5
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["2 of 5 things (p1), 9.0 s left", "4 of 5 things (p3), 3.0 s left"]


def test_a_first_part_that_prepares_does_not_count(clock, capsys):
    list(progress.told(parts(clock, 60, 6, 8, 1), 4, "things", first_prepares=True))
    assert capsys.readouterr().err.splitlines() == ["2 of 4 things (p1), 12 s left", "3 of 4 things (p2), 7.0 s left"]
