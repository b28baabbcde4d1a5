"""A person who works in a kitchen: a body with hands, and how they like to work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.simulation.body import SMPL_H, Body, draw_body, draw_height, draw_left_handed
from gnomon.simulation.gait import WALKING_SPEED, step_frequency


@dataclass(frozen=True, eq=False)
class Person:
    """One person.

    Attributes
    ----------
    body
        Their bones, hands included.
    hand
        The working hand, 0 left or 1 right.
    pace
        How fast they work; 1 is usual.
    """

    body: Body
    hand: int
    pace: float

    @property
    def height(self) -> float:
        """In metres."""
        return self.body.height

    @property
    def stride_s(self) -> float:
        """Seconds of a stride: that of walking as fast as they like to."""
        return 2 / step_frequency(self.height, WALKING_SPEED * self.pace)


def draw_person(rng: np.random.Generator) -> Person:
    """Draw a person."""
    height, left_handed, pace = draw_height(rng), draw_left_handed(rng), float(np.exp(rng.normal(0.0, 0.08)))
    return Person(draw_body(rng, SMPL_H, height), 0 if left_handed else 1, pace)
