"""Boxes: the counterexamples of matching, for each named order; exact IoU of oriented boxes against two references.

The references are half-space intersection with the volume of the hull (scipy), and Monte-Carlo counting of points.
"""

import math

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection
from scipy.spatial.transform import Rotation

from acceptance.support import Promise
from gnomon.core.tallies import Array
from gnomon.measures import boxes
from gnomon.numerics.boxes import iou_matrix
from gnomon.numerics.solids import solids

CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
MATRIX = ((0.2778, 0.7647), (0.0, 0.4286))
PAIRS, DARTS = 400, 200_000


def slab(low: float, high: float) -> list[float]:
    """A box over the unit square."""
    return [low, 0, 0, high, 1, 1]


def second_example() -> tuple[list[list[float]], list[list[float]]]:
    """Return intervals whose IoU are those of the second counterexample, found by search on a grid."""
    grid = np.round(np.arange(0, 2.01, 0.1), 1)
    spans = [(a, b) for a in grid for b in grid if b > a]
    table = {}
    for left in spans:
        for right in spans:
            common = max(0.0, min(left[1], right[1]) - max(left[0], right[0]))
            table.setdefault(round(common / (left[1] - left[0] + right[1] - right[0] - common), 4), []).append(
                (left, right)
            )
    for p1, t1 in table[MATRIX[0][0]]:
        for q1, t2 in table[MATRIX[0][1]]:
            if q1 != p1:
                continue
            for p2, t3 in table[MATRIX[1][1]]:
                if t3 == t2 and (p2[1] <= t1[0] or p2[0] >= t1[1]):
                    return [slab(*p1), slab(*p2)], [slab(*t1), slab(*t2)]
    raise SystemExit("no intervals with the stated IoU")


def found(prediction: list[list[float]], truth: list[list[float]], order: str) -> int:
    return int(boxes.evaluate(truth, prediction, matching=order)["tp"])  # type: ignore[arg-type]


def drawn(rng: np.random.Generator, kind: str) -> Array:
    """Vertices of a box: upright, tilted, or with faces in planes of a coarse grid."""
    size, centre = rng.uniform(0.5, 2, 3), rng.uniform(-0.6, 0.6, 3)
    if kind == "coplanar":
        size, centre = rng.integers(1, 4, 3) / 2, rng.integers(-2, 3, 3) / 4
    turn = {
        "tilted": Rotation.random(random_state=int(rng.integers(2**31))),
        "upright": Rotation.from_euler("z", rng.uniform(0, math.tau)),
        "coplanar": Rotation.from_euler("z", rng.choice([0, math.pi / 2])),
    }[kind]
    return turn.apply(CORNERS * size) + centre


def iou(a: Array, b: Array) -> float:
    return float(iou_matrix(solids(a), solids(b))[0, 0])


def planes(corners: Array) -> Array:
    return ConvexHull(corners).equations


def by_half_spaces(a: Array, b: Array) -> float:
    """IoU through the vertices of the common half-spaces."""
    rows = np.concatenate([planes(a), planes(b)])
    norm = np.linalg.norm(rows[:, :3], axis=1, keepdims=True)
    inner = linprog([0, 0, 0, -1], np.hstack([rows[:, :3], norm]), -rows[:, 3], bounds=[(None, None)] * 3 + [(0, None)])
    if not inner.success or inner.x[3] < 1e-9:
        return 0.0
    common = ConvexHull(HalfspaceIntersection(rows, inner.x[:3]).intersections, qhull_options="QJ").volume
    return common / (ConvexHull(a).volume + ConvexHull(b).volume - common)


def by_darts(a: Array, b: Array, rng: np.random.Generator) -> float:
    """IoU by counting random points."""
    both = np.concatenate([a, b])
    points = rng.uniform(both.min(axis=0), both.max(axis=0), (DARTS, 3))
    inside = [(points @ planes(x)[:, :3].T + planes(x)[:, 3] <= 0).all(axis=1) for x in (a, b)]
    either = (inside[0] | inside[1]).sum()
    return float((inside[0] & inside[1]).sum() / either)


def main() -> None:
    promise = Promise()
    first = [slab(0.2, 0.9), slab(0.6, 1.3)], [slab(0.4, 1.3), slab(0.8, 1.1)]
    second = second_example()
    wanted = {
        "hungarian-then-filter": (1, None),
        "gated-hungarian": (2, 1),
        "max-cardinality": (2, 2),
    }
    for order, (one, two) in wanted.items():
        promise.figure(
            f"first counterexample, {order}: true positives",
            found(*first, order),
            str(one),
            found(*first, order) == one,
        )
        if two is not None:
            count = found(*second, order)
            promise.figure(f"second counterexample, {order}: true positives", count, str(two), count == two)
    rng = np.random.default_rng(7)
    for kind in ("upright", "tilted", "coplanar"):
        worst, off = 0.0, 0.0
        for index in range(PAIRS):
            a, b = drawn(rng, kind), drawn(rng, kind)
            ours = iou(a[np.newaxis], b[np.newaxis])
            worst = max(worst, abs(ours - by_half_spaces(a, b)))
            if index < 20:
                off = max(off, abs(ours - by_darts(a, b, rng)))
        promise.at_most(f"{kind}: largest difference to half-space intersection, {PAIRS} pairs", worst, 1e-7)
        promise.at_most(f"{kind}: largest difference to {DARTS:,} random points, 20 pairs", off, 0.015)
    same = max(abs(1 - iou(x[np.newaxis], x[np.newaxis])) for x in (drawn(rng, "tilted") for _ in range(200)))
    promise.at_most("identical boxes: largest difference to 1, 200 boxes", same, 1e-12)
    unit = CORNERS[np.newaxis] + 0.5
    checks = {
        "coplanar faces (spec: .25, not .1627)": (unit * [1, 1, 0.25], unit, 0.25),
        "contained": (unit * 0.5 + 0.1, unit, 0.125),
        "touching": (unit + np.array([1, 0, 0]), unit, 0.0),
    }
    for name, (a, b, expected) in checks.items():
        promise.at_most(f"{name}: difference to {expected}", abs(iou(a, b) - expected), 1e-12)
    yaw = np.array([[0, 0, 0, 4, 1, 1, math.pi / 6]])
    turned = (Rotation.from_euler("z", math.pi / 6).apply(CORNERS * [4, 1, 1]))[np.newaxis]
    promise.at_least("yaw turns from x to y: IoU with the same box by vertices", iou(yaw, turned), 1 - 1e-12)
    promise.close()


if __name__ == "__main__":
    main()
