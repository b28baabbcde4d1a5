"""Stretches as columns: a sequence like any other, and times as reading them one by one gives them."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.suites.events import columns, spans, times
from gnomon.suites.events.spans import Placed, Read, joined, moments
from gnomon.suites.events.times import AWARE, NAIVE, NUMBER, Stretch, Zone, from_text, kind_of, zone_of

EFFORT = settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
ROWS = [Stretch(0.0, 1.0, "b", 0.5), Stretch(2.0, 2.0, "a", None), Stretch(-1.0, 3.0, "b", 0.0)]
DIGITS = st.sampled_from("0123456789")
DATE = st.dates().map(lambda day: f"{day:%m-%d}")
DATE_TEXT = st.tuples(
    st.sampled_from(["2012", "0001", "0000", "9999", "1969", "12012", "-001"]),
    st.one_of(DATE, st.sampled_from(["02-29", "02-30", "13-01", "1-01", "01-02", "12-31"])),
    st.sampled_from(
        ["", "T", " ", "t", "T0", "T09", "T09:30", "T09:30:59", "T23:59:60", "T24:00", "T0930", " 09:30:01"]
    ),
    st.sampled_from(["", ".5", ".123456", ".1234567", ",5", ".", ".000001"]),
    st.sampled_from(["", "Z", "z", "+00:00", "-00:00", "+0530", "-23:59", "+24:00", "+5", "+05:30:15", " Z", "-08"]),
).map(lambda parts: f"{parts[0]}-{''.join(parts[1:])}")
NUMBER_TEXT = st.one_of(
    st.floats().map(repr),
    st.text("0123456789.eE+-_ nif", max_size=8),
    st.sampled_from(["1e400", "1e-400", "4.9e-324", "2.4e-324", "\u0661", "0x1", "1\u00a0", "9007199254740993", "-0"]),
)


def column(rows=ROWS):
    names = ["b", "unused", "a"]
    starts, ends = (np.array([row[side] for row in rows]) for side in (0, 1))
    scores = np.array([np.nan if row.score is None else row.score for row in rows])
    return Placed(starts, ends, np.array([names.index(row.label) for row in rows], dtype=np.int64), names, scores)


def dated(*texts, kind=AWARE):
    side = pa.array(texts)
    moved = moments(side, kind)
    n = len(texts)
    return Read(kind, moved, moved, (side, side), np.zeros(n, np.int64), ["a"], np.full(n, np.nan))


def told(read):
    """What a call gives, or says."""
    try:
        return read()
    except InputError as error:
        return str(error)


def bits(stretches):
    return [(stretch.start.hex(), stretch.end.hex(), stretch.label, stretch.score) for stretch in stretches]


def test_a_sequence_like_any_other():
    found = column()
    assert (len(found), list(found), found[0], found[-1]) == (3, ROWS, ROWS[0], ROWS[-1])
    assert (found[1:], found[::-1], found[:0]) == (ROWS[1:], ROWS[::-1], [])
    assert (ROWS[1] in found, found.index(ROWS[2]), list(reversed(found))) == (True, 2, ROWS[::-1])
    for at in (3, -4):
        with pytest.raises(IndexError, match=f"stretch {at} of 3"):
            found[at]
    assert found == tuple(ROWS)
    assert tuple(ROWS) == found
    assert found != ROWS[:2]
    assert found != [*ROWS[:2], Stretch(-1.0, 3.0, "b", 0.1)]
    assert found != "abc"
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(TypeError):
        hash(found)


def test_dates_are_those_that_stand_in_the_file():
    found = dated("2012-05-16T09:00:00-08:00", "2012-05-16T17:00:01.5Z")
    assert [stretch.start.isoformat() for stretch in found] == [
        "2012-05-16T09:00:00-08:00", "2012-05-16T17:00:01.500000+00:00"
    ]  # fmt: skip
    assert [len(part) for part in found.split([0, 1, 0, 1])] == [0, 1, 0, 1]
    assert found.only(np.array([1, 0]))[0] == found[1]


def test_some_names_are_left_out():
    assert column().without(("b", "c")) == ROWS[1:2]
    assert column().without(("a",)) == [ROWS[0], ROWS[2]]
    assert column().without(("unused",)) == ROWS
    assert column().labels().to_pylist() == ["b", "a", "b"]


@EFFORT
@given(st.lists(st.one_of(DATE_TEXT, NUMBER_TEXT), min_size=1, max_size=3))
def test_times_are_those_of_python_or_none(texts):
    for kind in (AWARE, NAIVE, NUMBER):
        found = moments(pa.array(texts), kind)
        if found is None:
            continue
        read = [from_text(text) for text in texts]  # raises where a text is none of a time
        assert {kind_of(moment) for moment in read} == {kind}
        zone = Zone() if kind == NUMBER else Zone(spans._EPOCHS[kind])
        seconds = found if kind == NUMBER else found / 1e6
        assert [time.hex() for time in seconds.tolist()] == [zone.seconds(moment).hex() for moment in read]


def test_usual_times_are_read():
    assert moments(pa.array(["2012-05-16T09:00:00.5-08:00"]), AWARE).tolist() == [1337187600500000]
    assert moments(pa.array(["2012-05-16", "2012-05-16 00:00:01"]), NAIVE).tolist() == [
        1337126400000000, 1337126401000000
    ]  # fmt: skip
    assert moments(pa.array([], pa.string()), AWARE).tolist() == []
    for kind, text in ((AWARE, "2012-05-16T09:00"), (NAIVE, "2012-05-16T09:00Z"), (NUMBER, "inf"), (NAIVE, "5"),
                       (AWARE, "0000-06-01T00:00Z"), (NAIVE, "0000-12-31")):  # fmt: skip
        assert moments(pa.array([text]), kind) is None


@EFFORT
@given(
    st.lists(st.tuples(*(2 * [st.datetimes()]), st.sampled_from([None, 0.5])), max_size=4),
    st.datetimes(),
    st.sampled_from(["", "Z", "-08:00", "+23:59"]),
    st.booleans(),
)
def test_dates_are_placed_as_one_by_one(rows, origin, offset, relative):
    kind = AWARE if offset else NAIVE
    sides = [pa.array([row[side].isoformat() + offset for row in rows], pa.string()) for side in (0, 1)]
    moved = [moments(side, kind) for side in sides]
    if any(found is None for found in moved):
        return
    scores = np.array([np.nan if row[2] is None else row[2] for row in rows], dtype=np.float64)
    read = Read(kind, *moved, tuple(sides), np.zeros(len(rows), np.int64), ["a"], scores)
    zone = Zone(origin.replace(tzinfo=UTC if offset else None))
    placed = [
        told(lambda place=place, rows=given_: bits(place(rows, zone, "here", relative=relative)))
        for place, given_ in ((spans.place, read), (times.place, list(read)))
    ]
    assert placed[0] == placed[1]


def test_kinds_that_do_not_fit_are_named():
    zone = zone_of("2012-05-16T09:00:00")
    with pytest.raises(InputError, match=r"here\[0\].start: got a date with an offset .* expected a date without"):
        spans.place(dated("2012-05-16T09:00:00Z"), zone, "here")
    numbers = Read(NUMBER, np.array([1.0]), np.array([2.0]), None, np.zeros(1, np.int64), ["a"], np.array([np.nan]))
    assert spans.place(numbers, zone, "here") == [Stretch(1.0, 2.0, "a")]
    with pytest.raises(InputError, match=r"here\[0\].start: got seconds as a number"):
        spans.place(numbers, zone, "here", relative=False)
    empty = numbers.only(slice(0, 0))
    assert spans.place(empty, zone, "here", relative=False) == spans.place(empty, zone, "here") == []
    late = Read(NUMBER, np.array([1.0, 3]), np.array([2.0, 2]), None, np.zeros(2, np.int64), ["a"], np.full(2, np.nan))
    with pytest.raises(InputError, match=r"here\[1\]: ends before it starts: 3.0 to 2.0"):
        spans.place(late, Zone(), "here")


def test_spans_too_long_for_exact_floats_are_left_to_python():
    read = dated("0001-01-03T00:00:00.000001Z", "9999-12-31T23:59:59.999999Z")
    zone = zone_of("2012-05-16T09:00:00Z")
    assert read.placed(zone) is None
    assert spans.place(read, zone, "here") == times.place(list(read), zone, "here")
    assert datetime.fromisoformat("9999-12-31T23:59:59.999999Z") == read[1].start


def test_stretches_are_joined_in_their_order():
    found = joined([column(), ROWS[:1], [], column().only(slice(1, 2))])
    assert found == [*ROWS, ROWS[0], ROWS[1]]
    assert found.labels().to_pylist() == ["b", "a", "b", "b", "a"]
    assert joined([]) == []


@EFFORT
@given(st.lists(st.builds(Stretch, st.floats(-9, 0), st.floats(0, 9), st.sampled_from(["a10", "a9", "b", "5"]),
                          st.sampled_from([None, 0.5, 1.0])), max_size=6))  # fmt: skip
def test_columns_are_those_of_the_stretches(rows):
    plain, found = columns.of(rows), columns.of(joined([rows[:2], rows[2:]]).only(slice(None)))
    distinct = columns.of(_coded(rows))
    for own in (found, distinct) if len({row.label for row in rows}) == len(rows) else (distinct,):
        assert own.classes == plain.classes
        assert own.codes.tolist() == plain.codes.tolist()
        for name in ("starts", "ends", "scores"):
            assert getattr(own, name).tobytes() == getattr(plain, name).tobytes()


def _coded(rows):
    names = ["b", "a10", "5", "a9"]
    starts, ends = (np.array([row[side] for row in rows], dtype=np.float64) for side in (0, 1))
    scores = np.array([row.score for row in rows], dtype=np.float64)
    return Placed(starts, ends, np.array([names.index(row.label) for row in rows], dtype=np.int64), names, scores)
