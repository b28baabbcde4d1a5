"""RTTM (Rich Transcription Time Marked): who speaks when, as NIST defined it for its evaluations.

A line holds ten fields between blanks (files of older tools nine)::

    SPEAKER file channel onset duration <NA> <NA> speaker confidence <NA>

Conventions
-----------
- Lines of the type ``SPEAKER`` are read: ``file`` is the recording, ``speaker`` the label, and a confidence that is a
  number the score. Lines of other types, and channels where there are several, are not read, and named in a finding.
- Lines that begin with ``;;`` are comments.
- Onset and duration are seconds. The end is their exact decimal sum.
"""

from __future__ import annotations

import os
from collections import Counter

import pyarrow as pa

from gnomon.core.errors import InputError
from gnomon.intake.documents import read_bytes
from gnomon.intake.faults import guarded, shown
from gnomon.intake.limits import Limits
from gnomon.intake.unread import note

TYPES = {
    *("SEGMENT", "NOSCORE", "NO_RT_METADATA", "LEXEME", "NON-LEX", "NON-SPEECH", "FILLER", "EDIT", "SU", "IP"),
    *("CB", "A/P", "SPEAKER", "SPKR-INFO"),
}
FIELDS = (9, 10)
_NONE = "<NA>"


def is_rttm(line: str) -> bool:
    """Say whether a line is one of RTTM.

    >>> is_rttm("SPEAKER a 1 0.5 1.25 <NA> <NA> anna <NA> <NA>"), is_rttm("a,b,c")
    (True, False)
    """
    fields = line.split()
    return line.startswith(";;") or (len(fields) in FIELDS and fields[0].upper() in TYPES)


def read_rttm(path: str | os.PathLike[str], limits: Limits) -> tuple[pa.Table, list[int]]:
    """Return recording, start, duration, label and score as text, and the line of every row."""
    with guarded(path, "cannot be read as text", "save it as UTF-8"):
        text = read_bytes(path, limits).decode("utf-8-sig")
    rows, numbers = [], []
    others: Counter[str] = Counter()
    channels: Counter[str] = Counter()
    for number, line in enumerate(text.split("\n"), start=1):
        fields = line.split()
        if not fields or line.startswith(";;"):
            continue
        if len(fields) not in FIELDS or fields[0].upper() not in TYPES:
            raise InputError(
                f"{shown(path)}: line {number}: expected the ten fields of RTTM (SPEAKER file channel onset duration "
                f"<NA> <NA> speaker confidence <NA>), but got {len(fields)}: {shown(line, 80)!r}"
            )
        if fields[0].upper() != "SPEAKER":
            others[f"lines {fields[0]}"] += 1
            continue
        channels[fields[2]] += 1
        rows.append((fields[1], fields[3], fields[4], fields[7], "" if fields[8] == _NONE else fields[8]))
        numbers.append(number)
    note(path, {**others, **({"channel": len(rows)} if len(channels) > 1 else {})})
    columns = list(zip(*rows, strict=True)) or [()] * 5
    names = ("recording", "start", "duration", "label", "confidence")
    arrays = {name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)}
    if not any(columns[4]):
        del arrays["confidence"]
    return pa.table(arrays), numbers
