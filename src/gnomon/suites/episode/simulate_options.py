"""Options of ``gnomon simulate episode``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gnomon.core.options import Option

GAPS = ("realistic", "none")


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """``gnomon simulate episode``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]
    episodes: Annotated[int, Option("episodes, each a session of its own", low=1, high=1_000)] = 2
    frames: Annotated[int, Option("annotated frames of an episode, 20 a second", low=20, high=100_000)] = 1_200
    videos: Annotated[int, Option("height of the videos in pixels; even", low=16, high=1_024)] = 96
    gaps: Annotated[
        str,
        Option("realistic: hands, poses, depth and IMU drop out now and then; none: everything is there", choices=GAPS),
    ] = "realistic"
    seed: Annotated[int, Option("seed of every random number", low=0)] = 0
