"""The protocol of ``skeleton``: joint errors in the frame of the sensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.core.evidence import Claim, Need
from gnomon.core.measure import Measure
from gnomon.core.protocol import Protocol
from gnomon.measures import skeletons as pose
from gnomon.measures.pose import RANGES_MM, THRESHOLDS_MM

FIRST_TABLE = ("mpjpe", "pa_mpjpe", "pelvis_mpjpe", "n_mpjpe", "rigid_mpjpe", "root_error")
"""The metrics that the first table shows unless ``--metrics`` names others."""
MAX_JOINTS = 200
"""Above this many joints no error by joint is derived."""

CLAIMS = (
    Claim(
        "new-people",
        "the errors describe people or sequences that are not in the data",
        (
            Need("groups", 6, "at least 6 groups to resample"),
            Need("sequences_known", 1, "ids that tell sequences apart from samples"),
        ),
    ),
    Claim(
        "fixed-sensor",
        "the errors are those in the frame of a sensor that stands still",
        (Need("sensor_stands_still", 1, "true cameras that agree inside of every sequence"),),
    ),
)


def protocol(
    joints: Sequence[str],
    pelvis: tuple[int, ...],
    variant: str,
    slices: Sequence[str],
    group: str,
    settings: Mapping[str, str],
    projected: bool = True,
) -> Protocol:
    """Return the protocol for skeletons with the given joints; `settings` is what the true side depends on.

    Without cameras (not ``projected``) nothing is claimed of a sensor.
    """
    measures: list[Measure] = [
        pose.MPJPE(pelvis),
        pose.MPJPE(pelvis, "similarity"),
        pose.MPJPE(pelvis, "root"),
        pose.MPJPE(pelvis, "scale"),
        pose.MPJPE(pelvis, "rigid"),
        pose.RootError(pelvis),
        pose.MPJPE(pelvis, average="macro"),
        *(pose.PCK(pelvis, threshold_mm=limit) for limit in THRESHOLDS_MM),
        *(pose.AUC(pelvis, upto_mm=limit) for limit in RANGES_MM),
        pose.PCK3D(pelvis),
        pose.AUC3D(pelvis),
        pose.MPJPE(pelvis, "similarity", "macro"),
        pose.MPJPE(pelvis, "root", "macro"),
    ]
    if len(joints) <= MAX_JOINTS:
        measures += [pose.JointMPJPE(pelvis, joint, kind) for kind in ("none", "root") for joint in joints]
    return Protocol(
        name="skeleton",
        version="1",
        measures=tuple(measures),
        group=group,
        slices=tuple(slices),
        settings=dict(settings),
        claims=CLAIMS if projected else CLAIMS[:1],
        variant=variant,
    )
