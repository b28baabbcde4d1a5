"""UCI HAR: a phone at the waist, 30 people, six activities, 50 Hz.

Files are ``UCI HAR Dataset/{train,test}/Inertial Signals/{total_acc,body_acc,body_gyro}_{x,y,z}_{train,test}.txt`` with
128 numbers a line (2.56 s), ``y_{train,test}.txt`` and ``subject_{train,test}.txt`` with one whole number a line.
Acceleration is in g, the angular rate in rad/s. ``total_acc`` holds gravity; ``body_acc`` is what a high-pass filter at
.3 Hz left of it.

Lines of one subject and activity overlap by a half: the second half of a line is the first half of the next, value for
value. Such lines are joined, so that each sample occurs once. Where the halves differ a new recording begins, which is
counted. ``published`` uses the body acceleration, ``strict`` the total one.

A line is a window in every file. Where a cell cannot be read and the rest is to be used, the window of its line is left
out, and named with the file, line and cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gnomon.core.errors import InputError, counted, some
from gnomon.core.tallies import Array
from gnomon.intake.numbers import Layout, parse
from gnomon.suites.har.datasets.base import Dataset, Faults, G
from gnomon.suites.har.datasets.headed import bounded
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.recordings import Manifest, Recording, describe_channels

HZ = 50.0
STEPS = 128
"""Samples of a line, of which the second half is the first of the next line."""
LAYOUT = Layout("f" * STEPS, separator=" ")
NUMBER = Layout("i", separator=" ")
KINDS = ("total_acc", "body_acc", "body_gyro")
LOOKED_AT = 64
"""Lines on which the files of signals are held against one another."""
BENDS = 0.01
"""By how much gravity may bend from sample to sample, in g: at .3 Hz and 1 g this is .0014."""
NEAR_G = 0.2
ACCELERATION = {"published": "body_acc", "strict": "total_acc"}
MEMBER = re.compile(
    r"(?<![^/])UCI HAR Dataset/(?P<part>train|test)/"
    r"(?:Inertial Signals/(?P<signal>(?:total_acc|body_acc|body_gyro)_[xyz])|(?P<about>y|subject))_(?P=part)\.txt$"
)
MANIFEST = Manifest(
    name="uci_har",
    title="Human Activity Recognition Using Smartphones",
    text_hz=HZ,
    role="train",
    placement="waist",
    channels=describe_channels("of a phone at the waist"),
    gravity={"published": "removed", "strict": "present"},
    labels={
        "1": "walking",
        "2": "walking_upstairs",
        "3": "walking_downstairs",
        "4": "sitting",
        "5": "standing",
        "6": "laying",
    },
    subjects=tuple(str(k) for k in range(1, 31)),
    people="uci_har",
    licence="CC BY 4.0",
    citation="D. Anguita, A. Ghio, L. Oneto, X. Parra, J. L. Reyes-Ortiz: A Public Domain Dataset for Human Activity "
    "Recognition Using Smartphones. ESANN 2013. Data: doi:10.24432/C54S4K",
    source="https://archive.ics.uci.edu/dataset/240/human+activity+recognition+using+smartphones",
    patch_s=(0.75, 1.25, 0.25),
    notes=(
        "the same people as HAPT",
        "lines overlap by a half and are joined, so that each sample occurs once",
        "signals were filtered by the authors (median, and a low-pass at 20 Hz)",
        "no time stamps: the rate is the stated one",
        "acceleration is in g, converted to m/s^2",
    ),
)


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per run of lines that go on from one another, in the order of the files."""
    for part in ("train", "test"):
        found = {match["signal"] or match["about"]: match.string for match in matches if match["part"] == part}
        if not found:
            faults[f"part {part!r} is not there"] += 1
            continue
        with faults.reading(f"UCI HAR Dataset/{part}"):
            wanted = [*(f"{ACCELERATION[variant]}_{axis}" for axis in "xyz"), *(f"body_gyro_{axis}" for axis in "xyz")]
            yield from _recordings(manifest, _read_part(part, manifest, files, found, wanted, faults), faults)


@dataclass(frozen=True, eq=False)
class _Part:
    """The windows of the train or test part that can be read."""

    name: str
    numbers: Array
    """``(n,)``: row of each window in the files, from 1."""
    subjects: Array
    codes: Array
    signals: Array
    """``(n, 128, 6)`` in m/s^2 and rad/s."""


def _read_part(
    part: str, manifest: Manifest, files: Files, found: Mapping[str, str], wanted: Sequence[str], faults: Faults
) -> _Part:
    """Read a part; where all of it is lost, the error says how many windows of how many subjects that are."""
    lacking = [f"{name}_{part}.txt" for name in (*wanted, "y", "subject") if name not in found]
    absent = InputError(f"{files.root}: UCI HAR Dataset/{part} lacks {some(lacking)}; obtain the archive again")
    if "subject" not in found:
        raise absent
    known = tuple(int(name) for name in manifest.subjects)
    subjects = _rows(files, found["subject"], faults, _whole(files, found["subject"], known, "subject"))[:, 0]
    people = np.unique(subjects[np.isfinite(subjects)]).astype(np.int64)
    faults.people |= frozenset(map(str, people.tolist()))
    try:
        if lacking:
            raise absent
        known, count = tuple(int(code) for code in manifest.labels), len(subjects)
        codes = _rows(files, found["y"], faults, _whole(files, found["y"], known, "activity"), count)[:, 0]
        signals = np.empty((count, STEPS, 6))
        for k, name in enumerate(wanted):
            read_lines = _signal(files, found[name], G if k < 3 else 1.0)
            signals[:, :, k] = _rows(files, found[name], faults, read_lines, count)
        good = np.isfinite(subjects) & np.isfinite(codes) & np.isfinite(signals[:, 0]).all(axis=1)
        if not good.any():
            raise InputError(f"{files.root}: UCI HAR Dataset/{part}: no window of which all files can be read")
        _check_gravity(files, found, np.flatnonzero(good), count, lenient=faults.broken is not None)
    except InputError as error:
        if faults.broken is None:
            raise
        lost = f"{counted(len(subjects), 'window')} of {counted(len(people), 'subject')}"
        raise InputError(f"{error} (all of the part {part!r} is left out: {lost})") from error
    whole = (np.flatnonzero(good) + 1, subjects[good].astype(np.int64), codes[good].astype(np.int64), signals[good])
    return _Part(part, *whole)


Lines = Callable[[bytes, int], Array]
"""Reads lines of a file, of which the number of the first is given: ``(n, k)``."""


def _rows(files: Files, member: str, faults: Faults, read_lines: Lines, count: int | None = None) -> Array:
    """Return the rows of a file ``(n, k)``; with ``count``, as many are expected.

    Where some cannot be read and may be left out, these are NaN, and one error says which is the first and how many.
    """
    data, errors = files.read(member), list[InputError]()
    try:
        table = read_lines(data, 1)
    except InputError:
        if faults.broken is None:
            raise
        rows: list[Array | None] = []
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                rows.append(read_lines(line, number)[0])
            except InputError as error:
                rows.append(None)
                errors.append(error)
        read = [row for row in rows if row is not None]
        if not read:
            raise
        table = np.stack([np.full(len(read[0]), np.nan) if row is None else row for row in rows])
    if count is not None and len(table) != count:
        raise errors[0] if errors else _other_count(files, member, len(table), count)
    if errors:
        lost = f"{len(errors):,} of {counted(len(table), 'window')} left out, one for each bad line of this file"
        faults.leave_out(InputError(f"{errors[0]} ({lost})"))
    return table


def _signal(files: Files, member: str, unit: float) -> Lines:
    """Return what reads lines of signals, ``(n, 128)`` in SI units; ``unit`` is what a written 1 is."""
    where = files.shown(member)

    def read_lines(data: bytes, line: int) -> Array:
        return bounded(parse(data, LAYOUT, where, line=line), where, data, line=line, unit=unit) * unit

    return read_lines


def _whole(files: Files, member: str, known: tuple[int, ...], what: str) -> Lines:
    """Return what reads lines of one whole number each, ``(n, 1)``, all of which are known."""
    where = files.shown(member)

    def read_lines(data: bytes, line: int) -> Array:
        (values,) = parse(data, NUMBER, where, line=line)
        odd = np.flatnonzero(~np.isin(values, known))
        if len(odd) or not len(values):
            got = f"row {int(odd[0]) + line}: {what} {int(values[odd[0]])}" if len(odd) else "no rows"
            raise InputError(f"{where}: {got}, expected {known[0]} to {known[-1]}; obtain the file again")
        return values.astype(np.float64)[:, np.newaxis]

    return read_lines


def _check_gravity(files: Files, found: Mapping[str, str], good: Array, count: int, *, lenient: bool) -> None:
    """Refuse files of signals that were exchanged: the total less the body acceleration is gravity, slow and about 1 g.

    It is what a filter at .3 Hz passes, so from sample to sample it bends by far less than any signal of a moving
    person. That is looked at on some of the good rows. Of three gyroscope files that were exchanged nothing is seen.
    A lenient look passes over rows that cannot be read of a file that is not used otherwise.
    """
    if any(f"{kind}_{axis}" not in found for kind in KINDS[:2] for axis in "xyz"):
        return
    rows = good[np.unique(np.linspace(0, len(good) - 1, min(len(good), LOOKED_AT)).astype(np.int64))]
    names = [name for name in (f"{kind}_{axis}" for kind in KINDS for axis in "xyz") if name in found]
    signals = {name: _some(files, found[name], rows, count, lenient=lenient) for name in names}
    read = np.logical_and.reduce([np.isfinite(one[:, 0]) for one in signals.values()])
    if not read.any():
        return
    signals = {name: one[read] for name, one in signals.items()}
    for axis in "xyz":
        total, body = f"total_acc_{axis}", f"body_acc_{axis}"
        if _bend(signals[total] - signals[body]) <= BENDS:
            continue
        own = [(each, total) for each in names if each != body and _bend(signals[each] - signals[body]) <= BENDS]
        own += [(each, body) for each in names if each != total and _bend(signals[total] - signals[each]) <= BENDS]
        instead, wrong = own[0] if own else ("", total)
        hint = f"; {found[instead].rpartition('/')[2]} holds what belongs there" if own else ""
        said = f"does not differ from {body if wrong == total else total} by slow gravity"
        raise InputError(f"{files.shown(found[wrong])}: {said}{hint}; mixed-up files, obtain the archive again")
    length = float(
        np.median(np.linalg.norm([signals[f"total_acc_{a}"] - signals[f"body_acc_{a}"] for a in "xyz"], axis=0))
    )
    if abs(length - 1) > NEAR_G:
        where = files.shown(found["total_acc_x"])
        said = f"with y and z, total less body acceleration has the length {length:.3g}, expected gravity of about 1 g"
        raise InputError(f"{where}: {said}; obtain the archive again")


def _some(files: Files, member: str, rows: Array, count: int, *, lenient: bool) -> Array:
    """Return some lines of a file of signals, ``(k, 128)``; NaN for those that cannot be read, of a lenient reading."""
    where, lines = files.shown(member), [line for line in files.read(member).split(b"\n") if line.strip()]
    if len(lines) != count:
        raise _other_count(files, member, len(lines), count)
    made = np.full((len(rows), STEPS), np.nan)
    for k, row in enumerate(rows.tolist()):
        try:
            made[k] = np.concatenate(parse(lines[row], LAYOUT, where, line=row + 1))
        except InputError:
            if not lenient:
                raise
    return made


def _bend(values: Array) -> float:
    """Return how much lines bend from sample to sample: the second difference, of the tenth that bends most."""
    return float(np.quantile(np.sqrt(np.square(np.diff(values, 2, axis=1)).mean(axis=1)), 0.9))


def _recordings(manifest: Manifest, part: _Part, faults: Faults) -> Iterator[Recording]:
    half, lines, subjects, codes = STEPS // 2, part.signals, part.subjects, part.codes
    other = (subjects[1:] != subjects[:-1]) | (codes[1:] != codes[:-1])
    apart = (lines[1:, :half] != lines[:-1, half:]).any(axis=(1, 2))
    follows = np.diff(part.numbers) == 1
    broken = int((apart & ~other & follows).sum())
    if broken:
        faults["lines that do not go on from the one before, a new recording begins"] += broken
    starts = [0, *(np.flatnonzero(other | apart | ~follows) + 1).tolist(), len(lines)]
    for begin, end in pairwise(starts):
        signals = np.concatenate([lines[begin, :half], lines[begin:end, half:].reshape(-1, 6)])
        subject, code = str(subjects[begin]), str(codes[begin])
        yield Recording(
            dataset=manifest.name,
            subject=subject,
            id=f"{manifest.name}/{subject}/{part.name}_{code}_l{part.numbers[begin]:05d}",
            label=manifest.labels[code],
            times=np.arange(len(signals)) / HZ,
            signals=signals,
            mask=manifest.mask,
            rate_hz=HZ,
            tags={"part": part.name, "lines": str(end - begin)},
        )


def _other_count(files: Files, member: str, got: int, expected: int) -> InputError:
    said = f"{got} rows, expected {expected} as in the file of subjects; obtain the files again"
    return InputError(f"{files.shown(member)}: {said}")


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "UCI HAR Dataset/{train,test}/Inertial Signals/{total_acc,body_acc,body_gyro}_{x,y,z}_{train,test}.txt, "
    "y_*.txt, subject_*.txt",
    file=re.compile(r"(total_acc|body_acc|body_gyro)_[xyz]_(train|test)\.txt", re.IGNORECASE),
)
