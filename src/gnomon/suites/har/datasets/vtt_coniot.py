"""VTT-ConIoT: construction work with sensors on hip, back and upper arm, 13 people, 16 activities, about 100 Hz.

Files are ``activity_<a>_user_<u>_combined.csv``, one minute each, with columns
``{trousers,back,hand}_{Ax,Ay,Az}_g, _{Gx,Gy,Gz}_dps`` and more, taken by name: acceleration in g, angular rate in
deg/s, the hip (``trousers``) of the three. Rows with an empty cell are left out and counted.

Time
----
Accelerometers ran at about 103 Hz and gyroscopes at 97 Hz before they were put on common rows at about 100 Hz, as
descriptions of the dataset say. A column whose name contains ``time`` is used, one of the hip before one of the whole
row: dates, or numbers of which the unit (s, ms, us or ns) is that in which rows are between :data:`SLOWEST_HZ` and
:data:`FASTEST_HZ` apart, which only one of them can be. Without such a column rows are taken to be 1/100 s apart, and
this is counted.

Labels
------
The published order of activities (:data:`MANIFEST`) is kept, but the dataset's own list seems to differ from 4 on: its
sixteen are painting, cleaning, climbing, hands-up work, floor work and walking (S. Mekruksavanich, A. Jitpattanakul,
IoT 6 (3), 36, 2025). So the map is data: a file ``vtt_coniot_labels.toml`` beside the recordings replaces labels by
number; an empty one leaves an activity out::

    4 = ""                   # none of the sixteen labels says what this is
    13 = "walking_straight"
    unit_g = 0.5             # only where the accelerations are not in g: what one unit of them is

``unit_g`` is there because one public reader halves the accelerations of this dataset, against the names of their
columns; the check of the resting acceleration says whether a copy needs it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.faults import reason, shown
from gnomon.suites.har.datasets.base import Dataset, Faults, G
from gnomon.suites.har.datasets.headed import bounded, columns, header
from gnomon.suites.har.datasets.joining import unbroken
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import Manifest, Recording, describe_channels
from gnomon.suites.har.vocabulary import TEST_LABELS

HZ = 100.0
"""The rate of files without a time column."""
SLOWEST_HZ, FASTEST_HZ = 10.0, 1000.0
SENSOR = "trousers"
CHANNELS = (*(f"{SENSOR}_A{axis}_g" for axis in "xyz"), *(f"{SENSOR}_G{axis}_dps" for axis in "xyz"))
OTHERS = ("back_", "hand_")
"""How columns of the other sensors begin."""
LABELS_FILE, UNIT = "vtt_coniot_labels.toml", "unit_g"
UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
MEMBER = re.compile(
    r"(?<![^/])(?:activity_(?P<activity>\d+)_user_(?P<user>\d+)_combined\.csv|"
    rf"(?P<labels>{re.escape(LABELS_FILE)}))$"
)
_LABELS = (  # of 1 to 16, in the published order
    "roll_painting spraying_paint leveling_paint pushing_cart walking_straight walking_winding standing_work "
    "kneeling_work laying_back lifting carrying raising_hands sitting jumping_down climbing_ladder stairs"
)
MANIFEST = Manifest(
    name="vtt_coniot",
    title="VTT-ConIoT",
    text_hz=50.0,
    role="severe",
    placement="hip",
    channels=describe_channels("at the hip, in the trousers"),
    labels={str(k): label for k, label in enumerate(_LABELS.split(), start=1)},
    subjects=tuple(f"user_{k}" for k in range(1, 14)),
    people="vtt_coniot",
    licence="CC BY 4.0",
    citation="S.-M. Mäkela, A. Lämsä, J. S. Keränen, J. Liikka, J. Ronkainen, J. Peltola, J. Häikiö, S. Järvinen, "
    "M. Bordallo López: Introducing VTT-ConIot: A Realistic Dataset for Activity Recognition of Construction Workers "
    "Using IMU Devices. Sustainability 14 (1), 2022. doi:10.3390/su14010220",
    source="https://zenodo.org/records/4683703 (VTT_ConIot_Dataset.zip)",
    notes=(
        "labels are in the published order; the dataset's own list seems to differ from 4 on",
        f'a file {LABELS_FILE} beside the recordings replaces labels by number, such as 13 = "walking_straight", and '
        'leaves out those that it gives as ""',
        "the stated rate is 50 Hz, the files have about 100 Hz",
        "acceleration is read in g as its columns are called; one public reader halves it: where the resting "
        f"acceleration is twice what it should be, write {UNIT} = 0.5 into that file",
    ),
)


class Given(NamedTuple):
    """What holds for the files of a place: labels by number, and what one unit of acceleration is in g."""

    labels: Mapping[str, str]
    unit_g: float


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per file and piece without a break."""
    del variant
    own = [match.string for match in matches if match["labels"]]
    given = override(files.read(own[0]), files.shown(own[0]), manifest.labels) if own else Given(manifest.labels, 1.0)
    recorded = [match for match in matches if match["activity"]]
    if not recorded:
        raise InputError(f"{files.shown(own[0])}: no recordings beside it; put it into the folder that holds them")
    for match in sorted(recorded, key=lambda m: (int(m["user"]), int(m["activity"]))):
        code, name = str(int(match["activity"])), files.shown(match.string)
        with faults.reading(name):
            if code not in manifest.labels:
                raise InputError(
                    f"{name}: activity {code}, expected 1 to {len(manifest.labels)}; rename or remove the file"
                )
            if not given.labels[code]:
                faults[f"files of activity {code}, which {LABELS_FILE} leaves out"] += 1
                continue
            times, signals = table(files.read(match.string), name, faults, given.unit_g)
            subject = f"user_{int(match['user'])}"
            pieces = unbroken(times, signals, faults, "time column", where=match.group())
            for count, (at, values, rate) in enumerate(pieces, start=1):
                yield Recording(
                    dataset=manifest.name,
                    subject=subject,
                    id=f"{manifest.name}/{subject}/activity_{code}" + (f"_{count}" if count > 1 else ""),
                    label=given.labels[code],
                    times=at - at[0],
                    signals=values,
                    mask=manifest.mask,
                    rate_hz=rate,
                )


def override(data: bytes, name: str, labels: Mapping[str, str]) -> Given:
    """Return the labels with those of the user's own file in their places, and the unit of acceleration."""
    try:
        content = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f'{name}: not TOML ({reason(error)}); write lines like 13 = "walking_straight"') from error
    unit = content.pop(UNIT, 1.0)
    if isinstance(unit, bool) or not isinstance(unit, (int, float)) or not 0 < unit < 100:
        raise InputError(f"{name}: {UNIT} is {shown(repr(unit), 40)}, expected what one unit is in g, such as 0.5")
    odd = [code for code in content if code not in labels]
    if odd:
        raise InputError(f"{name}: {some(odd)}, expected numbers from 1 to {len(labels)} and {UNIT}")
    known = TEST_LABELS[MANIFEST.name]
    for code, label in content.items():
        if label != "" and label not in known:
            raise InputError(
                f'{name}: {code} is {shown(repr(label), 40)}, expected one of {", ".join(known)}, or "" to leave it out'
            )
    return Given({**labels, **content}, float(unit))


def table(data: bytes, name: str, faults: Faults, unit_g: float = 1.0) -> tuple[Array, Array]:
    """Return the times of a file in seconds and its six channels, ``(n, 6)`` in m/s^2 and rad/s."""
    clock = _clock(header(data, name))
    dated = clock is not None and not _is_number(_cell(data, name, clock))
    numeric = {} if clock is None or dated else {clock: "f"}
    found = columns(data, name, {**dict.fromkeys(CHANNELS, "f"), **numeric}, missing=True)
    signals = np.concatenate(
        [
            bounded([found[channel] for channel in own], name, data, header=1, unit=unit)
            for own, unit in ((CHANNELS[:3], G * unit_g), (CHANNELS[3:], np.pi / 180))
        ],
        axis=1,
    )
    if clock is None:
        faults[f"files without a time column, taken at {HZ:g} Hz"] += 1
        times = np.arange(len(signals)) / HZ
    else:
        times = _dates(data, name, clock) if dated else _seconds(found[clock], name, clock)
    whole = np.isfinite(signals).all(axis=1) & np.isfinite(times)
    if not whole.all():
        faults["rows with an empty cell, left out"] += int(np.count_nonzero(~whole))
    signals[:, :3] *= G * unit_g
    signals[:, 3:] *= np.pi / 180
    return times[whole], signals[whole]


def _clock(names: tuple[str, ...]) -> str | None:
    """Return the column of time: of the hip, else of the whole row, else none."""
    timed = [each for each in names if "time" in each.lower() and not each.startswith(OTHERS)]
    return next((each for each in timed if each.startswith(SENSOR)), timed[0] if timed else None)


def _cell(data: bytes, name: str, column: str) -> str:
    """Return what a column holds in the first row."""
    rows = (line for line in data.split(b"\n", 64)[1:64] if line.strip())
    cells = next(rows, b"").decode("utf-8", "replace").split(",")
    place = header(data, name).index(column)
    return cells[place].strip().strip('"') if place < len(cells) else ""


def _is_number(text: str) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True


def _seconds(values: Array, name: str, column: str) -> Array:
    """Return numbers as seconds from the first one on, by the only unit that gives a possible rate."""
    steps = np.diff(values[np.isfinite(values)])
    step = float(np.median(steps)) if len(steps) else 0.0
    for factor in UNITS_S.values():
        if 1 / FASTEST_HZ <= step * factor < 1 / SLOWEST_HZ:
            seconds: Array = (values - values[np.isfinite(values)][0]) * factor
            return seconds
    raise InputError(
        f"{name}: column {column!r} rises by {step:g} from row to row, expected about 1/{HZ:g} s in s, ms, us or ns"
    )


def _dates(data: bytes, name: str, column: str) -> Array:
    """Return dates as seconds from the first one on."""
    place = header(data, name).index(column)
    times: list[float] = []
    for line, row in enumerate(data.split(b"\n")[1:], start=2):
        if not row.strip():
            continue
        cell = b",".join(row.split(b",")[place : place + 1]).strip().strip(b'"').decode("utf-8", "replace")
        try:
            times.append(_since_1970(cell) if cell else np.nan)
        except ValueError as error:
            got = shown(cell, 40)
            raise InputError(f"{name}: line {line}: {column!r} is {got!r}, expected a date and time") from error
    return np.array(times) - times[0]


def _since_1970(text: str) -> float:
    """Return a date as seconds; one without a zone is in that of its neighbours, whichever that is."""
    date = datetime.fromisoformat(text.replace("/", "-"))
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    f"activity_<a>_user_<u>_combined.csv, and {LABELS_FILE} where you have one",
    file=re.compile(r"activity_\d+_user_\d+_combined\.csv", re.IGNORECASE),
)
