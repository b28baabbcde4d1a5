"""What an episode holds and nothing reads: datasets and caption keys that the published layout lacks, other files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from gnomon.core.errors import InputError
from gnomon.intake.unread import count_keys, note
from gnomon.suites.episode.annotation import Annotation, UnusableError
from gnomon.suites.episode.captions import LARGEST_BYTES
from gnomon.suites.episode.layout import ANNOTATION, VIDEOS, Place

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
