"""Turns of two processes that share the same minutes; expected figures are made up by hand."""

import contextlib

import pytest
from benchmarks import growth, turns
from benchmarks.harness import BenchmarkError
from benchmarks.sharding import written
from benchmarks.streams import STREAMS
from benchmarks.turns import Scorer, Turn, bout, in_the_same_minutes, worked

TINY = 3_001


@pytest.fixture
def scorer(tmp_path):
    for part, units in (("small", 1_000), ("data", TINY)):
        written(STREAMS["points"], tmp_path / part, units)
    with Scorer("points", tmp_path / "small", tmp_path / "data") as made:
        yield made


def test_a_process_takes_turns(scorer):
    first, second = scorer.turn(), scorer.turn()
    assert first.scored == second.scored == TINY
    assert 0 < second.seconds < 60
    assert 10 < second.peak_mb < 2000


@pytest.mark.parametrize(
    ("holds", "seconds"),
    [
        ([], 10.0),
        ([(5.0, 9.0)], 10.0),
        ([(9.0, 11.0)], 9.0),
        ([(12.0, 14.0), (15.0, 16.0)], 7.0),
        ([(19.0, 25.0)], 9.0),
        ([(5.0, 25.0)], 0.0),
        ([(20.0, 21.0)], 10.0),
    ],
)
def test_what_a_turn_was_held_for_is_not_counted(holds, seconds):
    assert worked(10.0, 20.0, holds) == seconds


def test_a_process_that_is_held_does_nothing(scorer):
    scorer.turn()
    with scorer.held():
        scorer.begin()
        assert not scorer.done(1.0)
    assert scorer.end().scored == TINY


def test_a_process_that_fails_tells_why(tmp_path):
    (tmp_path / "none").mkdir()
    with (
        pytest.raises(BenchmarkError, match=r"(?s)points, none: .*nothing to stack"),
        Scorer("points", tmp_path / "none", tmp_path / "none") as made,
    ):
        made.turn()


class Told:
    """A scorer whose turns take what they are told to, and which notes what it was asked for."""

    def __init__(self, seconds, waits, log, name):
        self.seconds, self.waits, self.log, self.name = seconds, waits, log, name
        self.waiting = 0

    def begin(self):
        self.log.append(f"{self.name} begins")
        self.waiting = self.waits

    def done(self, within_s):
        del within_s
        self.waiting -= 1
        return self.waiting < 0

    @contextlib.contextmanager
    def held(self):
        self.log.append(f"{self.name} is held")
        yield
        self.log.append(f"{self.name} goes on")

    def end(self):
        self.log.append(f"{self.name} ends")
        return Turn(self.seconds, 1.0, 1.0, 0.0, 1)

    def turn(self):
        self.log.append(f"{self.name} takes a turn")
        return Turn(self.seconds, 1.0, 1.0, 0.0, 1)


def test_a_long_turn_is_held_while_the_other_takes_its_own():
    log = []
    long, short = in_the_same_minutes(Told(99.0, 2, log, "many"), Told(0.6, 0, log, "few"))
    held = ["many is held", "few takes a turn", "many goes on"]
    assert log == ["few takes a turn", "few takes a turn", "many begins", *held, *held, "many ends"]
    assert [len(long), len(short)] == [1, 3]


def test_short_turns_alternate_and_the_first_does_not_count():
    log = []
    long, short = in_the_same_minutes(Told(2.0, 0, log, "many"), Told(0.6, 0, log, "few"))
    assert [len(long), len(short)] == [3, 4]
    assert log[1:4] == ["few takes a turn", "many begins", "many ends"]


def test_a_bout_fills_a_moment():
    assert len(bout(Told(turns.BOUT_S, 0, [], "few"))) == 1
    assert len(bout(Told(turns.BOUT_S / 4, 0, [], "few"))) == 4


def test_a_large_point_is_compared_with_a_hundredth_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "FILL_S", 0.1)
    monkeypatch.setattr(turns, "BOUT_S", 0.01)
    found = growth.point("points", 400_000, tmp_path, compared=400_000)
    assert found["times"] == pytest.approx(found["seconds"] / found["few_s"])
    assert found["few_turns"] >= 3
    assert list(tmp_path.iterdir()) == []
