"""Options of the suite ``episode``; light enough to be imported for help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from gnomon.core.options import PREDICTED, ExhibitOptions, Option
from gnomon.engine.options import EngineOptions
from gnomon.suites.episode.simulate_options import SimulateOptions

VARIANTS = ("published", "strict", "both")
SPLITS = ("single_episode_chronological", "episode_disjoint")
HEADS = ("minimal", "neural")
BAD = ("error", "skip")
TRIVIAL = ("majority", "copy_last", "persistence", "random", "always_positive")
SEED = 7
"""Of the published heads."""
__all__ = ["RunOptions", "ScoreOptions", "SimulateOptions", "TemplateOptions"]
_TASKS = "tasks, with commas or repeated  [default: all twelve]"
_SPLIT = "single_episode_chronological: the first 70 % of every episode train; episode_disjoint: whole episodes do"
_VARIANT = "published: as published, with its leaks; strict: purged, one cut, allowed blocks, correct frames"


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """How samples are put on a side of the split; the same for what is run and what is scored."""

    split: Annotated[str, Option(_SPLIT, choices=SPLITS)] = SPLITS[0]
    embargo: Annotated[
        int, Option("strict: frames between what training and test samples may read", low=0, high=100_000)
    ] = 20
    test_episodes: Annotated[
        tuple[str, ...],
        Option("episode_disjoint: episodes to test on, by name  [default: 30 % of them, drawn]", metavar="EPISODE"),
    ] = ()


@dataclass(frozen=True, kw_only=True)
class RunOptions(SplitOptions, ExhibitOptions, EngineOptions):
    """``gnomon run episode``."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        **PREDICTED,
        "truth": "episodes hold their truth: name them, or folders that hold some, behind the options",
    }

    episodes: Annotated[
        tuple[str, ...], Option("episodes, or folders that hold some", metavar="EPISODE_DIR...", argument=True)
    ]
    tasks: Annotated[tuple[str, ...], Option(_TASKS, metavar="TASK")] = ()
    systems: Annotated[
        tuple[str, ...],
        Option("minimal, neural, trivial or one baseline by name; with commas or repeated", metavar="SYSTEM"),
    ] = ("minimal", "neural", "trivial")
    variant: Annotated[str, Option(_VARIANT, choices=VARIANTS)] = "strict"
    skip: Annotated[
        tuple[str, ...],
        Option("blocks or streams to leave out, such as fisheye_cam0; with commas or repeated", metavar="NAME"),
    ] = ()
    bad: Annotated[
        str,
        Option("episodes that cannot be read: an error before any work, or left out and named", choices=BAD),
    ] = BAD[0]
    seed: Annotated[int, Option("seed of the heads and of drawn episodes", low=0)] = SEED


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(SplitOptions, ExhibitOptions, EngineOptions):
    """``gnomon score episode``."""

    truth: Annotated[tuple[str, ...], Option("episode, or folder that holds some; repeat for more", metavar="DIR")]
    predictions: Annotated[
        tuple[str, ...],
        Option(
            "table with task, sample and label, or folder with such a table and TASK.npz (samples, values), each of "
            "which may be a folder of shards; give NAME=PATH, several times, for several systems",
            metavar="FILE",
            data=True,
        ),
    ]
    tasks: Annotated[
        tuple[str, ...], Option("tasks, with commas or repeated  [default: those predicted]", metavar="TASK")
    ] = ()
    variant: Annotated[str, Option(_VARIANT, choices=VARIANTS[:2])] = "strict"
    missing: Annotated[
        str, Option("test samples without a prediction: an error, or counted wrong", choices=("error", "wrong"))
    ] = "error"
    seed: Annotated[int, Option("seed of drawn episodes and of random numbers", low=0)] = SEED


@dataclass(frozen=True, kw_only=True)
class TemplateOptions:
    """``gnomon template episode``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]
