"""RTTM, by hand after the definition of NIST. Expected values are read off the texts."""

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
