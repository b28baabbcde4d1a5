"""Options of the verbs of ``change``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from gnomon.core.options import PREDICTED, ExhibitOptions, Option, ScoringOptions
from gnomon.core.partition import ALL, PARTS, PartOptions
from gnomon.engine.options import EngineOptions

VARIANTS = ("published", "strict", "both")
ORDERS = ("hungarian-then-filter", "gated-hungarian", "max-cardinality", "greedy")
SYSTEMS = ("multi_stage", "distance", "icp", "nothing", "everything")
"""Those that run without training."""
OUT = Option(
    "folder that receives one run directory per system; 'none' keeps nothing",
    metavar="DIR",
    aliases=("--output-dir", "--output_dir"),
)


@dataclass(frozen=True, kw_only=True)
class ChangeOptions(ExhibitOptions, ScoringOptions):
    """What both verbs that end in scores accept."""

    out: Annotated[str, OUT] = "runs"
    iou_threshold: Annotated[float, Option("least IoU of a matched box", low=1e-6, high=1)] = 0.25
    per_category: Annotated[bool, Option("scores by category too: Add, Remove, Move, Composite, Unchanged")] = False
    variant: Annotated[
        str,
        Option("published: hungarian-then-filter, folds of scenes; strict: max-cardinality, by room", choices=VARIANTS),
    ] = "strict"
    matching: Annotated[str, Option("order of matching, in place of that of the variant", choices=("", *ORDERS))] = ""
    gaps: Annotated[
        str,
        Option("scans without labels, labels without scans: an error, or left out", choices=("error", "skip")),
    ] = "error"
    invalid: Annotated[str, Option("points that are not finite: an error, or dropped", choices=("error", "drop"))] = (
        "error"
    )
    unit: Annotated[
        str,
        Option("m insists that coordinates are metres, where sizes would be refused", choices=("", "m")),
    ] = ""
    seed: Annotated[int, Option("seed of every random number", low=0)] = 42
    export_indoorcd: Annotated[
        str, Option("file for the results in the JSON of the published benchmark", metavar="FILE")
    ] = ""


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(ChangeOptions, EngineOptions):
    """``gnomon score change``."""

    truth: Annotated[
        str, Option("folder that holds Data and Label", metavar="DIR", aliases=("--data-path", "--data_path"))
    ]
    predictions: Annotated[
        tuple[str, ...],
        Option(
            "boxes as JSON, parquet or csv, or a folder of such shards; give NAME=FILE, several times, for several "
            "systems",
            metavar="FILE",
        ),
    ]
    missing: Annotated[
        str, Option("scenes without a prediction: an error, no boxes, or left out", choices=("error", "empty", "skip"))
    ] = "error"


@dataclass(frozen=True, kw_only=True)
class RunOptions(PartOptions, ChangeOptions, EngineOptions):
    """``gnomon run change``."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        **PREDICTED,
        "truth": "the dataset in --data-path holds the truth",
    }

    data_path: Annotated[str, Option("folder that holds Data and Label", metavar="DIR", aliases=("--truth",))]
    systems: Annotated[
        tuple[str, ...],
        Option(
            "built-in system, package.module:Class or file.py:Class, with parameters as NAME@key=value; "
            "several with commas or repeated; dgcnn is trained first",
            metavar="SYSTEM",
        ),
    ] = SYSTEMS
    part: Annotated[
        str,
        Option("which rooms are tested  [default: test, or all with --folds]", choices=("", ALL, *PARTS)),
    ] = ""
    split_seed: Annotated[int | None, Option("seed of the split; default: --seed", low=0)] = None  # type: ignore[assignment]
    folds: Annotated[int, Option("cross-validation over all rooms; 0 is none", low=0, high=100_000)] = 0


@dataclass(frozen=True, kw_only=True)
class TemplateOptions:
    """``gnomon template change``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """``gnomon simulate change``."""

    directory: Annotated[str, Option("folder to write into", metavar="DIR", argument=True)]
    rooms: Annotated[int, Option("rooms, each with a reference and five comparisons", low=1, high=10_000)] = 8
    points: Annotated[int, Option("points of a scan, more or less", low=1_000, high=10_000_000)] = 100_000
    format: Annotated[str, Option("files of scans", choices=("pcd", "ply", "npz"))] = "pcd"
    encoding: Annotated[str, Option("how scans are stored", choices=("binary_compressed", "binary", "ascii"))] = (
        "binary_compressed"
    )
    seed: Annotated[int, Option("seed of every random number", low=0)] = 0
