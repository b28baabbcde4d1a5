"""People: their bodies and their habits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.seeds import generator
from gnomon.simulation.body import HIP_HEIGHT, draw_height, draw_left_handed


@dataclass(frozen=True)
class Person:
    """Body and habits of one person.

    Attributes
    ----------
    height
        In metres.
    tempo
        Cadence relative to that of others of this height.
    vigour
        How large and how hard the person moves, about 1.
    asymmetry
        How much the left side differs from the right, relative.
    pocket, hand
        Side of the pocket with the phone and of the hand that works: 1 left, -1 right.
    lean
        Forward lean of the trunk when upright, in degrees.
    turn, flip
        How a phone goes into a pocket: turned upside down, and with the screen to the leg.
    skew
        Angles in degrees by which the person wears sensors askew, about the three axes.
    slack
        How loosely the clothes hold a phone, 0 to 1.
    restless
        How much the person fidgets, about 1.
    """

    height: float
    tempo: float
    vigour: float
    asymmetry: float
    pocket: int
    hand: int
    lean: float
    turn: bool
    flip: bool
    skew: tuple[float, float, float]
    slack: float
    restless: float

    @property
    def leg(self) -> float:
        """Height of the hip above the floor, in metres."""
        return HIP_HEIGHT * self.height


def person(seed: int, people: str, name: str) -> Person:
    """Draw a person; the same seed, people and name give the same person.

    Parameters
    ----------
    seed
        Of the whole simulation.
    people
        Group that the person belongs to: datasets with the same people name the same group.
    name
        Of the person.
    """
    rng = generator(seed, "har", "person", people, name)
    skew = rng.normal(0.0, 4.0, 3)
    hand = 1 if draw_left_handed(rng) else -1
    return Person(
        height=draw_height(rng),
        tempo=float(np.clip(rng.normal(1.0, 0.05), 0.86, 1.14)),
        vigour=float(np.clip(np.exp(rng.normal(0.0, 0.18)), 0.6, 1.6)),
        asymmetry=float(rng.normal(0.0, 0.05)),
        pocket=hand if rng.random() < 0.75 else -hand,
        hand=hand,
        lean=float(rng.normal(3.0, 3.0)),
        turn=bool(rng.random() < 0.5),
        flip=bool(rng.random() < 0.6),
        skew=(float(skew[0]), float(skew[1]), float(skew[2])),
        slack=float(rng.beta(2.0, 3.0)),
        restless=float(np.exp(rng.normal(0.0, 0.4))),
    )
