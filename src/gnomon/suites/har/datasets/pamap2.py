"""PAMAP2: sensors on hand, chest and ankle, nine people, 18 activities of which twelve are used, 100 Hz.

Files are ``{Protocol,Optional}/subject10<n>.dat`` in ``PAMAP2_Dataset``: 54 numbers between blanks a row, NaN where
there is none. The first is the time in seconds, the second the activity, the third the heart rate; then come 17 each of
hand, chest and ankle: temperature, acceleration of two sensors (to 16 g and to 6 g), angular rate, magnetic field,
orientation (which is not valid). The hand is used, with the acceleration to 16 g, as its authors advise: the other one
saturates. Acceleration is in m/s^2 with gravity, the angular rate in rad/s.

An activity run is a recording. Samples were lost on the radio and are NaN: where at most :data:`GAP_S` are missing
between two samples they are set on the straight line, and counted; at longer gaps the recording is cut.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.numbers import Layout, parse
from gnomon.suites.har.datasets.base import Dataset, Faults
from gnomon.suites.har.datasets.headed import bounded
from gnomon.suites.har.datasets.joining import SHORTEST_S
from gnomon.suites.har.datasets.places import Files
from gnomon.suites.har.datasets.stamps import rate_of, repair
from gnomon.suites.har.datasets.tails import blocks
from gnomon.suites.har.recordings import Manifest, Recording, describe_channels

GAP_S = 0.1
"""Seconds between two samples that are still bridged."""
LAYOUT = Layout("fi-" + "-fff---fff-------" + "-" * 34, separator=" ", missing=True)
UNUSED = frozenset({0, 9, 10, 11, 18, 19, 20})
"""Activities that are left out: none, and those of the optional sessions that have no label."""
MEMBER = re.compile(r"(?<![^/])(?P<session>Protocol|Optional)/subject(?P<subject>\d+)\.dat$")
MANIFEST = Manifest(
    name="pamap2",
    title="PAMAP2 Physical Activity Monitoring",
    text_hz=100.0,
    role="train",
    placement="hand",
    channels=describe_channels("on the wrist of the dominant arm"),
    labels={
        "1": "lying",
        "2": "sitting",
        "3": "standing",
        "4": "walking",
        "5": "running",
        "6": "cycling",
        "7": "nordic_walking",
        "12": "ascending_stairs",
        "13": "descending_stairs",
        "16": "vacuum_cleaning",
        "17": "ironing",
        "24": "rope_jumping",
    },
    subjects=tuple(str(k) for k in range(101, 110)),
    people="pamap2",
    licence="CC BY 4.0",
    citation="A. Reiss, D. Stricker: Introducing a New Benchmarked Dataset for Activity Monitoring. ISWC 2012. "
    "doi:10.1109/ISWC.2012.13",
    source="https://archive.ics.uci.edu/dataset/231/pamap2+physical+activity+monitoring",
    patch_s=(1.0, 2.0, 0.5),
    notes=(
        "the hand is used, chest and ankle are not; of its accelerometers the one to 16 g",
        "samples that are missing for up to .1 s are interpolated; at longer gaps a recording is cut",
        "watching TV, computer work, driving, folding laundry, house cleaning and soccer are left out",
    ),
)


def read(
    manifest: Manifest, files: Files, matches: list[re.Match[str]], variant: str, faults: Faults
) -> Iterator[Recording]:
    """Yield one recording per subject, session, activity run and piece without a break."""
    del variant
    for match in sorted(matches, key=lambda m: (m["subject"], m["session"] != "Protocol")):
        with faults.reading(files.shown(match.string)):
            count: Counter[int] = Counter()
            for code, rows in _runs(files, match.string, manifest):
                for times, signals, rate in _pieces(rows, faults, f"{match.group()}, activity {code}"):
                    count[code] += 1
                    yield Recording(
                        dataset=manifest.name,
                        subject=match["subject"],
                        id=f"{manifest.name}/{match['subject']}/{match['session'].lower()}_{code}_{count[code]}",
                        label=manifest.labels[str(code)],
                        times=times,
                        signals=signals,
                        mask=manifest.mask,
                        rate_hz=rate,
                        tags={"session": match["session"].lower()},
                    )


def _runs(files: Files, member: str, manifest: Manifest) -> Iterator[tuple[int, Array]]:
    """Yield the activity runs that are used: its number, and times and six channels ``(n, 7)``."""
    where, used = files.shown(member), [int(code) for code in manifest.labels]
    kept: list[Array] = []
    code, empty = -1, True
    with files.stream(member) as file:
        for block in blocks(file, where):
            times, codes, *values = parse(block.text, LAYOUT, where, line=block.line)
            if not len(times):
                continue
            _check(times, codes, used, where, block.line)
            empty, table = False, np.column_stack([times, bounded(values, where, block.text, line=block.line)])
            starts = np.flatnonzero(np.concatenate([[codes[0] != code], codes[1:] != codes[:-1]]))
            for rows in np.split(np.arange(len(codes)), starts):
                if not len(rows):
                    continue
                if codes[rows[0]] != code:
                    if code in used:
                        yield code, np.concatenate(kept)
                    code, kept = int(codes[rows[0]]), []
                if code in used:
                    kept.append(table[rows])
    if empty:
        raise InputError(f"{where}: no rows; obtain the file again")
    if code in used:
        yield code, np.concatenate(kept)


def _check(times: Array, codes: Array, used: list[int], where: str, line: int) -> None:
    odd = np.flatnonzero(~np.isin(codes, [*used, *UNUSED]))
    if len(odd):
        raise InputError(
            f"{where}: line {line + int(odd[0])}: activity {int(codes[odd[0]])}, expected one of "
            f"{', '.join(str(code) for code in sorted({*used, *UNUSED}))}; correct the file"
        )
    odd = np.flatnonzero(~np.isfinite(times))
    if len(odd):
        raise InputError(f"{where}: line {line + int(odd[0])}: no time, expected seconds; obtain the file again")


def _pieces(rows: Array, faults: Faults, where: str) -> Iterator[tuple[Array, Array, float]]:
    """Yield times, signals and rate of each piece of a run between long gaps."""
    times, values = rows[:, 0], rows[:, 1:]
    there = np.flatnonzero(np.isfinite(values).all(axis=1))
    fixed = repair(times[there], GAP_S + 1e-9)
    fixed.count(faults, "hand", where)
    for piece in fixed.pieces:
        known = there[piece]
        span = np.arange(known[0], known[-1] + 1)
        wanted = np.isin(span, known) | ~np.isin(span, there)
        span = span[wanted]
        span = span[np.concatenate([[True], times[span][1:] > np.maximum.accumulate(times[span])[:-1]])]
        at = times[span]
        rate = rate_of(at)
        if rate is None or at[-1] - at[0] < SHORTEST_S:
            faults["pieces shorter than a second, left out"] += 1
            continue
        lost = len(span) - int(np.isin(span, known).sum())
        if lost:
            faults["samples missing for up to .1 s, interpolated"] += lost
        signals = np.stack([np.interp(at, times[known], values[known, k]) for k in range(6)], axis=1)
        yield at - at[0], signals, rate


DATASET = Dataset(
    MANIFEST,
    MEMBER,
    read,
    "PAMAP2_Dataset/{Protocol,Optional}/subject10<n>.dat",
    file=re.compile(r"subject\d+\.dat", re.IGNORECASE),
)
