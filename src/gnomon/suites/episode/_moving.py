"""The inner loop of coordinate frames, compiled."""

from __future__ import annotations

from typing import Any

from gnomon.core.compiling import jit


@jit
def to_world(rotation: Any, translation: Any, xyz: Any, out: Any) -> None:
    """Fill in points ``(n, joints, 3)`` of the camera's frame in that of the world; poses map the world to the camera.

    The three products of a coordinate are added in their order.
    """
    for i in range(xyz.shape[0]):
        for j in range(xyz.shape[1]):
            x = xyz[i, j, 0] - translation[i, 0]
            y = xyz[i, j, 1] - translation[i, 1]
            z = xyz[i, j, 2] - translation[i, 2]
            for k in range(3):
                out[i, j, k] = x * rotation[i, 0, k] + y * rotation[i, 1, k] + z * rotation[i, 2, k]
