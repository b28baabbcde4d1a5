"""From rays to pictures: depth with the errors of stereo matching, its confidence, and shaded colours.

Depth is measured as a disparity between the stereo cameras: it is matched in steps of a part of a pixel, with errors
that small blocks of pixels share and that grow on slanted surfaces, fails beyond the picture of the right camera, on
shiny things and at grazing angles, and is given between a least and a largest depth only. Errors are hashed from frame
and block: the same in every run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.tallies import Array
from gnomon.simulation.rays import Hits, Rays, bundle, cast
from gnomon.suites.episode.simulation import rig as rigs
from gnomon.suites.episode.simulation.kitchen import SIDES
from gnomon.suites.episode.simulation.rig import Rig
from gnomon.suites.episode.simulation.scene import Scene

DEPTH_MIN, DEPTH_MAX = 0.16, 3.0
_STEPS = 16.0
"""Of a disparity, to a pixel."""
_TILE = 8
"""Side of the squares of pixels whose rays are cast together."""
BLOCK = 4
"""Side of the squares of pixels that are matched together."""


@dataclass(frozen=True, eq=False)
class Camera:
    """A camera of the headset: rays ``(height, width, 3)``, the same in bundles, its place on the inertial sensor."""

    rays: Array
    bundles: Rays
    body_from_camera: Array

    def place(self, room_from_body: Array) -> tuple[Array, Array]:
        """Return attitude and place of the camera in the room."""
        found = room_from_body @ self.body_from_camera
        return np.ascontiguousarray(found[:3, :3]), np.ascontiguousarray(found[:3, 3])

    def hits(self, scene: Scene, frame: int, room_from_body: Array) -> Hits:
        """Return what the camera meets at a frame, in the shape of the picture."""
        turn, origin = self.place(room_from_body)
        shape = self.rays.shape[:2]
        hits = cast(scene.solids(frame), origin, self.bundles, turn)
        flat = hits.ranges.reshape(shape), hits.owners.reshape(shape)
        return Hits(*flat, hits.normals.reshape(*shape, 3), hits.cosines.reshape(shape))


def camera(rays: Array, camera_from_body: Array) -> Camera:
    """Return a camera; directions of length 0 are no rays."""
    rows, columns = np.indices(rays.shape[:2]) // _TILE
    return Camera(
        rays, bundle(rays.reshape(-1, 3), (rows * rays.shape[1] + columns).ravel()), rigs.inverse(camera_from_body)
    )


def depth_camera(headset: Rig) -> Camera:
    """Return the camera of the depth maps: the left stereo camera at half size."""
    size = (rigs.DEPTH_SIZE, rigs.DEPTH_SIZE)
    return camera(rigs.pinhole_rays(headset.stereo, rigs.STEREO, size), headset.left_from_body)


def video_cameras(headset: Rig, height: int) -> dict[str, Camera]:
    """Return the six video cameras by name, with pictures of a height."""
    found = {}
    for k, (lens_k, lens_d, from_body) in enumerate(headset.fisheye):
        rays = rigs.fisheye_rays(lens_k, lens_d, rigs.FISHEYE, picture(rigs.FISHEYE, height))
        found[f"fisheye_cam{k}"] = camera(rays, from_body)
    for name, from_body in (("left", headset.left_from_body), ("right", headset.right_from_body)):
        rays = rigs.pinhole_rays(headset.stereo, rigs.STEREO, picture(rigs.STEREO, height))
        found[f"stereo_{name}"] = camera(rays, from_body)
    return found


def picture(full: tuple[int, int], height: int) -> tuple[int, int]:
    """Return width and height, both even, of a picture of a height."""
    return max(2, 2 * round(height * full[0] / full[1] / 2)), height


def depth_map(hits: Hits, headset: Rig, scene: Scene, frame: int, seed: int) -> tuple[Array, Array]:
    """Return a depth map in metres, 0 where there is none, and its confidence, 0 to 255."""
    shape = hits.ranges.shape
    depth, confidence = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.uint8)
    scale = headset.stereo[0] * rigs.DEPTH_SCALE * headset.baseline
    _measure(hits.ranges, hits.owners, hits.cosines, scene.shiny, scale, seed + 104_729 * frame, depth, confidence)
    return depth, confidence


def colours(hits: Hits, camera: Camera, scene: Scene, room_from_body: Array, gain: float) -> Array:
    """Return a picture ``(height, width, 3)`` in RGB bytes, lit by a lamp below the ceiling."""
    turn, origin = camera.place(room_from_body)
    out = np.empty(hits.normals.shape, dtype=np.uint8)
    lamp = scene.room.size * (0.5, 0.5, 0.92)
    views = (camera.rays, turn, origin, hits.ranges, hits.owners, hits.normals)
    _shade(*views, scene.colours, len(scene.room.solids) - 1, lamp, gain, out)
    return out


@jit
def _chance(a: int, b: int, c: int) -> float:
    """Return a number in [0, 1) that a frame and a pixel always have."""
    h = (a * 374761393 + b * 668265263 + c * 974634541) & 0xFFFFFFFF
    h = ((h ^ (h >> 15)) * 739981597) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
    return ((h ^ (h >> 16)) & 0xFFFFFFFF) / 4294967296.0


@jit
def _measure(
    ranges: Any, owners: Any, slants: Any, shiny: Any, scale: float, seed: int, depth: Any, confidence: Any
) -> None:
    for y in range(ranges.shape[0]):
        for x in range(ranges.shape[1]):
            z, slant = ranges[y, x], slants[y, x]
            one, two = _chance(seed, y // BLOCK, x // BLOCK), _chance(seed + 7919, y // BLOCK, x // BLOCK)
            disparity = scale / z
            noise = (one + two - 1.0) * (0.03 + 0.03 * (1.0 - slant))
            steps = max(round((disparity + noise) * _STEPS), 1.0)
            found = scale * _STEPS / steps
            sure = 45.0 + 120.0 * slant * math.exp(-0.25 * z) + 14.0 * (one - 0.5)
            lost = x < disparity or (slant < 0.12 and two < 0.6) or (shiny[owners[y, x]] and two < 0.35)
            if lost:
                sure *= 0.35
            good = not lost and DEPTH_MIN <= found <= DEPTH_MAX
            depth[y, x] = found if good else 0.0
            confidence[y, x] = int(min(max(sure, 1.0), 255.0))


@jit
def _shade(
    rays: Any,
    turn: Any,
    origin: Any,
    ranges: Any,
    owners: Any,
    normals: Any,
    tints: Any,
    room: int,
    lamp: Any,
    gain: float,
    out: Any,
) -> None:
    p = np.empty(3)
    for y in range(ranges.shape[0]):
        for x in range(ranges.shape[1]):
            owner = owners[y, x]
            if owner < 0:
                out[y, x, :] = 0
                continue
            away, facing = 0.0, 0.0
            for k in range(3):
                d = turn[k, 0] * rays[y, x, 0] + turn[k, 1] * rays[y, x, 1] + turn[k, 2] * rays[y, x, 2]
                p[k] = origin[k] + ranges[y, x] * d
                away += (lamp[k] - p[k]) ** 2
                facing += (lamp[k] - p[k]) * normals[y, x, k]
            light = 0.35 + 1.1 * max(facing, 0.0) / math.sqrt(away) / (0.6 + 0.35 * away)
            side, tint = -1, owner
            if owner == room:  # each side has a colour of its own
                for k in range(3):
                    if abs(normals[y, x, k]) > 0.5:
                        side = 2 * k + (1 if normals[y, x, k] < 0.0 else 0)
                tint = room + side
            elif owner > room:
                tint = owner + SIDES - 1
            if side == 4:  # the floor has squares
                light *= 0.8 if (math.floor(p[0] / 0.3) + math.floor(p[1] / 0.3)) % 2 == 0 else 1.05
            elif 0 <= side < 4:  # walls have tiles
                along = p[1] if side < 2 else p[0]
                line = (along % 0.2 < 0.012) or (p[2] % 0.15 < 0.012)
                light *= 0.75 if line and p[2] < 1.5 else 1.0
            elif owner < room:  # wood and steel have a grain
                light *= 0.93 + 0.07 * math.sin(40.0 * p[0] + 13.0 * p[1] + 3.0 * math.sin(25.0 * p[2]))
            for k in range(3):
                value = 255.0 * gain * light * tints[tint, k]
                out[y, x, k] = int(min(max(value, 0.0), 255.0))
