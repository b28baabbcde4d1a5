"""Scanning a room: stations, rays, noise, and the thinning that scanning software does.

Each station sends rays over its field of view, so that the density of what it sees falls with the square of the
distance and with the angle of incidence; what no station sees is missing. A measured range has a normal error of 2 mm
and 1 mm more for every metre. Rays that graze a surface often do not return. A ray that is cut in two by an edge may
give a point between both surfaces, and a few points come from nowhere. All stations together are thinned to a least
distance between points: near surfaces end up even, far and slanted ones stay sparse.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from gnomon.core.compiling import jit
from gnomon.core.tallies import Array
from gnomon.simulation.rays import NOTHING, bundle, cast
from gnomon.suites.change.simulation.parts import Thing
from gnomon.suites.change.simulation.rooms import Room

RAYS_PER_POINT = 3.0
LEAST, MOST = 0.87, 1.12
"""Points of a scan, as shares of what was asked for."""
_NOISE, _NOISE_PER_M = 0.002, 0.001
_GRAZING = 0.12
_EDGE, _EDGE_SHARE = 0.10, 0.04
_STRAY = 0.0004
_BUNDLE = 16
"""Neighbouring rays that are cast together."""
_NEAR = np.array(sorted(itertools.product((-1, 0, 1), repeat=3), key=lambda step: sum(map(abs, step))))
"""Steps to a cell and its neighbours, the nearest first: most points that go have a kept one in their own cell."""


@dataclass(frozen=True, eq=False)
class Scan:
    """Points ``(N, 3)`` in the coordinates of the room, and the number of the thing that each is of, or ``NOTHING``."""

    points: Array
    owners: Array

    def count(self, number: int) -> int:
        """Return how many points a thing has."""
        return int((self.owners == number).sum())


def stations(room: Room, things: Mapping[int, Thing], rng: np.random.Generator, near: Array | None = None) -> Array:
    """Return where the scanner stands, ``(S, 3)``: anywhere free, or close to where it stood before."""
    count = int(rng.integers(4, 6)) if near is None else len(near)
    reach = room.size[:2] / 2 - 0.35
    boxes = np.array([thing.box for thing in things.values()]).reshape(-1, 6)
    found: list[Array] = []
    for index in range(count):
        best, most = np.zeros(3), -np.inf
        for _ in range(30):
            place = rng.uniform(-reach, reach) if near is None else near[index, :2] + rng.normal(0, 0.2, 2)
            place = np.array([*np.clip(place, -reach, reach), rng.uniform(1.2, 1.65)])
            room_left = _distance(place, boxes)
            apart = min([float(np.linalg.norm(place[:2] - other[:2])) for other in found], default=1.0)
            worth = min(room_left, 0.3) * 4 + (min(apart, 1.5) if near is None else 0.0)
            if worth > most:
                best, most = place, worth
        found.append(best)
    return np.stack(found)


def scan(
    room: Room, things: Mapping[int, Thing], places: Array, points: int, spacing: float, rng: np.random.Generator
) -> tuple[Scan, float]:
    """Scan a room from several places.

    Parameters
    ----------
    room, things
        The walls, and what stands between them by number.
    places
        Stations ``(S, 3)``.
    points
        How many points are asked for; between 87 and 112 per cent of them are returned.
    spacing
        Least distance between points; 0 finds the one that gives about as many points as were asked for.
    rng
        Source of every random number.

    Returns
    -------
    The scan, and the spacing that was used.
    """
    seen = [look(room, things, place, int(RAYS_PER_POINT * points / len(places)), rng) for place in places]
    cloud, owners = (np.concatenate(side) for side in zip(*seen, strict=True))
    order = rng.permutation(len(cloud))
    cloud, owners = cloud[order], owners[order]
    wanted = points * rng.uniform(0.90, 1.09)
    spacing = spacing or _spacing(cloud, wanted)
    kept = np.flatnonzero(thinned(cloud, spacing))
    if not LEAST * points <= len(kept) <= MOST * points:
        spacing = _spacing(cloud, wanted)
        kept = np.flatnonzero(thinned(cloud, spacing))
    kept = kept[: int(MOST * points)]
    return Scan(cloud[kept], owners[kept]), spacing


def misalignment(room: Room, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return a small rigid motion of the room that moves none of its corners by 5 cm."""
    turn = rng.normal(0, 1, 3) * (0.25, 0.25, 1.0)
    move = rng.normal(0, 1, 3) * (1.0, 1.0, 0.5)
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0, 1)]) * room.size
    turn *= 0.5 / np.linalg.norm(np.cross(turn, corners), axis=1).max()
    move *= 0.5 / np.linalg.norm(move)
    most = 0.003 + 0.042 * rng.beta(1.5, 3.0)  # of both together: each moves no corner by more than half of it
    return np.asarray(Rotation.from_rotvec(turn * most).as_matrix()), move * most


def _distance(place: Array, boxes: Array) -> float:
    """Return how far a scanner on its tripod is from the nearest of ``(T, 6)``; it may be above what is low."""
    outside = np.maximum(np.maximum(boxes[:, :2] - place[:2], place[:2] - boxes[:, 3:5]), 0.0)
    away = np.hypot(outside[:, 0], outside[:, 1])
    low = boxes[:, 5] < place[2] - 0.5
    return float(np.where(low, np.maximum(away, 0.2), away).min(initial=1.0))


def look(
    room: Room, things: Mapping[int, Thing], place: Array, rays: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the points that one station sees, and the numbers of their things."""
    directions = _directions(rays, room.view, rng)
    everything = [*room.structure, *things.values()]
    numbers = np.repeat([*(NOTHING for _ in room.structure), *things], [len(thing.parts) for thing in everything])
    solids = np.concatenate([thing.parts for thing in everything])
    hits = cast(solids, place, bundle(directions, np.arange(rays) // _BUNDLE))
    owners = np.append(numbers, NOTHING)[hits.owners]  # the last for rays that meet nothing
    ranges = _with_edges(hits.ranges, owners, rng)
    back = np.isfinite(ranges) & (rng.random(rays) < hits.cosines / _GRAZING)
    directions, ranges, owners = directions[back], ranges[back], owners[back]
    ranges = ranges + rng.standard_normal(len(ranges)) * (_NOISE + _NOISE_PER_M * ranges)
    stray = rng.random(len(ranges)) < _STRAY
    ranges[stray] *= rng.uniform(0.2, 1.0, int(stray.sum()))
    owners[stray] = NOTHING
    return place + directions * ranges[:, np.newaxis], owners


def _directions(rays: int, view: tuple[float, float], rng: np.random.Generator) -> Array:
    """Return unit vectors over the field of view, even in solid angle: one at random in each cell of a grid."""
    low, high = np.sin(view)
    rows = max(1, round(np.sqrt(rays * (high - low) / (2 * np.pi))))
    columns = -(-rays // rows)
    cells = np.arange(rays)
    z = low + (high - low) * (cells // columns + rng.random(rays)) / rows
    azimuth = 2 * np.pi * (cells % columns + rng.random(rays)) / columns
    flat = np.sqrt(np.maximum(1 - z * z, 0))
    return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), z], axis=1)


def _with_edges(ranges: Array, owners: Array, rng: np.random.Generator) -> Array:
    """Return ranges of which some, at an edge, lie between both surfaces; such a point is of nothing."""
    following = np.append(ranges[1:], np.inf)
    with np.errstate(invalid="ignore"):
        jump = np.abs(following - ranges)
    edge = np.isfinite(jump) & (jump > _EDGE) & (rng.random(len(ranges)) < _EDGE_SHARE)
    share = rng.random(int(edge.sum()))
    out = ranges.copy()
    out[edge] += share * (following[edge] - ranges[edge])
    owners[edge] = NOTHING
    return out


def _spacing(cloud: Array, wanted: float) -> float:
    """Return the least distance that leaves about so many points."""
    spacing = 0.022 * np.sqrt(1e5 / wanted)
    for _ in range(8):
        left = int(thinned(cloud, spacing).sum())
        if abs(left / wanted - 1) < 0.015:
            break
        spacing *= np.sqrt(left / wanted)
    return float(spacing)


def thinned(cloud: Array, spacing: float) -> Array:
    """Return which points stay if, in the order given, each that is closer than `spacing` to a kept one goes."""
    slots = 1 << max(10, len(cloud).bit_length())
    heads = np.full(slots, -1, dtype=np.int32)
    keep = np.zeros(len(cloud), dtype=np.bool_)
    _thin(np.ascontiguousarray(cloud), spacing, heads, np.empty(len(cloud), dtype=np.int32), keep)
    return keep


@jit
def _slot(x: int, y: int, z: int, mask: int) -> Any:
    return (x * 73856093 ^ y * 19349663 ^ z * 83492791) & mask


@jit
def _thin(cloud: Any, spacing: float, heads: Any, following: Any, keep: Any) -> None:
    """Keep points in order; cells of the size of the spacing are hashed, and foreign points in a slot do no harm."""
    mask = heads.size - 1
    limit = spacing * spacing
    for i in range(cloud.shape[0]):
        px, py, pz = cloud[i, 0], cloud[i, 1], cloud[i, 2]
        x, y, z = int(np.floor(px / spacing)), int(np.floor(py / spacing)), int(np.floor(pz / spacing))
        good = True
        for cell in range(27):
            j = heads[_slot(x + _NEAR[cell, 0], y + _NEAR[cell, 1], z + _NEAR[cell, 2], mask)]
            while j >= 0 and good:
                a, b, c = px - cloud[j, 0], py - cloud[j, 1], pz - cloud[j, 2]
                good = a * a + b * b + c * c >= limit
                j = following[j]
            if not good:
                break
        if good:
            keep[i] = True
            slot = _slot(x, y, z, mask)
            following[i] = heads[slot]
            heads[slot] = i
