"""What all systems stand on: the samples of every task, counted, the cases, what was noticed of them, their audit.

What an episode holds and nothing reads: datasets and caption keys that the published layout lacks, other files.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.core.evidence import Finding
from gnomon.core.samples import Samples
from gnomon.core.tallies import natural_key
from gnomon.intake.unread import count_keys, note
from gnomon.suites.episode import audited, systems
from gnomon.suites.episode import protocol as rules
from gnomon.suites.episode.annotation import Annotation, UnusableError
from gnomon.suites.episode.captions import LARGEST_BYTES
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.layout import ANNOTATION, VIDEOS, Place
from gnomon.suites.episode.plausible import order_findings
from gnomon.suites.episode.tasks.outlines import Outline
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import DISJOINT, PURGED


@dataclass(frozen=True, eq=False)
class Ground:
    """What all systems of one variant stand on: the samples of every task, the cases, and their audit.

    Attributes
    ----------
    tasks
        The samples of every task, counted.
    look
        Returns the samples of every task, at least those of the episode that it is given.
    data
        All samples of every task; nothing where they are let go, an episode after another.
    """

    variant: str
    split: Mapping[str, Any]
    settings: Mapping[str, Any]
    tasks: Mapping[str, Outline]
    roster: Roster
    content: Mapping[str, str]
    """Hash of every episode."""
    simulated: tuple[str, ...]
    look: Callable[[str], Mapping[str, TaskData]]
    places: tuple[Place, ...]
    data: Mapping[str, TaskData] = field(default_factory=dict)
    samples: Samples | None = None
    audit: Any = None
    ceilings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    streams: Mapping[str, Any] = field(default_factory=dict)
    """By episode: coverage of the blocks, and why some are masked."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Episodes that were given and cannot be used, and why."""
    lacking: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By episode: streams that its files lack, whatever the tasks read, and why."""

    @staticmethod
    def of(
        *,
        variant: str,
        tasks: Mapping[str, Outline],
        look: Callable[[str], Mapping[str, TaskData]],
        places: Sequence[Place],
        content: Mapping[str, str],
        simulated: Sequence[str],
        split: Mapping[str, Any],
        settings: Mapping[str, Any],
        streams: Mapping[str, Any],
        left_out: Mapping[str, str] | None = None,
    ) -> Ground:
        """Put together what systems share."""
        tested = _tested(tasks)
        note_episodes(places)
        return Ground(
            variant=variant,
            split={**split, "test_episodes": sorted(tested)} if split.get("name") == DISJOINT else split,
            settings=settings,
            tasks=tasks,
            roster=_roster(tasks, several=len(tested) > 1),
            content=dict(content),
            simulated=tuple(simulated),
            look=look,
            places=tuple(places),
            findings=(
                *_left_out(left_out or {}),
                *_about(tasks, simulated),
                *_masked(streams),
                *order_findings(places),
            ),
            streams=dict(streams),
            left_out=dict(left_out or {}),
            lacking={place.id: lacking_streams(place) for place in places},
        )

    @property
    def not_valid(self) -> dict[str, str]:
        """Episodes that are not valid, and why: simulated, or without a stream, or with one in which nothing is valid.

        The files decide, whichever of their streams the tasks read and whatever is left out on request, so that
        ``score`` and ``run`` count the same episodes.
        """
        found = {}
        for name in self.content:
            reasons = ["simulated"] if name in self.simulated else []
            reasons += [f"no {stream} ({why})" for stream, why in self.lacking.get(name, {}).items()]
            if reasons:
                found[name] = "; ".join(reasons)
        return found

    def holding(self, data: Mapping[str, TaskData], *, trained: bool) -> Ground:
        """Return the ground with the samples themselves; without training there is no split to audit."""
        held = replace(self, data=data)
        if not trained:
            return held
        by_task = audited.collected(data)
        ceilings = {name: systems.ceiling(one) for name, one in data.items() if not one.lacks}
        unit = {"window": "ids", "group": self.roster.level}[rules.COUNTED[self.variant]]
        audit = audited.audit(data, by_task, unit) if by_task else None
        return replace(held, samples=audited.joined(by_task), audit=audit, ceilings=ceilings)

    @property
    def inputs(self) -> tuple[dict[str, Any], ...]:
        """Where the episodes are; their content is in the fingerprint of the data."""
        return tuple(
            {"name": place.id, "path": os.fspath(place.folder), "bytes": None, "sha256": None} for place in self.places
        )

    @property
    def tested(self) -> set[str]:
        """Episodes with a test sample."""
        return _tested(self.tasks)


def lacking_streams(place: Place) -> dict[str, str]:
    """Return the streams of the layout that the files of an episode lack, and why: not there, or no valid frame."""
    with Episode.open(place) as episode:
        absent = {name: why.replace(f"{episode.folder}/", "") for name, why in episode.streams.items() if why}
        return absent | dict.fromkeys(episode.empty_streams(), "no frame is valid")


def outlines(data: Mapping[str, TaskData]) -> dict[str, Outline]:
    """Return the samples of every task, counted."""
    return {name: one.outline for name, one in data.items()}


def _tested(tasks: Mapping[str, Outline]) -> set[str]:
    return {name for one in tasks.values() for name in one.tested}


def _roster(tasks: Mapping[str, Outline], *, several: bool) -> Roster:
    """Return all annotated segments as cases; with one test episode they are what is resampled, else episodes are."""
    place = {segment: name for one in tasks.values() for segment, name in one.episodes.items()}
    segments = sorted(place, key=natural_key)
    return Roster(
        ids=tuple(segments),
        groups=tuple(place[name] if several else name for name in segments),
        tags={"episode": tuple(place[name] for name in segments)},
        level="episode" if several else "segment",
    )


def _about(tasks: Mapping[str, Outline], simulated: Sequence[str]) -> tuple[Finding, ...]:
    found = []
    for name, one in tasks.items():
        if one.lacks:
            found.append(Finding("task-not-possible", "warning", name, f"{name}: {one.lacks}", "give more episodes"))
        if purged := one.samples[PURGED]:
            text = f"{name}: {purged} samples read across the cut or come nearer than the embargo, and are in no part"
            found.append(Finding("purged-samples", "info", name, text, "nothing: strict does so"))
    if simulated:
        text = f"{len(simulated)} episodes are simulated: {', '.join(simulated[:5])}"
        found.append(Finding("simulated-data", "info", "data", text, "nothing: do not report them as real"))
    return tuple(found)


def _left_out(episodes: Mapping[str, str]) -> list[Finding]:
    """Say which episodes are not in the numbers."""
    remedy = "complete the episode, or say that the numbers are without it"
    return [
        Finding("episode-left-out", "warning", name, f"{name} is left out: {why}", remedy)
        for name, why in episodes.items()
    ]


def _masked(streams: Mapping[str, Any]) -> list[Finding]:
    """Say which blocks are masked, wholly or in part."""
    found = []
    for name, one in streams.items():
        lost = {block: why for block, why in one["masked"].items() if one["coverage"][block] < 1}
        if lost:
            said = "; ".join(f"{block} {one['coverage'][block]:.0%} ({why})" for block, why in lost.items())
            text = f"{name}: {len(lost)} blocks are masked where they are missing: {said}"
            found.append(Finding("masked-blocks", "warning", name, text, "complete the episode, or read the coverage"))
        gaps = {block: n for block, n in one.get("invalid_frames", {}).items() if n and block not in lost}
        if gaps:
            said = ", ".join(f"{block} {n}" for block, n in gaps.items())
            text = f"{name}: frames in which a block saw nothing valid, of {one['frames']}: {said}"
            found.append(Finding("invalid-frames", "info", name, text, "nothing: coverage is recorded"))
        repaired = {what: count for what, count in one["repairs"].items() if count}
        if repaired:
            said = "; ".join(f"{what}: {count}" for what, count in repaired.items())
            found.append(Finding("repaired-or-left-out", "info", name, f"{name}: {said}", "look at the caption"))
    return found


LAYOUT = re.compile(
    r"(calibration|metadata)/.+|captions?|depth/(depth|confidence|scale|depth_min|depth_max)"
    r"|full_body_mocap/(Ts_world_cpf|Ts_world_root|betas|body_quats|contacts|frame_nums|keypoints|\w+_hand_quats)"
    r"|hand_mocap/(left|right)_(joints_3d|translation|mano_hand_(betas|global_orient|pose))"
    r"|imu/(accel_xyz|device_timestamp_ns|gyro_xyz|keyframe_indices)"
    r"|slam/(frame_names|point_cloud|quat_wxyz|trans_xyz)|video/(device_timestamp|frame_number|length_sec)"
)
"""Datasets of the published layout, also those that nothing here reads."""
TOP = {"config", "segments"}
RANGE = {"start_frame", "end_frame", "start_frame_name", "end_frame_name"}
SEGMENT = RANGE | {
    *("segment_id", "Sub Task", "Current Action", "sampled_frames", "objects", "interaction"),
    *("api_call_start", "api_call_end", "tokens_in", "tokens_out"),
}
ACTION = RANGE | {"label", "description"}
"""Keys of a caption, of its segments and of their actions in the published layout."""


def note_episodes(places: Sequence[Place]) -> None:
    """Note what episodes hold beside the published layout: files, datasets, and keys of captions."""
    known = {ANNOTATION, *(f"{name}.mp4" for name in VIDEOS)}
    for place in places:
        names = sorted(path.name for path in place.folder.iterdir() if path.is_file())
        note(place.folder / "*", {name: 1 for name in names if name not in known and not name.startswith((".", "_"))})
        file = Annotation(place.annotation)
        try:
            datasets = {name: _rows(file, name) for name in file.names() if not LAYOUT.fullmatch(name)}
            note(place.annotation, {**datasets, **_caption_keys(file)})
        finally:
            file.close()


def _rows(file: Annotation, name: str) -> int:
    """Return the length of a dataset; 1 where it has none, or cannot be opened."""
    try:
        shape = getattr(file.node(name), "shape", None)
    except UnusableError:
        return 1
    return int(shape[0]) if shape else 1


def _caption_keys(file: Annotation) -> Counter[str]:
    """Count keys of a caption that the layout does not have; what is no caption is told elsewhere."""
    try:
        raw = file.read(file.dataset("caption", (), "SO"))
        value = msgspec.json.decode(raw) if isinstance(raw, bytes) and len(raw) <= LARGEST_BYTES else None
    except (InputError, UnusableError, msgspec.MsgspecError, ValueError, RecursionError):
        return Counter()
    segments = _listed(value, "segments")
    actions = [action for segment in segments for action in _listed(segment, "Current Action")]
    found: Counter[str] = Counter()
    for path, items, known in (
        ("caption", [value], TOP),
        ("caption.segments", segments, SEGMENT),
        ("caption.segments.Current Action", actions, ACTION),
    ):
        found.update({f"{path}.{key}": count for key, count in count_keys(items, known).items()})
    return found


def _listed(item: Any, key: str) -> list[Any]:
    found = item.get(key) if isinstance(item, dict) else None
    return found if isinstance(found, list) else []
