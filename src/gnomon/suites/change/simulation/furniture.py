"""What stands in a room: tables, chairs, shelves, lamps, cushions and more, every one of other sizes.

``LARGE`` stands along walls or in the middle and stays; ``FLOOR`` and ``TOP`` come, go and move, on the ground or on
something. The front of a large thing is its side towards negative y.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gnomon.simulation.rays import cuboid, ellipsoid, upright_cylinder
from gnomon.suites.change.simulation.parts import Thing

Maker = Callable[[np.random.Generator], Thing]


def _thing(name: str, *parts: list[float]) -> Thing:
    return Thing(name, np.array(parts, dtype=np.float64))


def _legs(width: float, depth: float, height: float, thick: float) -> list[list[float]]:
    x, y = width / 2 - thick, depth / 2 - thick
    return [cuboid((sx * x, sy * y, height / 2), (thick, thick, height)) for sx in (-1, 1) for sy in (-1, 1)]


def table(rng: np.random.Generator) -> Thing:
    """Return a table on four legs."""
    width, depth, height = rng.uniform((1.0, 0.65, 0.70), (1.6, 0.9, 0.77))
    top = cuboid((0, 0, height - 0.015), (width, depth, 0.03))
    return _thing("table", top, *_legs(width, depth, height - 0.03, 0.06))


def desk(rng: np.random.Generator) -> Thing:
    """Return a desk with a cabinet on one side."""
    width, depth, height = rng.uniform((1.1, 0.6, 0.70), (1.6, 0.8, 0.76))
    cabinet = cuboid((width / 2 - 0.22, 0, (height - 0.03) / 2), (0.40, depth - 0.08, height - 0.03))
    panel = cuboid((0.02 - width / 2, 0, (height - 0.03) / 2), (0.03, depth, height - 0.03))
    return _thing("desk", cuboid((0, 0, height - 0.015), (width, depth, 0.03)), panel, cabinet)


def shelf(rng: np.random.Generator) -> Thing:
    """Return an open shelf with boards and some books."""
    width, depth, height = rng.uniform((0.7, 0.26, 1.1), (1.2, 0.36, 2.0))
    boards = np.linspace(0.05, height - 0.01, int(rng.integers(4, 6)))
    parts = [cuboid((0, 0, z), (width, depth, 0.02)) for z in boards]
    parts += [cuboid((side * width / 2, 0, height / 2), (0.02, depth, height)) for side in (-1, 1)]
    parts.append(cuboid((0, depth / 2 - 0.005, height / 2), (width, 0.01, height)))
    for z in boards[:-1]:
        if rng.random() < 0.7:
            length, tall = rng.uniform((0.15, 0.15), (width * 0.6, 0.22))
            place = rng.uniform(-1, 1) * (width - length - 0.04) / 2
            parts.append(cuboid((place, 0.03, z + 0.01 + tall / 2), (length, depth * 0.65, tall)))
    return _thing("shelf", *parts)


def cupboard(rng: np.random.Generator) -> Thing:
    """Return a closed cupboard or a low sideboard."""
    width, depth = rng.uniform((0.8, 0.40), (1.4, 0.60))
    height = rng.uniform(0.75, 0.95) if rng.random() < 0.5 else rng.uniform(1.7, 2.0)
    doors = [
        cuboid((s * width / 4, -depth / 2 - 0.01, height / 2), (width / 2 - 0.02, 0.02, height - 0.1)) for s in (-1, 1)
    ]
    return _thing("cupboard", cuboid((0, 0, height / 2), (width, depth, height)), *doors)


def sofa(rng: np.random.Generator) -> Thing:
    """Return a sofa with arms."""
    width, depth, seat = rng.uniform((1.4, 0.75, 0.38), (2.0, 0.9, 0.45))
    back = cuboid((0, depth / 2 - 0.1, 0.4), (width, 0.2, 0.8))
    arms = [cuboid((s * (width / 2 - 0.09), 0, 0.29), (0.18, depth, 0.58)) for s in (-1, 1)]
    return _thing("sofa", cuboid((0, 0, seat / 2), (width, depth, seat)), back, *arms)


def bed(rng: np.random.Generator) -> Thing:
    """Return a bed with its head at the back."""
    width, length, height = rng.uniform((0.9, 1.95, 0.42), (1.4, 2.05, 0.55))
    frame = cuboid((0, 0, 0.14), (width, length, 0.28))
    mattress = cuboid((0, -0.02, (height + 0.28) / 2), (width - 0.06, length - 0.08, height - 0.28))
    return _thing("bed", frame, mattress, cuboid((0, length / 2 + 0.02, 0.45), (width, 0.04, 0.9)))


def chair(rng: np.random.Generator) -> Thing:
    """Return a chair on four legs."""
    width, seat, high = rng.uniform((0.40, 0.43, 0.80), (0.48, 0.48, 0.95))
    back = cuboid((0, width / 2 - 0.02, (seat + high) / 2 + 0.06), (width, 0.03, high - seat - 0.12))
    posts = [
        cuboid((s * (width / 2 - 0.03), width / 2 - 0.02, (seat + high) / 2), (0.03, 0.03, high - seat))
        for s in (-1, 1)
    ]
    return _thing(
        "chair", cuboid((0, 0, seat - 0.02), (width, width, 0.04)), back, *posts, *_legs(width, width, seat, 0.035)
    )


def stool(rng: np.random.Generator) -> Thing:
    """Return a round stool."""
    radius, height = rng.uniform((0.15, 0.42), (0.20, 0.65))
    legs = _legs(radius * 1.4, radius * 1.4, height - 0.04, 0.03)
    return _thing("stool", upright_cylinder((0, 0, height - 0.02), radius, 0.04), *legs)


def lamp(rng: np.random.Generator) -> Thing:
    """Return a floor lamp."""
    height, radius = rng.uniform((1.3, 0.15), (1.7, 0.24))
    foot, pole = upright_cylinder((0, 0, 0.015), 0.14, 0.03), upright_cylinder((0, 0, height / 2), 0.015, height)
    return _thing("lamp", foot, pole, upright_cylinder((0, 0, height - 0.13), radius, 0.26))


def bin_(rng: np.random.Generator) -> Thing:
    """Return a waste bin."""
    radius, height = rng.uniform((0.12, 0.25), (0.19, 0.45))
    return _thing("bin", upright_cylinder((0, 0, height / 2), radius, height))


def plant(rng: np.random.Generator) -> Thing:
    """Return a plant in a pot."""
    pot, height = rng.uniform((0.11, 0.5), (0.17, 1.1))
    leaves = [
        ellipsoid(
            (*rng.uniform(-0.1, 0.1, 2), rng.uniform(0.5, 0.95) * height), rng.uniform(0.18, 0.38, 3), rng.uniform(0, 3)
        )
        for _ in range(int(rng.integers(3, 6)))
    ]
    stem = upright_cylinder((0, 0, height / 2), 0.02, height)
    return _thing("plant", upright_cylinder((0, 0, 0.14), pot, 0.28), stem, *leaves)


def crate(rng: np.random.Generator) -> Thing:
    """Return a cardboard box."""
    size = rng.uniform((0.25, 0.22, 0.18), (0.60, 0.45, 0.45))
    return _thing("crate", cuboid((0, 0, size[2] / 2), size))


def suitcase(rng: np.random.Generator) -> Thing:
    """Return a suitcase that stands, its handle out."""
    width, depth, height = rng.uniform((0.36, 0.20, 0.52), (0.50, 0.30, 0.72))
    body = cuboid((0, 0, 0.03 + height / 2), (width, depth, height))
    rods = [cuboid((s * width / 4, depth / 3, height + 0.18), (0.02, 0.02, 0.30)) for s in (-1, 1)]
    return _thing("suitcase", body, *rods, cuboid((0, depth / 3, height + 0.33), (width / 2 + 0.03, 0.03, 0.03)))


def backpack(rng: np.random.Generator) -> Thing:
    """Return a backpack."""
    width, depth, height = rng.uniform((0.28, 0.18, 0.40), (0.36, 0.26, 0.52))
    pocket = cuboid((0, -depth / 2, 0.14), (width * 0.7, 0.08, 0.22))
    return _thing("backpack", ellipsoid((0, 0, height / 2), (width, depth, height)), pocket)


def parcel(rng: np.random.Generator) -> Thing:
    """Return a small box."""
    size = rng.uniform((0.14, 0.12, 0.08), (0.36, 0.28, 0.25))
    return _thing("parcel", cuboid((0, 0, size[2] / 2), size))


def vase(rng: np.random.Generator) -> Thing:
    """Return a vase."""
    width, height = rng.uniform((0.13, 0.22), (0.20, 0.36))
    body = ellipsoid((0, 0, height * 0.4), (width, width, height * 0.8))
    return _thing("vase", body, upright_cylinder((0, 0, height * 0.75), width * 0.22, height * 0.5))


def monitor(rng: np.random.Generator) -> Thing:
    """Return a screen on a stand."""
    width, height = rng.uniform((0.48, 0.28), (0.66, 0.38))
    screen = cuboid((0, 0, 0.12 + height / 2), (width, 0.04, height))
    return _thing(
        "monitor", screen, cuboid((0, 0.04, 0.12), (0.05, 0.03, 0.22)), cuboid((0, 0.02, 0.01), (0.24, 0.18, 0.02))
    )


def books(rng: np.random.Generator) -> Thing:
    """Return a stack of books, none of them straight."""
    parts, z = [], 0.0
    for _ in range(int(rng.integers(4, 9))):
        width, depth, thick = rng.uniform((0.16, 0.12, 0.02), (0.28, 0.21, 0.05))
        parts.append(cuboid((*rng.normal(0, 0.01, 2), z + thick / 2), (width, depth, thick), rng.normal(0, 0.15)))
        z += thick
    return _thing("books", *parts)


def reading_lamp(rng: np.random.Generator) -> Thing:
    """Return a lamp for a table."""
    height, radius = rng.uniform((0.35, 0.09), (0.52, 0.16))
    foot, pole = upright_cylinder((0, 0, 0.01), 0.09, 0.02), upright_cylinder((0, 0, height / 2), 0.012, height)
    return _thing("reading lamp", foot, pole, upright_cylinder((0, 0, height - 0.09), radius, 0.18))


def cushion(rng: np.random.Generator) -> Thing:
    """Return a cushion that lies or leans."""
    size = rng.uniform(0.34, 0.50)
    thick = rng.uniform(0.12, 0.18)
    lying = rng.random() < 0.5
    shape = (size, size, thick) if lying else (size, thick, size)
    return _thing("cushion", ellipsoid((0, 0, shape[2] / 2), shape))


LARGE: tuple[Maker, ...] = (table, desk, shelf, cupboard, sofa, bed)
FLOOR: tuple[Maker, ...] = (chair, stool, lamp, bin_, plant, crate, suitcase, backpack)
TOP: tuple[Maker, ...] = (parcel, vase, monitor, books, reading_lamp, cushion)
