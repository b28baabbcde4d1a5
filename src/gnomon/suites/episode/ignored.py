"""What a user gives and nothing reads: it is named once, with where it is and how much of it there is.

The annotation of an episode may hold datasets and keys of its caption that the published layout does not have, its
folder other files, a table of answers other columns, and a file of vectors other arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gnomon.core.errors import InputError, counted, some
from gnomon.core.evidence import Finding
from gnomon.suites.episode.annotation import Annotation, UnusableError
from gnomon.suites.episode.captions import LARGEST_BYTES
from gnomon.suites.episode.layout import ANNOTATION, VIDEOS, Place

ID = "ignored-input"
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
DATASET, KEY, FILE = f"datasets of {ANNOTATION}", "keys of the caption", "files of the folder"


@dataclass(frozen=True)
class Ignored:
    """Columns or arrays of a file of answers that nothing reads, and how many rows the file has."""

    where: str
    names: tuple[str, ...]
    rows: int


def answer_findings(items: Iterable[Ignored | None]) -> list[Finding]:
    """Name the columns and arrays of answers that nothing reads, once for all files that have the same ones."""
    files: dict[tuple[str, ...], dict[str, int]] = {}
    for item in items:
        if item is not None and item.names:
            files.setdefault(item.names, {})[item.where] = item.rows
    found = []
    for names, rows in files.items():
        where = next(iter(rows))
        more = f" and {counted(len(rows) - 1, 'other file')}" if len(rows) > 1 else ""
        text = f"{where}{more}: {some(names)} in {counted(sum(rows.values()), 'row')} is not read"
        found.append(Finding(ID, "warning", where, text, "nothing, if it is not meant to count; else see the format"))
    return found


def episode_findings(places: Sequence[Place]) -> list[Finding]:
    """Name what episodes hold beside the published layout, once for all of them."""
    holders: dict[str, dict[str, list[str]]] = {}
    for place in places:
        for kind, name in dict.fromkeys(_unknown(place)):
            holders.setdefault(kind, {}).setdefault(name, []).append(place.id)
    found = []
    for kind, names in holders.items():
        said = [f"{name!r} ({counted(len(own), 'episode')}, first {own[0]})" for name, own in names.items()]
        text = f"{kind} that nothing reads: {some(said, sentences=True)}"
        where = next(iter(names.values()))[0]
        found.append(Finding(ID, "warning", where, text, "nothing, if they are not meant to count; else rename them"))
    return found


def _unknown(place: Place) -> Iterator[tuple[str, str]]:
    """Yield kind and name of what an episode holds beside the layout."""
    known = {ANNOTATION, *(f"{name}.mp4" for name in VIDEOS)}
    for path in _visible(place.folder):
        if path.name not in known:
            yield FILE, path.name
    file = Annotation(place.annotation)
    try:
        for name in file.names():
            if not LAYOUT.fullmatch(name):
                yield DATASET, name
        yield from ((KEY, key) for key in _caption_keys(file))
    finally:
        file.close()


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith((".", "_")))


def _caption_keys(file: Annotation) -> Iterator[str]:
    """Yield keys of a caption that the layout does not have; what is no caption is told elsewhere."""
    try:
        raw = file.read(file.dataset("caption", (), "SO"))
        value = msgspec.json.decode(raw) if isinstance(raw, bytes) and len(raw) <= LARGEST_BYTES else None
    except (InputError, UnusableError, msgspec.MsgspecError, ValueError, RecursionError):
        return
    yield from _keys(value, TOP)
    for segment in _listed(value, "segments"):
        yield from (f"segments: {key}" for key in _keys(segment, SEGMENT))
        for action in _listed(segment, "Current Action"):
            yield from (f"Current Action: {key}" for key in _keys(action, ACTION))


def _keys(item: Any, known: set[str]) -> list[str]:
    return [str(key) for key in item if key not in known] if isinstance(item, dict) else []


def _listed(item: Any, key: str) -> list[Any]:
    found = item.get(key) if isinstance(item, dict) else None
    return found if isinstance(found, list) else []
