"""The twelve tasks as values: unit, kind of target, input blocks, metric, and the published figures beside them.

Kinds of targets
----------------
``label``
    One class out of many; the class list is found in the data.
``binary``, ``pair``
    One of two classes that are known beforehand; a pair reads two windows.
``multilabel``
    A set of names out of a vocabulary.
``vector``
    Numbers that are compared dimension by dimension.
``retrieval``
    Numbers by which windows are ranked.

Inputs
------
``published`` reads the blocks that the published protocol reads. ``strict`` leaves out of them what was derived from
the annotation that also gives the labels, and what was made from the whole episode and so has seen its test part. The
target of a task may be such a block; its input may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from gnomon.core.errors import InputError

Kind = Literal["label", "binary", "multilabel", "vector", "retrieval", "pair"]
Reads = Literal["all", "all but caption", "all but contacts and caption", "motion", "motion and visual"]
VARIANTS = ("published", "strict")
FORECAST = "hand_trajectory_forecast"
CONTACT = "contact_prediction"
CAPTION = "caption_objects_interaction_text"
CONTACTS = "body_contacts"
MOTION = (
    "hand_left_joints",
    "hand_right_joints",
    "body_joints",
    CONTACTS,
    "camera_translation",
    "camera_rotation_matrix",
    "imu_accel_gyro",
)
"""Motion, IMU and camera: one side of the cross-modal tasks."""
DENIED = ("derived-from-annotation", "whole-episode")
"""Kinds of blocks that ``strict`` reads for no task."""
VISUAL = (
    "depth_confidence",
    "video_fisheye_cam0",
    "video_fisheye_cam1",
    "video_fisheye_cam2",
    "video_fisheye_cam3",
    "video_stereo_left",
    "video_stereo_right",
)
"""Depth and video: the other side."""


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes
    ----------
    name, family, unit
        What it is called, what it belongs to, what a sample is.
    kind
        Kind of the target.
    inputs
        Rule by which blocks are read; see :func:`input_blocks`.
    target
        What is to be predicted, for a person.
    metric, direction, also
        The headline metric, whether more of it is better (``up``) or less (``down``), and further ones.
    published
        The published headline by family of heads.
    published_n
        Published numbers of training and test samples.
    classes
        Both classes of a binary or pair task, the second one the positive.
    target_blocks
        Blocks that are the target, for tasks that predict features.
    horizon
        Frames from the end of the window to the last frame of the target.
    tolerance
        Frames before and after the centre of the window that the target reads.
    shift
        Windows from the first to the second of a pair.
    """

    name: str
    family: str
    kind: Kind
    target: str
    published: Mapping[str, float]
    published_n: tuple[int, int] = (813, 348)
    unit: str = "window"
    inputs: Reads = "all"
    metric: str = "macro_f1"
    direction: Literal["up", "down"] = "up"
    also: tuple[str, ...] = ("accuracy",)
    classes: tuple[str, ...] = ()
    target_blocks: tuple[str, ...] = ()
    horizon: int = 0
    tolerance: int = 0
    shift: int = 0


def _heads(minimal: float, neural: float) -> Mapping[str, float]:
    return MappingProxyType({"minimal": minimal, "neural": neural})


_RANKS = ("top1_accuracy", "top5_accuracy", "top10_accuracy", "median_rank")
_ALL = (
    Task(
        name="timeline_action",
        family="classification",
        kind="label",
        target="most common action of the window",
        published=_heads(0.0500, 0.0263),
        published_n=(801, 343),
    ),
    Task(
        name="timeline_subtask",
        family="classification",
        kind="label",
        target="most common sub-task of the window",
        published=_heads(0.0495, 0.0175),
        published_n=(803, 344),
    ),
    Task(
        name="transition_detection",
        family="temporal diagnostic",
        kind="binary",
        target="any change of action within 10 frames of the centre",
        also=("boundary_f1", "accuracy"),
        published=_heads(0.6552, 0.6485),
        classes=("steady", "boundary"),
        tolerance=10,
    ),
    Task(
        name="next_action",
        family="short-horizon prediction",
        kind="label",
        target="action 20 frames after the end of the window",
        published=_heads(0.0593, 0.0235),
        horizon=20,
    ),
    Task(
        name="hand_trajectory_forecast",
        family="trajectory regression",
        kind="vector",
        target="42 hand joints relative to the body root in each of the next 10 frames",
        metric="mpjpe",
        direction="down",
        also=("final_error", "r2"),
        published=_heads(0.8223, 0.1116),
        published_n=(811, 348),
        horizon=10,
    ),
    Task(
        name="contact_prediction",
        family="binary classification",
        kind="binary",
        inputs="all but contacts and caption",
        target="any body contact in the window",
        published=_heads(1.0, 1.0),
        classes=("no contact", "contact"),
    ),
    Task(
        name="object_relevance",
        family="multi-label classification",
        kind="multilabel",
        inputs="all but caption",
        target="objects named in the window",
        metric="micro_f1",
        also=("macro_f1", "exact_match"),
        published=_heads(0.1839, 0.1798),
    ),
    Task(
        name="caption_grounding",
        family="retrieval",
        unit="caption query",
        kind="retrieval",
        inputs="all but caption",
        target="caption text of the window; the true text is the query, projected test windows are the candidates",
        metric="mrr",
        also=_RANKS,
        published=_heads(0.0172, 0.0178),
        target_blocks=(CAPTION,),
    ),
    Task(
        name="cross_modal_retrieval",
        family="retrieval",
        unit="sensor query",
        kind="retrieval",
        inputs="motion",
        target="depth and video of the window; the prediction is the query, true test windows are the candidates",
        metric="top5_accuracy",
        also=("mrr", "top1_accuracy", "top10_accuracy", "median_rank"),
        published=_heads(0.3764, 0.2155),
        target_blocks=VISUAL,
    ),
    Task(
        name="modality_reconstruction",
        family="cross-modal regression",
        kind="vector",
        inputs="motion",
        target="depth and video features of the window",
        metric="r2",
        also=("mae",),
        published=_heads(-0.0160, -0.0102),
        target_blocks=VISUAL,
    ),
    Task(
        name="temporal_order",
        family="pairwise diagnostic",
        unit="adjacent pair",
        kind="pair",
        target="whether two adjacent windows are in their order",
        metric="f1",
        published=_heads(0.5487, 0.8718),
        published_n=(1624, 696),
        classes=("reversed", "forward"),
        shift=1,
    ),
    Task(
        name="misalignment_detection",
        family="pairwise diagnostic",
        unit="paired modalities",
        kind="pair",
        inputs="motion and visual",
        target="whether motion and what was seen are of one window, or 8 windows apart",
        metric="f1",
        published=_heads(0.4866, 0.7335),
        published_n=(1614, 692),
        classes=("shifted", "aligned"),
        shift=8,
    ),
)

TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _ALL})
"""By name, in the order of the tables."""


def block_kinds() -> dict[str, str]:
    """Return the kind of every block, in the order of the feature vector."""
    from gnomon.suites.episode.features.blocks import BLOCKS  # here, so that naming tasks needs no numpy

    return {block.name: block.kind for block in BLOCKS}


def input_blocks(task: Task, variant: str) -> tuple[str, ...]:
    """Return the names of the blocks that a task reads in a variant, in the order of the feature vector."""
    if variant not in VARIANTS:
        raise InputError(f"no variant {variant!r} of the tasks; there are {', '.join(VARIANTS)}")
    kinds = block_kinds()
    left_out = {
        "all": set(),
        "all but caption": {CAPTION},
        "all but contacts and caption": {CONTACTS, CAPTION},
        "motion": set(kinds) - set(MOTION),
        "motion and visual": set(kinds) - {*MOTION, *VISUAL},
    }[task.inputs]
    denied = set(DENIED) if variant == "strict" else set()
    return tuple(name for name, kind in kinds.items() if name not in left_out and kind not in denied)
