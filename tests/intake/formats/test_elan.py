"""ELAN files: slots, tiers, references. Expected values are read off the texts; pympi-ling wrote those of one test."""

import pytest

from gnomon.core.errors import InputError
from gnomon.intake import unread
from gnomon.intake.formats.elan import read_elan
from gnomon.intake.limits import DEFAULT

TEXT = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" DATE="" FORMAT="3.0" VERSION="3.0">
<HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"><MEDIA_DESCRIPTOR MEDIA_URL="a.wav" MIME_TYPE="audio/x-wav"/></HEADER>
<TIME_ORDER>
<TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="100"/><TIME_SLOT TIME_SLOT_ID="ts2"/><TIME_SLOT TIME_SLOT_ID="ts3"/>
<TIME_SLOT TIME_SLOT_ID="ts4" TIME_VALUE="3100"/><TIME_SLOT TIME_SLOT_ID="ts5" TIME_VALUE="4537"/>
</TIME_ORDER>
<TIER LINGUISTIC_TYPE_REF="default-lt" TIER_ID="act">
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2">
<ANNOTATION_VALUE>walk</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="ts2" TIME_SLOT_REF2="ts3">
<ANNOTATION_VALUE> </ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a3" TIME_SLOT_REF1="ts3" TIME_SLOT_REF2="ts4">
<ANNOTATION_VALUE>sit &amp; wait</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
</TIER>
<TIER LINGUISTIC_TYPE_REF="ref" PARENT_REF="act" TIER_ID="gloss">
<ANNOTATION><REF_ANNOTATION ANNOTATION_ID="r1" ANNOTATION_REF="a3">
<ANNOTATION_VALUE>resting</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>
</TIER>
</ANNOTATION_DOCUMENT>
"""


def put(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_slots_without_a_value_are_spread_evenly(tmp_path):
    with unread.collecting() as notes:
        table, lines = read_elan(put(tmp_path / "a.eaf", TEXT), "act", DEFAULT)
    assert table.to_pydict() == {"start": [0.1, 2.1], "end": [1.1, 3.1], "label": ["walk", "sit & wait"]}
    assert lines == [9, 13]
    assert notes.files("any")[0]["names"] == {"annotations without a value": 1}


def test_references_have_the_times_of_what_they_refer_to(tmp_path):
    table, _ = read_elan(put(tmp_path / "a.eaf", TEXT), "gloss", DEFAULT)
    assert table.to_pylist() == [{"start": 2.1, "end": 3.1, "label": "resting"}]


def test_what_pympi_writes(tmp_path):
    pympi = pytest.importorskip("pympi", reason="pympi-ling is not installed (extra test)")
    document = pympi.Elan.Eaf(author="someone")
    document.remove_tier("default")
    document.add_tier("act")
    document.add_annotation("act", 300, 700, "<ü>")
    document.add_annotation("act", 1000, 4537, "b")
    document.to_file(str(tmp_path / "a.eaf"))
    table, _ = read_elan(tmp_path / "a.eaf", "", DEFAULT)
    assert table.to_pydict() == {"start": [0.3, 1.0], "end": [0.7, 4.537], "label": ["<ü>", "b"]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</TIER>\n</ANN", "</ANN", r"line 19: not well-formed XML \(mismatched tag\)"),
        ('<?xml version="1.0" encoding="UTF-8"?>', "<!DOCTYPE a>", "line 1: a document type or an entity"),
        ("ANNOTATION_DOCUMENT", "html", "line 2: XML that begins with <html>, expected <ANNOTATION_DOCUMENT> of ELAN"),
        ('TIME_UNITS="milliseconds"', 'TIME_UNITS="PAL-frames"', "line 3: times in PAL-frames, expected milliseconds"),
        ('TIME_VALUE="100"', 'TIME_VALUE="0.1"', "line 5: TIME_VALUE '0.1', expected whole milliseconds"),
        ('TIME_VALUE="3100"', 'TIME_VALUE="50"', "annotation 'a1' ends before it starts"),
        ('REF2="ts4"', 'REF2="ts9"', "line 13: no time slot 'ts9'"),
        ('REF1="ts3"', 'REF1="ts1"', "line 13: annotation 'a3' begins at no time"),
        ('TIME_SLOT_ID="ts4" TIME_VALUE="3100"', 'TIME_SLOT_ID="ts4"', "line 13: the last annotation ends at no time"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(tmp_path, old, new, message):
    assert old in TEXT
    with pytest.raises(InputError, match=rf"a.eaf: {message}|a.eaf: line \d+: {message}"):
        read_elan(put(tmp_path / "a.eaf", TEXT.replace(old, new)), "act", DEFAULT)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('ANNOTATION_REF="a3"', 'ANNOTATION_REF="b3"', "line 17: annotation 'r1' refers to nothing with times"),
        ('ANNOTATION_REF="a3"', 'ANNOTATION_REF="a3" PREVIOUS_ANNOTATION="r0"', "has no times of its own; choose the"),
    ],
)
def test_references_that_lead_nowhere(tmp_path, old, new, message):
    with pytest.raises(InputError, match=message):
        read_elan(put(tmp_path / "a.eaf", TEXT.replace(old, new)), "gloss", DEFAULT)


@pytest.mark.parametrize(
    ("tier", "message"),
    [("", "2 tiers; there are 'act', 'gloss': name one with --tier"), ("x", "no tier 'x'; there are 'act', 'gloss'")],
)
def test_several_tiers_are_listed(tmp_path, tier, message):
    with pytest.raises(InputError, match=message):
        read_elan(put(tmp_path / "a.eaf", TEXT), tier, DEFAULT)
