"""Episodes to look at: what a run keeps of every tested episode, and the timeline that is made of it.

Conventions
-----------
- Seconds are frames over frames per second; frame f is the stretch from f to f + 1.
- An answer stands at the middle of what it is about (the target of its sample, or its input where the target reads
  nothing), as long as windows are apart. Where several samples have one middle, as both orders of a pair, they
  share it.
- The worst episode has the largest share of wrong answers among those that are labels or sets of them.
- ``split`` says which frames training and test samples read as input and as target, and which only samples that were
  purged do; frames that both sides read are a leak, and have a zone of their own. Tasks that read alike share a lane.
- Answers that are vectors have an error or a rank for every test sample, shown as a signal under the lanes; so is the
  sound of the first video that has some. Sound that cannot be read leaves a note and never fails a run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.errors import GnomonError, IntegrityError
from gnomon.core.table import View
from gnomon.core.tallies import Array, natural_key
from gnomon.runs import exhibits
from gnomon.runs.exhibits import Exhibit, Worst
from gnomon.runs.run import Run
from gnomon.suites.episode import videos
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.features.blocks import LENGTH, STRIDE
from gnomon.suites.episode.heads import form
from gnomon.suites.episode.layout import VIDEOS, Place
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import TEST, TRAIN

if TYPE_CHECKING:
    from gnomon.suites.episode.ground import Ground
    from gnomon.suites.episode.options import RunOptions, ScoreOptions

BINS = 4096
"""Of the sound of an episode."""
NONE = (1 << 16) - 1
MOST_LABELS = NONE
ZONES = ("train", "purged", "test", "train and test", "transition")
OUTCOMES = (
    {"name": "right", "title": "right", "rank": 0, "wrong": False, "role": "right"},
    {"name": "partly", "title": "partly right", "rank": 1, "wrong": True, "role": "confused"},
    {"name": "wrong", "title": "wrong", "rank": 2, "wrong": True, "role": "missed"},
)
UNITS = {"mpjpe": "m", "mrr": "rank", "top5_accuracy": "rank"}
"""Of the number that an answer by vectors leaves, by the metric of its task."""
ANNOTATION, SPLIT, TRUTH, PREDICTION, OUTCOME = "annotation", "split", "truth", "prediction", "outcome"
Spans = tuple[Array, Array, Array]
Row = tuple[Any, ...]
"""Of the table of a run."""


class Lane(msgspec.Struct, frozen=True):
    """A lane as an exhibit keeps it; ``at`` is the number of its arrays, ``role`` what it is in its task."""

    group: str
    role: str
    name: str
    kind: str
    at: int


class Signal(msgspec.Struct, frozen=True):
    """A signal as an exhibit keeps it; without a task it is the sound."""

    task: str
    name: str
    unit: str
    start: float
    step: float
    at: int


class Kept(msgspec.Struct, frozen=True):
    """The plain data of an exhibit."""

    seconds: float
    labels: tuple[str, ...]
    lanes: tuple[Lane, ...]
    signals: tuple[Signal, ...]
    note: str


@dataclass(frozen=True)
class Known:
    """What is read of an episode itself: frames per second, and its sound or why there is none."""

    fps: float
    sound: tuple[Array, Array] | None
    note: str


def make_keeper(
    options: RunOptions | ScoreOptions, places: Sequence[Place], *, sound: bool
) -> Callable[[Ground, Mapping[str, pa.Table]], dict[str, bytes]]:
    """Return :func:`keep_worst` for all systems of one piece of work, which looks at an episode once.

    ``sound``: whether the sound is read.
    """
    by_name = {place.id: place for place in places}
    most = 0 if options.out == "none" else options.exhibits
    return partial(keep_worst, most=most, known=cache(lambda name: _look(by_name[name], sound)))


def keep_worst(
    ground: Ground, rows: Mapping[str, pa.Table], *, most: int, known: Callable[[str], Known]
) -> dict[str, bytes]:
    """Return the file of a run that holds the worst of its tested episodes; none where none are asked for.

    ``rows`` are those of the table of the run, by task.
    """
    shares = _wrong_shares(rows.values(), ground.tested)
    names, worst = list(shares), Worst[Exhibit](most)

    def make(place: int) -> Exhibit:
        name = names[place]
        own = {task: _of_episode(table, name) for task, table in rows.items()}
        return make_snapshot(name, known(name), ground.look(name), own, shares[name])

    worst.offer_all(names, [shares[name][0] for name in names], make)
    return exhibits.files_of(worst.items, len(shares))


def make_snapshot(
    name: str,
    known: Known,
    data: Mapping[str, TaskData],
    rows: Mapping[str, Sequence[Row]],
    share: tuple[float, int],
) -> Exhibit:
    """Return what is kept of an episode; ``share`` is that of wrong answers, and how many there are."""
    sheet = Sheet(name, known.fps)
    sheet.annotate(data)
    for task, one in data.items():
        sheet.answer(one, rows.get(task))
    sheet.divide(data)
    frames = next(iter(data.values())).recorded[name].n_frames
    if known.sound is not None:
        step = frames / known.fps / len(known.sound[0])
        sheet.signal(("", "sound", ""), 0.0, step, *known.sound)
    kept = sheet.kept(frames / known.fps, known.note)
    told = f"{100 * share[0]:.3g} % of {share[1]:,} answers are wrong" if share[1] else "no answer is a label"
    return Exhibit(name, msgspec.to_builtins(kept), sheet.arrays, share[0], told)


def _of_episode(rows: pa.Table, name: str) -> list[Row]:
    """Return the rows of an episode."""
    own = rows.filter(pc.equal(rows["episode"], name))
    return list(zip(*(column.to_pylist() for column in own.columns), strict=True))


def _wrong_shares(tables: Iterable[pa.Table], tested: Iterable[str]) -> dict[str, tuple[float, int]]:
    """Return, by episode, the share of labels and sets of them that are wrong, and how many there are."""
    wrong, asked = Counter[str](), Counter[str]()
    for rows in tables:
        labels = rows.filter(pc.is_null(rows["value"]))
        missed = labels.filter(pc.not_equal(*(labels[side].cast(pa.string()) for side in ("truth", "prediction"))))
        for found, own in ((asked, labels), (wrong, missed)):
            for item in own["episode"].cast(pa.string()).value_counts().to_pylist():
                found[item["values"]] += item["counts"]
    return {name: (wrong[name] / max(asked[name], 1), asked[name]) for name in tested}


def _look(place: Place, sound: bool) -> Known:
    with Episode.open(place) as episode:
        fps = episode.fps
    if not sound:
        return Known(fps, None, "")
    why = "no video has sound"
    for name in VIDEOS:
        try:
            if place.video(name).is_file() and videos.probe(place.video(name))["audio"]["present"]:
                low, high = videos.waveform(place.video(name), BINS)
                return Known(fps, (low.astype(np.float32), high.astype(np.float32)), "")
        except GnomonError as error:
            why = str(error).replace(f"{place.folder}/", "")
    return Known(fps, None, f"no sound: {why}")


class Sheet:
    """The lanes and signals of one episode while they are collected."""

    def __init__(self, episode: str, fps: float) -> None:
        self.episode, self.fps = episode, fps
        self.labels: dict[str, int] = {}
        self.lanes: list[Lane] = []
        self.signals: list[Signal] = []
        self.arrays: dict[str, Array] = {}

    def code(self, label: str) -> int:
        """Return the code of a label; an empty one, and one too many, has none."""
        if not label or (label not in self.labels and len(self.labels) >= MOST_LABELS):
            return NONE
        return self.labels.setdefault(label, len(self.labels))

    def lane(self, group: str, role: str, name: str, kind: str, spans: Spans) -> None:
        """Add a lane of spans in frames; those without a code are left out."""
        start, end, code = spans
        kept, at = code != NONE, len(self.lanes)
        for part, values in (("start", start[kept] / self.fps), ("end", end[kept] / self.fps)):
            self.arrays[f"{part}{at}"] = values.astype(np.float64)
        self.arrays[f"code{at}"] = code[kept].astype(np.uint16)
        self.lanes.append(Lane(group, role, name, kind, at))

    def signal(self, who: tuple[str, str, str], start: float, step: float, low: Array, high: Array) -> None:
        """Add a signal: its task, name and unit, where its bins are in seconds, and its values."""
        at = len(self.signals)
        self.arrays |= {f"low{at}": low.astype(np.float32), f"high{at}": high.astype(np.float32)}
        self.signals.append(Signal(*who, start, step, at))

    def annotate(self, data: Mapping[str, TaskData]) -> None:
        """Add what was annotated frame by frame: segments, sub-tasks, actions and where they change."""
        recorded = next(iter(data.values())).recorded[self.episode]
        labels, n = recorded.labels, recorded.n_frames
        segments = np.full(n, NONE, dtype=np.int64)
        for segment in labels.segments:
            segments[max(segment.start, 0) : segment.stop] = self.code(f"segment {segment.id}")
        self.lane(ANNOTATION, "", "segment", "labels", _runs(segments))
        for name, texts in (("sub-task", labels.subtask), ("action", labels.action)):
            codes = np.array([self.code(text) for text in texts], dtype=np.int64)
            self.lane(ANNOTATION, "", name, "labels", _runs(codes))
        changes = np.flatnonzero(np.array([a != b for a, b in zip(labels.action, labels.action[1:], strict=False)])) + 1
        found = np.full(len(changes), ZONES.index("transition"))
        self.lane(ANNOTATION, "", "transitions", "zones", (changes, changes + 1, found))

    def answer(self, data: TaskData, rows: Sequence[Row] | None) -> None:
        """Add truth, prediction and outcome of a task, or the numbers that its vectors left; rows are the episode's."""
        task = data.task
        own = data.within(self.episode).tolist()
        said = {row[1]: row for row in rows or ()}
        if form(task.kind) == "vectors":
            if rows is not None:
                self._numbers(data, own, said)
            return
        reads, targets = data.input_range[own], data.target_range[own]
        about = np.where(targets[:, :1] < targets[:, 1:], targets, reads)
        start, end = _cells(about, data.recorded[self.episode].n_frames)
        texts = ["|".join(sorted(data.sets[k])) if task.kind == "multilabel" else data.labels[k] for k in own]
        order = np.argsort(start, kind="stable")
        true = np.array([self.code(text) for text in texts], dtype=np.int64)
        self.lane(task.name, TRUTH, "truth", "labels", (start[order], end[order], true[order]))
        if rows is None:
            return
        answered = [said[data.ids[k]][5] if data.ids[k] in said else None for k in own]
        given = np.array([NONE if text is None else self.code(text) for text in answered], dtype=np.int64)
        self.lane(task.name, PREDICTION, "prediction", "labels", (start[order], end[order], given[order]))
        found = [NONE if a is None else _outcome(t, a) for t, a in zip(texts, answered, strict=True)]
        outcome = np.array(found, dtype=np.int64)
        self.lane(task.name, OUTCOME, "outcome", "outcomes", (start[order], end[order], outcome[order]))

    def _numbers(self, data: TaskData, own: Sequence[int], said: Mapping[str, tuple[Any, ...]]) -> None:
        values = np.full(len(data.recorded[self.episode].windows), np.nan)
        for place in own:
            row = said.get(data.ids[place])
            if row is not None and row[6] is not None:
                values[data.rows[place]] = row[6]
        unit, name = UNITS.get(data.task.metric, ""), data.task.name
        what = "rank" if unit == "rank" else "error"
        start = (LENGTH - STRIDE) / 2 / self.fps
        self.signal((name, f"{name}, {what}", unit), start, STRIDE / self.fps, values, values)

    def divide(self, data: Mapping[str, TaskData]) -> None:
        """Add what the sides of the split read; tasks that read alike share a lane."""
        for what in ("input", "target"):
            alike: dict[bytes, list[str]] = {}
            zones: dict[bytes, Array] = {}
            for name, one in data.items():
                codes = self._read_by(one, one.input_range if what == "input" else one.target_range)
                alike.setdefault(codes.tobytes(), []).append(name)
                zones[codes.tobytes()] = codes
            for key, names in alike.items():
                of = "all tasks" if len(names) == len(data) > 1 else ", ".join(names)
                if (zones[key] != NONE).any():
                    self.lane(SPLIT, "", f"{what}: {of}", "zones", _runs(zones[key]))

    def _read_by(self, data: TaskData, ranges: Array) -> Array:
        n = data.recorded[self.episode].n_frames
        own, read = data.within(self.episode), {}
        for part in (TRAIN, TEST, "purged"):
            low, high = ranges[own[data.parts[own] == part]].astype(np.int64).clip(0, n).T
            steps = np.bincount(low, minlength=n + 1) - np.bincount(high, minlength=n + 1)
            read[part] = np.cumsum(steps)[:n] > 0
        both = read[TRAIN] & read[TEST]
        chosen = [both, read[TEST], read[TRAIN], read["purged"]]
        codes = [ZONES.index(name) for name in ("train and test", "test", "train", "purged")]
        return np.select(chosen, codes, NONE).astype(np.int64)

    def kept(self, seconds: float, note: str) -> Kept:
        """Return the plain data of the exhibit."""
        return Kept(seconds, tuple(self.labels), tuple(self.lanes), tuple(self.signals), note)


def _outcome(truth: str, answer: str) -> int:
    if truth == answer:
        return 0
    return 1 if set(truth.split("|")) & set(answer.split("|")) - {""} else 2


def _runs(codes: Array) -> Spans:
    """Return the runs of equal codes."""
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    return starts, np.append(starts[1:], len(codes)), codes[starts]


def _cells(ranges: Array, frames: int) -> tuple[Array, Array]:
    """Return places of an episode that do not overlap: about the middle of each range, as wide as windows are apart.

    >>> [part.tolist() for part in _cells(np.array([[0, 20], [5, 25], [5, 25]]), 100)]
    [[7.5, 12.5, 15.0], [12.5, 15.0, 17.5]]
    """
    middle = np.asarray(ranges, dtype=np.float64).reshape(-1, 2).mean(axis=1)
    centres, which, shared = np.unique(middle, return_inverse=True, return_counts=True)
    between = (centres[:-1] + centres[1:]) / 2
    low = np.maximum(centres - STRIDE / 2, np.append(0.0, between)[: len(centres)])
    high = np.minimum(centres + STRIDE / 2, np.append(between, float(frames))[: len(centres)])
    order = np.argsort(which, kind="stable")
    turn = np.empty(len(middle))
    turn[order] = np.arange(len(middle)) - np.repeat(np.cumsum(shared) - shared, shared)
    part = ((high - low) / shared)[which]
    return low[which] + turn * part, low[which] + (turn + 1) * part


def shown(runs: Sequence[Run], case: str) -> View:
    """Return the timeline of an episode: annotation, then every task with its answers, the split, errors and sound."""
    found, notes = _found(runs, case)
    labels = sorted({label for _, kept, _ in found for label in kept.labels}, key=natural_key)[:MOST_LABELS]
    place = {label: index for index, label in enumerate(labels)}
    lanes: list[dict[str, Any]] = []
    for name, kept, arrays in found:
        own = np.array([place.get(label, 0) for label in kept.labels], dtype=np.uint16)
        for lane in kept.lanes:
            start, end, code = (arrays[f"{part}{lane.at}"] for part in ("start", "end", "code"))
            spans = {"start": start, "end": end, "code": own[code] if lane.kind == "labels" else code}
            told = _told(lane, name, spans, lanes, len(found))
            if told:
                lanes.append({"name": told, "group": lane.group, "kind": lane.kind, **spans})
    seconds = max(kept.seconds for _, kept, _ in found)
    data = {
        "case": case,
        "window": [0.0, seconds],
        "clock": None,
        "labels": labels,
        "outcomes": [dict(outcome) for outcome in OUTCOMES],
        "zones": list(ZONES),
        "lanes": _ordered(lanes),
        "signals": _signals(found),
    }
    told_notes = dict.fromkeys(kept.note for _, kept, _ in found if kept.note)
    return View("timeline", f"{case}: tasks over time", "timeline", data, (*notes, *told_notes))


def _told(lane: Lane, system: str, spans: Mapping[str, Array], lanes: Sequence[Mapping[str, Any]], systems: int) -> str:
    """Return what a lane is called beside those of other systems; nothing where one of them is the same."""
    if lane.role in (PREDICTION, OUTCOME):
        return lane.name if systems == 1 else f"{system}: {lane.name}"
    others = [one for one in lanes if one["group"] == lane.group and one["name"].partition(" (")[0] == lane.name]
    if any(all(np.array_equal(one[part], spans[part]) for part in spans) for one in others):
        return ""
    return f"{lane.name} ({system})" if others else lane.name


def _ordered(lanes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return lanes by group: annotation first, the split last, tasks in their order between."""
    groups = list(dict.fromkeys(lane["group"] for lane in lanes))
    tasks = [group for group in groups if group not in (ANNOTATION, SPLIT)]
    return [lane for group in (ANNOTATION, *tasks, SPLIT) for lane in lanes if lane["group"] == group]


def _signals(found: Sequence[tuple[str, Kept, Mapping[str, Array]]]) -> list[dict[str, Any]]:
    numbers: list[dict[str, Any]] = []
    sound: list[dict[str, Any]] = []
    for name, kept, arrays in found:
        for one in kept.signals:
            shape = {"unit": one.unit, "start": one.start, "step": one.step}
            values = {"low": arrays[f"low{one.at}"], "high": arrays[f"high{one.at}"]}
            if not one.task:
                sound.append({"name": one.name, **shape, **values})
            else:
                told = one.name if len(found) == 1 else f"{one.name}: {name}"
                numbers.append({"name": told, **shape, **values})
    return [*sorted(numbers, key=lambda one: one["name"].partition(":")[0]), *sound[:1]]


def _found(runs: Sequence[Run], case: str) -> tuple[list[tuple[str, Kept, Mapping[str, Array]]], tuple[str, ...]]:
    """Return the runs that keep the episode, each by a name of its own, and why others are left out."""
    kept, notes = exhibits.kept_by(runs, case)
    found = [(name, _checked(item, run), item.arrays) for name, (run, item) in kept.items()]
    return found, tuple(notes)


def _checked(item: Exhibit, run: Run) -> Kept:
    """Return what an exhibit holds; what no run of this suite has written is refused."""
    where = f"{run.path}: the exhibit of case {item.case!r} is damaged"
    try:
        kept = msgspec.convert(item.data, Kept)
        for lane in kept.lanes:
            start, end, code = (item.arrays[f"{part}{lane.at}"] for part in ("start", "end", "code"))
            known = {"labels": len(kept.labels), "zones": len(ZONES), "outcomes": len(OUTCOMES)}[lane.kind]
            alike = start.ndim == 1 and start.shape == end.shape == code.shape
            kinds = start.dtype == end.dtype == np.float64 and code.dtype == np.uint16
            if not (alike and kinds) or (len(code) and int(code.max()) >= known):
                raise IntegrityError(f"{where}: the lane {lane.name!r} does not fit")
            if not (np.isfinite(start).all() and np.isfinite(end).all()):
                raise IntegrityError(f"{where}: the lane {lane.name!r} holds times that are not finite")
        for signal in kept.signals:
            low, high = (item.arrays[f"{edge}{signal.at}"] for edge in ("low", "high"))
            if not (low.dtype == high.dtype == np.float32 and low.shape == high.shape and low.ndim == 1):
                raise IntegrityError(f"{where}: the signal {signal.name!r} does not fit")
    except (msgspec.ValidationError, KeyError) as error:
        raise IntegrityError(f"{where} ({error})") from error
    if not (math.isfinite(kept.seconds) and kept.seconds > 0):
        raise IntegrityError(f"{where}: no time in it")
    return kept
