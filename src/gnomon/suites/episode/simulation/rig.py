"""A headset: an inertial sensor, two rectified stereo cameras, and four fisheye cameras around the head.

Conventions
-----------
- A transform is ``(4, 4)`` and maps what its last index names to what its first names: ``head_from_body``.
- The head has the axes of the body model: x to the left, y up, z forwards, from the joint of the head. A camera has x
  to the right, y down and z forwards; ``body`` is the inertial sensor.
- ``K`` is fx, fy, cx, cy in pixels of the full picture; ``D`` are the coefficients of the equidistant model
  ``r = f (t + D0 t^3 + D1 t^5 + D2 t^7 + D3 t^9)`` for an angle t from the axis (Kannala and Brandt 2006).
- The depth map is that of the left stereo camera at half size.

The headset is made up; its proportions follow common ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from gnomon.core.tallies import Array

STEREO, FISHEYE = (512, 512), (1080, 1320)
"""Width and height of the full pictures."""
DEPTH_SIZE, DEPTH_SCALE = 256, 0.5
EYES = np.array([0.0, 0.075, 0.085])
"""Middle between the pupils, in the head."""


@dataclass(frozen=True, eq=False)
class Rig:
    """The calibration of one headset.

    Attributes
    ----------
    head_from_body
        Where the inertial sensor is.
    left_from_body
        Where the left stereo camera is; ``T_c0_b`` of the rectified pair.
    baseline
        From the left to the right stereo camera.
    stereo
        K of both stereo cameras.
    fisheye
        K, D and transform from the body of each of four cameras.
    """

    head_from_body: Array
    left_from_body: Array
    baseline: float
    stereo: Array
    fisheye: tuple[tuple[Array, Array, Array], ...]

    @property
    def right_from_body(self) -> Array:
        """Where the right stereo camera is."""
        return transform(np.eye(3), np.array([-self.baseline, 0.0, 0.0])) @ self.left_from_body


def rig(rng: np.random.Generator) -> Rig:
    """Draw a headset: one design, with the tolerances of its making."""
    baseline = 0.1450 + rng.normal(0, 0.0003)
    tilt = np.radians(36.0 + rng.normal(0, 0.5))
    left = _camera(tilt, 0.0, 0.0)
    at = EYES + np.array([baseline / 2, 0.030, 0.010])
    head_from_left = transform(left @ _small(rng, 0.004), at + rng.normal(0, 0.001, 3))
    body = np.diag([-1.0, -1.0, 1.0]) @ _small(rng, 0.01)
    head_from_body = transform(body, EYES + rng.normal((0.0, 0.150, -0.170), 0.002))
    left_from_body = inverse(head_from_left) @ head_from_body
    sides = [(0.45, 0.40, 0.0), (-0.45, 0.40, baseline), (1.55, 0.75, -0.045), (-1.55, 0.75, baseline + 0.045)]
    fisheye = []
    for k, (aside, down, across) in enumerate(sides):
        turn = _camera(down, aside, (1 - 2 * (k % 2)) * np.pi / 2) @ _small(rng, 0.01)
        place = head_from_left[:3, 3] - (across, 0.0, 0.12 * (k // 2))
        from_body = inverse(transform(turn, place)) @ head_from_body
        fisheye.append((_lens(rng), rng.normal((-0.056, 0.0, -0.003, 0.001), (0.002, 0.003, 0.002, 0.001)), from_body))
    return Rig(head_from_body, left_from_body, float(baseline), np.array([200.0, 200.0, 256.0, 256.0]), tuple(fisheye))


def transform(turn: Array, move: Array) -> Array:
    """Return a rigid transform."""
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = turn, move
    return found


def inverse(given: Array) -> Array:
    """Return the transform back."""
    return transform(given[:3, :3].T, -given[:3, :3].T @ given[:3, 3])


def pinhole_rays(k: Array, full: tuple[int, int], size: tuple[int, int]) -> Array:
    """Return rays ``(height, width, 3)`` through the middles of pixels, of unit z, for pictures of another size."""
    x, y = _pixels(full, size)
    return np.stack([(x - k[2]) / k[0], (y - k[3]) / k[1], np.ones_like(x)], axis=-1)


def fisheye_rays(k: Array, d: Array, full: tuple[int, int], size: tuple[int, int]) -> Array:
    """Return rays ``(height, width, 3)`` of unit length, for the equidistant model; zeros beyond its range."""
    x, y = _pixels(full, size)
    u, v = (x - k[2]) / k[0], (y - k[3]) / k[1]
    radius = np.hypot(u, v)
    angle = radius.copy()
    for _ in range(8):  # Newton
        powers = angle[..., np.newaxis] ** (2, 4, 6, 8)
        value = angle * (1 + powers @ d)
        slope = 1 + powers @ (d * (3, 5, 7, 9))
        angle = np.clip(angle - (value - radius) / np.maximum(slope, 0.1), 0.0, np.pi)
    scale = np.where(radius > 1e-9, np.sin(angle) / np.maximum(radius, 1e-9), 1.0)
    rays = np.stack([u * scale, v * scale, np.cos(angle)], axis=-1)
    rays[angle > np.radians(110)] = 0.0
    return rays


def _pixels(full: tuple[int, int], size: tuple[int, int]) -> tuple[Array, Array]:
    x = (np.arange(size[0]) + 0.5) * full[0] / size[0] - 0.5
    y = (np.arange(size[1]) + 0.5) * full[1] / size[1] - 0.5
    return tuple(np.meshgrid(x, y))  # type: ignore[return-value]


def _camera(down: float, aside: float, roll: float) -> Array:
    """Return head_from_camera of a camera that looks down, to the left, and is rolled about its axis."""
    ahead = np.diag([-1.0, -1.0, 1.0])
    turned = Rotation.from_euler("YX", [aside, down]).as_matrix()
    return np.asarray(turned @ ahead @ Rotation.from_euler("z", roll).as_matrix())


def _small(rng: np.random.Generator, radians: float) -> Array:
    return np.asarray(Rotation.from_rotvec(rng.normal(0, radians, 3)).as_matrix())


def _lens(rng: np.random.Generator) -> Array:
    focal = 395.0 + rng.normal(0, 1.0)
    return np.array([focal, focal * (1 + rng.normal(0, 4e-4)), 540.0 + rng.normal(0, 4), 660.0 + rng.normal(0, 10)])
