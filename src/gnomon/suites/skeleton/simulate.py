"""Verb ``simulate``: people who walk, sit down and reach before two sensors, as two systems predict them.

``DIR/strong.npz`` and ``DIR/weak.npz`` are prediction files (:mod:`gnomon.suites.skeleton.files`) over the same truth;
they differ in the amount of errors only. ``DIR/calibration.json`` is the true motion from rgb into the frame of lidar,
for ``--rig file``. Samples lie in the order of their ids as text, as in real files: frame 10 comes before frame 9.

Every person (``p000001``, ...) does each action once: walking ``a000001``, sitting down and standing up ``a000002``,
reaching ``a000003``. Where the numbers of person and action add up to an even number, the canonical frame is that of
the room and true cameras stand still; where to an odd one, it sits on the pelvis and turns with the person, so that
true cameras move from frame to frame although the sensors do not. Each action has both kinds, if there is more than
one person. See :mod:`gnomon.suites.skeleton.simulation` for bodies, motions, sensors and errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.canonical import encode_pretty
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.numerics.rotations import Rigid, inverse, transformed
from gnomon.simulation.body import SMPL, draw_body, draw_height
from gnomon.suites.skeleton import files
from gnomon.suites.skeleton.options import SimulateOptions
from gnomon.suites.skeleton.simulation import sensors, systems
from gnomon.suites.skeleton.simulation.motions import ACTIONS
from gnomon.suites.skeleton.simulation.sensors import FIELDS_OF_VIEW, MODALITIES


@dataclass(frozen=True)
class Take:
    """The truth of one sequence."""

    subject: int
    action: int
    joints: Array
    """``(F, 24, 3)``, in the canonical frame."""
    cameras: Mapping[str, Rigid]
    """By modality, over frames."""

    @property
    def id(self) -> str:
        """Name of the sequence."""
        return f"p{self.subject:06d}_a{self.action:06d}"


def follows(subject: int, action: int) -> bool:
    """Return whether the canonical frame of a sequence goes with the person, so that true cameras move."""
    return (subject + action) % 2 == 1


def simulate(options: SimulateOptions) -> list[Path]:
    """Write the prediction files of two systems and the calibration; return their paths in this order."""
    folder = Path(options.directory)
    folder.mkdir(parents=True, exist_ok=True)
    mount = sensors.mount(generator(options.seed, "skeleton", "mount"))
    takes = [
        _take(subject, action, mount, options)
        for subject in range(1, options.subjects + 1)
        for action in range(1, len(ACTIONS) + 1)
    ]
    ids = np.array([f"{take.id}_rgb_kinect_000_depth_kinect_000_{k}" for take in takes for k in range(options.frames)])
    order = np.argsort(ids, kind="stable")
    shared = {"sample_ids": ids[order], **_truth(takes, order, options)}
    paths = [_system(folder, name, takes, order, shared, options) for name in systems.SYSTEMS]
    paths.append(folder / "calibration.json")
    rig = np.eye(4)
    rig[:3, :3], rig[:3, 3] = mount
    paths[-1].write_bytes(encode_pretty({"rgb": rig.tolist()}))
    return paths


def _take(subject: int, action: int, mount: Rigid, options: SimulateOptions) -> Take:
    """Let one person do one action."""
    who, what = str(subject), list(ACTIONS)[action - 1]
    times = np.arange(options.frames) / options.fps
    rng = generator(options.seed, "skeleton", "body", who)
    person = draw_body(rng, SMPL, draw_height(rng))
    motion = ACTIONS[what](person, times, generator(options.seed, "skeleton", "motion", who, what))
    at = sensors.follow(motion.joints[:, 0], motion.heading) if follows(subject, action) else sensors.room(len(times))
    tripod = sensors.tripod(generator(options.seed, "skeleton", "tripod", who))
    joints = transformed(inverse(at), motion.joints)
    return Take(subject, action, joints, sensors.cameras(at, tripod, mount))


def _truth(takes: Sequence[Take], order: Array, options: SimulateOptions) -> dict[str, Any]:
    joints, cameras = _room_for(takes, options)
    for index, take in enumerate(takes):
        joints[index] = take.joints
        for place, name in enumerate(MODALITIES):
            rng = generator(options.seed, "skeleton", "encoding", take.id, name)
            cameras[index, :, place] = sensors.encode(take.cameras[name], FIELDS_OF_VIEW[name], rng)
    return {
        "gt_keypoints": joints.reshape(-1, *joints.shape[2:])[order],
        "gt_cameras_stream": cameras.reshape(-1, *cameras.shape[2:])[order],
        "camera_stream_modalities": np.array(MODALITIES),
        "camera_stream_sensor_indices": np.zeros(len(MODALITIES), dtype=np.int64),
    }


def _system(
    folder: Path,
    name: str,
    takes: Sequence[Take],
    order: Array,
    shared: Mapping[str, Any],
    options: SimulateOptions,
) -> Path:
    """Write the prediction file of one system."""
    amount, fps = systems.SYSTEMS[name], options.fps
    plan = systems.plan(len(takes), options.frames, fps, amount, generator(options.seed, "skeleton", "defects"))
    joints, cameras = _room_for(takes, options)
    for index, take in enumerate(takes):
        rng = generator(options.seed, "skeleton", name, take.id)
        scale = systems.scale_error(amount, generator(options.seed, "skeleton", name, "scale", str(take.subject)))
        seen = systems.predict(take.joints, scale, fps, amount, rng)
        joints[index] = systems.exchange(seen, plan.confused[index])
        joints[index, plan.broken[index], int(rng.integers(len(SMPL.names)))] = np.nan
        for place, kind in enumerate(MODALITIES):
            tracked = systems.track(take.cameras[kind], kind, fps, amount, rng)
            encodings = sensors.encode(tracked, FIELDS_OF_VIEW[kind], rng)
            systems.spoil(encodings, plan, index, place, rng)
            cameras[index, :, place] = encodings
    path = folder / f"{name}.npz"
    predicted = {
        "pred_keypoints": joints.reshape(-1, *joints.shape[2:])[order],
        "pred_cameras_stream": cameras.reshape(-1, *cameras.shape[2:])[order],
    }
    files.write(path, {**shared, **predicted})
    return path


def _room_for(takes: Sequence[Take], options: SimulateOptions) -> tuple[Array, Array]:
    """Return empty joints ``(S, F, 24, 3)`` and cameras ``(S, F, 2, 9)``."""
    each = len(takes), options.frames
    return np.empty((*each, len(SMPL.names), 3), np.float32), np.empty((*each, len(MODALITIES), 9), np.float32)
