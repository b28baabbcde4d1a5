"""RecGym: a board of sensors in the gym, 10 people in 5 sessions each, 11 workouts, 20 Hz.

One file, ``RecGym.csv``, of 4.7 million rows (450 MB), which is read a block at a time. Its header is ``Subject,
Position, Session, A_x, A_y, A_z, G_x, G_y, G_z, C_1, Workout``; an older description says ``Object`` for ``Subject``,
and columns are taken by name, in any order. ``Position`` is wrist, pocket or leg: the wrist is used. A recording is a
run of one workout in one session; ``Null`` lies between. There are no time stamps.

Units
-----
The authors state none. In the rows that public copies show, values lie around 0.5 and step by 1/8000 (acceleration) and
1/25600 (angular rate), which are the steps of a Bosch BNO055 (datasheet BST-BNO055-DS000: .01 m/s^2 and 1/16 deg/s)
over a range of 80 m/s^2 and 1600 deg/s. So ``(A - 0.5) * 80`` is taken as m/s^2 and ``(G - 0.5) * 1600`` as deg/s.
Before the first workout the acceleration scatters around 0 on every axis, so gravity is removed. A run whose medians
are not near 0.5 is refused: such a file has other units.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import IO

import numpy as np
import pyarrow as pa
from pyarrow import csv

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.faults import reason, shown
from gnomon.suites.har.datasets.base import Dataset, Faults
from gnomon.suites.har.datasets.headed import header
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import LARGEST, Manifest, Recording, describe_channels

HZ = 20.0
POSITION = "wrist"
NONE = "Null"
"""The workout of rows between workouts."""
PEOPLE = ("Subject", "Object")
"""How the column of people is called."""
CHANNELS = ("A_x", "A_y", "A_z", "G_x", "G_y", "G_z")
MIDDLE = 0.5
SCALE = np.array([80.0] * 3 + [1600.0 * np.pi / 180] * 3)
"""m/s^2 and rad/s in the range from 0 to 1."""
NEAR = 0.3
"""How far from the middle the median of a channel may be in a run: 24 m/s^2 and 480 deg/s."""
_BLOCK = 4 << 20
_WORD = pa.dictionary(pa.int32(), pa.string())
_LONGEST_HEADER = 4096
_ROW, _COLUMN = re.compile(r"Row #(\d+)"), re.compile(r"CSV column #(\d+)")
_WIDTH, _VALUE = re.compile(r"Expected (\d+) columns, got (\d+)"), re.compile(r"invalid value '(.*)'")
MEMBER = re.compile(r"(?<![^/])RecGym\.csv$")
MANIFEST = Manifest(
    name="recgym",
    title="RecGym: Gym Workouts Recognition Dataset with IMU and Capacitive Sensor",
    text_hz=HZ,
    role="train",
    placement="wrist",
    channels=describe_channels("on the wrist"),
    gravity={"published": "removed", "strict": "removed"},
    labels={
        "Adductor": "adductor_machine",
        "ArmCurl": "arm_curl",
        "BenchPress": "bench_press",
        "LegCurl": "leg_curl",
        "LegPress": "leg_press",
        "Riding": "cycling",
        "RopeSkipping": "rope_skipping",
        "Running": "running",
        "Squat": "squat",
        "StairClimber": "stairclimber",
        "StairsClimber": "stairclimber",
        "Walking": "walking",
    },
    subjects=tuple(str(k) for k in range(1, 11)),
    people="recgym",
    licence="CC BY 4.0",
    citation="S. Bian, V. F. Rey, S. Yuan, P. Lukowicz: The Contribution of Human Body Capacitance/Body-Area Electric "
    "Field To Individual and Collaborative Activity Recognition. arXiv:2210.14794, 2022. Data: doi:10.24432/C5PW4K",
    source="https://archive.ics.uci.edu/dataset/1128",
    patch_s=(1.0, 1.75, 0.25),
    notes=(
        "the wrist is used, pocket and leg are not",
        "no time stamps: the rate is the stated one",
        "the file holds values around 0.5 without a unit; their steps are those of a BNO055, by which they are "
        "converted, and gravity is removed: this is an inference, not a statement of the authors",
        "rows of the workout Null are left out, so nobody rests",
    ),
)


@dataclass(frozen=True)
class _Rows:
    """Rows of the wrist that follow one another: their lines, people, sessions, workouts, and values ``(n, 6)``."""

    lines: Array
    people: Array
    sessions: Array
    workouts: Array
    values: Array

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, rows: slice) -> _Rows:
        return _Rows(*(getattr(self, name)[rows] for name in _FIELDS))

    def __add__(self, other: _Rows) -> _Rows:
        return _Rows(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in _FIELDS))

    def same(self) -> Array:
        """Say of each row but the first whether it goes on with the one before it."""
        pairs = [getattr(self, name) for name in ("people", "sessions", "workouts")]
        equal: Array = np.logical_and.reduce([each[1:] == each[:-1] for each in pairs])
        return equal


_FIELDS = ("lines", "people", "sessions", "workouts", "values")


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per run of a workout, in the order of the file."""
    del variant
    for match in matches:
        name, count = files.shown(match.string), Counter[str]()
        with files.stream(match.string) as stream:
            for run in _runs(stream, name, faults):
                if run.workouts[0] == NONE:
                    faults["rows without a workout, left out"] += len(run)
                    continue
                yield _recording(manifest, run, name, count)


def _recording(manifest: Manifest, run: _Rows, name: str, count: Counter[str]) -> Recording:
    workout, line = str(run.workouts[0]), int(run.lines[0])
    if workout not in manifest.labels:
        known = some([*manifest.labels, NONE], show=13)
        raise InputError(f"{name}: line {line}: workout {shown(workout, 40)!r}, expected one of {known}")
    middles = np.median(run.values, axis=0)
    far = np.flatnonzero(np.abs(middles - MIDDLE) > NEAR)
    if len(far):
        raise InputError(
            f"{name}: lines {line} to {int(run.lines[-1])}: median of {CHANNELS[far[0]]} is {middles[far[0]]:.3g}, "
            f"expected about {MIDDLE}, around which the distribution's values lie; obtain RecGym.csv again"
        )
    subject = str(int(run.people[0]))
    key = f"{manifest.name}/{subject}/s{int(run.sessions[0])}_{workout}"
    count[key] += 1
    return Recording(
        dataset=manifest.name,
        subject=subject,
        id=f"{key}_{count[key]}",
        label=manifest.labels[workout],
        times=np.arange(len(run)) / HZ,
        signals=(run.values - MIDDLE) * SCALE,
        mask=manifest.mask,
        rate_hz=HZ,
        tags={"session": str(int(run.sessions[0]))},
    )


def _runs(stream: IO[bytes], name: str, faults: Faults) -> Iterator[_Rows]:
    """Yield runs of one person, session and workout; only the one that is not finished is kept."""
    left: _Rows | None = None
    for block in _blocks(stream, name, faults):
        rows = block if left is None else left + block
        cuts = [0, *(np.flatnonzero(~rows.same()) + 1).tolist()]
        for begin, end in pairwise(cuts):
            yield rows[begin:end]
        left = rows[cuts[-1] :]
    if left is None:
        raise InputError(f"{name}: no rows of the position {POSITION!r}; obtain the file again")
    yield left


def _blocks(stream: IO[bytes], name: str, faults: Faults) -> Iterator[_Rows]:
    names, person = _header(stream, name)
    kinds = {person: pa.int64(), "Session": pa.int64(), "Position": _WORD, "Workout": _WORD}
    kinds |= dict.fromkeys(CHANNELS, pa.float64())
    first = 2
    try:
        reader = csv.open_csv(
            stream,
            read_options=csv.ReadOptions(use_threads=False, block_size=_BLOCK),
            convert_options=csv.ConvertOptions(column_types=kinds, include_columns=list(kinds), null_values=[]),
        )
        for batch in reader:
            rows = _wrist(batch, person, name, first, faults)
            first += batch.num_rows
            if len(rows):
                yield rows
    except pa.ArrowException as error:
        raise InputError(f"{name}: {_explained(error, names)}; correct the line or obtain the file again") from error


def _header(stream: IO[bytes], name: str) -> tuple[tuple[str, ...], str]:
    """Return the names of the columns, and that of the people; the stream is at its start again."""
    names = header(stream.read(_LONGEST_HEADER), name)
    stream.seek(0)
    people = [each for each in PEOPLE if each in names]
    absent = [each for each in ("Position", "Session", *CHANNELS, "Workout") if each not in names]
    if len(people) != 1 or absent:
        there = shown(some(names, show=12), 200)
        wanted = some(absent) if absent else f"{PEOPLE[0]!r} or {PEOPLE[1]!r}"
        raise InputError(f"{name}: line 1: expected one column {wanted}, it has {there}; obtain the file again")
    return names, people[0]


def _wrist(batch: pa.RecordBatch, person: str, name: str, first: int, faults: Faults) -> _Rows:
    words, positions = _words(batch, "Position")
    odd = np.flatnonzero(~np.isin(words, (POSITION, "pocket", "leg"))[positions])
    if len(odd):
        got = shown(str(words[positions[odd[0]]]), 40)
        raise InputError(f"{name}: line {first + int(odd[0])}: position {got!r}, expected wrist, pocket or leg")
    rows = np.flatnonzero((words == POSITION)[positions])
    if len(rows) < len(positions):
        faults["rows of other positions than the wrist, left out"] += len(positions) - len(rows)
    values = np.stack([batch.column(each).to_numpy(zero_copy_only=False)[rows] for each in CHANNELS], axis=1)
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST).all(axis=1))
    if len(bad):
        raise InputError(f"{name}: line {first + int(rows[bad[0]])}: a value is not finite or beyond {LARGEST:g}")
    words, workouts = _words(batch, "Workout")
    return _Rows(
        lines=rows + first,
        people=batch.column(person).to_numpy(zero_copy_only=False)[rows],
        sessions=batch.column("Session").to_numpy(zero_copy_only=False)[rows],
        workouts=words[workouts[rows]],
        values=values,
    )


def _words(batch: pa.RecordBatch, column: str) -> tuple[Array, Array]:
    """Return the words of a column, and which of them each row has."""
    found = batch.column(column)
    return np.array(found.dictionary.to_pylist(), dtype=np.str_), found.indices.to_numpy(zero_copy_only=False)


def _explained(error: pa.ArrowException, names: tuple[str, ...]) -> str:
    """Return what the reader said in other words; its rows count the header."""
    said = reason(error)
    row, column = _ROW.search(said), _COLUMN.search(said)
    where = f"line {row[1]}" if row else "somewhere"
    if width := _WIDTH.search(said):
        return f"{where}: {width[2]} cells, expected {width[1]} as in the header"
    if column and int(column[1]) < len(names):
        got = _VALUE.search(said)
        kind = "a whole number" if "int64" in said else "a number" if "double" in said else "text in UTF-8"
        cell = f"is {shown(got[1], 40)!r}" if got else "cannot be read"
        return f"{where}, column {names[int(column[1])]!r}: {cell}, expected {kind}"
    if "straddl" in said:
        return f"a line of more than {_BLOCK:,} bytes, expected rows of {len(names)} cells"
    return f"{where}: is no table of {len(names)} columns ({said})"


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "RecGym.csv",
    file=re.compile(r"RecGym\.csv", re.IGNORECASE),
)
