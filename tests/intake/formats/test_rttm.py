"""RTTM, by hand after the definition of NIST, and as pyannote.core writes it. Expected values are those written."""

import pytest

from gnomon.core.errors import InputError
from gnomon.intake import unread
from gnomon.intake.formats.rttm import read_rttm
from gnomon.intake.limits import DEFAULT

TEXT = """;; made by hand
SPKR-INFO m1 1 <NA> <NA> <NA> unknown anna <NA> <NA>
SPEAKER m1 1 0.10 0.20 <NA> <NA> anna <NA> <NA>

SPEAKER m2 2 3 4.5 <NA> <NA> ben 0.75 <NA>
SPEAKER m2 1 9 1 <NA> <NA> cleo <NA>
"""


def test_speakers(tmp_path):
    (tmp_path / "a.rttm").write_text(TEXT)
    with unread.collecting() as notes:
        table, lines = read_rttm(tmp_path / "a.rttm", DEFAULT)
    assert lines == [3, 5, 6]
    assert table.to_pydict() == {
        "recording": ["m1", "m2", "m2"],
        "start": ["0.10", "3", "9"],
        "duration": ["0.20", "4.5", "1"],
        "label": ["anna", "ben", "cleo"],
        "confidence": ["", "0.75", ""],
    }
    (found,) = notes.files("any")
    assert found["names"] == {"lines SPKR-INFO": 1, "channel": 3}


@pytest.mark.parametrize("line", ["SPEAKER a 1 0 1", "SPOKEN a 1 0 1 <NA> <NA> b <NA> <NA>"])
def test_another_line_is_named_by_its_number(tmp_path, line):
    (tmp_path / "a.rttm").write_text(f"{TEXT}{line}\n")
    with pytest.raises(InputError, match=r"a.rttm: line 7: expected the ten fields of RTTM"):
        read_rttm(tmp_path / "a.rttm", DEFAULT)


def test_a_file_that_pyannote_wrote(tmp_path):
    core = pytest.importorskip("pyannote.core")
    talk = core.Annotation(uri="talk")
    talk[core.Segment(0.5, 2.25)] = "anna"
    talk[core.Segment(3, 4.5)] = "ben"
    (tmp_path / "talk.rttm").write_text(talk.to_rttm())
    table, _ = read_rttm(tmp_path / "talk.rttm", DEFAULT)
    times = [list(map(float, table[name].to_pylist())) for name in ("start", "duration")]
    rows = zip(*times, table["label"].to_pylist(), strict=True)
    assert list(rows) == [(0.5, 1.75, "anna"), (3.0, 1.5, "ben")]
    assert set(table["recording"].to_pylist()) == {"talk"}
