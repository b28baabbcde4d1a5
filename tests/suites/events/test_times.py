"""Times of a case: three kinds, never mixed, printed where they were written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.suites.events.times import (
    AWARE,
    NAIVE,
    NUMBER,
    Stretch,
    Zone,
    from_text,
    kind_of,
    moment,
    place,
    show,
    zone_of,
)

START = "2012-05-16T09:00:00-08:00"
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
DATES = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.none() | OFFSETS)


@given(DATES, st.integers(-(10**15), 10**15))
def test_what_is_shown_reads_back(origin, microseconds):
    zone = zone_of(origin)
    seconds = microseconds / 1e6
    text = show(seconds, zone)
    assert zone.seconds(text) == pytest.approx(seconds, abs=1e-6)
    assert show(zone.seconds(text), zone) == text
    assert moment(text).utcoffset() == origin.utcoffset()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_themselves(value):
    assert Zone().seconds(value) == value
    assert from_text(show(value, Zone())) == value


def test_offsets_may_differ_and_the_zone_of_the_origin_is_printed():
    zone = zone_of(START)
    assert zone.seconds("2012-05-16T19:00:00.25+02:00") == 0.25
    assert zone.seconds("2012-05-16T17:00:00Z") == 0
    assert zone.seconds(datetime(2012, 5, 16, 18, tzinfo=UTC)) == 3600
    assert show(0.25, zone) == "2012-05-16T09:00:00.250000-08:00"


def test_daylight_saving_counts_elapsed_seconds():
    berlin = ZoneInfo("Europe/Berlin")
    zone = zone_of(datetime(2024, 3, 31, 1, 30, tzinfo=berlin))
    assert zone.seconds(datetime(2024, 3, 31, 3, 30, tzinfo=berlin)) == 3600
    assert show(3600, zone) == "2024-03-31T03:30:00+02:00"


@pytest.mark.parametrize("origin", [START, "2012-05-16T09:00:00", 12])
@pytest.mark.parametrize("other", [START, "2012-05-16T09:00:00", 12])
def test_kinds_do_not_mix(origin, other):
    zone = zone_of(origin)
    if origin == other:
        assert zone.seconds(other) == (12 if other == 12 else 0)
        return
    with pytest.raises(InputError, match=r"truth.json: label 3: t1: got .*expected .*in one way"):
        zone.seconds(other, "truth.json: label 3: t1")


def test_kinds():
    assert [zone_of(value).kind for value in (START, "2012-05-16", 1.5)] == [AWARE, NAIVE, NUMBER]
    assert kind_of(moment(np.float32(1.5))) == kind_of(moment(np.int64(2))) == NUMBER


@pytest.mark.parametrize("value", [None, True, b"1", [], {}, "", "noon", "12.5", float("nan"), float("inf"), 10**400])
def test_what_is_no_time(value):
    with pytest.raises(InputError, match="here: ") as caught:
        moment(value, "here")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_the_ends_of_the_calendar(value):
    with pytest.raises(InputError, match="outside the calendar"):
        zone_of(value)
    assert abs(zone_of(START).seconds(value)) > 1e10
    with pytest.raises(InputError, match="is not a date"):
        show(1e15, zone_of(START))


@given(st.text() | st.from_regex(r"[-+0-9.eET:Z_ ]{0,30}", fullmatch=True))
def test_any_text_is_a_time_or_an_input_error(text):
    for read in (from_text, moment, zone_of):
        try:
            read(text)
        except InputError as error:
            message = str(error)
            assert "\n" not in message


def test_text_cells():
    assert from_text("20120516") == 20120516.0
    assert from_text("+.5e1") == 5.0
    for cell in ("1_000", "nan", "١٢", "0x10"):
        with pytest.raises(InputError):
            from_text(cell)


def test_placing():
    zone = zone_of(START)
    dated = Stretch(moment("2012-05-16T09:00:01-08:00"), moment("2012-05-16T09:00:02-08:00"), "walk", 0.5)
    plain = Stretch(1.0, 2.0, "walk", 0.5)
    assert place([dated], zone, "p") == place([plain], zone, "p") == place([plain], Zone(), "p") == (plain,)
    assert place([], zone, "p") == ()
    for wrong, options in [([dated, plain], {}), ([plain, dated], {}), ([plain], {"relative": False})]:
        with pytest.raises(InputError, match=r"p\[\d\].start: got seconds as a number"):
            place(wrong, zone, "p", **options)
    with pytest.raises(InputError, match=r"p\[0\].start: got a date"):
        place([dated], Zone(), "p")
    with pytest.raises(InputError, match=r"p\[0\].end: got a date with"):
        place([Stretch(1.0, dated.end, "walk")], zone, "p")
    with pytest.raises(InputError, match=r"p\[1\]: ends before it starts"):
        place([plain, Stretch(2.0, 1.0, "walk")], zone, "p")
