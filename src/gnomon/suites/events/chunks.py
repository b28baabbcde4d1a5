"""Chunks: recordings with what is true of them and what a system detected, from files, from frames or from memory.

A shard of files holds what is read of a truth file and of a file of results that are given alone: one recording or
several, the truth as JSON, results in any format. The id of a recording that its file does not name is the name of its
shard. A shard of frames (``.npy``) holds an integer per frame on both sides (:mod:`gnomon.suites.events.frames`); it is
one recording, called by the name of the shard. The tag ``folder`` is the folder of a shard.

The truth is read also of shards without predictions that are left out (``--missing skip``), as where all recordings are
in one file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError, some
from gnomon.core.tallies import natural_key
from gnomon.engine.scoring import PREDICTIONS, TRUTH, Chunk
from gnomon.intake.sources import Source
from gnomon.intake.unread import reading_for
from gnomon.runs.content import column_digest
from gnomon.suites.events import columns, files, frames, inputs, spans
from gnomon.suites.events.columns import Recording
from gnomon.suites.events.options import ScoreOptions
from gnomon.suites.events.plausible import Compared, Evidence, Timed, compare_recording, weigh
from gnomon.suites.events.times import Stretch, Zone

MEDIA = ("wav", "mp3", "flac", "ogg", "m4a", "aiff", "mp4", "avi", "mkv", "mov", "webm")
"""Suffixes of files of which recordings are made; some tools name recordings with them, some without."""
FOLDER = "folder"
"""The tag that names the folder of a shard."""
FRAMES = "frames"
"""What a chunk of frames is given: the meaning of codes."""

Results = Mapping[str, Sequence[Stretch[float]]]
"""What was detected, by case, in the seconds of each case."""


@dataclass(frozen=True)
class Truth:
    """Recordings, and what the times of their labels say about the unit."""

    cases: Sequence[files.TruthCase]
    times: Evidence = field(default_factory=Evidence)
    groups_from: str = ""
    """Where groups come from that are not tags of the truth."""


@dataclass(frozen=True)
class Detections:
    """What a system detected, what its times say about the unit, and how they compare with labels by recording."""

    results: Results
    times: Evidence = field(default_factory=Evidence)
    compared: Compared = field(default_factory=Compared)


@dataclass(frozen=True)
class Content:
    """What a chunk holds.

    Attributes
    ----------
    truth
        All recordings.
    detections
        What was detected in those that are scored.
    classes
        Names of all classes that may occur; None where no list of them was given.
    digests
        Facts of a part: the fingerprints of both sides, where content has others than those of stretches.
    """

    truth: Truth
    detections: Detections
    classes: Sequence[str] | None = None
    digests: Mapping[str, str] | None = None

    @property
    def cases(self) -> Sequence[files.TruthCase]:
        """All recordings of the truth."""
        return self.truth.cases

    @property
    def scored(self) -> list[files.TruthCase]:
        """The recordings that are scored."""
        return [case for case in self.cases if case.id in self.detections.results]

    def take(self, ids: Collection[str]) -> Content:
        """Return the content of some recordings."""
        results = {name: stretches for name, stretches in self.detections.results.items() if name in ids}
        cases = [case for case in self.cases if case.id in ids]
        return replace(
            self, truth=replace(self.truth, cases=cases), detections=replace(self.detections, results=results)
        )

    def leave_out(self, labels: Collection[str]) -> Content:
        """Leave out stretches with some labels, on both sides."""
        if not labels:
            return self
        cases = [replace(case, stretches=leave_out_labels(case.stretches, labels)) for case in self.cases]
        results = {name: leave_out_labels(own, labels) for name, own in self.detections.results.items()}
        return replace(
            self, truth=replace(self.truth, cases=cases), detections=replace(self.detections, results=results)
        )

    def find_labels(self, labels: Collection[str]) -> list[str]:
        """Return which of some labels occur in the truth or in what was detected, or are among the named classes."""
        if not labels:
            return []
        known = set(self.classes or ())
        if self.classes is None:
            sides = (*(case.stretches for case in self.cases), *self.detections.results.values())
            known = known.union(*map(list_labels, sides))
        return sorted(set(labels) & known, key=natural_key)

    def make_recordings(self) -> list[Recording]:
        """Return the recordings that are scored, both sides as columns."""
        results = self.detections.results
        return [Recording(case, columns.of(case.stretches), columns.of(results[case.id])) for case in self.scored]

    def make_table(self) -> pa.Table:
        """Return what was detected in the recordings that are scored, as a run keeps it."""
        results = [self.detections.results[case.id] for case in self.scored]
        ids = pa.array([case.id for case in self.scored], pa.string())
        whole = spans.joined(results)
        return pa.table(
            {
                "case": ids.take(_repeat_places(results)),
                "start": pa.array(whole.starts),
                "end": pa.array(whole.ends),
                "label": whole.labels(),
                "score": pa.array(whole.scores, from_pandas=True),
            }
        )


def read_chunk(chunk: Chunk, options: ScoreOptions) -> Content:
    """Return the content of a chunk: read from the files of a shard, or as it is in memory."""
    if FRAMES in chunk.given:
        return _read_frames(chunk, options)
    if chunk.name:
        return _read_files(chunk, options)
    return Content(chunk.truth, chunk.predictions)


def read_results(
    source: Source, cases: Sequence[files.TruthCase], options: ScoreOptions, kinds: set[str] | None = None
) -> Detections:
    """Read results of cases, in their seconds; ``kinds`` takes up the formats of files."""
    path, policy, unit = source.where, options.missing, options.unit
    given = dict(inputs.read_detections(source, options, kinds))
    if files.ONLY in given:
        if len(cases) != 1:
            raise InputError(
                f"{path}: results without case ids fit one truth case, but there are {len(cases)}: "
                f"{some([case.id for case in cases])}; name the case of every result, in a table by a column "
                "'recording'"
            )
        given = {cases[0].id: given[files.ONLY]}
    known = {case.id: case for case in cases}
    given = _match_media(given, known)
    extra = [name for name in given if name not in known]
    if extra:
        raise InputError(
            f"{path}: results for cases that are not in the truth: {some(extra)}; it has {some(known)}"
            f"{_suggest_names(extra, known)}"
        )
    missing = [name for name in known if name not in given]
    if missing and policy == "error":
        raise InputError(
            f"{path}: no result for cases {some(missing)}; add them (an empty list where nothing was found), "
            "or choose --missing empty or --missing skip"
        )
    if policy == "empty":
        given |= {name: [] for name in missing}
    placed = {name: spans.place(items, known[name].zone, f"{path}: {name}") for name, items in given.items()}
    numbers = [name for name, items in given.items() if len(items) and spans.are_numbers(items)]
    timed = {name: columns.timed(known[name].window, placed[name]) for name in numbers}
    compared = _compare_recordings([known[name] for name in numbers], timed, unit)
    return Detections(placed, weigh(timed.values()), compared)


def _match_media(given: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Call results as the truth calls their recordings, where one side names the file (``m.wav``) and the other not.

    Names that would then stand for two recordings stay as they are.
    """
    stems = {_without_media(name): name for name in known}
    if len(stems) < len(known):
        return dict(given)
    found = {name: name if name in known else stems.get(_without_media(name), name) for name in given}
    return (
        {found[name]: items for name, items in given.items()} if len({*found.values()}) == len(found) else dict(given)
    )


def _without_media(name: str) -> str:
    """Return a name without the suffix of a sound or video file.

    >>> _without_media("kitchen/m.WAV"), _without_media("v1.2")
    ('kitchen/m', 'v1.2')
    """
    stem, dot, suffix = name.rpartition(".")
    return stem if dot and suffix.lower() in MEDIA else name


def _suggest_names(extra: Iterable[str], known: Collection[str]) -> str:
    """Say that names differ by a suffix alone, where they do."""
    stems = {name.rpartition(".")[0] or name for name in known}
    alike = [name for name in extra if (name.rpartition(".")[0] or name) in stems]
    return f"; {alike[0]!r} differs by its suffix alone: call recordings alike on both sides" if alike else ""


def _compare_recordings(cases: Iterable[files.TruthCase], detections: Mapping[str, Timed], unit: str) -> Compared:
    """Compare detections that are numbers with labels, recording by recording.

    Labels that are dates have no unit: detections that are shorter by the factor of one are in no known unit, unless
    the unit that was given made them so.
    """
    whole = Compared()
    for case in cases:
        one = compare_recording(case.id, columns.timed(case.window, case.stretches), detections[case.id])
        dated = case.zone.origin is not None
        found = tuple(own for own in one.found if own.longer or unit or not dated)
        whole += replace(one, found=found, misfits=() if dated else one.misfits)
    return whole


def _read_files(chunk: Chunk, options: ScoreOptions) -> Content:
    tags = _tag_folder(chunk)
    read = files.read_truth(Path(chunk.truth), name=chunk.name, unit=options.truth_unit)
    cases = [replace(case, tags={**tags, **case.tags}) for case in read]
    detections = Detections({} if options.missing == "skip" else {case.id: () for case in cases})
    if chunk.predictions is not None:
        with reading_for(chunk.reader):
            detections = read_results(Source(chunk.name, str(chunk.predictions)), cases, options)
    return Content(Truth(cases, files.weigh_labels(cases)), detections)


def _read_frames(chunk: Chunk, options: ScoreOptions) -> Content:
    """Read frames; their times are counted, so that they say nothing about a unit."""
    meaning, truth = frames.Meaning.of(chunk.given[FRAMES]), Path(chunk.truth)
    runs = frames.read_runs(truth)
    events = frames.place_runs(runs, meaning, truth)
    window = 0.0, runs.frames / meaning.rate_hz
    case = files.TruthCase(chunk.name, truth, window, events, _tag_folder(chunk), Zone(), None, {})
    results: dict[str, Sequence[Stretch[float]]] = {} if options.missing == "skip" else {case.id: ()}
    digest = ""
    if chunk.predictions is not None:
        path = Path(chunk.predictions)
        given = frames.read_runs(path)
        if given.frames != runs.frames:
            raise InputError(f"{path}: {given.frames} frames, expected the {runs.frames} of {truth}; mend it")
        results, digest = {case.id: frames.place_runs(given, meaning, path)}, given.digest
    digests = {TRUTH: runs.digest, PREDICTIONS: digest}
    return Content(
        Truth([case]),
        Detections(results),
        meaning.classes or (),
        {name: fingerprint([own, meaning.record()]) for name, own in digests.items()},
    )


def _tag_folder(chunk: Chunk) -> dict[str, str]:
    folder = chunk.name.rpartition("/")[0]
    return {FOLDER: folder} if folder else {}


def list_labels(stretches: Sequence[Stretch[float]]) -> set[str]:
    """Return the labels in use."""
    if isinstance(stretches, spans.Placed):
        return {stretches.names[code] for code in np.unique(stretches.codes).tolist()}
    return {stretch.label for stretch in stretches}


def leave_out_labels(stretches: Sequence[Stretch[float]], labels: Collection[str]) -> Sequence[Stretch[float]]:
    """Return the stretches that have none of some labels."""
    if isinstance(stretches, spans.Placed):
        return stretches.without(labels)
    return tuple(stretch for stretch in stretches if stretch.label not in labels)


def digest_truth(cases: Sequence[files.TruthCase], level: str) -> str:
    """Return the fingerprint of cases, their groups and their truth."""
    whole = spans.joined(case.stretches for case in cases)
    names = pa.array([case.id for case in cases])
    ids = names.cast(pa.string()).take(_repeat_places([case.stretches for case in cases]))
    windows = [edge for case in cases for edge in case.window]
    groups = [case.tags.get(level, case.id) for case in cases]
    times = pa.array(whole.starts), pa.array(whole.ends)
    return column_digest(names, pa.array(groups), ids, pa.array(windows), *times, whole.labels())


def describe_truth(cases: Iterable[files.TruthCase]) -> dict[str, Any]:
    """Return what the truth says of all cases, scored or not: its classes, and the most events of a recording."""
    held = [case.stretches for case in cases]
    return {
        "true": sorted(set[str]().union(*map(list_labels, held)), key=natural_key),
        "longest": max(map(len, held), default=0),
    }


def _repeat_places(parts: Sequence[Sequence[Any]]) -> pa.Array:
    """Return the place of every part as often as it has items."""
    return pa.array(np.repeat(np.arange(len(parts)), [len(part) for part in parts]))
