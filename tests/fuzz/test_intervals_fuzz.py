"""Hostile files of intervals: a value or an InputError of one line that names the file, in bounded time and memory."""

from __future__ import annotations

import json
import resource
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.formats.intervals import JSON, read_intervals, recognise
from gnomon.suites.events.files import group_intervals, read_predictions
from gnomon.suites.events.recordings import Durations, Tabled

SECONDS = 10.0
MEMORY_MIB = 1500
EFFORT = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=150)
EAF = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" VERSION="3.0"><HEADER TIME_UNITS="milliseconds"/>
<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="500"/><TIME_SLOT TIME_SLOT_ID="ts2"/>
<TIME_SLOT TIME_SLOT_ID="ts3" TIME_VALUE="2500"/></TIME_ORDER>
<TIER TIER_ID="act"><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2">
<ANNOTATION_VALUE>walk</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="ts2" TIME_SLOT_REF2="ts3">
<ANNOTATION_VALUE>sit &amp; wait</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER></ANNOTATION_DOCUMENT>
"""
GRID = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 6
tiers? <exists>
size = 1
item []:
    item [1]:
        class = "IntervalTier"
        name = "act"
        xmin = 0
        xmax = 6
        intervals: size = 2
        intervals [1]:
            xmin = 0
            xmax = 2.5
            text = "say ""hi"" now"
        intervals [2]:
            xmin = 2.5
            xmax = 6
            text = ""
"""
SAMPLES = {
    "h.eaf": EAF,
    "h.TextGrid": GRID,
    "h.rttm": "SPEAKER a 1 0.5 1.25 <NA> <NA> anna 0.5 <NA>\n;; x\nLEXEME a 1 0 1 hi lex anna <NA> <NA>\n",
    "h.txt": "0.5\t1.25\twalk\n\\\t1\t2\n2\t3\tsit\n",
    "h.tsv": "filename\tonset\toffset\tevent_label\na\t0.5\t1\twalk\nb\t\t\t\n",
    "h.csv": "recording,start,duration,label,confidence\na,0.1,0.2,walk,0.5\nb,1,2,sit,\n",
    "h.jsonl": '{"file": "a", "start": 0, "end": 1, "label": "x"}\n{"file": "b", "start": 0, "end": 1, "label": 3}\n',
}
PIECES = [
    *("<", ">", "</", "/>", '"', '""', "&lt;", "&x;", "<!DOCTYPE a>", "<!ENTITY a 'b'>", "<![CDATA[", "]]>", "<TIER>"),
    *("TIME_VALUE", "1e999", "-1", "NaN", "inf", "\t", "\n", "\r", "\0", "\ufeff", ",", ";", "\\", "!", "{", "[1]"),
    *("<exists>", "size = 999999999999", "SPEAKER", "<NA>", "0" * 40, "ä", "\ud800"),
]


@pytest.fixture(scope="module", autouse=True)
def bounded_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEMORY_MIB, f"the peak grew by {grown:.0f} MiB"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("intervals")


def read_both(path):
    """Read a file as predictions and as truth."""
    read_predictions(path)
    if (kind := recognise(path)) != JSON:
        held = read_intervals(path, kind)
        held.table.validate(full=True)
        assert len(held.rows) == held.table.num_rows
        group_intervals(held)
        Tabled(held, "x").make_cases(Durations(seconds=10.0))


def attempt(path, data):
    """Read hostile bytes; return whether they were accepted."""
    path.write_bytes(data)
    start = time.monotonic()
    try:
        read_both(path)
        accepted = True
    except InputError as error:
        message = str(error)
        assert "\n" not in message
        assert "\r" not in message
        assert path.name in message
        accepted = False
    assert time.monotonic() - start < SECONDS
    return accepted


def damage(draw, data):
    """Cut, repeat, replace or insert something in a valid file."""
    for _ in range(draw(st.integers(1, 3))):
        at, to = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        piece = draw(
            st.sampled_from(PIECES).map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=4)
        )
        how = draw(st.sampled_from(["cut", "insert", "replace", "repeat"]))
        if how == "cut":
            data = data[:at] + data[to:]
        elif how == "insert":
            data = data[:at] + piece + data[at:]
        elif how == "replace":
            data = data[:at] + piece + data[at + len(piece) :]
        else:
            data = data[:to] + data[at:]
    return data


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_read(folder, name):
    assert attempt(folder / name, SAMPLES[name].encode())


@pytest.mark.parametrize("name", SAMPLES)
@EFFORT
@given(st.data())
def test_damaged_files(folder, name, data):
    wide = name == "h.TextGrid" and data.draw(st.booleans())
    attempt(folder / name, damage(data.draw, SAMPLES[name].encode("utf-16" if wide else "utf-8")))


@EFFORT
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from(list(SAMPLES)))
def test_pieces(folder, text, name):
    attempt(folder / name, text.encode("utf-8", "surrogatepass"))


@EFFORT
@given(st.binary(max_size=200), st.sampled_from(list(SAMPLES)))
def test_bytes(folder, data, name):
    attempt(folder / name, data)


LAUGHS = '<!DOCTYPE lolz [<!ENTITY lol "lol">' + "".join(
    f'<!ENTITY lol{n + 1} "{f"&lol{n or str()};" * 10}">' for n in range(9)
)
BOMBS = {
    "entities.eaf": f'<?xml version="1.0"?>{LAUGHS}]><ANNOTATION_DOCUMENT>&lol9;</ANNOTATION_DOCUMENT>',
    "outside.eaf": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><ANNOTATION_DOCUMENT>&x;</ANNOTATION_DOCUMENT>',
    "deep.eaf": "<ANNOTATION_DOCUMENT>" + "<a>" * 200_000,
    "chain.eaf": EAF.replace(
        "</TIME_ORDER>", "".join(f'<TIME_SLOT TIME_SLOT_ID="x{n}"/>' for n in range(20_000)) + "</TIME_ORDER>"
    ).replace(
        "</TIER>",
        "".join(
            f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="b{n}" TIME_SLOT_REF1="x{n}" TIME_SLOT_REF2="x{n + 1}"/>'
            "</ANNOTATION>"
            for n in range(19_999)
        )
        + "</TIER>",
    ),
    "circle.eaf": EAF.replace(
        "</TIER>",
        '<ANNOTATION><REF_ANNOTATION ANNOTATION_ID="r1" ANNOTATION_REF="r1">'
        "<ANNOTATION_VALUE>x</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION></TIER>",
    ),
    "counts.TextGrid": GRID.replace("size = 2", "size = 99999999999999"),
    "tiers.TextGrid": GRID.replace("size = 1", "size = 1e300"),
    "quotes.TextGrid": GRID.split("name")[0] + '"' + '""' * 2_000_000,
    "open.TextGrid": GRID.replace('"say', '"say' + '"' * 999_999),
    "huge.csv": "start,duration,label\n1e300,1e-300,a\n",
    "exponent.csv": "start,duration,label\n0,1e999999999,a\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(folder, name):
    assert not attempt(folder / name, BOMBS[name].encode())


def test_an_entity_is_refused_by_its_line(folder):
    path = folder / "entities.eaf"
    path.write_text(BOMBS["entities.eaf"])
    with pytest.raises(InputError, match=r"entities.eaf: line 1: a document type or an entity, which no ELAN file has"):
        read_both(path)


def test_lines_of_json_that_nest_are_refused(folder):
    line = '{"start": 0, "end": 1, "label": ' + "[" * 5000 + "]" * 5000 + "}"
    assert not attempt(folder / "deep.jsonl", line.encode())
    assert not attempt(folder / "wide.jsonl", json.dumps({f"k{n}": n for n in range(20_000)}).encode())
